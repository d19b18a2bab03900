//! Times means in buckets of points in Parquet files: gridstride's node, and the engine's `GROUP BY`.
//!
//!     cargo bench --bench time_buckets -- --device cuda --points 100000000 --folder target/points
//!
//! Writes the files to the folder unless they are there: points 5 seconds apart of some series, in 16 files, in the
//! order of series and time or, with `--order time`, in that of time alone, as they arrive. Buckets have 35
//! seconds. `read` reads and decodes the three columns and drops them. All times are medians by the clock from the
//! plan to the last row, with the least and the most; of the node's own metrics, which are sums over partitions that
//! work at the same time, the last run's are printed. Each run's number of buckets, points and sum of means is compared
//! with that of `GROUP BY`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use clap::Parser;
use datafusion::arrow::array::AsArray;
use datafusion::arrow::array::{Float64Array, RecordBatch, StringArray, TimestampMillisecondArray};
use datafusion::arrow::compute::sum;
use datafusion::arrow::datatypes::{Float64Type, Int64Type};
use datafusion::common::{Result, exec_datafusion_err, exec_err};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::file::properties::WriterProperties;
use datafusion::physical_plan::{ExecutionPlan, execute_stream_partitioned};
use datafusion::prelude::{SessionConfig, SessionContext};
use futures::TryStreamExt;

#[derive(Parser)]
struct Args {
    /// Where gridstride computes: auto, cpu, cuda, cuda:N or simulator; several with commas.
    #[arg(long, value_delimiter = ',', default_value = "cpu")]
    device: Vec<String>,
    /// Points in all files.
    #[arg(long, default_value_t = 10_000_000)]
    points: usize,
    /// Series, whose points are equally many.
    #[arg(long, default_value_t = 1000)]
    series: usize,
    /// The order of rows in the files.
    #[arg(long, value_enum, default_value = "series")]
    order: Order,
    /// Where the files are, or will be.
    #[arg(long)]
    folder: PathBuf,
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Rows of a batch of the engine.
    #[arg(long, default_value_t = 65_536)]
    batch: usize,
    /// Rows that the node gathers.
    #[arg(long, default_value_t = 1 << 22)]
    gather: usize,
    /// Partitions; by default as many as the machine has cores.
    #[arg(long)]
    partitions: Option<usize>,
    /// Passed by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum Order {
    Series,
    Time,
}

const FILES: usize = 16;
/// Rows of a row group.
const GROUP: usize = 1 << 20;
const START: i64 = 1_767_225_600_000;

/// The bits of a point's value, by a step of SplitMix64.
fn bits(point: u64) -> u64 {
    let mut z = point.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn write_file(args: &Args, path: &Path, rows: std::ops::Range<usize>) -> Result<()> {
    let of_series = args.points / args.series;
    let place = |row: usize| match args.order {
        Order::Series => (row / of_series, row % of_series),
        Order::Time => (row % args.series, row / args.series),
    };
    let batch = |rows: std::ops::Range<usize>| {
        let names = rows
            .clone()
            .map(|row| format!("sensor-{:06}", place(row).0));
        let times = rows.clone().map(|row| START + 5000 * place(row).1 as i64);
        let values = rows.map(|row| {
            let (series, point) = place(row);
            20.0 + (bits((series * of_series + point) as u64) >> 11) as f64 / (1u64 << 53) as f64
        });
        RecordBatch::try_from_iter([
            (
                "series",
                Arc::new(StringArray::from_iter_values(names)) as _,
            ),
            (
                "timestamp",
                Arc::new(TimestampMillisecondArray::from_iter_values(times)) as _,
            ),
            (
                "value",
                Arc::new(Float64Array::from_iter_values(values)) as _,
            ),
        ])
    };
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(GROUP))
        .build();
    // Under another name until it is whole.
    let unfinished = path.with_extension("unfinished");
    let file = File::create(&unfinished)?;
    let mut writer = ArrowWriter::try_new(file, batch(0..0)?.schema(), Some(properties))?;
    for first in rows.clone().step_by(GROUP) {
        writer.write(&batch(first..rows.end.min(first + GROUP))?)?;
    }
    writer.close()?;
    Ok(fs::rename(&unfinished, path)?)
}

/// Writes the files that are not there, and returns their folder.
fn write_files(args: &Args) -> Result<PathBuf> {
    let order = if args.order == Order::Series {
        "series"
    } else {
        "time"
    };
    let folder = (args.folder).join(format!("{}_{}_{order}", args.points, args.series));
    fs::create_dir_all(&folder)?;
    let share = (args.points / args.series).div_ceil(FILES) * args.series;
    // Files begin with a series, so that their orders can be joined.
    let share = match args.order {
        Order::Series => args.series.div_ceil(FILES) * (args.points / args.series),
        Order::Time => share,
    };
    let all = args.points / args.series * args.series;
    let results: Vec<Result<()>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..FILES)
            .map(|file| {
                let path = folder.join(format!("{file:02}.parquet"));
                let rows = (file * share).min(all)..((file + 1) * share).min(all);
                scope.spawn(move || match path.exists() || rows.is_empty() {
                    true => Ok(()),
                    false => write_file(args, &path, rows),
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"))
            .collect()
    });
    results.into_iter().collect::<Result<()>>()?;
    Ok(folder)
}

async fn session(args: &Args, folder: &Path) -> Result<SessionContext> {
    let mut config = SessionConfig::new().with_batch_size(args.batch);
    if let Some(partitions) = args.partitions {
        config = config.with_target_partitions(partitions);
    }
    let ctx = SessionContext::new_with_config(config);
    gridstride_datafusion::register(&ctx)?;
    let order = match args.order {
        Order::Series => "WITH ORDER (series ASC, timestamp ASC)",
        Order::Time => "",
    };
    let table = format!(
        "CREATE EXTERNAL TABLE points STORED AS PARQUET {order} LOCATION '{}/'",
        folder.display()
    );
    ctx.sql(&table).await?.collect().await?;
    let gather = format!("SET gridstride.batch_rows = {}", args.gather);
    ctx.sql(&gather).await?.collect().await?;
    Ok(ctx)
}

/// What all ways of computing agree on: buckets, points, and the sum of all means.
#[derive(Clone, Copy, Debug, Default)]
struct Checksum {
    buckets: usize,
    points: i64,
    means: f64,
}

impl Checksum {
    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        self.buckets += batch.num_rows();
        let missing = || exec_datafusion_err!("the result has no column count and mean");
        if batch.num_columns() < 4 {
            return Ok(());
        }
        let counts = batch.column_by_name("count").ok_or_else(missing)?;
        let means = batch.column_by_name("mean").ok_or_else(missing)?;
        self.points += sum(counts.as_primitive::<Int64Type>()).unwrap_or(0);
        self.means += sum(means.as_primitive::<Float64Type>()).unwrap_or(0.0);
        Ok(())
    }

    fn agrees_with(&self, other: &Checksum) -> bool {
        // The sums of up to 10⁹ means in two orders.
        let close = (self.means - other.means).abs() <= 1e-9 * other.means.abs();
        self.buckets == other.buckets && self.points == other.points && close
    }
}

async fn run_once(
    ctx: &SessionContext,
    sql: &str,
) -> Result<(f64, Checksum, Arc<dyn ExecutionPlan>)> {
    let start = Instant::now();
    let plan = ctx.sql(sql).await?.create_physical_plan().await?;
    let streams = execute_stream_partitioned(Arc::clone(&plan), ctx.task_ctx())?;
    let tasks = streams.into_iter().map(|mut stream| {
        tokio::spawn(async move {
            let mut checksum = Checksum::default();
            while let Some(batch) = stream.try_next().await? {
                checksum.add(&batch)?;
            }
            Ok::<_, datafusion::common::DataFusionError>(checksum)
        })
    });
    let mut all = Checksum::default();
    for part in futures::future::join_all(tasks).await {
        let part = part.map_err(|error| exec_datafusion_err!("a task failed: {error}"))??;
        all.buckets += part.buckets;
        all.points += part.points;
        all.means += part.means;
    }
    Ok((start.elapsed().as_secs_f64(), all, plan))
}

/// The metrics of gridstride's node, if the plan has one.
fn metrics(plan: &Arc<dyn ExecutionPlan>) -> Option<String> {
    if plan.name() == "TimeBucketExec" {
        let metrics = plan.metrics()?.aggregate_by_name();
        let named = |name: &str| {
            let value = metrics.iter().find(|metric| metric.value().name() == name);
            value.map(|metric| format!("{name} {}", metric.value()))
        };
        let names = ["calls", "gather_time", "kernel_time", "copy_time"];
        return Some(
            names
                .into_iter()
                .filter_map(named)
                .collect::<Vec<_>>()
                .join(", "),
        );
    }
    plan.children().into_iter().find_map(metrics)
}

async fn measure(
    ctx: &SessionContext,
    args: &Args,
    name: &str,
    sql: &str,
    expected: Option<Checksum>,
) -> Result<Checksum> {
    let mut seconds = Vec::new();
    let mut last = run_once(ctx, sql).await?;
    for _ in 0..args.runs {
        last = run_once(ctx, sql).await?;
        seconds.push(last.0);
    }
    seconds.sort_by(f64::total_cmp);
    let median = seconds[seconds.len() / 2];
    if let Some(expected) = expected
        && !last.1.agrees_with(&expected)
    {
        return exec_err!("{name}: {:?} instead of {expected:?}", last.1);
    }
    println!(
        "{name:<22} {median:>8.3} s ({:.3} to {:.3})  {:>7.1} 10⁶ points/s  {}",
        seconds[0],
        seconds[seconds.len() - 1],
        args.points as f64 / median / 1e6,
        metrics(&last.2).unwrap_or_default(),
    );
    Ok(last.1)
}

#[tokio::main]
async fn main() -> Result<()> {
    let args = Args::parse();
    let start = Instant::now();
    let folder = write_files(&args)?;
    let bytes: u64 = fs::read_dir(&folder)?
        .map(|entry| Ok(entry?.metadata()?.len()))
        .sum::<std::io::Result<u64>>()?;
    println!(
        "{} points of {} series in {FILES} files of {:.2} GB, written in {:.0} s",
        args.points,
        args.series,
        bytes as f64 / 1e9,
        start.elapsed().as_secs_f64()
    );
    let ctx = session(&args, &folder).await?;
    measure(
        &ctx,
        &args,
        "read",
        "SELECT series, timestamp, value FROM points",
        None,
    )
    .await?;
    let group = "SELECT series, date_bin(INTERVAL '35 seconds', timestamp) AS timestamp, \
        count(value) AS count, avg(value) AS mean FROM points GROUP BY 1, 2";
    let expected = measure(&ctx, &args, "GROUP BY", group, None).await?;
    for device in &args.device {
        let set = format!("SET gridstride.device = '{device}'");
        ctx.sql(&set).await?.collect().await?;
        let sql = "SELECT * FROM time_buckets('points', 'series', 'timestamp', 'value', '35s', 'count,mean')";
        let name = format!("time_buckets, {device}");
        measure(&ctx, &args, &name, sql, Some(expected)).await?;
    }
    Ok(())
}
