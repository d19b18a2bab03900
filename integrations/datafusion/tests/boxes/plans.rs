//! The plan of a join, its reports, and its behaviour without memory or readers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::arrow::array::{ArrayRef, Float32Array, RecordBatch};
use datafusion::execution::memory_pool::{FairSpillPool, GreedyMemoryPool, MemoryPool};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::physical_plan::execution_plan::reset_plan_states;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::{SessionConfig, SessionContext};
use futures::StreamExt;

use crate::tables::{
    Coordinates, JOINS, Random, by_boxes, lines, physical_plan, reference, register_split, rows,
    session, set, table, two_tables,
};

async fn plan(ctx: &SessionContext, join: &str, options: &str) -> String {
    physical_plan(ctx, &by_boxes("box", join, options)).await
}

#[tokio::test]
async fn the_smaller_side_is_replicated() {
    let ctx = session(4, 100);
    let mut random = Random(1);
    for (name, count) in [("l", 10), ("r", 100)] {
        let rows = table(&mut random, count, 2, Coordinates::F32);
        register_split(&ctx, name, &rows, &mut random);
    }
    let inner = plan(&ctx, "inner", "").await;
    assert!(
        inner.contains("placement=replicate_left, projection=[id, name, id, name], device=auto"),
        "{inner}"
    );
    let left = plan(&ctx, "left", "").await;
    assert!(left.contains("placement=replicate_right"), "{left}");
    let chosen = plan(&ctx, "inner", "method=replicate_right").await;
    assert!(chosen.contains("placement=replicate_right"), "{chosen}");
    assert!(
        !chosen.contains("BoxTileExec") && !chosen.contains("SortExec"),
        "{chosen}"
    );
}

#[tokio::test]
async fn large_sides_are_partitioned_by_tiles() {
    let ctx = two_tables(session(4, 100), 2, (100, 2, Coordinates::F32));
    set(&ctx, "box_tile_rows", 50).await;
    set(&ctx, "device", "cpu").await;
    let inner = plan(&ctx, "inner", "").await;
    assert!(inner.contains("placement=tiles(size=["), "{inner}");
    assert!(
        inner.contains("bins=16), projection=[id, name, id, name], device=cpu"),
        "{inner}"
    );
    assert_eq!(inner.matches("BoxTileExec: boxes=").count(), 2, "{inner}");
    assert_eq!(inner.matches("Hash([box_overlap_bin").count(), 2, "{inner}");
    assert!(!inner.contains("BoxMatchExec"), "{inner}");
    let anti = plan(&ctx, "anti", "").await;
    assert!(
        anti.contains("BoxMatchExec: join=LeftAnti, boxes=l[box]"),
        "{anti}"
    );
    set(&ctx, "batch_rows", 2).await;
    assert!(plan(&ctx, "inner", "").await.contains("bins=50)"));
    let given = plan(&ctx, "inner", "tile=3x4.5,bins=3").await;
    assert!(given.contains("tiles(size=[3.0, 4.5], bins=3)"), "{given}");
}

pub fn limited(pool: Arc<dyn MemoryPool>, partitions: usize) -> SessionContext {
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_pool(pool)
        .build_arc()
        .unwrap();
    let config = SessionConfig::new()
        .with_target_partitions(partitions)
        .with_batch_size(512)
        .with_sort_spill_reservation_bytes(100_000);
    let ctx = SessionContext::new_with_config_rt(config, runtime);
    gridstride_datafusion::register(&ctx).unwrap();
    ctx
}

/// Boxes that overlap their neighbours.
pub async fn chains(ctx: &SessionContext, rows: usize) {
    for name in ["l", "r"] {
        let sql = format!(
            "CREATE TABLE {name} AS SELECT value AS id, repeat('x', 20) AS name, \
             CAST(value AS DOUBLE) AS x0, CAST(0 AS DOUBLE) AS y0, CAST(value + 1 AS DOUBLE) AS x1, \
             CAST(0 AS DOUBLE) AS y1 FROM generate_series(1, {rows})"
        );
        ctx.sql(&sql).await.unwrap();
    }
}

pub fn count(options: &str) -> String {
    let columns = "x0,y0,x1,y1";
    let join = format!("box_overlap('l', '{columns}', 'r', '{columns}', 'inner', '{options}')");
    format!("SELECT count(*), sum(length(l_name) + length(r_name)) FROM {join}")
}

#[tokio::test(flavor = "multi_thread")]
async fn too_little_memory_is_an_error_that_names_the_operator() {
    let ctx = limited(Arc::new(GreedyMemoryPool::new(300_000)), 2);
    chains(&ctx, 20_000).await;
    let error = rows(&ctx, &count("method=replicate_right"))
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("BoxOverlapExec"), "{error}");
    assert!(error.contains("Resources exhausted"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn tiles_spill_and_need_the_memory_of_one_bin() {
    let ctx = limited(Arc::new(FairSpillPool::new(4_000_000)), 2);
    chains(&ctx, 60_000).await;
    let sql = count("method=tiles,tile=10,bins=2000");
    let plan = ctx
        .sql(&sql)
        .await
        .unwrap()
        .create_physical_plan()
        .await
        .unwrap();
    let found = collect(Arc::clone(&plan), ctx.task_ctx()).await.unwrap();
    let pairs = 3 * 60_000 - 2;
    assert_eq!(lines(&found), [format!("|{pairs}|{}|", 40 * pairs)]);
    assert!(spills(&plan) > 0);
    let error = rows(&ctx, &count("method=replicate_right"))
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("BoxOverlapExec"), "{error}");
}

/// The probe side alone is larger than the memory.
#[tokio::test(flavor = "multi_thread")]
async fn batches_are_as_small_as_the_memory_requires() {
    let ctx = limited(Arc::new(GreedyMemoryPool::new(2_000_000)), 1);
    chains(&ctx, 60_000).await;
    let few = "CREATE VIEW few AS SELECT * FROM r WHERE id <= 500";
    ctx.sql(few).await.unwrap();
    set(&ctx, "box_pairs", 1000).await;
    let sql = count("method=replicate_right");
    let sql = sql.replace("'r'", "'few r'");
    let pairs = 3 * 500 - 1;
    assert_eq!(
        rows(&ctx, &sql).await.unwrap(),
        [format!("|{pairs}|{}|", 40 * pairs)]
    );
}

fn spills(plan: &Arc<dyn ExecutionPlan>) -> usize {
    let own = plan.metrics().and_then(|metrics| metrics.spill_count());
    own.unwrap_or(0) + plan.children().into_iter().map(spills).sum::<usize>()
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_count_rows_and_searches() {
    let ctx = session(1, 100);
    set(&ctx, "batch_rows", 30).await;
    chains(&ctx, 100).await;
    let sql = "SELECT * FROM box_overlap('l', 'x0,y0,x1,y1', 'r', 'x0,y0,x1,y1', 'inner', '";
    for (options, searches) in [
        ("method=replicate_right", 1),
        ("method=tiles,tile=10,bins=4", 4),
    ] {
        let sql = format!("{sql}{options}')");
        let plan = ctx
            .sql(&sql)
            .await
            .unwrap()
            .create_physical_plan()
            .await
            .unwrap();
        collect(Arc::clone(&plan), ctx.task_ctx()).await.unwrap();
        let node = find(&plan).expect("a BoxOverlapExec");
        let metrics = node.metrics().unwrap();
        let sum = |name: &str| metrics.sum_by_name(name).unwrap().as_usize();
        assert_eq!(metrics.output_rows(), Some(298));
        assert!(sum("input_rows") >= 200 && sum("input_bytes") > 0);
        assert_eq!(sum("searches"), searches);
        assert!(sum("search_time") > 0 && sum("take_time") > 0);
    }
}

fn find(plan: &Arc<dyn ExecutionPlan>) -> Option<&Arc<dyn ExecutionPlan>> {
    if plan.name() == "BoxOverlapExec" {
        return Some(plan);
    }
    plan.children().into_iter().find_map(find)
}

/// 10⁸ pairs: reading them all would take minutes.
#[tokio::test(flavor = "multi_thread")]
async fn dropping_the_stream_stops_the_search() {
    let ctx = session(1, 100);
    set(&ctx, "box_pairs", 10_000).await;
    let column = |number: f32| Arc::new(Float32Array::from(vec![number; 10_000])) as ArrayRef;
    let batch = RecordBatch::try_from_iter([
        ("x0", column(0.0)),
        ("y0", column(0.0)),
        ("x1", column(1.0)),
        ("y1", column(1.0)),
    ]);
    ctx.register_batch("l", batch.unwrap()).unwrap();
    let sql = "SELECT * FROM box_overlap('l a', 'x0,y0,x1,y1', 'l b', 'x0,y0,x1,y1')";
    let started = Instant::now();
    let mut stream = ctx.sql(sql).await.unwrap().execute_stream().await.unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap().num_rows(), 100);
    let pool = Arc::clone(&ctx.runtime_env().memory_pool);
    drop(stream);
    while pool.reserved() > 0 {
        assert!(
            started.elapsed() < Duration::from_secs(60),
            "the search goes on"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let limited = format!("{sql} LIMIT 5");
    assert_eq!(rows(&ctx, &limited).await.unwrap().len(), 5);
}

/// A physical plan keeps the replicated rows of its first run.
#[tokio::test(flavor = "multi_thread")]
async fn a_plan_runs_twice_and_again_after_a_reset() {
    let ctx = two_tables(session(2, 100), 5, (60, 3, Coordinates::I32));
    for join in JOINS {
        let expected = rows(&ctx, &reference(3, join)).await.unwrap();
        for options in ["", "method=tiles,bins=5"] {
            let joined = ctx.sql(&by_boxes("box", join, options)).await.unwrap();
            let plan = joined.create_physical_plan().await.unwrap();
            let run = async |plan: &Arc<dyn ExecutionPlan>| {
                lines(&collect(Arc::clone(plan), ctx.task_ctx()).await.unwrap())
            };
            assert_eq!(run(&plan).await, expected, "{join} {options}");
            // Exchanges between partitions run once.
            if options.is_empty() {
                assert_eq!(run(&plan).await, expected, "{join} {options}");
            }
            let plan = reset_plan_states(plan).unwrap();
            assert_eq!(run(&plan).await, expected, "{join} {options}");
        }
    }
}

/// Devices are opened on threads that may block, which execution of a plan does not.
#[tokio::test(flavor = "multi_thread")]
async fn execution_opens_no_device() {
    let ctx = two_tables(session(2, 100), 5, (60, 2, Coordinates::F32));
    set(&ctx, "device", "cuda:1000").await;
    for join in JOINS {
        for options in ["", "method=tiles,bins=5"] {
            let joined = ctx.sql(&by_boxes("box", join, options)).await.unwrap();
            let plan = joined.create_physical_plan().await.unwrap();
            let node = find(&plan).expect("a BoxOverlapExec");
            let stream = node.execute(0, ctx.task_ctx());
            drop(stream.expect("an error of the stream only"));
            let plan = reset_plan_states(plan).unwrap();
            let error = collect(plan, ctx.task_ctx()).await.unwrap_err().to_string();
            let expected = "BoxOverlapExec: device cuda:1000 cannot be used";
            assert!(error.contains(expected), "{error}");
        }
    }
}
