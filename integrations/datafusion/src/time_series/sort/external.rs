//! The engine's sort, which spills to disk, for points that do not fit in memory.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::LexOrdering;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::stream::EmptyRecordBatchStream;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};

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
    let table = StreamingTableExec::try_new(schema, vec![Arc::new(source)], None, [], false, None)?;
    SortExec::new(order, Arc::new(table)).execute(0, context)
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
