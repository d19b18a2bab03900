//! The output of EXPLAIN: sorting, filters and parameters.

use std::fs;
use std::sync::Arc;

use datafusion::physical_plan::{ExecutionPlan, collect, displayable};
use gridstride_datafusion::time_series::{TimeBucketExec, TimeBucketParameters};

use crate::common::{limited_device, rows, session, set, text};

const POINTS: &str = "SELECT 'series ' || (i % 3) AS s, i / 3 AS t, CAST(i AS DOUBLE) AS v
    FROM (SELECT value AS i FROM generate_series(0, 29))";

#[tokio::test]
async fn a_node_shows_its_parameters_and_its_device() {
    let ctx = session(2);
    rows(&ctx, &format!("CREATE TABLE points AS {POINTS}")).await;
    let plan = text(
        &ctx,
        "EXPLAIN SELECT * FROM time_buckets('points', 's', 't', 'v', '5', 'count,p95', 'fill=0,origin=2')",
    )
    .await;
    let node = "TimeBucketExec: series=s, timestamp=t, value=v, every=5, methods=[count,p95], \
                origin=2, fill=0, batch_rows=4194304, device=cpu";
    assert!(plan.contains(node), "{plan}");
    let device = limited_device();
    set(&ctx, "gridstride.device", "auto");
    let query = "SELECT * FROM time_buckets('points', 's', 't', 'v', '5', 'count')";
    let plan = text(&ctx, &format!("EXPLAIN {query}")).await;
    assert!(
        plan.contains(&format!("device=auto (here {device})")),
        "{plan}"
    );
    set(&ctx, "gridstride.device", "cpu");
    let plan = text(
        &ctx,
        "EXPLAIN ANALYZE SELECT * FROM time_buckets('points', 's', 't', 'v', '5', 'count,p95')",
    )
    .await;
    for metric in [
        "output_rows=6",
        "input_rows=30",
        "input_bytes=480",
        "calls=",
        "kernel_time=",
        "copy_time=",
        "gather_time=",
    ] {
        assert!(plan.contains(metric), "{metric}: {plan}");
    }
}

#[tokio::test]
async fn only_input_without_the_order_is_sorted() {
    let folder = tempfile::tempdir().unwrap();
    let ctx = session(4);
    let path = folder.path().to_str().unwrap();
    // Files that DataFusion writes in an order say so in their metadata.
    for (file, order) in [
        ("sorted/a", "s, t"),
        ("by_time/a", "t, s"),
        ("mixed/a", "v DESC"),
    ] {
        rows(
            &ctx,
            &format!("COPY ({POINTS} ORDER BY {order}) TO '{path}/{file}.parquet'"),
        )
        .await;
    }
    fs::create_dir(folder.path().join("two")).unwrap();
    for file in ["two/a.parquet", "two/b.parquet"] {
        fs::copy(
            folder.path().join("sorted/a.parquet"),
            folder.path().join(file),
        )
        .unwrap();
    }
    // Large files are divided in ranges, which are sorted still.
    set(&ctx, "datafusion.optimizer.repartition_file_min_size", "0");
    let mut found = Vec::new();
    for (table, order, sorts, merges) in [
        ("mixed", "", true, false),
        ("by_time", "WITH ORDER (t)", true, false),
        ("sorted", "", false, false),
        ("sorted", "WITH ORDER (s, t)", false, false),
        ("two", "WITH ORDER (s, t)", true, false),
        ("two", "WITH ORDER (s, t)", false, true),
    ] {
        set(&ctx, "gridstride.merge_sorted", &merges.to_string());
        rows(
            &ctx,
            &format!(
                "CREATE OR REPLACE EXTERNAL TABLE {table} STORED AS PARQUET {order} LOCATION '{path}/{table}/'"
            ),
        )
        .await;
        let query =
            format!("SELECT * FROM time_buckets('{table}', 's', 't', 'v', '5', 'count,sum')");
        let plan = text(&ctx, &format!("EXPLAIN {query}")).await;
        assert_eq!(plan.contains("SeriesSortExec"), sorts, "{table}: {plan}");
        assert!(!plan.contains(" SortExec"), "{table}: {plan}");
        assert_eq!(
            plan.contains("SortPreservingMergeExec"),
            merges,
            "{table}: {plan}"
        );
        // One partition has all points of its series.
        let is_hashed = table == "two" && sorts;
        assert_eq!(plan.contains("RepartitionExec"), is_hashed, "{plan}");
        found.push(text(&ctx, &format!("{query} ORDER BY series, timestamp")).await);
    }
    assert!(
        found[0].contains("| series 0 | 5         | 5     | 105.0 |"),
        "{}",
        found[0]
    );
    assert!(
        found[4].contains("| series 0 | 5         | 10    | 210.0 |"),
        "{}",
        found[4]
    );
    assert_eq!(found[4], found[5]);
    assert!(found[..4].iter().all(|other| *other == found[0]));
    // Points of one series are sorted by time alone, by the engine.
    let query = "SELECT * FROM time_buckets('mixed', NULL, 't', 'v', '5', 'count,sum')";
    let plan = text(&ctx, &format!("EXPLAIN {query}")).await;
    assert!(
        plan.contains(" SortExec") && !plan.contains("SeriesSortExec"),
        "{plan}"
    );
}

#[tokio::test]
async fn an_output_that_is_sorted_already_is_not_sorted_again() {
    let ctx = session(1);
    rows(&ctx, &format!("CREATE TABLE points AS {POINTS}")).await;
    let query = "SELECT * FROM time_buckets('points', 's', 't', 'v', '5', 'count,mean')";
    let sorts = async |order: &str| {
        let plan = text(&ctx, &format!("EXPLAIN {query} ORDER BY {order}")).await;
        plan.matches(" SortExec").count()
    };
    assert_eq!(sorts("series, timestamp").await, 0);
    assert_eq!(sorts("timestamp").await, 1);
    assert_eq!(sorts("mean, series").await, 1);
    let found = text(
        &ctx,
        &format!("SELECT series, mean FROM ({query}) ORDER BY mean DESC LIMIT 2"),
    )
    .await;
    assert!(found.contains("series 2 | 23.0"), "{found}");
}

#[tokio::test]
async fn filters_of_series_are_applied_to_the_points_and_others_to_the_buckets() {
    let ctx = session(1);
    rows(&ctx, &format!("CREATE TABLE points AS {POINTS}")).await;
    let query = "SELECT * FROM time_buckets('points', 's', 't', 'v', '5', 'count,rate:sum')";
    let filtered = format!("{query} WHERE series = 'series 1' AND timestamp >= 5");
    let plan = text(&ctx, &format!("EXPLAIN {filtered}")).await;
    let lines: Vec<_> = plan.lines().collect();
    let line = |part: &str| lines.iter().position(|line| line.contains(part));
    let node = line("TimeBucketExec").unwrap();
    assert!(line("FilterExec: timestamp").unwrap() < node, "{plan}");
    assert!(line("FilterExec: s").unwrap() > node, "{plan}");
    let found = text(&ctx, &filtered).await;
    assert!(
        found.contains("| series 1 | 5         | 5     | 15.0     |"),
        "{found}"
    );
}

#[tokio::test]
async fn a_node_can_be_made_again_of_its_parameters_and_input() {
    let ctx = session(1);
    rows(&ctx, &format!("CREATE TABLE points AS {POINTS}")).await;
    let query = "SELECT * FROM time_buckets('points', 's', 't', 'v', '4', 'count,p12.5,rate:std',
        'origin=-3,fill=previous,nan=propagate,duplicates=last,singletons=drop,ddof=0')";
    let plan = ctx
        .sql(query)
        .await
        .unwrap()
        .create_physical_plan()
        .await
        .unwrap();
    let node = plan.downcast_ref::<TimeBucketExec>().unwrap();
    let sent = serde_json::to_string(node.parameters()).unwrap();
    let received: TimeBucketParameters = serde_json::from_str(&sent).unwrap();
    assert_eq!(&received, node.parameters(), "{sent}");
    let again = TimeBucketExec::try_new(received, Arc::clone(node.input())).unwrap();
    let again: Arc<dyn ExecutionPlan> = Arc::new(again);
    let displayed =
        |plan: &Arc<dyn ExecutionPlan>| displayable(plan.as_ref()).indent(true).to_string();
    assert_eq!(displayed(&again), displayed(&plan));
    let found = collect(again, ctx.task_ctx()).await.unwrap();
    let expected = collect(plan, ctx.task_ctx()).await.unwrap();
    assert_eq!(found, expected);
    assert!(found.iter().map(|batch| batch.num_rows()).sum::<usize>() > 6);
}

#[tokio::test]
async fn options_are_those_of_the_session_that_runs_a_view() {
    let ctx = session(2);
    rows(&ctx, &format!("CREATE TABLE points AS {POINTS}")).await;
    let view = "CREATE VIEW buckets AS
        SELECT * FROM time_buckets('points', 's', 't', 'v', '5', 'count')";
    rows(&ctx, view).await;
    set(&ctx, "gridstride.device", "simulator");
    set(&ctx, "gridstride.batch_rows", "7");
    let plan = text(&ctx, "EXPLAIN SELECT * FROM buckets").await;
    assert!(plan.contains("batch_rows=7, device=simulator"), "{plan}");
}
