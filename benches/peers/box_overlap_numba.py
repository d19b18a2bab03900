"""Box overlap in Numba CUDA, as it is commonly written: every pair is tested.

Run with Numba, numba-cuda and NumPy on a machine with a GPU:  python3 box_overlap_numba.py SET1.npy SET2.npy
The files hold boxes of float32, N×6: minX, minY, minZ, maxX, maxY, maxZ; those of the example are
numpy.loadtxt(CSV, numpy.float32, delimiter=",", skiprows=1, usecols=range(1, 7)).
Each time is a median of 7 runs
by CUDA events, with the least and the most, boxes and results on the device, for the best of several block sizes. The result is a
matrix of up to 6 matches a box of the first set, filled with -1 before; it is checked on a sample of rows
against NumPy. Without a GPU: NUMBA_ENABLE_CUDASIM=1, with some hundred boxes.

naive:  a thread per box of the first set, which goes through the second set in global memory.
shared: a block loads the second set in tiles into shared memory, a box a thread, and its threads go through
        each tile.
"""

import math
import sys

import numpy as np

from numba_gpu import SIMULATED, cuda, device_name, elapsed_ms, nb, versions
from timing import median, said

LIMIT = 6
BLOCKS = (32, 64, 128, 256, 512, 1024)


@cuda.jit
def naive(set1, set2, out):
    i = cuda.grid(1)
    if i < set1.shape[0]:
        x0, y0, z0 = set1[i, 0], set1[i, 1], set1[i, 2]
        x1, y1, z1 = set1[i, 3], set1[i, 4], set1[i, 5]
        found = 0
        for j in range(set2.shape[0]):
            if (
                x0 <= set2[j, 3]
                and y0 <= set2[j, 4]
                and z0 <= set2[j, 5]
                and x1 >= set2[j, 0]
                and y1 >= set2[j, 1]
                and z1 >= set2[j, 2]
            ):
                if found < LIMIT:
                    out[i, found] = j
                    found += 1


@cuda.jit
def shared(set1, set2, out):
    tile = cuda.shared.array(0, dtype=nb.float32)
    block = cuda.blockDim.x
    thread = cuda.threadIdx.x
    i = cuda.grid(1)
    x0 = y0 = z0 = x1 = y1 = z1 = nb.float32(0)
    if i < set1.shape[0]:
        x0, y0, z0 = set1[i, 0], set1[i, 1], set1[i, 2]
        x1, y1, z1 = set1[i, 3], set1[i, 4], set1[i, 5]
    found = 0
    for base in range(0, set2.shape[0], block):
        if base + thread < set2.shape[0]:
            for k in range(6):
                tile[6 * thread + k] = set2[base + thread, k]
        cuda.syncthreads()
        if i < set1.shape[0]:
            for j in range(min(block, set2.shape[0] - base)):
                if (
                    x0 <= tile[6 * j + 3]
                    and y0 <= tile[6 * j + 4]
                    and z0 <= tile[6 * j + 5]
                    and x1 >= tile[6 * j]
                    and y1 >= tile[6 * j + 1]
                    and z1 >= tile[6 * j + 2]
                ):
                    if found < LIMIT:
                        out[i, found] = base + j
                        found += 1
        cuda.syncthreads()


def load(path):
    boxes = np.load(path)
    assert boxes.dtype == np.float32 and boxes.ndim == 2 and boxes.shape[1] == 6, f"{path} is not N×6 float32"
    return np.ascontiguousarray(boxes)


def check(set1, set2, out, name):
    """Compares some rows with NumPy's."""
    for i in np.unique(np.linspace(0, len(set1) - 1, 1000).astype(int)):
        overlap = (set1[i, :3] <= set2[:, 3:]).all(axis=1) & (set1[i, 3:] >= set2[:, :3]).all(axis=1)
        expected = np.full(LIMIT, -1, np.int32)
        matches = np.flatnonzero(overlap)[:LIMIT]
        expected[: len(matches)] = matches
        assert (out[i] == expected).all(), f"{name}: row {i} is {out[i]}, not {expected}"


def times_ms(launch, runs):
    launch()
    return [elapsed_ms(launch) for _ in range(runs)]


def main():
    set1, set2 = load(sys.argv[1]), load(sys.argv[2])
    on_device = cuda.to_device(set1), cuda.to_device(set2)
    print(device_name(), versions(), f"{len(set1)} × {len(set2)} boxes")
    print(f"{'kernel':<8} {'block':>6} {'ms':>28} {'pairs':>10}")
    for name, kernel, tile_bytes in (("naive", naive, 0), ("shared", shared, 24)):
        times = {}
        for block in BLOCKS[:2] if SIMULATED else BLOCKS:
            out = cuda.to_device(np.full((len(set1), LIMIT), -1, np.int32))
            grid = math.ceil(len(set1) / block)
            launch = lambda: kernel[grid, block, 0, tile_bytes * block](*on_device, out)
            times[block] = times_ms(launch, 1 if SIMULATED else 7)
            found = out.copy_to_host()
            check(set1, set2, found, name)
        block = min(times, key=lambda block: median(times[block]))
        pairs = (found >= 0).sum()
        print(f"{name:<8} {block:>6} {said(times[block]):>28} {pairs:>10}", flush=True)


if __name__ == "__main__":
    main()
