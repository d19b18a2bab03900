//! The search in the tree, for many rows at once and level by level.
//!
//! The work is a list of tests: pairs of a row and a group. The tests of a level give the list of
//! the level below in the same order, and the tests of the lowest level give the pairs, row after
//! row. The loops are long, and loads of different tests overlap instead of waiting for results.

use std::ops::Range;

use gridstride_runtime::Result;
use gridstride_runtime::device::{collected, reserve, zeroed};

use super::finder::{Finder, Pairs, Wanted};
use super::lanes::{Isa, LANES, Tester, WithTester, bits};
use super::probe::{LIST, Probe, Test};

/// The search in a tree of the second set.
pub(super) struct Indexed {
    /// The set's index of each box of the lowest level, padded with zeros to whole groups.
    pub ids: Vec<u32>,
    /// The number of levels.
    pub levels: usize,
    /// Whether only pairs (i, j) with i < j count.
    pub is_self: bool,
}

impl Finder for Indexed {
    fn find(&self, probe: &dyn Probe, rows: Range<usize>, wanted: Wanted) -> Result<Pairs> {
        let count = rows.len();
        let mut walk = Walk {
            isa: Isa::new(),
            probe,
            ids: &self.ids,
            first: self.is_self.then_some(rows.start as u32),
            wanted,
            pairs: Pairs {
                counts: zeroed(count)?,
                indices: Vec::new(),
            },
            places: [0; LIST * LANES],
        };
        let Some(below_top) = self.levels.checked_sub(1) else {
            return Ok(walk.pairs);
        };
        let mut lists = collected((0..below_top).map(|_| [Test(0); LIST * LANES]))?;
        let mut top = [Test(0); LIST];
        for start in (0..count).step_by(LIST) {
            let top = &mut top[..LIST.min(count - start)];
            for (i, test) in top.iter_mut().enumerate() {
                *test = Test::new(start + i, 0);
            }
            walk.down(top, &mut lists)?;
        }
        Ok(walk.pairs)
    }
}

struct Walk<'a> {
    isa: Isa,
    probe: &'a dyn Probe,
    ids: &'a [u32],
    /// The index of the first row, for pairs within a set.
    first: Option<u32>,
    wanted: Wanted,
    pairs: Pairs,
    /// Positions in the lowest level of the boxes found by the current list.
    places: [u32; LIST * LANES],
}

impl Walk<'_> {
    /// Runs tests of the level `lists.len()` above the lowest, and all tests that follow from them.
    fn down(&mut self, tests: &[Test], lists: &mut [[Test; LIST * LANES]]) -> Result<()> {
        for tests in tests.chunks(LIST) {
            let mut hits = [0; LIST];
            self.probe.test(lists.len(), tests, &mut hits);
            let hits = &hits[..tests.len()];
            let Some((below, lists)) = lists.split_last_mut() else {
                if self.wanted == Wanted::CountsAndIndices {
                    reserve(&mut self.pairs.indices, tests.len() * LANES)?;
                }
                self.isa.run(Leaves(self, tests, hits));
                continue;
            };
            let mut end = 0;
            self.isa.run(Expand(tests, hits, below, &mut end));
            self.down(&below[..end], lists)?;
        }
        Ok(())
    }
}

/// Writes the tests that follow from tests of bounding boxes, and their number.
struct Expand<'a>(
    &'a [Test],
    &'a [u8],
    &'a mut [Test; LIST * LANES],
    &'a mut usize,
);

impl WithTester for Expand<'_> {
    #[inline(always)]
    fn run(self, _: impl Tester) {
        let Expand(tests, hits, below, result) = self;
        let mut end = 0;
        for (test, &hits) in tests.iter().zip(hits) {
            // All eight places are written, and the next test overwrites the places beyond the
            // hits: the number of hits cannot be predicted, and a loop over the hits would take as
            // long as the test.
            let mut next = [Test(0); LANES];
            // There are fewer than 2³² groups.
            let first = Test::new(test.row(), test.group() * LANES).0;
            for (next, &lane) in next.iter_mut().zip(&LANES_OF[hits as usize]) {
                *next = Test(first + u64::from(lane));
            }
            // The loop over a separate array is vectorized.
            below[end..end + LANES].copy_from_slice(&next);
            end += hits.count_ones() as usize;
        }
        *result = end;
    }
}

/// The lanes of each set of bits, in ascending order, padded with zeros.
static LANES_OF: [[u8; LANES]; 1 << LANES] = {
    let mut lanes_of = [[0; LANES]; 1 << LANES];
    let mut set = 0;
    while set < lanes_of.len() {
        let (mut rest, mut count) = (set, 0);
        while rest != 0 {
            lanes_of[set][count] = rest.trailing_zeros() as u8;
            rest &= rest - 1;
            count += 1;
        }
        set += 1;
    }
    lanes_of
};

/// Counts the hits of tests of boxes, and appends their indices if wanted, for which there must be
/// room.
struct Leaves<'a, 'b>(&'a mut Walk<'b>, &'a [Test], &'a [u8]);

impl WithTester for Leaves<'_, '_> {
    #[inline(always)]
    fn run(self, _: impl Tester) {
        let Leaves(walk, tests, hits) = self;
        let (ids, first, places) = (walk.ids, walk.first, &mut walk.places);
        let (pairs, store) = (&mut walk.pairs, walk.wanted == Wanted::CountsAndIndices);
        let groups_of_ids = ids.as_chunks::<LANES>().0;
        let mut end = 0;
        for (test, &hits) in tests.iter().zip(hits) {
            let (row, group, mut hits) = (test.row(), test.group(), u32::from(hits));
            if let Some(first) = first {
                let mut counts = [false; LANES];
                for (counts, &id) in counts.iter_mut().zip(&groups_of_ids[group]) {
                    *counts = id > first + row as u32;
                }
                hits &= bits(counts);
            }
            pairs.counts[row] += hits.count_ones();
            if store {
                // As in `Expand`. The indices of the boxes are looked up when the list is done.
                let mut next = [0; LANES];
                let place_of_group = (group * LANES) as u32;
                for (next, &lane) in next.iter_mut().zip(&LANES_OF[hits as usize]) {
                    *next = place_of_group + u32::from(lane);
                }
                places[end..end + LANES].copy_from_slice(&next);
                end += hits.count_ones() as usize;
            }
        }
        let ids = places[..end].iter().map(|&place| ids[place as usize]);
        pairs.indices.extend(ids);
    }
}
