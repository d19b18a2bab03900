"""PyTorch's times of calls on little data, beside those of benches/small_calls.rs.

Run with PyTorch on a machine with a GPU:
    python3 small_calls_torch.py [--calls 1000] [--runs 15]
By the host's clock, of arrays in the device's memory. `in a row`: each of so many calls that are made one after the other,
up to the end of the last. `alone`: a call and the wait for its result. `replayed`: as `in a row`, by a graph.
"""

import argparse
import time

import torch

from timing import row


def pairs(set1, set2):
    """The pairs of boxes that overlap, P×2."""
    first, second = set1[:, None], set2[None]
    return ((first[..., :3] <= second[..., 3:]) & (first[..., 3:] >= second[..., :3])).all(dim=2).nonzero()


def means(timestamps, values):
    """The starts of buckets of 35 and the means of their points."""
    keys = torch.div(timestamps, 35, rounding_mode="floor")
    buckets, counts = torch.unique_consecutive(keys, return_counts=True)
    return buckets * 35, torch.segment_reduce(values, "mean", lengths=counts)


def cases():
    """Names and calls."""
    for name, dtype in [("f32", torch.float32), ("f64", torch.float64), ("bf16", torch.bfloat16)]:
        a, b = (torch.rand((128, 128), dtype=dtype, device="cuda") for _ in range(2))
        c = torch.empty((128, 128), dtype=dtype, device="cuda")
        yield f"product of 128³, {name}", lambda a=a, b=b, c=c: torch.matmul(a, b, out=c)
        if dtype == torch.float32:
            assert torch.allclose(torch.matmul(a, b), (a.double() @ b.double()).float(), rtol=1e-4)
            yield f"product of 128³, {name}, new C", lambda a=a, b=b: torch.matmul(a, b)
    rows = torch.rand((100, 16), device="cuda")
    yield "distances of 100 × 100 rows of 16", lambda: torch.cdist(rows, rows, compute_mode="donot_use_mm_for_euclid_dist")
    timestamps = 1_600_000_000 + 5 * torch.arange(1000, device="cuda", dtype=torch.int64)
    values = torch.rand(1000, device="cuda", dtype=torch.float64)
    yield "mean of 1000 points", lambda: means(timestamps, values)
    corner = torch.rand((100, 3), device="cuda")
    boxes = torch.cat([corner, corner + 0.1], dim=1)
    yield "pairs of 100 boxes", lambda: pairs(boxes, boxes)


def in_a_row(call, calls):
    """Milliseconds of each call."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(calls):
        call()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) * 1e3 / calls


def graph(call):
    """The replay of a captured call, or None if it waits for the host."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        call()
    stream.synchronize()
    captured = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(captured):
            call()
    except RuntimeError:
        return None
    return captured.replay


def main():
    parser = argparse.ArgumentParser(description="PyTorch's calls on little data")
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=15)
    args = parser.parse_args()
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}")
    for name, call in cases():
        replay = graph(call) if "product" in name or "distances" in name else None
        ways = [("in a row", call, args.runs, args.calls), ("alone", call, 50 * args.runs, 1)]
        if replay:
            ways.append(("replayed", replay, args.runs, args.calls))
        for way, work, runs, calls in ways:
            in_a_row(work, 50)
            times = [in_a_row(work, calls) for _ in range(runs)]
            row(f"{name}, {way}", times, program="PyTorch", version=torch.__version__, clock="call")


if __name__ == "__main__":
    main()
