//! One attempt at a query: submits its plan, waits, fetches, counts.

use std::sync::Arc;
use std::time::Duration;

use ballista_core::client::BallistaClient;
use ballista_core::extension::{BallistaConfigGrpcEndpoint, SessionConfigExt};
use ballista_core::serde::protobuf::execute_query_params::Query as Submission;
use ballista_core::serde::protobuf::job_status::Status;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_core::serde::protobuf::{
    CancelJobParams, CleanJobDataParams, ExecuteQueryParams, KeyValuePair, PartitionLocation,
};
use ballista_core::utils::{GrpcClientConfig, create_grpc_client_endpoint};
use ballista_core::version::insert_version_header;
use datafusion::arrow::array::RecordBatch;
use datafusion::common::{DataFusionError, Result, exec_err};
use datafusion::physical_plan::metrics::BaselineMetrics;
use datafusion::prelude::SessionConfig;
use futures::StreamExt;
use log::{debug, warn};
use tokio::sync::mpsc::Sender;
use tonic::Request;
use tonic::transport::Channel;

use crate::checked::counted;
use crate::endpoint::endpoint_settings;
use crate::guard::RETRY;
use crate::wording::readable;

/// A plan, encoded, and where it is to run.
pub(crate) struct Query {
    pub(crate) address: String,
    pub(crate) plan: Vec<u8>,
    pub(crate) session: String,
    pub(crate) config: SessionConfig,
}

/// Runs a query and sends its rows to `sender`. Sets `delivered` with the first of them.
///
/// The statuses of the job are pushed by the scheduler: only those pass the audit. (Ballista answers
/// a poll from the running job itself, which may call itself successful before its audit.)
pub(crate) async fn run_once(
    query: &Query,
    sender: &Sender<Result<RecordBatch>>,
    metrics: &BaselineMetrics,
    delivered: &mut bool,
) -> Result<()> {
    let (mut job, locations) = execute(query).await?;
    for location in locations {
        let mut rows = std::pin::pin!(fetch(query, location).await?);
        while let Some(batch) = rows.next().await {
            let batch = batch.map_err(|error| lost_result(&error.to_string()))?;
            metrics.record_output(batch.num_rows());
            *delivered = true;
            if sender.send(Ok(batch)).await.is_err() {
                // The reader has stopped, as below a LIMIT.
                return Ok(());
            }
        }
    }
    job.remove_result().await;
    Ok(())
}

type Scheduler = SchedulerGrpcClient<Channel>;

async fn connect(query: &Query) -> Result<Scheduler> {
    let url = format!("http://{}", query.address);
    let unreachable = |error: String| {
        DataFusionError::Execution(format!(
            "the scheduler at {} cannot be reached: {error}",
            query.address
        ))
    };
    let settings = GrpcClientConfig::from(&query.config.ballista_config());
    let endpoint = create_grpc_client_endpoint(url, Some(&settings))
        .map_err(|error| unreachable(chain(&error)))?;
    let endpoint = endpoint_settings()(endpoint).map_err(|error| unreachable(error.to_string()))?;
    let channel = endpoint
        .connect()
        .await
        .map_err(|error| unreachable(chain(&error)))?;
    let size = settings.max_message_size;
    Ok(SchedulerGrpcClient::new(channel)
        .max_encoding_message_size(size)
        .max_decoding_message_size(size))
}

/// Joins an error with its causes: tonic's own text is "transport error".
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

/// Submits the plan, waits for its end and returns the job and where its result lies.
async fn execute(query: &Query) -> Result<(CancelOnDrop, Vec<PartitionLocation>)> {
    let mut scheduler = connect(query).await?;
    let options = query.config.options().entries();
    let settings = options.into_iter().map(|entry| KeyValuePair {
        key: entry.key,
        value: entry.value,
    });
    let mut request = Request::new(ExecuteQueryParams {
        query: Some(Submission::PhysicalPlan(query.plan.clone())),
        settings: settings.collect(),
        session_id: query.session.clone(),
        operation_id: String::new(),
    });
    insert_version_header(request.metadata_mut());
    let refused = |status: tonic::Status| {
        DataFusionError::Execution(format!(
            "the scheduler at {} refuses the query: {}",
            query.address,
            status.message()
        ))
    };
    let answer = scheduler.execute_query_push(request).await;
    let mut statuses = answer.map_err(refused)?.into_inner();
    let mut running = CancelOnDrop {
        scheduler,
        id: String::new(),
        runs: false,
    };
    loop {
        let status = match statuses.message().await {
            Ok(Some(status)) => status.status,
            Ok(None) => return exec_err!("the scheduler at {} went away", query.address),
            Err(status) => {
                return exec_err!(
                    "the scheduler at {} went away: {}",
                    query.address,
                    chain(&status)
                );
            }
        };
        let Some(job) = status else { continue };
        debug!("job {}: {:?}", job.job_id, job.status);
        running.id = job.job_id;
        running.runs = false;
        match job.status {
            Some(Status::Failed(failure)) => return exec_err!("{}", readable(&failure.error)),
            Some(Status::Successful(success)) => return Ok((running, success.partition_location)),
            _ => running.runs = true,
        }
    }
}

/// A job of the scheduler, which is cancelled if this value is dropped while the job runs.
struct CancelOnDrop {
    scheduler: Scheduler,
    id: String,
    runs: bool,
}

/// The limit on the time of the scheduler's answer to a message that is only a courtesy.
const COURTESY: Duration = Duration::from_secs(3);

impl CancelOnDrop {
    /// Lets the executors remove the files of the result. Without this, they do so after an hour.
    async fn remove_result(&mut self) {
        let remove = self.scheduler.clean_job_data(CleanJobDataParams {
            job_id: self.id.clone(),
            remove_stage_ids: Vec::new(),
        });
        if !matches!(tokio::time::timeout(COURTESY, remove).await, Ok(Ok(_))) {
            debug!(
                "the result of job {} stays on the executors for a while",
                self.id
            );
        }
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if !self.runs {
            return;
        }
        let mut scheduler = self.scheduler.clone();
        let job_id = std::mem::take(&mut self.id);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let cancel = scheduler.cancel_job(CancelJobParams {
                    job_id: job_id.clone(),
                });
                if !matches!(tokio::time::timeout(COURTESY, cancel).await, Ok(Ok(_))) {
                    warn!("job {job_id} may still run: the scheduler did not answer");
                }
            });
        }
    }
}

/// Fetches one part of the result, counting its rows.
async fn fetch(
    query: &Query,
    location: PartitionLocation,
) -> Result<impl futures::Stream<Item = Result<RecordBatch>> + Send + use<>> {
    let layout = location.layout();
    let (Some(executor), Some(partition), Some(written)) = (
        location.executor_meta,
        location.partition_id,
        location.partition_stats,
    ) else {
        return exec_err!("the scheduler does not say where the result lies");
    };
    let settings = GrpcClientConfig::from(&query.config.ballista_config());
    let lost = |error: ballista_core::error::BallistaError| lost_result(&error.to_string());
    let port = executor.port as u16;
    let mut client = BallistaClient::try_new(
        &executor.host,
        port,
        settings.max_message_size,
        settings.use_tls,
        Some(Arc::new(BallistaConfigGrpcEndpoint::new(
            endpoint_settings(),
        ))),
        settings.io_retries_times,
        settings.io_retry_wait_time_ms,
        0,
        0,
    )
    .await
    .map_err(lost)?;
    let what = format!("part {} of the result", partition.partition_id);
    let rows = client
        .fetch_partition_proxied(
            &executor.id,
            &partition.into(),
            location.file_id,
            layout,
            &executor.host,
            port,
            true,
        )
        .await
        .map_err(lost)?;
    let Ok(written) = u64::try_from(written.num_rows) else {
        return exec_err!("{what} was not counted by the task that wrote it");
    };
    Ok(counted(rows, written, what))
}

fn lost_result(error: &str) -> DataFusionError {
    DataFusionError::Execution(format!("{RETRY}: its result cannot be fetched: {error}"))
}
