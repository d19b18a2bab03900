//! Sequences of windows.

use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use files::text::shortened;
use gridstride::distances;
use ndarray::{ArrayView2, s};

use super::lines::read_lines;

/// Index of the first window of each sequence, and at the end the number of all windows.
pub struct Offsets(pub(super) Vec<usize>);

/// Consecutive sequences.
pub struct Sequences<'a, T> {
    rows: ArrayView2<'a, T>,
    offsets: Vec<usize>,
}

impl Offsets {
    /// Reads how many of the `count` rows of `rows` each sequence has.
    pub fn read(path: &Path, rows: &Path, count: usize) -> Result<Offsets> {
        let lines = read_lines(path, "a number of windows", count)?;
        let (mut offsets, mut end) = (vec![0], 0_usize);
        for (line, text) in (1..).zip(&lines) {
            let windows: Option<usize> = text.parse().ok().filter(|&windows| windows > 0);
            let windows = windows.with_context(|| {
                format!(
                    "{}: line {line} is {:?}: each line is the number of windows of a sequence, \
                     at least 1",
                    path.display(),
                    shortened(text, 60)
                )
            })?;
            end = end.saturating_add(windows);
            offsets.push(end);
        }
        ensure!(
            end == count,
            "{} has {end} windows in all, but {} has {count} rows: each row is a window",
            path.display(),
            rows.display()
        );
        Ok(Offsets(offsets))
    }

    /// Returns the number of sequences.
    pub fn len(&self) -> usize {
        self.0.len() - 1
    }

    /// Returns a range of the sequences whose windows are `rows`.
    pub fn sequences<'a, T>(
        &self,
        rows: ArrayView2<'a, T>,
        range: Range<usize>,
    ) -> Sequences<'a, T> {
        let offsets = &self.0[range.start..=range.end];
        let (first, end) = (self.0[range.start], self.0[range.end]);
        Sequences {
            rows: rows.slice_move(s![first..end, ..]),
            offsets: offsets.iter().map(|offset| offset - first).collect(),
        }
    }
}

impl<T> Sequences<'_, T> {
    /// Returns the windows for a call of the library.
    pub fn windows(&self) -> gridstride::Result<distances::Windows<'_, T>> {
        distances::Windows::new(self.rows.view(), &self.offsets)
    }
}
