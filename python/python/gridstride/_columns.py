"""Columns of pandas, polars, pyarrow and numpy as numpy arrays, without copies where there is a way."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _core


class Column(NamedTuple):
    """A column of numbers or of timestamps."""

    elements: NDArray[Any]
    #: Which elements are not null; None if all are valid.
    valid: NDArray[np.bool_] | None
    #: The unit of timestamps, if they have one.
    unit: str | None
    #: The time zone of timestamps, if they have one.
    zone: Any

    def ticks(self) -> NDArray[Any]:
        """The timestamps as int64."""
        return self.elements.view(np.int64) if self.elements.dtype.kind == "M" else self.elements


def in_unit(unit: str | None, ticks: NDArray[np.int64]) -> NDArray[Any]:
    """Returns int64 as timestamps of a unit, if there is one."""
    return ticks if unit is None else ticks.view(f"datetime64[{unit}]")


def column_of(column: Any) -> Column:
    """Takes a column of pandas, or one with Arrow's C interface, or else what numpy makes of it."""
    if type(column).__module__.partition(".")[0] == "pandas":
        return _from_pandas(column)
    if hasattr(column, "__arrow_c_array__") or hasattr(column, "__arrow_c_stream__"):
        return Column(*_core.from_arrow(column))
    elements = on_host("a column", np.ma.getdata(column) if isinstance(column, np.ma.MaskedArray) else column)
    # A masked element is a null.
    valid = ~np.ma.getmaskarray(column) if np.ma.is_masked(column) else None
    return _from_numpy(elements, valid, None)


def _from_numpy(elements: NDArray[Any], valid: NDArray[np.bool_] | None, zone: Any) -> Column:
    if elements.ndim == 0:
        raise TypeError(f"a column is {elements!r}, without an axis: collect lazy frames first")
    if elements.ndim != 1:
        raise ValueError(f"a column has the shape {elements.shape}, but has to have one axis")
    dtype = elements.dtype
    if dtype.kind != "M":
        return Column(elements, valid, None, zone)
    unit, count = np.datetime_data(dtype)
    if unit in ("generic", "Y", "M"):
        raise TypeError(f"the dtype of the timestamps is {dtype}, whose unit has no fixed length: convert it to seconds")
    if count != 1:
        raise TypeError(
            f"the dtype of the timestamps is {dtype}, whose unit is {count} {unit}: convert it to datetime64[{unit}]"
        )
    if not dtype.isnative:
        elements = elements.astype(f"datetime64[{unit}]")
    return Column(elements, valid, unit, zone)


def _from_pandas(column: Any) -> Column:
    if not hasattr(column, "dtype"):
        raise TypeError(f"a column is a {type(column).__name__}, which has several: select one of them")
    zone = None
    if getattr(column.dtype, "tz", None) is not None:
        zone = column.dtype.tz
        # A series has the methods of time zones behind `dt`, an index has them itself.
        zoned = getattr(column, "dt", column)
        column = zoned.tz_convert(None)
    if isinstance(column.dtype, np.dtype):
        return _from_numpy(column.to_numpy(), None, zone)
    # Types of extensions, with nulls.
    import pandas as pd

    zone = zone or getattr(getattr(column.dtype, "pyarrow_dtype", None), "tz", None)
    valid = ~np.asarray(pd.isna(column))
    dtype = getattr(column.dtype, "numpy_dtype", object)
    elements = column.to_numpy(dtype=dtype, na_value=np.zeros(1, dtype)[0])
    return _from_numpy(elements, None if valid.all() else valid, zone)


def grouped(function: str, series: Any, count: int) -> tuple[NDArray[Any], NDArray[np.intp], NDArray[np.intp] | None]:
    """Returns the label of each series, the series' offsets, and the order that makes each series' points neighbours.

    The order is None if they already are.
    """
    keys = on_host(f"{function}: series", np.ma.getdata(series) if isinstance(series, np.ma.MaskedArray) else series)
    if keys.shape != (count,):
        raise ValueError(f"{function}: the labels of the series have the shape {keys.shape}, but there are {count} points")
    # NaN and NaT differ from themselves, and pandas' NA is neither equal nor different.
    if keys.dtype.kind == "O":
        missing = (key is None or ((same := key == key) is not True and same is not np.True_) for key in keys)
        is_missing = np.fromiter(missing, bool, count)
    else:
        is_missing = np.asarray(keys != keys)
    is_missing |= np.ma.getmaskarray(series) if np.ma.is_masked(series) else False
    if is_missing.any():
        raise ValueError(f"{function}: the label of point {np.argmax(is_missing)} is missing")
    starts = np.flatnonzero(keys[1:] != keys[:-1]) + 1
    starts = np.concatenate(([0], starts)) if count > 0 else starts
    labels = keys[starts]
    if len(set(labels.tolist())) == len(labels):
        return labels, np.append(starts, count), None
    labels, inverse = np.unique(keys, return_inverse=True)
    order = np.argsort(inverse, kind="stable")
    return labels, np.concatenate(([0], np.cumsum(np.bincount(inverse)))), order


def on_host(name: str, array: Any) -> NDArray[Any]:
    """Returns what numpy makes of an array, without copying one from the memory of a device."""
    if _core.on_device(array):
        raise TypeError(f"{name} is in the memory of a device, but the call takes arrays of the host: pass its numpy()")
    if _core.lists_device_arrays(array):
        raise TypeError(
            f"{name} is a list with arrays in the memory of a device, which the call does not copy to the host: pass a list"
            " of copies, for example by their numpy()"
        )
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError(
            f"{name} is a masked array, whose mask the library does not know: fill it, or leave the masked elements out"
        )
    return np.asarray(array)


def rows_of(array: Any) -> int:
    """Returns the length of the first axis of an array in the memory of a device.

    For what the library refuses, the result is any number.
    """
    if hasattr(array, "shape"):
        shape = array.shape
    else:
        shape = array.__cuda_array_interface__["shape"] if _core.on_device(array) else np.shape(array)
    return int(shape[0]) if len(shape) > 0 else 1


def offsets_of(function: str, offsets: Any, count: int) -> NDArray[np.intp]:
    """Returns offsets of series among `count` points; the library checks their order."""
    ends = on_host(f"{function}: offsets", offsets)
    if ends.ndim != 1 or (ends.size > 0 and ends.dtype.kind not in "iu"):
        raise TypeError(f"{function}: offsets have the dtype {ends.dtype} and {ends.ndim} axes, but have to be integers with one axis")
    wrong = np.flatnonzero((ends < 0) | (ends > count))
    if wrong.size > 0:
        raise ValueError(f"{function}: offset {ends[wrong[0]]} at index {wrong[0]} is not in 0 to the number of points, {count}")
    return ends.astype(np.intp)
