from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._core import DeviceArray
from ._types import Devices, OnDevice, Stream


@overload
def distances(
    a: OnDevice,
    b: OnDevice | None = None,
    *,
    metric: Literal["euclidean", "sqeuclidean"] = "euclidean",
    out: OnDevice | None = None,
    device: Devices | None = None,
    stream: Stream | None = None,
) -> DeviceArray: ...
@overload
def distances(
    a: ArrayLike | Any,
    b: ArrayLike | Any | None = None,
    *,
    metric: Literal["euclidean", "sqeuclidean"] = "euclidean",
    out: NDArray[np.float64] | None = None,
    device: Devices | None = None,
    stream: Stream | None = None,
) -> NDArray[np.float64]: ...
def distances(
    a: ArrayLike | OnDevice | Any,
    b: ArrayLike | OnDevice | Any | None = None,
    *,
    metric: Literal["euclidean", "sqeuclidean"] = "euclidean",
    out: NDArray[np.float64] | OnDevice | None = None,
    device: Devices | None = None,
    stream: Stream | None = None,
) -> NDArray[np.float64] | DeviceArray:
    """Compute the distances of all rows of `a` to all rows of `b`, as ``scipy.spatial.distance.cdist`` does.

    Distances are sums of squared differences, so that those of close rows are as accurate as all others.

    Parameters
    ----------
    a : array_like, data frame or device array
        Of shape (n, d), float32 or float64. Other floats, integers and bools become what numpy promotes both to, at least
        float32, and must not be rounded.
    b : array_like, data frame or device array, optional
        Of shape (m, d). If both are data frames, their columns belong together by their names. Without `b`, the distances of the rows of `a` to each other, each of
        which is computed once.
    metric : {'euclidean', 'sqeuclidean'}
        √Σ(a − b)², or Σ(a − b)².
    out : ndarray or device array, optional
        A float64 array of shape (n, m) to write the result to: with any strides in the memory of the host, and in
        row-major order in that of a device.
    device : Device, str, or several of them, optional
        Where to compute. The default is the device of the arrays, or else the first GPU, or else the CPU.
    stream : int or stream of torch, cupy or numba, optional
        For arrays in the memory of a GPU: the stream that orders the call. The default is that of an array of this
        package, or else CUDA's legacy default stream.

    Returns
    -------
    ndarray or DeviceArray
        Of shape (n, m), always float64, since squares of large float32 leave the range of float32.

    Raises
    ------
    TypeError
        For other dtypes.
    ValueError
        If the rows differ in length, or have NaN or infinities.

    Examples
    --------
    >>> import numpy as np
    >>> from gridstride import distances
    >>> a = np.array([[0.0, 0.0], [3.0, 0.0]])
    >>> distances(a, [[3.0, 4.0]])
    array([[5.],
           [4.]])
    >>> distances(a, metric="sqeuclidean")
    array([[0., 9.],
           [9., 0.]])
    """
    found: NDArray[np.float64] | DeviceArray
    found = _core.distances(a, b, metric=metric, out=out, device=device, stream=stream)
    return found


class Nearest(NamedTuple):
    """The nearest rows of each query: the result of `nearest`."""

    #: float64 of shape (n, k), ascending in each row.
    distances: NDArray[np.float64]
    #: int64 of shape (n, k): row numbers of the database.
    indices: NDArray[np.int64]


class DeviceNearest(NamedTuple):
    """As `Nearest`, in the memory of a device."""

    #: float64 of shape (n, k), ascending in each row.
    distances: DeviceArray
    #: int64 of shape (n, k): row numbers of the database.
    indices: DeviceArray

    def numpy(self) -> Nearest:
        """Return copies in the memory of the host."""
        return Nearest(self.distances.numpy(), self.indices.numpy())


@overload
def nearest(
    queries: OnDevice,
    database: OnDevice,
    k: int = 1,
    *,
    metric: Literal["euclidean", "sqeuclidean"] = "euclidean",
    device: Devices | None = None,
    stream: Stream | None = None,
) -> DeviceNearest: ...
@overload
def nearest(
    queries: ArrayLike | Any,
    database: ArrayLike | Any,
    k: int = 1,
    *,
    metric: Literal["euclidean", "sqeuclidean"] = "euclidean",
    device: Devices | None = None,
    stream: Stream | None = None,
) -> Nearest: ...
def nearest(
    queries: ArrayLike | OnDevice | Any,
    database: ArrayLike | OnDevice | Any,
    k: int = 1,
    *,
    metric: Literal["euclidean", "sqeuclidean"] = "euclidean",
    device: Devices | None = None,
    stream: Stream | None = None,
) -> Nearest | DeviceNearest:
    """Find the `k` rows of `database` that are nearest to each of `queries`.

    The result is exact, and has the distances of `distances`; rows at the same distance are in the order of their
    numbers. The table of all distances is never in memory.

    Parameters
    ----------
    queries : array_like, data frame or device array
        Of shape (n, d), with the dtypes of `distances`.
    database : array_like, data frame or device array
        Of shape (m, d). If both are data frames, their columns belong together by their names.
    k : int
        The number of rows to find, at most m, and at most 1024 on GPUs.
    metric : {'euclidean', 'sqeuclidean'}
        √Σ(a − b)², or Σ(a − b)².
    device : Device, str, or several of them, optional
        Where to compute. The default is the device of the arrays, or else the first GPU, or else the CPU.
    stream : int or stream of torch, cupy or numba, optional
        For arrays in the memory of a GPU: the stream that orders the call. The default is that of an array of this
        package, or else CUDA's legacy default stream.

    Returns
    -------
    Nearest or DeviceNearest
        ``distances`` and ``indices``, in the order of ``scipy.spatial.KDTree.query``, each of shape (n, k).

    Raises
    ------
    TypeError
        For other dtypes.
    ValueError
        If the rows differ in length, have NaN or infinities, or are fewer than `k`.

    Examples
    --------
    >>> import numpy as np
    >>> from gridstride import nearest
    >>> database = np.array([[0.0], [10.0], [4.0]])
    >>> distances, indices = nearest(np.array([[3.0], [9.0]]), database, k=2)
    >>> indices
    array([[2, 0],
           [1, 2]])
    >>> distances
    array([[1., 3.],
           [1., 5.]])
    """
    distances, indices = _core.nearest(queries, database, k, metric=metric, device=device, stream=stream)
    if isinstance(distances, DeviceArray):
        return DeviceNearest(distances, indices)
    return Nearest(distances, indices)
