//! Jobs that are right, and jobs that are not.

use super::*;

fn piece(partition: usize, task: usize, rows: u64) -> Piece {
    Piece {
        partition,
        task,
        file: None,
        rows,
    }
}

/// Two tasks scan three partitions and write two; two tasks read those and write the result.
fn job() -> (BTreeMap<usize, Stage>, Vec<Piece>) {
    let task = |slice: &[usize], output: &[Piece]| Task {
        slice: slice.to_vec(),
        output: Some(output.to_vec()),
    };
    let scan = Stage {
        attempt: 0,
        partitions: 3,
        tasks: vec![
            task(&[0, 2], &[piece(0, 0, 7), piece(1, 0, 5)]),
            task(&[1], &[piece(0, 1, 2), piece(1, 1, 3)]),
        ],
        inputs: BTreeMap::new(),
        last: false,
    };
    let shuffled = vec![
        piece(0, 0, 7),
        piece(0, 1, 2),
        piece(1, 0, 5),
        piece(1, 1, 3),
    ];
    let last = Stage {
        attempt: 0,
        partitions: 2,
        tasks: vec![task(&[1], &[piece(1, 0, 4)]), task(&[0], &[piece(0, 1, 6)])],
        inputs: BTreeMap::from([(1, shuffled)]),
        last: true,
    };
    let result = vec![piece(1, 0, 4), piece(0, 1, 6)];
    (BTreeMap::from([(1, scan), (2, last)]), result)
}

fn refused(change: impl Fn(&mut BTreeMap<usize, Stage>, &mut Vec<Piece>)) -> String {
    let (mut stages, mut result) = job();
    change(&mut stages, &mut result);
    check(&stages, result).unwrap_err()
}

fn stage(stages: &mut BTreeMap<usize, Stage>, id: usize) -> &mut Stage {
    stages.get_mut(&id).unwrap()
}

#[test]
fn accepts_a_job_in_which_nothing_ran_twice() {
    let (stages, result) = job();
    assert_eq!(check(&stages, result), Ok(()));
}

#[test]
fn detects_results_of_two_runs() {
    let error = refused(|_, result| {
        let again = result.clone();
        result.extend(again);
    });
    assert_eq!(
        error,
        "the result has 20 rows in 4 pieces from stage 2, whose tasks wrote 10 rows in 2 pieces"
    );
}

#[test]
fn detects_a_lost_piece_even_without_rows() {
    let error = refused(|stages, _| {
        for task in &mut stage(stages, 1).tasks {
            let pieces = task.output.as_mut().unwrap().iter_mut();
            pieces.for_each(|piece| piece.rows = 0);
        }
        let read = stage(stages, 2).inputs.get_mut(&1).unwrap();
        read.iter_mut().for_each(|piece| piece.rows = 0);
        read.pop();
    });
    assert!(
        error.starts_with("stage 2 has 0 rows in 3 pieces"),
        "{error}"
    );
}

#[test]
fn detects_one_piece_read_twice_in_place_of_another_of_the_same_size() {
    let error = refused(|stages, _| {
        let task = &mut stage(stages, 1).tasks[1];
        task.output = Some(vec![piece(0, 1, 7), piece(1, 1, 3)]);
        let read = stage(stages, 2).inputs.get_mut(&1).unwrap();
        read[1] = piece(0, 0, 7);
    });
    assert!(
        error.starts_with("stage 2 has 22 rows in 4 pieces"),
        "{error}"
    );
}

#[test]
fn detects_second_attempts_lost_tasks_and_slices_that_overlap_or_miss() {
    let error = refused(|stages, _| stage(stages, 2).attempt = 1);
    assert_eq!(error, "stage 2 ran 2 times");
    let error = refused(|stages, _| stage(stages, 1).tasks[1].output = None);
    assert_eq!(error, "task 1 of stage 1 was lost");
    let error = refused(|stages, _| stage(stages, 1).tasks[1].slice = vec![1, 2]);
    assert_eq!(error, "tasks 0 and 1 of stage 1 both ran partition 2");
    let error = refused(|stages, _| stage(stages, 1).tasks[0].slice = vec![0]);
    assert_eq!(error, "no task of stage 1 ran partition 2");
    let error = refused(|stages, _| stage(stages, 1).tasks[0].slice = vec![0, 2, 3]);
    assert_eq!(error, "stage 1 has no partition 3");
}
