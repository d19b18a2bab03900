//! The proof that a query's rows are right although executors may die: an audit of every job before
//! the client hears of its success.
//!
//! Ballista 55 runs the tasks of a lost executor again. In doing so it can put the output of both
//! runs into the result, without an error: `StaticExecutionGraph::update_stage_output_links` adds
//! the outputs of a final stage that runs again to those of its first run. The audit looks at the
//! scheduler's own records of the finished job, the very records that the locations of the result
//! are taken from, and accepts the job only if all of this holds:
//!
//! 1. **Nothing ran twice.** Every stage succeeded in its first attempt and all its tasks did, and
//!    the tasks' slices of the stage's input partitions are disjoint and cover all of them.
//! 2. **Everything that was written was read, once.** What a stage read from another one, as triples
//!    (output partition, task, rows), is exactly what the tasks of that stage reported to have
//!    written. The same holds for the last stage and the result.
//!
//! With 1, every input row was processed by one task; with 2, every row that a task handed on was
//! handed to one reader. What the files hold is checked where they are read: an executor compares
//! the rows that it reads with those that the writing task counted ([`crate::checked`]), and the
//! client does so with the result ([`crate::submit`]).
//!
//! The audit rejects some jobs that would have been right, those in which Ballista's recovery worked.
//! That costs time and no rows: the client runs the query again.

use std::collections::{BTreeMap, HashMap};

use ballista_core::serde::protobuf::task_status::Status;
use ballista_core::serde::scheduler::PartitionLocation;
use ballista_scheduler::state::execution_graph::ExecutionGraphBox;
use ballista_scheduler::state::execution_stage::{ExecutionStage, SuccessfulStage};

use crate::checked::rows_of;

/// The rows that one task wrote to one file for one output partition of its stage. A task writes a
/// file for each partition of its slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Piece {
    partition: usize,
    task: usize,
    file: Option<u64>,
    rows: u64,
}

/// A task's slice of its stage's input partitions, and what it wrote if it succeeded.
#[derive(Clone, Debug)]
struct Task {
    slice: Vec<usize>,
    output: Option<Vec<Piece>>,
}

/// The scheduler's record of a stage.
#[derive(Clone, Debug)]
struct Stage {
    attempt: usize,
    partitions: usize,
    tasks: Vec<Task>,
    /// The pieces that the stage has to read, by the stage that wrote them.
    inputs: BTreeMap<usize, Vec<Piece>>,
    last: bool,
}

/// Checks a successful job.
///
/// # Errors
/// A sentence that says which rule the job breaks.
pub(crate) fn audit(graph: &ExecutionGraphBox) -> Result<(), String> {
    let mut stages = BTreeMap::new();
    for (&id, stage) in graph.stages() {
        match stage {
            ExecutionStage::Successful(stage) => stages.insert(id, record(stage)),
            stage => return Err(format!("stage {id} is {}", stage.variant_name())),
        };
    }
    let result = pieces(&graph.output_locations());
    check(&stages, result)
}

fn record(stage: &SuccessfulStage) -> Stage {
    let tasks = stage.task_infos.iter().enumerate().map(|(task, info)| {
        let output = match &info.task_status {
            Status::Successful(done) => Some(
                done.partitions
                    .iter()
                    .map(|written| Piece {
                        partition: written.partition_id as usize,
                        task,
                        file: written.file_id,
                        rows: written.num_rows,
                    })
                    .collect(),
            ),
            _ => None,
        };
        Task {
            slice: info.global_input_partition_ids.clone(),
            output,
        }
    });
    let inputs = stage.inputs.iter().map(|(&from, input)| {
        let locations: Vec<PartitionLocation> = input
            .partition_locations
            .values()
            .flatten()
            .cloned()
            .collect();
        (from, pieces(&locations))
    });
    Stage {
        attempt: stage.stage_attempt_num,
        partitions: stage.partitions,
        tasks: tasks.collect(),
        inputs: inputs.collect(),
        last: stage.output_links.is_empty(),
    }
}

fn pieces(locations: &[PartitionLocation]) -> Vec<Piece> {
    let piece = |location: &PartitionLocation| Piece {
        partition: location.partition_id.partition_id,
        task: location.map_partition_id,
        file: location.file_id,
        // A writer always counts. Where it did not, no count matches.
        rows: rows_of(std::slice::from_ref(location)).unwrap_or(u64::MAX),
    };
    locations.iter().map(piece).collect()
}

fn check(stages: &BTreeMap<usize, Stage>, result: Vec<Piece>) -> Result<(), String> {
    let mut written = HashMap::new();
    for (&id, stage) in stages {
        written.insert(id, check_tasks(id, stage)?);
    }
    for (&id, stage) in stages {
        for (from, read) in &stage.inputs {
            let Some(written) = written.get(from) else {
                return Err(format!(
                    "stage {id} reads from stage {from}, which did not run"
                ));
            };
            compare(&format!("stage {id}"), *from, written, read.clone())?;
        }
    }
    let mut last = stages.iter().filter(|(_, stage)| stage.last);
    match (last.next(), last.next()) {
        (Some((id, _)), None) => compare("the result", *id, &written[id], result),
        _ => Err("the job has not exactly one last stage".to_owned()),
    }
}

/// Checks rule 1 and returns what the stage wrote, sorted.
fn check_tasks(id: usize, stage: &Stage) -> Result<Vec<Piece>, String> {
    if stage.attempt > 0 {
        return Err(format!("stage {id} ran {} times", stage.attempt + 1));
    }
    let mut owner = vec![None; stage.partitions];
    let mut written = Vec::new();
    for (number, task) in stage.tasks.iter().enumerate() {
        let Some(output) = &task.output else {
            return Err(format!("task {number} of stage {id} was lost"));
        };
        for &partition in &task.slice {
            match owner.get_mut(partition) {
                Some(Some(other)) => {
                    return Err(format!(
                        "tasks {other} and {number} of stage {id} both ran partition {partition}"
                    ));
                }
                Some(owner) => *owner = Some(number),
                None => return Err(format!("stage {id} has no partition {partition}")),
            }
        }
        written.extend_from_slice(output);
    }
    if let Some(partition) = owner.iter().position(Option::is_none) {
        return Err(format!("no task of stage {id} ran partition {partition}"));
    }
    written.sort_unstable();
    Ok(written)
}

/// Checks rule 2 for one reader of stage `from`.
fn compare(
    reader: &str,
    from: usize,
    written: &[Piece],
    mut read: Vec<Piece>,
) -> Result<(), String> {
    read.sort_unstable();
    if read == written {
        return Ok(());
    }
    let rows = |pieces: &[Piece]| {
        pieces
            .iter()
            .map(|piece| u128::from(piece.rows))
            .sum::<u128>()
    };
    Err(format!(
        "{reader} has {} rows in {} pieces from stage {from}, whose tasks wrote {} rows in {} \
         pieces",
        rows(&read),
        read.len(),
        rows(written),
        written.len()
    ))
}

#[cfg(test)]
pub(crate) mod graphs;
#[cfg(test)]
mod tests;
