//! Code that the nodes of physical plans share.

use std::sync::Arc;

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;

/// A node, as the input of another.
pub(crate) type Input = Arc<dyn ExecutionPlan>;

/// An expression of a node.
pub(crate) type Expression = Arc<dyn PhysicalExpr>;

/// A visitor of the expressions of a node.
pub(crate) type Visit<'a> = dyn FnMut(&Expression) -> Result<TreeNodeRecursion> + 'a;

/// Returns the inputs of a node that has `N` inputs.
///
/// # Errors
/// If there are more or fewer.
pub(crate) fn inputs<const N: usize>(node: &str, inputs: Vec<Input>) -> Result<[Input; N]> {
    match <[Input; N]>::try_from(inputs) {
        Ok(inputs) => Ok(inputs),
        Err(inputs) => internal_err!("{node} has {N} inputs, and not {}", inputs.len()),
    }
}

/// Implements the methods of [`ExecutionPlan`] that are the same for all nodes.
///
/// Takes the node's name, and the names of the fields that have the inputs and the expressions, if
/// there are any. The node has the fields `parameters`, `properties` and `metrics`, and is made by
/// `try_new(parameters, inputs…)`: parameters and inputs are all of its state.
macro_rules! common_methods {
    ($name:expr, inputs: [$($input:ident),+], expressions: [$($expressions:ident)?]) => {
        fn name(&self) -> &str {
            $name
        }

        fn properties(&self) -> &std::sync::Arc<datafusion::physical_plan::PlanProperties> {
            &self.properties
        }

        fn metrics(&self) -> Option<datafusion::physical_plan::metrics::MetricsSet> {
            Some(self.metrics.clone_inner())
        }

        fn children(&self) -> Vec<&$crate::node::Input> {
            vec![$(&self.$input),+]
        }

        fn apply_expressions(
            &self,
            visit: &mut $crate::node::Visit<'_>,
        ) -> datafusion::common::Result<datafusion::common::tree_node::TreeNodeRecursion> {
            datafusion::physical_plan::execution_plan::apply_expression_roots(
                std::iter::empty::<&$crate::node::Expression>()$(.chain(&self.$expressions))?,
                visit,
            )
        }

        fn replace_children(
            self: std::sync::Arc<Self>,
            children: Vec<$crate::node::Input>,
            _: datafusion::physical_plan::execution_plan::ReplaceChildrenOptions,
        ) -> datafusion::common::Result<$crate::node::Input> {
            let [$($input),+] = $crate::node::inputs($name, children)?;
            let parameters = self.parameters.clone();
            Ok(std::sync::Arc::new(Self::try_new(parameters, $($input),+)?))
        }

        fn with_new_children(
            self: std::sync::Arc<Self>,
            children: Vec<$crate::node::Input>,
        ) -> datafusion::common::Result<$crate::node::Input> {
            use datafusion::physical_plan::execution_plan as plan;
            let mode = plan::ChildrenPropertiesMode::Recompute;
            self.replace_children(children, plan::ReplaceChildrenOptions::new(mode))
        }
    };
}
pub(crate) use common_methods;
