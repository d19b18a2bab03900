//! Random points and boxes in Parquet files, and times of queries.

use std::fs::{self, File};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use datafusion::arrow::array::RecordBatch;
use datafusion::common::{DataFusionError, Result, exec_datafusion_err};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::file::properties::WriterProperties;
use datafusion::physical_plan::{ExecutionPlan, execute_stream_partitioned};
use datafusion::prelude::SessionContext;
use futures::TryStreamExt;

pub const FILES: usize = 16;
/// Rows of a row group.
const GROUP: usize = 1 << 20;

/// Returns the bits of a random number, by a step of SplitMix64.
pub fn bits(number: u64) -> u64 {
    let mut z = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Returns a random number from 0 to below 1.
pub fn uniform(number: u64) -> f64 {
    (bits(number) >> 11) as f64 / (1u64 << 53) as f64
}

type Batch<'a> = dyn Fn(Range<usize>) -> Result<RecordBatch> + Sync + 'a;

fn write_file(path: &Path, rows: Range<usize>, batch: &Batch<'_>) -> Result<()> {
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

/// Writes the files that are not there, `share` rows each, and prints their size.
pub fn write_files(folder: &Path, rows: usize, share: usize, batch: &Batch<'_>) -> Result<()> {
    let start = Instant::now();
    fs::create_dir_all(folder)?;
    let results: Vec<Result<()>> = std::thread::scope(|scope| {
        let write = |file: usize| {
            let path = folder.join(format!("{file:02}.parquet"));
            let rows = (file * share).min(rows)..((file + 1) * share).min(rows);
            scope.spawn(move || match path.exists() || rows.is_empty() {
                true => Ok(()),
                false => write_file(&path, rows, batch),
            })
        };
        let threads: Vec<_> = (0..FILES).map(write).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.map(|result| result.expect("no panic")).collect()
    });
    results.into_iter().collect::<Result<()>>()?;
    let bytes: u64 = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.metadata()?.len()))
        .sum::<std::io::Result<u64>>()?;
    println!(
        "{}: {rows} rows in {FILES} files of {:.2} GB, written in {:.0} s",
        folder.display(),
        bytes as f64 / 1e9,
        start.elapsed().as_secs_f64()
    );
    Ok(())
}

/// Runs a statement without a result.
pub async fn run(ctx: &SessionContext, sql: &str) -> Result<()> {
    ctx.sql(sql).await?.collect().await.map(drop)
}

/// A sum over all batches of a result.
pub trait Checksum: Clone + Default + Send + 'static {
    fn add_batch(&mut self, batch: &RecordBatch) -> Result<()>;
    fn add(&mut self, other: &Self);
}

/// The times of a query, and what its last run returned.
pub struct Measured<C> {
    pub seconds: Vec<f64>,
    pub checksum: C,
    pub plan: Arc<dyn ExecutionPlan>,
}

/// Runs a query, once more than `runs` times, of which the first is not timed.
pub async fn measure<C: Checksum>(
    ctx: &SessionContext,
    sql: &str,
    runs: usize,
) -> Result<Measured<C>> {
    let (_, mut checksum, mut plan) = run_once(ctx, sql).await?;
    let mut seconds = Vec::new();
    for _ in 0..runs {
        let time;
        (time, checksum, plan) = run_once(ctx, sql).await?;
        seconds.push(time);
    }
    seconds.sort_by(f64::total_cmp);
    Ok(Measured {
        seconds,
        checksum,
        plan,
    })
}

async fn run_once<C: Checksum>(
    ctx: &SessionContext,
    sql: &str,
) -> Result<(f64, C, Arc<dyn ExecutionPlan>)> {
    let start = Instant::now();
    let plan = ctx.sql(sql).await?.create_physical_plan().await?;
    let streams = execute_stream_partitioned(Arc::clone(&plan), ctx.task_ctx())?;
    let tasks = streams.into_iter().map(|mut stream| {
        tokio::spawn(async move {
            let mut checksum = C::default();
            while let Some(batch) = stream.try_next().await? {
                checksum.add_batch(&batch)?;
            }
            Ok::<_, DataFusionError>(checksum)
        })
    });
    let mut all = C::default();
    for part in futures::future::join_all(tasks).await {
        all.add(&part.map_err(|error| exec_datafusion_err!("a task failed: {error}"))??);
    }
    Ok((start.elapsed().as_secs_f64(), all, plan))
}

impl<C> Measured<C> {
    /// Prints the median, the least and the most, the rate, and the metrics of the nodes of a name.
    pub fn print(&self, name: &str, rows: usize, unit: &str, node: &str, shown: &[&str]) {
        let (seconds, runs) = (&self.seconds, self.seconds.len());
        let median = seconds[runs / 2];
        println!(
            "{name:<24} {median:>8.3} s ({:.3} to {:.3})  {:>7.1} 10⁶ {unit}/s  {}",
            seconds[0],
            seconds[runs - 1],
            rows as f64 / median / 1e6,
            metrics(&self.plan, node, shown).unwrap_or_default(),
        );
    }
}

fn metrics(plan: &Arc<dyn ExecutionPlan>, node: &str, shown: &[&str]) -> Option<String> {
    if plan.name() == node {
        let metrics = plan.metrics()?.aggregate_by_name();
        let found = metrics
            .iter()
            .filter(|metric| shown.contains(&metric.value().name()));
        let found = found.map(|metric| format!("{} {}", metric.value().name(), metric.value()));
        return Some(found.collect::<Vec<_>>().join(", "));
    }
    let mut children = plan.children().into_iter();
    children.find_map(|child| metrics(child, node, shown))
}
