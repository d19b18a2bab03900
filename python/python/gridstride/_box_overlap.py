from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._types import Devices

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

    def to_scipy(self) -> csr_array:
        """Return a sparse array of bool, whose elements are True where boxes overlap."""
        from scipy.sparse import csr_array

        return csr_array((np.ones(len(self.indices), bool), self.indices, self.offsets), shape=self.shape)


def box_overlap(
    set1: ArrayLike,
    set2: ArrayLike | None = None,
    *,
    algorithm: Literal["auto", "brute_force", "indexed"] = "auto",
    device: Devices | None = None,
) -> Overlaps:
    """Find all pairs of axis-aligned boxes of two sets that overlap. Touching counts.

    The result is exact, and the same on every device.

    Parameters
    ----------
    set1 : array_like
        A box in each row: minX, minY, minZ, maxX, maxY, maxZ, or without Z. float32, float64 or int32. Limits may be
        infinite.
    set2 : array_like, optional
        Boxes with as many columns and the same dtype. Without them, the result is the pairs (i, j), i < j, of `set1`.
    algorithm : {'auto', 'brute_force', 'indexed'}
        'brute_force' tests every pair. 'indexed' builds a tree of the second set. 'auto' chooses.
    device : Device, str, or several of them, optional
        Where to compute. The default is the first GPU, or else the CPU.

    Returns
    -------
    Overlaps
        ``offsets`` and ``indices``.

    Raises
    ------
    TypeError
        For other dtypes.
    ValueError
        If the sets do not have 4 or 6 columns each, or a row has NaN or a minimum above its maximum.

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
    offsets, indices = _core.box_overlap(set1, set2, algorithm=algorithm, device=device)
    count = len(offsets) - 1
    return Overlaps(offsets, indices, (count, count if set2 is None else np.shape(set2)[0]))
