"""Time series by labels beside polars: points in order of time, of 100 series, the mean of each bucket of each series.

    python python/benches/labels.py --points 2000000 --labels 100

shows for each kind of labels the times of `time_series.aggregate`, of polars' group_by of the labels and of the start of each
point's bucket, and of polars' group_by of the labels alone, which has fewer results. The rows with buckets have the same
results, which are compared. Everything runs in turn.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from measure import PEERS, clock, progress

from gridstride import time_series

sys.path.insert(0, str(PEERS))

from timing import row

EVERY = 3600


def columns(labels: np.ndarray[Any, Any], names: list[str]) -> dict[str, tuple[Any, pl.Series]]:
    """The same labels as columns of several types, each as gridstride and as polars take it."""
    texts = pl.Series(np.array(names)[labels])
    categories = texts.cast(pl.Categorical)
    enum = texts.cast(pl.Enum(names))
    return {
        "strings of polars": (texts, texts),
        "Categorical of polars": (categories, categories),
        "Enum of polars": (enum, enum),
        "strings of pandas": (pd.Series(texts.to_list()), texts),
        "Categorical of pandas": (pd.Series(pd.Categorical.from_codes(labels, names)), categories),
        "integers": (labels, pl.Series(labels)),
    }


def measured(calls: dict[str, Callable[[], Any]], runs: int) -> tuple[dict[str, list[float]], dict[str, Any]]:
    """The milliseconds of each call, in turn, and the results."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    results = {}
    for _ in range(runs):
        for name, call in calls.items():
            seconds, results[name] = clock(call)
            times[name].append(seconds * 1000)
    return times, results


def check(buckets: Any, expected: pl.DataFrame) -> None:
    """Compare the results of both packages."""
    found = buckets.to_polars().with_columns(pl.col("series").cast(pl.String))
    expected = expected.with_columns(pl.col("series").cast(pl.String)).sort("series", "start")
    found = found.sort("series", "start")
    assert found["series"].equals(expected["series"]) and found["start"].equals(expected["start"])
    np.testing.assert_allclose(found["mean"], expected["mean"], rtol=1e-12, atol=1e-14)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=2_000_000)
    parser.add_argument("--labels", type=int, default=100)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    rng = np.random.default_rng(7)
    times = np.cumsum(rng.integers(0, 3, options.points))
    values = rng.standard_normal(options.points)
    labels = rng.integers(0, options.labels, options.points)
    names = [f"sensor-{label:05}" for label in range(options.labels)]
    for kind, (ours, theirs) in columns(labels, names).items():
        progress(kind)
        frame = pl.DataFrame({"series": theirs, "time": times, "value": values})
        start = (pl.col("time") // EVERY * EVERY).alias("start")
        mean = pl.col("value").mean().alias("mean")
        calls: dict[str, Callable[[], Any]] = {
            "gridstride": lambda: time_series.aggregate(times, values, EVERY, series=ours, device=options.device),
            "polars": lambda: frame.lazy().group_by("series", start).agg(mean).collect(),
            "polars (labels alone)": lambda: frame.lazy().group_by("series").agg(mean).collect(),
        }
        times_ms, results = measured(calls, options.runs)
        check(results["gridstride"], results["polars"])
        case = f"{options.points} points, {options.labels} labels as {kind}"
        for program, ms in times_ms.items():
            row(case, ms, program, version=pl.__version__ if program.startswith("polars") else None, clock="call")


if __name__ == "__main__":
    main()
