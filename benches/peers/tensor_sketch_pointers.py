"""V13 of the published tensor sketch, which reads sequences by their addresses: Numba's simulator has none."""

from llvmlite import ir
from numba import types
from numba.core.extending import intrinsic

from numba_gpu import cuda
from tensor_sketch_kernels import staged_tables


@intrinsic
def letters_at(typing, address):
    """The address of letters as a pointer to them."""

    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())

    return types.CPointer(types.int8)(types.uint64), generate


@cuda.jit(fastmath=True)
def v13(hashes, signs, addresses, lengths, T):
    """V11 with an array of pointers to sequences."""
    sid = cuda.blockIdx.x
    staged_tables(hashes, signs, letters_at(addresses[sid]), 0, lengths[sid], T[sid])
