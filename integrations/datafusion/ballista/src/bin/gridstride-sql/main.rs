//! `gridstride-sql`: runs a query, in this process or on a cluster.

mod demo;
mod output;

use std::error::Error;
use std::io::{IsTerminal, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use datafusion::common::DataFusionError;
use datafusion::prelude::{CsvReadOptions, ParquetReadOptions, SessionConfig, SessionContext};
use gridstride_ballista::{Cluster, LEVELS, cluster_session, config, log_to_stderr};
use gridstride_datafusion::config::{DeviceName, GridstrideConfig};
use gridstride_datafusion::fasta::register_fasta;
use tokio::runtime::Runtime;

use crate::output::Output;

/// Runs a SQL query with gridstride's functions, in this process or on a cluster.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// The query; "-" reads it from standard input
    #[arg(required_unless_present_any = ["file", "demo_data"], value_name = "SQL")]
    query: Option<String>,
    /// A file with the query
    #[arg(long, conflicts_with = "query", value_name = "FILE")]
    file: Option<PathBuf>,
    /// A table of one Parquet file or a folder of them. Executors of a cluster open the same path:
    /// it has to lead to the same files on every machine
    #[arg(long, value_name = "NAME=PATH")]
    parquet: Vec<String>,
    /// A table of one CSV file with a header, or a folder of them
    #[arg(long, value_name = "NAME=PATH")]
    csv: Vec<String>,
    /// A table of one FASTA file or a folder of them
    #[arg(long, value_name = "NAME=PATH")]
    fasta: Vec<String>,
    /// The scheduler of a cluster; without it the query runs in this process
    #[arg(long, value_name = "HOST:PORT")]
    cluster: Option<String>,
    /// Where kernels run: auto, cpu, cuda:N or simulator. On a cluster, auto is each executor's own
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    device: DeviceName,
    /// Partitions to divide the data into [default: 16 on a cluster, else the number of CPU cores]
    #[arg(long, value_name = "N")]
    partitions: Option<usize>,
    /// Times that a query is submitted again if an executor is lost
    #[arg(long, default_value_t = 2, value_name = "N")]
    retries: usize,
    /// Seconds after which the query is given up
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    /// Writes the result to a file, .csv or .parquet, instead of showing it
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Shows the plan instead of running it
    #[arg(long)]
    explain: bool,
    /// Writes a small data set of four Parquet files into a folder, to try things out
    #[arg(long, value_name = "DIR")]
    demo_data: Option<PathBuf>,
    /// Which messages to write to standard error
    #[arg(long, default_value = "warn", value_name = "LEVEL", value_parser = LEVELS)]
    log: String,
}

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> ExitCode {
    let args = Args::parse();
    log_to_stderr(&args.log);
    let runtime = match Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("gridstride-sql: cannot start threads: {error}");
            return ExitCode::FAILURE;
        }
    };
    let code = runtime.block_on(answer(args));
    // Does not wait for calls that still compute for a query that was given up.
    runtime.shutdown_background();
    code
}

async fn answer(args: Args) -> ExitCode {
    let patience = args.timeout.map(Duration::from_secs);
    let work = async {
        tokio::select! {
            result = run(args) => result,
            _ = tokio::signal::ctrl_c() => Err("interrupted".into()),
            () = after(patience) => Err("the query took longer than --timeout allows".into()),
        }
    };
    let result = work.await;
    // A query that was dropped is still telling the scheduler so.
    if result.is_err() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("gridstride-sql: {}", sentence(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}

async fn after(patience: Option<Duration>) {
    match patience {
        Some(patience) => tokio::time::sleep(patience).await,
        None => std::future::pending().await,
    }
}

/// Returns an error's text in one line.
fn sentence(error: &(dyn Error + 'static)) -> String {
    let text = match error.downcast_ref::<DataFusionError>() {
        Some(error) => error.strip_backtrace(),
        None => error.to_string(),
    };
    let text = text.replace("\ncaused by\n", ": ");
    let text = text.strip_prefix("Execution error: ").unwrap_or(&text);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

async fn run(args: Args) -> Result<()> {
    if let Some(folder) = &args.demo_data {
        demo::write(folder)?;
    }
    let query = match (&args.query, &args.file) {
        (Some(query), _) if query == "-" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text)?;
            text
        }
        (Some(query), _) => query.clone(),
        (None, Some(file)) => {
            std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?
        }
        (None, None) => return Ok(()),
    };
    let ctx = session(&args)?;
    for table in &args.parquet {
        let (name, path) = name_and_path(table)?;
        ctx.register_parquet(name, path, ParquetReadOptions::default())
            .await?;
    }
    for table in &args.csv {
        let (name, path) = name_and_path(table)?;
        ctx.register_csv(name, path, CsvReadOptions::default())
            .await?;
    }
    for table in &args.fasta {
        let (name, path) = name_and_path(table)?;
        register_fasta(&ctx, name, path).await?;
    }
    let start = Instant::now();
    let query = if args.explain {
        format!("EXPLAIN {query}")
    } else {
        query
    };
    let frame = ctx.sql(&query).await?;
    let mut output = Output::create(args.out.as_deref(), frame.schema().as_arrow())?;
    let progress = Progress::start(start);
    let mut batches = frame.execute_stream().await?;
    while let Some(batch) = futures::StreamExt::next(&mut batches).await {
        output.write(&batch?)?;
    }
    drop(progress);
    let rows = output.finish()?;
    eprintln!("{rows} rows in {:.2} s", start.elapsed().as_secs_f64());
    Ok(())
}

fn session(args: &Args) -> Result<SessionContext> {
    let settings = |mut config: SessionConfig| {
        let mut options = GridstrideConfig::of(config.options());
        options.device = args.device;
        config = config.with_option_extension(options);
        if let Some(partitions) = args.partitions {
            config = config.with_target_partitions(partitions);
        }
        config
    };
    Ok(match &args.cluster {
        Some(address) => {
            let cluster = Cluster::new(address).with_retries(args.retries);
            cluster_session(settings(config()), cluster)?
        }
        None => {
            let ctx = SessionContext::new_with_config(settings(SessionConfig::new()));
            gridstride_datafusion::register(&ctx)?;
            ctx
        }
    })
}

fn name_and_path(table: &str) -> Result<(&str, &str)> {
    let (name, path) = table
        .split_once('=')
        .ok_or_else(|| format!("{table:?} is not NAME=PATH"))?;
    // The engine would take a path that does not exist for an empty folder.
    if !path.contains("://") && !std::path::Path::new(path).exists() {
        return Err(format!("table {name}: there is no file or folder {path}").into());
    }
    Ok((name, path))
}

/// Shows the time of a long query, if standard error is a terminal, until it is dropped.
struct Progress(Option<tokio::task::JoinHandle<()>>);

impl Progress {
    fn start(start: Instant) -> Self {
        Self(std::io::stderr().is_terminal().then(|| {
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_secs(2)).await;
                loop {
                    eprint!("\rrunning for {} s", start.elapsed().as_secs());
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            })
        }))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(task) = self.0.take() {
            task.abort();
            eprint!("\r{:30}\r", "");
            // Standard error is only for messages.
            let _ = std::io::stderr().flush();
        }
    }
}
