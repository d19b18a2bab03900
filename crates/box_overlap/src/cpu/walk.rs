//! The search in the tree, for many rows at once and level by level.
//!
//! The work is a list of tests: pairs of a row and a group. The tests of a level give the list of
//! the level below in the same order, and the tests of the lowest level give the pairs, row after
//! row. So the loops are long, and loads of different tests overlap instead of waiting for results.

use gridstride_runtime::Result;
use gridstride_runtime::device::{collected, reserve, zeroed};

use super::finder::{Finder, Found, Wanted};
use super::lanes::{Groups, Isa, LANES, Lanes, Limits, Tester, WithTester, bits};
use super::tree::Tree;
use crate::input::Boxes;

/// Tests of a level before the search goes down, which bounds the lists.
const LIST: usize = 1 << 8;

/// The tree of the second set.
pub(super) struct Indexed<T, const AXES: usize> {
    tree: Tree<T, AXES>,
    /// Whether only pairs (i, j) with i < j count.
    is_self: bool,
}

impl<T: Lanes, const AXES: usize> Indexed<T, AXES> {
    pub fn new(boxes: Boxes<'_, T>, is_self: bool) -> Result<Self> {
        Ok(Indexed {
            tree: Tree::new(boxes)?,
            is_self,
        })
    }
}

impl<T: Lanes, const AXES: usize> Finder<T> for Indexed<T, AXES> {
    fn find(&self, rows: Boxes<'_, T>, first: usize, wanted: Wanted) -> Result<Found> {
        let count = rows.len();
        let mut limits = Vec::new();
        reserve(&mut limits, count)?;
        limits.extend((0..count).map(|i| Limits::from_row(rows.row(i))));
        let mut walk = Walk {
            isa: Isa::new(),
            tree: &self.tree,
            rows: &limits,
            first: self.is_self.then_some(first as u32),
            wanted,
            found: Found {
                counts: zeroed(count)?,
                indices: Vec::new(),
            },
            places: [0; LIST * LANES],
        };
        let below_top = self.tree.levels.len().saturating_sub(1);
        let mut lists = collected((0..below_top).map(|_| [Test(0); LIST * LANES]))?;
        let mut top = [Test(0); LIST];
        for start in (0..count).step_by(LIST) {
            let top = &mut top[..LIST.min(count - start)];
            for (i, test) in top.iter_mut().enumerate() {
                *test = Test::new(start + i, 0);
            }
            walk.down(top, &mut lists)?;
        }
        Ok(walk.found)
    }
}

/// A test of a row, in the high half, with a group of a level, in the low half.
#[derive(Clone, Copy, Debug)]
struct Test(u64);

impl Test {
    #[inline(always)]
    fn new(row: usize, group: usize) -> Test {
        Test(((row as u64) << 32) | group as u64)
    }

    #[inline(always)]
    fn row(self) -> usize {
        (self.0 >> 32) as usize
    }

    #[inline(always)]
    fn group(self) -> usize {
        self.0 as u32 as usize
    }
}

struct Walk<'a, T, const AXES: usize> {
    isa: Isa,
    tree: &'a Tree<T, AXES>,
    rows: &'a [Limits<T, AXES>],
    /// The index of the first row, for pairs within a set.
    first: Option<u32>,
    wanted: Wanted,
    found: Found,
    /// Positions in the lowest level of the boxes found by the current list.
    places: [u32; LIST * LANES],
}

impl<T: Lanes, const AXES: usize> Walk<'_, T, AXES> {
    /// Runs tests of the level `lists.len()` above the lowest, and all tests that follow from them.
    fn down(&mut self, tests: &[Test], lists: &mut [[Test; LIST * LANES]]) -> Result<()> {
        if self.tree.levels.is_empty() {
            return Ok(());
        }
        let (isa, rows, level) = (self.isa, self.rows, &self.tree.levels[lists.len()]);
        let Some((below, lists)) = lists.split_last_mut() else {
            return self.leaves(tests);
        };
        for tests in tests.chunks(LIST) {
            let mut end = 0;
            isa.run(Expand {
                level,
                rows,
                tests,
                below,
                end: &mut end,
            });
            self.down(&below[..end], lists)?;
        }
        Ok(())
    }

    fn leaves(&mut self, tests: &[Test]) -> Result<()> {
        let isa = self.isa;
        for tests in tests.chunks(LIST) {
            match self.wanted {
                Wanted::Counts => isa.run(Leaves::<T, AXES, false>(self, tests)),
                Wanted::CountsAndIndices => {
                    reserve(&mut self.found.indices, tests.len() * LANES)?;
                    isa.run(Leaves::<T, AXES, true>(self, tests));
                }
            }
        }
        Ok(())
    }
}

/// Tests of bounding boxes.
struct Expand<'a, T, const AXES: usize> {
    level: &'a Groups<T, AXES>,
    rows: &'a [Limits<T, AXES>],
    tests: &'a [Test],
    /// The tests that follow, up to `end`.
    below: &'a mut [Test; LIST * LANES],
    end: &'a mut usize,
}

impl<T: Lanes, const AXES: usize> WithTester for Expand<'_, T, AXES> {
    #[inline(always)]
    fn run(self, tester: impl Tester) {
        let (groups, mut end) = (&self.level.groups[..], 0);
        for &test in self.tests {
            let (row, group) = (test.row(), test.group());
            let hits = tester.overlapping(&groups[group], &self.rows[row]);
            let hits = hits & self.level.lanes(group);
            // All eight places are written, and those beyond the hits again by the next test: the
            // number of hits cannot be predicted, and a loop over them would take as long as the
            // test.
            let places: &mut [Test] = &mut self.below[end..end + LANES];
            // There are fewer than 2³² groups.
            let first = Test::new(row, group * LANES).0;
            for (place, &lane) in places.iter_mut().zip(&LANES_OF[hits as usize]) {
                *place = Test(first + u64::from(lane));
            }
            end += hits.count_ones() as usize;
        }
        *self.end = end;
    }
}

/// The lanes of each set of bits, ascending, padded with zeros.
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

/// Tests of boxes. With `STORE` there must be room for the indices.
struct Leaves<'a, 'b, T, const AXES: usize, const STORE: bool>(
    &'a mut Walk<'b, T, AXES>,
    &'a [Test],
);

impl<T: Lanes, const AXES: usize, const STORE: bool> WithTester for Leaves<'_, '_, T, AXES, STORE> {
    #[inline(always)]
    fn run(self, tester: impl Tester) {
        let Leaves(walk, tests) = self;
        let (level, ids, rows) = (&walk.tree.levels[0], &walk.tree.ids[..], walk.rows);
        let (first, found, places) = (walk.first, &mut walk.found, &mut walk.places);
        let groups_of_ids = ids.as_chunks::<LANES>().0;
        let mut end = 0;
        for &test in tests {
            let (row, group) = (test.row(), test.group());
            let hits = tester.overlapping(&level.groups[group], &rows[row]);
            let mut hits = hits & level.lanes(group);
            if let Some(first) = first {
                let mut counts = [false; LANES];
                for (counts, &id) in counts.iter_mut().zip(&groups_of_ids[group]) {
                    *counts = id > first + row as u32;
                }
                hits &= bits(counts);
            }
            found.counts[row] += hits.count_ones();
            if STORE {
                // As in `Expand`. The indices of the boxes are looked up when the list is done.
                let places = &mut places[end..end + LANES];
                let place_of_group = (group * LANES) as u32;
                for (place, &lane) in places.iter_mut().zip(&LANES_OF[hits as usize]) {
                    *place = place_of_group + u32::from(lane);
                }
                end += hits.count_ones() as usize;
            }
        }
        if STORE {
            let ids = places[..end].iter().map(|&place| ids[place as usize]);
            found.indices.extend(ids);
        }
    }
}
