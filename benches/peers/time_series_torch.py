"""PyTorch's ways to the means of time series, on the points of benches/time_series.rs.

Run with PyTorch on a machine with a GPU:
    python3 time_series_torch.py [--points 100000000] [--runs 15]
Each time is a median of runs by CUDA events, with the least and the most, of points that are in the device's memory: 5 seconds apart, into buckets
of 35.
"""

import argparse

import torch

from timing import said, times_ms

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
    first = values[timestamps < starts[1]]
    assert torch.allclose(found[0], first.mean())
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, {args.points} points")
    print(f"{'round':<28} {said(times_ms(rounded, args.runs)):>28} ms")
    print(f"{'unique_consecutive, mean':<28} {said(times_ms(means, args.runs)):>28} ms")


if __name__ == "__main__":
    main()
