//! Filters with random numbers: of the buckets, and of the points in a view.

use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;

use crate::common::{rows, session, text};

const QUERY: &str =
    "SELECT * FROM time_buckets('points', 'series', 'timestamp', 'value', '3', 'count')";

/// Returns a session with points of two series, three in each of 1000 buckets.
async fn points() -> SessionContext {
    let ctx = session(2);
    let create = "CREATE TABLE points AS SELECT 'series ' || (i % 2) AS series,
        i / 2 AS timestamp, CAST(i AS DOUBLE) AS value
        FROM (SELECT value AS i FROM generate_series(0, 5999))";
    rows(&ctx, create).await;
    ctx
}

/// Returns the counts of the buckets.
async fn counts(ctx: &SessionContext, sql: &str) -> Vec<i64> {
    let found = rows(ctx, sql).await;
    let counts = found.iter().map(|batch| {
        let counts = batch.column_by_name("count").unwrap();
        counts.as_primitive::<Int64Type>().values().to_vec()
    });
    counts.flatten().collect()
}

#[tokio::test]
async fn volatile_filters_are_of_the_buckets() {
    let ctx = points().await;
    for (filter, expected) in [
        ("random() < 0.5", 800..1200),
        ("series = 'series 1' OR random() < 0.5", 1300..1700),
        ("series = 'series 1' AND random() < 0.5", 400..600),
        ("count > 1 AND random() < 0.5", 800..1200),
        ("random() < 0.5 AND random() < 0.5", 400..600),
    ] {
        let found = counts(&ctx, &format!("{QUERY} WHERE {filter}")).await;
        assert!(expected.contains(&found.len()), "{filter}: {}", found.len());
        assert!(found.iter().all(|&count| count == 3), "{filter}");
        let of_buckets = format!("SELECT count(*) FROM ({QUERY}) AS b WHERE {filter}");
        let found = rows(&ctx, &of_buckets).await;
        let count = found[0].column(0).as_primitive::<Int64Type>().value(0);
        assert!(expected.contains(&(count as usize)), "{filter}: {count}");
    }
    let stable = format!("EXPLAIN {QUERY} WHERE series = 'series 1' AND random() < 0.5");
    let plan = text(&ctx, &stable).await;
    let line = |part: &str| plan.lines().position(|line| line.contains(part));
    let node = line("TimeBucketExec").unwrap();
    assert!(line("FilterExec: random()").unwrap() < node, "{plan}");
    assert!(line("FilterExec: series").unwrap() > node, "{plan}");
    assert!(plan.contains("filter=random() < Float64(0.5)"), "{plan}");
}

#[tokio::test]
async fn volatile_filters_of_a_view_are_of_the_points() {
    let ctx = points().await;
    rows(
        &ctx,
        "CREATE VIEW half AS SELECT * FROM points WHERE random() < 0.5",
    )
    .await;
    let found = counts(&ctx, &QUERY.replace("points", "half")).await;
    let sum: i64 = found.iter().sum();
    assert!((2700..3300).contains(&sum), "{sum}");
    assert!(found.len() > 1600, "{}", found.len());
    let both = format!("{} WHERE random() < 0.5", QUERY.replace("points", "half"));
    let plan = text(&ctx, &format!("EXPLAIN {both}")).await;
    let plan = plan.split_once("physical_plan").unwrap().1;
    assert_eq!(plan.matches("FilterExec: random()").count(), 2, "{plan}");
    let found = counts(&ctx, &both).await;
    assert!(found.len() < 1100 && found.contains(&3), "{}", found.len());
}
