"""Statistics of the values in buckets of time, for one series or many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._columns import Column, column_of, grouped, in_unit, offsets_of, rows_of
from ._durations import point_in, span_in
from ._core import DeviceArray
from ._types import Devices, OnDevice, Stream

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "METHODS",
    "BucketCounts",
    "Buckets",
    "DeviceBuckets",
    "Summaries",
    "aggregate",
    "bucket_counts",
    "round_timestamps",
    "summarize",
]

METHODS: dict[str, str] = dict(_core.METHODS)
"""What `aggregate` computes, by name, except percentiles and rates."""


class Buckets(Mapping[str, NDArray[np.float64]]):
    """The buckets that have points: the result of `aggregate`, a mapping from methods to arrays.

    Attributes
    ----------
    starts : ndarray
        The start of each bucket, with the dtype of the timestamps.
    labels : ndarray or None
        The label of each series, if there are labels.
    offsets : ndarray
        int64: where the buckets of each series begin, and where the last ones end.
    """

    def __init__(
        self,
        starts: NDArray[Any],
        columns: dict[str, NDArray[np.float64]],
        offsets: NDArray[np.int64],
        labels: NDArray[Any] | None,
        zone: Any,
    ) -> None:
        self.starts = starts
        self.offsets = offsets
        self.labels = labels
        self._columns = columns
        self._zone = zone

    def __getitem__(self, method: str) -> NDArray[np.float64]:
        return self._columns[method]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        return f"<Buckets: {', '.join(self)} of {len(self.starts)} buckets>"

    def to_pandas(self) -> pd.DataFrame:
        """Return a data frame with a column for each method.

        Its index is the starts, in the time zone of the timestamps, behind the series if there are several.

        Raises
        ------
        ValueError
            If pandas cannot hold the starts, whose unit is below nanoseconds.
        """
        import pandas as pd

        starts = pd.Index(self.starts, name="start")
        if (starts.to_numpy() != self.starts).any():
            dtype = self.starts.dtype
            raise ValueError(f"to_pandas: the starts are {dtype}, and the finest unit of pandas is ns: round them first")
        if self._zone is not None:
            starts = pd.DatetimeIndex(starts, tz="UTC").tz_convert(self._zone)
        if self.labels is None and len(self.offsets) == 2:
            return pd.DataFrame(self._columns, index=starts)
        labels = np.arange(len(self.offsets) - 1) if self.labels is None else self.labels
        labels = np.repeat(labels, np.diff(self.offsets))
        index = pd.MultiIndex.from_arrays([labels, starts], names=["series", "start"])
        return pd.DataFrame(self._columns, index=index)


class DeviceBuckets(Mapping[str, DeviceArray]):
    """As `Buckets`, in the memory of a device: the result of `aggregate` for device arrays.

    Attributes
    ----------
    starts : DeviceArray
        int64: the start of each bucket.
    offsets : ndarray
        int64, in the memory of the host: where the buckets of each series begin, and where the last ones end.
    """

    def __init__(self, starts: DeviceArray, columns: dict[str, DeviceArray], offsets: NDArray[np.int64]) -> None:
        self.starts = starts
        self.offsets = offsets
        self._columns = columns

    def __getitem__(self, method: str) -> DeviceArray:
        return self._columns[method]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        return f"<DeviceBuckets: {', '.join(self)} of {len(self.starts)} buckets on {self.starts.device}>"

    def numpy(self) -> Buckets:
        """Return the buckets in the memory of the host."""
        columns = {method: column.numpy() for method, column in self._columns.items()}
        return Buckets(self.starts.numpy(), columns, self.offsets, None, None)


@overload
def aggregate(
    timestamps: OnDevice,
    values: OnDevice,
    every: int,
    methods: str | Sequence[str] = "mean",
    *,
    offsets: ArrayLike | None = None,
    origin: int = 0,
    fill: float | Literal["previous"] | None = None,
    nan: Literal["skip", "propagate"] = "skip",
    ddof: int = 1,
    singletons: Literal["nan", "drop"] = "nan",
    duplicates: Literal["keep", "first", "last"] = "keep",
    sort: bool = False,
    device: Devices | None = None,
    stream: Stream | None = None,
) -> DeviceBuckets: ...
@overload
def aggregate(
    timestamps: ArrayLike | Any,
    values: ArrayLike | Any,
    every: int | str | timedelta | np.timedelta64,
    methods: str | Sequence[str] = "mean",
    *,
    series: ArrayLike | Any | None = None,
    offsets: ArrayLike | None = None,
    origin: int | datetime | np.datetime64 = 0,
    fill: float | Literal["previous"] | None = None,
    nan: Literal["skip", "propagate"] = "skip",
    ddof: int = 1,
    singletons: Literal["nan", "drop"] = "nan",
    duplicates: Literal["keep", "first", "last"] = "keep",
    sort: bool = False,
    device: Devices | None = None,
    stream: Stream | None = None,
) -> Buckets: ...
def aggregate(
    timestamps: ArrayLike | Any,
    values: ArrayLike | Any,
    every: int | str | timedelta | np.timedelta64,
    methods: str | Sequence[str] = "mean",
    *,
    series: ArrayLike | Any | None = None,
    offsets: ArrayLike | None = None,
    origin: int | datetime | np.datetime64 = 0,
    fill: float | Literal["previous"] | None = None,
    nan: Literal["skip", "propagate"] = "skip",
    ddof: int = 1,
    singletons: Literal["nan", "drop"] = "nan",
    duplicates: Literal["keep", "first", "last"] = "keep",
    sort: bool = False,
    device: Devices | None = None,
    stream: Stream | None = None,
) -> Buckets | DeviceBuckets:
    """Aggregate the values of each bucket of time.

    A timestamp t is in the bucket that begins at ``origin + (t - origin) // every * every``. Buckets are not aligned to
    the first day of the data as those of pandas' ``resample`` are by default, but to `origin`, the epoch.

    Parameters
    ----------
    timestamps : array_like, column or device array
        int64 in any unit, or datetime64, not descending within a series; int64 on a device. Columns of pandas, polars and pyarrow may have
        time zones; buckets are those of UTC.
    values : array_like, column or device array
        A number for each timestamp, float32 or float64. Nulls of polars, pyarrow and pandas are no points.
    every : int, str, timedelta or timedelta64
        The length of a bucket: in the unit of the timestamps, or with a unit as '200ms', '35s', '1.5h' or '1d'; the
        units are ns, us, ms, s, m or min, h, d and w.
    methods : str or sequence of str
        What to compute: names in `METHODS`, which says what each is, such as 'mean' or 'std'; percentiles as 'p95';
        and each of them behind 'rate:', which means the differences of successive values.
    series : array_like or column, optional
        The label of each point's series. The points of a series need not be neighbours, but are not copied if they are.
    offsets : array_like, optional
        Where each series begins, and where the last one ends, in place of labels.
    origin : int, datetime or datetime64
        A time at which a bucket begins.
    fill : float or 'previous', optional
        The results of buckets without points between the first and the last of a series: a number, or those of the
        bucket before. By default there are no such buckets.
    nan : {'skip', 'propagate'}
        Whether NaN are left out, or are values.
    ddof : int
        The divisor of 'var' and 'std' is the number of values less `ddof`.
    singletons : {'nan', 'drop'}
        Whether buckets without a 'var' or 'std', with one value, have NaN or are left out.
    duplicates : {'keep', 'first', 'last'}
        Which points with the same timestamp to keep.
    sort : bool
        Whether to sort the points of each series first, stably.
    device : Device, str, or several of them, optional
        Where to compute. The default is the device of the arrays, or else the first GPU, or else the CPU.
    stream : int or stream of torch, cupy or numba, optional
        For arrays in the memory of a GPU: the stream that orders the call. The default is that of an array of this
        package, or else CUDA's legacy default stream. The call waits for the GPU, since the number of buckets must be
        known.

    Returns
    -------
    Buckets or DeviceBuckets
        A mapping from methods to float64 arrays with a number for each bucket, and the buckets' ``starts``.

    Raises
    ------
    TypeError
        For other dtypes.
    ValueError
        If timestamps descend, are null, or are not as many as values, and for other arguments that do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from gridstride import time_series
    >>> timestamps = np.datetime64("2026-01-01T00:00:00") + np.array([0, 30, 40])
    >>> found = time_series.aggregate(timestamps, np.array([1.0, 3.0, 8.0]), "35s", ["count", "mean"])
    >>> found.starts
    array(['2026-01-01T00:00:00', '2026-01-01T00:00:35'],
          dtype='datetime64[s]')
    >>> found["mean"]
    array([2., 8.])
    >>> found.to_pandas()
                         count  mean
    start
    2026-01-01 00:00:00    2.0   2.0
    2026-01-01 00:00:35    1.0   8.0
    """
    methods = [methods] if isinstance(methods, str) else list(methods)
    if _core.on_device(timestamps) or _core.on_device(values):
        if series is not None:
            raise ValueError("aggregate: series are labels in the memory of the host: pass offsets with device arrays")
        found, starts, columns = _core.aggregate(
            timestamps,
            values,
            offsets=None if offsets is None else offsets_of("aggregate", offsets, rows_of(timestamps)).tolist(),
            every=span_in(None, every),
            origin=point_in(None, origin),
            methods=methods,
            fill=fill,
            nan=nan,
            ddof=ddof,
            singletons=singletons,
            duplicates=duplicates,
            sort=sort,
            device=device,
            stream=stream,
        )
        return DeviceBuckets(starts, dict(zip(methods, columns, strict=True)), found)
    points = _points("aggregate", timestamps, values, series, offsets)
    with points.errors():
        found, starts, columns = _core.aggregate(
            points.ticks,
            points.values,
            offsets=points.offsets,
            every=span_in(points.times.unit, every),
            origin=point_in(points.times.unit, origin),
            methods=methods,
            fill=fill,
            nan=nan,
            ddof=ddof,
            singletons=singletons,
            duplicates=duplicates,
            sort=sort,
            device=device,
            stream=stream,
        )
    times = points.times
    columns_of = dict(zip(methods, columns, strict=True))
    return Buckets(in_unit(times.unit, starts), columns_of, found, points.labels, times.zone)


class _Points(NamedTuple):
    """The points of a call, without nulls, those of a series after each other."""

    times: Column
    ticks: NDArray[Any]
    values: NDArray[Any]
    offsets: list[int] | None
    labels: NDArray[Any] | None
    #: Which of the caller's points each point is, if they differ.
    places: NDArray[np.intp] | None

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Gives the library's exceptions about a timestamp the caller's index."""
        try:
            yield
        except ValueError as error:
            index = getattr(error, "index", None)
            if index is not None and self.places is not None and "timestamp" in str(error):
                error.index = int(self.places[index])  # type: ignore[attr-defined]
                error.args = (str(error).replace(f"at index {index}", f"at index {self.places[index]}"),)
            raise


def _refusal(message: str, index: int) -> ValueError:
    """Returns an exception about one element."""
    error = ValueError(message)
    error.index = index  # type: ignore[attr-defined]
    return error


def _require_offsets(function: str, offsets: NDArray[np.intp], count: int) -> None:
    """Fails unless offsets ascend from 0 to `count`, the number of points."""
    if offsets.size == 0:
        # The library refuses them.
        return
    descents = np.flatnonzero(offsets[1:] < offsets[:-1]) + 1
    if descents.size > 0:
        index = int(descents[0])
        message = f"offset {offsets[index]} at index {index} is below the one before it, {offsets[index - 1]}"
        raise _refusal(f"{function}: {message}", index)
    first, last = offsets[0], offsets[-1]
    if first != 0 or last != count:
        message = f"the offsets go from {first} to {last}, and have to go from 0 to the number of points, {count}"
        raise _refusal(f"{function}: {message}", 0 if first != 0 else offsets.size - 1)


def _times(function: str, timestamps: ArrayLike | Any) -> Column:
    """Takes a column of timestamps, without nulls and NaT."""
    times = column_of(timestamps)
    if times.valid is not None:
        index = int(np.argmin(times.valid))
        raise _refusal(f"{function}: timestamp {index} is null", index)
    if times.unit is not None and len(times.elements) > 0:
        # NaT is the least int64.
        ticks = times.ticks()
        index = int(np.argmin(ticks))
        if ticks[index] == np.iinfo(np.int64).min:
            raise _refusal(f"{function}: timestamp {index} is NaT", index)
    return times


def _points(
    function: str,
    timestamps: ArrayLike | Any,
    values: ArrayLike | Any,
    series: ArrayLike | Any | None,
    offsets: ArrayLike | None,
) -> _Points:
    times, column = _times(function, timestamps), column_of(values)
    if series is not None and offsets is not None:
        raise ValueError(f"{function}: there are series and offsets, of which one is enough")
    ticks, elements, valid = times.ticks(), column.elements, column.valid
    labels, places = None, None
    ends = None if offsets is None else offsets_of(function, offsets, len(ticks))
    # The library refuses other lengths.
    if len(ticks) == len(elements):
        if series is not None:
            labels, ends, places = grouped(function, series, len(ticks))
            if places is not None:
                ticks, elements = ticks[places], elements[places]
                valid = None if valid is None else valid[places]
        if valid is not None:
            if ends is not None:
                # Without the nulls, wrong offsets could be right.
                _require_offsets(function, ends, len(ticks))
                ends = np.concatenate(([0], np.cumsum(valid)))[ends]
            ticks, elements = ticks[valid], elements[valid]
            places = np.flatnonzero(valid) if places is None else places[valid]
    return _Points(times, ticks, elements, None if ends is None else ends.tolist(), labels, places)


def round_timestamps(
    timestamps: ArrayLike | Any,
    every: int | str | timedelta | np.timedelta64,
    *,
    origin: int | datetime | np.datetime64 = 0,
    out: NDArray[np.int64 | np.datetime64] | OnDevice | None = None,
    device: Devices | None = None,
    stream: Stream | None = None,
) -> Any:
    """Round timestamps down to the start of their buckets.

    Parameters
    ----------
    timestamps : array_like, column or device array
        int64 in any unit, or datetime64, in any order; int64 on a device.
    every : int, str, timedelta or timedelta64
        The length of a bucket, as in `aggregate`.
    origin : int, datetime or datetime64
        A time at which a bucket begins.
    out : ndarray or device array, optional
        An int64 array of the same length, or a datetime64 array of the timestamps' unit, to write the result to: with
        any stride in the memory of the host.
    device : Device, str, or several of them, optional
        Where to compute. The default is the device of the array, or else the first GPU, or else the CPU.
    stream : int or stream of torch, cupy or numba, optional
        For arrays in the memory of a GPU: the stream that orders the call, as in `aggregate`.

    Returns
    -------
    ndarray or DeviceArray
        The starts, with the dtype of the timestamps, or `out`. Those of columns with a time zone are in UTC.

    Raises
    ------
    TypeError
        For other dtypes.
    ValueError
        If a timestamp is null, or its bucket begins before the first int64.

    Examples
    --------
    >>> import numpy as np
    >>> from gridstride import time_series
    >>> time_series.round_timestamps(np.array([-1, 0, 34, 36]), 35)
    array([-35,   0,   0,  35])
    """
    if _core.on_device(timestamps):
        every, origin = span_in(None, every), point_in(None, origin)
        return _core.round_timestamps(timestamps, every=every, origin=origin, out=out, device=device, stream=stream)
    times = _times("round_timestamps", timestamps)
    every, origin = span_in(times.unit, every), point_in(times.unit, origin)
    place: Any = out
    if isinstance(out, np.ndarray) and times.unit is not None and out.dtype == f"M8[{times.unit}]":
        place = out.view(np.int64)
    ticks = times.ticks()
    rounded = _core.round_timestamps(ticks, every=every, origin=origin, out=place, device=device, stream=stream)
    return in_unit(times.unit, rounded) if out is None else out


class BucketCounts(NamedTuple):
    """The buckets that have points: the result of `bucket_counts`."""

    #: The start of each bucket, with the dtype of the timestamps.
    starts: NDArray[Any]
    #: int64: the number of points of each bucket.
    counts: NDArray[np.int64]


def bucket_counts(
    timestamps: ArrayLike | Any,
    every: int | str | timedelta | np.timedelta64,
    *,
    origin: int | datetime | np.datetime64 = 0,
    device: Devices | None = None,
) -> BucketCounts:
    """Count the points of each bucket of time.

    Parameters
    ----------
    timestamps : array_like or column
        int64 in any unit, or datetime64, not descending.
    every : int, str, timedelta or timedelta64
        The length of a bucket, as in `aggregate`.
    origin : int, datetime or datetime64
        A time at which a bucket begins.
    device : Device, str, or several of them, optional
        Where to compute. The default is the first GPU, or else the CPU.

    Returns
    -------
    BucketCounts
        ``starts`` and ``counts``, as ``numpy.unique(starts, return_counts=True)`` of the points' buckets.

    Examples
    --------
    >>> import numpy as np
    >>> from gridstride import time_series
    >>> time_series.bucket_counts(np.array([0, 1, 34, 80]), 35)
    BucketCounts(starts=array([ 0, 70]), counts=array([3, 1]))
    """
    points = _points("bucket_counts", timestamps, np.empty(0), None, None)
    times = points.times
    with points.errors():
        starts, counts = _core.bucket_counts(
            points.ticks, every=span_in(times.unit, every), origin=point_in(times.unit, origin), device=device
        )
    return BucketCounts(in_unit(times.unit, starts), counts)


class Summaries:
    """Summaries of buckets: the result of `summarize`.

    All methods except percentiles and rates, also of coarser buckets, are computed from them without the points.
    """

    def __init__(self, summaries: _core.Summaries, unit: str | None, zone: Any, labels: NDArray[Any] | None) -> None:
        self._summaries = summaries
        self._unit = unit
        self._zone = zone
        self._labels = labels

    def __len__(self) -> int:
        """The number of buckets."""
        return len(self._summaries.starts)

    def __repr__(self) -> str:
        return f"<Summaries: {len(self)} buckets>"

    def resample(self, every: int | str | timedelta | np.timedelta64) -> Summaries:
        """Return the summaries of coarser buckets, whose length is a multiple, with the same origin."""
        coarser = self._summaries.resample(span_in(self._unit, every))
        return Summaries(coarser, self._unit, self._zone, self._labels)

    def agg(self, methods: str | Sequence[str] = "mean", *, ddof: int = 1) -> Buckets:
        """Return the results of methods as `aggregate` does; percentiles and rates are refused with ValueError."""
        methods = [methods] if isinstance(methods, str) else list(methods)
        offsets, starts, columns = self._summaries.agg(methods, ddof=ddof)
        columns_of = dict(zip(methods, columns, strict=True))
        return Buckets(in_unit(self._unit, starts), columns_of, offsets, self._labels, self._zone)


def summarize(
    timestamps: ArrayLike | Any,
    values: ArrayLike | Any,
    every: int | str | timedelta | np.timedelta64,
    *,
    series: ArrayLike | Any | None = None,
    offsets: ArrayLike | None = None,
    origin: int | datetime | np.datetime64 = 0,
    nan: Literal["skip", "propagate"] = "skip",
    duplicates: Literal["keep", "first", "last"] = "keep",
    sort: bool = False,
    device: Devices | None = None,
) -> Summaries:
    """Summarise the values of each bucket of time, in a form from which coarser buckets are computed.

    Parameters
    ----------
    timestamps, values, every, series, offsets, origin, nan, duplicates, sort, device
        As in `aggregate`.

    Returns
    -------
    Summaries
        With the methods ``resample`` and ``agg``.

    Examples
    --------
    >>> import numpy as np
    >>> from gridstride import time_series
    >>> minutes = time_series.summarize(np.array([0, 1, 2, 3, 11]), np.array([1.0, 2.0, 4.0, 8.0, 64.0]), 2)
    >>> hours = minutes.resample(6).agg(["count", "mean"])
    >>> hours.starts, hours["mean"]
    (array([0, 6]), array([ 3.75, 64.  ]))
    """
    points = _points("summarize", timestamps, values, series, offsets)
    with points.errors():
        summaries = _core.summarize(
            points.ticks,
            points.values,
            offsets=points.offsets,
            every=span_in(points.times.unit, every),
            origin=point_in(points.times.unit, origin),
            nan=nan,
            duplicates=duplicates,
            sort=sort,
            device=device,
        )
    return Summaries(summaries, points.times.unit, points.times.zone, points.labels)
