//! Filters of the rows that a search returns: those of queries are applied before it.

use crate::nearest::{ours, plain, register_random};
use crate::support::{Random, rows, session, sorted};

#[tokio::test]
async fn only_filters_of_queries_are_applied_before_the_search() {
    let mut random = Random(9);
    let context = session("cpu", 2, 8).await;
    register_random(&context, "queries", (60, 7, false), 2, &mut random);
    register_random(&context, "refs", (40, 6, false), 2, &mut random);
    for (filter, above, below) in [
        ("queries_id < 20", "", "queries.id < Int64(20)"),
        ("refs_id < 20", "refs.id < Int64(20)", ""),
        ("refs_id = queries_id", "refs.id = queries.id", ""),
        (
            "queries_id < 20 AND refs_id < 20",
            "refs.id < Int64(20)",
            "queries.id < Int64(20)",
        ),
    ] {
        let query = format!("{} WHERE {filter}", ours(3));
        let plan = rows(&context, &format!("EXPLAIN {query}")).await.unwrap();
        let plan = plan.join("\n");
        let logical = plan.split_once("physical_plan").unwrap().0;
        let part = |prefix: &str| {
            let line = logical.lines().find_map(|line| line.split_once(prefix));
            line.map_or("", |(_, filter)| filter)
        };
        assert_eq!(part(", filter="), above, "{plan}");
        assert_eq!(part("Filter: "), below, "{plan}");
        let filter = filter.replace("queries_id", "q").replace("refs_id", "r");
        let expected = format!("SELECT * FROM ({}) WHERE {filter}", plain(3));
        let expected = sorted(&context, &expected).await;
        assert_eq!(sorted(&context, &query).await, expected, "{query}");
    }
}

#[tokio::test]
async fn ranks_and_distances_can_be_computed_with() {
    let mut random = Random(10);
    let context = session("cpu", 2, 8).await;
    register_random(&context, "queries", (60, 7, false), 2, &mut random);
    register_random(&context, "refs", (40, 6, false), 2, &mut random);
    // The plain query has no distances.
    for (filter, expected) in [
        ("rank = 2", "rank = 2"),
        ("rank % 2 = 1", "rank % 2 = 1"),
        ("distance * 2 >= 0 AND rank > 1", "rank > 1"),
        ("distance + 1 < rank / 1000", "false"),
    ] {
        let query = format!("{} WHERE {filter}", ours(3));
        let expected = format!("SELECT * FROM ({}) WHERE {expected}", plain(3));
        let expected = sorted(&context, &expected).await;
        assert_eq!(sorted(&context, &query).await, expected, "{query}");
    }
}

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
