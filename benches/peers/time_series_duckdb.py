"""DuckDB's way to time series, on the points of benches/time_series_cpu.rs: GROUP BY of the start of each point's bucket.

Run with DuckDB and NumPy (pip install duckdb):  python3 time_series_duckdb.py [--points 10000000] [--runs 7]
Points are 5 seconds apart, in nanoseconds, and buckets 35 seconds long. Times are those of whole queries on all cores, from a
table in memory to a table in memory. Results are compared with NumPy's.
"""

import argparse

import duckdb
import numpy as np

from timing import clock_ms, repeated, row

SECOND = 1_000_000_000
STEP, EVERY, START = 5 * SECOND, 35 * SECOND, 1_500_000_000 * SECOND

EIGHT = (
    "count(value)",
    "sum(value)",
    "avg(value)",
    "min(value)",
    "max(value)",
    "arg_min(value, time)",
    "arg_max(value, time)",
    "stddev_samp(value)",
)


def expected(times, values):
    """The starts of buckets, and the eight statistics of each."""
    labels = times // EVERY * EVERY
    first = np.flatnonzero(np.diff(labels, prepend=labels[0] - 1))
    counts = np.diff(first, append=len(values))
    sums = np.add.reduceat(values, first)
    deviations = values - np.repeat(sums / counts, counts)
    variances = np.add.reduceat(deviations**2, first) / np.maximum(counts - 1, 1)
    return labels[first], [
        counts,
        sums,
        sums / counts,
        np.minimum.reduceat(values, first),
        np.maximum.reduceat(values, first),
        values[first],
        values[first + counts - 1],
        np.where(counts > 1, np.sqrt(variances), np.nan),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--points", type=int, default=10_000_000)
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    times = START + STEP * np.arange(options.points)
    values = 20 + np.random.default_rng(1).standard_normal(options.points).cumsum()
    starts, columns = expected(times, values)
    database = duckdb.connect()
    database.register("points_of_numpy", {"time": times, "value": values})
    database.execute("CREATE TABLE points AS SELECT * FROM points_of_numpy")
    for case, statistics, wanted in (("mean", EIGHT[2:3], columns[2:3]), ("eight methods", EIGHT, columns)):
        named = ", ".join(f"{statistic} AS s{i}" for i, statistic in enumerate(statistics))
        query = f"SELECT time // {EVERY} * {EVERY} AS start, {named} FROM points GROUP BY start"
        measured = repeated(lambda: clock_ms(lambda: database.execute(f"CREATE OR REPLACE TABLE found AS {query}")), options.runs)
        found = database.execute("SELECT * FROM found ORDER BY start").fetchnumpy()
        assert np.array_equal(found["start"], starts), f"{case}: other buckets"
        error = 0.0
        for i, column in enumerate(wanted):
            numbers = np.ma.filled(np.ma.asarray(found[f"s{i}"], float), np.nan)
            np.testing.assert_allclose(numbers, column, rtol=1e-9, atol=1e-9, err_msg=statistics[i])
            error = max(error, float(np.nanmax(np.abs(numbers - column) / (np.abs(column) + np.abs(values).max()))))
        row(case, measured, "DuckDB", version=duckdb.__version__, clock="call", error=error)


if __name__ == "__main__":
    main()
