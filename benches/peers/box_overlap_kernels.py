"""Box overlap in Numba CUDA, every pair tested: the kernels of the programs beside it.

A box of float32 or float16 is a row: minX, minY, minZ, maxX, maxY, maxZ. `note` says what happens to the matches of a
box beyond the places that there are: `leave_out` or `mark`.
"""

from boxes import LIMIT, OVERFLOW
from numba_gpu import cuda


@cuda.jit(device=True)
def leave_out(out, i, found, j):
    """Writes a match if there is a place."""
    if found < LIMIT:
        out[i, found] = j


@cuda.jit(device=True)
def mark(out, i, found, j):
    """Writes a match, or in the last place that there are too many."""
    if found < LIMIT:
        out[i, found] = j
    else:
        out[i, LIMIT - 1] = OVERFLOW


def plain(note):
    """A kernel with a thread for each box of the first set, which goes through the second in global memory."""

    @cuda.jit
    def kernel(set1, set2, out):
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
                    note(out, i, found, j)
                    found += 1

    return kernel


def in_tiles(items, dtype, note):
    """A kernel that loads tiles of the second set into shared memory, `items` boxes a thread."""

    @cuda.jit
    def kernel(set1, set2, out):
        tile = cuda.shared.array(0, dtype=dtype)
        block = cuda.blockDim.x
        boxes = items * block
        i = cuda.grid(1)
        own = min(i, set1.shape[0] - 1)
        x0, y0, z0 = set1[own, 0], set1[own, 1], set1[own, 2]
        x1, y1, z1 = set1[own, 3], set1[own, 4], set1[own, 5]
        found = 0
        for base in range(0, set2.shape[0], boxes):
            for place in range(cuda.threadIdx.x, boxes, block):
                if base + place < set2.shape[0]:
                    for k in range(6):
                        tile[6 * place + k] = set2[base + place, k]
            cuda.syncthreads()
            if i < set1.shape[0]:
                for j in range(min(boxes, set2.shape[0] - base)):
                    if (
                        x0 <= tile[6 * j + 3]
                        and y0 <= tile[6 * j + 4]
                        and z0 <= tile[6 * j + 5]
                        and x1 >= tile[6 * j]
                        and y1 >= tile[6 * j + 1]
                        and z1 >= tile[6 * j + 2]
                    ):
                        note(out, i, found, base + j)
                        found += 1
            cuda.syncthreads()

    return kernel
