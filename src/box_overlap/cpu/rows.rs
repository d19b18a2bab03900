//! Arrays that all cores make: of elements, and of the results for parts of the rows.

use std::mem::MaybeUninit;

use super::finder::Found;
use crate::Result;
use crate::box_overlap::output::Overlaps;
use crate::device::{reserve, zeroed};
use crate::parallel;

/// Makes `count` elements with all cores.
pub(super) fn collect<U: Copy + Send>(
    count: usize,
    element: impl Fn(usize) -> U + Sync,
) -> Result<Vec<U>> {
    /// Elements that a thread makes in one go.
    const MADE_BY_A_THREAD: usize = 1 << 12;
    let mut elements = Vec::new();
    reserve(&mut elements, count)?;
    let places = &mut elements.spare_capacity_mut()[..count];
    let chunks = places.chunks_mut(MADE_BY_A_THREAD).enumerate();
    parallel::each(chunks, |(chunk, places)| {
        for (i, place) in places.iter_mut().enumerate() {
            place.write(element(chunk * MADE_BY_A_THREAD + i));
        }
    });
    // SAFETY: just written, all of them.
    unsafe { elements.set_len(count) };
    Ok(elements)
}

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

/// The pairs of all parts, one after the other.
pub(super) fn all_pairs(parts: Vec<Found>) -> Result<Overlaps> {
    let rows: usize = parts.iter().map(|found| found.counts.len()).sum();
    let mut offsets = zeroed::<usize>(rows + 1)?;
    let counts = parts.iter().flat_map(|found| &found.counts);
    let mut end = 0;
    for (offset, &count) in offsets[1..].iter_mut().zip(counts) {
        end += count as usize;
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
