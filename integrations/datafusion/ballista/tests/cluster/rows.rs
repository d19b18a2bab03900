//! A cluster returns what one process returns.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use gridstride_ballista::{
    Cluster, ExecutorOptions, SchedulerOptions, cluster_session, config, run_executor,
    run_scheduler,
};
use gridstride_datafusion::fasta::register_fasta;

use crate::harness::{
    FOUR_STAGES, Processes, TIME_BUCKETS, embedded, free_ports, register, run, run_within,
    write_points,
};

/// Queries whose plans differ: scans, shuffles, sorts, a broadcast, a limit, and joins
/// without an equality, whose left rows depend on all of the right side.
const QUERIES: [&str; 11] = [
    FOUR_STAGES,
    TIME_BUCKETS,
    "SELECT count(*), sum(value), min(timestamp), max(timestamp) FROM points",
    "SELECT * FROM points WHERE value > 990 AND series <> 's0'",
    "SELECT series, timestamp, value FROM points ORDER BY timestamp DESC, series, value LIMIT 500",
    "SELECT p.series, count(*) FROM points p JOIN (VALUES ('s1'), ('s0')) AS few(name) \
     ON p.series = few.name GROUP BY 1",
    "SELECT series, value FROM points WHERE value < 0",
    "SELECT a.value, b.value FROM (SELECT value FROM points WHERE value > 996) a \
     LEFT JOIN (SELECT value FROM points WHERE value > 996) b ON a.value < b.value",
    "SELECT a.value, b.value FROM (SELECT value FROM points WHERE value > 996) a \
     FULL JOIN (SELECT value FROM points WHERE value > 996) b ON a.value < b.value",
    "SELECT a.value FROM (SELECT value FROM points WHERE value > 996) a \
     WHERE EXISTS (SELECT 1 FROM points b WHERE b.value > 990 AND b.value > a.value)",
    "SELECT a.value FROM (SELECT value FROM points WHERE value > 996) a \
     WHERE NOT EXISTS (SELECT 1 FROM points b WHERE b.value > 990 AND b.value > a.value)",
];

/// Scheduler and executors as tasks of this process.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn in_one_process() {
    let folder = tempfile::tempdir().unwrap();
    let points = folder.path().join("points");
    write_points(&points, 3_000);
    let port = free_ports(5);
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(run_scheduler(SchedulerOptions {
        address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
        advertise: "127.0.0.1".into(),
        executor_timeout: Duration::from_secs(10),
        wait_for_executors: Duration::from_secs(10),
        stall_timeout: Duration::from_secs(30),
        keep_results: Duration::from_secs(60),
    }));
    for executor in 0..2 {
        tasks.spawn(run_executor(ExecutorOptions {
            scheduler_host: "127.0.0.1".into(),
            scheduler_port: port,
            connect_timeout: Duration::from_secs(10),
            bind: Ipv4Addr::LOCALHOST.into(),
            advertise: "127.0.0.1".into(),
            port: Some(port + 1 + 2 * executor),
            vcores: 2,
            heartbeat: Duration::from_secs(1),
            host_memory: None,
            work_dir: folder.path().join("work"),
        }));
    }
    let expected = embedded(&points).await;
    let cluster = Cluster::new(format!("127.0.0.1:{port}"));
    let ctx = cluster_session(config().with_target_partitions(5), cluster).unwrap();
    register(&ctx, &points).await;
    while tokio::net::TcpStream::connect(("127.0.0.1", port))
        .await
        .is_err()
    {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for query in QUERIES {
        let rows = run_within(Duration::from_secs(30), &ctx, query)
            .await
            .unwrap();
        assert_eq!(rows, run(&expected, query).await.unwrap(), "{query}");
    }
    let copy = format!(
        "COPY points TO '{}'",
        folder.path().join("copy.csv").display()
    );
    let error = run_within(Duration::from_secs(30), &ctx, &copy).await;
    let error = error.unwrap_err().to_string();
    assert!(error.contains("a cluster only reads"), "{error}");
    assert!(
        tasks.try_join_next().is_none(),
        "scheduler and executors run"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_three_processes() {
    let cluster = Processes::start(2);
    let points = cluster.folder.path().join("points");
    write_points(&points, 3_000);
    let expected = embedded(&points).await;
    let ctx = cluster.session(&points, 0).await;
    for query in QUERIES {
        let rows = run_within(Duration::from_secs(30), &ctx, query)
            .await
            .unwrap();
        assert_eq!(rows, run(&expected, query).await.unwrap(), "{query}");
    }
    // Queries at the same time do not disturb each other.
    let all = QUERIES.map(|query| run_within(Duration::from_secs(60), &ctx, query));
    for (query, rows) in QUERIES.iter().zip(futures::future::join_all(all).await) {
        assert_eq!(
            rows.unwrap(),
            run(&expected, query).await.unwrap(),
            "{query}"
        );
    }
}

/// A cluster runs each of gridstride's nodes and functions.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_nodes_and_functions() {
    let cluster = Processes::start(2);
    let folder = cluster.folder.path();
    let points = folder.join("points");
    write_points(&points, 300);
    let genomes = folder.join("genomes");
    std::fs::create_dir(&genomes).unwrap();
    for file in 0..3 {
        let record =
            |n: usize| format!(">r{file}{n} of file {file}\n{}\n", "ACGTTGCA".repeat(n + 1));
        let text: String = (0..20).map(record).collect();
        std::fs::write(genomes.join(format!("{file}.fa")), text).unwrap();
    }
    let expected = embedded(&points).await;
    let ctx = cluster.session(&points, 0).await;
    for ctx in [&expected, &ctx] {
        let genomes = genomes.to_str().unwrap();
        register_fasta(ctx, "genomes", genomes).await.unwrap();
        for (view, select) in [
            // 50 boxes of several tiles each, and 20 boxes that many of them do not reach.
            (
                "boxes",
                "SELECT DISTINCT value AS id, value * 3 AS x0, value * 0 AS y0, value * 3 + 7 AS x1, \
                       value * 0 + 1 AS y1 FROM points WHERE value < 50",
            ),
            (
                "few",
                "SELECT DISTINCT value AS id, value * 2 AS x0, value * 0 AS y0, value * 2 + 1 AS x1, \
                       value * 0 + 1 AS y1 FROM points WHERE value < 200 AND value % 10 = 0",
            ),
            (
                "sketches",
                "SELECT id, tensor_sketch(sequence, 16, 2, 7) AS sketch FROM genomes",
            ),
        ] {
            let view = format!("CREATE VIEW {view} AS {select}");
            ctx.sql(&view).await.unwrap().collect().await.unwrap();
        }
    }
    let join = |columns: &str, options: &str| {
        let boxes = "x0,y0,x1,y1";
        format!(
            "SELECT {columns} FROM box_overlap('boxes', '{boxes}', 'few', '{boxes}', {options})"
        )
    };
    let tiles = |join: &str| format!("'{join}', 'method=tiles,tile=2,bins=5'");
    for query in [
        "SELECT id, description, length(sequence) FROM genomes",
        "SELECT a.id, round(sketch_distance(a.sketch, b.sketch), 4) FROM sketches a \
         JOIN sketches b ON a.id = b.id",
        "SELECT a_id, rank FROM nearest('sketches a', 'sketch', 'sketches b', 'sketch', 1)",
        &join("boxes_id, few_id", "'inner'"),
        &join("boxes_id, few_id", &tiles("left")),
        &join("id", &tiles("semi")),
        &join("id", &tiles("anti")),
    ] {
        let rows = run_within(Duration::from_secs(30), &ctx, query).await;
        let rows = rows.unwrap_or_else(|error| panic!("{query}: {error}"));
        assert_eq!(rows, run(&expected, query).await.unwrap(), "{query}");
        assert!(!rows.is_empty(), "{query}");
    }
    // The anti join above has rows, so that some boxes have no partner.
    let left = join("boxes_id", &tiles("left"));
    let boxes = format!("SELECT count(DISTINCT boxes_id) AS n FROM ({left})");
    assert_eq!(run(&ctx, &boxes).await.unwrap(), ["| 50 |"]);
}
