//! The work of one partition: gathering, calls of the library, and filling.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryPool};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::coop::make_cooperative;
use datafusion::physical_plan::metrics::{
    BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, RecordOutput, Time,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{Stream, StreamExt, TryStreamExt, stream};

use super::compute::{Buckets, Work};
use super::fill::Filler;
use super::gather::{Chunk, Gatherer};
use super::parameters::{EXEC_NAME, TimeBucketParameters};
use super::piece::Piece;

/// Returns the output of a partition. Dropping the stream stops the work: a call of the library that
/// has begun ends first, on a thread of its own.
pub(super) fn run(
    parameters: &TimeBucketParameters,
    schema: SchemaRef,
    input: SendableRecordBatchStream,
    (partition, partitions): (usize, usize),
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
        input_bytes: counter("input_bytes"),
        calls: counter("calls"),
        gather_time: time("gather_time"),
        kernel_time: time("kernel_time"),
        copy_time: time("copy_time"),
    });
    let consumer = MemoryConsumer::new(format!("{EXEC_NAME}[{partition}]"));
    let gathering = Gathering {
        input: input.fuse(),
        parameters: Arc::clone(&parameters),
        gatherer: Gatherer::new(
            Arc::clone(&parameters),
            consumer.register(context.memory_pool()),
            budget(context.memory_pool().as_ref(), partitions),
        ),
        waiting: None,
        input_rows: counter("input_rows"),
        gather_time: work.gather_time.clone(),
    };
    let batch_size = context.session_config().batch_size();
    let mut filler = Filler::new(parameters, Arc::clone(&schema), batch_size);
    let calls = Calls {
        gathering,
        work,
        running: None,
        pool: Arc::clone(context.memory_pool()),
        waits: 0,
    };
    let batches = calls
        .buckets()
        .map(move |buckets| Ok::<_, DataFusionError>(stream::iter(filler.batches(buckets?)?)))
        .try_flatten()
        .map_ok(move |batch| batch.record_output(&baseline));
    // Filling a long gap does not read the input, whose waiting lets other tasks run.
    Ok(make_cooperative(Box::pin(RecordBatchStreamAdapter::new(
        schema, batches,
    ))))
}

/// The calls of the library, one at a time. While one computes, the rows of the next are gathered.
struct Calls {
    gathering: Gathering,
    work: Arc<Work>,
    running: Option<SpawnedTask<Result<Buckets>>>,
    pool: Arc<dyn MemoryPool>,
    /// The number of waits for memory since the last call.
    waits: usize,
}

/// Returns the memory of a partition's chunk, of which there are three at most: gathered, computed
/// and returned. A quarter of the pool is left to the operators before and after this one.
fn budget(pool: &dyn MemoryPool, partitions: usize) -> usize {
    match pool.memory_limit() {
        MemoryLimit::Finite(bytes) => bytes / 4 / partitions.max(1),
        MemoryLimit::Infinite | MemoryLimit::Unknown => usize::MAX,
    }
}

impl Calls {
    fn buckets(self) -> impl Stream<Item = Result<Buckets>> {
        stream::try_unfold(self, |mut calls| async move {
            let buckets = calls.next().await?;
            Ok(buckets.map(|buckets| (buckets, calls)))
        })
    }

    async fn next(&mut self) -> Result<Option<Buckets>> {
        loop {
            let gathered = self.gathering.next().await?;
            let done = match self.running.take() {
                Some(task) => {
                    let joined = task.join_unwind().await;
                    let joined =
                        joined.map_err(|error| DataFusionError::ExecutionJoin(Box::new(error)));
                    Some(joined??)
                }
                None => None,
            };
            let chunk = match gathered {
                Gathered::Chunk(chunk) => chunk,
                Gathered::End => return Ok(done),
                // The end of a call frees memory, and so does a call of the rows that there are.
                Gathered::Exhausted(_) if done.is_some() => return Ok(done),
                Gathered::Exhausted(error) => match self.gathering.gatherer.next_small_chunk()? {
                    Some(chunk) => chunk,
                    None => {
                        self.wait_for_memory(error).await?;
                        continue;
                    }
                },
            };
            self.waits = 0;
            let work = Arc::clone(&self.work);
            self.running = Some(SpawnedTask::spawn_blocking(move || work.buckets(chunk)));
            if done.is_some() {
                return Ok(done);
            }
        }
    }

    /// Waits a moment, in which calls of other partitions may end.
    ///
    /// # Errors
    /// The error of the pool if there was no memory for long, or if nobody else has any.
    async fn wait_for_memory(&mut self, error: DataFusionError) -> Result<()> {
        const WAITS: usize = 100;
        const WAIT: Duration = Duration::from_millis(20);
        let gatherer = &self.gathering.gatherer;
        if self.waits == WAITS || self.pool.reserved() <= gatherer.reserved() {
            return Err(gatherer.exhausted(error));
        }
        self.waits += 1;
        // The runtime may have no timer.
        let task = SpawnedTask::spawn_blocking(|| thread::sleep(WAIT));
        let joined = task.join_unwind().await;
        joined.map_err(|error| DataFusionError::ExecutionJoin(Box::new(error)))
    }
}

/// The input, and what is gathered of it.
struct Gathering {
    input: stream::Fuse<SendableRecordBatchStream>,
    parameters: Arc<TimeBucketParameters>,
    gatherer: Gatherer,
    /// Rows for which the memory did not suffice.
    waiting: Option<Piece>,
    input_rows: Count,
    gather_time: Time,
}

enum Gathered {
    Chunk(Chunk),
    /// The memory does not suffice for more rows.
    Exhausted(DataFusionError),
    End,
}

impl Gathering {
    async fn next(&mut self) -> Result<Gathered> {
        loop {
            if let Some(chunk) = self.gatherer.next_chunk()? {
                return Ok(Gathered::Chunk(chunk));
            }
            let piece = match self.waiting.take() {
                Some(piece) => Some(piece),
                None => {
                    let Some(batch) = self.input.next().await.transpose()? else {
                        let rest = self.gatherer.finish()?;
                        return Ok(rest.map_or(Gathered::End, Gathered::Chunk));
                    };
                    let _timer = self.gather_time.timer();
                    self.input_rows.add(batch.num_rows());
                    Piece::new(&self.parameters.names, &batch)?
                }
            };
            let Some(piece) = piece else {
                continue;
            };
            let _timer = self.gather_time.timer();
            if let Some((piece, error)) = self.gatherer.push(piece)? {
                self.waiting = Some(piece);
                return Ok(Gathered::Exhausted(error));
            }
        }
    }
}
