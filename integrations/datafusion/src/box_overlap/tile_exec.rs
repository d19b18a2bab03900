//! The plan node that copies rows to the bins of their boxes.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::{Int32Array, RecordBatch, UInt32Array};
use datafusion::arrow::compute::take_arrays;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::EmissionType;
use datafusion::physical_plan::metrics::{
    BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning,
    PlanProperties,
};
use futures::{StreamExt, stream};

use super::boxes::{AnyBoxes, with_boxes};
use super::parameters::BoxTileParameters;
use crate::node::common_methods;

/// The name of the column of bins.
const BIN: &str = "box_overlap_bin";

/// Copies each row to the bins of its box: the input's columns, and the bin at the end.
///
/// Rows with a null box go to bin 0 or are dropped, as
/// [`keep_nulls`](BoxTileParameters::keep_nulls) says. The boxes are checked.
///
/// Metrics: `input_rows`; `output_rows` are the copies.
#[derive(Debug)]
pub struct BoxTileExec {
    parameters: BoxTileParameters,
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl BoxTileExec {
    /// Copies the rows of an input.
    ///
    /// # Errors
    /// A plan error if the columns are no boxes, or for a wrong tile size.
    pub fn try_new(parameters: BoxTileParameters, input: Arc<dyn ExecutionPlan>) -> Result<Self> {
        let schema = input.schema();
        let box_type = parameters.boxes.box_type(&schema)?;
        parameters.tiling.check(box_type.width / 2)?;
        let bin = Arc::new(Field::new(BIN, DataType::Int32, false));
        let fields: Vec<_> = schema.fields().iter().cloned().chain([bin]).collect();
        let schema = Schema::new_with_metadata(fields, schema.metadata().clone());
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::new(schema)),
            Partitioning::UnknownPartitioning(input.output_partitioning().partition_count()),
            EmissionType::Incremental,
            input.boundedness(),
        );
        Ok(BoxTileExec {
            parameters,
            input,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        })
    }

    /// Returns the parameters.
    pub fn parameters(&self) -> &BoxTileParameters {
        &self.parameters
    }
}

impl DisplayAs for BoxTileExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(
            f,
            "BoxTileExec: boxes={}, size={:?}, bins={}, keep_nulls={}",
            self.parameters.boxes.describe(&self.input.schema()),
            self.parameters.tiling.size,
            self.parameters.tiling.bins,
            self.parameters.keep_nulls
        )
    }
}

impl ExecutionPlan for BoxTileExec {
    common_methods!("BoxTileExec", inputs: [input], expressions: []);

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let tiler = Tiler {
            parameters: self.parameters.clone(),
            schema: self.schema(),
            batch_rows: context.session_config().batch_size(),
            input: self.input.execute(partition, context)?,
            current: None,
            first_row: 0,
            input_rows: MetricBuilder::new(&self.metrics).counter("input_rows", partition),
            baseline: BaselineMetrics::new(&self.metrics, partition),
        };
        let batches = stream::try_unfold(tiler, async |mut tiler| {
            let batch = tiler.next().await?;
            Ok(batch.map(|batch| (batch, tiler)))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            self.schema(),
            batches,
        )))
    }
}

/// The work of one partition.
struct Tiler {
    parameters: BoxTileParameters,
    schema: SchemaRef,
    batch_rows: usize,
    input: SendableRecordBatchStream,
    current: Option<Current>,
    first_row: u64,
    input_rows: Count,
    baseline: BaselineMetrics,
}

/// A batch of which some rows were copied.
struct Current {
    batch: RecordBatch,
    boxes: AnyBoxes,
    /// The next box.
    next_box: usize,
    /// The next row.
    next_row: u32,
}

impl Tiler {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            let Some(current) = &mut self.current else {
                let Some(batch) = self.input.next().await.transpose()? else {
                    return Ok(None);
                };
                self.input_rows.add(batch.num_rows());
                let _timer = self.baseline.elapsed_compute().timer();
                let boxes = AnyBoxes::new(&self.parameters.boxes, &batch, self.first_row)?;
                self.first_row += batch.num_rows() as u64;
                self.current = Some(Current {
                    batch,
                    boxes,
                    next_box: 0,
                    next_row: 0,
                });
                continue;
            };
            let _timer = self.baseline.elapsed_compute().timer();
            let (rows, bins) = current.copies(&self.parameters, self.batch_rows);
            if rows.is_empty() {
                self.current = None;
                continue;
            }
            let mut columns = take_arrays(current.batch.columns(), &UInt32Array::from(rows), None)?;
            columns.push(Arc::new(Int32Array::from(bins)));
            let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns)?;
            self.baseline.record_output(batch.num_rows());
            return Ok(Some(batch));
        }
    }
}

impl Current {
    /// Returns the rows of the next copies, and their bins: about `most`, none at the end.
    fn copies(&mut self, parameters: &BoxTileParameters, most: usize) -> (Vec<u32>, Vec<i32>) {
        let (mut rows, mut bins, mut own) = (Vec::new(), Vec::new(), Vec::new());
        let push_nulls = |rows: &mut Vec<u32>, bins: &mut Vec<i32>, nulls: Range<u32>| {
            if parameters.keep_nulls {
                bins.extend(nulls.clone().map(|_| 0));
                rows.extend(nulls);
            }
        };
        with_boxes!(&self.boxes, boxes => {
            while rows.len() < most && self.next_box < boxes.len() {
                let row = boxes.row(self.next_box);
                push_nulls(&mut rows, &mut bins, self.next_row..row);
                parameters.tiling.bins(boxes.get(self.next_box), &mut own);
                rows.extend(own.iter().map(|_| row));
                bins.extend_from_slice(&own);
                self.next_box += 1;
                self.next_row = row + 1;
            }
            if self.next_box == boxes.len() {
                let end = self.batch.num_rows() as u32;
                push_nulls(&mut rows, &mut bins, self.next_row..end);
                self.next_row = end;
            }
        });
        (rows, bins)
    }
}
