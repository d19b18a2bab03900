//! The work of one partition.

use std::sync::Arc;

use datafusion::common::runtime::SpawnedTask;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::LexOrdering;
use datafusion::physical_plan::coop::make_cooperative;
use datafusion::physical_plan::metrics::{
    BaselineMetrics, ExecutionPlanMetricsSet, MetricBuilder, RecordOutput,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{StreamExt, TryStreamExt, stream};

use super::super::parameters::ColumnNames;
use super::super::piece::Piece;
use super::NAME;
use super::external;
use super::rows::Rows;
use crate::memory::share;

/// Returns the sorted points of a partition. Dropping the stream stops the work, except that a sort
/// that has begun ends first, on a thread of its own.
pub(super) fn run(
    names: &ColumnNames,
    order: LexOrdering,
    mut input: SendableRecordBatchStream,
    (partition, partitions): (usize, usize),
    context: Arc<TaskContext>,
    metrics: &ExecutionPlanMetricsSet,
) -> Result<SendableRecordBatchStream> {
    let baseline = BaselineMetrics::new(metrics, partition);
    let external_sorts = MetricBuilder::new(metrics).counter("external_sorts", partition);
    let pool = context.memory_pool();
    let reservation = MemoryConsumer::new(format!("{NAME}[{partition}]")).register(pool);
    let budget = share(pool.as_ref(), partitions);
    let (schema, names) = (input.schema(), names.clone());
    let output_schema = Arc::clone(&schema);
    let mut rows = Rows::new(Arc::clone(&schema), reservation, budget)?;
    let compute = baseline.elapsed_compute().clone();

    let sorted = async move {
        while let Some(batch) = input.next().await.transpose()? {
            let _timer = compute.timer();
            let Some(piece) = Piece::new(&names, &batch)? else {
                continue;
            };
            if !rows.push(piece)? {
                external_sorts.add(1);
                let all = stream::iter(rows.into_batches()?.chain([Ok(batch)])).chain(input);
                let all = RecordBatchStreamAdapter::new(Arc::clone(&output_schema), all);
                return external::sort(order, Box::pin(all), context);
            }
        }
        // A large partition takes seconds, in which other tasks go on.
        let sorting = compute.timer();
        let task = SpawnedTask::spawn_blocking(|| rows.sort());
        let joined = task.join_unwind().await;
        let mut sorted =
            joined.map_err(|error| DataFusionError::ExecutionJoin(Box::new(error)))??;
        drop(sorting);
        let batch_size = context.session_config().batch_size();
        let batches = std::iter::from_fn(move || {
            let _timer = compute.timer();
            sorted.next(batch_size)
        });
        let batches = RecordBatchStreamAdapter::new(output_schema, stream::iter(batches));
        Ok(Box::pin(batches) as SendableRecordBatchStream)
    };
    let batches = stream::once(sorted)
        .try_flatten()
        .map_ok(move |batch| batch.record_output(&baseline));
    // Sorted points are returned without waiting for the input: other tasks have to get their turn.
    Ok(make_cooperative(Box::pin(RecordBatchStreamAdapter::new(
        schema, batches,
    ))))
}
