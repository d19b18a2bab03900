"""Box overlap in Numba CUDA, as it is commonly written: every pair is tested.

Run with Numba, numba-cuda and NumPy on a machine with a GPU:  python3 box_overlap_numba.py SET1.npy SET2.npy
The files hold boxes of float32, N×6: minX, minY, minZ, maxX, maxY, maxZ; those of the example are
numpy.loadtxt(CSV, numpy.float32, delimiter=",", skiprows=1, usecols=range(1, 7)).
Times are by CUDA events, boxes and results on the device, for the best of several block sizes. The result is a matrix of up to 6
matches a box of the first set, filled with -1 before; it is checked on a sample of rows against NumPy. Without a GPU:
NUMBA_ENABLE_CUDASIM=1, with some hundred boxes.

plain:         a thread per box of the first set, which goes through the second set in global memory.
shared memory: a block loads the second set in tiles into shared memory, a box a thread, and its threads go through
               each tile.
"""

import math
import sys

import numpy as np

from box_overlap_kernels import in_tiles, leave_out, plain
from boxes import LIMIT, UNUSED
from numba_gpu import SIMULATED, cuda, elapsed_ms, nb
from timing import grouped, median, row

BLOCKS = (32, 64, 128, 256, 512, 1024)


def load(path):
    boxes = np.load(path)
    assert boxes.dtype == np.float32 and boxes.ndim == 2 and boxes.shape[1] == 6, f"{path} is not N×6 float32"
    return np.ascontiguousarray(boxes)


def check(set1, set2, out, name):
    """Compares some rows with NumPy's."""
    for i in np.unique(np.linspace(0, len(set1) - 1, 1000).astype(int)):
        overlap = (set1[i, :3] <= set2[:, 3:]).all(axis=1) & (set1[i, 3:] >= set2[:, :3]).all(axis=1)
        expected = np.full(LIMIT, UNUSED, np.int32)
        matches = np.flatnonzero(overlap)[:LIMIT]
        expected[: len(matches)] = matches
        assert (out[i] == expected).all(), f"{name}: row {i} is {out[i]}, not {expected}"


def times_ms(launch, runs):
    launch()
    return [elapsed_ms(launch) for _ in range(runs)]


def main():
    set1, set2 = load(sys.argv[1]), load(sys.argv[2])
    on_device = cuda.to_device(set1), cuda.to_device(set2)
    for name, kernel, tile_bytes in (
        ("plain", plain(leave_out), 0),
        ("shared memory", in_tiles(1, nb.float32, leave_out), 24),
    ):
        times = {}
        for block in BLOCKS[:2] if SIMULATED else BLOCKS:
            out = cuda.to_device(np.full((len(set1), LIMIT), UNUSED, np.int32))
            grid = math.ceil(len(set1) / block)
            launch = lambda: kernel[grid, block, 0, tile_bytes * block](*on_device, out)
            times[block] = times_ms(launch, 1 if SIMULATED else 7)
            found = out.copy_to_host()
            check(set1, set2, found, name)
        best = min(times.values(), key=median)
        case, program = f"pipes, {grouped(len(set1))} × {grouped(len(set2))}", f"Numba ({name})"
        row(case, best, program, version=nb.__version__, bytes=set1.nbytes + set2.nbytes + found.nbytes)


if __name__ == "__main__":
    main()
