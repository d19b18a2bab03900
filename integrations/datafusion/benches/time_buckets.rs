//! Times means in buckets of points in Parquet files: gridstride's node, and the engine's `GROUP BY`.
//!
//!     cargo bench --bench time_buckets -- --device cuda --points 100000000 --folder target/points
//!
//! Writes the files to the folder unless they are there: points 5 seconds apart of some series, in 16 files, in the
//! order of series and time or, with `--order time`, in that of time alone, as they arrive. Buckets have 35
//! seconds. `read` reads and decodes the three columns and drops them. All times are medians by the clock from the
//! plan to the last row, with the least and the most; of the node's own metrics, which are sums over partitions that
//! work at the same time, the last run's are printed. Each run's number of buckets, points and sum of means is compared
//! with that of `GROUP BY`. `--merge` and `--methods` show other plans and statistics; methods without an equal in SQL
//! are not compared.

mod common;

use std::path::PathBuf;
use std::sync::Arc;

use clap::Parser;
use common::{Checksum, FILES, Measured, measure, run, uniform};
use datafusion::arrow::array::{
    AsArray, Float64Array, RecordBatch, StringArray, TimestampMillisecondArray,
};
use datafusion::arrow::compute::sum;
use datafusion::arrow::datatypes::{Float64Type, Int64Type};
use datafusion::common::{Result, exec_err};
use datafusion::prelude::{SessionConfig, SessionContext};

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
    /// What is computed: `count,mean` beside the engine's, or others by themselves.
    #[arg(long, default_value = "count,mean")]
    methods: String,
    /// Merges sorted partitions (gridstride.merge_sorted).
    #[arg(long)]
    merge: bool,
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

const START: i64 = 1_767_225_600_000;

impl Args {
    /// Returns the series and the number of the point in it that a row has.
    fn place(&self, row: usize) -> (usize, usize) {
        match self.order {
            Order::Series => (row / self.of_series(), row % self.of_series()),
            Order::Time => (row % self.series, row / self.series),
        }
    }

    fn of_series(&self) -> usize {
        self.points / self.series
    }

    fn batch(&self, rows: std::ops::Range<usize>) -> Result<RecordBatch> {
        let names = rows
            .clone()
            .map(|row| format!("sensor-{:06}", self.place(row).0));
        let times = (rows.clone()).map(|row| START + 5000 * self.place(row).1 as i64);
        let values = rows.map(|row| {
            let (series, point) = self.place(row);
            20.0 + uniform((series * self.of_series() + point) as u64)
        });
        Ok(RecordBatch::try_from_iter([
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
        ])?)
    }
}

/// Writes the files that are not there, and returns a session with a table of them.
async fn session(args: &Args) -> Result<SessionContext> {
    let (order, declared) = match args.order {
        Order::Series => ("series", "WITH ORDER (series ASC, timestamp ASC)"),
        Order::Time => ("time", ""),
    };
    let folder = (args.folder).join(format!("{}_{}_{order}", args.points, args.series));
    // Files begin with a series, so that their orders can be joined.
    let share = match args.order {
        Order::Series => args.series.div_ceil(FILES) * args.of_series(),
        Order::Time => args.of_series().div_ceil(FILES) * args.series,
    };
    let rows = args.of_series() * args.series;
    common::write_files(&folder, rows, share, &|rows| args.batch(rows))?;
    let mut config = SessionConfig::new().with_batch_size(args.batch);
    if let Some(partitions) = args.partitions {
        config = config.with_target_partitions(partitions);
    }
    let ctx = SessionContext::new_with_config(config);
    gridstride_datafusion::register(&ctx)?;
    let folder = folder.display();
    let table =
        format!("CREATE EXTERNAL TABLE points STORED AS PARQUET {declared} LOCATION '{folder}/'");
    run(&ctx, &table).await?;
    run(
        &ctx,
        &format!("SET gridstride.batch_rows = {}", args.gather),
    )
    .await?;
    run(
        &ctx,
        &format!("SET gridstride.merge_sorted = {}", args.merge),
    )
    .await?;
    Ok(ctx)
}

/// The figures in which all ways of computing agree: buckets, points, and the sum of all means.
#[derive(Clone, Copy, Debug, Default)]
struct Buckets {
    buckets: usize,
    points: i64,
    means: f64,
}

impl Checksum for Buckets {
    fn add_batch(&mut self, batch: &RecordBatch) -> Result<()> {
        self.buckets += batch.num_rows();
        if let Some(counts) = batch.column_by_name("count") {
            self.points += sum(counts.as_primitive::<Int64Type>()).unwrap_or(0);
        }
        if let Some(means) = batch.column_by_name("mean") {
            self.means += sum(means.as_primitive::<Float64Type>()).unwrap_or(0.0);
        }
        Ok(())
    }

    fn add(&mut self, other: &Buckets) {
        self.buckets += other.buckets;
        self.points += other.points;
        self.means += other.means;
    }
}

impl Buckets {
    fn agrees_with(&self, other: &Buckets) -> bool {
        // The sums of up to 10⁹ means in two orders.
        let close = (self.means - other.means).abs() <= 1e-9 * other.means.abs();
        self.buckets == other.buckets && self.points == other.points && close
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let args = Args::parse();
    let ctx = session(&args).await?;
    let shown = ["calls", "gather_time", "kernel_time", "copy_time"];
    let timed = async |name: &str, sql: &str| -> Result<Measured<Buckets>> {
        let measured = measure(&ctx, sql, args.runs).await?;
        measured.print(name, args.points, "points", "TimeBucketExec", &shown);
        Ok(measured)
    };
    timed("read", "SELECT series, timestamp, value FROM points").await?;
    let group = "SELECT series, date_bin(INTERVAL '35 seconds', timestamp) AS timestamp, \
        count(value) AS count, avg(value) AS mean FROM points GROUP BY 1, 2";
    let expected = match &args.methods[..] {
        "count,mean" => Some(timed("GROUP BY", group).await?.checksum),
        _ => None,
    };
    for device in &args.device {
        run(&ctx, &format!("SET gridstride.device = '{device}'")).await?;
        let sql = format!(
            "SELECT * FROM time_buckets('points', 'series', 'timestamp', 'value', '35s', '{}')",
            args.methods
        );
        let found = timed(&format!("time_buckets, {device}"), &sql)
            .await?
            .checksum;
        if let Some(expected) = expected
            && !found.agrees_with(&expected)
        {
            return exec_err!("{device}: {found:?} instead of {expected:?}");
        }
    }
    Ok(())
}
