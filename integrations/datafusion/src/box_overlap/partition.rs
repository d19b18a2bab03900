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
use super::boxes::AnyBoxes;
use super::gather::{Gathered, Gatherer, memory_size};
use super::output::{Send, Sink};
use super::parameters::{BoxJoinType, BoxOverlapParameters, Placement};
use super::schema::Columns;
use super::search::{ROW_BYTES, Search, Side};
use crate::config;
use crate::error::external;

const NAME: &str = "BoxOverlapExec";

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
        let any = AnyBoxes::new(boxes, &rows.batch, rows.first_row)?;
        let search = any.copied_bytes() + rows.batch.num_rows() * ROW_BYTES;
        rows.reservation
            .try_resize(memory_size(&rows.batch) + search)?;
        Ok(Loaded {
            side: Side {
                columns: rows.batch.columns().to_vec(),
                rows: rows.batch.num_rows(),
                boxes: any,
            },
            reservation: rows.reservation,
        })
    }
}

/// One partition of a [`BoxOverlapExec`](super::BoxOverlapExec).
pub struct Partition {
    parameters: BoxOverlapParameters,
    search: Search,
    pool: Arc<dyn MemoryPool>,
    input_rows: Count,
    input_bytes: Count,
}

impl Partition {
    /// Prepares a partition, and opens its device.
    pub fn new(
        parameters: &BoxOverlapParameters,
        columns: Columns,
        send: Arc<Send>,
        partition: usize,
        metrics: &ExecutionPlanMetricsSet,
        context: &TaskContext,
    ) -> Result<Partition> {
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
            device: config::open(parameters.device).map_err(external(NAME))?,
            join: parameters.join,
            placement: parameters.placement.clone(),
            batch_pairs: parameters.batch_pairs,
            sink,
            searches: counter("searches"),
            search_time: time("search_time"),
        };
        Ok(Partition {
            parameters: parameters.clone(),
            search,
            pool: Arc::clone(context.memory_pool()),
            input_rows: counter("input_rows"),
            input_bytes: counter("input_bytes"),
        })
    }

    /// Reads the whole input that is replicated.
    pub fn build(&self, stream: SendableRecordBatchStream, boxes: BoxColumns) -> Build {
        let mut input = self.gatherer(stream);
        let load = async move {
            let rows = input.all().await?;
            blocking(move || Loaded::new(rows, &boxes)).await
        };
        load.map(|loaded| loaded.map(Arc::new).map_err(Arc::new))
            .boxed()
            .shared()
    }

    /// Searches the rows of an input together with the replicated input.
    pub async fn replicated(self, build: Build, probe: SendableRecordBatchStream) -> Result<()> {
        let mut probe = self.gatherer(probe);
        let build = build.await.map_err(DataFusionError::Shared)?;
        let build_is_left = matches!(self.parameters.placement, Placement::ReplicateLeft);
        let boxes = match build_is_left {
            true => &self.parameters.right,
            false => &self.parameters.left,
        };
        // Each search indexes the replicated side: it should not be much larger than the batch.
        let rows = self.parameters.batch_rows.max(build.side.rows);
        while let Some(rows) = probe.next(rows).await? {
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
        let mut inputs = [left, right].map(|stream| self.gatherer(stream));
        let inner = self.parameters.join == BoxJoinType::Inner;
        loop {
            let [left, right] = &mut inputs;
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

    fn gatherer(&self, input: SendableRecordBatchStream) -> Gatherer {
        // A `FairSpillPool` gives equal shares to consumers that can spill, and what these leave to
        // others. The sorts by bins would leave nothing.
        let sorted = matches!(self.parameters.placement, Placement::Tiles(_));
        let consumer = MemoryConsumer::new(NAME).with_can_spill(sorted);
        let counters = [&self.input_rows, &self.input_bytes];
        Gatherer::new(input, consumer, &self.pool, counters)
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
