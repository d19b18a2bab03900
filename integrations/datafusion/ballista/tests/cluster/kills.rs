//! Executors that die in the middle of queries: right rows or an error, soon, and never wrong rows.

use std::time::{Duration, Instant};

use datafusion::common::Result;

use crate::harness::{
    FOUR_STAGES, Process, Processes, TIME_BUCKETS, embedded, run, run_within, write_points,
};

/// Kills in each of the two tests.
const KILLS: u32 = 10;
/// Within which a query ends after a kill: the timeout of 3 s of silence, its check every second,
/// and further attempts, on a machine that does much else.
const SOON: Duration = Duration::from_secs(25);

/// A sequence of numbers in 0..1 that looks random, the same in every run.
fn random(state: &mut u64) -> f64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1);
    (*state >> 11) as f64 / (1_u64 << 53) as f64
}

/// Kills an executor [`KILLS`] times, at moments spread over the query's duration, and returns
/// how many of the queries gave rows, which are right, and the errors of the others.
async fn kill_executors(retries: usize, seed: u64) -> (u32, Vec<String>) {
    let mut cluster = Processes::start(2);
    let points = cluster.folder.path().join("points");
    write_points(&points, 8_000);
    let ctx = cluster.session(&points, retries).await;
    let local = embedded(&points).await;
    let mut queries = Vec::new();
    for query in [FOUR_STAGES, TIME_BUCKETS] {
        let expected = run(&local, query).await.unwrap();
        let start = Instant::now();
        assert_eq!(run(&ctx, query).await.unwrap(), expected);
        queries.push((query, expected, start.elapsed()));
    }

    let mut state = seed;
    let (mut right, mut errors) = (0, Vec::new());
    for kill in 0..KILLS {
        let (query, expected, duration) = &queries[kill as usize % 2];
        let part = (f64::from(kill) + random(&mut state)) / f64::from(KILLS);
        let victim = usize::from(random(&mut state) < 0.5);
        let joins = cluster.joins();
        let query = run_within(SOON, &ctx, query);
        let killing = kill_later(&mut cluster.executors[victim], duration.mul_f64(part));
        let (result, ()): (Result<_>, ()) = tokio::join!(query, killing);
        match result {
            Ok(rows) => {
                assert_eq!(rows.len(), expected.len(), "kill {kill} at {part}");
                assert_eq!(&rows, expected, "kill {kill} at {part}");
                right += 1;
            }
            Err(error) => errors.push(error.strip_backtrace()),
        }
        cluster.executors[victim] = cluster.executor();
        cluster.wait_for_joins(joins + 1);
    }
    // All killed executors are forgotten after the timeout, and the restarted ones work.
    tokio::time::sleep(Duration::from_secs(5)).await;
    for (query, expected, _) in queries {
        assert_eq!(run_within(SOON, &ctx, query).await.unwrap(), expected);
    }
    (right, errors)
}

async fn kill_later(victim: &mut Process, delay: Duration) {
    tokio::time::sleep(delay).await;
    victim.kill();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_executors_end_queries_with_an_error() {
    let (right, errors) = kill_executors(0, 1).await;
    eprintln!("without retries: {right} right, errors: {errors:#?}");
    assert!(!errors.is_empty(), "no kill hit a query");
    for error in errors {
        assert!(
            error.contains("the cluster changed while the query ran"),
            "{error}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_executors_are_survived_by_further_attempts() {
    let (right, errors) = kill_executors(2, 2).await;
    eprintln!("with retries: {right} right, errors: {errors:#?}");
    assert!(right >= KILLS - 2, "{errors:#?}");
}

/// An executor that was stopped, not dead, counts as lost. When it goes on, it finds that the
/// scheduler has told it to stop, or joins again if that message is lost. It may also join before it
/// reads the message: then it is lost a second time, and a query that it hit needs another attempt.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_executors_are_lost_and_replaced() {
    let mut cluster = Processes::start(2);
    let points = cluster.folder.path().join("points");
    write_points(&points, 3_000);
    let expected = run(&embedded(&points).await, FOUR_STAGES).await.unwrap();
    let ctx = cluster.session(&points, 0).await;
    cluster.executors[0].signal("-STOP");
    let error = run_within(SOON, &ctx, FOUR_STAGES).await.unwrap_err();
    assert!(error.to_string().contains("was lost"), "{error}");
    let rows = run_within(SOON, &ctx, FOUR_STAGES).await.unwrap();
    assert_eq!(rows, expected);

    cluster.executors[0].signal("-CONT");
    let start = Instant::now();
    while cluster.joins() < 3 {
        if let Some(status) = cluster.executors[0].child.try_wait().unwrap() {
            assert_eq!(status.code(), Some(1));
            assert!(
                cluster.executors[0]
                    .log()
                    .contains("counted this executor as lost")
            );
            cluster.executors[0] = cluster.executor();
            cluster.wait_for_joins(3);
        }
        assert!(
            start.elapsed() < SOON,
            "the executor neither ends nor joins"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let ctx = cluster.session(&points, 2).await;
    let rows = run_within(SOON, &ctx, FOUR_STAGES).await.unwrap();
    assert_eq!(rows, expected);
}
