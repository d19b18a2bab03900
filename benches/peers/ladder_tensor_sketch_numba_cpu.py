"""The published tensor sketch on the CPU, V0 to V2, beside `gridstride_learn tensor-sketch`.

Run with Numba and NumPy:  python3 ladder_tensor_sketch_numba_cpu.py [--letters 100000000] [--runs 3]
Times are those of whole calls by the host's clock. V0, which is interpreted, and V1
sketch a share of the letters only: the times are divided by that share. Every sketch is compared with NumPy's, in whole
numbers, on a sequence of a thousand letters.

V0: a loop over letters and rows, in which NumPy adds a rolled row.
V1: the same compiled, with an index in place of the roll.
V2: sequences over all cores.
"""

import argparse

import numpy as np
from numba import __version__

from tensor_sketch_exact import A, D, exact, sketch, t
from timing import clock_ms, repeated, row

# Sequences.
N = 1410

# The letters that V0 and V1 sketch.
OF_V0, OF_V1 = 20_000, 5_000_000


def v0(hashes, signs, codes):
    T = np.zeros((t + 1, D), np.int64)
    T[0][0] = 1
    for c in codes:
        for k in range(t - 1, -1, -1):
            T[k + 1] += signs[c][k] * np.roll(T[k], -hashes[c][k])
    return T[t]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--letters", type=int, default=100_000_000)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    rng = np.random.default_rng(1)
    hashes, signs = rng.integers(0, D, (A, t)), rng.choice([-1, 1], (A, t))
    lengths = options.letters / N * rng.uniform(0.5, 1.5, N)
    starts = np.concatenate([[0], np.cumsum(lengths.round())]).astype(np.int64)
    codes = rng.integers(0, A, starts[-1]).astype(np.int8)
    short = codes[:1000]
    expected = v0(hashes, signs, short)
    assert (sketch(hashes, signs, short) == expected).all(), "V1 computes something else"
    found = exact(hashes, signs, short, np.array([0, len(short), len(short)]))
    assert (found[0] == expected).all() and not found[1].any(), "V2 computes something else"

    few = codes[:OF_V0]
    times, share = [clock_ms(lambda: v0(hashes, signs, few))], len(few) / len(codes)
    row("V0", times, "NumPy", version=np.__version__, clock="call", share=share)
    some = codes[:OF_V1]
    for version, call, share in (
        ("V1", lambda: sketch(hashes, signs, some), len(some) / len(codes)),
        ("V2", lambda: exact(hashes, signs, codes, starts), None),
    ):
        times = repeated(lambda: clock_ms(call), options.runs)
        row(version, times, "Numba", version=__version__, clock="call", share=share)


if __name__ == "__main__":
    main()
