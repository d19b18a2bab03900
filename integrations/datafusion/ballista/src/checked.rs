//! Reads between stages that count: a task fails if it reads other rows than were written for it.

use std::fmt;
use std::sync::Arc;

use ballista_core::execution_plans::{ShuffleReaderExec, stats_for_partitions};
use ballista_core::serde::scheduler::PartitionLocation;
use datafusion::arrow::array::RecordBatch;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, exec_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::{Stream, StreamExt};

/// Returns the rows that the writers counted at `locations`, or `None` if one of them did not count.
pub(crate) fn rows_of(locations: &[PartitionLocation]) -> Option<u64> {
    let statistics =
        stats_for_partitions(0, locations.iter().map(|location| location.partition_stats));
    statistics.num_rows.get_value().map(|&rows| rows as u64)
}

/// Puts a [`CheckedReadExec`] above `node` if it reads another stage.
///
/// # Errors
/// If the node would read a task's output twice.
pub(crate) fn check_read(node: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    match node.downcast_ref::<ShuffleReaderExec>() {
        Some(reader) => Ok(Arc::new(CheckedReadExec::try_new(reader)?)),
        None => Ok(node),
    }
}

/// Passes on what a [`ShuffleReaderExec`] reads. Fails at the end if the number of rows differs from
/// the number that the writing tasks counted, or at once if a task's output is to be read twice.
///
/// A reader that stops early, below a `LIMIT`, is not counted. The node has no metrics: those of a
/// task are matched with the scheduler's plan by position, and that plan lacks this node.
#[derive(Debug)]
struct CheckedReadExec {
    stage: usize,
    broadcast: bool,
    /// The rows of each output partition.
    expected: Arc<[Option<u64>]>,
    input: Arc<dyn ExecutionPlan>,
}

impl CheckedReadExec {
    fn try_new(reader: &ShuffleReaderExec) -> Result<Self> {
        for locations in &reader.partition {
            let mut pieces: Vec<_> = locations
                .iter()
                .map(|location| {
                    let partition = location.partition_id.partition_id;
                    (partition, location.map_partition_id, location.file_id)
                })
                .collect();
            pieces.sort_unstable();
            if let Some([(partition, task, _), _]) =
                pieces.array_windows().find(|[left, right]| left == right)
            {
                return exec_err!(
                    "partition {partition} of task {task} of stage {} would be read twice",
                    reader.stage_id
                );
            }
        }
        Ok(Self {
            stage: reader.stage_id,
            broadcast: reader.broadcast,
            expected: reader.partition.iter().map(|all| rows_of(all)).collect(),
            input: Arc::new(reader.clone()),
        })
    }
}

impl DisplayAs for CheckedReadExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "CheckedReadExec: upstream_stage={}", self.stage)
    }
}

impl ExecutionPlan for CheckedReadExec {
    fn name(&self) -> &str {
        "CheckedReadExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(Self {
            stage: self.stage,
            broadcast: self.broadcast,
            expected: Arc::clone(&self.expected),
            input: children.swap_remove(0),
        }))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(
            children,
            ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute),
        )
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, context)?;
        // A broadcast has one list of locations, which every partition reads.
        let list = if self.broadcast { 0 } else { partition };
        let Some(&Some(expected)) = self.expected.get(list) else {
            return exec_err!(
                "the writers of stage {} did not count their rows",
                self.stage
            );
        };
        let what = format!("partition {partition} of stage {}", self.stage);
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            self.schema(),
            counted(input, expected, what),
        )))
    }
}

/// Passes on `input`, and ends with an error if it does not have `expected` rows.
pub(crate) fn counted(
    input: SendableRecordBatchStream,
    expected: u64,
    what: String,
) -> impl Stream<Item = Result<RecordBatch>> + Send {
    let start = (input, 0_u64, false);
    futures::stream::unfold(
        (start, what),
        move |((mut input, rows, done), what)| async move {
            if done {
                return None;
            }
            match input.next().await {
                Some(Ok(batch)) => {
                    let rows = rows + batch.num_rows() as u64;
                    Some((Ok(batch), ((input, rows, false), what)))
                }
                Some(Err(error)) => Some((Err(error), ((input, rows, true), what))),
                None if rows == expected => None,
                None => {
                    let error = exec_err!("{what} has {rows} rows and {expected} were written");
                    Some((error, ((input, rows, true), what)))
                }
            }
        },
    )
}

#[cfg(test)]
mod tests {
    use ballista_core::serde::scheduler::{
        ExecutorMetadata, ExecutorOperatingSystemSpecification, ExecutorSpecification, PartitionId,
        PartitionStats,
    };
    use datafusion::arrow::array::Int32Array;
    use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
    use datafusion::common::DataFusionError;
    use datafusion::physical_plan::Partitioning;
    use futures::TryStreamExt;

    use super::*;

    fn schema() -> SchemaRef {
        Arc::new(Schema::new(vec![Field::new("n", DataType::Int32, false)]))
    }

    /// Partition 0 of a task's output, as the scheduler sends it.
    fn location(task: usize, file: u64, rows: u64) -> PartitionLocation {
        PartitionLocation {
            map_partition_id: task,
            partition_id: PartitionId::new(&"job".into(), 1, 0),
            executor_meta: ExecutorMetadata {
                id: "executor".into(),
                host: "127.0.0.1".into(),
                port: 1,
                grpc_port: 2,
                specification: ExecutorSpecification::default(),
                os_info: ExecutorOperatingSystemSpecification::default(),
            },
            partition_stats: PartitionStats::new(Some(rows), Some(1), Some(8)),
            file_id: Some(file),
            is_sort_shuffle: true,
        }
    }

    fn read(locations: Vec<PartitionLocation>) -> Result<Arc<dyn ExecutionPlan>> {
        let partitioning = Partitioning::UnknownPartitioning(1);
        let reader = ShuffleReaderExec::try_new(1, vec![locations], schema(), partitioning)?;
        check_read(Arc::new(reader))
    }

    #[test]
    fn a_plan_that_reads_an_output_twice_is_refused() {
        let plan = read(vec![
            location(0, 0, 5),
            location(0, 1, 5),
            location(1, 2, 3),
        ])
        .unwrap();
        assert_eq!(plan.name(), "CheckedReadExec");
        let error = read(vec![
            location(0, 0, 5),
            location(1, 2, 3),
            location(0, 0, 5),
        ]);
        assert_eq!(
            error.unwrap_err().strip_backtrace(),
            "Execution error: partition 0 of task 0 of stage 1 would be read twice"
        );
    }

    /// Streams batches of 3 and 2 rows through the count of `expected` rows.
    async fn count(expected: u64) -> Result<usize> {
        let batches = [3, 2].map(|rows| {
            let column = Int32Array::from_iter_values(0..rows);
            RecordBatch::try_new(schema(), vec![Arc::new(column)]).map_err(DataFusionError::from)
        });
        let input = RecordBatchStreamAdapter::new(schema(), futures::stream::iter(batches));
        let counted = counted(Box::pin(input), expected, "part 7".to_owned());
        let batches: Vec<RecordBatch> = counted.try_collect().await?;
        Ok(batches.iter().map(RecordBatch::num_rows).sum())
    }

    #[tokio::test]
    async fn lost_and_added_rows_are_errors() {
        assert_eq!(count(5).await.unwrap(), 5);
        for expected in [0, 4, 6] {
            let error = count(expected).await.unwrap_err().strip_backtrace();
            let text = format!("Execution error: part 7 has 5 rows and {expected} were written");
            assert_eq!(error, text);
        }
    }

    #[test]
    fn rows_are_known_only_if_all_writers_counted() {
        let mut locations = vec![location(0, 0, 5), location(1, 1, 3)];
        assert_eq!(rows_of(&locations), Some(8));
        locations[1].partition_stats = PartitionStats::new(None, None, None);
        assert_eq!(rows_of(&locations), None);
    }
}
