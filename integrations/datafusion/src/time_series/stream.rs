//! The work of one partition: gathering, calls of the library, and filling.

use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::metrics::{
    BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, RecordOutput, Time,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{Stream, StreamExt, TryStreamExt, stream};

use super::compute::Work;
use super::exec::NAME;
use super::fill::Filler;
use super::gather::{Chunk, Gatherer};
use super::parameters::TimeBucketParameters;
use crate::config;
use crate::error::external;

/// Calls of the library that a partition has under way: while one computes, the rows of the next are
/// gathered.
const CALLS: usize = 2;

/// Returns the output of a partition. Dropping the stream stops the work: a call of the library that
/// has begun ends first, on a thread of its own.
pub(super) fn run(
    parameters: &TimeBucketParameters,
    schema: SchemaRef,
    input: SendableRecordBatchStream,
    partition: usize,
    context: &TaskContext,
    metrics: &ExecutionPlanMetricsSet,
) -> Result<SendableRecordBatchStream> {
    let parameters = Arc::new(parameters.clone());
    let counter = |name: &'static str| MetricBuilder::new(metrics).counter(name, partition);
    let time = |name: &'static str| MetricBuilder::new(metrics).subset_time(name, partition);
    let baseline = BaselineMetrics::new(metrics, partition);
    let work = Arc::new(Work {
        parameters: Arc::clone(&parameters),
        buckets: parameters.buckets(),
        schema: Arc::clone(&schema),
        device: config::open(parameters.device).map_err(external(NAME))?,
        input_bytes: counter("input_bytes"),
        calls: counter("calls"),
        gather_time: time("gather_time"),
        kernel_time: time("kernel_time"),
        copy_time: time("copy_time"),
    });
    let consumer = MemoryConsumer::new(format!("{NAME}[{partition}]"));
    let gathering = Gathering {
        input: input.fuse(),
        gatherer: Gatherer::new(
            Arc::clone(&parameters),
            consumer.register(context.memory_pool()),
        ),
        input_rows: counter("input_rows"),
        gather_time: work.gather_time.clone(),
    };
    let mut filler = Filler::new(parameters, context.session_config().batch_size());
    let batches = gathering
        .chunks()
        .map_ok(move |chunk| {
            let work = Arc::clone(&work);
            let task = SpawnedTask::spawn_blocking(move || work.buckets(chunk));
            async move {
                let joined = task.join_unwind().await;
                joined.map_err(|error| DataFusionError::ExecutionJoin(Box::new(error)))?
            }
        })
        .try_buffered(CALLS)
        .map(move |buckets| Ok::<_, DataFusionError>(stream::iter(filler.batches(buckets?)?)))
        .try_flatten()
        .map_ok(move |batch| batch.record_output(&baseline));
    Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
}

/// The input, and what is gathered of it.
struct Gathering {
    input: stream::Fuse<SendableRecordBatchStream>,
    gatherer: Gatherer,
    input_rows: Count,
    gather_time: Time,
}

impl Gathering {
    fn chunks(self) -> impl Stream<Item = Result<Chunk>> {
        stream::try_unfold(self, |mut gathering| async move {
            let chunk = gathering.next().await?;
            Ok(chunk.map(|chunk| (chunk, gathering)))
        })
    }

    async fn next(&mut self) -> Result<Option<Chunk>> {
        loop {
            if let Some(chunk) = self.gatherer.next_chunk() {
                return Ok(Some(chunk));
            }
            let Some(batch) = self.input.next().await.transpose()? else {
                return Ok(self.gatherer.finish());
            };
            let _timer = self.gather_time.timer();
            self.input_rows.add(batch.num_rows());
            self.gatherer.push(&batch)?;
        }
    }
}
