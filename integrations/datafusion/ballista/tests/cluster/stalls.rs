//! Reports of tasks that are lost, and long tasks, which look the same in the scheduler's records.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ballista_core::BALLISTA_PROTOCOL_VERSION;
use ballista_core::serde::protobuf::executor_grpc_server::{ExecutorGrpc, ExecutorGrpcServer};
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_core::serde::protobuf::{
    CancelTasksParams, CancelTasksResult, ExecutorRegistration, ExecutorStatus, HeartBeatParams,
    LaunchMultiTaskParams, LaunchMultiTaskResult, LaunchTaskParams, LaunchTaskResult,
    MultiTaskDefinition, OperatorMetricsSet, RegisterExecutorParams, RemoveJobDataParams,
    RemoveJobDataResult, ShuffleWritePartition, StopExecutorParams, StopExecutorResult,
    SuccessfulTask, TaskStatus, UpdateTaskStatusParams, executor_status, task_status,
};
use ballista_core::serde::scheduler::{
    ExecutorOperatingSystemSpecification, ExecutorSpecification,
};
use gridstride_ballista::fingerprint;
use tokio::task::JoinSet;
use tonic::transport::{Channel, Server};
use tonic::{Request, Response, Status};

use crate::harness::{
    FOUR_STAGES, Processes, embedded, eventually, free_ports, run, run_within, write_points,
};

const SOON: Duration = Duration::from_secs(15);
/// Three heartbeats of the tests' executors.
const STALL_TIMEOUT: Duration = Duration::from_secs(3);

fn start(executors: usize) -> Processes {
    let timeout = STALL_TIMEOUT.as_secs().to_string();
    Processes::start_with(
        executors,
        &["--stall-timeout", &timeout],
        &["--device", "cpu"],
    )
}

/// How an executor loses the reports of its tasks.
#[derive(Clone, Copy, Debug)]
enum Loss {
    /// It sends none.
    Never,
    /// It sends reports, and the scheduler says that they have arrived, but cannot book the second one
    /// of a stage: its number of metrics differs from that of the first.
    AfterArrival,
}

/// An executor that takes tasks, runs none of them and loses reports.
#[derive(Clone)]
struct Loser {
    id: String,
    loss: Loss,
    scheduler: SchedulerGrpcClient<Channel>,
    reports: Arc<AtomicUsize>,
}

impl Loser {
    /// Registers with the scheduler. The executor is there until the set is dropped.
    async fn start(cluster: &Processes, loss: Loss) -> JoinSet<()> {
        let url = format!("http://{}", cluster.address());
        let mut scheduler = SchedulerGrpcClient::connect(url).await.unwrap();
        let port = free_ports(1);
        let loser = Self {
            id: format!("gridstride-{}.loser-{loss:?}", fingerprint()),
            loss,
            scheduler: scheduler.clone(),
            reports: Arc::default(),
        };
        let metadata = ExecutorRegistration {
            id: loser.id.clone(),
            host: Some("127.0.0.1".to_owned()),
            port: port.into(),
            grpc_port: port.into(),
            specification: Some(ExecutorSpecification::default().with_vcores(1).into()),
            os_info: Some(ExecutorOperatingSystemSpecification::default().into()),
            ballista_protocol_version: BALLISTA_PROTOCOL_VERSION,
        };
        let mut tasks = JoinSet::new();
        let server = Server::builder().add_service(ExecutorGrpcServer::new(loser.clone()));
        let address = ([127, 0, 0, 1], port).into();
        tasks.spawn(async move { server.serve(address).await.unwrap() });
        while tokio::net::TcpStream::connect(("127.0.0.1", port))
            .await
            .is_err()
        {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let registration = RegisterExecutorParams {
            metadata: Some(metadata.clone()),
        };
        scheduler.register_executor(registration).await.unwrap();
        tasks.spawn(async move {
            loop {
                let active = executor_status::Status::Active(String::new());
                let beat = HeartBeatParams {
                    executor_id: loser.id.clone(),
                    metrics: Vec::new(),
                    status: Some(ExecutorStatus {
                        status: Some(active),
                    }),
                    metadata: Some(metadata.clone()),
                };
                scheduler.heart_beat_from_executor(beat).await.unwrap();
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        });
        tasks
    }

    /// Says that tasks have ended, each in a message.
    async fn report(mut self, tasks: MultiTaskDefinition) {
        for task in tasks.task_ids {
            let number = self.reports.fetch_add(1, Ordering::Relaxed);
            let written = ShuffleWritePartition {
                partition_id: 0,
                num_batches: 1,
                num_rows: 1,
                num_bytes: 8,
                file_id: Some(task.task_id.into()),
                is_sort_shuffle: true,
            };
            let done = SuccessfulTask {
                executor_id: self.id.clone(),
                partitions: vec![written],
                ..SuccessfulTask::default()
            };
            let status = TaskStatus {
                task_id: task.task_id,
                job_id: tasks.job_id.clone(),
                stage_id: tasks.stage_id,
                stage_attempt_num: tasks.stage_attempt_num,
                metrics: vec![OperatorMetricsSet::default(); 1 + number],
                status: Some(task_status::Status::Successful(done)),
                ..TaskStatus::default()
            };
            let report = UpdateTaskStatusParams {
                executor_id: self.id.clone(),
                task_status: vec![status],
            };
            let answer = self.scheduler.update_task_status(report).await.unwrap();
            assert!(answer.into_inner().success);
        }
    }
}

#[tonic::async_trait]
impl ExecutorGrpc for Loser {
    async fn launch_multi_task(
        &self,
        request: Request<LaunchMultiTaskParams>,
    ) -> Result<Response<LaunchMultiTaskResult>, Status> {
        if let Loss::AfterArrival = self.loss {
            for tasks in request.into_inner().multi_tasks {
                tokio::spawn(self.clone().report(tasks));
            }
        }
        Ok(Response::new(LaunchMultiTaskResult::default()))
    }

    async fn launch_task(
        &self,
        _: Request<LaunchTaskParams>,
    ) -> Result<Response<LaunchTaskResult>, Status> {
        Err(Status::unimplemented("the scheduler launches several"))
    }

    async fn stop_executor(
        &self,
        _: Request<StopExecutorParams>,
    ) -> Result<Response<StopExecutorResult>, Status> {
        Ok(Response::new(StopExecutorResult::default()))
    }

    async fn cancel_tasks(
        &self,
        _: Request<CancelTasksParams>,
    ) -> Result<Response<CancelTasksResult>, Status> {
        Ok(Response::new(CancelTasksResult { cancelled: false }))
    }

    async fn remove_job_data(
        &self,
        _: Request<RemoveJobDataParams>,
    ) -> Result<Response<RemoveJobDataResult>, Status> {
        Ok(Response::new(RemoveJobDataResult::default()))
    }
}

/// Runs a query of which reports are lost, and returns its error. The next executor is used.
async fn lose(loss: Loss) -> String {
    let mut cluster = start(0);
    let points = cluster.folder.path().join("points");
    write_points(&points, 500);
    let expected = run(&embedded(&points).await, FOUR_STAGES).await.unwrap();
    let ctx = cluster.session(&points, 0).await;
    eventually("the scheduler listens", || {
        std::net::TcpStream::connect(("127.0.0.1", cluster.port)).is_ok()
    });
    let loser = Loser::start(&cluster, loss).await;
    let start = Instant::now();
    let error = run_within(SOON, &ctx, FOUR_STAGES).await.unwrap_err();
    assert!(start.elapsed() >= STALL_TIMEOUT, "{error}");
    if let Loss::AfterArrival = loss {
        assert!(cluster.scheduler.log().contains("Failed to update 1 task"));
    }

    drop(loser);
    eventually("the loser is lost", || cluster.losses() == 1);
    let executor = cluster.executor();
    cluster.executors.push(executor);
    cluster.wait_for_joins(2);
    let rows = run_within(SOON, &ctx, FOUR_STAGES).await.unwrap();
    assert_eq!(rows, expected);
    error.to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reports_that_are_never_sent_end_the_query() {
    let error = lose(Loss::Never).await;
    assert!(error.contains("neither ran nor ended for 3 s"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reports_that_the_scheduler_loses_end_the_query() {
    let error = lose(Loss::AfterArrival).await;
    assert!(error.contains("for 3 s"), "{error}");
}

/// Pairs of the first `n` points, of which a join without an equality looks at each.
fn pairs(n: u64) -> String {
    let points = format!(
        "(SELECT value FROM points WHERE timestamp < to_timestamp_millis({}))",
        n * 250
    );
    format!("SELECT count(*) FROM {points} a JOIN {points} b ON a.value < b.value - 500")
}

/// How many of the pairs have the values that the join asks for: `value` is `n % 1000`, unless it is
/// null.
fn expected_pairs(n: u64) -> u64 {
    let mut counts = [0_u64; 1000];
    (0..n)
        .filter(|n| n % 7 != 0)
        .for_each(|n| counts[(n % 1000) as usize] += 1);
    let larger = |value: usize| counts.iter().skip(value + 501).sum::<u64>();
    (0..1000).map(|value| counts[value] * larger(value)).sum()
}

/// A task that takes several times the timeout is not ended: its executor says that it runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_tasks_are_not_ended() {
    let cluster = start(1);
    let points = cluster.folder.path().join("points");
    write_points(&points, 12_000);
    let ctx = cluster.session(&points, 0).await;
    // More points until the query, which has one task for each of four partitions, takes long enough.
    let mut n = 8_000;
    loop {
        let start = Instant::now();
        let rows = run_within(Duration::from_secs(120), &ctx, &pairs(n)).await;
        let (rows, elapsed) = (rows.unwrap(), start.elapsed());
        let expected = format!("| {} ", expected_pairs(n));
        assert!(rows[0].starts_with(&expected), "{n} points: {rows:?}");
        if elapsed > 3 * STALL_TIMEOUT {
            break;
        }
        n = n * 3 / 2;
        assert!(n <= 72_000, "all pairs take only {elapsed:?}");
    }
}
