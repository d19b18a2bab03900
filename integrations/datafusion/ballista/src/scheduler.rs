//! The scheduler: Ballista's, with guarded records.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ballista_core::error::Result;
use ballista_core::serde::BallistaLogicalExtensionCodec;
use ballista_scheduler::cluster::memory::InMemoryJobState;
use ballista_scheduler::cluster::{BallistaCluster, ClusterState};
use ballista_scheduler::config::{SchedulerConfig, TaskDistributionPolicy};
use ballista_scheduler::scheduler_process::{create_scheduler, start_grpc_service_with_listener};
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use log::{info, warn};
use tokio::net::TcpListener;
use tokio::time::Instant;

use crate::codec::GridstrideCodec;
use crate::endpoint::{MAX_MESSAGE, endpoint_settings};
use crate::fingerprint::fingerprint;
use crate::guard::{GuardedExecutors, GuardedJobs, Sightings, give_up_stalled};
use crate::session::{client_state, config};

/// How a scheduler runs.
#[derive(Clone, Debug)]
pub struct SchedulerOptions {
    /// The address to listen on.
    pub address: SocketAddr,
    /// The host name under which executors reach this scheduler.
    pub advertise: String,
    /// The time that an executor may be silent before it counts as lost. Whole seconds count.
    pub executor_timeout: Duration,
    /// The time that a query waits for a first executor.
    pub wait_for_executors: Duration,
    /// The time that a query may stand still: nothing of it ends, and its executors do not say that they
    /// have its tasks. At least three of the executors' heartbeats. A query whose tasks run is never
    /// ended.
    pub stall_timeout: Duration,
    /// The time that the files of a finished query stay on the executors for its client to fetch.
    pub keep_results: Duration,
}

/// Runs a scheduler until the process ends.
///
/// # Errors
/// If the address cannot be listened on.
pub async fn run_scheduler(options: SchedulerOptions) -> Result<()> {
    let listener = TcpListener::bind(options.address).await?;
    info!(
        "scheduler of build {} on {}",
        fingerprint(),
        options.address
    );
    let config = Arc::new(scheduler_config(&options));

    let records = InMemoryJobState::new(
        config.scheduler_id.clone(),
        Arc::new(client_state),
        Arc::new(crate::session::config),
    );
    let jobs = Arc::new(GuardedJobs::new(records));
    let sightings = Arc::new(Sightings::default());
    let executors: Arc<dyn ClusterState> = Arc::new(GuardedExecutors::new(
        Arc::clone(&jobs),
        Arc::clone(&sightings),
    ));
    let cluster = BallistaCluster::new(Arc::clone(&executors), Arc::clone(&jobs) as _);
    let scheduler = create_scheduler::<LogicalPlanNode, PhysicalPlanNode>(cluster, config).await?;

    let stopping = scheduler.clone();
    jobs.set_cancel(Box::new(move |job| {
        let scheduler = stopping.clone();
        Box::pin(async move {
            if let Err(error) = scheduler.cancel_job(job.clone()).await {
                warn!("job {job} could not be cancelled: {error}");
            }
        })
    }));
    tokio::spawn(give_up_stalled(
        scheduler.clone(),
        Arc::clone(&jobs),
        sightings,
        // Executors that send fewer heartbeats name their tasks less often.
        options.stall_timeout.max(options.executor_timeout),
    ));
    tokio::spawn(give_up_without_executors(
        jobs,
        executors,
        options.wait_for_executors,
    ));
    start_grpc_service_with_listener(listener, scheduler).await
}

fn scheduler_config(options: &SchedulerOptions) -> SchedulerConfig {
    let timeout = options.executor_timeout.as_secs().max(1);
    SchedulerConfig {
        external_host: options.advertise.clone(),
        bind_host: options.address.ip().to_string(),
        bind_port: options.address.port(),
        task_distribution: TaskDistributionPolicy::RoundRobin,
        executor_timeout_seconds: timeout,
        expire_dead_executor_interval_seconds: 1,
        no_executors_grace_period_seconds: timeout,
        finished_job_data_clean_up_interval_seconds: options.keep_results.as_secs(),
        // A job that fails anywhere fails as a whole, so that no part of it runs again.
        task_max_failures: 1,
        stage_max_failures: 1,
        grpc_server_max_decoding_message_size: MAX_MESSAGE,
        grpc_server_max_encoding_message_size: MAX_MESSAGE,
        grpc_client_max_message_size: MAX_MESSAGE,
        override_config_producer: Some(Arc::new(config)),
        override_session_builder: Some(Arc::new(client_state)),
        override_logical_codec: Some(Arc::new(BallistaLogicalExtensionCodec::default())),
        override_physical_codec: Some(Arc::new(GridstrideCodec::default())),
        override_create_grpc_client_endpoint: Some(endpoint_settings()),
        ..SchedulerConfig::default()
    }
}

/// Fails the queries of a cluster that has had no executor for `patience`: Ballista lets them wait
/// for ever.
async fn give_up_without_executors(
    jobs: Arc<GuardedJobs>,
    executors: Arc<dyn ClusterState>,
    patience: Duration,
) {
    let mut waiting_since = None;
    loop {
        tokio::time::sleep(Duration::from_millis(250)).await;
        if !jobs.any_running() || !executors.executor_heartbeats().is_empty() {
            waiting_since = None;
            continue;
        }
        if waiting_since.get_or_insert_with(Instant::now).elapsed() >= patience {
            let reason = "no executor is registered with the scheduler: start gridstride-executor";
            jobs.give_up(None, reason).await;
        }
    }
}
