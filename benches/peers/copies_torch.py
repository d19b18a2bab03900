"""PyTorch's copies between pageable memory and a GPU, as benches/copies.rs times its own.

Run with PyTorch on a machine with a GPU:
    python3 copies_torch.py [--largest 1024] [--runs 15]
GB/s by the clock, medians with the least and the most: to the device, from it into a tensor that exists, and from it into a new one.
"""

import argparse
import time

import torch

from timing import said


def seconds(call, runs):
    """A call's times, after one that is not timed."""
    times = []
    for _ in range(runs + 1):
        start = time.perf_counter()
        copied = call()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
        del copied
    return times[1:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--largest", type=int, default=1024, help="MiB")
    parser.add_argument("--runs", type=int, default=15)
    args = parser.parse_args()
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}")
    print("| MiB | to it | from it | new |")
    print("|--:|--:|--:|--:|")
    mebibytes = 1
    while mebibytes <= args.largest:
        source = torch.randn(mebibytes << 17, dtype=torch.float64)
        target = torch.zeros_like(source)
        on_device = source.cuda()
        calls = [lambda: on_device.copy_(source), lambda: target.copy_(on_device), on_device.cpu]
        gigabytes = (mebibytes << 20) * 1e-9
        rates = [[gigabytes / time for time in seconds(call, args.runs)] for call in calls]
        assert torch.equal(source, target)
        print(f"| {mebibytes} | " + " | ".join(said(rate, 1) for rate in rates) + " |")
        mebibytes *= 4


if __name__ == "__main__":
    main()
