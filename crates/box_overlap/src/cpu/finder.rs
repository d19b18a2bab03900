//! The interface of both algorithms, and their results.

use std::ops::Range;

use gridstride_runtime::Result;
use gridstride_runtime::device::{reserve, zeroed};
use gridstride_runtime::parallel;

use super::probe::Probe;
use crate::output::Overlaps;

/// An algorithm, prepared for the second set.
pub(super) trait Finder: Send + Sync {
    /// Finds the pairs of `rows` of the first set, which are the rows from 0 on of `probe`. The
    /// indices of a row are in any order.
    fn find(&self, probe: &dyn Probe, rows: Range<usize>, wanted: Wanted) -> Result<Pairs>;
}

/// The results that a search returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Counts,
    CountsAndIndices,
}

/// The pairs of consecutive rows.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    /// The number of each row's pairs.
    pub counts: Vec<u32>,
    /// The indices of the pairs, row after row, if wanted.
    pub indices: Vec<u32>,
}

impl Pairs {
    /// Sorts the indices of each row, which are below `length`. A row with more than one in
    /// `MARK` of all boxes is sorted by marking its boxes.
    pub fn sort_rows(&mut self, length: usize) -> Result<()> {
        const MARK: usize = 64;
        let mut marks = Vec::new();
        let mut rest = &mut self.indices[..];
        for &count in &self.counts {
            let (row, others) = rest.split_at_mut(count as usize);
            if row.len() > length / MARK && row.len() > MARK {
                if marks.is_empty() {
                    marks = zeroed::<u64>(length.div_ceil(64))?;
                }
                sort_by_marks(row, &mut marks);
            } else if row.len() > 1 {
                row.sort_unstable();
            }
            rest = others;
        }
        Ok(())
    }
}

/// Sorts distinct numbers. The marks are zero before and after.
fn sort_by_marks(row: &mut [u32], marks: &mut [u64]) {
    for &index in &*row {
        marks[index as usize / 64] |= 1 << (index % 64);
    }
    let mut places = row.iter_mut();
    for (word, marks) in marks.iter_mut().enumerate() {
        while *marks != 0 {
            if let Some(place) = places.next() {
                *place = word as u32 * 64 + marks.trailing_zeros();
            }
            *marks &= *marks - 1;
        }
    }
}

/// Joins the pairs of consecutive chunks of rows.
pub(super) fn joined(chunks: Vec<Pairs>) -> Result<Overlaps> {
    let rows: usize = chunks.iter().map(|pairs| pairs.counts.len()).sum();
    let mut offsets = zeroed::<usize>(rows + 1)?;
    let counts = chunks.iter().flat_map(|pairs| &pairs.counts);
    let mut end = 0;
    for (offset, &count) in offsets[1..].iter_mut().zip(counts) {
        end += count as usize;
        *offset = end;
    }
    let indices = concatenated(chunks.into_iter().map(|pairs| pairs.indices).collect())?;
    Ok(Overlaps::new(offsets, indices))
}

/// Concatenates arrays. Each array is freed as soon as it is copied.
fn concatenated(mut arrays: Vec<Vec<u32>>) -> Result<Vec<u32>> {
    if arrays.len() == 1 {
        return Ok(arrays.pop().unwrap_or_default());
    }
    let length = arrays.iter().map(Vec::len).sum();
    let mut all = Vec::new();
    reserve(&mut all, length)?;
    let mut rest = &mut all.spare_capacity_mut()[..length];
    let copies = arrays.into_iter().map(|array| {
        let target = rest.split_off_mut(..array.len());
        (array, target.expect("room for all arrays"))
    });
    parallel::each(copies, |(array, target)| {
        target.write_copy_of_slice(&array);
    });
    // SAFETY: the targets are `length` elements without gaps, and each has been written.
    unsafe { all.set_len(length) };
    Ok(all)
}
