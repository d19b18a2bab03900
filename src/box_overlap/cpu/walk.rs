//! The walk down the tree, for many rows at once and level by level.
//!
//! What is to be tested is a list of pairs of a row and a group. Testing a list gives that of the level
//! below, in the same order, and at last the pairs that are looked for, row after row. So the loops are
//! long, and loads of one test wait for those of another, not for its outcome.

use super::finder::{Finder, Found, Wanted};
use super::group::{LANES, Limits, lanes_below};
use super::lanes::{Lanes, Machine, Tester, WithTester, bits};
use super::tree::{Level, Tree};
use crate::Result;
use crate::box_overlap::input::Boxes;
use crate::device::{collected, reserve, zeroed};

/// Tests after which the level below is looked at, so that lists do not grow without bounds.
const LIST: usize = 1 << 8;

/// The tree of the second set.
pub(super) struct Indexed<T, const AXES: usize> {
    tree: Tree<T, AXES>,
    /// Whether pairs (i, j) count with j > i alone.
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
        limits.extend((0..count).map(|i| Limits::of_row(rows.row(i))));
        let mut walk = Walk {
            machine: Machine::new(),
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
        let mut lists = collected((0..below_top).map(|_| List([Test(0); LIST * LANES])))?;
        let mut top = [Test(0); LIST];
        for start in (0..count).step_by(LIST) {
            let top = &mut top[..LIST.min(count - start)];
            top.iter_mut()
                .enumerate()
                .for_each(|(i, test)| *test = Test::new(start + i, 0));
            walk.down(top, &mut lists)?;
        }
        Ok(walk.found)
    }
}

/// A row that is to be tested with a group of boxes of a level: the row's number in the high half.
#[derive(Clone, Copy, Debug)]
struct Test(u64);

impl Test {
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

    /// The test that follows if the row overlaps the box in a lane. There are fewer than 2³² groups.
    #[inline(always)]
    fn child(self, lane: u64) -> Test {
        Test((self.0 & !0xffff_ffff) | ((self.group() * LANES) as u64 + lane))
    }
}

struct Walk<'a, T, const AXES: usize> {
    machine: Machine,
    tree: &'a Tree<T, AXES>,
    rows: &'a [Limits<T, AXES>],
    /// For pairs within a set, the number of the first row.
    first: Option<u32>,
    wanted: Wanted,
    found: Found,
    /// Where in the lowest level the boxes are that were found last.
    places: [u32; LIST * LANES],
}

/// The tests of a level that follow from [`LIST`] of the level above.
struct List([Test; LIST * LANES]);

impl<T: Lanes, const AXES: usize> Walk<'_, T, AXES> {
    /// Does tests on the level above as many as there are `lists`, and all that follows from them.
    fn down(&mut self, tests: &[Test], lists: &mut [List]) -> Result<()> {
        if self.tree.levels.is_empty() {
            return Ok(());
        }
        let (machine, rows, level) = (self.machine, self.rows, &self.tree.levels[lists.len()]);
        let Some((List(below), lists)) = lists.split_last_mut() else {
            return self.leaves(tests);
        };
        for tests in tests.chunks(LIST) {
            let mut end = 0;
            machine.run(Expand {
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
        let (level, ids, rows) = (&self.tree.levels[0], &self.tree.ids[..], self.rows);
        let first = self.first;
        for tests in tests.chunks(LIST) {
            if self.wanted == Wanted::CountsAndIndices {
                reserve(&mut self.found.indices, tests.len() * LANES)?;
            }
            let leaves = Leaves {
                level,
                ids,
                rows,
                tests,
                first,
                found: &mut self.found,
                places: &mut self.places,
            };
            match self.wanted {
                Wanted::Counts => self.machine.run(Count(leaves)),
                Wanted::CountsAndIndices => self.machine.run(Store(leaves)),
            }
        }
        Ok(())
    }
}

/// Tests of bounding boxes.
struct Expand<'a, T, const AXES: usize> {
    level: &'a Level<T, AXES>,
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
            let hits = hits & lanes_below(self.level.length, group);
            // All eight places are written, and those beyond the hits again by the next test: how many
            // there are cannot be predicted, and a loop over them would take as long as the test.
            let places: &mut [Test] = &mut self.below[end..end + LANES];
            let first = test.child(0).0;
            for (place, &lane) in places.iter_mut().zip(&LANES_OF[hits as usize]) {
                *place = Test(first + u64::from(lane));
            }
            end += hits.count_ones() as usize;
        }
        *self.end = end;
    }
}

/// For each set of lanes, as bits, their numbers in order, and zeros behind.
static LANES_OF: [[u8; LANES]; 1 << LANES] = {
    let mut lanes_of = [[0; LANES]; 1 << LANES];
    let mut set = 0;
    while set < lanes_of.len() {
        let (mut lane, mut count) = (0, 0);
        while lane < LANES {
            if set & (1 << lane) != 0 {
                lanes_of[set][count] = lane as u8;
                count += 1;
            }
            lane += 1;
        }
        set += 1;
    }
    lanes_of
};

/// Tests of the boxes themselves.
struct Leaves<'a, T, const AXES: usize> {
    level: &'a Level<T, AXES>,
    ids: &'a [u32],
    rows: &'a [Limits<T, AXES>],
    tests: &'a [Test],
    first: Option<u32>,
    found: &'a mut Found,
    places: &'a mut [u32; LIST * LANES],
}

struct Count<'a, T, const AXES: usize>(Leaves<'a, T, AXES>);

/// There must be room for the indices.
struct Store<'a, T, const AXES: usize>(Leaves<'a, T, AXES>);

impl<T: Lanes, const AXES: usize> Leaves<'_, T, AXES> {
    #[inline(always)]
    fn test<const STORE: bool>(self, tester: impl Tester) {
        let groups_of_ids = self.ids.as_chunks::<LANES>().0;
        let mut end = 0;
        for &test in self.tests {
            let (row, group) = (test.row(), test.group());
            let hits = tester.overlapping(&self.level.groups[group], &self.rows[row]);
            let mut hits = hits & lanes_below(self.level.length, group);
            if let Some(first) = self.first {
                let mut counts = [false; LANES];
                for (counts, &id) in counts.iter_mut().zip(&groups_of_ids[group]) {
                    *counts = id > first + row as u32;
                }
                hits &= bits(counts);
            }
            self.found.counts[row] += hits.count_ones();
            if STORE {
                // As when tests are listed; what the boxes are called is looked up when all are there.
                let places = &mut self.places[end..end + LANES];
                let first = (group * LANES) as u32;
                for (place, &lane) in places.iter_mut().zip(&LANES_OF[hits as usize]) {
                    *place = first + u32::from(lane);
                }
                end += hits.count_ones() as usize;
            }
        }
        if STORE {
            let ids = self.places[..end]
                .iter()
                .map(|&place| self.ids[place as usize]);
            self.found.indices.extend(ids);
        }
    }
}

impl<T: Lanes, const AXES: usize> WithTester for Count<'_, T, AXES> {
    #[inline(always)]
    fn run(self, tester: impl Tester) {
        self.0.test::<false>(tester);
    }
}

impl<T: Lanes, const AXES: usize> WithTester for Store<'_, T, AXES> {
    #[inline(always)]
    fn run(self, tester: impl Tester) {
        self.0.test::<true>(tester);
    }
}
