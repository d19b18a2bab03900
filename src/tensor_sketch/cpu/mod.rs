//! The tensor sketch on the CPU.

mod aligned;
mod direct;
pub mod engine;
mod inverse;
mod kernel;
mod leaves;
pub mod matrix;
mod operators;
mod session;
mod vector;

use std::cmp::Reverse;
use std::ops::RangeInclusive;

use ndarray::{ArrayViewMut2, ArrayViewMut3};

use self::engine::{Fourier, LEAF};
pub use self::session::Batches;
pub use self::vector::Vector;
use super::input::{Job, SequencesView};
use super::options::Form;
use super::tables::Tables;
use crate::Result;
use crate::device::{collected, reserve};
use crate::parallel;

/// Sequences, and where the rows of each go.
type Jobs<'a, T> = Vec<(&'a [u8], ArrayViewMut2<'a, T>)>;

/// Sorts without more memory. Equally long ones may change places, which changes no result.
fn longest_first<T>(jobs: &mut Jobs<T>) {
    jobs.sort_unstable_by_key(|(codes, _)| Reverse(codes.len()));
}

/// Writes the kept rows of all sequences to `out`, N×(number of rows)×D.
///
/// # Errors
/// [`Error::Allocation`](crate::Error::Allocation).
pub fn sketch<T: Vector>(
    job: &Job,
    sequences: SequencesView,
    mut out: ArrayViewMut3<T>,
) -> Result<()> {
    let (tables, normalize, kept) = (job.tables, job.normalize, job.kept());
    // Threads take from the front: with the longest first, none is left alone at the end.
    let mut jobs: Jobs<T> = collected(sequences.slices().zip(out.outer_iter_mut()))?;
    longest_first(&mut jobs);
    match job.form {
        Form::Direct => direct::sketch(tables, jobs, kept, normalize),
        Form::Auto | Form::Fourier => sketch_fourier(&Fourier::new(tables), jobs, kept, normalize),
    }
}

/// Describes how it is done, for people.
pub fn plan(tables: &Tables, form: Form) -> String {
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
pub fn sketch_fourier<T: Vector>(
    fourier: &Fourier<T>,
    jobs: Jobs<T>,
    kept: RangeInclusive<usize>,
    normalize: bool,
) -> Result<()> {
    let long = jobs.partition_point(|(codes, _)| codes.len() > LEAF);
    let mut jobs = jobs.into_iter();
    parallel::try_each_in_order(jobs.by_ref().take(long), |(codes, out)| {
        let matrix = fourier.matrix_rows(codes, 1)?;
        fourier.rows(&matrix, codes.len() as u64, kept.clone(), normalize, out);
        Ok(())
    })?;
    let mut batches: Vec<Jobs<T>> = Vec::new();
    let mut filled = (0, 0);
    for job in jobs {
        let (length, entries) = (job.0.len(), job.1.len());
        let letters = fourier.word_letters(length);
        match batches.last_mut() {
            Some(batch)
                if filled.0 + length <= BATCH
                    && filled.1 + entries <= BATCH
                    && fourier.word_letters(batch[0].0.len()) == letters =>
            {
                reserve(batch, 1)?;
                batch.push(job);
                filled = (filled.0 + length, filled.1 + entries);
            }
            _ => {
                reserve(&mut batches, 1)?;
                let mut batch = Vec::new();
                reserve(&mut batch, 1)?;
                batch.push(job);
                batches.push(batch);
                filled = (length, entries);
            }
        }
    }
    parallel::try_each(batches, |batch| {
        fourier.sketch_short(batch, kept.clone(), normalize)
    })
}
