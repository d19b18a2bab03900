"""Compares gridstride-sql with polars on random tables.

    python3 integrations/datafusion/tests/polars_check.py target/debug/gridstride-sql [--cluster HOST:PORT] [--seeds 3]

Tables have nulls, NaN, series of very different lengths, several files, row groups and orders of rows. Needs polars.
"""

import argparse
import datetime
import pathlib
import subprocess
import sys
import tempfile

import polars as pl

parser = argparse.ArgumentParser()
parser.add_argument("program")
parser.add_argument("--cluster")
parser.add_argument("--device", default="cpu")
parser.add_argument("--seeds", type=int, default=3)
args = parser.parse_args()


def points(seed: int, rows: int, folder: pathlib.Path) -> pl.DataFrame:
    """Writes random points to some files, and returns them."""
    import random

    random.seed(seed)
    start = datetime.datetime(2026, 1, 1)
    # Half of the points are in one series, and some series have one point.
    names = [f"room {int(40 * random.random() ** 3)}" for _ in range(rows)]
    frame = pl.DataFrame(
        {
            "value": [
                None if random.random() < 0.1 else random.gauss(20, 5) for _ in range(rows)
            ],
            "series": names,
            "timestamp": [
                start + datetime.timedelta(milliseconds=random.randrange(86_400_000))
                for _ in range(rows)
            ],
        },
        schema_overrides={"timestamp": pl.Datetime("ms"), "value": pl.Float64},
    )
    # Equal timestamps of a series would leave the order of first and last open.
    frame = frame.unique(["series", "timestamp"], maintain_order=True)
    folder.mkdir(parents=True)
    files = random.randrange(1, 7)
    cuts = sorted(random.randrange(frame.height) for _ in range(files - 1))
    for number, (begin, end) in enumerate(zip([0, *cuts], [*cuts, frame.height])):
        frame[begin:end].write_parquet(
            folder / f"{number}.parquet", row_group_size=random.choice([100, 1000, 100_000])
        )
    return frame


def query(sql: str, folder: pathlib.Path) -> pl.DataFrame:
    out = folder.with_suffix(".out.parquet")
    out.unlink(missing_ok=True)
    command = [args.program, "--parquet", f"points={folder}", "--out", str(out), sql]
    if args.cluster:
        command += ["--cluster", args.cluster]
    else:
        command += ["--device", args.device]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return pl.read_parquet(out)


def check(seed: int, rows: int, every: str) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary) / "points"
        frame = points(seed, rows, folder)
        ours = query(
            "SELECT series, timestamp, count, sum, mean, min, max, first, last, std "
            f"FROM time_buckets('points', 'series', 'timestamp', 'value', '{every}', "
            "'count,sum,mean,min,max,first,last,std') ORDER BY series, timestamp",
            folder,
        )
        value = pl.col("value")
        theirs = (
            frame.drop_nulls("value")
            .sort("series", "timestamp")
            .group_by_dynamic("timestamp", every=every, group_by="series")
            .agg(
                value.count().cast(pl.Int64).alias("count"),
                value.sum().alias("sum"),
                value.mean().alias("mean"),
                value.min().alias("min"),
                value.max().alias("max"),
                value.first().alias("first"),
                value.last().alias("last"),
                # NaN, where polars has null: of one value.
                value.std().fill_null(float("nan")).alias("std"),
            )
            .sort("series", "timestamp")
        )
        assert ours.columns == theirs.columns, (ours.columns, theirs.columns)
        assert ours.height == theirs.height, (ours.height, theirs.height)
        for column in theirs.columns:
            a, b = ours[column], theirs[column].cast(ours[column].dtype)
            if column in ("sum", "mean", "std"):
                # Both sum up to some thousand numbers of about 20 in f64.
                scale = 1e-10 * (1.0 + b.abs().fill_nan(0.0))
                far = (a - b).abs().fill_nan(0.0) > scale
                assert not far.any() and (a.is_nan() == b.is_nan()).all(), (seed, column)
            else:
                assert a.equals(b), (seed, column)
    print(f"seed {seed}, {rows} rows, {every}: {ours.height} buckets agree with polars")


for seed in range(args.seeds):
    for rows, every in ((2_000, "35s"), (30_000, "10m"), (30_000, "7h")):
        check(seed, rows, every)
sys.exit(0)
