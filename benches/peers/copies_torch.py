"""PyTorch's copies between pageable memory and a GPU, as benches/copies.rs times its own.

Run with PyTorch on a machine with a GPU:
    python3 copies_torch.py [--largest 256] [--runs 15]
By the clock: to the device, from it into a tensor that exists, and from it into a new one.
"""

import argparse

import torch

from timing import clock_ms, row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--largest", type=int, default=256, help="MiB")
    parser.add_argument("--runs", type=int, default=15)
    args = parser.parse_args()
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}")
    mebibytes = 1
    while mebibytes <= args.largest:
        source = torch.randn(mebibytes << 17, dtype=torch.float64)
        target = torch.zeros_like(source)
        on_device = source.cuda()
        calls = {
            "to the device, pageable": lambda: on_device.copy_(source),
            "from the device, pageable": lambda: target.copy_(on_device),
            "from the device, a new array": on_device.cpu,
        }
        for what, call in calls.items():
            kept = []

            def copy():
                kept[:] = [call()]
                torch.cuda.synchronize()

            times = []
            for _ in range(args.runs + 1):
                # What was copied before is freed outside of the timed part.
                kept.clear()
                times.append(clock_ms(copy))
            row(
                f"{what}, {mebibytes} MiB",
                times[1:],
                program="PyTorch",
                version=torch.__version__,
                clock="call",
                bytes=mebibytes << 20,
            )
        assert torch.equal(source, target)
        mebibytes *= 16


if __name__ == "__main__":
    main()
