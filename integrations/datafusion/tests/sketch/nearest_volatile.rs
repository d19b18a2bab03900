//! Filters with random numbers are of the rows that a search returns.

use crate::support::{rows, session};

#[tokio::test]
async fn volatile_filters_are_of_the_results() {
    let ctx = session("cpu", 1, 8192).await;
    for name in ["queries", "references"] {
        let create = format!(
            "CREATE TABLE {name} AS SELECT value AS id,
             arrow_cast([CAST(value AS FLOAT)], 'FixedSizeList(1, Float32)') AS at
             FROM generate_series(1, 1000)"
        );
        rows(&ctx, &create).await.unwrap();
    }
    let query = "FROM nearest('queries', 'at', 'references', 'at', 1) WHERE random() < 0.5";
    let plan = rows(&ctx, &format!("EXPLAIN SELECT * {query}"))
        .await
        .unwrap();
    let plan = plan.join("\n");
    let (_, plan) = plan.split_once("physical_plan").unwrap();
    assert_eq!(plan.matches("FilterExec").count(), 1, "{plan}");
    let line = |part: &str| plan.lines().position(|line| line.contains(part));
    assert!(line("FilterExec: random()") < line("NearestExec"), "{plan}");
    // All queries have a reference at distance 0, unless it was left out.
    let found = rows(&ctx, &format!("SELECT count(*), max(distance) {query}")).await;
    let found = found.unwrap();
    let (count, distance) = found[0].split_once('|').unwrap();
    assert!(
        (400..600).contains(&count.parse::<usize>().unwrap()),
        "{count}"
    );
    assert_eq!(distance, "0.0");
}
