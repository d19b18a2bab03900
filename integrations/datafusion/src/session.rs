//! Adding the functions and plan nodes to a session.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::Result;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::context::{QueryPlanner, SessionContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{DefaultPhysicalPlanner, ExtensionPlanner, PhysicalPlanner};

use crate::box_overlap::{BoxOverlapFunction, BoxOverlapNode};
use crate::config::GridstrideConfig;
use crate::nearest::{NearestFunction, NearestNode};
use crate::planner::NodePlanner;
use crate::time_series::{TimeBucketNode, TimeBucketsFunction};
use crate::{exact, fasta, sketch};

/// Adds everything to a session: the functions, the table functions, the
/// [options](GridstrideConfig) and the planner of the nodes. The session's tables and options stay
/// as they are.
///
/// The planner replaces the session's query planner. To combine it with your own query planner, set
/// yours afterwards, with the [planners of the nodes](extension_planners).
///
/// # Errors
/// If the session refuses a function.
pub fn register(ctx: &SessionContext) -> Result<()> {
    let state = ctx.state_ref();
    {
        let mut state = state.write();
        let planned = SessionStateBuilder::new_from_existing(state.clone())
            .with_session_id(state.session_id().to_owned())
            .with_query_planner(query_planner());
        *state = planned.build();
        let options = state.config_mut().options_mut();
        if options.extensions.get::<GridstrideConfig>().is_none() {
            options.extensions.insert(GridstrideConfig::default());
        }
    }
    ctx.register_udtf("box_overlap", Arc::new(BoxOverlapFunction));
    ctx.register_udtf("time_buckets", Arc::new(TimeBucketsFunction));
    ctx.register_udtf("nearest", Arc::new(NearestFunction));
    ctx.register_udf(exact::exact_float64());
    ctx.register_udf(sketch::tensor_sketch());
    ctx.register_udf(sketch::sketch_distance());
    fasta::register(ctx)
}

/// Returns the planners of all nodes, for a [`DefaultPhysicalPlanner`] of your own query planner.
pub fn extension_planners() -> Vec<Arc<dyn ExtensionPlanner + Send + Sync>> {
    vec![
        NodePlanner::<BoxOverlapNode>::new(),
        NodePlanner::<TimeBucketNode>::new(),
        NodePlanner::<NearestNode>::new(),
    ]
}

/// Returns the engine's query planner with the [planners](extension_planners) of all nodes.
pub fn query_planner() -> Arc<dyn QueryPlanner + Send + Sync> {
    Arc::new(SessionPlanner)
}

#[derive(Debug)]
struct SessionPlanner;

#[async_trait]
impl QueryPlanner for SessionPlanner {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let planner = DefaultPhysicalPlanner::with_extension_planners(extension_planners());
        planner.create_physical_plan(plan, session).await
    }
}
