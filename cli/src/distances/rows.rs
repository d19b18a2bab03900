//! The rows.

use std::path::Path;

use anyhow::{Result, bail, ensure};
use gridstride::Number;
use ndarray::{ArrayView2, Axis};
use rayon::prelude::*;

use super::args::Args;
use crate::common::npy::{NpyReader, Stored};

/// The rows of one file, or of two.
pub struct Rows<T> {
    pub(super) first: Stored<T>,
    pub other: Option<Stored<T>>,
}

impl<T: Number> Rows<T> {
    /// Reads rows of finite numbers, of the same length in both files.
    pub fn read(args: &Args, rows: NpyReader, other: Option<NpyReader>) -> Result<Rows<T>> {
        let first = rows.read::<T>()?;
        require_finite(&args.rows, first.view())?;
        let other = match (&args.other, other) {
            (Some(path), Some(other)) => {
                let other = other.read::<T>()?;
                let (numbers, expected) = (other.view().ncols(), first.view().ncols());
                ensure!(
                    numbers == expected,
                    "the rows of {} have {numbers} numbers, those of {} have {expected}: all rows must have the same \
                     length",
                    path.display(),
                    args.rows.display()
                );
                require_finite(path, other.view())?;
                Some(other)
            }
            _ => None,
        };
        Ok(Rows { first, other })
    }

    /// The rows of the result.
    pub fn first(&self) -> ArrayView2<'_, T> {
        self.first.view()
    }

    /// The columns of the result.
    pub fn second(&self) -> ArrayView2<'_, T> {
        self.other.as_ref().unwrap_or(&self.first).view()
    }
}

fn require_finite<T: Number>(path: &Path, rows: ArrayView2<T>) -> Result<()> {
    let wrong = |i: usize| {
        let row = rows.index_axis(Axis(0), i);
        let place = row.iter().position(|number| !number.to_f64().is_finite())?;
        Some((i, place, row[place]))
    };
    let found = (0..rows.nrows()).into_par_iter().find_map_first(wrong);
    if let Some((i, j, number)) = found {
        bail!(
            "{}: row {i}, column {j} is {number:?}: distances need finite numbers",
            path.display()
        );
    }
    Ok(())
}
