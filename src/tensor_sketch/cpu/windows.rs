//! Sliding windows on the CPU; see [`windows`](crate::tensor_sketch::windows).
//!
//! Every q-th step begins with an *anchor*, so that a window that does not begin at one contains exactly
//! one. Between two of them there may be any number of steps, whose products would have to wait in
//! memory for each other. So the steps after an anchor are cut into runs, and what lies between the end
//! of a window's first run and the beginning of its last one is the same for all windows that begin in
//! the same run: a middle factor, made once.

use std::collections::VecDeque;

use ndarray::{ArrayViewMut2, Axis};
use rayon::prelude::*;

use super::engine::LEAF;
use super::{Fourier, Matrix, sketch_fourier};
use crate::tensor_sketch::fourier::Finish;
use crate::tensor_sketch::windows::Windows;
use crate::tensor_sketch::{Real, Tables};

/// What the matrices of a run may take, in bytes.
const MOST_BYTES: usize = 32 << 20;

/// The fewest steps in a run: with them the middle factors take no more memory than a few times the
/// result.
const FEWEST_STEPS: usize = 64;

/// The number of pieces of work that is enough for any number of cores.
const PARALLEL: usize = 64;

/// Writes the sketches of the windows of `codes`, of which there is at least one, to a row each.
pub(in crate::tensor_sketch) fn windows<T: Real>(
    tables: &Tables,
    codes: &[u8],
    windows: Windows,
    normalize: bool,
    sketches: &mut [T],
) {
    let Windows {
        width,
        stride,
        count,
    } = windows;
    let mut result = ArrayViewMut2::from_shape((count, tables.dim()), sketches).expect("so many");
    let tuple = tables.tuple_length();
    let fourier = Fourier::new(tables);
    if width <= stride {
        // They have no letter in common.
        let texts = codes
            .chunks(stride)
            .map(|step| &step[..width.min(step.len())]);
        let jobs = texts.zip(result.axis_chunks_iter_mut(Axis(0), 1)).collect();
        sketch_fourier(&fourier, jobs, tuple..=tuple, normalize);
        return;
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
    .sketch(result);
}

/// Steps per run, for matrices of so many bytes.
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
    /// Letters per step.
    stride: usize,
    /// Whole steps per window, and from one anchor to the next: q.
    steps: usize,
    /// Letters of a window after its whole steps: r.
    head: usize,
    /// Steps per run, of which the last one before an anchor may have fewer.
    run: usize,
    finish: Finish,
}

/// The windows that begin in one run after an anchor.
struct Beginning<'a, T> {
    /// The number of the anchor.
    anchor: usize,
    /// What lies between the run and the run with the same number after the next anchor, if there
    /// are other runs.
    middle: Option<Matrix>,
    sketches: ArrayViewMut2<'a, T>,
}

/// A step's matrix, and that of its head. What reaches beyond the text is not in any window.
struct Step {
    whole: Option<Matrix>,
    head: Option<Matrix>,
}

impl<T: Real> Sliding<'_, T> {
    fn sketch(&self, sketches: ArrayViewMut2<T>) {
        // By the number of their run, in each by anchor: the steps in which windows of one anchor
        // end are those in which windows of the next one begin.
        let mut by_run: Vec<Vec<Beginning<T>>> = Vec::new();
        by_run.resize_with(self.steps.div_ceil(self.run), Vec::new);
        let of_anchors = into_row_chunks(sketches, self.steps);
        let anchors = of_anchors.len();
        let beginnings: Vec<Vec<Beginning<T>>> = of_anchors
            .into_par_iter()
            .enumerate()
            .map(|(anchor, sketches)| {
                let of_runs = into_row_chunks(sketches, self.run);
                let middles = self.middles(anchor, of_runs.len());
                let runs = middles.into_iter().zip(of_runs);
                runs.map(|(middle, sketches)| Beginning {
                    anchor,
                    middle,
                    sketches,
                })
                .collect()
            })
            .collect();
        for of_anchor in beginnings {
            for (run, beginning) in of_anchor.into_iter().enumerate() {
                by_run[run].push(beginning);
            }
        }
        let together = anchors.div_ceil(4 * rayon::current_num_threads());
        let tasks = by_run
            .into_iter()
            .enumerate()
            .flat_map(|(run, mut beginnings)| {
                let mut tasks = Vec::new();
                while !beginnings.is_empty() {
                    let rest = beginnings.split_off(together.min(beginnings.len()));
                    tasks.push((run, std::mem::replace(&mut beginnings, rest)));
                }
                tasks
            });
        let tasks: Vec<_> = tasks.collect();
        tasks
            .into_par_iter()
            .for_each(|(run, beginnings)| self.sketch_run(run, beginnings));
    }

    /// The middle factors of the first `runs` runs after an anchor: what is left until the next
    /// anchor, and what is before the same run there.
    fn middles(&self, anchor: usize, runs: usize) -> Vec<Option<Matrix>> {
        if self.run == self.steps {
            return vec![None];
        }
        let tables = self.fourier.tables();
        let identity = Matrix::identity(tables.tuple_length(), tables.dim());
        let start = anchor * self.steps;
        let text = |from: usize, to: usize| {
            let steps = &self.codes[(start + from) * self.stride..(start + to) * self.stride];
            self.fourier.matrix(steps)
        };
        let end = |run: usize| ((run + 1) * self.run).min(self.steps);
        // From the end of each run to the next anchor, the last one first.
        let mut left = vec![match end(runs - 1) {
            last if last == self.steps => identity.clone(),
            last => text(last, self.steps),
        }];
        for run in (1..runs).rev() {
            let next = text(run * self.run, end(run));
            left.push(product(&next, &left[left.len() - 1]));
        }
        // From the next anchor to each run.
        let mut right = identity;
        (0..runs)
            .map(|run| {
                if run > 0 {
                    let from = self.steps + (run - 1) * self.run;
                    right.append(&text(from, from + self.run));
                }
                Some(product(&left.pop().expect("one for each run"), &right))
            })
            .collect()
    }

    /// Sketches the windows that begin in run number `run` after neighbouring anchors.
    fn sketch_run(&self, run: usize, beginnings: Vec<Beginning<T>>) {
        let tables = self.fourier.tables();
        let tuple = tables.tuple_length();
        let length = self.run.min(self.steps - run * self.run);
        // Where runs follow each other without a gap, those of several anchors are made together.
        let together = match self.run == self.steps {
            true => FEWEST_STEPS.min(LEAF / self.stride).div_ceil(length).max(1),
            false => 1,
        };
        let mut made = VecDeque::new();
        let mut steps_after = |anchor: usize| {
            if made.is_empty() {
                let first = anchor * self.steps + run * self.run;
                let mut steps = self.steps_from(first, together * length).into_iter();
                made.extend((0..together).map(|_| steps.by_ref().take(length).collect()));
            }
            made.pop_front().expect("the steps of a run")
        };
        let mut steps: Option<Vec<Step>> = None;
        for Beginning {
            anchor,
            middle,
            mut sketches,
        } in beginnings
        {
            let begin = steps.unwrap_or_else(|| steps_after(anchor));
            let mut left = middle.unwrap_or_else(|| Matrix::identity(tuple, tables.dim()));
            let mut rows: Vec<Matrix> = begin
                .iter()
                .rev()
                .map(|step| {
                    let whole = step.whole.as_ref().expect("a whole step of a window");
                    left = product(whole, &left);
                    left.to_first_row()
                })
                .collect();
            let end = steps_after(anchor + 1);
            let mut right = Matrix::identity(tuple, tables.dim());
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
            steps = Some(end);
        }
    }

    /// As many steps as are asked for, or as there are.
    fn steps_from(&self, first: usize, count: usize) -> Vec<Step> {
        let text = &self.codes[(first * self.stride).min(self.codes.len())..];
        let texts = || text.chunks(self.stride).take(count);
        let heads = texts().filter_map(|step| step.get(..self.head));
        let rests = texts().filter_map(|step| step.get(self.head..self.stride));
        let rests = self.fourier.matrices(rests, self.stride - self.head);
        let mut rests = rests.into_iter();
        if self.head == 0 {
            let step = |whole| Step {
                whole: Some(whole),
                head: None,
            };
            return rests.map(step).collect();
        }
        let heads = self.fourier.matrices(heads, self.head).into_iter();
        heads
            .map(|head| Step {
                whole: rests.next().map(|rest| product(&head, &rest)),
                head: Some(head),
            })
            .collect()
    }
}

fn product(left: &Matrix, right: &Matrix) -> Matrix {
    let mut product = left.clone();
    product.append(right);
    product
}

/// The rows of an array in chunks of as many rows.
fn into_row_chunks<T>(array: ArrayViewMut2<T>, rows: usize) -> Vec<ArrayViewMut2<T>> {
    let mut chunks = Vec::new();
    let mut rest = array;
    while rest.nrows() > 0 {
        let count = rows.min(rest.nrows());
        let (chunk, others) = rest.split_at(Axis(0), count);
        chunks.push(chunk);
        rest = others;
    }
    chunks
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
