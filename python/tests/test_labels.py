"""The labels of series: their order, their type, and those that are refused."""

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from gridstride.time_series import aggregate, summarize


def labels_of(series):
    """The labels of the result, and the sums of the values 1, 2, 4, … of each."""
    count = len(series)
    found = aggregate(np.arange(count), 2.0 ** np.arange(count), 1000, "sum", series=series)
    assert found.offsets.tolist() == list(range(len(found.labels) + 1))
    return found.labels, found["sum"].tolist()


def columns(labels, dtype=None):
    """The same labels as columns of several packages."""
    yield "list", list(labels)
    yield "tuple", tuple(labels)
    yield "numpy", np.array(labels)
    yield "numpy objects", np.array(labels, object)
    yield "pandas", pd.Series(labels)
    yield "pandas index", pd.Index(labels)
    yield "pandas objects", pd.Series(labels, dtype=object)
    yield "pandas on Arrow", pd.Series(labels).astype(pd.ArrowDtype(pa.array(labels).type))
    yield "polars", pl.Series(labels)
    yield "polars chunks", pl.concat([pl.Series(labels[:1]), pl.Series(labels[1:])], rechunk=False)
    yield "pyarrow", pa.array(labels)
    yield "pyarrow chunks", pa.chunked_array([labels[:2], labels[2:]])


@pytest.mark.parametrize(
    "labels", [["b", "b", "a"], ["b", "a", "b"], ["é", "z", "é"], [3, -1, 3], [2.5, -1.0, 2.5], [True, False, True]], ids=str
)
def test_labels_are_in_the_order_of_pandas_groupby(labels):
    expected = pd.Series([1.0, 2.0, 4.0]).groupby(labels).sum()
    for name, column in columns(labels):
        found, sums = labels_of(column)
        assert list(np.asarray(found)) == expected.index.tolist(), name
        assert sums == expected.tolist(), name


def test_texts_of_every_type():
    texts = ["beta", "alpha", "a" * 40, "beta"]
    expected = ["a" * 40, "alpha", "beta"]
    for kind in (pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary()):
        found, sums = labels_of(pa.array(texts).cast(kind))
        assert found.type == kind and found.cast(pa.string()).to_pylist() == expected and sums == [4, 2, 9]
    for kind in ("S", "U", ">U40"):
        found, sums = labels_of(np.array(texts).astype(kind))
        assert found.astype(str).tolist() == expected and sums == [4, 2, 9]
    for kind in ("string[python]", "string[pyarrow]", "str"):
        found, sums = labels_of(pd.Series(texts, dtype=kind))
        assert found.dtype == kind and found.tolist() == expected and sums == [4, 2, 9]


@pytest.mark.parametrize("kind", ["int8", "uint16", "int32", "uint64", "float32", "datetime64[s]", "timedelta64[ms]", ">i4"])
def test_numbers_of_every_type(kind):
    labels = np.array([7, 3, 7, 5]).astype(kind)
    found, sums = labels_of(labels[::-1])
    assert found.dtype == labels.dtype and found.tolist() == labels[[1, 3, 0]].tolist() and sums == [4, 1, 10]
    if not kind.startswith(">"):
        found, sums = labels_of(pa.array(labels[::-1]) if labels.dtype.kind != "m" else labels[::-1])
        assert len(found) == 3 and sums == [4, 1, 10]


def test_dates_and_tuples():
    found, sums = labels_of([date(2026, 2, 1), date(2026, 1, 1), date(2026, 2, 1)])
    assert found.tolist() == [date(2026, 1, 1), date(2026, 2, 1)] and sums == [2, 5]
    assert labels_of(pl.Series([date(2026, 2, 1), date(2026, 1, 1)]))[0].to_list() == [date(2026, 1, 1), date(2026, 2, 1)]
    found, sums = labels_of([("b", 1), ("a", 2), ("b", 1)])
    assert found.tolist() == [("a", 2), ("b", 1)] and sums == [2, 5]
    periods = pd.Series(pd.PeriodIndex(["2026-02", "2026-01", "2026-02"], freq="M"))
    found, sums = labels_of(periods)
    assert found.dtype == periods.dtype and sums == [2, 5]
    zoned = pd.Series(pd.DatetimeIndex(["2026-02-01", "2026-01-01"], tz="Europe/Rome"))
    assert labels_of(zoned)[0].dtype == zoned.dtype


def test_categories_keep_their_order_and_their_type():
    categories = ["low", "unused", "high", "a"]
    values = ["high", "low", "a", "high"]
    for series in (pd.Series(values, dtype=pd.CategoricalDtype(categories)), pd.Categorical(values, categories)):
        found, sums = labels_of(series)
        assert isinstance(found, pd.Categorical) and found.dtype == series.dtype
        assert found.tolist() == ["low", "high", "a"] and sums == [2, 9, 4]
    table = aggregate(np.arange(4), np.ones(4), 1, "sum", series=pd.Series(values, dtype="category")).to_pandas()
    assert isinstance(table.index.levels[0], pd.CategoricalIndex)
    enum = pl.Series(values, dtype=pl.Enum(categories))
    found, sums = labels_of(enum)
    assert found.dtype == enum.dtype and found.to_list() == ["low", "high", "a"] and sums == [2, 9, 4]
    # polars sorts its Categorical by the texts.
    categorical = pl.Series(values, dtype=pl.Categorical)
    found, sums = labels_of(categorical)
    assert found.dtype == categorical.dtype and found.to_list() == ["a", "high", "low"] and sums == [4, 9, 2]
    dictionary = pa.DictionaryArray.from_arrays([2, 0, 3, 2], categories)
    found, sums = labels_of(dictionary)
    assert found.type == dictionary.type and found.to_pylist() == ["low", "high", "a"] and sums == [2, 9, 4]


def test_dictionaries_of_chunks_may_differ():
    chunks = [pa.DictionaryArray.from_arrays([0, 1], ["x", "y"]), pa.DictionaryArray.from_arrays([1, 0], ["z", "y"])]
    found, sums = labels_of(pa.chunked_array(chunks))
    assert found.to_pylist() == ["x", "y", "z"] and sums == [1, 6, 8]
    twice = pa.DictionaryArray.from_arrays([0, 1, 2], ["x", "y", "x"])
    assert labels_of(twice)[1] == [5, 2]
    with_null = pa.DictionaryArray.from_arrays([0, 2, 0], pa.array(["x", None, "y"]))
    assert labels_of(with_null)[1] == [5, 2]
    both = pa.DictionaryArray.from_arrays(pa.array([3, 1, 3], pa.int8()), ["y", "x", None, "y"])
    on_arrow = pd.Series(both, dtype=pd.ArrowDtype(both.type))
    for column, names in [(twice, "xy"), (with_null, "xy"), (both, "yx"), (pa.chunked_array([both]), "yx"), (on_arrow, "yx")]:
        found = aggregate(range(3), np.ones(3), 1000, "sum", series=column)
        for table in (found.to_pandas().reset_index(), found.to_polars(), found.to_arrow().to_pandas()):
            assert list(table["series"]) == list(names)
    assert found.labels.dtype == on_arrow.dtype
    with pytest.raises(ValueError, match="the label of point 1 is missing"):
        labels_of(pa.DictionaryArray.from_arrays([0, 1, 0], pa.array(["x", None])))


@pytest.mark.parametrize("labels", [[2**63, 2**63 + 1, -1], [2**63, -1], [2**64, 1], [2.5, 1]], ids=str)
def test_large_integers_stay_different_labels(labels):
    found = aggregate(range(len(labels)), np.ones(len(labels)), 1000, "sum", series=labels)
    assert found.labels.tolist() == sorted(labels) and found["sum"].tolist() == [1] * len(labels)
    assert found.to_pandas().index.get_level_values("series").tolist() == sorted(labels)
    if all(isinstance(label, int) for label in labels):
        assert found.to_polars()["series"].to_list() == [int(label) for label in found.to_arrow()["series"].to_pylist()] == sorted(labels)


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        ([2**53 + 1, 2**53, 0.5], ValueError, f"has floats and, at point 0, the integer {2**53 + 1}, which float64 would round"),
        ([0.5, 2**53, np.int64(2**53 + 1)], ValueError, f"has floats and, at point 2, the integer {2**53 + 1}, "),
        ([True, 1], TypeError, "has labels of several types: bool at point 0, number at point 1"),
        ([True, 2], TypeError, "has labels of several types: bool at point 0, number at point 1"),
        ([0.5, np.True_], TypeError, "has labels of several types: number at point 0, bool at point 1"),
    ],
    ids=str,
)
def test_mixed_numbers_are_refused(labels, error, message):
    for series in (labels, tuple(labels), pd.Series(labels, dtype=object), np.array(labels, object)):
        with pytest.raises(error, match=f"aggregate: series {message}.*convert all"):
            labels_of(series)


def tables(labels):
    """The labels of the results as lists, of every package, and the dtypes of polars and pyarrow."""
    found = aggregate(range(len(labels)), np.ones(len(labels)), 1000, "sum", series=labels)
    arrow, polars = found.to_arrow()["series"], found.to_polars()["series"]
    pandas = found.to_pandas().index.get_level_values("series")
    return [found.labels.tolist(), pandas.tolist(), polars.to_list(), arrow.to_pylist()], polars.dtype, arrow.type


def test_zeros_at_the_end_of_texts_are_kept():
    for labels in (["a\0", "a"], [b"a\0", b"a"], ["\0", ""], [np.str_("a"), "a\0"], [b"a\0\0", b"a\0"]):
        found, sums = labels_of(labels)
        assert found.tolist() == sorted(labels) and sums == ([2, 1] if labels[0] > labels[1] else [1, 2])
        assert all(table == sorted(labels) for table in tables(labels)[0])


@pytest.mark.parametrize("kind", [">i8", ">u2", ">f8", ">f2", ">M8[s]", ">m8[ms]", ">U3"])
def test_labels_of_the_other_byte_order_have_tables(kind):
    labels = np.array([2, 1]).astype(kind)
    expected, polars, arrow = tables(labels.astype(labels.dtype.newbyteorder("=")))
    found, other_polars, other_arrow = tables(labels)
    assert found == expected and (polars, arrow) == (other_polars, other_arrow)


@pytest.mark.parametrize(
    ("kind", "polars", "arrow"),
    [
        ("M8[Y]", pl.Date, pa.date32()),
        ("M8[M]", pl.Date, pa.date32()),
        ("M8[W]", pl.Date, pa.date32()),
        ("M8[D]", pl.Date, pa.date32()),
        ("M8[h]", pl.Datetime("ms"), pa.timestamp("s")),
        ("M8[m]", pl.Datetime("ms"), pa.timestamp("s")),
        ("M8[10s]", pl.Datetime("ms"), pa.timestamp("s")),
        ("m8[W]", pl.Duration("ms"), pa.duration("s")),
        ("m8[D]", pl.Duration("ms"), pa.duration("s")),
        ("m8[m]", pl.Duration("ms"), pa.duration("s")),
        ("m8[ns]", pl.Duration("ns"), pa.duration("ns")),
    ],
)
def test_times_of_every_unit_have_tables(kind, polars, arrow):
    labels = np.array([3, 1]).astype(kind)
    found = aggregate([0, 1], np.ones(2), 10, series=labels)
    assert found.to_polars().schema["series"] == polars and found.to_arrow()["series"].type == arrow
    for column in (
        found.to_pandas().index.get_level_values("series").to_numpy(),
        found.to_polars()["series"].to_numpy(),
        found.to_arrow()["series"].to_numpy(),
    ):
        assert (column.astype(labels.dtype) == np.sort(labels)).all()


def test_times_without_a_unit_of_a_package_are_named():
    for kind, what in {
        "M8[ps]": "and the finest unit is ns: round them first",
        "m8[fs]": "and the finest unit is ns: round them first",
        "m8[Y]": "whose unit has no fixed length",
        "m8": "whose unit has no fixed length",
    }.items():
        labels = np.array([2, 1]).astype(kind)
        found = aggregate([0, 1], np.ones(2), 10, series=labels)
        for convert in (found.to_pandas, found.to_arrow, found.to_polars):
            with pytest.raises(ValueError) as raised:
                convert()
            assert str(raised.value).startswith(f"{convert.__name__}: the labels are {labels.dtype}, {what}")
    far = aggregate([0, 1], np.ones(2), 10, series=np.array([2**60, 1], "M8[Y]"))
    with pytest.raises(ValueError, match=r"to_arrow: the labels are datetime64\[Y\], beyond the range of datetime64\[D\]"):
        far.to_arrow()


def test_objects_have_proper_types_in_tables():
    zoned = timezone(timedelta(hours=1))
    for labels, polars, arrow in [
        ([date(2026, 2, 1), date(2026, 1, 1)], pl.Date, pa.date32()),
        ([datetime(2026, 2, 1, 5), datetime(2026, 1, 1)], pl.Datetime("us"), pa.timestamp("us")),
        ([datetime(2026, 2, 1, tzinfo=zoned), datetime(2026, 1, 1, tzinfo=zoned)], pl.Datetime("us", "UTC"), pa.timestamp("us", "+01:00")),
        ([Decimal("2.25"), Decimal("1.5")], pl.Decimal(38, 2), pa.decimal128(3, 2)),
        ([pd.Timestamp(2, unit="ns"), pd.Timestamp(1, unit="ns")], pl.Datetime("ns"), pa.timestamp("ns")),
        ([pd.Timedelta(2, unit="ns"), pd.Timedelta(1, unit="ns")], pl.Duration("ns"), pa.duration("ns")),
    ]:
        found = aggregate([0, 1], np.ones(2), 10, series=labels)
        assert found.labels.tolist() == sorted(labels)
        assert found.to_polars().schema["series"] == polars and found.to_arrow()["series"].type == arrow
        if not isinstance(labels[0], pd.Timestamp | pd.Timedelta):
            assert found.to_polars()["series"].to_list() == found.to_arrow()["series"].to_pylist() == sorted(labels)
    pairs = aggregate([0, 1], np.ones(2), 10, series=[("b", 1), ("a", 2)])
    assert pairs.to_polars()["series"].to_list() == [("a", 2), ("b", 1)]
    with pytest.raises(TypeError, match="to_arrow: Arrow has no type for the labels, which are tuple: convert them"):
        pairs.to_arrow()


def test_integers_that_fit_uint64_are_uint64():
    labels = [2**64 - 1, 2**63, 0]
    for series in (labels, [np.uint64(2**64 - 1), 2**63, np.int64(0)], pd.Series(labels, dtype=object), np.array(labels, object)):
        found, polars, arrow = tables(series)
        assert all(table == sorted(labels) for table in found) and (polars, arrow) == (pl.UInt64, pa.uint64())
    assert aggregate([0, 1, 2], np.ones(3), 10, series=labels).labels.dtype == np.uint64
    found, polars, arrow = tables(pd.Series([2**70, 1], dtype=object))
    assert all(table == [1, 2**70] for table in found) and (polars, arrow) == (pl.Int128, pa.decimal128(38))


def test_columns_of_nulls_are_named():
    for nulls in (pl.Series([None, None]), pa.nulls(2), pa.chunked_array([pa.nulls(1), pa.nulls(1)])):
        with pytest.raises(TypeError, match="aggregate: the Arrow type of values is Null, but possible are numbers"):
            aggregate([0, 1], nulls, 10)
        with pytest.raises(TypeError, match="aggregate: series has labels of Null: convert them to text or to integers"):
            aggregate([0, 1], [1.0, 2.0], 10, series=nulls)


@pytest.mark.parametrize(
    ("labels", "arrow", "polars"),
    [
        ([1, 2], pa.int64(), pl.Int64),
        ([-(2**63), 2**63 - 1], pa.int64(), pl.Int64),
        ([False, True], pa.bool_(), pl.Boolean),
        ([-1, 2**63], pa.decimal128(38), pl.Int128),
        ([1 - 10**38, 10**38 - 1], pa.decimal128(38), pl.Int128),
        ([np.int64(1), 2**64], pa.decimal128(38), pl.Int128),
    ],
    ids=str,
)
def test_objects_have_the_narrowest_type_of_tables(labels, arrow, polars):
    for series in (np.array(labels, object), pd.Series(labels, dtype=object)):
        found = aggregate([0, 1], np.ones(2), 1000, "sum", series=series)
        table, frame = found.to_arrow(), found.to_polars()
        assert (table["series"].type, frame["series"].dtype) == (arrow, polars)
        assert table["series"].to_pylist() == frame["series"].to_list() == labels


@pytest.mark.parametrize("label", [10**38, 2**127, -(2**200)], ids=str)
def test_integers_of_more_digits_than_tables_have(label):
    found = aggregate([0, 1], np.ones(2), 1000, "sum", series=[label, 0])
    for table in (found.to_arrow, found.to_polars):
        with pytest.raises(ValueError, match=f"{table.__name__}: series has the label {label}, .* 38 digits: convert the labels"):
            table()
    assert sorted(found.to_pandas().index.get_level_values("series")) == sorted([label, 0])


def test_labels_of_16_bits():
    for labels in (np.array([1.5, 0.5], "f2"), pa.array(np.array([1.5, 0.5], "f2")), pl.Series(np.array([1.5, 0.5], "f2"))):
        found = aggregate([0, 1], np.ones(2), 10, series=labels)
        for table in (found.to_pandas().reset_index(), found.to_polars(), found.to_arrow().to_pandas()):
            assert list(table["series"]) == [0.5, 1.5]


def test_mixed_labels_name_the_column_and_the_cure():
    for series in (["a", 1, "b"], pd.Series(["a", 1, "b"], dtype=object), np.array(["a", 1, "b"], object)):
        with pytest.raises(TypeError, match="series has labels of several types: str at point 0, number at point 1: convert"):
            labels_of(series)
    with pytest.raises(TypeError, match="aggregate: series has labels of list, which cannot be hashed: convert them"):
        labels_of([[1], [2]])

    class Incomparable:
        __hash__ = None

        def __eq__(self, other):
            raise ValueError("not comparable")

    with pytest.raises(TypeError, match="aggregate: series has labels of Incomparable, which cannot be hashed: convert them"):
        labels_of([Incomparable(), Incomparable()])
    with pytest.raises(TypeError, match="aggregate: series has labels of complex, which cannot be sorted: convert them"):
        labels_of([1j, 2j])


@pytest.mark.parametrize(
    "series",
    [
        ["a", None],
        pd.Series(["a", None], dtype="category"),
        pd.Series(["a", None], dtype="string"),
        pd.Series([1.0, np.nan]),
        pd.Series([1, None], dtype="Int64"),
        pl.Series(["a", None]),
        pl.Series(["a", None], dtype=pl.Categorical),
        pl.Series([1.0, float("nan")]),
        pa.array([1, None]),
        pa.array(["a", None]).dictionary_encode(),
        np.array(["2026", "NaT"], "M8[D]"),
        np.ma.array([1, 2], mask=[False, True]),
    ],
    ids=lambda series: type(series).__name__ + str(getattr(series, "dtype", "")),
)
def test_missing_labels_have_an_index(series):
    with pytest.raises(ValueError, match="the label of point 1 is missing") as raised:
        labels_of(series)
    assert raised.value.index == 1


def test_many_labels_in_any_order(rng):
    """More labels than a thread has points, in parts of several threads, with nulls among the values."""
    count = 100_000
    times = np.sort(rng.integers(0, 1000, count))
    values = rng.standard_normal(count)
    for different in (3, 40_000):
        labels = rng.integers(0, different, count)
        nulls = rng.random(count) < 0.1
        frame = pd.DataFrame({"label": labels, "start": times // 100 * 100, "value": np.where(nulls, np.nan, values)})
        expected = frame.dropna().groupby(["label", "start"])["value"].sum()
        found = aggregate(times, pl.Series(values).set(pl.Series(nulls), None), 100, "sum", series=labels).to_pandas()
        assert found.index.tolist() == expected.index.tolist()
        np.testing.assert_allclose(found["sum"], expected, rtol=1e-12, atol=1e-12)
        texts = pl.Series(labels).cast(pl.String)
        by_text = aggregate(times, values, 100, "count", series=texts)
        assert by_text.labels.to_list() == sorted(texts.unique().to_list()) and by_text["count"].sum() == count


def test_series_in_order_are_not_copied():
    summaries = summarize([5, 6, 1, 2], np.ones(4), 2, series=pd.Categorical(["b", "b", "a", "a"], ["b", "a"]))
    assert summaries.agg("count").labels.tolist() == ["b", "a"]
    assert summaries.agg("count").starts.tolist() == [4, 6, 0, 2]


def test_no_points():
    for series in ([], np.array([], "U1"), pl.Series([], dtype=pl.String), pa.array([], pa.string()), pd.Series([], dtype="str")):
        found = aggregate([], np.zeros(0), 5, series=series)
        assert len(found.labels) == 0 and len(found["mean"]) == 0


def test_dictionaries_of_integers_and_dates_keep_their_order() -> None:
    for values in [pa.array([30, 10, 20]), pa.array([3, 1, 2], pa.date32()), pa.array(["c", "a", "b"])]:
        column = pa.DictionaryArray.from_arrays([0, 1, 2, 1], values)
        found = aggregate([0, 0, 0, 1], [1.0, 2.0, 3.0, 4.0], 10, "sum", series=column)
        assert found["sum"].tolist() == [1.0, 6.0, 3.0]
        chunks = pa.chunked_array([column[index : index + 1] for index in range(4)])
        found = aggregate([0, 0, 0, 1], [1.0, 2.0, 3.0, 4.0], 10, "sum", series=chunks)
        assert found["sum"].tolist() == [1.0, 6.0, 3.0]
