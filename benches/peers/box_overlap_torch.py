"""Box overlap in PyTorch: all pairs by broadcasting, some rows of the first set at a time.

Run with PyTorch on a machine with a GPU:  python3 box_overlap_torch.py SET1.npy SET2.npy
The files hold boxes of float32, N×6: minX, minY, minZ, maxX, maxY, maxZ; those of the example are
numpy.loadtxt(CSV, numpy.float32, delimiter=",", skiprows=1, usecols=range(1, 7)).
Times are by CUDA events, boxes and pairs on the device, for the best of several numbers of rows at a time; those for which
the memory does not suffice are left out. The pairs are checked on a sample of rows against NumPy.
"""

import sys

import numpy as np
import torch

from timing import grouped, median, row, times_ms

ROWS = (250, 1000, 4000, 16000)
RUNS = 5


def load(path):
    boxes = np.load(path)
    assert boxes.dtype == np.float32 and boxes.ndim == 2 and boxes.shape[1] == 6, f"{path} is not N×6 float32"
    return boxes


def overlaps(set1, set2, rows):
    """All pairs, P×2."""
    pairs = []
    for start in range(0, len(set1), rows):
        part = set1[start : start + rows, None]
        overlap = ((part[..., :3] <= set2[None, :, 3:]) & (part[..., 3:] >= set2[None, :, :3])).all(dim=2)
        found = overlap.nonzero()
        found[:, 0] += start
        pairs.append(found)
    return torch.cat(pairs)


def check(set1, set2, pairs):
    """Compares some rows with NumPy's."""
    for i in np.unique(np.linspace(0, len(set1) - 1, 1000).astype(int)):
        overlap = (set1[i, :3] <= set2[:, 3:]).all(axis=1) & (set1[i, 3:] >= set2[:, :3]).all(axis=1)
        start, end = np.searchsorted(pairs[:, 0], [i, i + 1])
        assert (pairs[start:end, 1] == np.flatnonzero(overlap)).all(), f"row {i} has other pairs"


def main():
    set1, set2 = load(sys.argv[1]), load(sys.argv[2])
    on_device = [torch.from_numpy(boxes).cuda() for boxes in (set1, set2)]
    best = []
    for rows in ROWS:
        try:
            pairs = overlaps(*on_device, rows)
            check(set1, set2, pairs.cpu().numpy())
            times = times_ms(lambda: overlaps(*on_device, rows), runs=RUNS)
        except torch.cuda.OutOfMemoryError:
            continue
        best = min(best or times, times, key=median)
    case, version = f"pipes, {grouped(len(set1))} × {grouped(len(set2))}", torch.__version__
    size = set1.nbytes + set2.nbytes + pairs.nbytes
    row(case, best, "PyTorch (broadcasting)", version=version, bytes=size)


if __name__ == "__main__":
    main()
