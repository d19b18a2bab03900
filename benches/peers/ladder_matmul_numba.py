"""The published matrix products in Numba CUDA, beside `gridstride_learn matmul` and `gridstride_learn block-shape`.

Run with Numba, numba-cuda and NumPy on a machine with a GPU:

    python3 ladder_matmul_numba.py matmul [--m 6000 --k 4800 --n 4000] [--runs 5]
    python3 ladder_matmul_numba.py block-shape [--m 50000 --k 784 --n 10] [--runs 5]

Each version has times by CUDA events, of the launch on data in the device's memory, and by the host's clock, of whole calls
from matrices in ordinary memory to the product there. Rows of each
product are compared with NumPy's, within k roundings of the type. In the published kernels a sum begins with `0.`, which
is a number of f64: the rows `naive` and `tiled` have that, those with `f32 sums` do not. Without a GPU:
NUMBA_ENABLE_CUDASIM=1, with matrices of 20×20.
"""

import argparse

import numpy as np

from numba_gpu import SIMULATED, cuda, elapsed_ms, nb
from timing import clock_ms, repeated, row

TILE = 16

# Rows that are checked.
CHECKED = 50


def naive(zero):
    """A kernel with a thread for each element of C, which sums in the type of `zero`."""

    @cuda.jit
    def kernel(a, b, c):
        i, j = cuda.grid(2)
        if i < c.shape[0] and j < c.shape[1]:
            total = zero
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            c[i, j] = total

    return kernel


def tiled(zero):
    """The same with tiles of 16×16 in shared memory; matrices of any size, other than published."""

    @cuda.jit
    def kernel(a, b, c):
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        i, j = cuda.grid(2)
        tile_a = cuda.shared.array(shape=(TILE, TILE), dtype=nb.float32)
        tile_b = cuda.shared.array(shape=(TILE, TILE), dtype=nb.float32)
        total = zero
        for first in range(0, a.shape[1], TILE):
            tile_a[x, y] = a[i, first + y] if i < a.shape[0] and first + y < a.shape[1] else 0
            tile_b[x, y] = b[first + x, j] if first + x < b.shape[0] and j < b.shape[1] else 0
            cuda.syncthreads()
            for k in range(TILE):
                total += tile_a[x, k] * tile_b[k, y]
            cuda.syncthreads()
        if i < c.shape[0] and j < c.shape[1]:
            c[i, j] = total

    return kernel


def check(a, b, c, name):
    """Compares some rows with a product in f64: a sum of k products has k roundings of the type, γ(k)·Σ|a|·|b|."""
    rows = np.unique(np.linspace(0, len(a) - 1, CHECKED).astype(int))
    exact = a[rows].astype(np.float64) @ b.astype(np.float64)
    magnitudes = np.abs(a[rows]).astype(np.float64) @ np.abs(b).astype(np.float64)
    # The reference is in f64, and has as many roundings of that.
    unit = np.finfo(c.dtype).eps / 2 + np.finfo(np.float64).eps
    bound = (a.shape[1] + 1) * unit / (1 - (a.shape[1] + 1) * unit) * magnitudes
    assert (np.abs(c[rows] - exact) <= bound).all(), f"{name} computes something else"


def measure(version, kernel, block, a, b, runs):
    """Times a product in blocks of a shape, rows of C along x."""
    shape = (a.shape[0], b.shape[1])
    grid = tuple(-(-size // threads) for size, threads in zip(shape, block))
    on_device = cuda.to_device(a), cuda.to_device(b), cuda.device_array(shape, a.dtype)
    launch = lambda *matrices: kernel[grid, block](*matrices)
    launch(*on_device)
    check(a, b, on_device[2].copy_to_host(), version)
    kernel_times = repeated(lambda: elapsed_ms(lambda: launch(*on_device)), runs)

    def call():
        c = cuda.device_array(shape, a.dtype)
        launch(cuda.to_device(a), cuda.to_device(b), c)
        return c.copy_to_host()

    call_times = repeated(lambda: clock_ms(call), 0 if SIMULATED else runs)
    for times, clock in ((kernel_times, "device"), (call_times, "call")):
        row(version, times, "Numba", version=nb.__version__, clock=clock)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("ladder", choices=["matmul", "block-shape"])
    for size in "mkn":
        parser.add_argument(f"--{size}", type=int)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    is_matmul = options.ladder == "matmul"
    defaults = (6000, 4800, 4000) if is_matmul else (50000, 784, 10)
    m, k, n = (asked or size for asked, size in zip((options.m, options.k, options.n), defaults))
    dtype = np.float32 if is_matmul else np.float64
    rng = np.random.default_rng(1)
    a, b = rng.uniform(-1, 1, (m, k)).astype(dtype), rng.uniform(-1, 1, (k, n)).astype(dtype)
    if is_matmul:
        for version, kernel in (
            ("naive", naive(0.0)),
            ("naive, f32 sums", naive(np.float32(0))),
            ("tiled", tiled(0.0)),
            ("tiled, f32 sums", tiled(np.float32(0))),
        ):
            measure(version, kernel, (TILE, TILE), a, b, options.runs)
        return
    kernel = naive(0.0)
    for block in ((16, 16), (1, 256), (256, 1)):
        measure("{}×{}".format(*block), kernel, block, a, b, options.runs)
    # (a·b)ᵀ = bᵀ·aᵀ, of matrices that are stored transposed.
    transposed = [np.ascontiguousarray(matrix.T) for matrix in (b, a)]
    measure("1×256 transposed", kernel, (1, 256), *transposed, options.runs)


if __name__ == "__main__":
    main()
