import re
import sys
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pandas.api.typing import Resampler

from gridstride import Device, time_series
from gridstride.time_series import aggregate, bucket_counts, round_timestamps, summarize


def points(rng, count=400, unit="s"):
    """Timestamps that ascend by 0 to 29 units."""
    ticks = 1_700_000_000 + np.cumsum(rng.integers(0, 30, count))
    return ticks.astype(f"datetime64[{unit}]"), rng.standard_normal(count)


# Those that pandas has too.
METHODS = [method for method in time_series.METHODS if hasattr(Resampler, method) or hasattr(pd.Series, method)]

# Those that summaries have too.
SUMMARISED = [method for method in METHODS if method != "median"]


def test_methods_are_documented(rng):
    timestamps, values = points(rng, 30)
    found = aggregate(timestamps, values, "35s", list(time_series.METHODS))
    assert list(found) == list(time_series.METHODS) and {"count", "mean", "std", "median"} < set(found)
    assert all(text.endswith(".") for text in time_series.METHODS.values())
    assert "`METHODS`" in aggregate.__doc__


def resampled(timestamps, values, every, methods=METHODS):
    """pandas' results of the buckets that have points."""
    buckets = pd.Series(values, index=pd.DatetimeIndex(timestamps)).resample(every, origin="epoch")
    def column(method):
        own = getattr(buckets, method, None)
        return own() if own else buckets.apply(lambda part: getattr(part, method)())

    table = pd.DataFrame({method: column(method) for method in methods})
    return table[table["count"] > 0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pandas_resample(device, rng, dtype):
    timestamps, values = points(rng)
    values = values.astype(dtype)
    found = aggregate(timestamps, values, "35s", METHODS, device=device)
    expected = resampled(timestamps, values.astype(float), "35s")
    assert list(found) == METHODS and len(found) == len(METHODS)
    assert found.starts.dtype == timestamps.dtype
    np.testing.assert_array_equal(found.starts, expected.index.to_numpy())
    for method in METHODS:
        assert found[method].dtype == np.float64
        # About 20 values in a bucket, of magnitude 1.
        np.testing.assert_allclose(found[method], expected[method], rtol=1e-12, atol=1e-14)
    table = found.to_pandas()
    assert table.index.name == "start"
    pd.testing.assert_frame_equal(table, expected, check_freq=False, check_names=False, check_dtype=False, check_index_type=False)


def test_percentiles_and_rates(device, rng):
    timestamps, values = points(rng, 60)
    found = aggregate(timestamps, values, timedelta(minutes=1), ["p95", "rate:max"], device=device)
    ticks = timestamps.astype(np.int64) // 60
    rates = np.concatenate([[np.nan], np.diff(values)])
    for index, bucket in enumerate(np.unique(ticks)):
        here = ticks == bucket
        np.testing.assert_allclose(found["p95"][index], np.percentile(values[here], 95))
        np.testing.assert_allclose(found["rate:max"][index], np.nanmax(rates[here]) if here.sum() > 1 or index else np.nan)


def columns(timestamps, values):
    """The same points as columns of several packages."""
    yield "numpy", timestamps, values
    yield "strided", np.repeat(timestamps, 2)[::2], values[::-1][::-1]
    yield "pandas series", pd.Series(timestamps), pd.Series(values)
    yield "pandas index", pd.DatetimeIndex(timestamps), pd.Series(values)
    yield "pandas Float64", pd.Series(timestamps), pd.Series(values).astype("Float64")
    yield "pandas on Arrow", pd.Series(timestamps), pd.Series(values).astype("double[pyarrow]")
    yield "polars", pl.Series(timestamps), pl.Series(values)
    yield "polars chunks", pl.concat([pl.Series(timestamps[:9]), pl.Series(timestamps[9:])], rechunk=False), pl.Series(values)
    yield "pyarrow", pa.array(timestamps), pa.array(values)
    yield "pyarrow slice", pa.chunked_array([pa.array(timestamps)[:5], pa.array(timestamps)[5:]]), pa.array(values)


def test_columns(rng):
    timestamps, values = points(rng, unit="us")
    timestamps = (timestamps.astype(np.int64) * 10**6).astype("datetime64[us]")
    expected = aggregate(timestamps, values, "1m")
    for name, times, numbers in columns(timestamps, values):
        found = aggregate(times, numbers, "1m")
        np.testing.assert_array_equal(found.starts, expected.starts, err_msg=name)
        np.testing.assert_array_equal(found["mean"], expected["mean"], err_msg=name)


def test_arrow_columns_are_not_copied(rng):
    from gridstride._core import from_arrow

    series = pl.Series(rng.standard_normal(100))
    elements, valid = from_arrow(series[10:])
    assert valid is None
    assert np.shares_memory(elements, series.to_numpy(allow_copy=False))
    assert not elements.flags.writeable
    del series
    assert np.isfinite(elements).all()


def test_time_zones():
    naive = pd.date_range("2026-03-29", periods=6, freq="30min")
    for times in (naive.tz_localize("Europe/Rome", ambiguous="raise", nonexistent="shift_forward"),):
        values = np.arange(6.0)
        expected = pd.Series(values, index=times).resample("1h", origin="epoch").mean().dropna()
        for column in (times, pd.Series(times), pl.from_pandas(pd.Series(times)), pa.array(times)):
            table = aggregate(column, values, "1h").to_pandas()
            assert str(table.index.tz) == "Europe/Rome"
            np.testing.assert_array_equal(table["mean"], expected)
            assert (table.index == expected.index).all()


def test_nulls_are_no_points():
    times = [0, 1, 2, 3]
    values = [1.0, None, 3.0, float("nan")]
    for column in (pl.Series(values), pa.array(values, pa.float64()), pd.array(values[:2] + [3.0, None], "Float64")):
        found = aggregate(np.array(times), column, 10, ["count", "sum"], nan="skip")
        assert (found["count"].tolist(), found["sum"].tolist()) == ([2.0], [4.0])
    found = aggregate(np.array(times), pl.Series(values), 2, ["count"], nan="propagate", offsets=[0, 2, 4])
    assert found["count"].tolist() == [1.0, 2.0] and found.offsets.tolist() == [0, 1, 2]
    found = aggregate(np.array(times), pl.Series(values), 2, "count", nan="propagate", series=[1, 0, 1, 0])
    assert found.labels.tolist() == [0, 1]
    assert found.to_pandas().index.tolist() == [(0, 2), (1, 0), (1, 2)]
    with pytest.raises(ValueError, match="aggregate: timestamp 1 is null"):
        aggregate(pl.Series([0, None, 2]), np.zeros(3), 1)


def test_nan(device):
    times, values = np.arange(4), np.array([1.0, np.nan, 3.0, np.nan])
    skipped = aggregate(times, values, 2, ["count", "sum"], device=device)
    assert (skipped["count"].tolist(), skipped["sum"].tolist()) == ([1.0, 1.0], [1.0, 3.0])
    propagated = aggregate(times, values, 2, ["count", "sum"], nan="propagate", device=device)
    assert propagated["count"].tolist() == [2.0, 2.0] and np.isnan(propagated["sum"]).all()


def test_durations_are_read_as_the_table_says():
    table = Path(__file__).parents[2] / "tests" / "data" / "durations.csv"
    for line in table.read_text().splitlines()[1:]:
        text, nanoseconds, error = line.split(",", 2)
        if error:
            with pytest.raises(ValueError, match=re.escape(error)):
                round_timestamps(np.zeros(1, "datetime64[ns]"), text)
        else:
            times = (int(nanoseconds) - np.array([1, 0])).view("datetime64[ns]")
            assert round_timestamps(times, text).astype(int).tolist() == [0, int(nanoseconds)], text


def test_origins_are_texts_too():
    times = np.datetime64("2026-01-31T12:00:00") + np.arange(3)
    for origin in ("2026-01-31T12:00:01Z", "2026-01-31 12:00:01", "2026-01-31T13:00:01+01:00"):
        assert aggregate(times, np.ones(3), "2s", "count", origin=origin)["count"].tolist() == [1, 2]
    with pytest.raises(ValueError, match="origin 'noon' is no time as 2026-01-31T12:00:00Z"):
        aggregate(times, np.ones(3), "2s", origin="noon")


def test_missing_values_of_pandas_are_the_same_in_all_dtypes():
    times, values = np.arange(8), np.array([1.0, np.nan, np.nan, np.nan, 5.0, 6.0, np.nan, 8.0])
    columns = [pd.Series(values), pd.Series(values).astype("Float64"), pd.Series(values).astype("double[pyarrow]")]
    for fill in (None, "previous", "null", {"count": 0}):
        found = [aggregate(times, column, 2, ["count", "mean", "std"], fill=fill) for column in columns]
        for other in found[1:]:
            pd.testing.assert_frame_equal(found[0].to_pandas(), other.to_pandas())
        assert found[0].starts.tolist() == ([0, 4, 6] if fill is None else [0, 2, 4, 6])
    # NaN is a value if it is asked for, and in arrays of numpy.
    propagated = aggregate(times, columns[0], 2, ["count", "mean"], nan="propagate")
    assert propagated["count"].tolist() == [2, 2, 2, 2] and np.isnan(propagated["mean"][:2]).all()
    assert aggregate(times, values, 2, "count")["count"].tolist() == [1, 0, 2, 1]


def test_each_method_is_filled_apart(device):
    times, values = np.array([0, 1, 2, 9]), np.array([1.0, 3.0, 5.0, 8.0])
    methods = ["count", "mean", "std"]
    found = aggregate(times, values, 2, methods, fill={"count": 0, "std": "previous"}, device=device)
    np.testing.assert_array_equal(found["count"], [2, 1, 0, 0, 1])
    np.testing.assert_array_equal(found["mean"], [2, 5, np.nan, np.nan, 8])
    # The bucket before the gap has no standard deviation.
    np.testing.assert_allclose(found["std"], [2**0.5, np.nan, 2**0.5, 2**0.5, np.nan])
    with pytest.raises(ValueError, match="aggregate: fill has a result of sum, which is no method of the call"):
        aggregate(times, values, 2, "mean", fill={"sum": 0}, device=device)
    with pytest.raises(TypeError, match="fill is .*, but has to be None, a number, 'null', 'previous', or a dict"):
        aggregate(times, values, 2, "mean", fill={"mean": []}, device=device)


def test_fills_are_not_rounded():
    for number in (2**53 + 1, np.int64(2**53 + 1), Decimal(2**53 + 1)):
        for fill in (number, {"mean": number}):
            with pytest.raises(ValueError, match=f"aggregate: fill is {2**53 + 1}, which float64 would round: convert it to float"):
                aggregate([0, 9], [1.0, 2.0], 3, fill=fill)
    for number in (2**60, Decimal("0.1"), np.float32(2)):
        assert aggregate([0, 9], [1.0, 2.0], 3, fill=number)["mean"].tolist() == [1, float(number), float(number), 2]


def test_options(device):
    times, values = np.array([0, 0, 1, 7]), np.array([1.0, 2.0, 4.0, 8.0])
    for fill, expected in [(None, [7, 8]), (-1, [7, -1, -1, 8]), ("previous", [7, 7, 7, 8]), (np.nan, [7, np.nan, np.nan, 8])]:
        np.testing.assert_array_equal(aggregate(times, values, 2, "sum", fill=fill, device=device)["sum"], expected)
    for duplicates, expected in [("keep", 7), ("first", 5), ("last", 6)]:
        assert aggregate(times, values, 5, "sum", duplicates=duplicates, device=device)["sum"][0] == expected
    shuffled = aggregate(times[::-1], values[::-1], 2, "sum", sort=True, device=device)
    assert shuffled["sum"].tolist() == [7, 8]
    assert aggregate(times, values, 100, "var", ddof=0, device=device)["var"][0] == np.var(values)
    assert aggregate(times, values, 2, "std", singletons="drop", device=device).starts.tolist() == [0]
    assert aggregate(times, values, 5, "sum", origin=-1, device=device).starts.tolist() == [-1, 4]


def test_several_series(device, rng):
    timestamps, values = points(rng, 90)
    labels = rng.choice(["rome", "oslo", "lima"], 90)
    found = aggregate(timestamps, values, "5m", ["sum", "count"], series=labels, device=device)
    frame = pd.DataFrame({"series": labels, "start": timestamps.astype("datetime64[s]"), "value": values})
    groups = frame.groupby(["series", pd.Grouper(key="start", freq="5min", origin="epoch")])["value"]
    expected = groups.agg(["sum", "count"])
    table = found.to_pandas()
    assert table.index.names == ["series", "start"]
    assert table.index.tolist() == expected.index.tolist()
    np.testing.assert_allclose(table["sum"], expected["sum"], rtol=1e-12, atol=1e-14)
    # Offsets keep the order of the series, and labels are sorted.
    by_offsets = aggregate(np.array([5, 6, 1, 2]), np.ones(4), 2, "count", offsets=[0, 2, 4], device=device)
    by_labels = aggregate(np.array([5, 6, 1, 2]), np.ones(4), 2, "count", series=["b", "b", "a", "a"], device=device)
    assert by_labels.labels.tolist() == ["a", "b"]
    assert (by_offsets.starts.tolist(), by_labels.starts.tolist()) == ([4, 6, 0, 2], [0, 2, 4, 6])
    assert by_offsets.to_pandas().index.get_level_values("series").tolist() == [0, 0, 1, 1]


def test_empty_and_length_1(device):
    nothing = aggregate(np.zeros(0, "datetime64[ns]"), np.zeros(0), "1s", METHODS, device=device)
    assert nothing.starts.shape == nothing["mean"].shape == (0,) and nothing.to_pandas().empty
    assert aggregate(np.zeros(0, int), np.zeros(0), 1, series=[], device=device).to_pandas().empty
    one = aggregate(np.array([-3]), np.array([2.5]), 2, ["mean", "std"], device=device)
    assert one.starts.tolist() == [-4] and one["mean"].tolist() == [2.5] and np.isnan(one["std"]).all()


@pytest.mark.parametrize(
    "every",
    ["90s", "1.5m", "1.5 min", "90000 ms", timedelta(seconds=90), np.timedelta64(90, "s"), pd.Timedelta("90s"), 90_000],
)
def test_durations(every):
    timestamps = np.array([0, 89_999, 90_000], "datetime64[ms]")
    assert round_timestamps(timestamps, every).astype(int).tolist() == [0, 0, 90_000]


def test_origins():
    timestamps = np.array(["2026-01-01T10:00"], "datetime64[s]")
    midnight = datetime(2026, 1, 1)
    for origin in (
        midnight,
        midnight.replace(tzinfo=timezone.utc),
        datetime(2026, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))),
        np.datetime64("2026-01-01"),
        pd.Timestamp("2026-01-01"),
        pd.Timestamp("2026-01-01", tz="UTC"),
    ):
        assert round_timestamps(timestamps, "7h", origin=origin) == np.datetime64("2026-01-01T07:00")


def test_round_timestamps(device):
    ticks = np.array([-1, 0, 34, 36, 100])
    expected = ticks // 35 * 35
    np.testing.assert_array_equal(round_timestamps(ticks[::-1], 35, device=device), expected[::-1])
    assert round_timestamps(ticks, 35, out=ticks, device=device) is ticks
    np.testing.assert_array_equal(ticks, expected)


def test_little_memory(rng):
    timestamps, values = points(rng, 2000)
    limited = Device("cpu").with_memory_limit(2**14)
    np.testing.assert_allclose(
        aggregate(timestamps, values, "1m", device=limited)["mean"], aggregate(timestamps, values, "1m", device="cpu")["mean"]
    )


def test_refused():
    times, values = np.array([3, 1]), np.array([1.0, 2.0])
    with pytest.raises(ValueError, match="aggregate: .* sort them, or use sort=True") as raised:
        aggregate(times, values, 5)
    assert raised.value.index == 1
    with pytest.raises(ValueError, match="aggregate: the number of timestamps is 2, the number of values 1"):
        aggregate(times, values[:1], 5)
    with pytest.raises(ValueError, match="aggregate: every is 0"):
        aggregate(times, values, 0)
    with pytest.raises(ValueError, match='aggregate: "mode" is no method: there are count, sum, mean'):
        aggregate(times, values, 5, "mode")
    with pytest.raises(TypeError, match="the dtype of values is complex128, but possible are floats, integers and bools"):
        aggregate(times, values + 0j, 5)
    with pytest.raises(TypeError, match="the dtype of timestamps is float64, but possible are int64"):
        aggregate(values, values, 5)
    with pytest.raises(TypeError, match="the Arrow type of timestamps, the column \"at\", is Time64"):
        aggregate(pl.Series("at", [datetime(2026, 1, 1).time()]), values[:1], 5)
    with pytest.raises(ValueError, match="timestamps have no unit"):
        aggregate(times, values, "5s")
    with pytest.raises(ValueError, match="every is '5 parsecs': there is no unit"):
        aggregate(times.astype("datetime64[s]"), values, "5 parsecs")
    with pytest.raises(ValueError, match="every is '1ms', which is no multiple of the timestamps' unit, s"):
        aggregate(times.astype("datetime64[s]"), values, "1ms")
    with pytest.raises(TypeError, match="whose unit has no fixed length"):
        aggregate(times.astype("datetime64[M]"), values, 1)
    with pytest.raises(ValueError, match="of which one is enough"):
        aggregate(times, values, 5, series=[0, 1], offsets=[0, 1, 2])
    with pytest.raises(ValueError, match="the labels of the series have the shape \\(1,\\), but there are 2 points"):
        aggregate(times, values, 5, series=[0])
    with pytest.raises(ValueError, match="the label of point 1 is missing"):
        aggregate(times, values, 5, series=["a", None])
    with pytest.raises(ValueError, match="aggregate: .*offset"):
        aggregate(times, values, 5, offsets=[0, 1])
    with pytest.raises(ValueError, match='fill is "next", but possible are none, null, previous and a number'):
        aggregate(times, values, 5, fill="next")


def test_mapping():
    found = aggregate(np.arange(4), np.ones(4), 2, ["sum", "count"])
    assert dict(found).keys() == {"sum", "count"} and "mean" not in found
    assert repr(found) == "<Buckets: sum, count of 2 buckets>"
    assert pl.DataFrame({"start": found.starts, **found}).shape == (2, 3)
    assert isinstance(found, time_series.Buckets)


def test_masked_elements_are_nulls():
    values = np.ma.array([1.0, 100.0, 3.0], mask=[False, True, False])
    assert aggregate([0, 1, 2], values, 5, "sum")["sum"].tolist() == [4]
    with pytest.raises(ValueError, match="timestamp 1 is null"):
        aggregate(np.ma.array([0, 1, 2], mask=[0, 1, 0]), values, 5)
    with pytest.raises(ValueError, match="the label of point 1 is missing"):
        aggregate([0, 1, 2], [1.0, 2.0, 3.0], 5, series=np.ma.array([0, 1, 2], mask=[0, 1, 0]))


def test_missing_labels_of_pandas_strings():
    labels = pd.Series(["a", None, "b"], dtype="string")
    with pytest.raises(ValueError, match="the label of point 1 is missing"):
        aggregate([0, 1, 2], [1.0, 2.0, 3.0], 5, series=labels)


def test_offsets_beyond_the_points():
    values = pl.Series([1.0, None, 3.0])
    for offsets in ([0, -1, 3], [0, 9], [0, 4]):
        with pytest.raises(ValueError, match="offset -?[0-9] at index 1 is not in 0 to the number of points, 3"):
            aggregate([0, 1, 2], values, 5, offsets=offsets)
    with pytest.raises(TypeError, match="offsets have the dtype float64"):
        aggregate([0, 1, 2], values, 5, offsets=[0.0, 3.0])
    with pytest.raises(TypeError, match="offsets have the dtype int64 and 0 axes"):
        aggregate([0, 1, 2], values, 5, offsets=3)


def test_labels_in_the_memory_of_a_device_are_refused(device):
    with pytest.raises(TypeError, match="aggregate: series is in the memory of a device"):
        aggregate([0, 1], [1.0, 2.0], 5, series=device.upload(np.array([0, 1])))


def test_starts_that_pandas_cannot_hold():
    whole, part = np.array([0, 1000], "M8[ps]"), np.array([0, 250], "M8[ps]")
    assert len(aggregate(whole, np.ones(2), 250).to_pandas().index.unique()) == 2
    with pytest.raises(ValueError, match=r"to_pandas: the starts are datetime64\[ps\]"):
        aggregate(part, np.ones(2), 250).to_pandas()


def test_nulls_do_not_hide_wrong_offsets():
    times, values = np.arange(4), pl.Series([None, 1.0, 2.0, None])
    for offsets in ([1, 4], [0, 3]):
        message = f"the offsets go from {offsets[0]} to {offsets[1]}, .* number of points, 4"
        with pytest.raises(ValueError, match=message) as raised:
            aggregate(times, values, 5, offsets=offsets)
        assert raised.value.index == (0 if offsets[0] > 0 else 1)
    with pytest.raises(ValueError, match="summarize: offset 3 at index 2 is below the one before it, 4") as raised:
        summarize(times, values, 5, offsets=[0, 4, 3, 4])
    assert raised.value.index == 2


def test_errors_have_the_index_of_the_caller():
    with pytest.raises(ValueError, match="timestamp 1 at index 3 is below the one before it") as raised:
        aggregate([0, 3, 5, 1], pl.Series([1.0, None, 3.0, 4.0]), 5)
    assert raised.value.index == 3
    with pytest.raises(ValueError, match="timestamp 1 at index 2 of series 0 is below the one before it") as raised:
        aggregate([9, 5, 1, 7], [1.0, 2.0, 3.0, 4.0], 5, series=["a", "b", "a", "b"])
    assert raised.value.index == 2
    with pytest.raises(ValueError, match="timestamp -9223372036854775808, at index 3, begins before") as raised:
        aggregate([9, 5, 3, -(2**63)], pl.Series([1.0, None, 3.0, 4.0]), 5, sort=True)
    assert raised.value.index == 3


def test_nat_is_named():
    times, values = np.array([1, "NaT", 3], "M8[s]"), np.ones(3)
    out = np.empty(3, "M8[s]")
    # NaT is the start of its own bucket if the buckets are powers of 2.
    for every in ("5s", "4s"):
        for name, call in {
            "aggregate": lambda: aggregate(times, values, every, "std", singletons="drop", sort=True),
            "summarize": lambda: summarize(times, values, every, sort=True),
            "bucket_counts": lambda: bucket_counts(times[1:], every),
            "round_timestamps": lambda: round_timestamps(times, every, out=out),
            "round_timestamps: ": lambda: round_timestamps(times, every),
        }.items():
            with pytest.raises(ValueError, match=f"{name}.*timestamp [01] is NaT") as raised:
                call()
            assert raised.value.index == (0 if name == "bucket_counts" else 1)


def test_nulls_have_an_index():
    for call in (lambda times: aggregate(times, np.ones(2), 5), lambda times: round_timestamps(times, 5)):
        with pytest.raises(ValueError, match="timestamp 1 is null") as raised:
            call(pl.Series([0, None]))
        assert raised.value.index == 1


def test_units_of_several_seconds():
    times = np.arange(4).astype("M8[10s]")
    for call in (lambda: round_timestamps(times, 2), lambda: aggregate(times, np.ones(4), 2)):
        with pytest.raises(TypeError, match=r"datetime64\[10s\], whose unit is 10 s: convert it to datetime64\[s\]"):
            call()
    swapped = times.astype("M8[s]").astype(">M8[s]")
    assert round_timestamps(swapped, "20s").tolist() == round_timestamps(times.astype("M8[s]"), "20s").tolist()


def test_columns_have_one_axis():
    values = np.ma.array([[1.0, 2.0]], mask=[[False, True]])
    for times in ([0, 1], [[0, 1]]):
        with pytest.raises(ValueError, match=r"aggregate: (timestamps|values) has the shape \(1, 2\), but has to have one axis"):
            aggregate(times, values, 5)


def test_labels_of_numbers_among_objects():
    labels = pd.Series([np.int64(1)] * 2 + [2], dtype=object)
    assert aggregate([0, 1, 2], np.ones(3), 5, series=labels).labels.tolist() == [1, 2]
    for missing in (np.float64("nan"), float("nan"), pd.NA, pd.NaT, None):
        with pytest.raises(ValueError, match="summarize: the label of point 1 is missing"):
            summarize([0, 1, 2], np.ones(3), 5, series=pd.Series([1, missing, 2], dtype=object))
    with pytest.raises(ValueError, match="summarize: the labels of the series have the shape"):
        summarize([0, 1, 2], np.ones(3), 5, series=[1])


def test_numbers_beyond_int64():
    times = np.arange(3).astype("M8[ns]")
    with pytest.raises(ValueError, match="every is '300000d', which is beyond the range of int64"):
        aggregate(times, np.ones(3), "300000d")
    with pytest.raises(ValueError, match="every is -1180591620717411303424, which is beyond"):
        round_timestamps(times, -(2**70))
    with pytest.raises(ValueError, match="origin is 1180591620717411303424, which is beyond"):
        bucket_counts(times, 5, origin=2**70)
    with pytest.raises(ValueError, match="aggregate: ddof is -1, but has to be 0 at least"):
        aggregate(times, np.ones(3), 5, "var", ddof=-1)
    with pytest.raises(ValueError, match="agg: ddof is 4294967296, which is too large"):
        summarize(times, np.ones(3), 5).agg("var", ddof=2**32)


def test_summaries_do_not_keep_the_timestamps():
    times = np.arange(100).astype("M8[s]")
    # A view of the timestamps would keep them.
    references = sys.getrefcount(times)
    summaries = summarize(times, np.ones(100), "5s")
    assert sys.getrefcount(times) == references
    assert summaries.resample("10s").agg("count").starts.dtype == times.dtype


def test_spans_that_mislead():
    times, values = np.arange(3).astype("M8[s]"), np.ones(3)
    with pytest.raises(ValueError, match="every is '1M'"):
        aggregate(times, values, "1M")
    assert len(aggregate(times, values, "1m").starts) == len(aggregate(times, values, "1D").starts) == 1
    for wrong in (2.5, None, pd.offsets.Second(5)):
        with pytest.raises(TypeError, match="but has to be an integer, a text"):
            aggregate(times, values, wrong)
    with pytest.raises(ValueError, match="aggregate: every is 0, and has to be 1 at least"):
        aggregate(times, values, 0)
    picoseconds = np.array([0, 999, 1000], "M8[ps]")
    assert aggregate(picoseconds, values, "1ns", "count")["count"].tolist() == [2, 1]
    # 1 January of year 1 is beyond the range of nanoseconds.
    with pytest.raises(ValueError, match="origin is"):
        aggregate(times.astype("M8[ns]"), values, "5s", origin=datetime(1, 1, 1))


def test_columns_that_are_none():
    for wrong in (pl.LazyFrame({"a": [1]}), np.int64(3), pd.DataFrame({"a": [1]})):
        with pytest.raises(TypeError, match="aggregate: timestamps is .*, but has to be a column"):
            aggregate(wrong, [1.0], 5)


def test_zones_of_every_kind():
    zones = ["Europe/Berlin", "dateutil/Europe/Berlin", timezone(timedelta(hours=2))]
    for zone in zones:
        times = pd.date_range("2026-03-29", periods=4, freq="h", tz=zone)
        table = aggregate(times, np.ones(4), "2h", "count").to_pandas()
        assert table.index.tz.utcoffset(times[0].replace(tzinfo=None)) == times[0].utcoffset()
        assert table["count"].sum() == 4
    arrow = pd.Series(pd.date_range("2026", periods=2, tz="UTC")).astype(pd.ArrowDtype(pa.timestamp("us", "Europe/Berlin")))
    assert str(aggregate(arrow, np.ones(2), "1d").to_pandas().index.tz) == "Europe/Berlin"


def test_rounding_to_datetimes():
    times = np.arange(12).astype("M8[s]")
    out = np.zeros(24, "M8[s]")[::2]
    assert round_timestamps(times, "5s", out=out) is out
    assert (out == round_timestamps(times, "5s")).all()
    with pytest.raises(TypeError, match="the dtype of out is datetime64\\[ms\\]"):
        round_timestamps(times, "5s", out=np.zeros(12, "M8[ms]"))


def test_bucket_counts(device, rng):
    timestamps, _ = points(rng)
    found = bucket_counts(timestamps, "35s", origin=3, device=device)
    starts, counts = np.unique(round_timestamps(timestamps, "35s", origin=3), return_counts=True)
    assert found.counts.dtype == np.int64
    np.testing.assert_array_equal(found.starts, starts)
    np.testing.assert_array_equal(found.counts, counts)
    assert bucket_counts(timestamps[:0], "35s", device=device).counts.shape == (0,)
    with pytest.raises(ValueError, match="bucket_counts: .* is below the one before it"):
        bucket_counts(timestamps[::-1], "35s", device=device)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_summaries(device, rng, dtype):
    timestamps, values = points(rng)
    values = values.astype(dtype)
    fine = summarize(timestamps, values, "35s", device=device)
    for every, summaries in (("35s", fine), ("70s", fine.resample("70s")), ("7min", fine.resample("70s").resample("7m"))):
        expected = resampled(timestamps, values.astype(float), every)
        found = summaries.agg(SUMMARISED, ddof=1)
        np.testing.assert_array_equal(found.starts, expected.index.to_numpy())
        assert len(summaries) == len(expected)
        for method in SUMMARISED:
            np.testing.assert_allclose(found[method], expected[method], rtol=1e-12, atol=1e-13)
    assert repr(fine) == f"<Summaries: {len(fine)} buckets>"


def test_summaries_of_series(device, rng):
    timestamps, values = points(rng, 60)
    labels = np.repeat(["a", "b"], 30)
    found = summarize(timestamps, values, "35s", series=labels, device=device).resample("70s").agg("max").to_pandas()
    expected = aggregate(timestamps, values, "70s", "max", series=labels, device=device).to_pandas()
    pd.testing.assert_frame_equal(found, expected)
    summaries = summarize(timestamps, values, "35s")
    for method in time_series.METHODS:
        if method == "median":
            with pytest.raises(ValueError, match="agg: summaries do not tell median"):
                summaries.agg("median")
        else:
            np.testing.assert_allclose(summaries.agg(method)[method], aggregate(timestamps, values, "35s", method)[method], rtol=1e-12)
    with pytest.raises(ValueError, match="resample: every is 36, which is not a multiple"):
        summaries.resample("36s")


def test_errors_about_spans_name_the_call():
    times = np.arange(3).astype("M8[s]")
    summaries = summarize(times, np.ones(3), 1)
    for name, call in {
        "aggregate": lambda: aggregate(times, np.ones(3), "1mo"),
        "summarize": lambda: summarize(times, np.ones(3), "1mo"),
        "bucket_counts": lambda: bucket_counts(times, "1mo"),
        "round_timestamps": lambda: round_timestamps(times, "1mo"),
        "resample": lambda: summaries.resample("1mo"),
    }.items():
        with pytest.raises(ValueError, match=f"^{name}: every is '1mo': mo means calendar months"):
            call()


def test_spans_and_origins_are_exact():
    times = np.array([0, 999, 1000, 1001], "M8[ps]")
    assert round_timestamps(times, np.timedelta64(1000, "ps")).astype(int).tolist() == [0, 0, 1000, 1000]
    assert round_timestamps(times, np.timedelta64(10**9, "as"), origin=np.datetime64(1, "ps")).astype(int).tolist() == [-999, 1, 1, 1001]
    month = round_timestamps(np.array(["2026-02-03"], "M8[D]"), "1d", origin=np.datetime64("2026-01"))
    assert month == np.datetime64("2026-02-03")
    for wrong, error in {np.timedelta64(1, "Y"): "no fixed length", np.timedelta64(1, "as"): "no multiple", np.timedelta64("NaT", "s"): "every is"}.items():
        with pytest.raises(ValueError, match=error):
            round_timestamps(times, wrong)
    for wrong in (2.5, object()):
        with pytest.raises(TypeError, match="round_timestamps: origin is .*, but has to be an integer, a text"):
            round_timestamps(times, 5, origin=wrong)
    with pytest.raises(ValueError, match="origin is .*NaT"):
        round_timestamps(times, 5, origin=np.datetime64("NaT"))
