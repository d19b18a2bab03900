//! Every pair is tested.

use super::finder::{Finder, Found, Wanted};
use super::group::{Group, LANES, Limits, lanes_below};
use super::lanes::{Lanes, Machine, Tester, WithTester};
use super::rows::collect;
use crate::Result;
use crate::box_overlap::input::Boxes;
use crate::device::reserve;

/// Rows that are tested with a group while it is in registers.
const ROWS: usize = 4;

/// Groups between which room is made for indices.
const STRETCH: usize = 1 << 10;

/// The second set in groups, in its own order.
pub(super) struct BruteForce<T, const AXES: usize> {
    groups: Vec<Group<T, AXES>>,
    length: usize,
    /// Whether pairs (i, j) count with j > i alone.
    is_self: bool,
}

impl<T: Lanes, const AXES: usize> BruteForce<T, AXES> {
    pub fn new(boxes: Boxes<'_, T>, is_self: bool) -> Result<Self> {
        let length = boxes.len();
        let group = |group: usize| {
            let start = group * LANES;
            Group::new(LANES.min(length - start), |lane| {
                Limits::of_row(boxes.row(start + lane))
            })
        };
        Ok(BruteForce {
            groups: collect(length.div_ceil(LANES), group)?,
            length,
            is_self,
        })
    }
}

impl<T: Lanes, const AXES: usize> Finder<T> for BruteForce<T, AXES> {
    fn find(&self, rows: Boxes<'_, T>, first: usize, wanted: Wanted) -> Result<Found> {
        let (machine, count) = (Machine::new(), rows.len());
        let mut found = Found::default();
        reserve(&mut found.counts, count)?;
        let mut indices: [Vec<u32>; ROWS] = Default::default();
        for start in (0..count).step_by(ROWS) {
            // Rows beyond the last repeat it, and are forgotten.
            let row = |i: usize| (start + i).min(count - 1);
            let limits: [_; ROWS] = std::array::from_fn(|i| Limits::of_row(rows.row(row(i))));
            let after = std::array::from_fn(|i| if self.is_self { first + row(i) + 1 } else { 0 });
            let mut counts = [0; ROWS];
            for groups in self.stretches(after[0] / LANES) {
                if wanted == Wanted::CountsAndIndices {
                    for indices in &mut indices {
                        reserve(indices, groups.len() * LANES)?;
                    }
                }
                let stretch = Stretch {
                    all: self,
                    groups,
                    limits: &limits,
                    after,
                    counts: &mut counts,
                };
                match wanted {
                    Wanted::Counts => machine.run(Count(stretch)),
                    Wanted::CountsAndIndices => machine.run(Store(stretch, &mut indices)),
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

impl<T: Lanes, const AXES: usize> BruteForce<T, AXES> {
    /// The groups from one on, some at a time.
    fn stretches(&self, first: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
        let end = self.groups.len();
        (first..end)
            .step_by(STRETCH)
            .map(move |start| start..end.min(start + STRETCH))
    }
}

/// Rows, and groups that they are tested with.
struct Stretch<'a, T, const AXES: usize> {
    all: &'a BruteForce<T, AXES>,
    groups: std::ops::Range<usize>,
    limits: &'a [Limits<T, AXES>; ROWS],
    /// The first box that counts for each row.
    after: [usize; ROWS],
    counts: &'a mut [u32; ROWS],
}

impl<T: Lanes, const AXES: usize> Stretch<'_, T, AXES> {
    /// Hands over each group with the lanes that overlap each row, where there are any.
    #[inline(always)]
    fn test(self, tester: impl Tester, mut hit: impl FnMut(usize, [u32; ROWS])) {
        let limits = *self.limits;
        // In registers, not behind a reference.
        let mut counts = *self.counts;
        for group in self.groups {
            let boxes = &self.all.groups[group];
            // A loop, since `map` of arrays is not always inlined, as a test must be.
            let mut lanes = [0; ROWS];
            for (lanes, limits) in lanes.iter_mut().zip(&limits) {
                *lanes = tester.overlapping(boxes, limits);
            }
            if lanes == [0; ROWS] {
                continue;
            }
            let valid = lanes_below(self.all.length, group);
            for i in 0..ROWS {
                let skipped = self.after[i].saturating_sub(group * LANES).min(LANES);
                lanes[i] &= valid & (u32::MAX << skipped);
                counts[i] += lanes[i].count_ones();
            }
            hit(group, lanes);
        }
        *self.counts = counts;
    }
}

struct Count<'a, T, const AXES: usize>(Stretch<'a, T, AXES>);

impl<T: Lanes, const AXES: usize> WithTester for Count<'_, T, AXES> {
    #[inline(always)]
    fn run(self, tester: impl Tester) {
        self.0.test(tester, |_, _| ());
    }
}

/// There must be room for the indices.
struct Store<'a, T, const AXES: usize>(Stretch<'a, T, AXES>, &'a mut [Vec<u32>; ROWS]);

impl<T: Lanes, const AXES: usize> WithTester for Store<'_, T, AXES> {
    #[inline(always)]
    fn run(self, tester: impl Tester) {
        self.0.test(tester, |group, lanes| {
            for (indices, mut lanes) in self.1.iter_mut().zip(lanes) {
                while lanes != 0 {
                    indices.push((group * LANES) as u32 + lanes.trailing_zeros());
                    lanes &= lanes - 1;
                }
            }
        });
    }
}
