//! Slide distances on the CPU, on all its threads, in `f64`.

use distances_kernels::Scale;
use ndarray::{ArrayView2, ArrayViewMut2};

use super::input::{DeviceSlides, HostSlides, Pairing, Slides};
use super::windows::{Windows, longest};
use crate::device::{assign, collected, zeroed};
use crate::distances::cpu::{LINES, finish, scaled, squared_distance};
use crate::distances::element::Component;
use crate::distances::input;
use crate::distances::options::Metric;
use crate::{Result, parallel};

pub fn host<T: Component>(slides: &mut HostSlides<T>) -> Result<()> {
    let (operation, metric) = (slides.operation, slides.metric);
    let scale = scale_of(operation, metric, ["a", "b"], slides.a, slides.b)?;
    let (a_values, b_values) = (
        scaled(slides.a.rows(), scale)?,
        scaled(slides.b.rows(), scale)?,
    );
    let (a, b) = (
        Sequences::new(slides.a, &a_values)?,
        Sequences::new(slides.b, &b_values)?,
    );
    let pairs = slides.pairs;
    let (rows, columns) = slides.out.dim();
    let write = |result: &mut [f64]| {
        if result.is_empty() {
            return;
        }
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
                    let partner = if pairs == Pairing::Each {
                        i
                    } else {
                        first_column + j
                    };
                    line[j] = distance(&a, i, &b, partner, metric, scale);
                }
            }
        });
    };
    if let Some(places) = slides.out.as_slice_mut() {
        write(places);
        return Ok(());
    }
    let mut result = zeroed(slides.out.len())?;
    write(&mut result);
    let result = ArrayView2::from_shape(slides.out.raw_dim(), &result).expect("as many");
    assign(slides.out.view_mut(), &result);
    Ok(())
}

/// Checks the numbers of two lists of sequences, and returns their scale.
pub fn scale_of<T: Component>(
    operation: &'static str,
    metric: Metric,
    names: [&str; 2],
    a: Windows<T>,
    b: Windows<T>,
) -> Result<Scale> {
    let largest = input::largest(operation, names[0], a.rows())?;
    let largest = largest.max(input::largest(operation, names[1], b.rows())?);
    let longest = longest(a.offsets).max(longest(b.offsets));
    let numbers = longest.saturating_mul(a.dim());
    Ok(Scale::new(
        largest,
        numbers,
        metric == Metric::L2,
        f64::MAX_EXP - 1,
    ))
}

/// Returns the slide distance of sequence `i` of `a` to sequence `j` of `b`.
pub fn distance(
    a: &Sequences,
    i: usize,
    b: &Sequences,
    j: usize,
    metric: Metric,
    scale: Scale,
) -> f64 {
    let ((windows, a_count), (others, b_count)) = (a.sequence(i), b.sequence(j));
    match a_count.min(b_count) {
        0 => f64::NAN,
        count => {
            let length = count * a.dim;
            let sum = squared_distance(&windows[..length], &others[..length]);
            finish(sum, metric, scale)
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

/// Writes the slide distances of sequences in the memory of a CPU device, which are copied.
pub fn device<T: Component>(slides: DeviceSlides<T>) -> Result<()> {
    let [a, b] = [slides.a, slides.b];
    let (a_rows, b_rows) = (a.rows.download()?, b.rows.download()?);
    let columns = match slides.pairs {
        Pairing::All => b.len(),
        Pairing::Each => 1,
    };
    let mut result = zeroed(slides.out.len())?;
    let places = ArrayViewMut2::from_shape((a.len(), columns), &mut result);
    host(&mut Slides {
        operation: slides.operation,
        metric: slides.metric,
        a: Windows::new(a_rows.view(), a.offsets)?,
        b: Windows::new(b_rows.view(), b.offsets)?,
        pairs: slides.pairs,
        out: places.expect("a distance for each pair"),
    })?;
    slides.out.copy_from(&result)
}

/// The scaled windows of sequences.
pub struct Sequences<'a> {
    values: &'a [f64],
    offsets: Vec<usize>,
    dim: usize,
}

impl<'a> Sequences<'a> {
    pub fn new<T>(windows: Windows<T>, values: &'a [f64]) -> Result<Self> {
        Ok(Sequences {
            values,
            offsets: collected(windows.offsets())?,
            dim: windows.dim(),
        })
    }

    /// Returns the numbers of a sequence and how many windows it has.
    fn sequence(&self, index: usize) -> (&'a [f64], usize) {
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
