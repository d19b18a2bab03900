"""Slide distances: of sequences, by the windows that they have in common."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._distances import Nearest
from ._types import Devices


class Windows(NamedTuple):
    """The windows of several sequences, one sequence after the other."""

    #: A window in each row, with the dtypes of `distances`.
    rows: NDArray[Any]
    #: int64: the first row of each sequence, and where the last sequence ends.
    offsets: NDArray[np.int64]


_Windows: TypeAlias = Windows | Iterable[ArrayLike]


def slide_distances(
    a: _Windows,
    b: _Windows | None = None,
    *,
    metric: Literal["euclidean", "sqeuclidean"] = "euclidean",
    out: NDArray[np.float64] | None = None,
    device: Devices | None = None,
) -> NDArray[np.float64]:
    """Compute the slide distances of all sequences of `a` to all sequences of `b`.

    The distance of two sequences is √Σ‖a_w − b_w‖² over the windows w that both have. It is NaN for a sequence without
    windows.

    Parameters
    ----------
    a : Windows, 3-d array, or iterable of arrays
        The windows of n sequences: an array of shape (windows, d) for each sequence, as ``TensorSketch.windows`` returns,
        or an array of shape (n, windows, d) for sequences of equal length, with the dtypes of `distances`. `Windows` and
        arrays in row-major order are not copied.
    b : Windows, 3-d array, or iterable of arrays, optional
        The windows of m sequences, with the same d. The default is `a`.
    metric : {'euclidean', 'sqeuclidean'}
        Whether to take the root of the sum.
    out : ndarray, optional
        A float64 array of shape (n, m), with any strides, to write the result to.
    device : Device, str, or several of them, optional
        Where to compute. The default is the first GPU, or else the CPU.

    Returns
    -------
    ndarray
        float64 of shape (n, m).

    Raises
    ------
    TypeError
        For other dtypes.
    ValueError
        If windows differ in length, or have NaN or infinities.

    Examples
    --------
    >>> import numpy as np
    >>> from gridstride import slide_distances
    >>> a = [np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([[6.0, 8.0]])]
    >>> slide_distances(a, [np.array([[3.0, 4.0], [1.0, 1.0]])])
    array([[5.],
           [5.]])
    """
    return _core.slide_distances(a, b, metric=metric, out=out, device=device)


def slide_paired(
    a: _Windows,
    b: _Windows,
    *,
    metric: Literal["euclidean", "sqeuclidean"] = "euclidean",
    out: NDArray[np.float64] | None = None,
    device: Devices | None = None,
) -> NDArray[np.float64]:
    """Compute the slide distance of each sequence of `a` to the sequence of `b` with the same index.

    Parameters
    ----------
    a, b : Windows, 3-d array, or iterable of arrays
        The windows of n sequences each, as in `slide_distances`.
    metric : {'euclidean', 'sqeuclidean'}
        Whether to take the root of the sum.
    out : ndarray, optional
        A float64 array of shape (n,), with any stride, to write the result to.
    device : Device, str, or several of them, optional
        Where to compute. The default is the first GPU, or else the CPU.

    Returns
    -------
    ndarray
        float64 of shape (n,). NaN for sequences without windows.

    Examples
    --------
    >>> import numpy as np
    >>> from gridstride import slide_paired
    >>> slide_paired([np.zeros((2, 2)), np.zeros((1, 2))], [np.array([[3.0, 4.0]]), np.ones((1, 2))], metric="sqeuclidean")
    array([25.,  2.])
    """
    return _core.slide_paired(a, b, metric=metric, out=out, device=device)


def slide_nearest(
    queries: _Windows,
    database: _Windows,
    k: int = 1,
    *,
    metric: Literal["euclidean", "sqeuclidean"] = "euclidean",
    device: Devices | None = None,
) -> Nearest:
    """Find the `k` sequences of `database` with the least slide distances to each of `queries`.

    Parameters
    ----------
    queries, database : Windows, 3-d array, or iterable of arrays
        The windows of n and m sequences, as in `slide_distances`.
    k : int
        The number of sequences to find, at most m, and at most 1024 on GPUs.
    metric : {'euclidean', 'sqeuclidean'}
        Whether to take the root of the sum.
    device : Device, str, or several of them, optional
        Where to compute. The default is the first GPU, or else the CPU.

    Returns
    -------
    Nearest
        ``distances`` and ``indices``, each of shape (n, k), as of `nearest`.

    Examples
    --------
    >>> import numpy as np
    >>> from gridstride import slide_nearest
    >>> database = np.array([[[0.0], [0.0]], [[3.0], [4.0]], [[1.0], [0.0]]])
    >>> slide_nearest([np.array([[1.0], [1.0]])], database, k=2).indices
    array([[2, 0]])
    """
    return Nearest(*_core.slide_nearest(queries, database, k, metric=metric, device=device))
