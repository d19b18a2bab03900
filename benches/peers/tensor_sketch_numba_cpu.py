"""The published tensor sketch in Numba on the CPU, on the workload of benches/tensor_sketch_cpu.rs.

Run with Numba and NumPy:  python3 tensor_sketch_numba_cpu.py [LETTERS]
Whole calls, letter by letter, on one core, and with the sequences spread over all cores.
"""

import sys

import numpy as np
from numba import __version__, njit, prange

from timing import clock_ms, grouped, repeated, row

A, t, D, N = 4, 4, 96, 1410

RUNS = 3


@njit(fastmath=True)
def sketch(hashes, signs, codes):
    T = np.zeros((t + 1, D), np.float32)
    T[0][0] = 1
    for c in codes:
        for k in range(t - 1, -1, -1):
            h = hashes[c][k]
            s = signs[c][k]
            for l in range(D):
                r = l + h if l + h < D else l + h - D
                T[k + 1][l] += s * T[k][r]
    return T[t]


@njit(fastmath=True)
def one_core(hashes, signs, codes, starts, out):
    for i in range(len(starts) - 1):
        out[i] = sketch(hashes, signs, codes[starts[i] : starts[i + 1]])


@njit(fastmath=True, parallel=True)
def all_cores(hashes, signs, codes, starts, out):
    for i in prange(len(starts) - 1):
        out[i] = sketch(hashes, signs, codes[starts[i] : starts[i + 1]])


def exact(hashes, signs, codes):
    """The same by NumPy, in whole numbers."""
    T = np.zeros((t + 1, D), np.int64)
    T[0][0] = 1
    for c in codes:
        for k in range(t - 1, -1, -1):
            T[k + 1] += int(signs[c][k]) * np.roll(T[k], -hashes[c][k])
    return T[t]


def main():
    letters = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    rng = np.random.default_rng(1)
    hashes = rng.integers(0, D, (A, t))
    signs = rng.choice([-1, 1], (A, t)).astype(np.float32)
    starts = np.arange(N + 1) * (letters // N)
    codes = rng.integers(0, A, starts[-1]).astype(np.int8)
    # C(140, 4) is below 2²⁴.
    assert (sketch(hashes, signs, codes[:140]) == exact(hashes, signs, codes[:140])).all()
    for name, call in (("one core", one_core), ("all cores", all_cores)):
        out = np.zeros((N, D), np.float32)
        # Compiles it too.
        call(hashes, signs, codes, starts[:2], out)
        times = repeated(lambda: clock_ms(lambda: call(hashes, signs, codes, starts, out)), RUNS)
        case = f"equal lengths, f32, {grouped(letters)} letters"
        row(case, times, f"Numba ({name})", version=__version__, clock="call")


if __name__ == "__main__":
    main()
