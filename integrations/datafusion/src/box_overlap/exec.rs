//! The plan node that searches.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::arrow::array::RecordBatch;
use datafusion::common::{Result, internal_err, plan_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{
    Distribution, EquivalenceProperties, LexOrdering, OrderingRequirements, PhysicalExpr,
    PhysicalSortExpr,
};
use datafusion::physical_plan::distribution_requirements::InputDistributionRequirements;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::projection::{
    EmbeddedProjection, ProjectionExec, try_embed_projection,
};
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning,
    PlanProperties,
};

use super::parameters::{BoxOverlapParameters, EXEC_NAME, Placement};
use super::partition::{Build, Partition};
use super::schema::{Columns, bin_column};
use crate::config;
use crate::node::common_methods;

/// A join of two inputs on their overlapping boxes.
///
/// If one side is replicated, it is collected whole, once for all partitions, and the other side is
/// read partition by partition, in batches as large as the replicated side or
/// [`batch_rows`](BoxOverlapParameters::batch_rows), whichever is larger: each batch is one search,
/// which indexes the replicated side.
///
/// By tiles, both inputs are [`BoxTileExec`](super::BoxTileExec)s, partitioned and sorted by the
/// bin, their last column. Each bin is one search, and only one bin of each partition is in memory.
/// A left, semi or anti join by tiles cannot decide about every row of its left input: it has
/// another column at the end, with which [`BoxMatchExec`](super::BoxMatchExec) decides.
///
/// Metrics: `input_rows` and `input_bytes` of both inputs, with the copies of boxes in several
/// bins; `searches`, the library's calls; `search_time`, the time in these calls, with the copies
/// to and from the device, which the library does not measure separately; `take_time`, the time in
/// which the CPU gathers the users' columns of the result.
#[derive(Debug)]
pub struct BoxOverlapExec {
    parameters: BoxOverlapParameters,
    left: Arc<dyn ExecutionPlan>,
    right: Arc<dyn ExecutionPlan>,
    /// The bins of both inputs, if they are joined by tiles.
    bins: Vec<Arc<dyn PhysicalExpr>>,
    columns: Columns,
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
        parameters.check(&left.schema(), &right.schema())?;
        let bins = match parameters.placement {
            Placement::Tiles(_) => vec![bin_column(&left)?, bin_column(&right)?],
            Placement::ReplicateLeft | Placement::ReplicateRight => Vec::new(),
        };
        for (input, boxes) in [(&left, &parameters.left), (&right, &parameters.right)] {
            if input.boundedness().is_unbounded() {
                return plan_err!(
                    "box_overlap: {} has no end, so it cannot be searched",
                    boxes.table
                );
            }
        }
        let columns = Columns::new(&parameters, &left.schema(), &right.schema())?;
        let probe = match parameters.placement {
            Placement::ReplicateLeft => &right,
            _ => &left,
        };
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&columns.schema)),
            Partitioning::UnknownPartitioning(probe.output_partitioning().partition_count()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Ok(BoxOverlapExec {
            parameters,
            left,
            right,
            bins,
            columns,
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
                "{EXEC_NAME}: the replicated input has {partitions} partitions, and not 1"
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

impl EmbeddedProjection for BoxOverlapExec {
    fn with_projection(&self, projection: Option<Vec<usize>>) -> Result<Self> {
        let parameters = BoxOverlapParameters {
            projection,
            ..self.parameters.clone()
        };
        Self::try_new(parameters, Arc::clone(&self.left), Arc::clone(&self.right))
    }
}

impl DisplayAs for BoxOverlapExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(
            f,
            "{EXEC_NAME}: join={:?}, left={}, right={}, placement={}",
            self.parameters.join,
            self.parameters.left.describe(&self.left.schema()),
            self.parameters.right.describe(&self.right.schema()),
            self.parameters.placement,
        )?;
        if self.parameters.projection.is_some() {
            let names: Vec<&str> = self
                .columns
                .schema
                .fields()
                .iter()
                .map(|f| f.name().as_str())
                .collect();
            write!(f, ", projection=[{}]", names.join(", "))?;
        }
        write!(f, ", device={}", config::shown(self.parameters.device))
    }
}

impl ExecutionPlan for BoxOverlapExec {
    common_methods!(EXEC_NAME, inputs: [left, right], expressions: [bins]);

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

    fn try_swapping_with_projection(
        &self,
        projection: &ProjectionExec,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        if self.columns.with_state || self.parameters.projection.is_some() {
            return Ok(None);
        }
        try_embed_projection(projection, self)
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
        let task = Partition::new(
            &self.parameters,
            self.columns.clone(),
            Arc::new(send),
            [partition, self.properties.partitioning.partition_count()],
            &self.metrics,
            &context,
        );
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
