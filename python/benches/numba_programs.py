"""The last step of each article in Numba CUDA, from arrays on the host to arrays on the host.

The kernels are those of `benches/peers`, which are beside the ladders and the page "From Numba". Arguments and
results are arrays in ordinary memory. Without a GPU: NUMBA_ENABLE_CUDASIM=1.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from measure import PEERS, MissingPeer
from numpy.typing import NDArray

sys.path.insert(0, str(PEERS))

from box_overlap_kernels import in_tiles, mark
from boxes import LIMIT, UNUSED
from ladder_matmul_numba import TILE, naive, tiled
from ladder_timestamps_numba import round_timestamps, sum_uniqs
from numba_gpu import cuda, nb
from tensor_sketch_kernels import ROWS, SIX_PLACES, D, t, v11

if not cuda.is_available():
    raise MissingPeer("Numba finds no GPU")

THREADS = 256

# Boxes that a thread loads.
ITEMS = 4

overlaps = in_tiles(ITEMS, nb.float32, mark)
product = tiled(np.float32(0))
plain_product = naive(0.0)


def blocks(elements: int, threads: int = THREADS) -> int:
    """The blocks that have a thread for each element."""
    return -(-elements // threads)


def tensor_sketch(
    letters: NDArray[np.uint8], starts: NDArray[np.int64], hashes: NDArray[np.int64], signs: NDArray[np.int64]
) -> NDArray[np.float32]:
    """V11: a sketch of each sequence, with the positions in reverse order, as published."""
    n = len(starts) - 1
    sketches = cuda.device_array((n, ROWS, D), np.float32)
    v11[n, SIX_PLACES](
        cuda.to_device(hashes.astype(np.int32)),
        cuda.to_device(signs.astype(np.float32)),
        cuda.to_device(letters),
        cuda.to_device(starts),
        sketches,
    )
    # Row t of each sequence; the simulator has no strided copies.
    return sketches.copy_to_host()[:, t]


def box_overlap(set1: NDArray[np.float32], set2: NDArray[np.float32]) -> NDArray[np.int32]:
    """v2: for each box of the first set up to six of the second; −2 in the last place if there are more."""
    out = cuda.to_device(np.full((len(set1), LIMIT), UNUSED, np.int32))
    shared = ITEMS * THREADS * 6 * 4
    overlaps[blocks(len(set1)), THREADS, 0, shared](cuda.to_device(set1), cuda.to_device(set2), out)
    return out.copy_to_host()


def matmul(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float32]:
    """The kernel with tiles. Published, it sums in float64; here it sums in float32, as all others."""
    c = cuda.device_array((a.shape[0], b.shape[1]), np.float32)
    product[tuple(blocks(size, TILE) for size in c.shape), (TILE, TILE)](cuda.to_device(a), cuda.to_device(b), c)
    return c.copy_to_host()


def thin_matmul(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """The plain kernel in blocks of 16×16, the article's best ones for matrices that are not transposed."""
    c = cuda.device_array((a.shape[0], b.shape[1]), np.float64)
    plain_product[tuple(blocks(size, 16) for size in c.shape), (16, 16)](cuda.to_device(a), cuda.to_device(b), c)
    return c.copy_to_host()


def bucket_means(timestamps: NDArray[np.int64], values: NDArray[np.float64], every: int) -> NDArray[np.float64]:
    """`round_timestamps`, and `count_uniqs` with sums, which take any steps and gaps."""
    n = len(timestamps)
    rounded = cuda.to_device(timestamps)
    counts, sums = cuda.device_array(n, np.int32), cuda.device_array(n, np.float64)
    round_timestamps[blocks(n), THREADS](every, rounded)
    sum_uniqs[blocks(n), THREADS](rounded, cuda.to_device(values), counts, sums)
    # A count for each point, which is 0 within a bucket.
    found = counts.copy_to_host()
    first = np.flatnonzero(found)
    return sums.copy_to_host()[first] / found[first]

