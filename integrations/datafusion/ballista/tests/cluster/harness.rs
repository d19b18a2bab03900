//! Clusters of processes, their data, and the comparison of results.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use datafusion::arrow::array::{
    ArrayRef, Float64Array, RecordBatch, StringArray, TimestampMillisecondArray,
};
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::common::Result;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::prelude::{ParquetReadOptions, SessionContext};
use gridstride_ballista::{Cluster, cluster_session, config};
use tempfile::TempDir;

pub const SCHEDULER: &str = env!("CARGO_BIN_EXE_gridstride-scheduler");
pub const EXECUTOR: &str = env!("CARGO_BIN_EXE_gridstride-executor");
pub const SQL: &str = env!("CARGO_BIN_EXE_gridstride-sql");

/// Two scans, a join of them and an aggregation: four stages.
pub const FOUR_STAGES: &str = "SELECT a.series, date_bin(INTERVAL '1 minute', a.timestamp) AS minute, \
     count(b.value) AS values, sum(a.value - b.value) AS difference \
     FROM points a JOIN points b ON a.series = b.series AND a.timestamp = b.timestamp \
     GROUP BY 1, 2";

/// Two stages, the second of which is gridstride's.
pub const TIME_BUCKETS: &str = "SELECT * FROM time_buckets('points', 'series', 'timestamp', 'value', \
     '35s', 'count,mean,max')";

/// Writes six files of points in disorder, with nulls and one series that has half of the points.
pub fn write_points(folder: &Path, rows: i64) {
    fs::create_dir_all(folder).unwrap();
    for file in 0..6 {
        let numbers = || (0..rows).map(move |row| (row * 6 + file) * 7919 % (rows * 6));
        let series = numbers().map(|n| format!("s{}", if n % 2 == 0 { 0 } else { n % 40 }));
        let value = numbers().map(|n| (n % 7 != 0).then_some((n % 1000) as f64));
        let columns: [(&str, ArrayRef); 3] = [
            ("value", Arc::new(Float64Array::from_iter(value))),
            ("series", Arc::new(StringArray::from_iter_values(series))),
            (
                "timestamp",
                Arc::new(TimestampMillisecondArray::from_iter_values(
                    numbers().map(|n| n * 250),
                )),
            ),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let file = File::create(folder.join(format!("{file}.parquet"))).unwrap();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    }
}

/// Returns `count` free ports in a row, below those of outgoing connections.
pub fn free_ports(count: u16) -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let start = (std::process::id() % 200) as u16 * 20;
    loop {
        let port = 20_000 + (start + NEXT.fetch_add(count, Ordering::Relaxed)) % 5_000;
        if (port..port + count).all(|port| TcpListener::bind(("127.0.0.1", port)).is_ok()) {
            return port;
        }
    }
}

/// A process that is killed when it is dropped.
pub struct Process {
    pub child: Child,
    log: PathBuf,
}

impl Process {
    pub fn start(command: &mut Command, log: PathBuf) -> Self {
        let output = File::create(&log).unwrap();
        let child = command
            .stdout(Stdio::null())
            .stderr(output)
            .spawn()
            .unwrap();
        Self { child, log }
    }

    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    pub fn log_file(&self) -> File {
        File::open(&self.log).unwrap()
    }

    /// Kills the process at once.
    pub fn kill(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        self.child.wait().unwrap();
    }

    pub fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let status = Command::new("kill").args([name, &id]).status().unwrap();
        assert!(status.success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A scheduler and its executors, with a folder for everything.
pub struct Processes {
    pub executors: Vec<Process>,
    pub scheduler: Process,
    pub port: u16,
    pub folder: TempDir,
    started: usize,
    arguments: Vec<String>,
}

impl Processes {
    /// Starts a scheduler and `executors` executors, and waits until they have registered.
    pub fn start(executors: usize) -> Self {
        Self::start_with(executors, &[], &["--device", "cpu"])
    }

    /// As [`start`](Self::start), with more arguments for the scheduler, and others for the executors
    /// than the CPU as their device.
    pub fn start_with(executors: usize, scheduler: &[&str], arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = free_ports(1);
        let mut command = Command::new(SCHEDULER);
        command.args(["--executor-timeout", "3", "--wait-for-executors", "2"]);
        command.args(["--port", &port.to_string()]).args(scheduler);
        let scheduler = Process::start(&mut command, folder.path().join("scheduler.log"));
        let mut cluster = Self {
            executors: Vec::new(),
            scheduler,
            port,
            folder,
            started: 0,
            arguments: arguments.iter().map(|&text| text.to_owned()).collect(),
        };
        for _ in 0..executors {
            let executor = cluster.executor();
            cluster.executors.push(executor);
        }
        cluster.wait_for_joins(executors);
        cluster
    }

    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Starts another executor with the arguments of the first ones.
    pub fn executor(&mut self) -> Process {
        self.started += 1;
        let log = format!("executor-{}.log", self.started);
        Process::start(&mut self.executor_command(), self.folder.path().join(log))
    }

    pub fn executor_command(&self) -> Command {
        let mut command = Command::new(EXECUTOR);
        command.args(["--scheduler", &self.address(), "--heartbeat", "1"]);
        command
            .args(&self.arguments)
            .arg("--work-dir")
            .arg(self.folder.path().join("work"));
        command
    }

    /// Waits until executors have registered `count` times altogether.
    pub fn wait_for_joins(&self, count: usize) {
        eventually(&format!("{count} executors join"), || {
            self.scheduler.log().matches(" joined from ").count() >= count
        });
    }

    pub fn joins(&self) -> usize {
        self.scheduler.log().matches(" joined from ").count()
    }

    /// Returns how often executors have left or were lost.
    pub fn losses(&self) -> usize {
        self.scheduler.log().matches(" left or was lost").count()
    }

    /// Returns a session with the table `points` of a folder, in four partitions.
    pub async fn session(&self, points: &Path, retries: usize) -> SessionContext {
        self.session_with(points, retries, 4).await
    }

    pub async fn session_with(
        &self,
        points: &Path,
        retries: usize,
        partitions: usize,
    ) -> SessionContext {
        let cluster = Cluster::new(self.address()).with_retries(retries);
        let config = config().with_target_partitions(partitions);
        let ctx = cluster_session(config, cluster).unwrap();
        register(&ctx, points).await;
        ctx
    }
}

pub async fn register(ctx: &SessionContext, points: &Path) {
    let path = points.to_str().unwrap();
    ctx.register_parquet("points", path, ParquetReadOptions::default())
        .await
        .unwrap();
}

/// Returns a session without a cluster.
pub async fn embedded(points: &Path) -> SessionContext {
    let ctx = SessionContext::new();
    gridstride_datafusion::register(&ctx).unwrap();
    register(&ctx, points).await;
    ctx
}

/// Returns the rows of a result as texts, in their order.
pub fn lines(batches: &[RecordBatch]) -> Vec<String> {
    let table = pretty_format_batches(batches).unwrap().to_string();
    let rows = table.lines().skip(3).filter(|line| line.starts_with("| "));
    rows.map(str::to_owned).collect()
}

/// Runs a query and returns its rows as texts, sorted.
pub async fn run(ctx: &SessionContext, query: &str) -> Result<Vec<String>> {
    let mut rows = run_in_order(ctx, query).await?;
    rows.sort();
    Ok(rows)
}

/// Runs a query and returns its rows as texts, in their order.
pub async fn run_in_order(ctx: &SessionContext, query: &str) -> Result<Vec<String>> {
    Ok(lines(&ctx.sql(query).await?.collect().await?))
}

/// Runs a query that must end within `patience`.
pub async fn run_within(
    patience: Duration,
    ctx: &SessionContext,
    query: &str,
) -> Result<Vec<String>> {
    tokio::time::timeout(patience, run(ctx, query))
        .await
        .unwrap_or_else(|_| panic!("the query hangs: nothing after {patience:?}"))
}

/// Waits for something that happens within 20 seconds.
pub fn eventually(what: &str, happened: impl Fn() -> bool) {
    let start = Instant::now();
    while !happened() {
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "waited for: {what}"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}
