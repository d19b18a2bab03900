//! The engine's sort, which spills to disk, for points that do not fit in memory.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::LexOrdering;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::stream::{EmptyRecordBatchStream, RecordBatchStreamAdapter};
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use futures::TryStreamExt;

use super::NAME;

/// Sorts a stream.
pub(super) fn sort(
    order: LexOrdering,
    input: SendableRecordBatchStream,
    context: Arc<TaskContext>,
) -> Result<SendableRecordBatchStream> {
    let schema = input.schema();
    let source = Source {
        schema: Arc::clone(&schema),
        stream: Mutex::new(Some(input)),
    };
    let output_schema = Arc::clone(&schema);
    let table = StreamingTableExec::try_new(schema, vec![Arc::new(source)], None, [], false, None)?;
    let sorted = SortExec::new(order, Arc::new(table)).execute(0, context)?;
    let sorted = sorted.map_err(explained);
    Ok(Box::pin(RecordBatchStreamAdapter::new(
        output_schema,
        sorted,
    )))
}

/// Names the operator in an error of too little memory. The engine's own advice names options that
/// an executor of a cluster does not have.
fn explained(error: DataFusionError) -> DataFusionError {
    let error = match error {
        DataFusionError::Context(_, cause) if is_exhausted(&cause) => *cause,
        other => other,
    };
    match is_exhausted(&error) {
        true => error.context(format!(
            "{NAME}: the memory does not suffice to sort the points of a partition on disk: fewer partitions at a time take less"
        )),
        false => error,
    }
}

fn is_exhausted(error: &DataFusionError) -> bool {
    matches!(error, DataFusionError::ResourcesExhausted(_))
}

/// A stream as the only partition of a table that is read once.
struct Source {
    schema: SchemaRef,
    stream: Mutex<Option<SendableRecordBatchStream>>,
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the points of a partition")
    }
}

impl PartitionStream for Source {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        stream
            .take()
            .unwrap_or_else(|| Box::pin(EmptyRecordBatchStream::new(Arc::clone(&self.schema))))
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{Int64Array, RecordBatch};
    use datafusion::execution::runtime_env::RuntimeEnvBuilder;
    use datafusion::physical_expr::PhysicalSortExpr;
    use datafusion::physical_expr::expressions::Column;
    use futures::stream;

    use super::*;

    #[tokio::test]
    async fn too_little_memory_names_the_operator() {
        let column = Arc::new(Int64Array::from_iter_values(0..10_000));
        let batch = RecordBatch::try_from_iter([("t", column as _)]).unwrap();
        let schema = batch.schema();
        let input = RecordBatchStreamAdapter::new(schema, stream::iter([Ok(batch)]));
        let runtime = RuntimeEnvBuilder::new().with_memory_limit(10_000, 1.0);
        let context = TaskContext::default().with_runtime(runtime.build_arc().unwrap());
        let key = PhysicalSortExpr::new_default(Arc::new(Column::new("t", 0)));
        let order = LexOrdering::new([key]).unwrap();
        let sorted = async {
            sort(order, Box::pin(input), Arc::new(context))?
                .try_next()
                .await
        };
        let error = sorted.await.unwrap_err().strip_backtrace();
        assert!(
            error.starts_with("SeriesSortExec: the memory does not suffice"),
            "{error}"
        );
        assert!(error.contains("Resources exhausted"), "{error}");
        assert!(!error.contains("datafusion."), "{error}");
    }
}
