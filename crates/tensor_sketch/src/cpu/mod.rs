//! The tensor sketch on the CPU.

mod direct;
mod engine;
mod instructions;
mod kernel;
mod leaves;
mod matrix;
mod operators;
mod session;
mod vector;
mod windows;

use std::cmp::Reverse;
use std::ops::RangeInclusive;

use self::engine::{Fourier, LEAF};
use self::operators::word_letters;
pub use self::session::Batches;
use self::vector::Jobs;
use self::vector::Vector;
use gridstride_runtime::Result;
use gridstride_runtime::device::{collected, reserve};
use gridstride_runtime::parallel;

use super::input::{HostSketch, Rows};
use super::options::Form;
use super::tables::Tables;

/// Sorts without allocating. Sequences of equal length may swap, which changes no result.
fn longest_first<T>(jobs: &mut Jobs<T>) {
    jobs.sort_unstable_by_key(|(codes, _)| Reverse(codes.len()));
}

/// Writes the requested rows of all sequences, or of all windows, at least one.
pub fn sketch<T: Vector>(sketch: &mut HostSketch<T>) -> Result<()> {
    if let Rows::Windows(of) = sketch.job.rows {
        return windows::sketch(sketch, of);
    }
    let (job, sequences, mut out) = (sketch.job, sketch.sequences, sketch.rows());
    let (tables, normalize, kept) = (job.tables, job.normalize, job.kept());
    // Threads take jobs in this order: long jobs come first, so that none is left alone at the end.
    let mut jobs: Jobs<T> = collected(sequences.slices().zip(out.outer_iter_mut()))?;
    longest_first(&mut jobs);
    match job.form {
        Form::Direct => direct::sketch(tables, jobs, kept, normalize),
        Form::Auto | Form::Fourier => sketch_fourier(&Fourier::new(tables), jobs, kept, normalize),
    }
}

/// Describes the work for [`Plan`](crate::Plan).
pub fn plan(tables: &Tables, form: Form) -> String {
    let threads = rayon::current_num_threads();
    match form {
        Form::Direct => format!("a sequence a thread, {threads} threads"),
        Form::Auto | Form::Fourier => format!(
            "words of up to {} letters on {threads} threads",
            word_letters(tables, usize::MAX)
        ),
    }
}

/// The most letters, and the most numbers of results, in a batch of short sequences.
const BATCH: usize = 1 << 15;

/// Sketches jobs that are sorted from the longest to the shortest: each long sequence on all free
/// threads, then short sequences in batches, each on one thread.
fn sketch_fourier<T: Vector>(
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
    let mut filled = (0, 0, 0);
    for job in jobs {
        let (length, entries) = (job.0.len(), job.1.len());
        let word = word_letters(fourier.tables(), length);
        let (letters, results) = (filled.0 + length, filled.1 + entries);
        if !batches.is_empty() && letters <= BATCH && results <= BATCH && word == filled.2 {
            filled = (letters, results, word);
        } else {
            reserve(&mut batches, 1)?;
            batches.push(Vec::new());
            filled = (length, entries, word);
        }
        let batch = batches.last_mut().expect("a batch");
        reserve(batch, 1)?;
        batch.push(job);
    }
    parallel::try_each(batches, |batch| {
        fourier.sketch_short(batch, kept.clone(), normalize)
    })
}
