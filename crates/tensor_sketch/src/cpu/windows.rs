//! Sliding windows on the CPU; see [`windows`](crate::windows).
//!
//! An *anchor* is the beginning of every q-th stride, so that a window that does not begin at an
//! anchor contains exactly one anchor. The products of all strides between two anchors may not fit
//! in memory. The strides after an anchor are therefore cut into runs. All windows that begin in
//! the same run share the text between the end of their first run and the beginning of their last
//! run: a middle factor, computed once.
//!
//! Names with `step` here, such as `steps` and [`Step`], mean strides; `stride` is their length.

use std::collections::VecDeque;

use gridstride_runtime::Result;
use gridstride_runtime::device::{collected, reserve};
use gridstride_runtime::parallel;
use ndarray::{ArrayViewMut2, Axis};

use super::engine::{Fourier, LEAF};
use super::matrix::Matrix;
use super::sketch_fourier;
use super::vector::Vector;
use crate::fourier::Finish;
use crate::input::{HostSketch, Windows};

/// The most bytes of the matrices of a run.
const MOST_BYTES: usize = 32 << 20;

/// The fewest strides in a run, so that the middle factors take at most a few times the memory of
/// the result.
const FEWEST_STEPS: usize = 64;

/// A number of tasks that is enough for any number of cores.
const PARALLEL: usize = 64;

/// Writes the sketches of the windows of `codes`, at least one, to a row each.
pub fn sketch<T: Vector>(whole: &mut HostSketch<T>, windows: Windows) -> Result<()> {
    let (tables, normalize) = (whole.job.tables, whole.job.normalize);
    let Windows {
        width,
        stride,
        count,
        ..
    } = windows;
    let codes = whole.codes_of(windows);
    let result = ArrayViewMut2::from_shape((count, tables.dim()), &mut *whole.out);
    let mut result = result.expect("so many");
    let tuple = tables.tuple_length();
    let fourier = Fourier::new(tables);
    if width <= stride {
        // Windows have no letter in common.
        let texts = codes
            .chunks(stride)
            .map(|step| &step[..width.min(step.len())]);
        let jobs = collected(texts.zip(result.axis_chunks_iter_mut(Axis(0), 1)))?;
        return sketch_fourier(&fourier, jobs, tuple..=tuple, normalize);
    }
    let steps = width / stride;
    let run = run(count, steps, Matrix::bytes(tuple, tables.dim()));
    let products = 2 * run + 2 * steps.div_ceil(run);
    Sliding {
        finish: Finish::after::<T>(products, tables, width as u64, tuple, normalize),
        fourier: &fourier,
        codes,
        stride,
        steps,
        head: width % stride,
        run,
    }
    .sketch(result)
}

/// Returns the strides per run, for matrices of `bytes` bytes.
fn run(count: usize, steps: usize, bytes: usize) -> usize {
    let anchors = count.div_ceil(steps);
    let parallel = match anchors {
        0..PARALLEL => steps.div_ceil(PARALLEL.div_ceil(anchors)),
        _ => steps,
    };
    parallel
        .min(MOST_BYTES / bytes)
        .max(FEWEST_STEPS)
        .min(steps)
}

struct Sliding<'a, T> {
    fourier: &'a Fourier<T>,
    codes: &'a [u8],
    /// Letters per stride.
    stride: usize,
    /// Whole strides per window, and from one anchor to the next: q.
    steps: usize,
    /// Letters of a window after its whole strides: r.
    head: usize,
    /// Strides per run; the last run before an anchor may have fewer.
    run: usize,
    finish: Finish,
}

/// The windows that begin in one run after an anchor.
struct Beginning<'a, T> {
    /// The number of the anchor.
    anchor: usize,
    /// The text between this run and the run of the same number after the next anchor, if an anchor
    /// has several runs.
    middle: Option<Matrix>,
    sketches: ArrayViewMut2<'a, T>,
}

/// The matrices of a stride and of its head, unless they reach beyond the text.
struct Step {
    whole: Option<Matrix>,
    head: Option<Matrix>,
}

impl<T: Vector> Sliding<'_, T> {
    fn sketch(&self, sketches: ArrayViewMut2<T>) -> Result<()> {
        let count = sketches.nrows();
        let anchors = count.div_ceil(self.steps);
        let middles = parallel::try_map(0..anchors, |anchor| {
            let windows = self.steps.min(count - anchor * self.steps);
            self.middles(anchor, windows.div_ceil(self.run))
        })?;
        // A task has the windows of one run after neighbouring anchors: the windows of an anchor
        // end in the strides in which the windows of the next anchor begin.
        let together = anchors.div_ceil(4 * rayon::current_num_threads());
        let tasks_of_run = anchors.div_ceil(together);
        let mut tasks: Vec<Vec<Beginning<T>>> = Vec::new();
        let count = self.steps.div_ceil(self.run) * tasks_of_run;
        reserve(&mut tasks, count)?;
        tasks.resize_with(count, Vec::new);
        let mut rest = sketches;
        for (anchor, middles) in middles.into_iter().enumerate() {
            for (run, middle) in middles.into_iter().enumerate() {
                let windows = self.run_length(run).min(rest.nrows());
                let (sketches, others) = rest.split_at(Axis(0), windows);
                rest = others;
                let task = &mut tasks[run * tasks_of_run + anchor / together];
                reserve(task, 1)?;
                task.push(Beginning {
                    anchor,
                    middle,
                    sketches,
                });
            }
        }
        parallel::try_each(tasks.into_iter().enumerate(), |(number, beginnings)| {
            self.sketch_run(number / tasks_of_run, beginnings)
        })
    }

    fn run_length(&self, run: usize) -> usize {
        self.run.min(self.steps - run * self.run)
    }

    /// Returns the middle factors of the first `runs` runs after an anchor: the text up to the next
    /// anchor, and from there to the same run.
    fn middles(&self, anchor: usize, runs: usize) -> Result<Vec<Option<Matrix>>> {
        if self.run == self.steps {
            return Ok(vec![None]);
        }
        let tables = self.fourier.tables();
        let identity = Matrix::identity(tables.tuple_length(), tables.dim())?;
        let start = anchor * self.steps;
        let text = |from: usize, to: usize| {
            let steps = &self.codes[(start + from) * self.stride..(start + to) * self.stride];
            self.fourier.matrix(steps)
        };
        let end = |run: usize| run * self.run + self.run_length(run);
        // From the end of each run to the next anchor, the last run first.
        let mut left = Vec::new();
        reserve(&mut left, runs)?;
        left.push(match end(runs - 1) {
            last if last == self.steps => identity.try_clone()?,
            last => text(last, self.steps)?,
        });
        for run in (1..runs).rev() {
            let next = text(run * self.run, end(run))?;
            left.push(product(&next, &left[left.len() - 1])?);
        }
        // From the next anchor to each run.
        let mut right = identity;
        let mut middles = Vec::new();
        reserve(&mut middles, runs)?;
        for run in 0..runs {
            if run > 0 {
                let from = self.steps + (run - 1) * self.run;
                right.append(&text(from, from + self.run)?);
            }
            let left = left.pop().expect("one for each run");
            middles.push(Some(product(&left, &right)?));
        }
        Ok(middles)
    }

    /// Sketches the windows that begin in run number `run` after neighbouring anchors.
    fn sketch_run(&self, run: usize, beginnings: Vec<Beginning<T>>) -> Result<()> {
        let tables = self.fourier.tables();
        let tuple = tables.tuple_length();
        let length = self.run_length(run);
        // If anchors have one run each, the strides of several anchors are made together.
        let together = match self.run == self.steps {
            true => FEWEST_STEPS.min(LEAF / self.stride).div_ceil(length).max(1),
            false => 1,
        };
        let mut made = VecDeque::new();
        let mut steps_after = |anchor: usize| -> Result<Vec<Step>> {
            if made.is_empty() {
                let first = anchor * self.steps + run * self.run;
                let mut steps = self.steps_from(first, together * length)?.into_iter();
                for _ in 0..together {
                    let count = length.min(steps.len());
                    made.push_back(collected(steps.by_ref().take(count))?);
                }
            }
            Ok(made.pop_front().expect("the steps of a run"))
        };
        let mut begin = match beginnings.first() {
            Some(first) => steps_after(first.anchor)?,
            None => return Ok(()),
        };
        for Beginning {
            anchor,
            middle,
            mut sketches,
        } in beginnings
        {
            let mut left = match middle {
                Some(middle) => middle,
                None => Matrix::identity(tuple, tables.dim())?,
            };
            let mut rows = Vec::new();
            reserve(&mut rows, begin.len())?;
            for step in begin.iter().rev() {
                let whole = step.whole.as_ref().expect("a whole step of a window");
                left = product(whole, &left)?;
                rows.push(left.to_first_row()?);
            }
            let end = steps_after(anchor + 1)?;
            let mut right = Matrix::identity(tuple, tables.dim())?;
            for (i, sketch) in sketches.outer_iter_mut().enumerate() {
                if i > 0 {
                    let whole = end[i - 1].whole.as_ref();
                    right.append(whole.expect("a whole step of a window"));
                }
                let mut window = rows.pop().expect("one for each step");
                window.append(&right);
                if self.head > 0 {
                    let head = end[i].head.as_ref();
                    window.append(head.expect("the head of a window's last step"));
                }
                self.fourier.row(&window, tuple, self.finish, sketch);
            }
            begin = end;
        }
        Ok(())
    }

    /// Returns the matrices of `count` strides, or of fewer at the end of the text.
    fn steps_from(&self, first: usize, count: usize) -> Result<Vec<Step>> {
        let text = &self.codes[(first * self.stride).min(self.codes.len())..];
        // The text may end within the last stride, even within its head.
        let steps = |letters: usize| count.min((text.len() + self.stride - letters) / self.stride);
        let step = |step: usize| &text[step * self.stride..];
        let heads = (0..steps(self.head)).map(|number| &step(number)[..self.head]);
        let rests = 0..steps(self.stride);
        let rests = rests.map(|number| &step(number)[self.head..self.stride]);
        let rests = self.fourier.matrices(rests, self.stride - self.head)?;
        let mut rests = rests.into_iter();
        if self.head == 0 {
            let step = |whole| Step {
                whole: Some(whole),
                head: None,
            };
            return collected(rests.map(step));
        }
        let heads = self.fourier.matrices(heads, self.head)?;
        let mut steps = Vec::new();
        reserve(&mut steps, heads.len())?;
        for head in heads {
            let whole = rests.next().map(|rest| product(&head, &rest));
            steps.push(Step {
                whole: whole.transpose()?,
                head: Some(head),
            });
        }
        Ok(steps)
    }
}

fn product(left: &Matrix, right: &Matrix) -> Result<Matrix> {
    let mut product = left.try_clone()?;
    product.append(right);
    Ok(product)
}

#[cfg(test)]
mod tests {
    use super::{FEWEST_STEPS, PARALLEL, run};

    #[test]
    fn runs_are_neither_too_few_nor_too_long() {
        assert_eq!(run(10, 3, 8000), 3);
        assert_eq!(run(1_000_000, 100, 8000), 100);
        assert_eq!(run(100_000, 100_000, 8000), 100_000usize.div_ceil(PARALLEL));
        assert_eq!(run(100_000_000, 1_000_000, 8000), 4194);
        assert_eq!(run(1000, 1000, 1 << 30), FEWEST_STEPS);
    }
}
