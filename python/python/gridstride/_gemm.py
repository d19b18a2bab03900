from typing import Any, Literal

from numpy.typing import ArrayLike, NDArray

from . import _core
from ._types import Devices


def gemm(
    a: ArrayLike,
    b: ArrayLike,
    c: ArrayLike | None = None,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    trans_a: bool = False,
    trans_b: bool = False,
    overwrite_c: bool = False,
    precision: Literal["full", "tf32", "bf16x6"] | None = None,
    device: Devices | None = None,
) -> NDArray[Any]:
    """Compute ``alpha * a @ b + beta * c``, with the keywords of ``scipy.linalg.blas.dgemm``.

    The factors come first, and `alpha` is a keyword, unlike scipy's.

    Parameters
    ----------
    a, b : array_like
        Matrices, a matrix and a vector, or batches of matrices, with the dtypes of `matmul`.
    c : array_like, optional
        An array of the product's shape, with the dtype of the sums or, for factors of 16 bits, theirs. It is not read if
        `beta` is 0.
    alpha, beta : float
        The factors of the product and of `c`.
    trans_a, trans_b : bool
        Whether to transpose each matrix of `a` or of `b` first.
    overwrite_c : bool
        Whether to write the result to `c`, which may have any strides, in place of a new array.
    precision : {'full', 'tf32', 'bf16x6'}, optional
        The precision of products of float32, as in `matmul`.
    device : Device, str, or several of them, optional
        Where to compute. The default is the first GPU, or else the CPU.

    Returns
    -------
    ndarray
        A new array, or `c` if `overwrite_c` is True.

    Raises
    ------
    TypeError
        For other dtypes, and if `c` is to be overwritten but is no array.
    ValueError
        If the shapes do not match, or `alpha` or `beta` is beyond the range of the sums' dtype, or an integer that
        float64 would round.

    Examples
    --------
    >>> import numpy as np
    >>> from gridstride import gemm
    >>> a, b = np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]])
    >>> gemm(a, b, [[1.0]], alpha=10.0, beta=0.5)
    array([[110.5]])
    >>> c = np.ones((2, 2))
    >>> gemm(a, b, c, beta=1.0, trans_a=True, trans_b=True, overwrite_c=True) is c
    True
    >>> c
    array([[4., 5.],
           [7., 9.]])
    """
    return _core.gemm(
        a,
        b,
        c,
        alpha=alpha,
        beta=beta,
        trans_a=trans_a,
        trans_b=trans_b,
        overwrite_c=overwrite_c,
        precision=precision or "full",
        device=device,
    )
