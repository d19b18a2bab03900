//! The node of physical plans.

use std::fmt;
use std::sync::Arc;

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, plan_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{
    Distribution, EquivalenceProperties, LexOrdering, PhysicalExpr, PhysicalSortExpr,
};
use datafusion::physical_plan::distribution_requirements::InputDistributionRequirements;
use datafusion::physical_plan::execution_plan::{
    ChildrenPropertiesMode, EmissionType, ReplaceChildrenOptions, apply_expression_roots,
};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
};

use super::super::parameters::ColumnNames;
use super::stream;

/// The name in EXPLAIN and in errors.
pub(super) const NAME: &str = "SeriesSortExec";

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
    names: ColumnNames,
    input: Arc<dyn ExecutionPlan>,
    order: LexOrdering,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl SeriesSortExec {
    /// Returns the node for an input with the columns series, timestamp and value, and the user's
    /// names of them for messages.
    ///
    /// # Errors
    /// If the input has another number of columns.
    pub fn try_new(names: ColumnNames, input: Arc<dyn ExecutionPlan>) -> Result<SeriesSortExec> {
        let schema = input.schema();
        let [series, timestamp, _] = &schema.fields()[..] else {
            return plan_err!(
                "{NAME}: the input has {} columns, and has to have a series, a timestamp and a value",
                schema.fields().len()
            );
        };
        let key = |index: usize, name: &str| {
            let column = Arc::new(Column::new(name, index)) as Arc<dyn PhysicalExpr>;
            PhysicalSortExpr::new_default(column)
        };
        let order = LexOrdering::from([key(0, series.name()), key(1, timestamp.name())]);
        let properties = PlanProperties::new(
            EquivalenceProperties::new_with_orderings(Arc::clone(&schema), [order.clone()]),
            input.output_partitioning().clone(),
            EmissionType::Final,
            input.boundedness(),
        );
        Ok(SeriesSortExec {
            names,
            input,
            order,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        })
    }

    /// Returns the user's names of the columns.
    pub fn parameters(&self) -> &ColumnNames {
        &self.names
    }
}

impl DisplayAs for SeriesSortExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{NAME}: [{}]", self.order)
    }
}

impl ExecutionPlan for SeriesSortExec {
    fn name(&self) -> &str {
        NAME
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        let series = Arc::clone(&self.order.first().expr);
        InputDistributionRequirements::new(vec![Distribution::KeyPartitioned(vec![series])])
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        apply_expression_roots(self.order.iter().map(|key| &key.expr), visit)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let input = children.swap_remove(0);
        Ok(Arc::new(SeriesSortExec::try_new(
            self.names.clone(),
            input,
        )?))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        self.replace_children(children, options)
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, Arc::clone(&context))?;
        let partitions = self.input.output_partitioning().partition_count();
        let place = (partition, partitions);
        stream::run(
            &self.names,
            &self.order,
            input,
            place,
            context,
            &self.metrics,
        )
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}
