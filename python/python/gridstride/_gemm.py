from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._columns import on_host
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

    Parameters
    ----------
    a, b : array_like
        Matrices, a matrix and a vector, or batches of matrices, as in `matmul`.
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
        If the shapes do not match.

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
    for name, flag in ("trans_a", trans_a), ("trans_b", trans_b):
        if flag not in (False, True):
            raise TypeError(f"gemm: {name} is {flag!r}, but has to be a bool")
    a, b = _factor(a, trans_a), _factor(b, trans_b)
    shape = _shape(a, b)
    if c is None:
        dtype = np.float32 if a.dtype.itemsize == 2 else a.dtype
        c, beta = np.zeros(shape, dtype), 0.0
    elif not overwrite_c:
        c = np.array(on_host("gemm: c", c), order="C")
    elif not isinstance(c, np.ndarray):
        raise TypeError(f"gemm: c is a {type(c).__name__}, not a numpy array")
    elif not c.flags.writeable:
        raise ValueError("gemm: c is read-only")
    if c.shape != shape:
        raise ValueError(f"gemm: the product has the shape {shape}, but c has the shape {c.shape}")
    return _core.gemm(a, b, c, alpha=alpha, beta=beta, precision=precision or "full", device=device)


def _factor(factor: ArrayLike, is_transposed: bool) -> NDArray[Any]:
    factor = factor if isinstance(factor, np.ndarray) else on_host("gemm: a factor", factor)
    return np.swapaxes(factor, -2, -1) if is_transposed and factor.ndim > 1 else factor


def _shape(a: NDArray[Any], b: NDArray[Any]) -> tuple[int, ...]:
    """The shape of a product. The extension checks whether the factors fit."""
    both = zip(a.shape[:-2], b.shape[:-2])
    batch = tuple(of_b if of_a == 1 else of_a for of_a, of_b in both) or a.shape[:-2] or b.shape[:-2]
    return batch + a.shape[-2:-1] + b.shape[-1:] * (b.ndim > 1)
