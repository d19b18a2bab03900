//! The client's side of a query: plans it here, submits the plan, and fetches the rows.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ballista_core::extension::SessionConfigExt;
use datafusion::catalog::Session;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result, not_impl_err};
use datafusion::execution::context::QueryPlanner;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{
    Boundedness, ChildrenPropertiesMode, EmissionType, ReplaceChildrenOptions,
};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
};
use datafusion_proto::physical_plan::AsExecutionPlan;
use datafusion_proto::protobuf::PhysicalPlanNode;
use log::warn;

use crate::client::{Query, run_once};
use crate::guard::RETRY;
use crate::whole::merge_right_sides;

/// The time between two attempts.
const PAUSE: Duration = Duration::from_millis(250);

/// The scheduler that queries run on, and the number of retries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    address: String,
    retries: usize,
}

impl Cluster {
    /// Names a scheduler by `HOST:PORT`.
    ///
    /// A query that fails because an executor was lost is submitted again, up to twice, unless rows of
    /// its result were handed out already. (Twice, because a second query may be the first to notice
    /// the loss when its tasks are sent.)
    pub fn new(address: impl Into<String>) -> Self {
        Self {
            address: address.into(),
            retries: 2,
        }
    }

    /// Sets how often a query that fails because of a lost executor is submitted again.
    #[must_use]
    pub fn with_retries(mut self, retries: usize) -> Self {
        self.retries = retries;
        self
    }

    /// Returns the scheduler's `HOST:PORT`.
    pub fn address(&self) -> &str {
        &self.address
    }
}

/// Plans a query here, with all nodes of `gridstride_datafusion`, and wraps the plan in a
/// [`SubmitExec`]. `EXPLAIN` shows the plan that would be submitted.
#[derive(Debug)]
pub(crate) struct ClusterPlanner {
    planner: Arc<dyn QueryPlanner + Send + Sync>,
    cluster: Cluster,
}

impl ClusterPlanner {
    pub(crate) fn new(cluster: Cluster) -> Self {
        Self {
            planner: gridstride_datafusion::query_planner(),
            cluster,
        }
    }
}

#[async_trait]
impl QueryPlanner for ClusterPlanner {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if let LogicalPlan::Analyze(_) = plan {
            return not_impl_err!(
                "EXPLAIN ANALYZE of a query on a cluster: run the query without a cluster to see \
                 its metrics"
            );
        }
        if let LogicalPlan::Dml(_) | LogicalPlan::Copy(_) = plan {
            // A query may run twice, and a table that was written twice has its rows twice.
            return not_impl_err!(
                "a cluster only reads: write the rows of a query by --out of gridstride-sql, or run \
                 INSERT, DELETE, UPDATE and COPY without a cluster"
            );
        }
        let physical = self.planner.create_physical_plan(plan, session).await?;
        let physical = merge_right_sides(physical)?;
        Ok(match plan {
            LogicalPlan::Explain(_) => physical,
            _ => Arc::new(SubmitExec::new(self.cluster.clone(), physical)),
        })
    }
}

/// Submits a plan to a cluster and streams the rows of its result, in one partition.
#[derive(Debug)]
struct SubmitExec {
    cluster: Cluster,
    plan: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl SubmitExec {
    fn new(cluster: Cluster, plan: Arc<dyn ExecutionPlan>) -> Self {
        let properties = Arc::new(PlanProperties::new(
            EquivalenceProperties::new(plan.schema()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        ));
        Self {
            cluster,
            plan,
            properties,
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }
}

impl DisplayAs for SubmitExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "SubmitExec: scheduler={}", self.cluster.address)
    }
}

impl ExecutionPlan for SubmitExec {
    fn name(&self) -> &str {
        "SubmitExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(
            children,
            ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute),
        )
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let config = context.session_config();
        let codec = config.ballista_physical_extension_codec();
        let message =
            PhysicalPlanNode::try_from_physical_plan(Arc::clone(&self.plan), codec.as_ref())
                .map_err(cannot_travel)?;
        let mut plan = Vec::new();
        message.try_encode(&mut plan).map_err(cannot_travel)?;
        let query = Query {
            address: self.cluster.address.clone(),
            plan,
            session: context.session_id(),
            config: config.clone(),
        };
        let retries = self.cluster.retries;
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let mut rows = RecordBatchReceiverStream::builder(self.schema(), 2);
        let sender = rows.tx();
        rows.spawn(async move {
            let mut left = retries;
            loop {
                let mut delivered = false;
                let error = match run_once(&query, &sender, &metrics, &mut delivered).await {
                    Ok(()) => return Ok(()),
                    Err(error) => error,
                };
                if left == 0 || delivered || !error.to_string().contains(RETRY) {
                    return Err(error);
                }
                left -= 1;
                warn!("the query is submitted again: {}", error.strip_backtrace());
                tokio::time::sleep(PAUSE).await;
            }
        });
        Ok(rows.build())
    }
}

/// Explains the error of a plan that cannot be encoded.
fn cannot_travel(error: DataFusionError) -> DataFusionError {
    /// The sentence that internal errors end with, also errors that this one quotes.
    const BUG: &str = ".\nThis issue was likely caused by a bug in DataFusion's code. Please help us \
        to resolve this by filing a bug report in our issue tracker: \
        https://github.com/apache/datafusion/issues";
    let error = match error {
        DataFusionError::Internal(text) => DataFusionError::NotImplemented(text.replace(BUG, "")),
        other => other,
    };
    error.context(
        "this query cannot be sent to a cluster: tables have to be files that every executor reads",
    )
}
