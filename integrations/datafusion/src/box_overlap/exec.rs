//! The plan node that searches.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result, internal_err, plan_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{
    Distribution, EquivalenceProperties, LexOrdering, OrderingRequirements, PhysicalExpr,
    PhysicalSortExpr,
};
use datafusion::physical_plan::distribution_requirements::InputDistributionRequirements;
use datafusion::physical_plan::execution_plan::{
    Boundedness, ChildrenPropertiesMode, EmissionType, ReplaceChildrenOptions,
    apply_expression_roots,
};
use datafusion::physical_plan::joins::utils::build_join_schema;
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning,
    PlanProperties,
};

use super::parameters::{BoxJoinType, BoxOverlapParameters, Placement};
use super::partition::{Build, Partition};

/// The name of the column of [`state`](super::output::state).
const STATE: &str = "box_overlap_state";

/// A join of two inputs on their overlapping boxes.
///
/// If one side is replicated, it is collected whole, once for all partitions, and the other side is
/// read partition by partition, in batches as large as the replicated side or
/// [`batch_rows`](BoxOverlapParameters::batch_rows), whichever is larger: each batch is one search,
/// which indexes the replicated side.
///
/// By tiles, both inputs are [`BoxTileExec`](super::BoxTileExec)s, partitioned and sorted by the bin,
/// their last column. Each bin is one search, and only one bin of each partition is in memory. A left,
/// semi or anti join by tiles cannot decide about every row of its left input: it has another column
/// at the end, with which [`BoxMatchExec`](super::BoxMatchExec) decides.
///
/// Metrics: `input_rows` and `input_bytes` of both inputs, with the copies of boxes in several bins;
/// `searches`, the library's calls; `search_time`, the time in these calls, with the copies to and
/// from the device, which the library does not measure separately; `take_time`, the time in which
/// the CPU gathers the users' columns of the result.
#[derive(Debug)]
pub struct BoxOverlapExec {
    parameters: BoxOverlapParameters,
    left: Arc<dyn ExecutionPlan>,
    right: Arc<dyn ExecutionPlan>,
    /// The bins of both inputs, if they are joined by tiles.
    bins: Vec<Arc<dyn PhysicalExpr>>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
    build: Mutex<Option<Build>>,
}

impl BoxOverlapExec {
    /// Joins two inputs.
    ///
    /// # Errors
    /// A plan error if the columns are no boxes or the boxes of both inputs have different types,
    /// if a left, semi or anti join would replicate its left input, and for a wrong tile size.
    pub fn try_new(
        parameters: BoxOverlapParameters,
        left: Arc<dyn ExecutionPlan>,
        right: Arc<dyn ExecutionPlan>,
    ) -> Result<Self> {
        let types = [
            parameters.left.box_type(&left.schema())?,
            parameters.right.box_type(&right.schema())?,
        ];
        let [a, b] = &types;
        if a != b {
            return plan_err!(
                "box_overlap: the boxes of {} have {} numbers of {}, those of {} have {} of {}: cast \
                 one of them",
                parameters.left.table,
                a.width,
                a.coordinate,
                parameters.right.table,
                b.width,
                b.coordinate
            );
        }
        let mut bins = Vec::new();
        match &parameters.placement {
            Placement::ReplicateLeft if parameters.join != BoxJoinType::Inner => {
                return plan_err!(
                    "box_overlap: a {:?} join cannot replicate its left table: replicate the right \
                     table, or use tiles",
                    parameters.join
                );
            }
            Placement::ReplicateLeft | Placement::ReplicateRight => {}
            Placement::Tiles(tiling) => {
                tiling.check(a.width / 2)?;
                bins = vec![bin_column(&left)?, bin_column(&right)?];
            }
        }
        let schema = output_schema(&parameters, &left.schema(), &right.schema());
        let probe = match parameters.placement {
            Placement::ReplicateLeft => &right,
            _ => &left,
        };
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(probe.output_partitioning().partition_count()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Ok(BoxOverlapExec {
            parameters,
            left,
            right,
            bins,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
            build: Mutex::default(),
        })
    }

    /// Returns the parameters.
    pub fn parameters(&self) -> &BoxOverlapParameters {
        &self.parameters
    }

    /// Returns the rows of the replicated input, which all partitions share.
    fn build(&self, partition: &Partition, context: &Arc<TaskContext>) -> Result<Build> {
        let (input, columns) = match self.parameters.placement {
            Placement::ReplicateLeft => (&self.left, &self.parameters.left),
            _ => (&self.right, &self.parameters.right),
        };
        let partitions = input.output_partitioning().partition_count();
        if partitions != 1 {
            return internal_err!(
                "BoxOverlapExec: the replicated input has {partitions} partitions, and not 1"
            );
        }
        // The value is valid even if a thread panicked.
        let mut build = self.build.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(build) = &*build {
            return Ok(build.clone());
        }
        let stream = input.execute(0, Arc::clone(context))?;
        Ok(build
            .insert(partition.build(stream, columns.clone()))
            .clone())
    }
}

/// Returns the column of bins, the last.
fn bin_column(input: &Arc<dyn ExecutionPlan>) -> Result<Arc<dyn PhysicalExpr>> {
    let schema = input.schema();
    let last = schema.fields().len().checked_sub(1);
    match last.map(|index| (index, schema.field(index))) {
        Some((index, field)) if *field.data_type() == DataType::Int32 => {
            Ok(Arc::new(Column::new(field.name(), index)))
        }
        _ => internal_err!("BoxOverlapExec: an input has no column of bins"),
    }
}

/// Returns the schema of the rows: without the bins, and with the state of rows if a
/// [`BoxMatchExec`](super::BoxMatchExec) is to decide about them.
fn output_schema(parameters: &BoxOverlapParameters, left: &Schema, right: &Schema) -> SchemaRef {
    let users = |schema: &Schema| {
        let columns = parameters.user_columns(schema.fields().len());
        Schema::new_with_metadata(
            schema.fields()[..columns].to_vec(),
            schema.metadata().clone(),
        )
    };
    let join = parameters.join.into();
    let (schema, _) = build_join_schema(&users(left), &users(right), &join);
    if !parameters.with_state() {
        return Arc::new(schema);
    }
    let state = Arc::new(Field::new(STATE, DataType::UInt8, false));
    let fields = schema.fields().iter().cloned().chain([state]);
    let fields: Vec<_> = fields.collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

impl DisplayAs for BoxOverlapExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(
            f,
            "BoxOverlapExec: join={:?}, left={}, right={}, placement={}, device={}",
            self.parameters.join,
            self.parameters.left.describe(&self.left.schema()),
            self.parameters.right.describe(&self.right.schema()),
            self.parameters.placement,
            self.parameters.device
        )
    }
}

impl ExecutionPlan for BoxOverlapExec {
    fn name(&self) -> &str {
        "BoxOverlapExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        let key = |bin: &Arc<dyn PhysicalExpr>| Distribution::KeyPartitioned(vec![Arc::clone(bin)]);
        match self.parameters.placement {
            Placement::ReplicateLeft => InputDistributionRequirements::new(vec![
                Distribution::SinglePartition,
                Distribution::UnspecifiedDistribution,
            ]),
            Placement::ReplicateRight => InputDistributionRequirements::new(vec![
                Distribution::UnspecifiedDistribution,
                Distribution::SinglePartition,
            ]),
            Placement::Tiles(_) => {
                InputDistributionRequirements::co_partitioned(self.bins.iter().map(key).collect())
            }
        }
    }

    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        if self.bins.is_empty() {
            return vec![None, None];
        }
        let order = |bin: &Arc<dyn PhysicalExpr>| {
            let order = PhysicalSortExpr::new_default(Arc::clone(bin));
            LexOrdering::new([order]).map(OrderingRequirements::from)
        };
        self.bins.iter().map(order).collect()
    }

    /// More partitions would index the replicated side more often. The library uses all cores
    /// anyway.
    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![!self.bins.is_empty(); 2]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.left, &self.right]
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        apply_expression_roots(&self.bins, f)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Ok([left, right]) = <[_; 2]>::try_from(children) else {
            return internal_err!("BoxOverlapExec has two inputs");
        };
        let parameters = self.parameters.clone();
        Ok(Arc::new(Self::try_new(parameters, left, right)?))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        self.replace_children(children, options)
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        /// Batches that may wait for the stream's reader.
        const WAITING: usize = 2;
        let mut builder = RecordBatchReceiverStream::builder(self.schema(), WAITING);
        let channel = builder.tx();
        let send = move |batch: RecordBatch| channel.blocking_send(Ok(batch)).is_ok();
        let widths = [&self.left, &self.right].map(|input| input.schema().fields().len());
        let task = Partition::new(
            &self.parameters,
            widths.map(|width| self.parameters.user_columns(width)),
            self.schema(),
            Arc::new(send),
            partition,
            &self.metrics,
            &context,
        )?;
        let inputs = [&self.left, &self.right];
        let input = |side: usize| inputs[side].execute(partition, Arc::clone(&context));
        match self.parameters.placement {
            Placement::ReplicateLeft => {
                let build = self.build(&task, &context)?;
                builder.spawn(task.replicated(build, input(1)?));
            }
            Placement::ReplicateRight => {
                let build = self.build(&task, &context)?;
                builder.spawn(task.replicated(build, input(0)?));
            }
            Placement::Tiles(_) => builder.spawn(task.by_bins(input(0)?, input(1)?)),
        }
        Ok(builder.build())
    }
}

/// Runs work that blocks, such as kernels, on a thread for such work.
pub(super) async fn blocking<R: Send + 'static>(
    work: impl FnOnce() -> Result<R> + Send + 'static,
) -> Result<R> {
    match SpawnedTask::spawn_blocking(work).join_unwind().await {
        Ok(result) => result,
        Err(error) => Err(DataFusionError::ExecutionJoin(Box::new(error))),
    }
}
