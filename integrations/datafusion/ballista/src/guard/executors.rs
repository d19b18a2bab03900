//! The records of executors.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use async_trait::async_trait;
use ballista_core::JobId;
use ballista_core::error::{BallistaError, Result};
use ballista_core::serde::protobuf::ExecutorHeartbeat;
use ballista_core::serde::scheduler::{ExecutorData, ExecutorMetadata};
use ballista_scheduler::cluster::memory::InMemoryClusterState;
use ballista_scheduler::cluster::{BoundTask, ClusterState, ClusterStateEventStream, ExecutorSlot};
use ballista_scheduler::config::TaskDistributionPolicy;
use ballista_scheduler::state::task_manager::JobInfoCache;
use log::{error, info, warn};

use super::{GuardedJobs, RETRY, Sightings};
use crate::fingerprint::check_executor;
use crate::running;

/// The records of executors: those of another build are refused, a loss gives up the jobs, and the
/// tasks that executors have are noted.
pub(crate) struct GuardedExecutors {
    records: InMemoryClusterState,
    jobs: Arc<GuardedJobs>,
    sightings: Arc<Sightings>,
}

impl GuardedExecutors {
    pub(crate) fn new(jobs: Arc<GuardedJobs>, sightings: Arc<Sightings>) -> Self {
        Self {
            records: InMemoryClusterState::default(),
            jobs,
            sightings,
        }
    }
}

fn check(metadata: &ExecutorMetadata) -> Result<()> {
    check_executor(&metadata.id).map_err(|refusal| {
        error!("refused an executor at {}: {refusal}", metadata.host);
        BallistaError::Configuration(refusal)
    })
}

#[async_trait]
impl ClusterState for GuardedExecutors {
    async fn bind_schedulable_tasks(
        &self,
        distribution: TaskDistributionPolicy,
        active_jobs: Arc<HashMap<JobId, JobInfoCache>>,
        executors: Option<HashSet<String>>,
    ) -> Result<Vec<BoundTask>> {
        self.records
            .bind_schedulable_tasks(distribution, active_jobs, executors)
            .await
    }

    async fn unbind_tasks(&self, executor_slots: Vec<ExecutorSlot>) -> Result<()> {
        self.records.unbind_tasks(executor_slots).await
    }

    async fn register_executor(
        &self,
        metadata: ExecutorMetadata,
        spec: ExecutorData,
    ) -> Result<()> {
        check(&metadata)?;
        info!("executor {} joined from {}", metadata.id, metadata.host);
        self.records.register_executor(metadata, spec).await
    }

    async fn save_executor_metadata(&self, metadata: ExecutorMetadata) -> Result<()> {
        check(&metadata)?;
        self.records.save_executor_metadata(metadata).await
    }

    async fn get_executor_metadata(&self, executor_id: &str) -> Result<ExecutorMetadata> {
        self.records.get_executor_metadata(executor_id).await
    }

    async fn registered_executor_metadata(&self) -> Vec<ExecutorMetadata> {
        self.records.registered_executor_metadata().await
    }

    async fn save_executor_heartbeat(&self, heartbeat: ExecutorHeartbeat) -> Result<()> {
        // A list of tasks is no sign of life: that is left to Ballista's own heartbeats.
        if let Some(tasks) = running::decode(heartbeat.status.as_ref()) {
            self.sightings.add(tasks);
            return Ok(());
        }
        self.records.save_executor_heartbeat(heartbeat).await
    }

    async fn remove_executor(&self, executor_id: &str) -> Result<()> {
        // Ballista removes an executor for each sign of its loss. The jobs that run at a later sign
        // began without the executor.
        if self
            .records
            .get_executor_metadata(executor_id)
            .await
            .is_err()
        {
            return Ok(());
        }
        warn!("executor {executor_id} left or was lost");
        let removed = self.records.remove_executor(executor_id).await;
        // Ballista comes here before it puts the loss into its queue of events. The cancellations are
        // in front of it therefore, and nothing is left to run again. (Running again would also lose
        // the slots of stopped tasks: later queries would wait for ever.)
        let reason = format!("{RETRY}: executor {executor_id} was lost");
        self.jobs.give_up(None, &reason).await;
        removed
    }

    fn executor_heartbeats(&self) -> HashMap<String, ExecutorHeartbeat> {
        self.records.executor_heartbeats()
    }

    fn get_executor_heartbeat(&self, executor_id: &str) -> Option<ExecutorHeartbeat> {
        self.records.get_executor_heartbeat(executor_id)
    }

    async fn cluster_state_events(&self) -> Result<ClusterStateEventStream> {
        self.records.cluster_state_events().await
    }
}
