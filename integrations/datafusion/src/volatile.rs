//! Filters of the rows that a node returns.
//!
//! A node tells the engine which columns it needs for its result. The engine pushes each filter
//! without such columns below the node: the same filter into every input. The node then places the
//! filter's conditions. A condition goes to the input that has its columns, if the rows that it
//! leaves out there are those that it would leave out of the result. The node keeps all other
//! conditions, and applies them to its result.
//!
//! Volatile conditions are always of the result: `WHERE random() < 0.5` below the node would leave
//! out half of the input's rows instead of half of the result's.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{Expr, Filter, LogicalPlan};

/// Like [`place`], for a node with one input.
pub(crate) fn hold_back(inputs: &mut [LogicalPlan], before: &[&LogicalPlan]) -> Result<Vec<Expr>> {
    place(inputs, before, &[true])
}

/// Places the conditions of a filter that the engine has just pushed into all inputs of a node, and
/// returns those that the node has to apply to its result.
///
/// `before` are the inputs without the filter: a filter of the inputs themselves is not touched.
/// `may_filter` says for each input whether leaving out one of its rows only leaves out the rows of
/// the result with this row's values.
pub(crate) fn place(
    inputs: &mut [LogicalPlan],
    before: &[&LogicalPlan],
    may_filter: &[bool],
) -> Result<Vec<Expr>> {
    let mut held = Vec::new();
    let Some(predicate) = pushed(inputs, before) else {
        return Ok(held);
    };
    let mut of_inputs = vec![Vec::new(); inputs.len()];
    for condition in split_conjunction_owned(predicate) {
        let columns = condition.column_refs();
        let has_columns = |input: usize| {
            let schema = before[input].schema();
            columns.iter().all(|column| schema.has_column(column))
        };
        let place = (0..inputs.len()).find(|&input| may_filter[input] && has_columns(input));
        match place {
            Some(input) if !condition.is_volatile() => of_inputs[input].push(condition),
            _ => held.push(condition),
        }
    }
    for (input, (before, conditions)) in inputs.iter_mut().zip(before.iter().zip(of_inputs)) {
        *input = LogicalPlan::clone(before);
        if let Some(predicate) = conjunction(conditions) {
            let filter = Filter::try_new(predicate, Arc::new(LogicalPlan::clone(before)))?;
            *input = LogicalPlan::Filter(filter);
        }
    }
    Ok(held)
}

/// Returns the filter that was put above all inputs.
fn pushed(inputs: &[LogicalPlan], before: &[&LogicalPlan]) -> Option<Expr> {
    let mut predicates = inputs
        .iter()
        .zip(before)
        .map(|(input, before)| match input {
            LogicalPlan::Filter(filter) if *filter.input == **before => Some(&filter.predicate),
            _ => None,
        });
    let first = predicates.next()??;
    predicates
        .all(|other| other == Some(first))
        .then(|| first.clone())
}

/// Adds filters that were held back to what EXPLAIN shows of a logical node.
pub(crate) fn display(filters: &[Expr]) -> String {
    match conjunction(filters.iter().cloned()) {
        Some(filter) => format!(", filter={filter}"),
        None => String::new(),
    }
}
