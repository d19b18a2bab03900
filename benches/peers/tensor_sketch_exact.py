"""The published tensor sketch in Numba on the CPU, in whole numbers: a module of the programs beside it."""

import numpy as np
from numba import njit, prange

# Letters of the alphabet, length of a tuple, and numbers of a sketch.
A, t, D = 4, 4, 96


@njit
def sketch(hashes, signs, seq):
    """Row t in integers: V1."""
    T = np.zeros((t + 1, D), np.int64)
    T[0][0] = 1
    for c in seq:
        for k in range(t - 1, -1, -1):
            h = hashes[c][k]
            s = signs[c][k]
            for l in range(D):
                r = l + h if l + h < D else l + h - D
                T[k + 1][l] += s * T[k][r]
    return T[t]


@njit(parallel=True)
def exact(hashes, signs, seq, starts):
    """The sketches of all sequences in integers: V2."""
    out = np.zeros((len(starts) - 1, D), np.int64)
    for i in prange(len(starts) - 1):
        out[i] = sketch(hashes, signs, seq[starts[i] : starts[i + 1]])
    return out
