//! The encoding of gridstride's plan nodes between client, scheduler and executors.
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
    let count = inputs.len();
    inputs
        .to_vec()
        .try_into()
        .or_else(|_| plan_err!("a gridstride plan node of {N} inputs was sent with {count}"))
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
    use gridstride_datafusion::fasta::register_fasta;

    use super::*;
    use crate::session::{config, server_state};

    fn text(plan: &Arc<dyn ExecutionPlan>) -> String {
        displayable(plan.as_ref()).indent(true).to_string()
    }

    /// Returns the kind and the parameters of each of gridstride's nodes.
    fn parameters(plan: &Plan) -> Vec<(&'static str, Value)> {
        let own = NODES.iter().filter_map(|node| {
            let parameters = (node.encode)(plan.as_ref()).unwrap()?;
            Some((node.kind, parameters))
        });
        let inputs = plan.children().into_iter().flat_map(parameters);
        own.chain(inputs).collect()
    }

    #[tokio::test]
    async fn plans_are_the_same_after_the_journey() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.fa"), ">a\nACGT\n").unwrap();
        let config = config().with_target_partitions(3);
        let ctx = SessionContext::new_with_state(server_state(config).unwrap());
        let location = folder.path().to_str().unwrap();
        register_fasta(&ctx, "reads", location).await.unwrap();
        for sql in [
            "SET gridstride.batch_rows = 1000",
            "SET gridstride.box_pairs = 77",
            "SET gridstride.device = 'cuda:3'",
            "CREATE TABLE points AS VALUES ('a', 0, 1.5), ('a', 40, 2.5), ('b', 7, 3.5)",
            "CREATE TABLE vectors AS SELECT column2 AS id, \
             arrow_cast([column3, column3, 9, 9], 'FixedSizeList(4, Float32)') AS v FROM points",
        ] {
            ctx.sql(sql).await.unwrap().collect().await.unwrap();
        }
        let codec = ctx.copied_config().ballista_physical_extension_codec();
        let mut kinds = Vec::new();
        for query in [
            "SELECT * FROM time_buckets('points', 'column1', 'column2', 'column3', '35', \
             'mean,p74.5', 'origin=7,fill=-0.1,nan=propagate,ddof=2')",
            "SELECT a_id FROM box_overlap('vectors a', 'v', 'vectors b', 'v', 'left', \
             'method=tiles,tile=0.1x1e-300,bins=12')",
            "SELECT a_id FROM box_overlap('vectors a', 'v', 'vectors b', 'v')",
            "SELECT a_id, rank FROM nearest('vectors a', 'v', 'vectors b', 'v', 2)",
            "SELECT sequence, id FROM reads LIMIT 5",
        ] {
            let frame = ctx.sql(query).await.unwrap();
            let plan = frame.create_physical_plan().await.unwrap();
            let message = PhysicalPlanNode::try_from_physical_plan(Arc::clone(&plan), &*codec);
            let message = message.unwrap();
            let back = message.try_into_physical_plan(&ctx.task_ctx(), &*codec);
            let back = back.unwrap();
            let sent = parameters(&plan);
            assert_eq!(parameters(&back), sent, "{query}");
            assert_eq!(text(&back), text(&plan), "{query}");
            kinds.extend(sent.into_iter().map(|(kind, _)| kind));
        }
        for node in NODES {
            assert!(kinds.contains(&node.kind), "no plan has {}", node.kind);
        }
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
