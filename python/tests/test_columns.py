"""Columns of timestamps and of values: which are taken, and what is said of others."""

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from gridstride import Windows, box_overlap, distances, gemm, matmul, slide_distances
from gridstride.time_series import aggregate, bucket_counts, round_timestamps

TIMES = [0, 1, 5]


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "bool", ">i4"])
def test_integers_and_bools_are_values(kind):
    values = np.array([1, 0, 1]).astype(kind)
    columns = [values]
    if not kind.startswith(">"):
        columns += [pd.Series(values), pl.Series(values), pa.array(values)]
    for column in columns:
        assert aggregate(TIMES, column, 4, "sum")["sum"].tolist() == [1, 1]
    for null in (pl.Series([1, None, 1]), pd.Series([1, None, 1], dtype="Int64"), pd.Series([True, None, True], dtype="boolean")):
        assert aggregate(TIMES, null, 4, "count")["count"].tolist() == [1, 1]
    assert aggregate([0, 1, 5], [1, 2, 3], 4, "sum")["sum"].tolist() == [3, 3]


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "uint64", ">i8"])
def test_integers_of_every_size_are_timestamps(kind):
    times = np.array([0, 35, 36]).astype(kind)
    assert round_timestamps(times, 35).tolist() == [0, 35, 35]
    assert bucket_counts(times, 35).counts.tolist() == [1, 2]


def test_dates_are_timestamps():
    days = [date(2026, 1, 1), date(2026, 1, 2), date(2026, 1, 9)]
    columns = [days, np.array(days, "M8[D]"), pl.Series(days), pa.array(days), pa.array(days).cast(pa.date64())]
    columns.append(pd.Series(days).astype(pd.ArrowDtype(pa.date32())))
    for column in columns:
        found = aggregate(column, [1, 2, 4], "1w", "sum")
        assert found["sum"].tolist() == [3, 4]
        assert found.starts.astype("M8[D]").tolist() == [date(2026, 1, 1), date(2026, 1, 8)]


def test_lists_of_datetimes_have_a_unit():
    times = [datetime(2026, 1, 1, 0, minute) for minute in (0, 1, 40)]
    assert aggregate(times, [1, 2, 4], "30min", "sum")["sum"].tolist() == [3, 4]
    with pytest.raises(TypeError, match="timestamps at index 1 is .*, with a time zone: convert the list") as raised:
        aggregate([times[0], times[1].replace(tzinfo=timezone.utc)], [1, 2], "1h")
    assert raised.value.index == 1
    with pytest.raises(TypeError, match="timestamps at index 1 is 3, and that at index 0 is datetime"):
        aggregate([times[0], 3], [1, 2], "1h")


def test_integers_that_float64_would_round():
    for column in (np.array([1, 2**53 + 1]), pl.Series([1, 2**53 + 1]), np.array([1, 2**64 - 1], np.uint64)):
        with pytest.raises(ValueError, match="values has the integer [0-9]+ at index 1, which float64 would round") as raised:
            aggregate([0, 1], column, 5)
        assert raised.value.index == 1
    assert aggregate([0, 1], np.array([2**53, 2**60]), 1, "last")["last"].tolist() == [2**53, 2**60]
    with pytest.raises(ValueError, match="timestamp 1 is beyond the range of int64"):
        aggregate(np.array([1, 2**63], np.uint64), [1, 2], 5)


@pytest.mark.parametrize("row", [[0.5, 2**53 + 1], (np.float32(0.5), np.int64(2**53 + 1)), [0.5, 2**64 - 1], [-1, 2**64 - 1]], ids=str)
def test_mixed_lists_are_not_rounded(row):
    """numpy makes floats of such lists, without a word."""
    said = f"has the integer {row[1]} at index 1, which float64 would round: convert"
    for values in (row, tuple(row)):
        with pytest.raises(ValueError, match=f"aggregate: values {said}") as raised:
            aggregate([0, 1], values, 5)
        assert raised.value.index == 1
        with pytest.raises(ValueError, match=f"bucket_counts: timestamps {said}"):
            bucket_counts(values, 5)
    for boxes in ([[0, 0, 1, 1], [0, 0, *row]], [np.zeros(4), np.array([0, 0, row[1], 2**63 - 1], np.uint64)]):
        with pytest.raises(ValueError, match=f"box_overlap: set1 {said}"):
            box_overlap(boxes, [[0, 0, 1, 1]])
    for call in (matmul, gemm, distances, lambda a, b: slide_distances([a], [b])):
        with pytest.raises(ValueError, match=f"(a|rows) {said}"):
            call([[1, 2], row], [[1.0, 2.0], [3.0, 4.0]])
    assert matmul([[0.5, 2**53]], [[0], [1]]).tolist() == [[2**53]]


def test_columns_that_numpy_would_round():
    columns = [pl.Series([2**53 + 1, None]), pa.array([2**53 + 1, None]), pa.chunked_array([[2**53 + 1], [None]])]
    for dtype in ("Int64", "UInt64", "int64[pyarrow]"):
        series = pd.Series([2**53 + 1, None], dtype=dtype)
        columns += [series, series.array, pd.Index(series)]
    for column in columns:
        with pytest.raises(ValueError, match="matmul: b has the integer 9007199254740993 at index 0"):
            matmul([[1.0, 2.0]], column)
        with pytest.raises(ValueError, match="matmul: a has the integer 9007199254740993 at index 1"):
            matmul([[1.0, 2.0], column], [[1.0], [2.0]])
    assert matmul([[1.0, 2.0]], pd.Series([3, 4], dtype="Int64")).tolist() == [11]
    frame = pd.DataFrame({"x": [2**53 + 1], "y": [0.5]})
    for table in (frame, pl.from_pandas(frame), pa.table(frame)):
        for call in (matmul, gemm):
            with pytest.raises(ValueError, match=f"{call.__name__}: a has the integer 9007199254740993, which float64 would round"):
                call(table, [[1.0], [2.0]])
        for windows in ([table], Windows(table, [0, 1])):
            with pytest.raises(ValueError, match="slide_distances: a has the integer 9007199254740993, which float64 would round"):
                slide_distances(windows)
        with pytest.raises(ValueError, match="matmul: a has the integer 9007199254740993 at index 0"):
            matmul([table], np.ones((2, 1)))
        with pytest.raises(ValueError, match="gemm: c has the integer 9007199254740993 at index 0"):
            gemm(np.ones((1, 1)), np.ones((1, 2)), beta=1.0, c=table)


def test_objects_that_are_no_numbers_are_named():
    for values, what in {
        (1, None): "object, Python's objects, with None at index 1",
        (None, 1): "object, Python's objects, with None at index 0",
        (1, 2.5, 2**70): "object, Python's objects, with an int beyond 64 bits at index 2",
        (1.0, np.float32(2), Decimal(3)): "object, Python's objects, with a Decimal at index 2",
        ("1", "10"): "<U2, which is text",
        (b"1", b"10"): "|S2, which is text",
    }.items():
        with pytest.raises(TypeError) as raised:
            aggregate(range(len(values)), list(values), 10)
        assert str(raised.value).startswith(f"aggregate: the dtype of values is {what}, but possible are")


def test_integers_of_128_bits_are_named():
    column = pl.Series("t", [1, 2], dtype=pl.Int128)
    for name, call in {
        'values, the column "t",': lambda: aggregate([0, 1], column, 5),
        'timestamps, the column "t",': lambda: bucket_counts(column, 5),
        "series": lambda: aggregate([0, 1], [1, 2], 5, series=column),
        'set1, the column "minX",': lambda: box_overlap(pl.DataFrame({name: column for name in ("minX", "minY", "maxX", "maxY")})),
    }.items():
        with pytest.raises(TypeError, match=rf": {name} is Int128, a type that only polars has: convert the column, for example by cast\(polars.Int64\)"):
            call()


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pd.Series(["1", "2"], name="t"), 'is str, .*convert .*pandas.to_numeric'),
        (pd.Series(["1", "2"], name="t", dtype=object), "is object, Python's objects, with a str at index 0, .*to_numeric"),
        (pd.Series([Decimal(1), Decimal(2)], name="t"), "is object, Python's objects, with a Decimal at index 0"),
        (pd.Series(pd.PeriodIndex(["2026-01", "2026-02"], freq="M"), name="t"), r"is period\[M\], .*to_timestamp\(\)"),
        (pd.Series([timedelta(1), timedelta(2)], name="t"), r"is timedelta64\[.s\], .*timedelta64\(1, 's'\)"),
        (pd.Series(["a", "b"], name="t", dtype="category"), "is category, .*pandas.to_numeric"),
        (pl.Series("t", ["1", "2"]), "is Utf8View, .*by its cast"),
        (pl.Series("t", [timedelta(1), timedelta(2)]), r"is Duration"),
    ],
    ids=str,
)
def test_other_columns_are_named_with_a_cure(column, message):
    with pytest.raises(TypeError, match=f'aggregate: the (dtype|Arrow type) of values, the column "t", {message}'):
        aggregate([0, 1], column, 5)
    message = message.partition(",")[0]
    with pytest.raises(TypeError, match=f'bucket_counts: the (dtype|Arrow type) of timestamps, the column "t", {message}.*: convert'):
        bucket_counts(column, 5)


def test_texts_of_numpy_are_named():
    with pytest.raises(TypeError, match="the dtype of timestamps is <U10, which is text, .*numpy's astype"):
        aggregate(["2026-01-01"], [1], "1h")
    with pytest.raises(TypeError, match="the dtype of values is longdouble, which has 16 bytes|float128, which has 16 bytes"):
        aggregate([1], np.ones(1, np.longdouble), 1)
    with pytest.raises(TypeError, match="the arguments are timestamps and values, in this order"):
        aggregate([1], np.zeros(1, "M8[s]"), 1)


def test_tables_are_no_columns():
    for table in (pd.DataFrame({"a": [1]}), pl.DataFrame({"a": [1]}), pa.table({"a": [1]}), pl.LazyFrame({"a": [1]})):
        with pytest.raises(TypeError, match=f"values is a {type(table).__name__}, but has to be a column: select"):
            aggregate([0], table, 5)


def test_a_method_is_named_once():
    for call in (
        lambda: aggregate([0], [1.0], 5, ["mean", "max", "mean"]),
        lambda: aggregate(np.zeros(1, int), np.ones(1), 5, ("p95", "p50", "p95")),
    ):
        with pytest.raises(ValueError, match="aggregate: methods have (mean|p95) twice") as raised:
            call()
        assert raised.value.index == 2


@pytest.mark.parametrize("unit", ["D", "h", "m", "s", "ms", "us", "ns"])
def test_buckets_as_tables_of_every_unit(unit):
    """The starts are exact and sorted, in every package."""
    times = np.array([0, 3, 60, 61]).astype(f"M8[{unit}]")
    labels = ["b", "a", "b", "b"]
    found = aggregate(times, np.ones(4), 30, ["count", "mean"], series=labels)
    starts = [times[0], times[0], times[2]]
    pandas, polars, arrow = found.to_pandas(), found.to_polars(), found.to_arrow()
    assert polars.columns == arrow.column_names == ["series", "start", "count", "mean"]
    assert pandas.index.get_level_values("series").tolist() == polars["series"].to_list() == arrow["series"].to_pylist() == ["a", "b", "b"]
    for exact in (pandas.index.get_level_values("start"), polars["start"], arrow["start"]):
        assert (np.asarray(exact).astype(times.dtype) == np.array(starts)).all()
    assert polars["count"].to_list() == arrow["count"].to_pylist() == [1, 1, 2]
    one = aggregate(times, np.ones(4), 30)
    assert one.to_polars().columns == one.to_arrow().column_names == ["start", "mean"]


@pytest.mark.parametrize(
    ("zone", "arrow", "polars"),
    [
        (timezone(timedelta(hours=2)), "+02:00", "Etc/GMT-2"),
        (timezone(timedelta(hours=-11)), "-11:00", "Etc/GMT+11"),
        (timezone(timedelta(hours=5, minutes=30)), "+05:30", "UTC"),
        ("UTC+02:00", "+02:00", "Etc/GMT-2"),
        ("-03:00", "-03:00", "Etc/GMT+3"),
        (timezone.utc, "UTC", "UTC"),
        ("dateutil/Europe/Rome", "Europe/Rome", "Europe/Rome"),
    ],
    ids=str,
)
def test_buckets_as_tables_keep_fixed_offsets(zone, arrow, polars):
    times = pd.date_range("2026-03-29", periods=4, freq="h", tz=zone)
    columns = [times, pd.Series(times)]
    if isinstance(zone, timezone):
        columns += [pa.array(times), pd.Series(times).astype(pd.ArrowDtype(pa.timestamp("us", arrow)))]
    for column in columns:
        found = aggregate(column, np.ones(4), "2h", "count")
        starts = found.to_arrow()["start"], found.to_polars()["start"]
        assert (starts[0].type.tz, starts[1].dtype.time_zone) == (arrow, polars)
        instants = found.to_pandas().index.tz_convert("UTC")
        assert [pd.Timestamp(start).tz_convert("UTC") for start in starts[0].to_pylist()] == instants.tolist()
        assert starts[1].dt.convert_time_zone("UTC").to_list() == instants.to_pydatetime().tolist()


def test_buckets_as_tables_keep_zones_and_categories():
    times = pd.date_range("2026-03-29", periods=4, freq="h", tz="Europe/Rome")
    series = pd.Series(["b", "a", "b", "a"], dtype=pd.CategoricalDtype(["b", "a"]))
    for labels in (series, pl.Series(list(series), dtype=pl.Enum(["b", "a"])), pa.array(series)):
        found = aggregate(times, np.ones(4), "2h", "count", series=labels)
        polars, arrow = found.to_polars(), found.to_arrow()
        assert polars["start"].dtype.time_zone == arrow["start"].type.tz == "Europe/Rome"
        assert polars["series"].cast(str).to_list() == ["b", "b", "a", "a"]
        assert pa.types.is_dictionary(arrow["series"].type) and isinstance(polars["series"].dtype, (pl.Enum, pl.Categorical))
        expected = found.to_pandas().index.get_level_values("start")
        assert polars["start"].to_list() == arrow["start"].to_pylist() == expected.to_pydatetime().tolist()
        assert found.to_pandas().index.get_level_values("series").tolist() == ["b", "b", "a", "a"]
    with pytest.raises(ValueError, match=r"to_polars: the starts are datetime64\[ps\]"):
        aggregate(np.array([0, 250], "M8[ps]"), np.ones(2), 250).to_polars()
