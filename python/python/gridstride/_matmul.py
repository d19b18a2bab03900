from typing import Any, Literal, overload

from numpy.typing import ArrayLike, DTypeLike, NDArray

from . import _core
from ._core import DeviceArray
from ._types import Devices, OnDevice, Stream


@overload
def matmul(
    a: OnDevice,
    b: OnDevice,
    *,
    precision: Literal["full", "tf32", "bf16x6"] | None = None,
    dtype: DTypeLike | None = None,
    out: OnDevice | None = None,
    device: Devices | None = None,
    stream: Stream | None = None,
) -> DeviceArray: ...
@overload
def matmul(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: Literal["full", "tf32", "bf16x6"] | None = None,
    dtype: DTypeLike | None = None,
    out: NDArray[Any] | None = None,
    device: Devices | None = None,
    stream: Stream | None = None,
) -> NDArray[Any]: ...
def matmul(
    a: ArrayLike | OnDevice,
    b: ArrayLike | OnDevice,
    *,
    precision: Literal["full", "tf32", "bf16x6"] | None = None,
    dtype: DTypeLike | None = None,
    out: NDArray[Any] | OnDevice | None = None,
    device: Devices | None = None,
    stream: Stream | None = None,
) -> Any:
    """Multiply two matrices, a matrix and a vector, or batches of matrices.

    Parameters
    ----------
    a, b : array_like or device arrays
        Of shapes (m, k) and (k, n), (m, k) and (k,), or (k,) and (k, n). With a first axis more, arrays are batches of
        matrices; a batch of one matrix, or a matrix, is combined with each matrix of the other batch. float32, float64,
        float16, or bfloat16 of ml_dtypes. Factors of different dtypes become what numpy promotes them to, and integers and
        bools become float64, which must not round them; device arrays have the same dtype. Arrays may have any strides.
    precision : {'full', 'tf32', 'bf16x6'}, optional
        The precision of products of float32. 'full', the default, multiplies and sums in float32. 'tf32' takes the
        upper 19 bits of each number, on tensor cores. 'bf16x6' has about the accuracy of 'full' on tensor cores.
    dtype : dtype, optional
        The dtype of the result. By default it is the dtype of the sums: float32 for factors of 16 bits, which may have
        results of their own dtype too, rounded once, and the dtype of the factors otherwise.
    out : ndarray or device array, optional
        An array of the result's shape to write the result to: with any strides in the memory of the host, and in
        row-major order in that of a device.
    device : Device, str, or several of them, optional
        Where to compute. The default is the device of the arrays, or else the first GPU, or else the CPU.
    stream : int or stream of torch, cupy or numba, optional
        For arrays in the memory of a GPU: the stream that orders the call. The default is that of an array of this
        package, or else CUDA's legacy default stream.

    Returns
    -------
    ndarray or DeviceArray
        The product, or `out`. For arrays in the memory of a device, it stays there.

    Raises
    ------
    TypeError
        For other dtypes.
    ValueError
        If the shapes do not match, or float64 would round an integer.
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
    return _core.matmul(a, b, precision=precision or "full", dtype=dtype, out=out, device=device, stream=stream)
