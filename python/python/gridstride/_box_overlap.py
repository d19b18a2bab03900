from __future__ import annotations

from collections.abc import Iterator
from operator import index
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._core import DeviceArray
from ._types import Devices, OnDevice, Stream

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class Overlaps:
    """The pairs of overlapping boxes as compressed rows: the result of `box_overlap`."""

    __slots__ = {
        "offsets": "int64 of shape (n + 1,): where the boxes that overlap each box of the first set begin in `indices`.",
        "indices": "int32: for each box of the first set the boxes of the second that overlap it, ascending.",
        "shape": "The numbers of boxes of both sets.",
    }

    def __init__(self, offsets: NDArray[np.int64], indices: NDArray[np.int32], shape: tuple[int, int]) -> None:
        self.offsets = offsets
        self.indices = indices
        self.shape = shape

    def __len__(self) -> int:
        """The number of boxes of the first set."""
        return self.shape[0]

    def __getitem__(self, box: int) -> NDArray[np.int32]:
        """The boxes of the second set that overlap a box of the first."""
        count, box = len(self), index(box)
        if not -count <= box < count:
            raise IndexError(f"there is no box {box} in the first set: there are {count}")
        box %= count
        return self.indices[self.offsets[box] : self.offsets[box + 1]]

    def __repr__(self) -> str:
        return f"<Overlaps: {len(self.indices)} pairs of {self.shape[0]} × {self.shape[1]} boxes>"

    @property
    def counts(self) -> NDArray[np.int64]:
        """The number of boxes of the second set that overlap each box of the first."""
        return np.diff(self.offsets)

    def pairs(self) -> NDArray[np.int64]:
        """Return the pairs (box of the first set, box of the second), sorted, of shape (p, 2)."""
        first = np.repeat(np.arange(len(self)), self.counts)
        return np.column_stack((first, self.indices))

    def toarray(self) -> NDArray[np.bool_]:
        """Return a dense array of bool of shape (n, m), whose elements are True where boxes overlap."""
        matrix = np.zeros(self.shape, bool)
        matrix[np.repeat(np.arange(len(self)), self.counts), self.indices] = True
        return matrix

    def to_matrix(self, limit: int) -> NDArray[np.int32]:
        """Return the first `limit` boxes of each row as an array of shape (n, limit), padded with −1."""
        if limit < 0:
            raise ValueError(f"to_matrix: limit is {limit}, but has to be 0 at least")
        rows = np.repeat(np.arange(len(self)), self.counts)
        columns = np.arange(len(self.indices)) - self.offsets[rows]
        is_kept = columns < limit
        matrix = np.full((len(self), limit), -1, np.int32)
        matrix[rows[is_kept], columns[is_kept]] = self.indices[is_kept]
        return matrix

    def to_scipy(self) -> csr_array:
        """Return a sparse array of bool, whose elements are True where boxes overlap."""
        from scipy.sparse import csr_array

        return csr_array((np.ones(len(self.indices), bool), self.indices, self.offsets), shape=self.shape)


class DeviceOverlaps:
    """As `Overlaps`, in the memory of a device: the result of `box_overlap` for device arrays."""

    __slots__ = {
        "offsets": "As those of `Overlaps`.",
        "indices": "As those of `Overlaps`.",
        "shape": "The numbers of boxes of both sets.",
    }

    def __init__(self, offsets: DeviceArray, indices: DeviceArray, shape: tuple[int, int]) -> None:
        self.offsets = offsets
        self.indices = indices
        self.shape = shape

    def __len__(self) -> int:
        """The number of boxes of the first set."""
        return self.shape[0]

    def __repr__(self) -> str:
        pairs, device = len(self.indices), self.offsets.device
        return f"<DeviceOverlaps: {pairs} pairs of {self.shape[0]} × {self.shape[1]} boxes on {device}>"

    def numpy(self) -> Overlaps:
        """Return the pairs in the memory of the host."""
        return Overlaps(self.offsets.numpy(), self.indices.numpy(), self.shape)


@overload
def box_overlap(
    set1: OnDevice,
    set2: OnDevice | None = None,
    *,
    algorithm: Literal["auto", "brute_force", "indexed"] = "auto",
    device: Devices | None = None,
    stream: Stream | None = None,
) -> DeviceOverlaps: ...
@overload
def box_overlap(
    set1: ArrayLike | Any,
    set2: ArrayLike | Any | None = None,
    *,
    algorithm: Literal["auto", "brute_force", "indexed"] = "auto",
    device: Devices | None = None,
    stream: Stream | None = None,
) -> Overlaps: ...
def box_overlap(
    set1: ArrayLike | OnDevice | Any,
    set2: ArrayLike | OnDevice | Any | None = None,
    *,
    algorithm: Literal["auto", "brute_force", "indexed"] = "auto",
    device: Devices | None = None,
    stream: Stream | None = None,
) -> Overlaps | DeviceOverlaps:
    """Find all pairs of axis-aligned boxes of two sets that overlap. Touching counts.

    The result is exact, and the same on every device.

    Parameters
    ----------
    set1 : array_like, data frame or device array
        A box in each row: minX, minY, minZ, maxX, maxY, maxZ, or without Z. float32, float64 or int32; other integers
        become int32 or float64, whichever has them exactly. Limits may be infinite. The columns of a data frame of pandas
        or polars, or a table of pyarrow, go by their names, in any order: minX, xmin, x_min, left, west or x1, and so on;
        other names are refused. Arrays, and data frames whose columns have numbers, go by position.
    set2 : array_like, data frame or device array, optional
        Boxes with as many columns. Without them, the result is the pairs (i, j), i < j, of `set1`. If the dtypes differ,
        both sets become what numpy promotes them to.
    algorithm : {'auto', 'brute_force', 'indexed'}
        'brute_force' tests every pair. 'indexed' builds a tree of the second set. 'auto' chooses.
    device : Device, str, or several of them, optional
        Where to compute. The default is the device of the arrays, or else the first GPU, or else the CPU.
    stream : int or stream of torch, cupy or numba, optional
        For arrays in the memory of a GPU: the stream that orders the call. The default is that of an array of this
        package, or else CUDA's legacy default stream. The call waits for the GPU, since the number of pairs must be
        known.

    Returns
    -------
    Overlaps or DeviceOverlaps
        ``offsets`` and ``indices``.

    Raises
    ------
    TypeError
        For other dtypes.
    ValueError
        If the sets do not have 4 or 6 columns each, a row has NaN or a minimum above its maximum, or the names of the
        columns of a data frame are unknown or ambiguous.

    Examples
    --------
    >>> import numpy as np
    >>> from gridstride import box_overlap
    >>> welds = np.array([[0.9, 0.0, 1.1, 0.2], [4.0, 4.0, 4.1, 4.1]])
    >>> pipes = np.array([[0.0, 0.0, 1.0, 0.1], [1.0, 0.0, 2.0, 0.1]])
    >>> found = box_overlap(welds, pipes)
    >>> found
    <Overlaps: 2 pairs of 2 × 2 boxes>
    >>> found.offsets, found.indices
    (array([0, 2, 2]), array([0, 1], dtype=int32))
    >>> found.pairs()
    array([[0, 0],
           [0, 1]])
    >>> found.to_scipy().toarray()
    array([[ True,  True],
           [False, False]])
    """
    offsets, indices, shape = _core.box_overlap(set1, set2, algorithm=algorithm, device=device, stream=stream)
    if isinstance(offsets, DeviceArray):
        return DeviceOverlaps(offsets, indices, shape)
    return Overlaps(offsets, indices, shape)


def box_overlap_counts(
    set1: ArrayLike | Any,
    set2: ArrayLike | Any | None = None,
    *,
    algorithm: Literal["auto", "brute_force", "indexed"] = "auto",
    device: Devices | None = None,
) -> NDArray[np.int32]:
    """Count the boxes of `set2` that overlap each box of `set1`, without the pairs.

    Parameters
    ----------
    set1, set2 : array_like
        Boxes, as in `box_overlap`. Without `set2`, the result counts the boxes j > i of `set1` that overlap box i.
    algorithm : {'auto', 'brute_force', 'indexed'}
        As in `box_overlap`.
    device : Device, str, or several of them, optional
        Where to compute. The default is the first GPU, or else the CPU.

    Returns
    -------
    ndarray
        int32: a number for each box of `set1`.

    Examples
    --------
    >>> import numpy as np
    >>> from gridstride import box_overlap_counts
    >>> boxes = np.array([[0.0, 0.0, 2.0, 2.0], [1.0, 1.0, 3.0, 3.0], [3.0, 3.0, 4.0, 4.0]])
    >>> box_overlap_counts(boxes, boxes), box_overlap_counts(boxes)
    (array([2, 3, 2], dtype=int32), array([1, 1, 0], dtype=int32))
    """
    return _core.box_overlap_counts(set1, set2, algorithm=algorithm, device=device)


class OverlapSlice(NamedTuple):
    """The pairs of consecutive boxes of the first set: an element of `box_overlap_slices`."""

    #: The boxes of the first set.
    rows: range
    #: Their pairs. Row i of `overlaps` is box ``rows[i]``.
    overlaps: Overlaps


def box_overlap_slices(
    set1: ArrayLike | Any,
    set2: ArrayLike | Any | None = None,
    *,
    max_pairs: int,
    algorithm: Literal["auto", "brute_force", "indexed"] = "auto",
    device: Devices | None = None,
) -> Iterator[OverlapSlice]:
    """Find all pairs of overlapping boxes slice by slice, for results larger than memory.

    The next slice is computed while the caller uses one. Leave the boxes unchanged until the iteration ends.

    Parameters
    ----------
    set1, set2 : array_like
        Boxes, as in `box_overlap`.
    max_pairs : int
        The largest number of pairs of a slice. A slice of one box may have more.
    algorithm : {'auto', 'brute_force', 'indexed'}
        As in `box_overlap`.
    device : Device, str, or several of them, optional
        Where to compute. The default is the first GPU, or else the CPU.

    Yields
    ------
    OverlapSlice
        ``rows`` and ``overlaps`` of the next boxes of `set1`, at least one.

    Examples
    --------
    >>> import numpy as np
    >>> from gridstride import box_overlap_slices
    >>> boxes = np.array([[0.0, 0.0, 2.0, 2.0], [1.0, 1.0, 3.0, 3.0], [3.0, 3.0, 4.0, 4.0]])
    >>> for rows, overlaps in box_overlap_slices(boxes, boxes, max_pairs=5):
    ...     print(rows, overlaps.indices)
    range(0, 2) [0 1 0 1 2]
    range(2, 3) [1 2]
    """
    slices = _core.box_overlap_slices(set1, set2, max_pairs, algorithm=algorithm, device=device)
    return (OverlapSlice(range(start, end), Overlaps(*overlaps)) for start, end, overlaps in slices)
