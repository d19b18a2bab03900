//! The node of physical plans.

use std::fmt;
use std::sync::Arc;

use datafusion::common::{Result, plan_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{
    Distribution, EquivalenceProperties, LexOrdering, PhysicalExpr, PhysicalSortExpr,
};
use datafusion::physical_plan::distribution_requirements::InputDistributionRequirements;
use datafusion::physical_plan::execution_plan::EmissionType;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
};

use super::super::parameters::ColumnNames;
use super::{NAME, stream};
use crate::node::common_methods;

/// Sorts points by series and timestamp, both ascending.
///
/// The input has the columns series, timestamp and value, in this order. All points of a series are
/// in one partition, for which the engine hashes them by their series. Rows without a value are left
/// out. Points of a series with equal timestamps stay in the order of their partition, unless they
/// are sorted on disk.
///
/// # Memory
/// All points of a partition are kept until the last has come: 36 bytes a point, and each series
/// once. If they take more than the partition's share of a third of the engine's pool, or the pool
/// refuses memory, the engine's sort takes over, which spills to disk.
///
/// # Metrics
/// `output_rows`, `elapsed_compute`, and `external_sorts`: partitions that were left to the engine's
/// sort.
#[derive(Clone, Debug)]
pub struct SeriesSortExec {
    parameters: ColumnNames,
    input: Arc<dyn ExecutionPlan>,
    /// The series and the timestamp.
    keys: Vec<Arc<dyn PhysicalExpr>>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl SeriesSortExec {
    /// Returns the node for an input with the columns series, timestamp and value, and the user's
    /// names of them for messages.
    ///
    /// # Errors
    /// If the input has another number of columns.
    pub fn try_new(
        parameters: ColumnNames,
        input: Arc<dyn ExecutionPlan>,
    ) -> Result<SeriesSortExec> {
        let schema = input.schema();
        let [series, timestamp, _] = &schema.fields()[..] else {
            return plan_err!(
                "{NAME}: the input has {} columns, and has to have a series, a timestamp and a value",
                schema.fields().len()
            );
        };
        let keys: Vec<Arc<dyn PhysicalExpr>> = vec![
            Arc::new(Column::new(series.name(), 0)),
            Arc::new(Column::new(timestamp.name(), 1)),
        ];
        let properties = PlanProperties::new(
            EquivalenceProperties::new_with_orderings(Arc::clone(&schema), [order(&keys)]),
            input.output_partitioning().clone(),
            EmissionType::Final,
            input.boundedness(),
        );
        Ok(SeriesSortExec {
            parameters,
            input,
            keys,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        })
    }

    /// Returns the user's names of the columns.
    pub fn parameters(&self) -> &ColumnNames {
        &self.parameters
    }
}

/// Returns the order of the output.
fn order(keys: &[Arc<dyn PhysicalExpr>]) -> Vec<PhysicalSortExpr> {
    let keys = keys.iter().map(Arc::clone);
    keys.map(PhysicalSortExpr::new_default).collect()
}

impl DisplayAs for SeriesSortExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        let [series, timestamp] = &self.keys[..] else {
            return Err(fmt::Error);
        };
        write!(f, "{NAME}: [{series}, {timestamp}]")
    }
}

impl ExecutionPlan for SeriesSortExec {
    common_methods!(NAME, inputs: [input], expressions: [keys]);

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        let series = Arc::clone(&self.keys[0]);
        InputDistributionRequirements::new(vec![Distribution::KeyPartitioned(vec![series])])
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, Arc::clone(&context))?;
        let partitions = self.input.output_partitioning().partition_count();
        let place = (partition, partitions);
        let order = LexOrdering::new(order(&self.keys)).expect("there are two keys");
        let names = &self.parameters;
        stream::run(names, order, input, place, context, &self.metrics)
    }
}
