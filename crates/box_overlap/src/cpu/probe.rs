//! Tests of rows of the first set with groups of the second set. Of the search, only these tests
//! are compiled for each type of keys and number of axes.

use std::ops::Range;

use gridstride_runtime::Result;
use gridstride_runtime::device::reserve;

use super::lanes::{Groups, HasKey, Intervals, Isa, Key, Tester, WithTester, lanes};
use crate::input::Boxes;

/// The most tests of a call of [`Probe::test`], which bounds the lists of tests.
pub(super) const LIST: usize = 1 << 8;

/// Rows that are tested with a group while the group is in registers.
pub(super) const ROWS: usize = 4;

/// The most groups of a scan.
pub(super) const SCAN: usize = 1 << 10;

/// A test of a row, in the high half, with a group of a level, in the low half.
#[derive(Clone, Copy, Debug)]
pub(super) struct Test(pub u64);

impl Test {
    #[inline(always)]
    pub fn new(row: usize, group: usize) -> Test {
        Test(((row as u64) << 32) | group as u64)
    }

    #[inline(always)]
    pub fn row(self) -> usize {
        (self.0 >> 32) as usize
    }

    #[inline(always)]
    pub fn group(self) -> usize {
        self.0 as u32 as usize
    }
}

/// A group with boxes that overlap scanned rows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hits {
    pub group: u32,
    /// For each row, the lanes that overlap, as bits. Lanes without a box repeat the last box.
    pub lanes: [u8; ROWS],
}

/// Rows of the first set, and the second set in groups.
pub(super) trait Probe {
    /// Writes, for each test, the lanes of boxes that overlap, as bits.
    fn test(&self, level: usize, tests: &[Test], hits: &mut [u8; LIST]);

    /// Tests rows with groups of the lowest level. Writes the groups with hits, and returns their
    /// number.
    fn scan(&self, rows: [usize; ROWS], groups: Range<usize>, hits: &mut [Hits; SCAN]) -> usize;
}

/// The implementation for a type of keys.
pub(super) struct Keys<'a, K> {
    isa: Isa,
    levels: &'a [Groups<K>],
    /// Row after row, the limits along all axes.
    rows: Vec<[K; 2]>,
}

impl<'a, K: Key> Keys<'a, K> {
    pub fn new<T: HasKey<Key = K>>(levels: &'a [Groups<K>], rows: Boxes<'_, T>) -> Result<Self> {
        let mut limits = Vec::new();
        reserve(&mut limits, rows.len() * rows.axes)?;
        for row in rows.numbers.chunks_exact(2 * rows.axes) {
            let (min, max) = row.split_at(rows.axes);
            let keys = min.iter().zip(max).map(|(min, max)| [min.key(), max.key()]);
            limits.extend(keys);
        }
        Ok(Keys {
            isa: Isa::new(),
            levels,
            rows: limits,
        })
    }

    /// [`Probe::scan`] for a number of axes.
    fn scan_along<const AXES: usize>(
        &self,
        rows: [usize; ROWS],
        groups: Range<usize>,
        hits: &mut [Hits; SCAN],
    ) -> usize {
        let mut end = 0;
        self.isa.run(Scan {
            first: groups.start,
            groups: &self.levels[0].intervals.as_chunks::<AXES>().0[groups],
            rows: rows.map(|row| self.rows.as_chunks::<AXES>().0[row]),
            hits,
            end: &mut end,
        });
        end
    }
}

impl<K: Key> Probe for Keys<'_, K> {
    fn test(&self, level: usize, tests: &[Test], hits: &mut [u8; LIST]) {
        let (level, rows) = (&self.levels[level], &self.rows[..]);
        match level.axes {
            2 => self.isa.run(RunTests::<K, 2>(level, rows, tests, hits)),
            _ => self.isa.run(RunTests::<K, 3>(level, rows, tests, hits)),
        }
    }

    fn scan(&self, rows: [usize; ROWS], groups: Range<usize>, hits: &mut [Hits; SCAN]) -> usize {
        match self.levels[0].axes {
            2 => self.scan_along::<2>(rows, groups, hits),
            _ => self.scan_along::<3>(rows, groups, hits),
        }
    }
}

/// Runs tests with the groups of a level.
struct RunTests<'a, K, const AXES: usize>(
    &'a Groups<K>,
    &'a [[K; 2]],
    &'a [Test],
    &'a mut [u8; LIST],
);

impl<K: Key, const AXES: usize> WithTester for RunTests<'_, K, AXES> {
    #[inline(always)]
    fn run(self, tester: impl Tester) {
        let RunTests(level, rows, tests, hits) = self;
        let groups = level.intervals.as_chunks::<AXES>().0;
        let rows = rows.as_chunks::<AXES>().0;
        for (test, hits) in tests.iter().zip(hits) {
            let group = test.group();
            let overlapping = tester.overlapping(&groups[group], &rows[test.row()]);
            *hits = (overlapping & lanes(level.length, group)) as u8;
        }
    }
}

/// Tests rows with groups, and writes the groups with hits and their number.
struct Scan<'a, K, const AXES: usize> {
    /// The index of the first group.
    first: usize,
    groups: &'a [[Intervals<K>; AXES]],
    rows: [[[K; 2]; AXES]; ROWS],
    hits: &'a mut [Hits; SCAN],
    end: &'a mut usize,
}

impl<K: Key, const AXES: usize> WithTester for Scan<'_, K, AXES> {
    #[inline(always)]
    fn run(self, tester: impl Tester) {
        // In registers, not behind references.
        let (rows, mut end) = (self.rows, 0);
        for (i, group) in self.groups.iter().enumerate() {
            // A loop, since a test has to be inlined, and `map` of arrays is not always.
            let mut lanes = [0; ROWS];
            for (lanes, row) in lanes.iter_mut().zip(&rows) {
                *lanes = tester.overlapping(group, row);
            }
            if lanes != [0; ROWS] {
                let (group, lanes) = ((self.first + i) as u32, lanes.map(|lanes| lanes as u8));
                self.hits[end] = Hits { group, lanes };
                end += 1;
            }
        }
        *self.end = end;
    }
}
