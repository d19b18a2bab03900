//! The work of one partition of a join: reading both inputs, and one search after another.

use std::sync::Arc;

use datafusion::common::runtime::SpawnedTask;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::metrics::{
    BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder,
};
use futures::FutureExt;
use futures::future::{BoxFuture, Shared};

use super::box_type::BoxColumns;
use super::gather::{Gathered, Gatherer};
use super::output::{Send, Sink};
use super::parameters::{BoxJoinType, BoxOverlapParameters, EXEC_NAME, Placement};
use super::schema::Columns;
use super::search::{PAIR_BYTES, ROW_BYTES, Search, Side};
use crate::memory;

/// The replicated input, as soon as it is read.
pub type Build = Shared<BoxFuture<'static, Result<Arc<Loaded>, Arc<DataFusionError>>>>;

/// Rows in memory that is reserved for them.
#[derive(Debug)]
pub struct Loaded {
    side: Side,
    reservation: MemoryReservation,
}

impl Loaded {
    fn new(rows: Gathered, boxes: &BoxColumns) -> Result<Loaded> {
        let Gathered {
            rows,
            first_row,
            bytes,
            reservation,
        } = rows;
        let boxes = rows.boxes(boxes, first_row)?;
        // The boxes of several batches were joined, if they were not copied one by one.
        let copied = boxes.copied_bytes().max(rows.joined_bytes(&boxes));
        let needed = bytes + copied + rows.len() * ROW_BYTES;
        reservation.shrink(reservation.size().saturating_sub(needed));
        Ok(Loaded {
            side: Side { rows, boxes },
            reservation,
        })
    }
}

/// One partition of a [`BoxOverlapExec`](super::BoxOverlapExec).
pub struct Partition {
    parameters: BoxOverlapParameters,
    search: Search,
    /// The number of partitions that search at the same time.
    partitions: usize,
    pool: Arc<dyn MemoryPool>,
    input_rows: Count,
    input_bytes: Count,
}

impl Partition {
    /// Prepares a partition, of `[its number, their number]`.
    pub fn new(
        parameters: &BoxOverlapParameters,
        columns: Columns,
        send: Arc<Send>,
        [partition, partitions]: [usize; 2],
        metrics: &ExecutionPlanMetricsSet,
        context: &TaskContext,
    ) -> Partition {
        let counter = |name| MetricBuilder::new(metrics).counter(name, partition);
        let time = |name| MetricBuilder::new(metrics).subset_time(name, partition);
        let sink = Sink {
            columns,
            send,
            batch_rows: context.session_config().batch_size(),
            baseline: BaselineMetrics::new(metrics, partition),
            take_time: time("take_time"),
        };
        let search = Search {
            device: parameters.device,
            join: parameters.join,
            placement: parameters.placement.clone(),
            batch_pairs: parameters.batch_pairs,
            sink,
            searches: counter("searches"),
            search_time: time("search_time"),
        };
        Partition {
            parameters: parameters.clone(),
            search,
            partitions,
            pool: Arc::clone(context.memory_pool()),
            input_rows: counter("input_rows"),
            input_bytes: counter("input_bytes"),
        }
    }

    /// Reads the whole input that is replicated.
    pub fn build(&self, stream: SendableRecordBatchStream, boxes: BoxColumns) -> Build {
        let input = self.gatherer(stream, &boxes);
        let load = async move {
            let rows = input?.all().await?;
            blocking(move || Loaded::new(rows, &boxes)).await
        };
        load.map(|loaded| loaded.map(Arc::new).map_err(Arc::new))
            .boxed()
            .shared()
    }

    /// Searches the rows of an input together with the replicated input.
    pub async fn replicated(
        mut self,
        build: Build,
        probe: SendableRecordBatchStream,
    ) -> Result<()> {
        let build = build.await.map_err(DataFusionError::Shared)?;
        let build_is_left = matches!(self.parameters.placement, Placement::ReplicateLeft);
        let boxes = match build_is_left {
            true => &self.parameters.right,
            false => &self.parameters.left,
        };
        let mut probe = self.gatherer(probe, boxes)?;
        // A partition that took all memory would leave none for the first rows of the others.
        let share = memory::share(&*self.pool, self.partitions);
        let pairs = self.search.batch_pairs.min(share / PAIR_BYTES);
        self.search.batch_pairs = pairs.max(1);
        // Each search indexes the replicated side: it should not be much larger than the batch.
        let rows = self.parameters.batch_rows.max(build.side.rows.len()).max(1);
        while let Some(rows) = probe.next(rows, share).await? {
            let (search, build, boxes) = (self.search.clone(), Arc::clone(&build), boxes.clone());
            blocking(move || {
                let probe = Loaded::new(rows, &boxes)?;
                let (left, right) = match build_is_left {
                    true => (&build.side, &probe.side),
                    false => (&probe.side, &build.side),
                };
                search.run(left, right, 0, &probe.reservation)
            })
            .await?;
        }
        Ok(())
    }

    /// Searches the bins of both inputs, one after the other.
    pub async fn by_bins(
        self,
        left: SendableRecordBatchStream,
        right: SendableRecordBatchStream,
    ) -> Result<()> {
        let mut left_input = self.gatherer(left, &self.parameters.left)?;
        let mut right_input = self.gatherer(right, &self.parameters.right)?;
        let inner = self.parameters.join == BoxJoinType::Inner;
        loop {
            let (left, right) = (&mut left_input, &mut right_input);
            let bin = match (left.peek_bin().await?, right.peek_bin().await?) {
                (Some(left), Some(right)) => left.min(right),
                // Rows without a partner in this partition may have one in another.
                (Some(left), None) if !inner => left,
                _ => return Ok(()),
            };
            let (left, right) = (left.next_bin(bin).await?, right.next_bin(bin).await?);
            let (search, parameters) = (self.search.clone(), self.parameters.clone());
            blocking(move || {
                let left = Loaded::new(left, &parameters.left)?;
                let right = Loaded::new(right, &parameters.right)?;
                search.run(&left.side, &right.side, bin, &left.reservation)
            })
            .await?;
        }
    }

    fn gatherer(&self, input: SendableRecordBatchStream, boxes: &BoxColumns) -> Result<Gatherer> {
        // A `FairSpillPool` gives equal shares to consumers that can spill, and what these leave to
        // others. The sorts by bins would leave nothing. `memory::grow` takes it as a sign of them.
        let sorted = matches!(self.parameters.placement, Placement::Tiles(_));
        let consumer = MemoryConsumer::new(EXEC_NAME).with_can_spill(sorted);
        let counters = [&self.input_rows, &self.input_bytes];
        Gatherer::new(input, boxes, consumer, &self.pool, counters)
    }
}

/// Runs work that blocks, such as kernels, on a thread for such work.
async fn blocking<R: std::marker::Send + 'static>(
    work: impl FnOnce() -> Result<R> + std::marker::Send + 'static,
) -> Result<R> {
    match SpawnedTask::spawn_blocking(work).join_unwind().await {
        Ok(result) => result,
        Err(error) => Err(DataFusionError::ExecutionJoin(Box::new(error))),
    }
}
