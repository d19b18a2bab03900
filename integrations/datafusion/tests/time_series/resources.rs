//! Memory and cancellation.

use std::sync::Arc;
use std::time::Duration;

use datafusion::arrow::array::{
    ArrayRef, DictionaryArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::physical_plan::{collect, execute_stream};
use datafusion::prelude::{SessionConfig, SessionContext};
use futures::StreamExt;

use crate::common::{Point, Random, batch, error, limited_device, register, set, text};

const QUERY: &str = "SELECT * FROM time_buckets('points', 's', 't', 'v', '1000', 'count,sum')";

/// Returns a session with a limit of memory.
fn session(bytes: usize) -> SessionContext {
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_limit(bytes, 1.0)
        .build_arc()
        .unwrap();
    let config = SessionConfig::new()
        .with_target_partitions(2)
        .with_sort_spill_reservation_bytes(bytes / 8);
    let ctx = SessionContext::new_with_config_rt(config, runtime);
    gridstride_datafusion::register(&ctx).unwrap();
    set(&ctx, "gridstride.device", "cpu");
    set(&ctx, "datafusion.execution.batch_size", "1024");
    ctx
}

/// Waits until all memory is free, which takes as long as calls of the library that have begun.
async fn require_freed(ctx: &SessionContext) {
    for _ in 0..1000 {
        if ctx.runtime_env().memory_pool.reserved() == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{} bytes", ctx.runtime_env().memory_pool.reserved());
}

fn batches(points: &[Point]) -> Vec<RecordBatch> {
    points.chunks(1024).map(batch).collect()
}

#[tokio::test]
async fn chunks_are_as_small_as_the_memory_requires() {
    let points = Random(3).points(100_000, true);
    let ctx = session(1 << 20);
    // DataFusion forgets the order of a table in memory that it divides.
    set(&ctx, "datafusion.optimizer.repartition_file_scans", "false");
    register(&ctx, "points", vec![batches(&points)], true);
    let found = text(&ctx, &format!("SELECT sum(count) AS n FROM ({QUERY})")).await;
    let values = points
        .iter()
        .filter(|point| point.2.is_some_and(|value| !value.is_nan()));
    assert!(
        found.contains(&format!("| {} |", values.count())),
        "{found}"
    );
    require_freed(&ctx).await;
}

/// The merge of the partitions needs memory while rows are gathered.
#[tokio::test]
async fn gathering_leaves_memory_to_the_input() {
    let points = Random(3).points(100_000, false);
    let ctx = session(1 << 20);
    set(&ctx, "gridstride.merge_sorted", "true");
    set(&ctx, "datafusion.optimizer.repartition_file_scans", "false");
    let part = |odd: usize| {
        let rows = points.iter().skip(odd).step_by(2).cloned();
        batches(&rows.collect::<Vec<_>>())
    };
    register(&ctx, "points", vec![part(0), part(1)], true);
    let plan = text(&ctx, &format!("EXPLAIN {QUERY}")).await;
    assert!(plan.contains("SortPreservingMergeExec"), "{plan}");
    let ordered = format!("{QUERY} ORDER BY series, timestamp");
    let found = text(&ctx, &ordered).await;
    require_freed(&ctx).await;
    let unlimited = session(1 << 30);
    register(&unlimited, "points", vec![batches(&points)], false);
    assert_eq!(found, text(&unlimited, &ordered).await);
}

/// Buckets as fine as the points, of many methods and filled, take more memory than the points.
#[tokio::test]
async fn memory_for_the_output_is_there_before_it_is_made() {
    let query = "SELECT count(*) AS n FROM time_buckets('points', 's', 't', 'v', '3',
        'count,sum,mean,min,max,first,last,std,var,median,p1,p2,p3,p4,p5,p6,p7', 'fill=null')";
    let points: Vec<Point> = (0..30_000)
        .map(|row| (format!("{}", row / 10_000), row % 10_000 * 3, Some(1.0)))
        .collect();
    let ctx = session(3 << 20);
    set(&ctx, "datafusion.optimizer.repartition_file_scans", "false");
    register(&ctx, "points", vec![batches(&points)], true);
    let found = text(&ctx, query).await;
    assert!(found.contains("| 30000 |"), "{found}");
    require_freed(&ctx).await;
}

/// Batches that share the values of a dictionary are gathered for one call: its memory counts once.
#[tokio::test]
async fn shared_memory_counts_once() {
    let names = StringArray::from_iter_values((0..100_000).map(|name| format!("{name:06}")));
    let names: ArrayRef = Arc::new(names);
    let series_of = |row: i32| Int32Array::from_iter_values((row..row + 100).map(|row| row / 50));
    let batches = (0..100).map(|index| {
        let series = DictionaryArray::new(series_of(100 * index), Arc::clone(&names));
        let times = Int64Array::from_iter_values((0..100).map(i64::from));
        let values = Float64Array::from(vec![1.0; 100]);
        RecordBatch::try_from_iter([
            ("s", Arc::new(series) as ArrayRef),
            ("t", Arc::new(times)),
            ("v", Arc::new(values)),
        ])
        .unwrap()
    });
    let ctx = session(16 << 20);
    set(&ctx, "datafusion.optimizer.repartition_file_scans", "false");
    register(&ctx, "points", vec![batches.collect()], true);
    let plan = ctx.sql(QUERY).await.unwrap();
    let plan = plan.create_physical_plan().await.unwrap();
    let found = collect(Arc::clone(&plan), ctx.task_ctx()).await.unwrap();
    assert_eq!(found.iter().map(RecordBatch::num_rows).sum::<usize>(), 200);
    let metrics = plan.metrics().unwrap();
    assert_eq!(metrics.sum_by_name("calls").unwrap().as_usize(), 1);
}

/// The runtime has one thread: the query itself has to let the time-out run.
#[tokio::test]
async fn filling_a_long_gap_can_be_cancelled() {
    let ctx = session(1 << 30);
    let points = [0, 1 << 60].map(|time| ("one".to_owned(), time, Some(1.0)));
    register(&ctx, "points", vec![vec![batch(&points)]], false);
    let query = "SELECT count(*) FROM time_buckets('points', 's', 't', 'v', '1', 'sum', 'fill=0')";
    let frame = ctx.sql(query).await.unwrap();
    let ended = tokio::time::timeout(Duration::from_millis(500), frame.collect()).await;
    assert!(ended.is_err());
    require_freed(&ctx).await;
}

#[tokio::test]
async fn memory_that_does_not_suffice_for_a_bucket_names_the_operator() {
    let mut points = Random(3).points(100_000, true);
    points
        .iter_mut()
        .for_each(|point| point.0 = "one".to_owned());
    points.sort_by_key(|point| point.1);
    let ctx = session(1 << 20);
    set(&ctx, "datafusion.optimizer.repartition_file_scans", "false");
    register(&ctx, "points", vec![batches(&points)], true);
    let query = QUERY.replace("1000", "1000000000");
    let message = error(&ctx, &query).await;
    assert!(
        message.contains("TimeBucketExec: the memory does not suffice for "),
        "{message}"
    );
    assert!(
        message.contains("shorter buckets or fewer partitions"),
        "{message}"
    );
    require_freed(&ctx).await;
}

#[tokio::test]
async fn a_sort_that_does_not_fit_spills() {
    let mut random = Random(4);
    let mut points = random.points(60_000, true);
    random.shuffle(&mut points);
    let ctx = session(4 << 20);
    set(&ctx, "gridstride.batch_rows", "4096");
    register(&ctx, "points", vec![batches(&points)], false);
    let plan = text(&ctx, &format!("EXPLAIN ANALYZE {QUERY}")).await;
    assert!(plan.contains("external_sorts=2"), "{plan}");
    let ordered = format!("{QUERY} ORDER BY series, timestamp");
    let found = text(&ctx, &ordered).await;
    let unlimited = session(1 << 30);
    register(&unlimited, "points", vec![batches(&points)], false);
    assert_eq!(found, text(&unlimited, &ordered).await);
    let plan = text(&unlimited, &format!("EXPLAIN ANALYZE {QUERY}")).await;
    assert!(plan.contains("external_sorts=0"), "{plan}");
    require_freed(&ctx).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_the_stream_stops_the_work_and_frees_its_memory() {
    let points = Random(6).points(200_000, true);
    let ctx = session(1 << 30);
    set(&ctx, "gridstride.batch_rows", "1000");
    register(&ctx, "points", vec![batches(&points)], true);
    let plan = ctx
        .sql(QUERY)
        .await
        .unwrap()
        .create_physical_plan()
        .await
        .unwrap();
    let mut stream = execute_stream(Arc::clone(&plan), ctx.task_ctx()).unwrap();
    assert!(stream.next().await.unwrap().unwrap().num_rows() > 0);
    drop(stream);
    require_freed(&ctx).await;
    let metrics = plan.metrics().unwrap();
    let read = metrics.sum_by_name("input_rows").unwrap().as_usize();
    assert!(read < points.len() / 2, "{read} of {} rows", points.len());
}

#[tokio::test]
async fn calls_are_divided_if_the_memory_of_the_device_does_not_suffice() {
    let device = limited_device();
    let points = Random(8).points(20_000, true);
    let ctx = session(1 << 30);
    register(&ctx, "points", vec![batches(&points)], false);
    let query = "SELECT * FROM time_buckets('points', 's', 't', 'v', '1000', 'count,max,rate:sum')
        ORDER BY series, timestamp";
    let expected = text(&ctx, query).await;
    set(&ctx, "gridstride.device", "auto");
    assert_eq!(text(&ctx, query).await, expected);
    // Other tests that compute in the simulator share the device.
    for _ in 0..1000 {
        if device.memory_used() == Some(0) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{:?} bytes of the device", device.memory_used());
}

/// An array of texts holds 2 GiB at most, and the buckets of a call may need more.
#[tokio::test]
async fn series_of_gigabytes_of_text() {
    const ROWS: i64 = 64;
    const BATCHES: i64 = 34;
    let series: ArrayRef = Arc::new(StringArray::from(vec!["s".repeat(1 << 20); ROWS as usize]));
    let batches = (0..BATCHES).map(|index| {
        let times = Int64Array::from_iter_values(index * ROWS..(index + 1) * ROWS);
        let values = Float64Array::from(vec![1.0; ROWS as usize]);
        RecordBatch::try_from_iter([
            ("s", Arc::clone(&series)),
            ("t", Arc::new(times)),
            ("v", Arc::new(values)),
        ])
        .unwrap()
    });
    let ctx = crate::common::session(1);
    set(&ctx, "datafusion.execution.batch_size", &ROWS.to_string());
    register(&ctx, "points", vec![batches.collect()], true);
    for fill in ["none", "null"] {
        let query = format!(
            "SELECT count(series) AS n
            FROM time_buckets('points', 's', 't', 'v', '1', 'count', 'fill={fill}')"
        );
        let found = text(&ctx, &query).await;
        assert!(
            found.contains(&format!("| {} |", ROWS * BATCHES)),
            "{found}"
        );
    }
}
