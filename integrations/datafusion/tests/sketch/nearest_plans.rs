//! The nearest vectors as a join: plans, memory and parameters.

use std::sync::Arc;
use std::time::Duration;

use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::physical_plan::streaming::StreamingTableExec;
use datafusion::physical_plan::{ExecutionPlan, collect, execute_stream};

use datafusion::prelude::{SessionConfig, SessionContext};
use futures::StreamExt;
use gridstride_datafusion::nearest::{NearestExec, NearestParameters};

use crate::nearest::{ours, register_random};
use crate::support::{Random, error, rows, session, texts};

/// Only the columns of a query are read, and EXPLAIN shows what runs where.
#[tokio::test]
async fn plans() {
    let mut random = Random(3);
    let folder = tempfile::tempdir().unwrap();
    let context = session("cpu", 2, 8).await;
    register_random(&context, "source", (20, 7, false), 2, &mut random);
    let path = format!("{}/", folder.path().display());
    let copy = format!("COPY source TO '{path}' STORED AS PARQUET");
    rows(&context, &copy).await.unwrap();
    let create = format!("CREATE EXTERNAL TABLE points STORED AS PARQUET LOCATION '{path}'");
    rows(&context, &create).await.unwrap();
    let query = "SELECT b_id, distance FROM nearest('points a', 'at', 'points b', 'at', 3)";
    let plan = rows(&context, &format!("EXPLAIN {query}"))
        .await
        .unwrap()
        .join("\n");
    let expected =
        "NearestExec: k=3, queries=a.at, references=b.at, batch_rows=4194304, device=cpu";
    assert!(plan.contains(expected), "{plan}");
    assert!(
        plan.contains("Nearest: k=3, queries=a.at, references=b.at"),
        "{plan}"
    );
    assert!(plan.contains("projection=[at],"), "{plan}");
    assert!(plan.contains("projection=[id, at],"), "{plan}");
    let plan = rows(&context, &format!("EXPLAIN ANALYZE {query}"))
        .await
        .unwrap()
        .concat();
    for metric in [
        "output_rows=51",
        "input_rows=20",
        "reference_rows=17",
        "input_bytes=",
        "calls=",
        "gather_time=",
        "kernel_time=",
        "copy_time=",
        "output_time=",
    ] {
        assert!(plan.contains(metric), "{metric}: {plan}");
    }
}

/// Returns a session whose operators may use `bytes` of memory.
async fn limited(bytes: usize) -> SessionContext {
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_limit(bytes, 1.0)
        .build_arc()
        .unwrap();
    let config = SessionConfig::new()
        .with_target_partitions(1)
        .with_batch_size(64);
    let context = SessionContext::new_with_config_rt(config, runtime);
    gridstride_datafusion::register(&context).unwrap();
    rows(&context, "SET gridstride.device = 'cpu'")
        .await
        .unwrap();
    context
}

/// Memory comes from the engine's pool: large references are an error, many queries are not.
#[tokio::test]
async fn memory() {
    let mut random = Random(6);
    let context = limited(1 << 20).await;
    register_random(&context, "many", (20_000, 7, true), 8, &mut random);
    register_random(&context, "few", (50, 7, true), 1, &mut random);
    let query = "SELECT count(*) FROM nearest('few', 'at', 'many', 'at', 2)";
    let message = error(&context, query).await;
    assert!(
        message.contains("NearestExec: the rows with many.at do not fit"),
        "{message}"
    );
    assert!(message.contains("NearestExec[references]"), "{message}");
    let query = "SELECT count(*) FROM nearest('many', 'at', 'few', 'at', 2)";
    assert_eq!(rows(&context, query).await.unwrap(), ["34286"]);
    // There are no more results than references, however large k is.
    let all = "SELECT count(*) = (SELECT count(at) * count(at) FROM few) \
               FROM nearest('few', 'at', 'few b', 'at', 1000000)";
    assert_eq!(rows(&context, all).await.unwrap(), ["true"]);
}

async fn planned(context: &SessionContext, query: &str) -> Arc<dyn ExecutionPlan> {
    let frame = context.sql(query).await.unwrap();
    frame.create_physical_plan().await.unwrap()
}

/// Dropping the result stops the work between calls of the library.
#[tokio::test]
async fn cancelled_queries() {
    let mut random = Random(8);
    let context = session("cpu", 1, 64).await;
    rows(&context, "SET gridstride.batch_rows = 100")
        .await
        .unwrap();
    register_random(&context, "many", (5000, 7, true), 1, &mut random);
    register_random(&context, "few", (9, 7, true), 1, &mut random);
    let query = "SELECT * FROM nearest('many', 'at', 'few', 'at', 1)";
    let plan = planned(&context, query).await;
    let calls = || {
        let metrics = find(&plan).unwrap().metrics().unwrap();
        metrics.sum_by_name("calls").unwrap().as_usize()
    };
    let mut stream = execute_stream(Arc::clone(&plan), context.task_ctx()).unwrap();
    assert!(stream.next().await.unwrap().is_ok());
    drop(stream);
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!((1..=2).contains(&calls()), "{}", calls());

    let plan = planned(&context, query).await;
    collect(Arc::clone(&plan), context.task_ctx())
        .await
        .unwrap();
    let metrics = find(&plan).unwrap().metrics().unwrap();
    let calls = metrics.sum_by_name("calls").unwrap().as_usize();
    assert_eq!(calls, 4286usize.div_ceil(100));
}

/// Finds the join in a plan.
fn find(plan: &Arc<dyn ExecutionPlan>) -> Option<&NearestExec> {
    let own = plan.downcast_ref::<NearestExec>();
    own.or_else(|| plan.children().into_iter().find_map(find))
}

/// A node that was made from sent parameters, in a plan that runs twice, has the same rows.
#[tokio::test]
async fn parameters_travel() {
    let mut random = Random(7);
    let context = session("cpu", 3, 8).await;
    register_random(&context, "queries", (30, 7, false), 3, &mut random);
    register_random(&context, "refs", (30, 7, false), 1, &mut random);
    let plan = planned(&context, &ours(2)).await;
    let node = find(&plan).unwrap();
    let text = serde_json::to_string(node.parameters()).unwrap();
    let parameters: NearestParameters = serde_json::from_str(&text).unwrap();
    assert_eq!(&parameters, node.parameters());
    let [queries, references] = node.children()[..] else {
        panic!("{} children", node.children().len());
    };
    let copy = NearestExec::try_new(parameters, queries.clone(), references.clone()).unwrap();
    let copy: Arc<dyn ExecutionPlan> = Arc::new(copy);
    let mut results = Vec::new();
    for _ in 0..2 {
        let mut found = texts(&collect(copy.clone(), context.task_ctx()).await.unwrap());
        found.sort();
        assert_eq!(found.len(), 26 * 2);
        results.push(found);
    }
    assert_eq!(results[0], results[1]);
    let copy = copy.reset_state().unwrap();
    let found = collect(copy, context.task_ctx()).await.unwrap();
    assert_eq!(texts(&found).len(), 26 * 2);
}

#[tokio::test]
async fn references_without_an_end_are_refused() {
    let mut random = Random(7);
    let context = session("cpu", 1, 8).await;
    register_random(&context, "queries", (3, 2, false), 1, &mut random);
    register_random(&context, "refs", (3, 2, false), 1, &mut random);
    let plan = planned(&context, &ours(2)).await;
    let node = find(&plan).unwrap();
    let [queries, references] = node.children()[..] else {
        panic!("{} children", node.children().len());
    };
    let schema = references.schema();
    let endless = StreamingTableExec::try_new(schema, vec![], None, vec![], true, None).unwrap();
    let parameters = node.parameters().clone();
    let error = NearestExec::try_new(parameters, queries.clone(), Arc::new(endless)).unwrap_err();
    assert!(error.to_string().contains("have no end"), "{error}");
}

/// The device is opened on a thread that may block, which execution of a plan does not.
#[tokio::test]
async fn execution_opens_no_device() {
    let mut random = Random(7);
    let context = session("cuda:1000", 1, 8).await;
    register_random(&context, "queries", (3, 2, false), 1, &mut random);
    register_random(&context, "refs", (3, 2, false), 1, &mut random);
    let plan = planned(&context, &ours(2)).await;
    let stream = find(&plan).unwrap().execute(0, context.task_ctx());
    let mut stream = stream.expect("an error of the stream only");
    let error = stream.next().await.unwrap().unwrap_err().to_string();
    let expected = "NearestExec: device cuda:1000 cannot be used";
    assert!(error.contains(expected), "{error}");
}
