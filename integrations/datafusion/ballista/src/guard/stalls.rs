//! Queries that stand still.
//!
//! Ballista hears of the end of a task once. If it fails to book the report, after telling the
//! executor that it has arrived, the task counts as running for ever and so does its query. A query
//! that works for hours looks the same in Ballista's records. Executors therefore list the tasks that
//! they have in their heartbeats ([`crate::running`]), and a query stands still if, for the time of
//! `--stall-timeout`,
//! - nothing has changed in its records, and
//! - one of the tasks that count as running was in no list; or no task counts as running, and the
//!   query does not wait for executors that have tasks of others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ballista_core::JobId;
use ballista_core::serde::scheduler::TaskKey;
use ballista_scheduler::scheduler_server::SchedulerServer;
use ballista_scheduler::state::execution_graph::ExecutionGraphBox;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};

use super::{GuardedJobs, RETRY};

/// When each task was last listed by its executor.
#[derive(Debug, Default)]
pub(crate) struct Sightings(Mutex<HashMap<TaskKey, Instant>>);

impl Sightings {
    fn lock(&self) -> MutexGuard<'_, HashMap<TaskKey, Instant>> {
        // The map is valid between statements, also after a panic elsewhere.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, tasks: Vec<TaskKey>) {
        let now = Instant::now();
        self.lock()
            .extend(tasks.into_iter().map(|task| (task, now)));
    }
}

/// The progress of a query by Ballista's records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Progress {
    completed_stages: usize,
    /// Input partitions that no task has been given.
    waiting: usize,
    /// The tasks that count as running, with their executors.
    running: Vec<(TaskKey, String)>,
}

impl Progress {
    fn of(graph: &ExecutionGraphBox) -> Self {
        let tasks = graph.running_tasks().into_iter().map(|task| {
            let key = TaskKey {
                job_id: task.job_id,
                stage_id: task.stage_id,
                task_id: task.task_id,
            };
            (key, task.executor_id)
        });
        let mut running: Vec<_> = tasks.collect();
        running.sort_unstable();
        Self {
            completed_stages: graph.completed_stages(),
            waiting: graph.available_tasks(),
            running,
        }
    }
}

/// Finds the queries that stand still.
struct Stalls {
    timeout: Duration,
    /// The last progress of each query, and when it was first seen.
    seen: HashMap<JobId, (Progress, Instant)>,
}

impl Stalls {
    fn new(timeout: Duration) -> Self {
        Self {
            timeout,
            seen: HashMap::new(),
        }
    }

    /// Returns the queries that stand still, each with a sentence, when `jobs` are those that run.
    fn find(
        &mut self,
        jobs: Vec<(JobId, Progress)>,
        sightings: &Sightings,
        now: Instant,
    ) -> Vec<(JobId, String)> {
        let recent = |time: Instant| now.duration_since(time) < self.timeout;
        let mut sightings = sightings.lock();
        sightings.retain(|_, time| recent(*time));
        let mut before = std::mem::take(&mut self.seen);
        let mut stalled = Vec::new();
        for (id, progress) in jobs {
            let since = match before.remove(&id) {
                Some((same, since)) if same == progress => since,
                _ => now,
            };
            if !recent(since)
                && let Some(what) = self.standing(&progress, &sightings)
            {
                stalled.push((id.clone(), format!("{RETRY}: {what}")));
            }
            self.seen.insert(id, (progress, since));
        }
        stalled
    }

    /// Says what stands still in a query whose records have not changed.
    fn standing(
        &self,
        progress: &Progress,
        sightings: &HashMap<TaskKey, Instant>,
    ) -> Option<String> {
        let seconds = self.timeout.as_secs();
        let unseen = |(task, _): &&(TaskKey, String)| !sightings.contains_key(task);
        if let Some((task, executor)) = progress.running.iter().find(unseen) {
            return Some(format!(
                "task {} of stage {} neither ran nor ended for {seconds} s on executor {executor}",
                task.task_id, task.stage_id
            ));
        }
        let waits = progress.waiting > 0 && !sightings.is_empty();
        (progress.running.is_empty() && !waits).then(|| {
            format!("for {seconds} s no task of it was started, and the last ones had ended")
        })
    }
}

/// Gives up queries that stand still for `timeout`.
pub(crate) async fn give_up_stalled(
    scheduler: SchedulerServer<LogicalPlanNode, PhysicalPlanNode>,
    jobs: Arc<GuardedJobs>,
    sightings: Arc<Sightings>,
    timeout: Duration,
) {
    let mut stalls = Stalls::new(timeout);
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let running = scheduler.state.task_manager.get_running_job_cache();
        let mut progress = Vec::new();
        for (id, job) in running.iter() {
            let graph = job.execution_graph.read().await;
            progress.push((id.clone(), Progress::of(&graph)));
        }
        for (id, reason) in stalls.find(progress, &sightings, Instant::now()) {
            jobs.give_up(Some(&id), &reason).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(30);

    fn task(task_id: usize) -> TaskKey {
        TaskKey {
            job_id: "job".into(),
            stage_id: 2,
            task_id,
        }
    }

    fn running(tasks: &[usize]) -> Progress {
        Progress {
            running: tasks.iter().map(|&id| (task(id), "e".into())).collect(),
            ..Progress::default()
        }
    }

    /// Looks at one query every second, in which tasks are listed at some seconds, and returns when
    /// it was given up and why.
    fn watch(
        seconds: u64,
        progress: impl Fn(u64) -> Progress,
        listed: impl Fn(u64) -> Vec<TaskKey>,
    ) -> Option<(u64, String)> {
        let start = Instant::now();
        let mut stalls = Stalls::new(TIMEOUT);
        let sightings = Sightings::default();
        (0..seconds).find_map(|second| {
            let now = start + Duration::from_secs(second);
            for task in listed(second) {
                sightings.lock().insert(task, now);
            }
            let jobs = vec![("job".into(), progress(second))];
            let (_, reason) = stalls.find(jobs, &sightings, now).pop()?;
            Some((second, reason))
        })
    }

    #[test]
    fn a_long_task_that_is_listed_is_not_ended() {
        let listed = |second| {
            if second % 2 == 0 {
                vec![task(1)]
            } else {
                vec![]
            }
        };
        assert_eq!(watch(1000, |_| running(&[1]), listed), None);
    }

    #[test]
    fn a_task_whose_report_was_lost_is_found_beside_one_that_runs() {
        let listed = |second| {
            let ended = second >= 100;
            (1..3).filter(|&id| id == 1 || !ended).map(task).collect()
        };
        let (second, reason) = watch(1000, |_| running(&[1, 2]), listed).unwrap();
        assert_eq!(second, 129);
        assert_eq!(
            reason,
            "the cluster changed while the query ran: task 2 of stage 2 neither ran nor ended for \
             30 s on executor e"
        );
    }

    #[test]
    fn a_query_whose_records_change_is_not_ended() {
        let progress = |second: u64| running(&[second as usize / 29]);
        assert_eq!(watch(1000, progress, |_| vec![]), None);
        let waiting = |second: u64| Progress {
            waiting: second as usize / 29,
            ..running(&[7])
        };
        assert_eq!(watch(1000, waiting, |_| vec![]), None);
    }

    #[test]
    fn a_query_without_tasks_waits_for_those_of_others_and_for_nothing_else() {
        let other = TaskKey {
            job_id: "other".into(),
            ..task(0)
        };
        let busy = |_| vec![other.clone()];
        let waiting = |_| Progress {
            waiting: 3,
            ..Progress::default()
        };
        assert_eq!(watch(1000, waiting, busy), None);
        let sentence = "the cluster changed while the query ran: for 30 s no task of it was started, \
                        and the last ones had ended";
        let found = Some((30, sentence.to_owned()));
        assert_eq!(watch(1000, waiting, |_| vec![]), found);
        assert_eq!(watch(1000, |_| Progress::default(), busy), found);
    }
}
