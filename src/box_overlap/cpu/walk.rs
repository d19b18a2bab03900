//! The walk down the tree, for many rows at once and level by level.
//!
//! What is to be tested is a list of pairs of a row and a group. Testing a list gives that of the level
//! below, in the same order, and at last the pairs that are looked for, row after row. So the loops are
//! long, and loads of one test wait for those of another, not for its outcome.

use super::finder::{Finder, Found, Wanted, reserve};
use super::group::{LANES, Limits, lanes_below};
use super::lanes::{Lanes, Machine, Tester, WithTester, bits};
use super::tree::{Level, Tree};
use crate::Result;
use crate::box_overlap::boxes::Boxes;
use crate::device::zeroed;

/// Tests after which the level below is looked at, so that lists do not grow without bounds.
const LIST: usize = 1 << 10;

/// The tree of the second set.
pub(super) struct Indexed<T, const AXES: usize> {
    tree: Tree<T, AXES>,
    /// Whether pairs (i, j) count with j > i alone.
    is_self: bool,
}

impl<T: Lanes, const AXES: usize> Indexed<T, AXES> {
    pub fn new(boxes: Boxes<'_, T>, is_self: bool) -> Result<Self> {
        Ok(Indexed { tree: Tree::new(boxes)?, is_self })
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
            found: Found { counts: zeroed(count)?, indices: Vec::new() },
        };
        let mut lists = Vec::new();
        for _ in &self.tree.levels {
            let mut list = Vec::new();
            reserve(&mut list, LIST * LANES)?;
            lists.push(list);
        }
        let Some((top, lists)) = lists.split_last_mut() else {
            return Ok(walk.found);
        };
        for rows in (0..count as u32).collect::<Vec<_>>().chunks(LIST) {
            top.clear();
            top.extend(rows.iter().map(|&row| Test { row, group: 0 }));
            walk.down(top, lists)?;
        }
        Ok(walk.found)
    }
}

/// A row that is to be tested with a group of boxes of a level.
#[derive(Clone, Copy, Debug)]
struct Test {
    row: u32,
    group: u32,
}

struct Walk<'a, T, const AXES: usize> {
    machine: Machine,
    tree: &'a Tree<T, AXES>,
    rows: &'a [Limits<T, AXES>],
    /// For pairs within a set, the number of the first row.
    first: Option<u32>,
    wanted: Wanted,
    found: Found,
}

impl<T: Lanes, const AXES: usize> Walk<'_, T, AXES> {
    /// Does tests on the level above as many as there are `lists`, and all that follows from them.
    fn down(&mut self, tests: &[Test], lists: &mut [Vec<Test>]) -> Result<()> {
        let (machine, rows, level) = (self.machine, self.rows, &self.tree.levels[lists.len()]);
        let Some((below, lists)) = lists.split_last_mut() else {
            return self.leaves(tests);
        };
        for tests in tests.chunks(LIST) {
            below.clear();
            machine.run(Expand { level, rows, tests, below });
            self.down(below, lists)?;
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
            let leaves = Leaves { level, ids, rows, tests, first, found: &mut self.found };
            match self.wanted {
                Wanted::Counts => self.machine.run(Count(leaves)),
                Wanted::CountsAndIndices => self.machine.run(Store(leaves)),
            }
        }
        Ok(())
    }
}

/// Tests of bounding boxes. There must be room for what follows from them.
struct Expand<'a, T, const AXES: usize> {
    level: &'a Level<T, AXES>,
    rows: &'a [Limits<T, AXES>],
    tests: &'a [Test],
    below: &'a mut Vec<Test>,
}

impl<T: Lanes, const AXES: usize> WithTester for Expand<'_, T, AXES> {
    #[inline(always)]
    fn run(self, tester: impl Tester) {
        for &Test { row, group } in self.tests {
            let hits = tester.overlapping(&self.level.groups[group as usize], &self.rows[row as usize]);
            let mut hits = hits & lanes_below(self.level.length, group as usize);
            while hits != 0 {
                let group = group * LANES as u32 + hits.trailing_zeros();
                self.below.push(Test { row, group });
                hits &= hits - 1;
            }
        }
    }
}

/// Tests of the boxes themselves.
struct Leaves<'a, T, const AXES: usize> {
    level: &'a Level<T, AXES>,
    ids: &'a [u32],
    rows: &'a [Limits<T, AXES>],
    tests: &'a [Test],
    first: Option<u32>,
    found: &'a mut Found,
}

struct Count<'a, T, const AXES: usize>(Leaves<'a, T, AXES>);

/// There must be room for the indices.
struct Store<'a, T, const AXES: usize>(Leaves<'a, T, AXES>);

impl<T: Lanes, const AXES: usize> Leaves<'_, T, AXES> {
    #[inline(always)]
    fn test<const STORE: bool>(self, tester: impl Tester) {
        let groups_of_ids = self.ids.as_chunks::<LANES>().0;
        for &Test { row, group } in self.tests {
            let group = group as usize;
            let hits = tester.overlapping(&self.level.groups[group], &self.rows[row as usize]);
            let mut hits = hits & lanes_below(self.level.length, group);
            let ids = &groups_of_ids[group];
            if let Some(first) = self.first {
                hits &= bits(ids.map(|id| id > first + row));
            }
            self.found.counts[row as usize] += hits.count_ones();
            while STORE && hits != 0 {
                self.found.indices.push(ids[hits.trailing_zeros() as usize]);
                hits &= hits - 1;
            }
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
