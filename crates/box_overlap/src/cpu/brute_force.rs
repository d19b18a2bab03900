//! The search that tests every pair.

use std::ops::Range;

use gridstride_runtime::Result;
use gridstride_runtime::device::reserve;

use super::finder::{Finder, Pairs, Wanted};
use super::lanes::{Isa, LANES, Tester, WithTester, lanes};
use super::probe::{Hits, Probe, ROWS, SCAN};

/// Tests rows with all groups, which are in the order of the second set.
pub(super) struct BruteForce {
    /// The number of boxes of the second set.
    pub length: usize,
    /// Whether only pairs (i, j) with i < j count.
    pub is_self: bool,
}

impl Finder for BruteForce {
    fn find(&self, probe: &dyn Probe, rows: Range<usize>, wanted: Wanted) -> Result<Pairs> {
        let (isa, count, end) = (Isa::new(), rows.len(), self.length.div_ceil(LANES));
        let mut pairs = Pairs::default();
        reserve(&mut pairs.counts, count)?;
        let mut indices: [Vec<u32>; ROWS] = Default::default();
        let mut hits = [Hits::default(); SCAN];
        for start in (0..count).step_by(ROWS) {
            // Rows beyond the last repeat the last, and their results are dropped.
            let tested: [_; ROWS] = std::array::from_fn(|i| (start + i).min(count - 1));
            let first_boxes = tested.map(|row| match self.is_self {
                true => rows.start + row + 1,
                false => 0,
            });
            let mut counts = [0; ROWS];
            for first_group in (first_boxes[0] / LANES..end).step_by(SCAN) {
                let groups = first_group..end.min(first_group + SCAN);
                let with_hits = probe.scan(tested, groups, &mut hits);
                let store = wanted == Wanted::CountsAndIndices;
                if store {
                    for indices in &mut indices {
                        reserve(indices, with_hits * LANES)?;
                    }
                }
                isa.run(Collect {
                    hits: &hits[..with_hits],
                    length: self.length,
                    first_boxes,
                    counts: &mut counts,
                    indices: store.then_some(&mut indices),
                });
            }
            for i in 0..ROWS.min(count - start) {
                pairs.counts.push(counts[i]);
                reserve(&mut pairs.indices, indices[i].len())?;
                pairs.indices.extend_from_slice(&indices[i]);
            }
            indices.iter_mut().for_each(Vec::clear);
        }
        Ok(pairs)
    }
}

/// Counts the hits of rows, and appends their indices, for which there must be room.
struct Collect<'a> {
    hits: &'a [Hits],
    /// The number of boxes.
    length: usize,
    /// The first box that counts for each row.
    first_boxes: [usize; ROWS],
    counts: &'a mut [u32; ROWS],
    indices: Option<&'a mut [Vec<u32>; ROWS]>,
}

impl WithTester for Collect<'_> {
    #[inline(always)]
    fn run(mut self, _: impl Tester) {
        for hits in self.hits {
            let first = hits.group as usize * LANES;
            let valid = lanes(self.length, hits.group as usize);
            for i in 0..ROWS {
                let skipped = self.first_boxes[i].saturating_sub(first).min(LANES);
                let mut lanes = u32::from(hits.lanes[i]) & valid & (u32::MAX << skipped);
                self.counts[i] += lanes.count_ones();
                if let Some(indices) = &mut self.indices {
                    while lanes != 0 {
                        indices[i].push(first as u32 + lanes.trailing_zeros());
                        lanes &= lanes - 1;
                    }
                }
            }
        }
    }
}
