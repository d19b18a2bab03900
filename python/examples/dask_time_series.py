"""Hourly statistics of a Parquet data set, by Dask on two worker processes.

    python dask_time_series.py [FOLDER]

FOLDER has Parquet files with the columns sensor, time and value. An hour must not be divided between two files: one file
a day is a common layout. Without FOLDER, the program makes such a data set and compares its result with that of pandas.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster
from gridstride import time_series

WORKERS = 2
METHODS = ["count", "mean", "p95"]


def hourly(points: pd.DataFrame) -> pd.DataFrame:
    """The statistics of each sensor's hours: Dask calls this for every partition, in a worker."""
    # Points have to ascend within a sensor, but the points of a sensor need not be neighbours.
    buckets = time_series.aggregate(points["time"], points["value"], "1h", METHODS, series=points["sensor"])
    return buckets.to_pandas().reset_index()


def statistics(folder: Path) -> pd.DataFrame:
    """Reads the files on the workers, and returns the statistics of all of them."""
    # Whole files, so that no hour is divided.
    points = dd.read_parquet(folder, columns=["sensor", "time", "value"], split_row_groups=False)
    print(f"{points.npartitions} partitions")
    columns = {"series": "str", "start": "datetime64[us]"} | dict.fromkeys(METHODS, "float64")
    found: pd.DataFrame = points.map_partitions(hourly, meta=columns).compute()
    return found.sort_values(["series", "start"], ignore_index=True)


def generate(folder: Path, days: int = 6, sensors: int = 20) -> None:
    """Writes a file for each day, with a value for each sensor about every 30 s."""
    rng = np.random.default_rng(1)
    for day in range(days):
        start = np.datetime64("2026-01-01T00:00:00.000000") + np.timedelta64(day, "D")
        tables = []
        for sensor in range(sensors):
            seconds = np.sort(rng.choice(86_400, 2880, replace=False))
            values = 20 + 5 * np.sin(seconds * (2 * np.pi / 86_400) + sensor) + rng.standard_normal(len(seconds))
            time = start + seconds.astype("timedelta64[s]")
            tables.append(pd.DataFrame({"sensor": f"room {sensor:02}", "time": time, "value": values}))
        pd.concat(tables).to_parquet(folder / f"day_{day}.parquet", index=False)


def check(found: pd.DataFrame, folder: Path) -> None:
    """Compares the statistics with those of pandas."""
    points = pd.read_parquet(folder)
    groups = points.groupby(["sensor", points["time"].dt.floor("h").rename("start")])["value"]
    expected = pd.DataFrame({"count": groups.count().astype(float), "mean": groups.mean(), "p95": groups.quantile(0.95)})
    # Dask's workers read strings of pyarrow, and labels keep their type.
    expected = expected.reset_index().rename(columns={"sensor": "series"}).astype({"series": found["series"].dtype})
    # Both sums of about 120 values round, each by at most 120 · 2⁻⁵³ of the sum of their absolute values.
    pd.testing.assert_frame_equal(found, expected, rtol=1e-13, atol=0)
    print("pandas agrees")


def main() -> None:
    parser = argparse.ArgumentParser(description="Hourly statistics of a Parquet data set, by Dask on two workers.")
    parser.add_argument("folder", nargs="?", type=Path, help="Parquet files with the columns sensor, time and value")
    given: Path | None = parser.parse_args().folder

    # On the CPU, a call uses all cores by default. Here each worker has its share.
    threads = max(1, (os.cpu_count() or 1) // WORKERS)
    cluster = LocalCluster(
        n_workers=WORKERS, threads_per_worker=1, dashboard_address=None, env={"RAYON_NUM_THREADS": str(threads)}
    )
    with cluster, Client(cluster), tempfile.TemporaryDirectory() as temporary:
        folder = given or Path(temporary)
        if given is None:
            generate(folder)
        found = statistics(folder)
        print(found)
        if given is None:
            check(found, folder)


# Dask spawns its workers, and each of them imports this file.
if __name__ == "__main__":
    main()
