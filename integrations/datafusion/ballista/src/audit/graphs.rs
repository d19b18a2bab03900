//! Ballista's own records of jobs, in which an executor was lost: what the audit makes of them.

use std::sync::Arc;

use ballista_core::extension::SessionConfigExt;
use ballista_core::serde::protobuf::{ShuffleWritePartition, SuccessfulTask, TaskStatus};
use ballista_core::serde::scheduler::{
    ExecutorMetadata, ExecutorOperatingSystemSpecification, ExecutorSpecification,
};
use ballista_scheduler::planner::DefaultDistributedPlanner;
use ballista_scheduler::state::execution_graph::{StaticExecutionGraph, create_task_info};
use datafusion::arrow::array::{ArrayRef, Int32Array, RecordBatch};
use datafusion::datasource::MemTable;
use datafusion::prelude::{SessionConfig, SessionContext};

use super::*;

/// Rows that each task of these tests writes to each partition.
const ROWS: u64 = 10;

/// A job of two or three stages: two tasks scan, two aggregate, and one merges if `merged`.
async fn job(merged: bool) -> ExecutionGraphBox {
    let settings = SessionConfig::new_with_ballista()
        .with_target_partitions(2)
        .with_ballista_adaptive_query_planner(false);
    let ctx = SessionContext::new_with_config(settings.clone());
    let column: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 3]));
    let batch = RecordBatch::try_from_iter([("id", column)]).unwrap();
    let table = MemTable::try_new(batch.schema(), vec![vec![batch.clone()], vec![batch]]).unwrap();
    ctx.register_table("points", Arc::new(table)).unwrap();
    let order = if merged { " ORDER BY id" } else { "" };
    let query = format!("SELECT id, count(*) FROM points GROUP BY id{order}");
    let frame = ctx.sql(&query).await.unwrap();
    let graph = StaticExecutionGraph::new(
        "scheduler",
        &"job".into(),
        "",
        "session",
        frame.create_physical_plan().await.unwrap(),
        0,
        Arc::new(settings),
        &mut DefaultDistributedPlanner::new(),
        None,
    );
    let mut graph: ExecutionGraphBox = Box::new(graph.unwrap());
    graph.revive();
    graph
}

/// A task that an executor was given.
struct Given {
    executor: ExecutorMetadata,
    stage: usize,
    attempt: usize,
    task: usize,
    outputs: usize,
}

fn executor(name: &str) -> ExecutorMetadata {
    ExecutorMetadata {
        id: name.to_owned(),
        host: "localhost".to_owned(),
        port: 1,
        grpc_port: 2,
        specification: ExecutorSpecification::default().with_vcores(1),
        os_info: ExecutorOperatingSystemSpecification::default(),
    }
}

/// Gives an executor the next partition of a stage that can run, as the scheduler does.
fn give(graph: &mut ExecutionGraphBox, name: &str) -> Option<Given> {
    let stage = graph.fetch_running_stage(&[])?;
    let task = stage.task_infos.len();
    let mut info = create_task_info(name.to_owned(), task);
    info.global_input_partition_ids = stage.pending.next_slice(1);
    info.vcores_consumed = 1;
    stage.task_infos.push(info);
    Some(Given {
        executor: executor(name),
        stage: stage.stage_id,
        attempt: stage.stage_attempt_num,
        task,
        outputs: if stage.output_links.is_empty() { 1 } else { 2 },
    })
}

/// Reports that a task has succeeded.
fn end(graph: &mut ExecutionGraphBox, given: &Given) {
    let written = (0..given.outputs).map(|partition| ShuffleWritePartition {
        partition_id: partition as u64,
        num_batches: 1,
        num_rows: ROWS,
        num_bytes: 80,
        file_id: Some(given.task as u64),
        is_sort_shuffle: false,
    });
    let done = SuccessfulTask {
        executor_id: given.executor.id.clone(),
        partitions: written.collect(),
        ..SuccessfulTask::default()
    };
    let status = TaskStatus {
        task_id: given.task as u32,
        job_id: "job".to_owned(),
        stage_id: given.stage as u32,
        stage_attempt_num: given.attempt as u32,
        status: Some(Status::Successful(done)),
        ..TaskStatus::default()
    };
    // With Ballista's own numbers of attempts.
    graph
        .update_task_status(&given.executor, vec![status], 4, 4)
        .unwrap();
}

/// Runs one task on an executor.
fn run(graph: &mut ExecutionGraphBox, name: &str) {
    let given = give(graph, name).expect("a task that can run");
    end(graph, &given);
}

/// Runs all tasks that are left.
fn finish(graph: &mut ExecutionGraphBox, name: &str) {
    while let Some(given) = give(graph, name) {
        end(graph, &given);
    }
    assert!(graph.is_successful(), "{graph:?}");
}

fn lose(graph: &mut ExecutionGraphBox, name: &str) {
    let (stages, _) = graph.reset_stages_on_lost_executor(name).unwrap();
    assert!(!stages.is_empty(), "nothing runs again");
}

/// Returns the rows that the client would fetch.
fn rows(graph: &ExecutionGraphBox) -> u64 {
    rows_of(&graph.output_locations()).unwrap()
}

#[tokio::test]
async fn jobs_without_a_loss_are_accepted() {
    for (merged, stages, expected) in [(false, 2, 2 * ROWS), (true, 3, ROWS)] {
        let mut graph = job(merged).await;
        assert_eq!(graph.stage_count(), stages);
        finish(&mut graph, "a");
        assert_eq!(rows(&graph), expected);
        assert_eq!(audit(&graph), Ok(()));
    }
}

/// Returns a job that is successful by Ballista's records, whose last stage ran again: of its two
/// tasks, one had ended on `a` and one was running on `b` when `a` was lost.
pub(crate) async fn ran_again() -> ExecutionGraphBox {
    let mut graph = job(false).await;
    run(&mut graph, "a");
    run(&mut graph, "b");
    run(&mut graph, "a");
    let running = give(&mut graph, "b").unwrap();
    assert_eq!(running.stage, 2);
    lose(&mut graph, "a");
    finish(&mut graph, "b");
    graph
}

/// Ballista 55's fault: the last stage runs again, and the result has rows of both runs.
#[tokio::test]
async fn a_last_stage_that_ran_again_is_refused() {
    let graph = ran_again().await;
    assert_eq!(rows(&graph), 3 * ROWS, "two tasks wrote {ROWS} rows each");
    let refusal = audit(&graph).unwrap_err();
    assert!(refusal.ends_with("ran 2 times"), "{refusal}");
}

/// Without its first rule, the audit refuses the same result because of its rows.
#[tokio::test]
async fn the_rows_alone_show_a_last_stage_that_ran_again() {
    let graph = ran_again().await;
    let mut stages = BTreeMap::new();
    for (&id, stage) in graph.stages() {
        let ExecutionStage::Successful(stage) = stage else {
            panic!("{stage:?}");
        };
        let mut stage = record(stage);
        stage.attempt = 0;
        stage.tasks.retain(|task| task.output.is_some());
        stages.insert(id, stage);
    }
    assert_eq!(
        check(&stages, pieces(&graph.output_locations())).unwrap_err(),
        "the result has 30 rows in 3 pieces from stage 2, whose tasks wrote 20 rows in 2 pieces"
    );
}

/// A loss in each stage, with nothing and with something of the stage done: Ballista recovers or does
/// not, and the audit accepts neither.
#[tokio::test]
async fn a_loss_in_any_stage_is_refused() {
    // Tasks that have ended before the loss, of two, two and one in the three stages.
    for ended in 0..5 {
        let mut graph = job(true).await;
        for task in 0..ended {
            run(&mut graph, if task % 2 == 0 { "a" } else { "b" });
        }
        let running = give(&mut graph, "a").unwrap();
        assert_eq!(running.stage, ended / 2 + 1);
        lose(&mut graph, "a");
        finish(&mut graph, "b");
        let refusal = audit(&graph).unwrap_err();
        assert!(
            refusal.contains("was lost") || refusal.contains("ran 2 times"),
            "{ended} tasks: {refusal}"
        );
    }
}
