"""The published box overlap on a GPU without a kernel, by broadcasting, beside `gridstride_learn box-overlap`.

Run with PyTorch and Numba on a machine with a GPU:  python3 ladder_box_overlap_torch.py [--boxes 200000] [--runs 3]
Times are those of the search, by CUDA events, and of whole calls from and to the host's memory. The boxes are those of the published program, in metres. The number of pairs is compared with that of a search along x.
"""

import argparse

import numpy as np
import torch

from box_overlap_torch import overlaps
from boxes import matches, welds_and_segments
from timing import clock_ms, repeated, row, times_ms

# Boxes of the first set at a time.
SLICE = 4000


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--boxes", type=int, default=200_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--device", default="cuda", help="cpu only tests the program")
    options = parser.parse_args()
    sets = [(boxes / 1000).astype(np.float32) for boxes in welds_and_segments(options.boxes)]
    _, expected = matches(*sets)
    on_device = [torch.from_numpy(boxes).to(options.device) for boxes in sets]
    pairs = overlaps(*on_device, SLICE)
    assert len(pairs) == expected, f"{len(pairs)} pairs, not {expected}"
    case, version = "broadcasting, GPU", torch.__version__
    if options.device == "cuda":
        times = times_ms(lambda: overlaps(*on_device, SLICE), runs=options.runs)
        row(case, times, "PyTorch", version=version)
    call = lambda: overlaps(*(torch.from_numpy(boxes).to(options.device) for boxes in sets), SLICE).cpu()
    row(case, repeated(lambda: clock_ms(call), options.runs), "PyTorch", version=version, clock="call")


if __name__ == "__main__":
    main()
