//! Executors that die in the middle of a task of each stage of a query.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::time::{Duration, Instant};

use datafusion::common::Result;
use datafusion::prelude::SessionContext;

use crate::harness::{
    FOUR_STAGES, Process, Processes, embedded, eventually, run, run_within, write_points,
};

const SOON: Duration = Duration::from_secs(25);

/// Three stages: the scan, the buckets, and the merge of sorted partitions, which many buckets make
/// long enough to die in.
const SORTED_BUCKETS: &str = "SELECT * FROM time_buckets('points', 'series', 'timestamp', 'value', \
     '1s', 'count,mean,max') ORDER BY series, timestamp";

/// For how many milliseconds a task has been running when its executor is killed. If the tasks of a
/// stage are shorter, the next one is tried.
const DELAYS: [u64; 6] = [200, 60, 20, 6, 2, 0];

/// The tasks of one stage that an executor runs, by its log, which has lines such as
/// "INFO: Execute task  : [TID job/2.0/1.0]".
struct Tasks {
    log: BufReader<File>,
    line: String,
    stage: String,
    running: BTreeSet<String>,
}

impl Tasks {
    /// Looks at tasks that begin from now on.
    fn of(executor: &Process, stage: usize) -> Self {
        let mut log = executor.log_file();
        log.seek(SeekFrom::End(0)).unwrap();
        Self {
            log: BufReader::new(log),
            line: String::new(),
            stage: format!("/{stage}.0/"),
            running: BTreeSet::new(),
        }
    }

    fn any(&mut self) -> bool {
        while self.log.read_line(&mut self.line).unwrap() > 0 && self.line.ends_with('\n') {
            let name = self
                .line
                .split_once("[TID ")
                .and_then(|(_, rest)| rest.split_once(']'));
            if let Some((name, _)) = name.filter(|(name, _)| name.contains(&self.stage)) {
                if self.line.contains(": Execute task ") {
                    self.running.insert(name.to_owned());
                } else if self.line.contains(": Finished task ") {
                    self.running.remove(name);
                }
            }
            self.line.clear();
        }
        !self.running.is_empty()
    }
}

/// Kills the first executor that has had a task for `delay`, and returns its number.
async fn kill_one(executors: &mut [Process], tasks: &mut [Tasks], delay: Duration) -> usize {
    let mut since = [None; 2];
    loop {
        for (number, executor) in executors.iter_mut().enumerate() {
            if !tasks[number].any() {
                since[number] = None;
            } else if since[number].get_or_insert_with(Instant::now).elapsed() >= delay {
                executor.kill();
                return number;
            }
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Runs a query during which an executor is killed in a stage. Returns the executor, if one was
/// killed, whether it died in the middle of a task, and what became of the query.
async fn kill_in(
    cluster: &mut Processes,
    ctx: &SessionContext,
    query: &str,
    stage: usize,
    delay: Duration,
) -> (Option<usize>, bool, Result<Vec<String>>) {
    let watch = |executor| Tasks::of(executor, stage);
    let mut tasks: Vec<_> = cluster.executors.iter().map(watch).collect();
    let mut query = std::pin::pin!(run_within(SOON, ctx, query));
    let killed = tokio::select! {
        result = &mut query => return (None, false, result),
        killed = kill_one(&mut cluster.executors, &mut tasks, delay) => killed,
    };
    let result = query.await;
    (Some(killed), tasks[killed].any(), result)
}

/// Returns the plan of a stage that has run, by the logs of executors.
fn plan(executors: &[Process], stage: usize) -> String {
    let plan_of = |log: String| {
        log.split("=== [").find_map(|text| {
            let (task, plan) = text.split_once("] Physical plan with metrics ===")?;
            let ran: usize = task.split('/').nth(1)?.parse().ok()?;
            (ran == stage).then(|| plan.split("Finished task").next().unwrap().to_owned())
        })
    };
    let plan = executors
        .iter()
        .find_map(|executor| plan_of(executor.log()));
    plan.unwrap_or_else(|| panic!("stage {stage} did not run"))
}

/// Kills an executor in each stage of a query, whose plan has the node that is named. The query ends
/// with an error within seconds, and the restarted executor takes part in the next one, which is
/// right.
async fn kill_in_each_stage(query: &str, stages: &[&str]) {
    let mut cluster = Processes::start_with(2, &[], &["--device", "cpu", "--log", "debug"]);
    let points = cluster.folder.path().join("points");
    write_points(&points, 8_000);
    let expected = run(&embedded(&points).await, query).await.unwrap();
    let ctx = cluster.session(&points, 0).await;
    assert!(run_within(SOON, &ctx, query).await.unwrap() == expected);
    for (stage, node) in (1..).zip(stages) {
        let plan = plan(&cluster.executors, stage);
        assert!(plan.contains(node), "stage {stage} has no {node}: {plan}");
        let mut died_in_a_task = false;
        for delay in DELAYS {
            let (joins, losses) = (cluster.joins(), cluster.losses());
            let delay = Duration::from_millis(delay);
            let start = Instant::now();
            let (killed, in_a_task, result) =
                kill_in(&mut cluster, &ctx, query, stage, delay).await;
            eprintln!(
                "stage {stage}, {delay:?}: killed {killed:?}, in a task: {in_a_task}, {:?} after {:?}",
                result.as_ref().map(Vec::len),
                start.elapsed()
            );
            match result {
                Ok(rows) => assert!(rows == expected && !in_a_task, "stage {stage}: wrong rows"),
                Err(error) => assert!(
                    error
                        .to_string()
                        .contains("the cluster changed while the query ran"),
                    "{error}"
                ),
            }
            if let Some(killed) = killed {
                cluster.executors[killed] = cluster.executor();
                cluster.wait_for_joins(joins + 1);
                eventually("the executor is lost", || cluster.losses() > losses);
                let rows = run_within(SOON, &ctx, query).await.unwrap();
                assert!(rows == expected, "after stage {stage}: wrong rows");
                let log = cluster.executors[killed].log();
                assert!(log.contains("Finished task"), "the restarted one is idle");
            }
            died_in_a_task = in_a_task;
            if died_in_a_task {
                break;
            }
        }
        assert!(died_in_a_task, "no kill hit a task of stage {stage}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_while_scanning_joining_and_aggregating() {
    let stages = ["DataSourceExec", "DataSourceExec", "JoinExec", "mode=Final"];
    kill_in_each_stage(FOUR_STAGES, &stages).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_while_scanning_making_buckets_and_merging() {
    let stages = ["DataSourceExec", "TimeBucketExec", "SortPreservingMerge"];
    kill_in_each_stage(SORTED_BUCKETS, &stages).await;
}
