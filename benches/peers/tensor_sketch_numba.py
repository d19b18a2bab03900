"""The published Numba CUDA kernels of the tensor sketch, on the workload of benches/tensor_sketch.rs.

Run with Numba, numba-cuda and NumPy on a machine with a GPU:  python3 tensor_sketch_numba.py [--sweep --csv OUT.csv]
Each time is a median of 7 runs by CUDA events, with the least and the most, sequences and results on the device. The results
are checked on a prefix of the first sequences against exact integers.

v7:  a thread per (row, position), rows twice in shared memory, one barrier per letter.
v11: six neighbouring positions per thread, letters and tables staged in shared memory. It drops
     the letters past the last whole block of letters, as published.
Both read position l + h where the definition rolls by +h, as published: their sketches are the
definition's, with the positions in reverse order.
"""

import sys
import warnings

import numpy as np

if not hasattr(np, "row_stack"):  # removed in NumPy 2.5, and still used by Numba
    np.row_stack = np.vstack
import numba as nb
from numba import config, cuda

from timing import median, said

warnings.filterwarnings("ignore")
config.CUDA_LOW_OCCUPANCY_WARNINGS = 0

A, t, D, L = 4, 4, 96, 6
ROWS = t + 1
DL = D // L
BLOCK = t * DL
N, LETTERS = 1410, 100_000_000


@cuda.jit(fastmath=True)
def v7(hashes, signs, seq, starts, T):
    sid = cuda.blockIdx.x
    k = cuda.threadIdx.y
    l = cuda.threadIdx.x
    Tin = cuda.shared.array(shape=(2, ROWS, D), dtype=nb.float32)
    Tin[0][k][l] = 0
    Tin[0][k + 1][l] = 0
    Tin[1][k][l] = 0
    Tin[1][k + 1][l] = 0
    cuda.syncthreads()
    Tin[0][0][0] = 1
    Tin[1][0][0] = 1
    cuda.syncthreads()
    j = 0
    for i in range(starts[sid], starts[sid + 1]):
        c = seq[i]
        h = hashes[c][k]
        s = signs[c][k]
        r = l + h
        r -= D if r >= D else 0
        Tin[1 - j][k + 1][l] = Tin[j][k + 1][l] + s * Tin[j][k][r]
        j = 1 - j
        cuda.syncthreads()
    T[sid][k + 1][l] = Tin[j][k + 1][l]


@cuda.jit(fastmath=True)
def v11(global_hashes, global_signs, seq, starts, T):
    sid = cuda.blockIdx.x
    start = starts[sid]
    end = starts[sid + 1]
    l = cuda.threadIdx.x
    k = cuda.threadIdx.y
    hashes = cuda.shared.array(shape=(A, t), dtype=nb.int32)
    signs = cuda.shared.array(shape=(A, t), dtype=nb.float32)
    if l < A:
        hashes[l][k] = global_hashes[l][k]
        signs[l][k] = global_signs[l][k]
    Tin = cuda.shared.array(shape=(2, ROWS, D), dtype=nb.float32)
    for ll in range(L * l, L * (l + 1)):
        Tin[0][k][ll] = 0
        Tin[0][k + 1][ll] = 0
        Tin[1][k][ll] = 0
        Tin[1][k + 1][ll] = 0
    cuda.syncthreads()
    Tin[0][0][0] = 1
    Tin[1][0][0] = 1
    cuda.syncthreads()
    j = 0
    letters = cuda.shared.array(shape=BLOCK, dtype=nb.int32)
    tid = l + k * DL
    for i in range((end - start) // BLOCK):
        letters[tid] = seq[start + i * BLOCK + tid]
        cuda.syncthreads()
        for c in letters:
            h = hashes[c][k]
            s = signs[c][k]
            for ll in range(L * l, L * (l + 1)):
                r = ll + h
                r -= D if r >= D else 0
                Tin[1 - j][k + 1][ll] = Tin[j][k + 1][ll] + s * Tin[j][k][r]
            j = 1 - j
            cuda.syncthreads()
    for ll in range(l, D, DL):
        T[sid][k + 1][ll] = Tin[j][k + 1][ll]


def exact(hashes, signs, seq):
    """Row t in Python's integers, with the published direction of the roll."""
    T = np.zeros((ROWS, D), dtype=object)
    T[0][0] = 1
    for c in seq:
        for k in range(t - 1, -1, -1):
            T[k + 1] = T[k + 1] + int(signs[c][k]) * np.roll(T[k], -int(hashes[c][k]))
    return T[t]


def times_ms(launch, runs=7):
    launch()
    times = []
    for _ in range(runs):
        start, end = cuda.event(), cuda.event()
        start.record()
        launch()
        end.record()
        end.synchronize()
        times.append(cuda.event_elapsed_time(start, end))
    return times


def main():
    rng = np.random.default_rng(1)
    hashes = rng.integers(0, D, (A, t)).astype(np.int32)
    signs = rng.choice([-1.0, 1.0], (A, t)).astype(np.float32)
    dh, ds = cuda.to_device(hashes), cuda.to_device(signs)
    name = cuda.get_current_device().name
    print(name.decode() if isinstance(name, bytes) else name, "numba", nb.__version__)

    # Whole blocks of letters, of which v11 drops none; the sums stay below 2^24.
    short = rng.integers(0, A, 2 * BLOCK).astype(np.int8)
    expected = exact(hashes, signs, short)
    starts = cuda.to_device(np.array([0, len(short)], np.int32))
    for name, kernel, shape in (("v7", v7, (D, t)), ("v11", v11, (DL, t))):
        T = cuda.device_array((1, ROWS, D), np.float32)
        kernel[(1, 1), shape](dh, ds, cuda.to_device(short), starts, T)
        assert (T.copy_to_host()[0][t] == expected).all(), f"{name} computes something else"

    def measure(name, lengths, runs=7):
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        seq = rng.integers(0, A, offsets[-1]).astype(np.int8)
        dseq, dstarts = cuda.to_device(seq), cuda.to_device(offsets)
        T = cuda.device_array((N, ROWS, D), np.float32)
        for version, kernel, shape in (("v7", v7, (D, t)), ("v11", v11, (DL, t))):
            times = times_ms(lambda: kernel[(N, 1), shape](dh, ds, dseq, dstarts, T), runs)
            print(f"{name:<10} {N:>9} {offsets[-1]:>10} {lengths.max():>8}  numba {version:<4} {said(times):>28} ms", flush=True)
            yield version, times

    if "--sweep" in sys.argv:
        # As benches/tensor_sketch.rs --sweep: one sequence has a growing share of all letters.
        letters = 20_000_000
        with open(sys.argv[sys.argv.index("--csv") + 1], "w") as csv:
            csv.write("form,sequences,letters,longest,device_ms,device_least,device_most\n")
            for share in (1 / N, 0.01, 0.03, 0.1, 0.3, 1.0):
                lengths = np.full(N, int(letters * (1 - share) / (N - 1)))
                lengths[0] = int(letters * share)
                for version, times in measure(f"{share:.4f}", lengths, runs=3):
                    csv.write(f"numba {version},{N},{lengths.sum()},{lengths.max()},{median(times):.4f},{min(times):.4f},{max(times):.4f}\n")
        return
    for name in ("Equal", "LogNormal"):
        if name == "Equal":
            lengths = np.full(N, LETTERS // N)
        else:
            weights = rng.lognormal(10, 1.2, N)
            lengths = np.sort((weights / weights.sum() * LETTERS).astype(int) + 1)[::-1]
        for _ in measure(name, lengths):
            pass


if __name__ == "__main__":
    main()
