from typing import Any, Literal

from numpy.typing import ArrayLike, DTypeLike, NDArray

from . import _core
from ._types import Devices


def matmul(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: Literal["full", "tf32", "bf16x6"] | None = None,
    dtype: DTypeLike | None = None,
    out: NDArray[Any] | None = None,
    device: Devices | None = None,
) -> NDArray[Any]:
    """Multiply two matrices, a matrix and a vector, or batches of matrices.

    Parameters
    ----------
    a, b : array_like
        Of shapes (m, k) and (k, n), (m, k) and (k,), or (k,) and (k, n). With a first axis more, arrays are batches of
        matrices; a batch of one matrix, or a matrix, is combined with each matrix of the other batch. Both have the
        same dtype: float32, float64, float16, or bfloat16 of ml_dtypes. Arrays may have any strides.
    precision : {'full', 'tf32', 'bf16x6'}, optional
        The precision of products of float32. 'full', the default, multiplies and sums in float32. 'tf32' takes the
        upper 19 bits of each number, on tensor cores. 'bf16x6' has about the accuracy of 'full' on tensor cores.
    dtype : dtype, optional
        The dtype of the result. By default it is the dtype of the sums: float32 for factors of 16 bits, which may have
        results of their own dtype too, rounded once, and the dtype of the factors otherwise.
    out : ndarray, optional
        An array of the result's shape, with any strides, to write the result to.
    device : Device, str, or several of them, optional
        Where to compute. The default is the first GPU, or else the CPU.

    Returns
    -------
    ndarray
        The product, or `out`.

    Raises
    ------
    TypeError
        For other dtypes.
    ValueError
        If the shapes do not match.
    MemoryError
        If the memory of the host or of a device does not suffice.

    Examples
    --------
    >>> import numpy as np
    >>> from gridstride import matmul
    >>> a = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> matmul(a, a.T)
    array([[ 5., 11., 17.],
           [11., 25., 39.],
           [17., 39., 61.]])
    >>> matmul(a, np.array([1.0, -1.0]))
    array([-1., -1., -1.])
    >>> halves = a.astype(np.float16)
    >>> matmul(halves, halves.T).dtype, matmul(halves, halves.T, dtype=np.float16).dtype
    (dtype('float32'), dtype('float16'))
    """
    return _core.matmul(a, b, precision=precision or "full", dtype=dtype, out=out, device=device)
