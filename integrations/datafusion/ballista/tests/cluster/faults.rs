//! Other faults: files, builds, schedulers.

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::time::{Duration, Instant};

use gridstride_ballista::{FINGERPRINT_VARIABLE, fingerprint};

use crate::harness::{
    FOUR_STAGES, Processes, TIME_BUCKETS, embedded, eventually, run, run_within, write_points,
};

const SOON: Duration = Duration::from_secs(15);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn corrupt_and_missing_files_are_errors() {
    let cluster = Processes::start(2);
    let points = cluster.folder.path().join("points");
    write_points(&points, 2_000);
    let ctx = cluster.session(&points, 1).await;
    let query = "SELECT series, sum(value) FROM points GROUP BY 1";
    assert_eq!(
        run_within(SOON, &ctx, query).await.unwrap(),
        run(&embedded(&points).await, query).await.unwrap()
    );

    // The footer stays, so that the client plans as before, and the pages are noise.
    let third = points.join("3.parquet");
    let intact = fs::read(&third).unwrap();
    let mut file = fs::OpenOptions::new().write(true).open(&third).unwrap();
    file.seek(SeekFrom::Start(4)).unwrap();
    file.write_all(&vec![0xa5; intact.len() / 2]).unwrap();
    drop(file);
    let error = run_within(SOON, &ctx, query).await.unwrap_err().to_string();
    assert!(
        error.contains("Parquet") || error.contains("parquet"),
        "{error}"
    );

    fs::remove_file(&third).unwrap();
    let error = run_within(SOON, &ctx, query).await.unwrap_err().to_string();
    assert!(error.contains("3.parquet"), "{error}");

    fs::write(&third, intact).unwrap();
    assert!(run_within(SOON, &ctx, query).await.is_ok());
}

/// An executor that has no device memory left says which operator needed it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn too_little_device_memory_is_an_error() {
    let cluster =
        Processes::start_with(1, &[], &["--device", "simulator", "--memory-limit", "100"]);
    let points = cluster.folder.path().join("points");
    write_points(&points, 500);
    let ctx = cluster.session(&points, 1).await;
    let error = run_within(SOON, &ctx, TIME_BUCKETS)
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("TimeBucketExec"), "{error}");
    assert!(error.contains("100 bytes are free"), "{error}");
    assert!(!error.contains("DataFusionError("), "{error}");
    // The executor lives on.
    assert!(run_within(SOON, &ctx, FOUR_STAGES).await.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_builds_are_refused_with_a_sentence() {
    let cluster = Processes::start(1);
    let output = cluster
        .executor_command()
        .env(FINGERPRINT_VARIABLE, "0.0.9-other")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    let sentence = format!(
        "the executor is of build 0.0.9-other and the scheduler of build {}",
        fingerprint()
    );
    assert!(text.contains(&sentence), "{text}");
    assert!(cluster.scheduler.log().contains(&sentence));

    let output = std::process::Command::new(crate::harness::SQL)
        .args(["--cluster", &cluster.address(), "SELECT 1"])
        .env(FINGERPRINT_VARIABLE, "0.0.9-other")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(
        text.contains("the client is of build 0.0.9-other"),
        "{text}"
    );
}

/// Whether a query ended because its scheduler did: while it ran or, on a slow machine, before the client had
/// connected.
fn is_gone(error: &str) -> bool {
    error.contains("went away") || error.contains("cannot be reached")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scheduler_that_is_gone_is_an_error() {
    let mut cluster = Processes::start(1);
    let points = cluster.folder.path().join("points");
    write_points(&points, 8_000);
    let ctx = cluster.session(&points, 1).await;
    let query = run_within(SOON, &ctx, FOUR_STAGES);
    let killing = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        cluster.scheduler.kill();
    };
    let (result, ()) = tokio::join!(query, killing);
    let error = result.unwrap_err().to_string();
    assert!(is_gone(&error), "{error}");

    let start = Instant::now();
    let error = run_within(SOON, &ctx, FOUR_STAGES)
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("cannot be reached"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(5));
}

/// A scheduler that is stopped keeps its connections open and answers nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_scheduler_is_an_error() {
    let cluster = Processes::start(1);
    let points = cluster.folder.path().join("points");
    write_points(&points, 8_000);
    let ctx = cluster.session(&points, 1).await;
    let query = run_within(SOON, &ctx, FOUR_STAGES);
    let stopping = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        cluster.scheduler.signal("-STOP");
    };
    let (result, ()) = tokio::join!(query, stopping);
    let error = result.unwrap_err().to_string();
    assert!(is_gone(&error), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_without_executors_is_an_error() {
    let mut cluster = Processes::start(1);
    let points = cluster.folder.path().join("points");
    write_points(&points, 1_000);
    let ctx = cluster.session(&points, 1).await;
    cluster.executors[0].signal("-TERM");
    eventually("the executor leaves", || cluster.losses() > 0);
    let error = run_within(SOON, &ctx, FOUR_STAGES)
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("no executor is registered"), "{error}");

    // Its folder is gone, and that of a killed executor goes when the next one starts.
    let work = cluster.folder.path().join("work");
    cluster.executors[0].child.wait().unwrap();
    assert_eq!(fs::read_dir(&work).unwrap().count(), 0);
    let mut killed = cluster.executor();
    cluster.wait_for_joins(2);
    killed.kill();
    assert_eq!(fs::read_dir(&work).unwrap().count(), 1);
    let _next = cluster.executor();
    cluster.wait_for_joins(3);
    assert_eq!(fs::read_dir(&work).unwrap().count(), 1);
    assert!(run_within(SOON, &ctx, FOUR_STAGES).await.is_ok());
}
