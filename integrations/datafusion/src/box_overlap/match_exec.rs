//! The plan node that decides about the left rows of joins by tiles.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{AsArray, BooleanArray, RecordBatch, UInt8Array};
use datafusion::arrow::compute::filter_record_batch;
use datafusion::arrow::datatypes::{DataType, Schema, SchemaRef, ToByteSlice, UInt8Type};
use datafusion::common::{Result, internal_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{Distribution, EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::distribution_requirements::InputDistributionRequirements;
use datafusion::physical_plan::execution_plan::EmissionType;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning,
    PlanProperties,
};
use futures::{StreamExt, stream};

use super::boxes::{AnyBoxes, with_boxes};
use super::output::state;
use super::parameters::{BoxJoinType, BoxMatchParameters};
use crate::memory::{Kept, compact};
use crate::node::common_methods;

/// Decides about the left rows of a left, semi or anti join by tiles.
///
/// A left row whose box touches tiles of several bins may have a partner in any of them. Only its
/// own bin, that of the box's lower corner, reports the row: as a candidate if it has no partner
/// there. The other bins report a witness if it has a partner there. Whether a row has a partner
/// depends on its box alone, so rows need no identity: the rows are partitioned by their boxes, and
/// a candidate has a partner if there is a witness with the same box.
///
/// Rows that are decided pass through. Candidates and the boxes of witnesses wait in memory until
/// the input ends.
#[derive(Debug)]
pub struct BoxMatchExec {
    parameters: BoxMatchParameters,
    input: Arc<dyn ExecutionPlan>,
    boxes: Vec<Arc<dyn PhysicalExpr>>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl BoxMatchExec {
    /// Decides about the rows of an input, a [`BoxOverlapExec`](super::BoxOverlapExec) by tiles.
    ///
    /// # Errors
    /// An error if the input lacks the boxes or the column of states.
    pub fn try_new(parameters: BoxMatchParameters, input: Arc<dyn ExecutionPlan>) -> Result<Self> {
        let schema = input.schema();
        parameters.boxes.box_type(&schema)?;
        let fields = schema.fields();
        let fields = match fields.split_last() {
            Some((state, fields)) if *state.data_type() == DataType::UInt8 => fields,
            _ => return internal_err!("BoxMatchExec: the input has no column of states"),
        };
        if parameters.join == BoxJoinType::Inner {
            return internal_err!("BoxMatchExec: an inner join has nothing to decide");
        }
        let column = |&index: &usize| -> Arc<dyn PhysicalExpr> {
            Arc::new(Column::new(schema.field(index).name(), index))
        };
        let boxes = parameters.boxes.columns.iter().map(column).collect();
        let output = Schema::new_with_metadata(fields.to_vec(), schema.metadata().clone());
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::new(output)),
            Partitioning::UnknownPartitioning(input.output_partitioning().partition_count()),
            EmissionType::Both,
            input.boundedness(),
        );
        Ok(BoxMatchExec {
            parameters,
            input,
            boxes,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        })
    }

    /// Returns the parameters.
    pub fn parameters(&self) -> &BoxMatchParameters {
        &self.parameters
    }
}

impl DisplayAs for BoxMatchExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(
            f,
            "BoxMatchExec: join={:?}, boxes={}",
            self.parameters.join,
            self.parameters.boxes.describe(&self.input.schema())
        )
    }
}

impl ExecutionPlan for BoxMatchExec {
    common_methods!("BoxMatchExec", inputs: [input], expressions: [boxes]);

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        InputDistributionRequirements::new(vec![Distribution::KeyPartitioned(self.boxes.clone())])
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let matcher = Matcher {
            parameters: self.parameters.clone(),
            schema: self.schema(),
            reservation: MemoryConsumer::new("BoxMatchExec").register(context.memory_pool()),
            input: self.input.execute(partition, context)?,
            candidates: Vec::new(),
            kept: Kept::default(),
            witnesses: HashSet::new(),
            baseline: BaselineMetrics::new(&self.metrics, partition),
        };
        let batches = stream::try_unfold(matcher, async |mut matcher| {
            let batch = matcher.next().await?;
            Ok(batch.map(|batch| (batch, matcher)))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            self.schema(),
            batches,
        )))
    }
}

/// The work of one partition.
struct Matcher {
    parameters: BoxMatchParameters,
    schema: SchemaRef,
    reservation: MemoryReservation,
    input: SendableRecordBatchStream,
    candidates: Vec<RecordBatch>,
    /// The memory of the candidates.
    kept: Kept,
    /// The numbers of boxes with a partner.
    witnesses: HashSet<Box<[u8]>>,
    baseline: BaselineMetrics,
}

impl Matcher {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        while let Some(batch) = self.input.next().await.transpose()? {
            let time = self.baseline.elapsed_compute().clone();
            let _timer = time.timer();
            let states = batch.column(batch.num_columns() - 1);
            let states = states.as_primitive::<UInt8Type>();
            let batch = batch.project(&(0..batch.num_columns() - 1).collect::<Vec<_>>())?;
            self.keep_candidates(&with_state(&batch, states, state::CANDIDATE)?)?;
            self.keep_witnesses(&with_state(&batch, states, state::WITNESS)?)?;
            let done = with_state(&batch, states, state::DONE)?;
            if done.num_rows() > 0 {
                return self.output(&done).map(Some);
            }
        }
        while let Some(batch) = self.candidates.pop() {
            let time = self.baseline.elapsed_compute().clone();
            let _timer = time.timer();
            let wanted = self.parameters.join == BoxJoinType::LeftSemi;
            let mut keep = Vec::with_capacity(batch.num_rows());
            self.each_box(&batch, |numbers| {
                keep.push(self.witnesses.contains(numbers) == wanted);
                Ok(())
            })?;
            let decided = filter_record_batch(&batch, &BooleanArray::from(keep))?;
            if decided.num_rows() > 0 {
                return self.output(&decided).map(Some);
            }
        }
        Ok(None)
    }

    /// Gives a batch the schema of the output, in which the columns of left joins may be null.
    fn output(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        self.baseline.record_output(batch.num_rows());
        let columns = batch.columns().to_vec();
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }

    fn keep_candidates(&mut self, batch: &RecordBatch) -> Result<()> {
        if batch.num_rows() > 0 {
            // Each batch has its text for itself, but dictionaries may be those of other batches.
            let columns = batch.columns().iter().cloned().map(compact).collect();
            let batch = RecordBatch::try_new(batch.schema(), columns)?;
            self.reservation.try_grow(self.kept.add(&batch)?)?;
            self.candidates.push(batch);
        }
        Ok(())
    }

    fn keep_witnesses(&mut self, batch: &RecordBatch) -> Result<()> {
        /// A pointer, a length and the table's own byte, at a load of one half; and what the
        /// allocator adds.
        const ENTRY: usize = 2 * 17 + 16;
        let mut witnesses = std::mem::take(&mut self.witnesses);
        self.each_box(batch, |numbers| {
            if !witnesses.contains(numbers) {
                self.reservation.try_grow(numbers.len() + ENTRY)?;
                witnesses.insert(numbers.into());
            }
            Ok(())
        })?;
        self.witnesses = witnesses;
        Ok(())
    }

    /// Passes the bytes of each row's box, none of which is null.
    fn each_box(
        &self,
        batch: &RecordBatch,
        mut work: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let boxes = AnyBoxes::new(&self.parameters.boxes, batch, 0)?;
        with_boxes!(&boxes, boxes => {
            (0..boxes.len()).try_for_each(|index| work(boxes.get(index).to_byte_slice()))
        })
    }
}

/// Returns the rows with a state.
fn with_state(batch: &RecordBatch, states: &UInt8Array, state: u8) -> Result<RecordBatch> {
    let wanted = states.values().iter().map(|&other| other == state);
    let wanted: BooleanArray = wanted.map(Some).collect();
    Ok(filter_record_batch(batch, &wanted)?)
}
