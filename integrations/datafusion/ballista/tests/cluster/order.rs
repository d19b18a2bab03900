//! Rows in the order that a query asks for.

use std::time::Duration;

use crate::harness::{Processes, embedded, run_in_order, write_points};

/// Queries that decide the order of all their rows, over the whole table, below and above limits, and
/// after joins and gridstride's nodes.
const QUERIES: [&str; 10] = [
    "SELECT series, timestamp, value FROM points ORDER BY timestamp",
    "SELECT timestamp, value FROM points ORDER BY value DESC NULLS LAST, timestamp DESC",
    "SELECT timestamp, value FROM points ORDER BY value NULLS FIRST, timestamp LIMIT 9000",
    "SELECT timestamp FROM points ORDER BY timestamp DESC LIMIT 100 OFFSET 8150",
    "SELECT timestamp FROM points ORDER BY timestamp LIMIT 1",
    "SELECT * FROM (SELECT series, timestamp, value FROM points ORDER BY timestamp LIMIT 5000) \
     ORDER BY series DESC, timestamp DESC LIMIT 3000 OFFSET 10",
    "SELECT series, count(*) AS n, max(timestamp) FROM points GROUP BY 1 ORDER BY n DESC, series",
    "SELECT a.timestamp, b.timestamp FROM points a JOIN points b \
     ON a.series = b.series AND a.value = b.value AND a.timestamp < b.timestamp \
     ORDER BY 1 DESC, 2 LIMIT 2000",
    "SELECT * FROM time_buckets('points', 'series', 'timestamp', 'value', '5s', 'count,mean') \
     ORDER BY timestamp DESC, series",
    "SELECT series, timestamp, row_number() OVER (PARTITION BY series ORDER BY timestamp DESC) AS n \
     FROM points ORDER BY n, series LIMIT 700",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queries_return_their_rows_in_order() {
    let cluster = Processes::start(2);
    let points = cluster.folder.path().join("points");
    write_points(&points, 3_000);
    let local = embedded(&points).await;
    for partitions in [1, 3, 8] {
        let ctx = cluster.session_with(&points, 0, partitions).await;
        for query in QUERIES {
            let expected = run_in_order(&local, query).await.unwrap();
            assert!(!expected.is_empty(), "{query}");
            let rows = tokio::time::timeout(Duration::from_secs(30), run_in_order(&ctx, query));
            let rows = rows.await.expect("the query hangs").unwrap();
            assert!(rows == expected, "{partitions} partitions: {query}");
        }
    }
}
