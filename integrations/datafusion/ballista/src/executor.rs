//! An executor: runs the tasks of a cluster's queries on one device.

use std::net::{IpAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ballista_core::error::{BallistaError, Result};
use ballista_core::ids::new_instance_id;
use ballista_core::serde::BallistaLogicalExtensionCodec;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_core::utils::create_grpc_client_endpoint;
use ballista_executor::executor_process::{
    ExecutorProcessConfig, start_executor_process, structure_executor_metadata,
};
use log::info;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;
use tonic::transport::Channel;

use crate::codec::GridstrideCodec;
use crate::endpoint::{MAX_MESSAGE, endpoint_settings};
use crate::fingerprint::{executor_id, fingerprint};
use crate::running::{ListingEngine, RunningTasks, report};
use crate::session::{config, server_state};
use crate::workdir::WorkDir;

/// How an executor runs.
#[derive(Clone, Debug)]
pub struct ExecutorOptions {
    /// The scheduler's host.
    pub scheduler_host: String,
    /// The scheduler's port.
    pub scheduler_port: u16,
    /// How long to wait for the scheduler to answer at the start. Whole seconds count.
    pub connect_timeout: Duration,
    /// The address to listen on.
    pub bind: IpAddr,
    /// The host name under which other executors, the scheduler and clients reach this executor.
    pub advertise: String,
    /// The first of two ports in a row, below 65535, or `None` to take a free pair below 32768.
    pub port: Option<u16>,
    /// How many partitions the executor works on at a time.
    pub vcores: usize,
    /// The time between two signs of life. Whole seconds count.
    pub heartbeat: Duration,
    /// Bytes of memory for all tasks together, or `None` for 70 % of the machine's.
    pub host_memory: Option<u64>,
    /// Where the executor's folder of intermediate results is made.
    pub work_dir: PathBuf,
}

/// Runs an executor until a signal tells it to stop.
///
/// # Errors
/// If the scheduler cannot be reached or refuses the executor, if the ports are taken, and if the
/// executor stops without a signal: its scheduler is gone, or has counted it as lost and stopped it.
/// Start another one then, as a service manager does.
pub async fn run_executor(options: ExecutorOptions) -> Result<()> {
    let port = match options.port {
        Some(port) => port,
        None => free_pair(options.bind)?,
    };
    let second_port = port.checked_add(1).ok_or_else(|| {
        let message = format!("port {port} is the last: the executor needs the next one too");
        BallistaError::Configuration(message)
    })?;
    let instance = format!("{}-{}", std::process::id(), new_instance_id());
    let work_dir = WorkDir::create(&options.work_dir, &instance)?;
    info!("executor of build {} on port {port}", fingerprint());
    let functions = (&server_state(config())?).into();
    let signalled = signals()?;
    let scheduler = scheduler(&options)?;
    let tasks = RunningTasks::default();
    let heartbeat = Duration::from_secs(options.heartbeat.as_secs().max(1));
    let config = Arc::new(ExecutorProcessConfig {
        executor_id: executor_id(&instance),
        bind_host: options.bind.to_string(),
        external_host: Some(options.advertise),
        port,
        grpc_port: second_port,
        scheduler_host: options.scheduler_host,
        scheduler_port: options.scheduler_port,
        scheduler_connect_timeout_seconds: u16::try_from(options.connect_timeout.as_secs())
            .unwrap_or(u16::MAX),
        vcores: options.vcores,
        executor_heartbeat_interval_seconds: heartbeat.as_secs(),
        memory_pool_size: options.host_memory,
        grpc_max_decoding_message_size: MAX_MESSAGE,
        grpc_max_encoding_message_size: MAX_MESSAGE,
        work_dir: Some(work_dir.path().to_string_lossy().into_owned()),
        override_execution_engine: Some(Arc::new(ListingEngine::new(tasks.clone()))),
        override_function_registry: Some(Arc::new(functions)),
        override_config_producer: Some(Arc::new(config)),
        override_logical_codec: Some(Arc::new(BallistaLogicalExtensionCodec::default())),
        override_physical_codec: Some(Arc::new(GridstrideCodec::default())),
        override_create_grpc_client_endpoint: Some(endpoint_settings()),
        ..ExecutorProcessConfig::default()
    });
    let metadata = structure_executor_metadata(&config, options.vcores as u32);
    let overdue = async {
        set(&signalled).await;
        sleep(SHUTDOWN).await;
    };
    tokio::select! {
        ended = start_executor_process(config) => ended?,
        never = report(tasks, metadata, scheduler, heartbeat) => match never {},
        () = overdue => info!("connections are still open: stopping without waiting for them"),
    }
    if signalled.load(Ordering::Relaxed) {
        return Ok(());
    }
    Err(BallistaError::General(
        "stopped: the scheduler is gone, or has counted this executor as lost".to_owned(),
    ))
}

/// The most time between a signal to stop and the end.
const SHUTDOWN: Duration = Duration::from_secs(5);

/// Waits until a flag is set.
async fn set(flag: &AtomicBool) {
    while !flag.load(Ordering::Relaxed) {
        sleep(Duration::from_millis(100)).await;
    }
}

/// Returns a client of the scheduler that connects when it is used.
fn scheduler(options: &ExecutorOptions) -> Result<SchedulerGrpcClient<Channel>> {
    let url = format!(
        "http://{}:{}",
        options.scheduler_host, options.scheduler_port
    );
    let endpoint = create_grpc_client_endpoint(url, None)?;
    let endpoint = endpoint_settings()(endpoint)
        .map_err(|error| BallistaError::GrpcConnectionError(error.to_string()))?;
    Ok(SchedulerGrpcClient::new(endpoint.connect_lazy()))
}

/// Returns a flag that is set by the signals which Ballista takes as the request to stop.
fn signals() -> Result<Arc<AtomicBool>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let flag = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&flag);
    tokio::spawn(async move {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        }
        set.store(true, Ordering::Relaxed);
    });
    Ok(flag)
}

/// Finds two free ports in a row. Ports from 32768 on are those of outgoing connections, one of
/// which could take a port between this look and its use.
fn free_pair(bind: IpAddr) -> Result<u16> {
    let free = |port| TcpListener::bind((bind, port)).is_ok();
    // Processes that start together begin at different places.
    let start = (std::process::id() % 3000) as u16 * 2;
    (0..3000)
        .map(|step| 26_000 + (start + 2 * step) % 6000)
        .find(|&port| free(port) && free(port + 1))
        .ok_or_else(|| {
            BallistaError::Configuration(format!(
                "no two free ports in a row between 26000 and 32000 on {bind}: name some by --port"
            ))
        })
}
