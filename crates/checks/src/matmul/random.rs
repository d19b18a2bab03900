//! Random matrices.

use anyhow::{Context, Result};
use ndarray::Array2;
use rayon::prelude::*;

use super::Real;
use crate::random::{STEP, mixed};

/// Numbers that a thread makes in one go.
const SHARE: usize = 1 << 12;

/// Returns a matrix of numbers uniform in [-1, 1), rounded to the type; another one for each seed and each
/// `stream`.
///
/// # Errors
/// If the memory does not suffice.
pub fn matrix<T: Real>(
    seed: u64,
    stream: u64,
    (rows, columns): (usize, usize),
) -> Result<Array2<T>> {
    let no_memory = || format!("there is no memory for a matrix of {rows}×{columns}");
    let count = rows.checked_mul(columns).with_context(no_memory)?;
    let mut numbers = Vec::new();
    numbers.try_reserve_exact(count).with_context(no_memory)?;
    let start = mixed(mixed(seed.wrapping_add(STEP)) ^ stream);
    let number = |index: usize| {
        let bits = mixed(start.wrapping_add(STEP.wrapping_mul(index as u64 + 1)));
        T::from_f64((bits >> 11) as f64 / (1u64 << 52) as f64 - 1.0)
    };
    let indices = (0..count).into_par_iter().with_min_len(SHARE);
    indices.map(number).collect_into_vec(&mut numbers);
    Array2::from_shape_vec((rows, columns), numbers).with_context(no_memory)
}
