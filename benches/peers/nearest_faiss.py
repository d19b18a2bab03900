"""FAISS's exact search on the CPU, on the workload of benches/nearest.rs.

Run with FAISS (faiss-cpu on PyPI) and NumPy:  python3 nearest_faiss.py [QUERIES [ROWS [DIM]]]
The times are those of searches by IndexFlatL2 on all cores, by the clock, without adding the rows to the index. A tenth of the
queries are searched, since it takes so long, and the times multiplied by ten. FAISS computes in float32, of many queries by
‖a‖² + ‖b‖² − 2ab; the error is the largest relative error of the distances of three queries. They fail if they are further
from those in float64 than the roundings of float32 allow.
"""

import sys

import faiss
import numpy as np

from timing import clock_ms, grouped, row

RUNS = 3
# Of the queries, which are searched.
SHARE = 0.1
# Neighbours to search, and queries that are checked.
COUNTS, CHECKED = (1, 10, 100, 1000), 3


def squares(query, rows, k):
    """The k least squared distances in float64, a slice of the rows after the other."""
    slices = (rows[start : start + 100_000] for start in range(0, len(rows), 100_000))
    return np.sort(np.concatenate([((part - query) ** 2).sum(axis=1) for part in slices]))[:k]


def bound(query, rows):
    """How far a squared distance of float32 may be from the exact one, by either formula.

    Each term of ‖a‖² + ‖b‖² − 2ab goes through dim + 2 roundings at most, in any order of summation, which gives
    γ(dim + 2)·(‖a‖ + ‖b‖)², γ(m) = m·u / (1 − m·u), u = 2⁻²⁴; summed differences are closer. One more rounding stands for
    those in float64. The k-th least distance is no further off than the distances are."""
    roundings = (len(query) + 3) * 2.0**-24
    longest = max(np.sqrt((rows[start : start + 100_000].astype(np.float64) ** 2).sum(axis=1).max())
                  for start in range(0, len(rows), 100_000))
    return roundings / (1 - roundings) * (np.linalg.norm(query) + longest) ** 2


def main():
    numbers = [int(text) for text in sys.argv[1:]] + [10_000, 10_000_000, 96][len(sys.argv) - 1 :]
    queries, rows, dim = numbers
    generator = np.random.default_rng(1)
    a, b = (generator.random((count, dim), dtype=np.float32) - np.float32(0.5) for count in (max(CHECKED, int(SHARE * queries)), rows))
    checked = a[:CHECKED].astype(np.float64)
    least = np.array([squares(query, b, max(COUNTS)) for query in checked])
    bounds = np.array([[bound(query, b)] for query in checked])
    index = faiss.IndexFlatL2(dim)
    index.add(b)
    print("faiss", faiss.__version__, f"{faiss.omp_get_max_threads()} threads")
    share = len(a) / queries
    for k in COUNTS:
        found = []

        def search():
            found[:] = index.search(a, k)

        times = [clock_ms(search) / share for _ in range(RUNS + 1)][1:]
        distances, _ = found
        exact = least[:, :k]
        differences = np.abs(distances[:CHECKED, : exact.shape[1]] - exact)
        # So written, NaN fails too.
        assert (differences <= bounds).all(), f"k = {k}: squared distances are {differences.max()} off"
        error = (differences / exact).max()
        row(
            f"{grouped(queries)} queries in {grouped(rows)} rows, k = {k}, f32",
            times,
            program="FAISS",
            version=faiss.__version__,
            clock="call",
            error=float(error),
            share=share,
        )


if __name__ == "__main__":
    main()
