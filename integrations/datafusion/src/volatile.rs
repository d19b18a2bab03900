//! Filters with volatile functions, such as `random()`, of the rows that a node returns.
//!
//! The engine pushes a filter below a node of another library unless it names a column that the node
//! holds back. A filter without columns names none: `WHERE random() < 0.5` would leave out half of
//! the input's rows instead of half of the output's. Nodes hold such filters back themselves.

use std::sync::Arc;

use datafusion::catalog::Session;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{Expr, Filter, LogicalPlan};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_planner::PhysicalPlanner;

/// Takes the volatile conjuncts of a filter that was just pushed below a node out of its inputs, and
/// returns them. The engine pushes a filter into all inputs, which are unchanged otherwise: filters
/// that belong to the inputs stay.
pub(crate) fn hold_back(inputs: &mut [LogicalPlan], before: &[&LogicalPlan]) -> Result<Vec<Expr>> {
    let is_pushed = |(input, before): (&LogicalPlan, &&LogicalPlan)| match input {
        LogicalPlan::Filter(filter) => filter.predicate.is_volatile() && *filter.input == **before,
        _ => false,
    };
    let mut held = Vec::new();
    if !inputs.iter().zip(before).all(is_pushed) {
        return Ok(held);
    }
    for input in inputs {
        let LogicalPlan::Filter(Filter {
            predicate,
            input: inner,
            ..
        }) = input
        else {
            continue;
        };
        let conjuncts = split_conjunction_owned(predicate.clone());
        let (volatile, rest): (Vec<_>, Vec<_>) = conjuncts.into_iter().partition(Expr::is_volatile);
        held = volatile;
        *input = match conjunction(rest) {
            Some(rest) => LogicalPlan::Filter(Filter::try_new(rest, Arc::clone(inner))?),
            None => inner.as_ref().clone(),
        };
    }
    Ok(held)
}

/// What [`filtered`] takes of the planner's arguments.
pub(crate) struct Planning<'a> {
    pub planner: &'a dyn PhysicalPlanner,
    pub session: &'a dyn Session,
    pub context: &'a PhysicalPlanningContext,
}

/// Applies filters that were held back to the rows that a node returns.
pub(crate) fn filtered(
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

/// Adds filters that were held back to what EXPLAIN shows of a logical node.
pub(crate) fn display(filters: &[Expr]) -> String {
    match conjunction(filters.iter().cloned()) {
        Some(filter) => format!(", filter={filter}"),
        None => String::new(),
    }
}
