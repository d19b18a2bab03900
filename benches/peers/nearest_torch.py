"""PyTorch's nearest rows by cdist and topk, on the workload of benches/nearest.rs.

Run with PyTorch on a machine with a GPU:  python3 nearest_torch.py [QUERIES [ROWS [DIM]]]
The database is searched in slices whose distances to all queries have 400 million numbers, and the nearest of all slices are
merged by another topk. The times are those of searches by CUDA events, with the rows on the device. `mm` is cdist with
‖a‖² + ‖b‖² − 2ab by matrix multiplication; `differences` sums squared differences, as gridstride does, and searches a hundredth
of the queries, since it takes so long, and its times are multiplied by a hundred. The error is the largest relative error of
the distances of three queries, compared with those in float64; `differences` fails if it is larger than its roundings allow.
"""

import sys

import torch

from timing import grouped, row, times_ms

RUNS = 3
IN_A_SLICE = 400_000_000
# Neighbours to search, and queries that are checked.
COUNTS, CHECKED = (1, 10, 100, 1000), 3
MODES = {
    "mm": ("use_mm_for_euclid_dist", 1),
    "differences": ("donot_use_mm_for_euclid_dist", 100),
}


def nearest(queries, database, k, mode):
    """The distances and indices of the k nearest rows."""
    step = max(k, IN_A_SLICE // len(queries))
    found = []
    for start in range(0, len(database), step):
        rows = database[start : start + step]
        distances = torch.cdist(queries, rows, compute_mode=mode)
        values, indices = distances.topk(min(k, len(rows)), dim=1, largest=False)
        found.append((values, indices + start))
    values, indices = (torch.cat(parts, dim=1) for parts in zip(*found))
    best, places = values.topk(k, dim=1, largest=False)
    return best, indices.gather(1, places)


def exact(queries, database, k):
    """The k least distances of each query in float64, a slice of the rows after the other."""
    found = []
    for query in queries.double():
        squares = [((rows.double() - query) ** 2).sum(dim=1) for rows in database.split(1_000_000)]
        found.append(torch.cat(squares).topk(k, largest=False).values.sqrt())
    return torch.stack(found)


def bound(dim, dtype):
    """How large the relative error of a distance from summed differences may be.

    A square has three roundings, two of them from its difference, and its sum dim − 1 more; the root halves their effect
    and adds one. The distances that are compared with have as many at most. The k-th least distance is no further off,
    in relation, than the distances are."""
    roundings = (dim + 3) * torch.finfo(dtype).eps / 2
    return 2 * roundings / (1 - roundings)


def main():
    numbers = [int(text) for text in sys.argv[1:]] + [10_000, 10_000_000, 96][len(sys.argv) - 1 :]
    queries, rows, dim = numbers
    generator = torch.Generator("cuda").manual_seed(1)
    print(torch.cuda.get_device_name(0), "torch", torch.__version__)
    for kind, dtype in (("f32", torch.float32), ("f64", torch.float64)):
        a, b = (torch.rand(count, dim, dtype=dtype, device="cuda", generator=generator) - 0.5 for count in (queries, rows))
        least = exact(a[:CHECKED], b, min(max(COUNTS), rows))
        for name, (mode, divisor) in MODES.items():
            some = a[: max(1, queries // divisor)]
            for k in COUNTS:
                found = []

                def search():
                    found[:] = nearest(some, b, k, mode)

                share = len(some) / queries
                times = [time / share for time in times_ms(search, runs=RUNS)]
                correct = least[: len(some), :k]
                error = ((found[0][:CHECKED] - correct).abs() / correct).max().item()
                # So written, NaN fails too.
                assert name != "differences" or error <= bound(dim, dtype), f"{name}, k = {k}: distances are {error} off"
                row(
                    f"{grouped(queries)} queries in {grouped(rows)} rows, k = {k}, {kind}",
                    times,
                    program=f"PyTorch ({name})",
                    version=torch.__version__,
                    error=error,
                    **({"share": share} if share < 1 else {}),
                )
        del a, b


if __name__ == "__main__":
    main()
