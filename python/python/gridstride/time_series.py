"""Statistics of the values in buckets of time, for one series or many."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypedDict, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._core import DeviceArray, Summaries
from ._times import exact_times, native_labels
from ._types import Devices, OnDevice, Stream

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from typing_extensions import Unpack

#: The result of a method for buckets without points.
Fill: TypeAlias = float | Literal["null", "previous"] | None

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


#: The argument ``every``: in the unit of the timestamps, or with a unit.
Span: TypeAlias = int | str | timedelta | np.timedelta64

#: The argument ``origin``.
Point: TypeAlias = int | str | datetime | np.datetime64


class Buckets(Mapping[str, NDArray[np.float64]]):
    """The buckets that have points: the result of `aggregate`, a mapping from methods to arrays.

    Attributes
    ----------
    starts : ndarray
        The start of each bucket, with the dtype of the timestamps.
    labels : ndarray, column or None
        The label of each series, sorted, if there are labels. They have the type of the labels of the points: an
        array of pandas for pandas' extension types, such as a Categorical, a Series of polars, an Array of pyarrow.
    offsets : ndarray
        int64: where the buckets of each series begin, and where the last ones end.
    """

    def __init__(
        self,
        starts: NDArray[Any],
        columns: dict[str, NDArray[np.float64]],
        offsets: NDArray[np.int64],
        labels: Any,
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

    def _series(self) -> NDArray[np.int64] | None:
        """The number of each bucket's series, if there are several."""
        if self.labels is None and len(self.offsets) == 2:
            return None
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    def to_pandas(self) -> pd.DataFrame:
        """Return a data frame with a column for each method.

        Its index is the starts, in the time zone of the timestamps, behind the series if there are several: the labels,
        or the numbers of the series. It is sorted by the series, and exact.

        Raises
        ------
        ValueError
            If pandas cannot hold the starts or the labels, whose unit is below nanoseconds.
        """
        import pandas as pd

        starts = pd.Index(self.starts, name="start")
        if (starts.to_numpy() != self.starts).any():
            dtype = self.starts.dtype
            raise ValueError(f"to_pandas: the starts are {dtype}, and the finest unit of pandas is ns: round them first")
        if self._zone is not None:
            starts = pd.DatetimeIndex(starts, tz="UTC").tz_convert(self._zone)
        series = self._series()
        if series is None:
            return pd.DataFrame(self._columns, index=starts)
        labels: Any = series
        if self.labels is not None:
            own = self.labels
            if _package(own) in ("polars", "pyarrow"):
                own = own.to_pandas().array
            own = native_labels("to_pandas", own)
            if own.dtype.name == "float16":
                # pandas has no index of this type.
                own = own.astype(np.float32)
            labels = own.take(series)
        index = pd.MultiIndex.from_arrays([labels, starts], names=["series", "start"])
        return pd.DataFrame(self._columns, index=index)

    def to_arrow(self) -> pa.Table:
        """Return a table of pyarrow with the columns series, if there are several, start, and one for each method.

        Rows are sorted by the series, and by the start within a series. Starts are timestamps in the time zone of the
        points, exact: minutes, hours and weeks, which Arrow does not have, become seconds, and days dates. So do times
        and durations that are labels.

        Raises
        ------
        ValueError
            If the unit of the starts or of the labels is below nanoseconds.
        """
        import pyarrow as pa

        names, columns = ["start", *self], [self._arrow_starts(), *self._columns.values()]
        series = self._series()
        if series is not None:
            labels: Any = series
            if self.labels is not None:
                labels = native_labels("to_arrow", self.labels)
                if _package(labels) == "polars":
                    labels = labels.to_arrow()
                labels, is_wide = _without_objects("to_arrow", labels)
                try:
                    labels = pa.array(labels, pa.decimal128(38) if is_wide else None)
                except pa.ArrowException as error:
                    kind = type(labels[0]).__name__
                    raise TypeError(
                        f"to_arrow: Arrow has no type for the labels, which are {kind}: convert them, for example by "
                        "[str(label) for label in series]"
                    ) from error
                if pa.types.is_string_view(labels.type):
                    # pyarrow does not take elements of this type.
                    labels = labels.cast(pa.large_string())
                labels = labels.take(pa.array(series))
            names, columns = ["series", *names], [labels, *columns]
        return pa.table(columns, names=names)

    def to_polars(self) -> pl.DataFrame:
        """Return a data frame of polars with the columns series, if there are several, start, and one for each method.

        Rows are sorted by the series, and by the start within a series. Starts are datetimes in the time zone of the
        points, or in UTC if that is an offset that is no whole hours, which polars does not have. They are exact:
        units that polars does not have become milliseconds, and days dates. So do times and durations that are labels.

        Raises
        ------
        ValueError
            If the unit of the starts or of the labels is below nanoseconds.
        """
        import polars as pl

        start = pl.Series("start", exact_times("to_polars", "starts", self.starts))
        if self._zone is not None:
            start = start.dt.replace_time_zone("UTC").dt.convert_time_zone(_polars_zone(_zone_name(self._zone)))
        columns = [start, *(pl.Series(method, column) for method, column in self._columns.items())]
        series = self._series()
        if series is None:
            return pl.DataFrame(columns)
        labels = pl.Series("series", series)
        if self.labels is not None:
            own, is_wide = _without_objects("to_polars", native_labels("to_polars", self.labels))
            if _package(own) == "pandas":
                import pandas as pd

                own = pl.from_pandas(pd.Series(own))
            if isinstance(own, np.ndarray) and own.dtype == object:
                # polars finds the type of the elements of lists alone.
                own = own.tolist()
            try:
                own = pl.Series("series", own, pl.Int128 if is_wide else None)
            except TypeError:
                own = pl.Series("series", own, pl.Object)
            labels = own.gather(series)
        return pl.DataFrame([labels, *columns])

    def _arrow_starts(self) -> pa.Array:
        import pyarrow as pa

        starts = exact_times("to_arrow", "starts", self.starts)
        if self._zone is None:
            return pa.array(starts)
        unit, _ = np.datetime_data(starts.dtype)
        return pa.array(starts.view(np.int64), pa.int64()).cast(pa.timestamp(unit, _zone_name(self._zone)))


def _zone_name(zone: Any) -> str:
    """The name of a time zone as Arrow has it: that of the database of zones, or an offset such as +02:00."""
    name = zone if isinstance(zone, str) else getattr(zone, "key", None) or getattr(zone, "zone", None)
    if name is None:
        offset = zone.utcoffset(None)
        # Zones of dateutil have the path of a file.
        name = str(timezone(offset)) if offset is not None else zone._filename.rpartition("zoneinfo/")[2]
    fixed = re.fullmatch(r"(?:UTC|GMT)?([+-]\d\d):?(\d\d)(:\d\d)?", name)
    if fixed is None:
        return str(name)
    # Offsets with seconds have no name.
    return "UTC" if fixed[3] else f"{fixed[1]}:{fixed[2]}"


def _polars_zone(name: str) -> str:
    """The name of a time zone in polars, which has offsets of whole hours; UTC for other offsets."""
    offset = re.fullmatch(r"([+-])(\d\d):(\d\d)", name)
    if offset is None:
        return name
    sign, hours = "-" if offset[1] == "+" else "+", int(offset[2])
    has_name = offset[3] == "00" and 0 < hours <= (14 if sign == "-" else 12)
    return f"Etc/GMT{sign}{hours}" if has_name else "UTC"


def _without_objects(function: str, labels: Any) -> tuple[Any, bool]:
    """Labels that are Python's bools or integers with numpy's dtype, or as a list, and true, if 64 bits are too few."""
    if _package(labels) not in ("numpy", "pandas") or labels.dtype.name != "object" or len(labels) == 0:
        return labels, False
    if all(isinstance(label, (bool, np.bool_)) for label in labels):
        return labels.astype(bool), False
    if not all(isinstance(label, (int, np.integer)) and not isinstance(label, bool) for label in labels):
        return labels, False
    integers = [int(label) for label in labels]
    for dtype in (np.int64, np.uint64):
        if np.iinfo(dtype).min <= min(integers) and max(integers) <= np.iinfo(dtype).max:
            return np.array(integers, dtype), False
    widest = max(integers, key=abs)
    if abs(widest) >= 10**38:
        raise ValueError(
            f"{function}: series has the label {widest}, and the widest integers of tables have 38 digits: convert the "
            "labels, for example by [str(label) for label in series]"
        )
    return integers, True


def _package(column: object) -> str:
    return type(column).__module__.partition(".")[0]


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


class _Options(TypedDict, total=False):
    """The keywords of `aggregate` for arrays of the host and of a device."""

    offsets: ArrayLike | None
    fill: Fill | dict[str, Fill]
    nan: Literal["skip", "propagate"]
    ddof: int
    singletons: Literal["nan", "drop"]
    duplicates: Literal["keep", "first", "last"]
    sort: bool
    device: Devices | None
    stream: Stream | None


@overload
def aggregate(
    timestamps: OnDevice,
    values: OnDevice,
    every: int,
    methods: str | Sequence[str] = "mean",
    *,
    origin: int = 0,
    **options: Unpack[_Options],
) -> DeviceBuckets: ...
@overload
def aggregate(
    timestamps: ArrayLike | Any,
    values: ArrayLike | Any,
    every: Span,
    methods: str | Sequence[str] = "mean",
    *,
    series: ArrayLike | Any | None = None,
    origin: Point = 0,
    **options: Unpack[_Options],
) -> Buckets: ...
def aggregate(
    timestamps: Any,
    values: Any,
    every: Any,
    methods: str | Sequence[str] = "mean",
    *,
    series: Any = None,
    offsets: Any = None,
    origin: Any = 0,
    fill: Any = None,
    nan: str = "skip",
    ddof: int = 1,
    singletons: str = "nan",
    duplicates: str = "keep",
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
        Integers in any unit, datetimes or dates, not descending within a series; int64 on a device. Columns of pandas, polars
        and pyarrow may have time zones; buckets are those of UTC.
    values : array_like, column or device array
        A number for each timestamp: floats, or integers and bools, which become float64 and must not be rounded by it;
        float32 or float64 on a device. Nulls of polars, pyarrow and pandas are no points, and neither are NaN in pandas'
        columns of numpy's dtypes, which pandas takes for missing values, unless `nan` is 'propagate'.
    every : int, str, timedelta or timedelta64
        The length of a bucket: in the unit of the timestamps, or with a unit as '200ms', '35s', '5min', '1.5h', '1h30m' or
        '1D'. Spellings of pandas and polars are read if they mean a fixed length. Months, quarters, years and business
        days, such as '1MS' or '1mo', are refused.
    methods : str or sequence of str
        What to compute: names in `METHODS`, which says what each is, such as 'mean' or 'std'; percentiles as 'p95';
        and each of them behind 'rate:', which means the differences of successive values. Each only once.
    series : array_like or column, optional
        The label of each point's series: texts, numbers, dates or a categorical, all of one type and none missing. Integers
        beside floats must not be rounded by float64. The points of a series need not be neighbours. Results are in the order of the labels, as those of pandas' ``groupby``: sorted,
        and those of a Categorical of pandas, an Enum of polars and a dictionary of pyarrow in the order of the categories.
    offsets : array_like, optional
        Where each series begins, and where the last one ends, in place of labels.
    origin : int, str, datetime or datetime64
        A time at which a bucket begins.
    fill : float, 'null', 'previous' or dict, optional
        The results of buckets without points between the first and the last of a series: a number, NaN, or the last
        result before the bucket that is not NaN. A dict has these for methods, as ``{"count": 0}``, and the other
        methods have NaN. By default there are no such buckets.
    nan : {'skip', 'propagate'}
        Whether the methods skip NaN among the values, or have NaN as their results. A bucket with nothing but NaN has
        the count 0.
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
        For other dtypes, and for labels of several types.
    ValueError
        If timestamps descend, are null, or are not as many as values, if a label is missing, and for other arguments that
        do not fit.

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
    found: Buckets | DeviceBuckets = _core.aggregate(
        timestamps,
        values,
        every,
        methods,
        series=series,
        offsets=offsets,
        origin=origin,
        fill=fill,
        nan=nan,
        ddof=ddof,
        singletons=singletons,
        duplicates=duplicates,
        sort=sort,
        device=device,
        stream=stream,
    )
    return found


def round_timestamps(
    timestamps: ArrayLike | Any,
    every: Span,
    *,
    origin: Point = 0,
    out: NDArray[np.int64 | np.datetime64] | OnDevice | None = None,
    device: Devices | None = None,
    stream: Stream | None = None,
) -> Any:
    """Round timestamps down to the start of their buckets.

    Parameters
    ----------
    timestamps : array_like, column or device array
        Integers in any unit, datetimes or dates, in any order; int64 on a device.
    every : int, str, timedelta or timedelta64
        The length of a bucket, as in `aggregate`.
    origin : int, str, datetime or datetime64
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
    return _core.round_timestamps(timestamps, every, origin=origin, out=out, device=device, stream=stream)


class BucketCounts(NamedTuple):
    """The buckets that have points: the result of `bucket_counts`."""

    #: The start of each bucket, with the dtype of the timestamps.
    starts: NDArray[Any]
    #: int64: the number of points of each bucket.
    counts: NDArray[np.int64]


def bucket_counts(
    timestamps: ArrayLike | Any,
    every: Span,
    *,
    origin: Point = 0,
    device: Devices | None = None,
) -> BucketCounts:
    """Count the points of each bucket of time.

    Parameters
    ----------
    timestamps : array_like or column
        Integers in any unit, datetimes or dates, not descending.
    every : int, str, timedelta or timedelta64
        The length of a bucket, as in `aggregate`.
    origin : int, str, datetime or datetime64
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
    return BucketCounts(*_core.bucket_counts(timestamps, every, origin=origin, device=device))


def summarize(
    timestamps: ArrayLike | Any,
    values: ArrayLike | Any,
    every: Span,
    *,
    series: ArrayLike | Any | None = None,
    offsets: ArrayLike | None = None,
    origin: Point = 0,
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
    return _core.summarize(
        timestamps,
        values,
        every,
        series=series,
        offsets=offsets,
        origin=origin,
        nan=nan,
        duplicates=duplicates,
        sort=sort,
        device=device,
    )
