//! The tensor sketch on the CPU.

mod aligned;
mod batches;
mod direct;
mod engine;
mod inverse;
mod kernel;
mod leaves;
mod matrix;
mod operators;
mod vector;
mod windows;

use std::cmp::Reverse;
use std::ops::RangeInclusive;

use ndarray::{Array3, ArrayViewMut2};
use rayon::prelude::*;

use super::sequences::SequencesView;
use super::{Form, Real, Tables};

pub(super) use batches::Batches;
use engine::Fourier;
use engine::LEAF;
use matrix::Matrix;
pub(super) use vector::Vector;
pub(super) use windows::windows;

/// The sketches' rows `kept`, N×(number of rows)×D.
pub(super) fn sketch<T: Real>(
    tables: &Tables,
    sequences: SequencesView,
    kept: RangeInclusive<usize>,
    normalize: bool,
    form: Form,
) -> Array3<T> {
    let shape = (sequences.len(), kept.clone().count(), tables.dim());
    let mut result = Array3::from_elem(shape, T::from_f64(0.0));
    // Threads take from the front: with the longest first, none is left alone at the end.
    let mut jobs: Vec<(&[u8], ArrayViewMut2<T>)> =
        sequences.slices().zip(result.outer_iter_mut()).collect();
    jobs.sort_by_key(|(codes, _)| Reverse(codes.len()));
    match form {
        Form::Direct => direct::sketch(tables, jobs, kept, normalize),
        Form::Auto | Form::Fourier => sketch_fourier(&Fourier::new(tables), jobs, kept, normalize),
    }
    result
}

/// How it is done, for people.
pub(super) fn plan(tables: &Tables, form: Form) -> String {
    let threads = rayon::current_num_threads();
    match form {
        Form::Direct => format!("a sequence a thread, {threads} threads"),
        Form::Auto | Form::Fourier => format!(
            "words of up to {} letters on {threads} threads",
            operators::word_letters(tables, usize::MAX)
        ),
    }
}

/// The most letters, and numbers of results, that a thread takes in short sequences together.
const BATCH: usize = 1 << 15;

/// Long sequences first, each by all threads that are free; short ones in batches, each by one.
/// They come from the longest to the shortest.
fn sketch_fourier<T: Real>(
    fourier: &Fourier<T>,
    mut long: Vec<(&[u8], ArrayViewMut2<T>)>,
    kept: RangeInclusive<usize>,
    normalize: bool,
) {
    let short = long.split_off(long.partition_point(|(codes, _)| codes.len() > LEAF));
    let mut batches: Vec<Vec<(&[u8], ArrayViewMut2<T>)>> = Vec::new();
    let mut filled = (0, 0);
    for job in short {
        let (length, entries) = (job.0.len(), job.1.len());
        let letters = fourier.word_letters(length);
        match batches.last_mut() {
            Some(batch)
                if filled.0 + length <= BATCH
                    && filled.1 + entries <= BATCH
                    && fourier.word_letters(batch[0].0.len()) == letters =>
            {
                batch.push(job);
                filled = (filled.0 + length, filled.1 + entries);
            }
            _ => {
                batches.push(vec![job]);
                filled = (length, entries);
            }
        }
    }
    long.into_iter().par_bridge().for_each(|(codes, out)| {
        let matrix = fourier.matrix_rows(codes, 1);
        fourier.rows(&matrix, codes.len() as u64, kept.clone(), normalize, out);
    });
    batches
        .into_par_iter()
        .for_each(|batch| fourier.sketch_short(batch, kept.clone(), normalize));
}
