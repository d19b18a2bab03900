"""The published Numba CUDA kernels of the tensor sketch, V3 to V15: a module of the programs beside it.

A kernel reads position l + h where the definition rolls by +h, as published: its sketches are the definition's, with
the positions in reverse order. `exact` has the same direction. Other than published, V10 and later do not drop the
letters after the last whole block of letters, and V11 copies the signs to shared memory beside the hashes.

Tables have the entries of a letter side by side, one for each k. Sketches are T[sequence][row][position].
"""

import numpy as np

from numba_gpu import cuda, nb
from tensor_sketch_exact import A, D, exact, t

L = 6
ROWS = t + 1
DL = D // L
BLOCK = t * DL

# Blocks of threads: rows are the fast index, positions are, or groups of L positions are.
ALONG_ROWS, ALONG_PLACES, SIX_PLACES = (t, D), (D, t), (DL, t)


@cuda.jit(device=True)
def copied_back(hashes, signs, seq, T):
    """Rows in and out, and a copy back after each letter: two barriers."""
    k = cuda.threadIdx.x
    l = cuda.threadIdx.y
    Tin = cuda.shared.array(shape=(ROWS, D), dtype=nb.float32)
    Tout = cuda.shared.array(shape=(ROWS, D), dtype=nb.float32)
    Tin[k][l] = 0
    Tin[k + 1][l] = 0
    cuda.syncthreads()
    Tin[0][0] = 1
    cuda.syncthreads()
    for i in range(len(seq)):
        c = seq[i]
        h = hashes[c][k]
        s = signs[c][k]
        r = l + h
        r -= D if r >= D else 0
        Tout[k + 1][l] = Tin[k + 1][l] + s * Tin[k][r]
        cuda.syncthreads()
        Tin[k + 1][l] = Tout[k + 1][l]
        cuda.syncthreads()
    T[k + 1][l] = Tin[k + 1][l]


@cuda.jit(fastmath=True)
def v3(hashes, signs, seq, T):
    """V3 and V4: one sequence. With tables of i64, products are of f64."""
    copied_back(hashes, signs, seq, T)


@cuda.jit(fastmath=True)
def v5(hashes, signs, seq, starts, T):
    """V5: all sequences. V6: with tables of i32 and f32."""
    sid = cuda.blockIdx.x
    copied_back(hashes, signs, seq[starts[sid] : starts[sid + 1]], T[sid])


@cuda.jit(device=True)
def two_layers(k, l, hashes, signs, seq, start, end, T):
    """Two layers of rows in turn: one barrier a letter."""
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
    for i in range(start, end):
        c = seq[i]
        h = hashes[c][k]
        s = signs[c][k]
        r = l + h
        r -= D if r >= D else 0
        Tin[1 - j][k + 1][l] = Tin[j][k + 1][l] + s * Tin[j][k][r]
        j = 1 - j
        cuda.syncthreads()
    T[k + 1][l] = Tin[j][k + 1][l]


@cuda.jit(fastmath=True)
def v7(hashes, signs, seq, starts, T):
    """V7: the row is the fast index."""
    sid = cuda.blockIdx.x
    two_layers(cuda.threadIdx.x, cuda.threadIdx.y, hashes, signs, seq, starts[sid], starts[sid + 1], T[sid])


@cuda.jit(fastmath=True)
def v8(hashes, signs, seq, starts, T):
    """V8: the position is the fast index."""
    sid = cuda.blockIdx.x
    two_layers(cuda.threadIdx.y, cuda.threadIdx.x, hashes, signs, seq, starts[sid], starts[sid + 1], T[sid])


@cuda.jit(device=True)
def start_layers(Tin, k, l):
    """Sets L positions of both layers to those of no letters."""
    for ll in range(L * l, L * (l + 1)):
        Tin[0][k][ll] = 0
        Tin[0][k + 1][ll] = 0
        Tin[1][k][ll] = 0
        Tin[1][k + 1][ll] = 0
    cuda.syncthreads()
    Tin[0][0][0] = 1
    Tin[1][0][0] = 1
    cuda.syncthreads()


@cuda.jit(device=True)
def add_letter(Tin, j, k, l, h, s):
    """Adds a letter to L neighbouring positions."""
    for ll in range(L * l, L * (l + 1)):
        r = ll + h
        r -= D if r >= D else 0
        Tin[1 - j][k + 1][ll] = Tin[j][k + 1][ll] + s * Tin[j][k][r]
    cuda.syncthreads()


@cuda.jit(fastmath=True)
def v9(hashes, signs, seq, starts, T):
    """V9: L neighbouring positions a thread."""
    sid, l, k = cuda.blockIdx.x, cuda.threadIdx.x, cuda.threadIdx.y
    Tin = cuda.shared.array(shape=(2, ROWS, D), dtype=nb.float32)
    start_layers(Tin, k, l)
    j = 0
    for i in range(starts[sid], starts[sid + 1]):
        c = seq[i]
        add_letter(Tin, j, k, l, hashes[c][k], signs[c][k])
        j = 1 - j
    for ll in range(L * l, L * (l + 1)):
        T[sid][k + 1][ll] = Tin[j][k + 1][ll]


@cuda.jit(fastmath=True)
def v9_strided(hashes, signs, seq, starts, T):
    """V9 with positions that are D/L apart, so that neighbouring threads have neighbouring positions."""
    sid, l, k = cuda.blockIdx.x, cuda.threadIdx.x, cuda.threadIdx.y
    Tin = cuda.shared.array(shape=(2, ROWS, D), dtype=nb.float32)
    start_layers(Tin, k, l)
    j = 0
    for i in range(starts[sid], starts[sid + 1]):
        c = seq[i]
        h = hashes[c][k]
        s = signs[c][k]
        for ll in range(l, D, DL):
            r = ll + h
            r -= D if r >= D else 0
            Tin[1 - j][k + 1][ll] = Tin[j][k + 1][ll] + s * Tin[j][k][r]
        j = 1 - j
        cuda.syncthreads()
    for ll in range(l, D, DL):
        T[sid][k + 1][ll] = Tin[j][k + 1][ll]


@cuda.jit(device=True)
def add_staged(Tin, hashes, signs, seq, start, end):
    """Adds letters that go through shared memory, a block-full at a time; the layer of the result."""
    l, k = cuda.threadIdx.x, cuda.threadIdx.y
    letters = cuda.shared.array(shape=BLOCK, dtype=nb.int32)
    tid = l + k * DL
    j = 0
    for first in range(start, end, BLOCK):
        if first + tid < end:
            letters[tid] = seq[first + tid]
        cuda.syncthreads()
        # The barrier after each letter is also the one before the next letters are staged.
        for i in range(min(BLOCK, end - first)):
            c = letters[i]
            add_letter(Tin, j, k, l, hashes[c][k], signs[c][k])
            j = 1 - j
    return j


@cuda.jit(fastmath=True)
def v10(hashes, signs, seq, starts, T):
    """V10: letters through shared memory."""
    sid, l, k = cuda.blockIdx.x, cuda.threadIdx.x, cuda.threadIdx.y
    Tin = cuda.shared.array(shape=(2, ROWS, D), dtype=nb.float32)
    start_layers(Tin, k, l)
    j = add_staged(Tin, hashes, signs, seq, starts[sid], starts[sid + 1])
    for ll in range(L * l, L * (l + 1)):
        T[sid][k + 1][ll] = Tin[j][k + 1][ll]


@cuda.jit(device=True)
def staged_tables(global_hashes, global_signs, seq, start, end, T):
    """Tables through shared memory too, and results written by neighbours."""
    l, k = cuda.threadIdx.x, cuda.threadIdx.y
    hashes = cuda.shared.array(shape=(A, t), dtype=nb.int32)
    signs = cuda.shared.array(shape=(A, t), dtype=nb.float32)
    if l < A:
        hashes[l][k] = global_hashes[l][k]
        signs[l][k] = global_signs[l][k]
    Tin = cuda.shared.array(shape=(2, ROWS, D), dtype=nb.float32)
    start_layers(Tin, k, l)
    j = add_staged(Tin, hashes, signs, seq, start, end)
    for ll in range(l, D, DL):
        T[k + 1][ll] = Tin[j][k + 1][ll]


@cuda.jit(fastmath=True)
def v11(hashes, signs, seq, starts, T):
    """V11, and with few sequences a launch V12."""
    sid = cuda.blockIdx.x
    staged_tables(hashes, signs, seq, starts[sid], starts[sid + 1], T[sid])


def v11_constant(const_hashes, const_signs):
    """V11 with tables in constant memory, which are compiled into the kernel: NumPy's arrays of i32 and f32."""

    @cuda.jit(fastmath=True)
    def kernel(seq, starts, T):
        sid, l, k = cuda.blockIdx.x, cuda.threadIdx.x, cuda.threadIdx.y
        hashes = cuda.const.array_like(const_hashes)
        signs = cuda.const.array_like(const_signs)
        Tin = cuda.shared.array(shape=(2, ROWS, D), dtype=nb.float32)
        start_layers(Tin, k, l)
        j = add_staged(Tin, hashes, signs, seq, starts[sid], starts[sid + 1])
        for ll in range(l, D, DL):
            T[sid][k + 1][ll] = Tin[j][k + 1][ll]

    return kernel


@cuda.jit(fastmath=True)
def v15(A, t, D, L, hashes, signs, seq, starts, T):
    """V15: all sizes at run time, in dynamic shared memory that is cut into parts."""
    sid, l, k = cuda.blockIdx.x, cuda.threadIdx.x, cuda.threadIdx.y
    threads = cuda.blockDim.x
    block = threads * cuda.blockDim.y
    tid = l + k * threads
    layer = (t + 1) * D
    floats = cuda.shared.array(0, dtype=nb.float32)
    integers = cuda.shared.array(0, dtype=nb.int32)
    Tin = floats[: 2 * layer]
    shared_signs = floats[2 * layer : 2 * layer + A * t]
    shared_hashes = integers[2 * layer + A * t : 2 * layer + 2 * A * t]
    letters = integers[2 * layer + 2 * A * t : 2 * layer + 2 * A * t + block]
    for i in range(tid, 2 * layer, block):
        Tin[i] = 0
    for i in range(tid, A * t, block):
        shared_signs[i] = signs[i // t][i % t]
        shared_hashes[i] = hashes[i // t][i % t]
    cuda.syncthreads()
    if tid == 0:
        Tin[0] = 1
        Tin[layer] = 1
    cuda.syncthreads()
    j = 0
    end = starts[sid + 1]
    for first in range(starts[sid], end, block):
        if first + tid < end:
            letters[tid] = seq[first + tid]
        cuda.syncthreads()
        for i in range(min(block, end - first)):
            c = letters[i]
            h = shared_hashes[c * t + k]
            s = shared_signs[c * t + k]
            source = j * layer + k * D
            for ll in range(L * l, min(L * (l + 1), D)):
                r = ll + h
                r -= D if r >= D else 0
                Tin[(1 - j) * layer + (k + 1) * D + ll] = Tin[source + D + ll] + s * Tin[source + r]
            j = 1 - j
            cuda.syncthreads()
    for ll in range(l, D, threads):
        T[sid][k + 1][ll] = Tin[j * layer + (k + 1) * D + ll]


def shared_bytes():
    """The dynamic shared memory of V15."""
    return 4 * (2 * ROWS * D + 2 * A * t + BLOCK)


class Expected:
    """The exact sketches of some sequences, and how far from them numbers of f32 may be.

    Of n letters, what a tuple adds goes through one rounding a letter at most, and one more for each row:
    γ(n + t)·Σ|terms|, γ(m) = m·u / (1 − m·u), u = 2⁻²⁴. All signs 1 give Σ|terms|."""

    def __init__(self, hashes, signs, seq, starts):
        hashes, signs = hashes.astype(np.int64), signs.astype(np.int64)
        self.sketches = exact(hashes, signs, seq, starts)
        magnitudes = exact(hashes, np.ones_like(signs), seq, starts)
        roundings = (np.diff(starts) + t) * 2.0**-24
        self.bounds = (roundings / (1 - roundings))[:, None] * magnitudes

    def check(self, found, name):
        """Fails if a sketch, row t of what a kernel wrote, is further off than it may be."""
        errors = np.abs(found.astype(np.float64) - self.sketches)
        assert (errors <= self.bounds).all(), f"{name}: a sketch is wrong by {errors.max()}"
