"""PyTorch's ways to the means of time series, on the points of benches/time_series.rs.

Run with PyTorch on a machine with a GPU:
    python3 time_series_torch.py [--points 100000000] [--runs 15]
Times are by CUDA events, of points that are in the device's memory: 5 seconds apart, into buckets of 35. The starts and means
of all buckets are compared with sums of rows of 7 points.
"""

import argparse
import functools

import torch

from timing import row, times_ms

STEP, EVERY = 5, 35


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--points", type=int, default=100_000_000)
    parser.add_argument("--runs", type=int, default=15)
    args = parser.parse_args()
    timestamps = 1_600_000_000 + STEP * torch.arange(args.points, device="cuda", dtype=torch.int64)
    values = 50 + 10 * torch.randn(args.points, device="cuda", dtype=torch.float64)

    def rounded():
        return torch.div(timestamps, EVERY, rounding_mode="floor").mul_(EVERY)

    def means():
        keys = torch.div(timestamps, EVERY, rounding_mode="floor")
        buckets, counts = torch.unique_consecutive(keys, return_counts=True)
        return buckets * EVERY, torch.segment_reduce(values, "mean", lengths=counts)

    starts, found = means()
    # The first bucket may lack points.
    first = int((timestamps < starts[1]).sum())
    whole = (args.points - first) // (EVERY // STEP)
    by_rows = values[first : first + whole * (EVERY // STEP)].view(whole, -1).mean(dim=1)
    assert torch.equal(rounded()[first :: EVERY // STEP][:whole], starts[1 : 1 + whole])
    assert torch.allclose(found[0], values[:first].mean())
    error = float(((found[1 : 1 + whole] - by_rows) / by_rows).abs().max())
    assert error <= 1e-12
    show = functools.partial(row, version=torch.__version__)
    points, buckets = args.points, len(starts)
    show("rounded timestamps", times_ms(rounded, args.runs), "PyTorch", bytes=16 * points)
    times = times_ms(means, args.runs)
    program = "PyTorch (unique_consecutive, segment_reduce)"
    show("mean, buckets of 7", times, program, bytes=16 * (points + buckets), error=error)


if __name__ == "__main__":
    main()
