"""The published tensor sketch on the CPU, V0 to V2, beside `gridstride_learn tensor-sketch`.

Run with Numba and NumPy:  python3 ladder_tensor_sketch_numba_cpu.py [--letters 100000000] [--runs 3]
Prints a line of JSON for each version, with times of whole calls by the host's clock. V0, which is interpreted, and V1
sketch a share of the letters only: the times are divided by that share. Every sketch is compared with NumPy's, in whole
numbers, on a sequence of a thousand letters.

V0: a loop over letters and rows, in which NumPy adds a rolled row.
V1: the same compiled, with an index in place of the roll.
V2: sequences over all cores.
"""

import argparse
import functools

import numpy as np
from numba import __version__, get_num_threads

from tensor_sketch_exact import A, D, exact, sketch, t
from timing import clock_ms, repeated, show_row

show = functools.partial(show_row, "tensor-sketch")

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
    show("", versions=f"Numba {__version__}", letters=len(codes), cores=get_num_threads())

    few = codes[:OF_V0]
    show("V0", call=[clock_ms(lambda: v0(hashes, signs, few))], share=len(few) / len(codes))
    some = codes[:OF_V1]
    call = lambda: sketch(hashes, signs, some)
    show("V1", call=repeated(lambda: clock_ms(call), options.runs), share=len(some) / len(codes))
    call = lambda: exact(hashes, signs, codes, starts)
    show("V2", call=repeated(lambda: clock_ms(call), options.runs))


if __name__ == "__main__":
    main()
