from collections.abc import Iterable
from typing import overload

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._core import Sequences
from ._types import Devices, Sequence, Text


@overload
def edit_distance(  # type: ignore[overload-overlap]  # A str is an iterable of str.
    a: Text, b: Text, *, limit: int | None = None, device: Devices | None = None
) -> int: ...
@overload
def edit_distance(
    a: Sequences | Iterable[Sequence],
    b: Sequences | Iterable[Sequence],
    *,
    limit: int | None = None,
    device: Devices | None = None,
) -> NDArray[np.int64]: ...
def edit_distance(
    a: Text | Sequences | Iterable[Sequence],
    b: Text | Sequences | Iterable[Sequence],
    *,
    limit: int | None = None,
    device: Devices | None = None,
) -> int | NDArray[np.int64]:
    """Compute edit distances: the least numbers of insertions, deletions and substitutions of one letter.

    Parameters
    ----------
    a, b : str, bytes, Sequences, or iterables of str, bytes and uint8 arrays
        Two texts, or sequences of which each of `a` is compared with that of `b` with the same index. Letters are bytes;
        the characters of str are those up to U+00FF. A bytearray and a memoryview of bytes are texts too, and columns of text
        of polars, pandas and pyarrow are sequences.
    limit : int, optional
        The largest distance of interest. Smaller limits take less time.
    device : Device, str, or several of them, optional
        Where to compute. The default is the first GPU, or else the CPU.

    Returns
    -------
    int or ndarray
        The distance of two texts, or an int64 array with the distance of each pair; −1 above `limit`.

    Raises
    ------
    ValueError
        If `a` and `b` have different numbers of sequences, characters beyond U+00FF, or codes beyond the alphabet of the
        other. The attribute ``index`` says which sequence is wrong.

    Examples
    --------
    >>> from gridstride import edit_distance
    >>> edit_distance("kitten", "sitting")
    3
    >>> edit_distance(["GATTACA", "GATTACA"], ["CATTAGA", "TTTTTTT"], limit=3)
    array([ 2, -1])
    """
    if isinstance(a, Text) and isinstance(b, Text):
        return int(_core.edit_distances([a], [b], limit=limit, device=device)[0])
    if isinstance(a, Text) or isinstance(b, Text):
        raise TypeError("edit_distance: one argument is a text, and the other has several sequences")
    return _core.edit_distances(a, b, limit=limit, device=device)
