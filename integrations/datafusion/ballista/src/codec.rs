//! How gridstride's plan nodes travel between client, scheduler and executors.
//!
//! A node is sent as JSON: its kind, the fingerprint of the sender's build and the node's
//! parameters; its inputs travel as plans of their own. All other nodes go to Ballista's codec. One
//! byte in front says which of the two it is, so that nothing is guessed when decoding. Functions travel
//! by their names.
//!
//! Every task's plan passes through here on its executor, so that this is also where its reads of
//! other stages get their [checks](crate::checked).
//!
//! A new node needs one line in [`NODES`].

use std::sync::Arc;

use ballista_core::serde::BallistaPhysicalExtensionCodec;
use datafusion::common::{DataFusionError, Result, plan_err};
use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use gridstride_datafusion::box_overlap::{BoxMatchExec, BoxOverlapExec, BoxTileExec};
use gridstride_datafusion::fasta::FastaScan;
use gridstride_datafusion::nearest::NearestExec;
use gridstride_datafusion::time_series::{SeriesSortExec, TimeBucketExec};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::checked::check_read;
use crate::fingerprint::fingerprint;

const BALLISTA: u8 = 0;
const GRIDSTRIDE: u8 = 1;

type Plan = Arc<dyn ExecutionPlan>;

/// One kind of plan node: its name on the wire, and its parameters to and from JSON.
struct Node {
    kind: &'static str,
    /// Returns `None` for a plan node of another kind.
    encode: fn(&dyn ExecutionPlan) -> Result<Option<Value>>,
    decode: fn(Value, &[Plan]) -> Result<Plan>,
}

/// A node that is made of its parameters and its inputs.
macro_rules! node {
    ($kind:literal, $node:ty, $($input:ident),+) => {
        Node {
            kind: $kind,
            encode: |node| match node.downcast_ref::<$node>() {
                Some(node) => json(node.parameters()).map(Some),
                None => Ok(None),
            },
            decode: |parameters, inputs| {
                let [$($input),+] = only(inputs)?;
                let parameters = serde_json::from_value(parameters).map_err(json_error)?;
                Ok(Arc::new(<$node>::try_new(parameters, $($input),+)?))
            },
        }
    };
}

/// All plan nodes of `gridstride_datafusion`.
static NODES: &[Node] = &[
    node!("time_buckets", TimeBucketExec, input),
    node!("series_sort", SeriesSortExec, input),
    node!("box_overlap", BoxOverlapExec, left, right),
    node!("box_tiles", BoxTileExec, input),
    node!("box_match", BoxMatchExec, input),
    node!("nearest", NearestExec, queries, references),
    Node {
        kind: "fasta",
        encode: |node| FastaScan::of(node)?.map(json).transpose(),
        decode: |scan, inputs| {
            let [] = only(inputs)?;
            let scan: FastaScan = serde_json::from_value(scan).map_err(json_error)?;
            scan.into_plan()
        },
    },
];

fn json(parameters: impl Serialize) -> Result<Value> {
    serde_json::to_value(parameters).map_err(json_error)
}

/// Returns the inputs of a node with `N` inputs.
fn only<const N: usize>(inputs: &[Plan]) -> Result<[Plan; N]> {
    let found = inputs.len();
    inputs
        .to_vec()
        .try_into()
        .or_else(|_| plan_err!("a gridstride plan node of {N} inputs was sent with {found}"))
}

#[derive(Serialize, Deserialize)]
struct Message {
    build: String,
    kind: String,
    parameters: Value,
}

/// Encodes and decodes the plan nodes of `gridstride_datafusion` and of Ballista.
#[derive(Debug)]
pub struct GridstrideCodec {
    ballista: Arc<dyn PhysicalExtensionCodec>,
}

impl Default for GridstrideCodec {
    fn default() -> Self {
        Self {
            ballista: Arc::new(BallistaPhysicalExtensionCodec::default()),
        }
    }
}

impl PhysicalExtensionCodec for GridstrideCodec {
    fn try_decode(
        &self,
        buf: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        ctx: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match buf.split_first() {
            Some((&BALLISTA, rest)) => {
                check_read(self.ballista.try_decode(rest, inputs, ctx, converter)?)
            }
            Some((&GRIDSTRIDE, rest)) => decode(rest, inputs),
            _ => plan_err!(
                "a plan node was sent without gridstride's codec: client, scheduler and executors \
                 have to be gridstride's programs"
            ),
        }
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        buf: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        for kind in NODES {
            if let Some(parameters) = (kind.encode)(node.as_ref())? {
                buf.push(GRIDSTRIDE);
                return encode(kind.kind, parameters, buf);
            }
        }
        buf.push(BALLISTA);
        self.ballista.try_encode(node, buf, converter)
    }
}

fn encode(kind: &str, parameters: Value, buf: &mut Vec<u8>) -> Result<()> {
    let message = Message {
        build: fingerprint().to_owned(),
        kind: kind.to_owned(),
        parameters,
    };
    serde_json::to_writer(buf, &message).map_err(json_error)
}

fn decode(buf: &[u8], inputs: &[Arc<dyn ExecutionPlan>]) -> Result<Arc<dyn ExecutionPlan>> {
    let Message {
        build,
        kind,
        parameters,
    } = serde_json::from_slice(buf).map_err(json_error)?;
    if build != fingerprint() {
        return plan_err!(
            "a {kind} node comes from build {build} and this is build {}: install the same build \
             of gridstride everywhere",
            fingerprint()
        );
    }
    match NODES.iter().find(|node| node.kind == kind) {
        Some(node) => (node.decode)(parameters, inputs),
        None => plan_err!("this build knows no plan node of kind {kind}"),
    }
}

fn json_error(error: serde_json::Error) -> DataFusionError {
    DataFusionError::External(format!("a gridstride plan node could not be sent: {error}").into())
}

#[cfg(test)]
mod tests {
    use ballista_core::extension::SessionConfigExt;
    use datafusion::physical_plan::displayable;
    use datafusion::prelude::SessionContext;
    use datafusion_proto::physical_plan::AsExecutionPlan;
    use datafusion_proto::protobuf::PhysicalPlanNode;

    use super::*;
    use crate::session::{config, server_state};

    async fn time_buckets() -> (SessionContext, Arc<dyn ExecutionPlan>) {
        let ctx = SessionContext::new_with_state(server_state(config()).unwrap());
        ctx.sql("CREATE TABLE points AS VALUES ('a', 0, 1.5), ('a', 40, 2.5), ('b', 7, 3.5)")
            .await
            .unwrap();
        let frame = ctx
            .sql(
                "SELECT * FROM time_buckets('points', 'column1', 'column2', 'column3', '35', \
                 'count,mean')",
            )
            .await
            .unwrap();
        let plan = frame.create_physical_plan().await.unwrap();
        (ctx, plan)
    }

    fn text(plan: &Arc<dyn ExecutionPlan>) -> String {
        displayable(plan.as_ref()).indent(true).to_string()
    }

    #[tokio::test]
    async fn plans_are_the_same_after_the_journey() {
        let (ctx, plan) = time_buckets().await;
        assert!(text(&plan).contains("TimeBucketExec"));
        let codec = ctx.copied_config().ballista_physical_extension_codec();
        let message =
            PhysicalPlanNode::try_from_physical_plan(Arc::clone(&plan), codec.as_ref()).unwrap();
        let back = message
            .try_into_physical_plan(&ctx.task_ctx(), codec.as_ref())
            .unwrap();
        assert_eq!(text(&back), text(&plan));
    }

    #[test]
    fn other_builds_and_unknown_nodes_are_refused() {
        let refusal = |build: &str, kind: &str| {
            let message = Message {
                build: build.to_owned(),
                kind: kind.to_owned(),
                parameters: Value::Null,
            };
            let bytes = serde_json::to_vec(&message).unwrap();
            decode(&bytes, &[]).unwrap_err().strip_backtrace()
        };
        let error = refusal("0.0.9-other", "time_buckets");
        assert!(
            error.contains("comes from build 0.0.9-other and this is build"),
            "{error}"
        );
        let error = refusal(fingerprint(), "mystery");
        assert!(error.contains("no plan node of kind mystery"), "{error}");
        assert!(
            only::<1>(&[])
                .unwrap_err()
                .to_string()
                .contains("1 inputs was sent with 0")
        );
    }
}
