//! The tasks of an executor. Executors report them in heartbeats, beside Ballista's own ones, so that the
//! scheduler can tell a task that runs from a task whose report it lost ([`crate::guard`]).

use std::convert::Infallible;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use ballista_core::JobId;
use ballista_core::serde::protobuf::executor_status::Status;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_core::serde::protobuf::{ExecutorRegistration, ExecutorStatus, HeartBeatParams};
use ballista_core::serde::scheduler::TaskKey;
use ballista_executor::execution_engine::{
    DefaultExecutionEngine, ExecutionEngine, QueryStageExecutor,
};
use ballista_executor::executor_server::TERMINATING;
use datafusion::common::Result;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionConfig;
use log::debug;
use tonic::transport::Channel;

use crate::connections::Connections;

/// The tasks that an executor has begun and not reported yet. Clones share one list.
#[derive(Clone, Default)]
pub(crate) struct RunningTasks(Arc<Mutex<Vec<RunningTask>>>);

/// Ballista keeps a task's stage alive until it has handed the report of the task's end to the loop
/// that sends reports.
struct RunningTask {
    key: TaskKey,
    stage: Weak<dyn QueryStageExecutor>,
}

impl RunningTasks {
    fn add(&self, key: TaskKey, stage: &Arc<dyn QueryStageExecutor>) {
        let stage = Arc::downgrade(stage);
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.push(RunningTask { key, stage });
    }

    fn list(&self) -> Vec<TaskKey> {
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.retain(|task| task.stage.strong_count() > 0);
        tasks.iter().map(|task| task.key.clone()).collect()
    }
}

/// Ballista's engine, which keeps the list of running tasks.
pub(crate) struct ListingEngine {
    engine: DefaultExecutionEngine,
    tasks: RunningTasks,
}

impl ListingEngine {
    pub(crate) fn new(tasks: RunningTasks) -> Self {
        let connections = Arc::new(Connections::default());
        Self {
            engine: DefaultExecutionEngine::with_client_pool(connections),
            tasks,
        }
    }
}

impl ExecutionEngine for ListingEngine {
    fn create_query_stage_exec(
        &self,
        job_id: JobId,
        stage_id: usize,
        task_id: usize,
        global_output_partition_ids: Vec<usize>,
        plan: Arc<dyn ExecutionPlan>,
        work_dir: &str,
        config: &SessionConfig,
    ) -> Result<Arc<dyn QueryStageExecutor>> {
        let key = TaskKey {
            job_id: job_id.clone(),
            stage_id,
            task_id,
        };
        let stage = self.engine.create_query_stage_exec(
            job_id,
            stage_id,
            task_id,
            global_output_partition_ids,
            plan,
            work_dir,
            config,
        )?;
        self.tasks.add(key, &stage);
        Ok(stage)
    }
}

/// Tells the scheduler every `interval` which tasks are running, as long as some are and the executor
/// is not about to stop. A list that does not arrive is replaced by the next one.
pub(crate) async fn report(
    tasks: RunningTasks,
    executor: ExecutorRegistration,
    mut scheduler: SchedulerGrpcClient<Channel>,
    interval: Duration,
) -> Infallible {
    loop {
        tokio::time::sleep(interval).await;
        let running = tasks.list();
        if running.is_empty() || TERMINATING.load(Ordering::Acquire) {
            continue;
        }
        let beat = scheduler.heart_beat_from_executor(HeartBeatParams {
            executor_id: executor.id.clone(),
            metrics: Vec::new(),
            status: Some(ExecutorStatus {
                status: Some(Status::Active(encode(&running))),
            }),
            metadata: Some(executor.clone()),
        });
        if let Err(status) = beat.await {
            debug!("the list of running tasks did not arrive: {status}");
        }
    }
}

/// Writes tasks into the text of a heartbeat's status, which is empty in Ballista's own heartbeats.
fn encode(tasks: &[TaskKey]) -> String {
    let tasks: Vec<_> = tasks
        .iter()
        .map(|task| (&task.job_id, task.stage_id, task.task_id))
        .collect();
    serde_json::to_string(&tasks).expect("names and numbers are JSON")
}

/// Returns the tasks that a heartbeat's status lists, or `None` if it is one of Ballista's own.
pub(crate) fn decode(status: Option<&ExecutorStatus>) -> Option<Vec<TaskKey>> {
    let Some(Status::Active(text)) = status.and_then(|status| status.status.as_ref()) else {
        return None;
    };
    let tasks: Vec<(JobId, usize, usize)> = serde_json::from_str(text).ok()?;
    let tasks = tasks
        .into_iter()
        .map(|(job_id, stage_id, task_id)| TaskKey {
            job_id,
            stage_id,
            task_id,
        });
    Some(tasks.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_travel_in_heartbeats_and_other_heartbeats_have_none() {
        let task = |job: &str, stage_id, task_id| TaskKey {
            job_id: job.into(),
            stage_id,
            task_id,
        };
        let status = |status| ExecutorStatus {
            status: Some(status),
        };
        for tasks in [vec![], vec![task("a", 1, 0), task("b", 12, 7)]] {
            let sent = status(Status::Active(encode(&tasks)));
            assert_eq!(decode(Some(&sent)), Some(tasks));
        }
        assert_eq!(decode(None), None);
        assert_eq!(decode(Some(&status(Status::Active(String::new())))), None);
        assert_eq!(decode(Some(&status(Status::Dead("[]".into())))), None);
    }
}
