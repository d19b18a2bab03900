//! Joins that have to run in one task.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{JoinType, Result};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::joins::NestedLoopJoinExec;

/// Merges the right side of each join that would return wrong rows if it were cut into tasks.
///
/// A join without an equality has its whole left side in each task and a part of its right side. A
/// join type that returns left rows because of what all of the right side has (an outer join's rows
/// without a match, for instance) would return them from each task. With one partition on the right
/// there is one task.
pub(crate) fn merge_right_sides(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|node| {
        let Some(join) = node.downcast_ref::<NestedLoopJoinExec>() else {
            return Ok(Transformed::no(node));
        };
        let decided_by_one_right_row = matches!(
            join.join_type(),
            JoinType::Inner
                | JoinType::Right
                | JoinType::RightSemi
                | JoinType::RightAnti
                | JoinType::RightMark
        );
        if decided_by_one_right_row || join.right().is::<CoalescePartitionsExec>() {
            return Ok(Transformed::no(node));
        }
        // Also above one partition: Ballista removes nodes that change the number of partitions.
        let right = Arc::new(CoalescePartitionsExec::new(Arc::clone(join.right())));
        let children = vec![Arc::clone(join.left()), right as _];
        Ok(Transformed::yes(replace_children_if_necessary(
            node, children,
        )?))
    })
    .data()
}
