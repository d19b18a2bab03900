//! The physical plans of the library's logical nodes.

use std::marker::PhantomData;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{
    Expr, LogicalPlan, UserDefinedLogicalNode, UserDefinedLogicalNodeCore,
};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_planner::{ExtensionPlanner, PhysicalPlanner};

/// The arguments of planners.
pub(crate) struct Planning<'a> {
    pub planner: &'a dyn PhysicalPlanner,
    pub session: &'a dyn Session,
    pub context: &'a PhysicalPlanningContext,
}

/// A logical node with a physical plan.
#[async_trait]
pub(crate) trait PlannedNode: UserDefinedLogicalNodeCore {
    /// Returns the physical plan over `inputs`, without the filters.
    async fn plan(
        &self,
        inputs: &[Arc<dyn ExecutionPlan>],
        planning: &Planning<'_>,
    ) -> Result<Arc<dyn ExecutionPlan>>;

    /// Returns the filters that the node applies to its result.
    fn filters(&self) -> &[Expr];
}

/// Plans nodes of a type.
pub(crate) struct NodePlanner<N>(PhantomData<fn() -> N>);

impl<N> NodePlanner<N> {
    pub(crate) fn new() -> Arc<NodePlanner<N>> {
        Arc::new(NodePlanner(PhantomData))
    }
}

#[async_trait]
impl<N: PlannedNode> ExtensionPlanner for NodePlanner<N> {
    async fn plan_extension(
        &self,
        planner: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _: &[&LogicalPlan],
        inputs: &[Arc<dyn ExecutionPlan>],
        session: &dyn Session,
        context: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(node) = node.as_any().downcast_ref::<N>() else {
            return Ok(None);
        };
        let planning = Planning {
            planner,
            session,
            context,
        };
        let plan = node.plan(inputs, &planning).await?;
        filtered(plan, node.filters(), node.schema(), &planning).map(Some)
    }
}

/// Applies filters that were held back to the rows that a node returns.
fn filtered(
    node: Arc<dyn ExecutionPlan>,
    filters: &[Expr],
    schema: &DFSchema,
    planning: &Planning<'_>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let Some(predicate) = conjunction(filters.iter().cloned()) else {
        return Ok(node);
    };
    let predicate = planning.planner.create_physical_expr(
        &predicate,
        schema,
        planning.session,
        planning.context,
    )?;
    Ok(Arc::new(FilterExec::try_new(predicate, node)?))
}
