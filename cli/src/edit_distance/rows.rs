//! The sketches of consecutive records, by record.

use std::ops::Range;

use anyhow::{Context, Result};
use files::memory::room_for;
use gridstride::Device;
use gridstride::tensor_sketch::TensorSketch;
use ndarray::{Array2, ArrayView1};

use super::records::Records;
use crate::tensor_sketch::args::Windows;

/// Numbers of the sketches of a text, unless a sequence has more; few in unit tests, which so have
/// several texts.
pub const NUMBERS: usize = if cfg!(test) { 1 << 16 } else { 1 << 25 };

/// Letters of a text of padded sequences, unless a sequence has more.
pub const LETTERS: usize = 1 << 28;

/// Rows of numbers of consecutive records: the sketches of their windows, or of whole sequences.
pub struct Rows {
    /// The first record.
    first: usize,
    /// The numbers of all rows, `dim` each.
    numbers: Vec<f32>,
    dim: usize,
    /// Index of the first row of each record, and at the end the number of rows.
    offsets: Vec<usize>,
}

impl Rows {
    /// Sketches whole sequences: a row for each record.
    pub fn of_sequences(
        devices: &[Device],
        sketcher: &TensorSketch,
        records: &Records,
    ) -> Result<Rows> {
        Ok(Rows {
            first: 0,
            numbers: elements(sketcher.sketch(devices, &records.sequences)?),
            dim: sketcher.tables().dim(),
            offsets: (0..=records.names.len()).collect(),
        })
    }

    /// Sketches the windows of some records.
    ///
    /// # Errors
    /// The errors of the library, or too little memory for the sketches.
    pub fn of_windows(
        devices: &[Device],
        sketcher: &TensorSketch,
        records: &Records,
        range: Range<usize>,
        windows: Windows,
    ) -> Result<Rows> {
        let counts = range
            .clone()
            .map(|i| windows_in(records.length(i), windows));
        let (count, dim) = (counts.sum::<usize>(), sketcher.tables().dim());
        let mut rows = Rows {
            first: range.start,
            numbers: room_for(count.saturating_mul(dim)).with_context(|| {
                format!(
                    "cannot hold the sketches of {count} windows in memory: choose a greater STRIDE of --windows, or \
                     a smaller --group"
                )
            })?,
            dim,
            offsets: vec![0],
        };
        let mut first = range.start;
        while first < range.end {
            let end = end_of_text(records, first..range.end, windows, dim);
            rows.add_text(devices, sketcher, records, first..end, windows)?;
            first = end;
        }
        Ok(rows)
    }

    /// Adds the windows of records that are one text to the library, in which each begins at a
    /// multiple of the stride. One call sketches all windows of the text, and those across two
    /// sequences are left out.
    fn add_text(
        &mut self,
        devices: &[Device],
        sketcher: &TensorSketch,
        records: &Records,
        range: Range<usize>,
        windows: Windows,
    ) -> Result<()> {
        let (width, stride) = (windows.width.get(), windows.stride.get());
        let (mut text, mut kept) = (Vec::new(), Vec::with_capacity(range.len()));
        for codes in range.map(|index| records.codes(index)) {
            let count = windows_in(codes.len(), windows);
            if count > 0 {
                let first = text.len() / stride;
                kept.push(first..first + count);
                text.extend_from_slice(codes);
                text.resize(text.len().next_multiple_of(stride), 0);
            }
            self.offsets.push(self.offsets.last().unwrap_or(&0) + count);
        }
        let text = ArrayView1::from(&text);
        let sketches = elements(sketcher.windows(devices, text, width, stride)?);
        for rows in kept {
            let numbers = &sketches[rows.start * self.dim..rows.end * self.dim];
            self.numbers.extend_from_slice(numbers);
        }
        Ok(())
    }

    /// Returns how many rows a record has.
    pub fn count(&self, record: usize) -> usize {
        let i = record - self.first;
        self.offsets[i + 1] - self.offsets[i]
    }

    /// Returns the numbers of the rows of a record.
    fn of(&self, record: usize) -> &[f32] {
        let i = record - self.first;
        &self.numbers[self.offsets[i] * self.dim..self.offsets[i + 1] * self.dim]
    }

    /// Copies the rows of some records, one record after the other. Returns the rows and, for each
    /// record, the offset of its rows.
    pub fn gathered(
        &self,
        records: impl Iterator<Item = usize> + Clone,
    ) -> Result<(Array2<f32>, Vec<usize>)> {
        let count: usize = records.clone().map(|record| self.count(record)).sum();
        let (mut numbers, mut offsets) = (room_for(count * self.dim)?, vec![0]);
        let mut end = 0;
        for record in records {
            numbers.extend_from_slice(self.of(record));
            end += self.count(record);
            offsets.push(end);
        }
        let rows = Array2::from_shape_vec((count, self.dim), numbers)?;
        Ok((rows, offsets))
    }
}

/// Returns the elements of a new array, by rows.
fn elements(array: Array2<f32>) -> Vec<f32> {
    array.into_raw_vec_and_offset().0
}

/// Returns the end of a range of records, at least one, that are a text together.
pub fn end_of_text(records: &Records, range: Range<usize>, windows: Windows, dim: usize) -> usize {
    let (mut rows, mut letters) = (0, 0);
    let fits = |record: &usize| {
        let strides = records.length(*record).div_ceil(windows.stride.get());
        rows += strides;
        letters += strides * windows.stride.get();
        rows <= NUMBERS / dim && letters <= LETTERS
    };
    range.start + range.take_while(fits).count().max(1)
}

/// Returns how many windows a sequence has.
fn windows_in(length: usize, windows: Windows) -> usize {
    let last = length.checked_sub(windows.width.get());
    last.map_or(0, |last| last / windows.stride.get() + 1)
}
