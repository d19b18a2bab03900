//! The rows.

use std::ops::Range;
use std::path::Path;

use anyhow::{Result, bail, ensure};
use files::npy::{NpyReader, Stored};
use gridstride::Number;
use gridstride_runtime::parallel;
use ndarray::{ArrayView2, Axis};

use super::args::Args;
use super::windows::{Offsets, Sequences};

/// The rows of one file, or of two.
pub struct Rows<T> {
    pub first: RowSet<T>,
    pub other: Option<RowSet<T>>,
}

/// The rows of a file, or the sequences whose windows they are.
pub struct RowSet<T> {
    pub(super) rows: Stored<T>,
    /// With `--windows`.
    pub(super) offsets: Option<Offsets>,
}

impl<T: Number> Rows<T> {
    /// Reads rows of finite numbers, of the same length in both files.
    pub fn read(args: &Args, rows: NpyReader, other: Option<NpyReader>) -> Result<Rows<T>> {
        let first = RowSet::read(&args.rows, args.windows.as_deref(), rows)?;
        let other = match (&args.other, other) {
            (Some(path), Some(other)) => {
                let other = RowSet::read(path, args.other_windows.as_deref(), other)?;
                let (numbers, expected) = (other.view().ncols(), first.view().ncols());
                ensure!(
                    numbers == expected,
                    "the rows of {} have {numbers} numbers, those of {} have {expected}: all rows must have the same \
                     length",
                    path.display(),
                    args.rows.display()
                );
                Some(other)
            }
            _ => None,
        };
        Ok(Rows { first, other })
    }

    /// Returns the rows that the columns of the result stand for. The result's rows stand for
    /// `first`.
    pub fn second(&self) -> &RowSet<T> {
        self.other.as_ref().unwrap_or(&self.first)
    }
}

impl<T: Number> RowSet<T> {
    fn read(path: &Path, windows: Option<&Path>, reader: NpyReader) -> Result<RowSet<T>> {
        let (count, numbers) = reader.dim();
        // A short file may have any number of them.
        ensure!(
            count == 0 || numbers > 0,
            "{} has {count} rows without numbers: distances need at least one number a row",
            path.display()
        );
        let rows = reader.read::<T>()?;
        require_finite(path, rows.view())?;
        let offsets = windows.map(|windows| Offsets::read(windows, path, count));
        Ok(RowSet {
            offsets: offsets.transpose()?,
            rows,
        })
    }

    /// Returns all rows.
    pub fn view(&self) -> ArrayView2<'_, T> {
        self.rows.view()
    }

    /// Returns the number of rows, or of sequences.
    pub fn len(&self) -> usize {
        let rows = || self.view().nrows();
        self.offsets.as_ref().map_or_else(rows, Offsets::len)
    }

    /// Returns what is compared, for messages.
    pub fn things(&self) -> &'static str {
        match self.offsets {
            Some(_) => "sequences",
            None => "rows",
        }
    }

    /// Returns a range of the sequences, or `None` if rows are compared.
    pub fn sequences(&self, range: Range<usize>) -> Option<Sequences<'_, T>> {
        let offsets = self.offsets.as_ref()?;
        Some(offsets.sequences(self.view(), range))
    }
}

fn require_finite<T: Number>(path: &Path, rows: ArrayView2<T>) -> Result<()> {
    let wrong = |i: usize| {
        let mut row = rows.index_axis(Axis(0), i).into_iter();
        let j = row.position(|number| !number.to_f64().is_finite())?;
        Some(i * rows.ncols() + j)
    };
    if let Some(place) = parallel::find_first(rows.nrows(), &wrong) {
        let (i, j) = (place / rows.ncols(), place % rows.ncols());
        let number = rows[[i, j]];
        bail!(
            "{}: row {i}, column {j} is {number:?}: distances need finite numbers",
            path.display()
        );
    }
    Ok(())
}
