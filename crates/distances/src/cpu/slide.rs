//! Slide distances on the CPU, on all its threads, in `f64`.

use gridstride_runtime::parallel;

use super::{LINES, Scaled, squared_distance};
use crate::input::Pairing;

/// Writes `finish` of the squared slide distances of sequences, for a result of some rows and
/// columns.
pub fn distances(
    a: &Scaled,
    b: &Scaled,
    pairing: Pairing,
    (rows, columns): (usize, usize),
    finish: impl Fn(f64) -> f64 + Sync,
    result: &mut [f64],
) {
    if result.is_empty() {
        return;
    }
    let (a, b) = (Sequences::new(a), Sequences::new(b));
    let (lines, width) = task_shape(rows, columns, rayon::current_num_threads());
    let blocks = result.chunks_mut(lines * columns).enumerate();
    let tasks = blocks.flat_map(|(block, places)| {
        let tasks = places.chunks_mut(lines * width).enumerate();
        tasks.map(move |(task, places)| (block * lines, task * width, places))
    });
    parallel::each(tasks, |(first_row, first_column, places)| {
        // Each row of `b` is read once for all rows of `a`.
        for j in 0..width.min(places.len()) {
            for (i, line) in (first_row..).zip(places.chunks_mut(width)) {
                let partner = match pairing {
                    Pairing::Each => i,
                    Pairing::All => first_column + j,
                };
                line[j] = distance(a, i, b, partner, &finish);
            }
        }
    });
}

/// Returns the slide distance of sequence `i` of `a` to sequence `j` of `b`.
pub fn distance(
    a: Sequences,
    i: usize,
    b: Sequences,
    j: usize,
    finish: &impl Fn(f64) -> f64,
) -> f64 {
    let ((windows, a_count), (others, b_count)) = (a.sequence(i), b.sequence(j));
    match a_count.min(b_count) {
        0 => f64::NAN,
        count => {
            let length = count * a.dim;
            finish(squared_distance(&windows[..length], &others[..length]))
        }
    }
}

/// The most tasks for pairs.
const MOST_TASKS: usize = 1 << 12;

/// Returns the rows and columns of the result that a task computes: several rows if there are
/// enough, and otherwise a part of one row, so that no thread is idle. Pairs have one column and
/// share no rows of `b`. They get at most [`MOST_TASKS`]: a task takes memory and a lock, and these
/// are enough that a long sequence leaves no thread idle.
fn task_shape(rows: usize, columns: usize, threads: usize) -> (usize, usize) {
    let least_tasks = 4 * threads;
    if columns == 1 {
        return (rows.div_ceil(MOST_TASKS), 1);
    }
    if rows / LINES >= least_tasks {
        return (LINES, columns);
    }
    (1, columns.div_ceil(least_tasks.div_ceil(rows)))
}

/// The scaled windows of sequences.
#[derive(Clone, Copy)]
pub struct Sequences<'a> {
    values: &'a [f64],
    offsets: &'a [usize],
    dim: usize,
}

impl<'a> Sequences<'a> {
    pub fn new(scaled: &'a Scaled) -> Sequences<'a> {
        Sequences {
            values: &scaled.values,
            offsets: scaled.offsets.as_deref().expect("sequences"),
            dim: scaled.dim,
        }
    }

    /// Returns the numbers of a sequence and how many windows it has.
    fn sequence(self, index: usize) -> (&'a [f64], usize) {
        let (start, end) = (self.offsets[index], self.offsets[index + 1]);
        (&self.values[start * self.dim..end * self.dim], end - start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_enough_for_all_threads() {
        assert_eq!(task_shape(10_000, 10_000, 16), (LINES, 10_000));
        assert_eq!(task_shape(1, 10_000, 16), (1, 10_000usize.div_ceil(64)));
        assert_eq!(task_shape(64, 7, 16), (1, 7));
        assert_eq!(task_shape(1, 3, 16), (1, 1));
        // Pairs.
        assert_eq!(task_shape(MOST_TASKS, 1, 16), (1, 1));
        assert_eq!(task_shape(100_000_000, 1, 16), (24_415, 1));
    }
}
