"""Times polars on the files that `cargo bench --bench time_buckets` writes.

    python3 benches/peers/polars_points.py target/points/100000000_1000_series [--runs 5]

Means in buckets of 35 seconds by `group_by` of truncated timestamps, with polars' streaming engine and in memory. All
cores. Prints medians by the clock, the least and the most, and what they found, for comparison with the other programs.
"""

import argparse
import statistics
import time

import polars as pl

parser = argparse.ArgumentParser()
parser.add_argument("folder")
parser.add_argument("--runs", type=int, default=5)
parser.add_argument("--engines", default="streaming,in-memory")
args = parser.parse_args()

points = pl.scan_parquet(f"{args.folder}/*.parquet")
buckets = points.group_by("series", pl.col("timestamp").dt.truncate("35s")).agg(
    count=pl.col("value").count(), mean=pl.col("value").mean()
)
print("polars", pl.__version__, "threads", pl.thread_pool_size())
for engine in args.engines.split(","):
    seconds = []
    for run in range(args.runs + 1):
        start = time.perf_counter()
        found = buckets.collect(engine=engine)
        if run > 0:
            seconds.append(time.perf_counter() - start)
    total = found.select(pl.len(), pl.col("count").sum(), pl.col("mean").sum()).row(0)
    print(
        f"polars, {engine:<16} {statistics.median(seconds):8.3f} s "
        f"({min(seconds):.3f} to {max(seconds):.3f})  {total}",
        flush=True,
    )
