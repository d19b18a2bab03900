//! The records of jobs.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use async_trait::async_trait;
use ballista_core::error::Result;
use ballista_core::serde::protobuf::job_status::Status;
use ballista_core::serde::protobuf::{FailedJob, JobStatus};
use ballista_core::{JobId, JobStatusSubscriber};
use ballista_scheduler::cluster::memory::InMemoryJobState;
use ballista_scheduler::cluster::{JobState, JobStateEventStream};
use ballista_scheduler::state::execution_graph::ExecutionGraphBox;
use datafusion::prelude::{SessionConfig, SessionContext};
use futures::future::BoxFuture;
use log::{error, warn};

use super::RETRY;
use crate::audit::audit;

/// Whether a job failed because a task could not fetch what another one wrote.
///
/// Ballista says "Stage 2 has failed 1 times, most recent failure reason: .." then. It says "..
/// failed 1 times, fail the stage, most recent failure reason: .." of errors of input and output,
/// such as a full disk or a damaged file, which the next attempt meets again. An answer that breaks
/// off, since its executor was lost, is to Ballista an error of the task that reads it.
fn lost_input(failure: &str) -> bool {
    let breaks_off = failure.contains("error reading a body from connection");
    let is_fetch = failure.contains("most recent failure reason");
    breaks_off || is_fetch && !failure.contains("fail the stage")
}

/// A job that runs.
struct Job {
    /// The client that waits for it.
    client: Option<JobStatusSubscriber>,
    /// The reason why the job was given up, once it was.
    doom: Option<String>,
}

/// Asks the scheduler to cancel a job. The future ends when the scheduler has the request in its
/// queue of events.
pub(crate) type Cancel = Box<dyn Fn(JobId) -> BoxFuture<'static, ()> + Send + Sync>;

/// The records of jobs.
pub(crate) struct GuardedJobs {
    records: InMemoryJobState,
    running: Mutex<HashMap<JobId, Job>>,
    cancel: OnceLock<Cancel>,
}

impl GuardedJobs {
    pub(crate) fn new(records: InMemoryJobState) -> Self {
        Self {
            records,
            running: Mutex::default(),
            cancel: OnceLock::new(),
        }
    }

    /// Sets how jobs are cancelled. The scheduler that does so is made after its records.
    pub(crate) fn set_cancel(&self, cancel: Cancel) {
        assert!(
            self.cancel.set(cancel).is_ok(),
            "one scheduler uses the records"
        );
    }

    fn running(&self) -> MutexGuard<'_, HashMap<JobId, Job>> {
        // The map is valid between statements, also after a panic elsewhere.
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives up one running job, or all of them: tells their clients and has their tasks stopped.
    pub(crate) async fn give_up(&self, job: Option<&JobId>, reason: &str) {
        for id in self.doom(job, reason) {
            if let Some(cancel) = self.cancel.get() {
                cancel(id).await;
            }
        }
    }

    fn doom(&self, only: Option<&JobId>, reason: &str) -> Vec<JobId> {
        let mut doomed = Vec::new();
        for (id, job) in self.running().iter_mut() {
            if job.doom.is_some() || only.is_some_and(|only| only != id) {
                continue;
            }
            warn!("giving up job {id}: {reason}");
            job.doom = Some(reason.to_owned());
            let status = Status::Failed(FailedJob {
                error: reason.to_owned(),
                ..FailedJob::default()
            });
            let status = JobStatus {
                job_id: id.to_string(),
                status: Some(status),
                ..JobStatus::default()
            };
            tell(job.client.as_ref(), id, status);
            doomed.push(id.clone());
        }
        doomed
    }

    pub(crate) fn any_running(&self) -> bool {
        self.running().values().any(|job| job.doom.is_none())
    }
}

/// Sends a status to a job's client. The last status always arrives, even if the client is slow.
fn tell(client: Option<&JobStatusSubscriber>, id: &JobId, status: JobStatus) {
    let Some(client) = client.cloned() else {
        return;
    };
    let last = matches!(
        status.status,
        Some(Status::Failed(_) | Status::Successful(_))
    );
    if !last {
        // Progress alone: the next status replaces this one.
        let _ = client.try_send(status);
        return;
    }
    let id = id.clone();
    tokio::spawn(async move {
        if client.send(status).await.is_err() {
            warn!("the client of job {id} is gone");
        }
    });
}

/// Returns the graph as the client may see it: a success only if the audit agrees.
fn audited(graph: &ExecutionGraphBox, doom: Option<&str>) -> ExecutionGraphBox {
    let mut graph = graph.cloned();
    let failure = match (&graph.status().status, doom) {
        (Some(Status::Successful(_) | Status::Failed(_)), Some(reason)) => Some(reason.to_owned()),
        (Some(Status::Successful(_)), None) => audit(&graph)
            .err()
            .map(|reason| format!("{RETRY}: {reason}; its result is withheld")),
        (Some(Status::Failed(failed)), None) if lost_input(&failed.error) => {
            Some(format!("{RETRY}: {}", failed.error.trim_end()))
        }
        _ => None,
    };
    if let Some(failure) = failure {
        error!("job {}: {failure}", graph.job_id());
        graph.fail_job(failure);
    }
    graph
}

#[async_trait]
impl JobState for GuardedJobs {
    fn accept_job(&self, job_id: &JobId, job_name: &str, queued_at: u64) -> Result<()> {
        self.records.accept_job(job_id, job_name, queued_at)
    }

    fn pending_job_number(&self) -> usize {
        self.records.pending_job_number()
    }

    async fn submit_job(
        &self,
        job_id: JobId,
        graph: &ExecutionGraphBox,
        subscriber: Option<JobStatusSubscriber>,
    ) -> Result<()> {
        // The client is told from here alone.
        self.records.submit_job(job_id.clone(), graph, None).await?;
        tell(subscriber.as_ref(), &job_id, graph.status().clone());
        let job = Job {
            client: subscriber,
            doom: None,
        };
        self.running().insert(job_id, job);
        Ok(())
    }

    async fn get_jobs(&self) -> Result<HashSet<JobId>> {
        self.records.get_jobs().await
    }

    async fn get_all_jobs(&self) -> Result<HashSet<JobId>> {
        self.records.get_all_jobs().await
    }

    async fn get_job_status(&self, job_id: &JobId) -> Result<Option<JobStatus>> {
        self.records.get_job_status(job_id).await
    }

    async fn get_execution_graph(&self, job_id: &JobId) -> Result<Option<ExecutionGraphBox>> {
        self.records.get_execution_graph(job_id).await
    }

    async fn save_job(&self, job_id: &JobId, graph: &ExecutionGraphBox) -> Result<()> {
        let doom = self.running().get(job_id).and_then(|job| job.doom.clone());
        let graph = audited(graph, doom.as_deref());
        self.records.save_job(job_id, &graph).await?;
        let status = graph.status().clone();
        let mut running = self.running();
        let ended = matches!(
            status.status,
            Some(Status::Failed(_) | Status::Successful(_))
        );
        let job = if ended { running.remove(job_id) } else { None };
        let client = match (&job, running.get(job_id)) {
            (Some(job), _) | (None, Some(job)) if job.doom.is_none() => job.client.clone(),
            _ => None,
        };
        drop(running);
        tell(client.as_ref(), job_id, status);
        Ok(())
    }

    async fn fail_unscheduled_job(&self, job_id: &JobId, reason: String) -> Result<()> {
        self.records.fail_unscheduled_job(job_id, reason).await
    }

    async fn remove_job(&self, job_id: &JobId) -> Result<()> {
        self.records.remove_job(job_id).await
    }

    async fn try_acquire_job(&self, job_id: &JobId) -> Result<Option<ExecutionGraphBox>> {
        self.records.try_acquire_job(job_id).await
    }

    async fn job_state_events(&self) -> Result<JobStateEventStream> {
        self.records.job_state_events().await
    }

    async fn create_or_update_session(
        &self,
        session_id: &str,
        config: &SessionConfig,
    ) -> Result<Arc<SessionContext>> {
        self.records
            .create_or_update_session(session_id, config)
            .await
    }

    async fn remove_session(&self, session_id: &str) -> Result<()> {
        self.records.remove_session(session_id).await
    }

    fn produce_config(&self) -> SessionConfig {
        self.records.produce_config()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::graphs::ran_again;
    use crate::session::{client_state, config};

    /// The client of a job whose records show that its last stage ran again hears of a failure,
    /// although Ballista calls the job successful.
    #[tokio::test]
    async fn the_audit_withholds_a_result() {
        let records = InMemoryJobState::new("scheduler", Arc::new(client_state), Arc::new(config));
        let jobs = GuardedJobs::new(records);
        let graph = ran_again().await;
        assert!(matches!(graph.status().status, Some(Status::Successful(_))));
        let id = graph.job_id();
        let (client, mut statuses) = tokio::sync::mpsc::channel(4);
        jobs.running().insert(
            id.clone(),
            Job {
                client: Some(client),
                doom: None,
            },
        );
        jobs.save_job(id, &graph).await.unwrap();
        let status = statuses.recv().await.unwrap().status;
        let Some(Status::Failed(failed)) = status else {
            panic!("{status:?}");
        };
        assert!(failed.error.starts_with(RETRY), "{}", failed.error);
        assert!(
            failed.error.ends_with("its result is withheld"),
            "{}",
            failed.error
        );
        let saved = jobs.get_job_status(id).await.unwrap().unwrap().status;
        assert!(matches!(saved, Some(Status::Failed(_))), "{saved:?}");
        assert!(!jobs.any_running());
    }

    #[test]
    fn a_full_disk_is_no_lost_executor() {
        assert!(lost_input(
            "Job failed due to stage 2 failed: Stage 2 has failed 1 times, most recent failure \
             reason: FetchPartitionError"
        ));
        assert!(lost_input(
            "Job failed due to stage 2 failed: Task failed due to runtime execution error: \
             ArrowError(IpcError(\"Arrow error: Ipc error: code: 'Unknown error', message: \\\"h2 \
             protocol error: error reading a body from connection\\\", source: hyper::Error(Body, \
             Error { kind: Io(Custom { kind: BrokenPipe, error: \\\"stream closed because of a \
             broken pipe\\\" }) })\"))"
        ));
        assert!(!lost_input(
            "Task 0.0 in Stage 2 failed 1 times, fail the stage, most recent failure reason: No \
             space left on device"
        ));
    }
}
