//! The search that tests every pair.

use std::ops::Range;

use gridstride_runtime::Result;
use gridstride_runtime::device::reserve;

use super::finder::{Finder, Found, Wanted};
use super::lanes::{Groups, Isa, LANES, Lanes, Limits, Tester, WithTester};
use crate::input::Boxes;

/// Rows that are tested with a group while the group is in registers.
const ROWS: usize = 4;

/// Groups of a chunk: each chunk first reserves memory for its indices.
const CHUNK: usize = 1 << 10;

/// The second set in groups, in its own order.
pub(super) struct BruteForce<T, const AXES: usize> {
    boxes: Groups<T, AXES>,
    /// Whether only pairs (i, j) with i < j count.
    is_self: bool,
}

impl<T: Lanes, const AXES: usize> BruteForce<T, AXES> {
    pub fn new(boxes: Boxes<'_, T>, is_self: bool) -> Result<Self> {
        let boxes = Groups::new(boxes.len(), |i| Limits::from_row(boxes.row(i)))?;
        Ok(BruteForce { boxes, is_self })
    }
}

impl<T: Lanes, const AXES: usize> Finder<T> for BruteForce<T, AXES> {
    fn find(&self, rows: Boxes<'_, T>, first: usize, wanted: Wanted) -> Result<Found> {
        let (isa, count, end) = (Isa::new(), rows.len(), self.boxes.groups.len());
        let mut found = Found::default();
        reserve(&mut found.counts, count)?;
        let mut indices: [Vec<u32>; ROWS] = Default::default();
        for start in (0..count).step_by(ROWS) {
            // Rows beyond the last repeat the last, and their results are dropped.
            let row = |i: usize| (start + i).min(count - 1);
            let limits: [_; ROWS] = std::array::from_fn(|i| Limits::from_row(rows.row(row(i))));
            let after = std::array::from_fn(|i| if self.is_self { first + row(i) + 1 } else { 0 });
            let mut counts = [0; ROWS];
            for first_group in (after[0] / LANES..end).step_by(CHUNK) {
                let groups = first_group..end.min(first_group + CHUNK);
                if wanted == Wanted::CountsAndIndices {
                    for indices in &mut indices {
                        reserve(indices, groups.len() * LANES)?;
                    }
                }
                let chunk = Chunk {
                    boxes: &self.boxes,
                    groups,
                    limits: &limits,
                    after,
                    counts: &mut counts,
                    indices: &mut indices,
                };
                match wanted {
                    Wanted::Counts => isa.run(Test::<T, AXES, false>(chunk)),
                    Wanted::CountsAndIndices => isa.run(Test::<T, AXES, true>(chunk)),
                }
            }
            for i in 0..ROWS.min(count - start) {
                found.counts.push(counts[i]);
                reserve(&mut found.indices, indices[i].len())?;
                found.indices.extend_from_slice(&indices[i]);
            }
            indices.iter_mut().for_each(Vec::clear);
        }
        Ok(found)
    }
}

/// Rows, and the groups that they are tested with.
struct Chunk<'a, T, const AXES: usize> {
    boxes: &'a Groups<T, AXES>,
    groups: Range<usize>,
    limits: &'a [Limits<T, AXES>; ROWS],
    /// The first box that counts for each row.
    after: [usize; ROWS],
    counts: &'a mut [u32; ROWS],
    indices: &'a mut [Vec<u32>; ROWS],
}

/// Tests a chunk. With `STORE` there must be room for the indices.
struct Test<'a, T, const AXES: usize, const STORE: bool>(Chunk<'a, T, AXES>);

impl<T: Lanes, const AXES: usize, const STORE: bool> WithTester for Test<'_, T, AXES, STORE> {
    #[inline(always)]
    fn run(self, tester: impl Tester) {
        let chunk = self.0;
        // In registers, not behind references.
        let (limits, mut counts) = (*chunk.limits, *chunk.counts);
        for group in chunk.groups {
            let boxes = &chunk.boxes.groups[group];
            // A loop, since `map` of arrays is not always inlined, as a test must be.
            let mut lanes = [0; ROWS];
            for (lanes, limits) in lanes.iter_mut().zip(&limits) {
                *lanes = tester.overlapping(boxes, limits);
            }
            if lanes == [0; ROWS] {
                continue;
            }
            let valid = chunk.boxes.lanes(group);
            for i in 0..ROWS {
                let skipped = chunk.after[i].saturating_sub(group * LANES).min(LANES);
                lanes[i] &= valid & (u32::MAX << skipped);
                counts[i] += lanes[i].count_ones();
            }
            if STORE {
                for (indices, mut lanes) in chunk.indices.iter_mut().zip(lanes) {
                    while lanes != 0 {
                        indices.push((group * LANES) as u32 + lanes.trailing_zeros());
                        lanes &= lanes - 1;
                    }
                }
            }
        }
        *chunk.counts = counts;
    }
}
