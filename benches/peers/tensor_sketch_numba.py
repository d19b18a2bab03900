"""The published Numba CUDA kernels of the tensor sketch, on the workload of benches/tensor_sketch.rs.

Run with Numba, numba-cuda and NumPy on a machine with a GPU:  python3 tensor_sketch_numba.py [--sweep]
Times are by CUDA events, sequences and results on the device. The results are checked on the first sequences against exact
integers. ladder_tensor_sketch_numba.py has all versions.

v8:  a thread per position and row, rows twice in shared memory, one barrier per letter.
v11: six neighbouring positions per thread, letters and tables staged in shared memory.
v12: v11 in launches of four sequences, on streams; by the host's clock.
"""

import sys

import numpy as np

from numba_gpu import elapsed_ms, nb
from tensor_sketch_kernels import *
from timing import clock_ms, repeated, row

N, LETTERS = 1410, 100_000_000

# Sequences of a launch of V12, its streams, and letters that are checked.
GROUP, STREAMS, CHECKED = 4, 16, 200


def check(hashes, signs, short):
    """Compares the sketches of some sequences with exact integers."""
    starts = np.array([0, CHECKED - 7, len(short)], np.int32)
    expected = Expected(hashes, signs, short, starts)
    for name, kernel, shape in (("v8", v8, ALONG_PLACES), ("v11", v11, SIX_PLACES)):
        T = cuda.device_array((2, ROWS, D), np.float32)
        kernel[2, shape](*tables(hashes, signs), cuda.to_device(short), cuda.to_device(starts), T)
        expected.check(T.copy_to_host()[:, t], name)


def tables(hashes, signs):
    return cuda.to_device(hashes.astype(np.int32)), cuda.to_device(signs.astype(np.float32))


def main():
    rng = np.random.default_rng(1)
    hashes, signs = rng.integers(0, D, (A, t)), rng.choice([-1, 1], (A, t))
    check(hashes, signs, rng.integers(0, A, 2 * CHECKED).astype(np.int8))
    on_device = tables(hashes, signs)
    streams = [cuda.stream() for _ in range(STREAMS)]

    def measure(lengths, case, runs=7):
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        seq = cuda.to_device(rng.integers(0, A, offsets[-1]).astype(np.int8))
        starts = cuda.to_device(offsets)
        T = cuda.device_array((N, ROWS, D), np.float32)
        parts = [(min(GROUP, N - i), starts[i : i + GROUP + 1], T[i : i + GROUP]) for i in range(0, N, GROUP)]

        def groups():
            for i, (count, starts, out) in enumerate(parts):
                v11[count, SIX_PLACES, streams[i % STREAMS]](*on_device, seq, starts, out)
            cuda.synchronize()

        for version, launch, clock in (
            ("v8", lambda: v8[N, ALONG_PLACES](*on_device, seq, starts, T), elapsed_ms),
            ("v11", lambda: v11[N, SIX_PLACES](*on_device, seq, starts, T), elapsed_ms),
            ("v12", groups, clock_ms),
        ):
            times = repeated(lambda: clock(launch), runs)
            row(case(version), times, f"Numba ({version})", version=nb.__version__, bytes=len(seq) + 4 * N * D)

    if "--sweep" in sys.argv:
        # As benches/tensor_sketch.rs --sweep: one sequence has a growing share of all letters.
        letters = 20_000_000
        for share in (1 / N, 0.01, 0.03, 0.1, 0.3, 1.0):
            lengths = np.full(N, int(letters * (1 - share) / (N - 1)))
            lengths[0] = int(letters * share)
            measure(lengths, lambda version: f"{version}: {lengths[0]}", runs=3)
        return
    measure(np.full(N, LETTERS // N), lambda _: "equal lengths")
    weights = rng.lognormal(10, 1.2, N)
    lengths = np.sort((weights / weights.sum() * LETTERS).astype(int) + 1)[::-1]
    measure(lengths, lambda _: "log-normal lengths")


if __name__ == "__main__":
    main()
