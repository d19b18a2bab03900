//! Results put together from those of parts of the rows.

use std::mem::MaybeUninit;

use super::finder::Found;
use crate::Result;
use crate::box_overlap::Overlaps;
use crate::device::{reserve, zeroed};
use crate::parallel;

/// A row with more than one in so many of all boxes is sorted by marking them.
const MARK: usize = 64;

/// Sorts the indices of each row, which are below `length`.
pub(super) fn sort_rows(found: &mut Found, length: usize) -> Result<()> {
    let mut marks = Vec::new();
    let mut rest = &mut found.indices[..];
    for &count in &found.counts {
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

/// Sorts different numbers. The marks are zero before and after.
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

/// The numbers of all parts, one after the other.
pub(super) fn all_counts(parts: Vec<Found>) -> Result<Vec<u32>> {
    concat(parts.into_iter().map(|found| found.counts).collect())
}

/// The pairs of all parts, one after the other.
pub(super) fn all_pairs(parts: Vec<Found>) -> Result<Overlaps> {
    let rows: usize = parts.iter().map(|found| found.counts.len()).sum();
    let mut offsets = zeroed::<u64>(rows + 1)?;
    let counts = parts.iter().flat_map(|found| &found.counts);
    let mut end = 0;
    for (offset, &count) in offsets[1..].iter_mut().zip(counts) {
        end += u64::from(count);
        *offset = end;
    }
    let indices = concat(parts.into_iter().map(|found| found.indices).collect())?;
    Ok(Overlaps::new(offsets, indices))
}

/// All numbers in one piece of memory. Each part's is given back as soon as it is copied.
fn concat(mut parts: Vec<Vec<u32>>) -> Result<Vec<u32>> {
    if parts.len() == 1 {
        return Ok(parts.pop().unwrap_or_default());
    }
    let length = parts.iter().map(Vec::len).sum();
    let mut all = Vec::new();
    reserve(&mut all, length)?;
    let mut rest: &mut [MaybeUninit<u32>] = &mut all.spare_capacity_mut()[..length];
    let mut copies = Vec::new();
    for part in parts {
        let (target, behind) = rest.split_at_mut(part.len());
        copies.push((part, target));
        rest = behind;
    }
    parallel::each(copies, |(part, target)| {
        target.write_copy_of_slice(&part);
    });
    // SAFETY: the targets are `length` elements without gaps, and each has been written.
    unsafe { all.set_len(length) };
    Ok(all)
}
