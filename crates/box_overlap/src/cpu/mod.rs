//! The search on all cores of the CPU.

mod brute_force;
mod choice;
mod collect;
mod curve;
mod finder;
mod lanes;
mod probe;
mod tree;
mod walk;

use std::ops::Range;

use super::input::{Packed, Problem};
use super::options::Algorithm;
use super::output::Overlaps;
use super::slices::Search;
use brute_force::BruteForce;
use finder::{Finder, Pairs, Wanted, joined};
use gridstride_runtime::{Result, parallel};
use lanes::Groups;
pub(super) use lanes::HasKey;
use probe::{Keys, Probe};
use walk::Indexed;

/// The most rows of a chunk, which one thread searches for.
const CHUNK: usize = 512;

/// The least chunks per thread, if there are enough rows: some rows have many more pairs than
/// others.
const CHUNKS_PER_THREAD: usize = 8;

/// A search in a second set that has been prepared.
pub(super) struct CpuSearch<'a, T: HasKey> {
    set1: Packed<'a, T>,
    /// The number of boxes of the second set.
    length: usize,
    /// The second set in groups, and bounding boxes of the groups.
    levels: Vec<Groups<T::Key>>,
    finder: Box<dyn Finder>,
}

impl<'a, T: HasKey> CpuSearch<'a, T> {
    /// Checks the boxes, and prepares the second set.
    pub fn new(problem: Problem<'a, T>) -> Result<Self> {
        problem.check()?;
        let (set2, is_self) = (problem.any_set2().boxes(), problem.set2.is_none());
        let length = set2.len();
        let algorithm = choice::choose::<T>(problem.algorithm, problem.rows1(), length);
        let (levels, finder): (_, Box<dyn Finder>) = match algorithm {
            Algorithm::BruteForce => {
                let levels = vec![Groups::of_boxes(set2, None)?];
                (levels, Box::new(BruteForce { length, is_self }))
            }
            _ => {
                let ids = curve::order(set2)?;
                let levels = tree::levels(set2, &ids)?;
                let indexed = Indexed {
                    ids,
                    levels: levels.len(),
                    is_self,
                };
                (levels, Box::new(indexed))
            }
        };
        Ok(CpuSearch {
            length,
            levels,
            finder,
            set1: problem.set1,
        })
    }

    fn find(&self, rows: Range<usize>, wanted: Wanted) -> Result<Vec<Pairs>> {
        let probe = |rows: Range<usize>| {
            let keys = Keys::new(&self.levels, self.set1.boxes().rows(rows))?;
            Ok(Box::new(keys) as Box<dyn Probe>)
        };
        find(&*self.finder, &probe, rows, self.length, wanted)
    }
}

/// Makes a probe for rows of the first set.
type MakeProbe<'a> = &'a (dyn Fn(Range<usize>) -> Result<Box<dyn Probe + 'a>> + Sync);

/// Finds the pairs of these rows of the first set, chunk by chunk. `length` is the number of boxes
/// of the second set.
fn find(
    finder: &dyn Finder,
    probe: MakeProbe,
    rows: Range<usize>,
    length: usize,
    wanted: Wanted,
) -> Result<Vec<Pairs>> {
    let chunk = rows.len() / (rayon::current_num_threads() * CHUNKS_PER_THREAD);
    let chunk = chunk.clamp(1, CHUNK);
    parallel::try_map(rows.clone().step_by(chunk), |start| {
        let rows = start..rows.end.min(start + chunk);
        let mut pairs = finder.find(&*probe(rows.clone())?, rows, wanted)?;
        if wanted == Wanted::CountsAndIndices {
            pairs.sort_rows(length)?;
        }
        Ok(pairs)
    })
}

impl<T: HasKey> Search for CpuSearch<'_, T> {
    fn counts(&mut self, mut counts: &mut [u32]) -> Result<()> {
        for pairs in self.find(0..counts.len(), Wanted::Counts)? {
            let places = counts.split_off_mut(..pairs.counts.len());
            let places = places.expect("a place for each row");
            places.copy_from_slice(&pairs.counts);
        }
        Ok(())
    }

    fn overlaps(&mut self, rows: Range<usize>) -> Result<Overlaps> {
        joined(self.find(rows, Wanted::CountsAndIndices)?)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, ArrayView2};

    use crate::{Algorithm, BoxOverlap, Coordinate, reference};
    use gridstride_runtime::{Device, random};

    const ALGORITHMS: [Algorithm; 3] = [Algorithm::Auto, Algorithm::BruteForce, Algorithm::Indexed];

    fn check<T: Coordinate>(name: &str, set1: ArrayView2<T>, set2: ArrayView2<T>) {
        let cpu = Device::cpu();
        let expected = reference::overlaps(set1, set2).unwrap();
        let expected_self = reference::self_overlaps(set2).unwrap();
        for algorithm in ALGORITHMS {
            let search = BoxOverlap::new().algorithm(algorithm);
            let what = format!("{name}, {} × {}, {algorithm:?}", set1.nrows(), set2.nrows());
            let found = search.overlaps(&cpu, set1, set2).unwrap();
            assert_eq!(found, expected, "{what}");
            let counts = search.counts(&cpu, set1, set2).unwrap();
            assert_eq!(counts, expected.counts(), "{what}");
            let found = search.self_overlaps(&cpu, set2).unwrap();
            assert_eq!(found, expected_self, "{what}");
            let counts = search.self_counts(&cpu, set2).unwrap();
            assert_eq!(counts, expected_self.counts(), "{what}");
            for slice in search.slices(&cpu, set1, set2, 100).unwrap() {
                let slice = slice.unwrap();
                for (i, row) in slice.rows.enumerate() {
                    let (found, expected) = (slice.overlaps.row(i), expected.row(row));
                    assert_eq!(found, expected, "{what}, row {row}");
                }
            }
        }
    }

    /// Boxes whose limits are drawn by `number`.
    fn boxes<T: Coordinate>(rows: usize, axes: usize, mut number: impl FnMut() -> T) -> Array2<T> {
        let mut set = Array2::from_shape_simple_fn((rows, 2 * axes), &mut number);
        for mut row in set.rows_mut() {
            for axis in 0..axes {
                if row[axis] > row[axes + axis] {
                    row.swap(axis, axes + axis);
                }
            }
        }
        set
    }

    /// Numbers from 0 to `bound` − 1.
    fn random(bound: u64) -> impl FnMut() -> u64 {
        let mut next = random::random(1);
        move || (next() >> 33) % bound
    }

    fn check_all<T: Coordinate>(name: &str, mut number: impl FnMut() -> T) {
        for axes in [2, 3] {
            for (rows1, rows2) in [(0, 3), (3, 0), (1, 1), (5, 8), (70, 9), (130, 700)] {
                let set1 = boxes(rows1, axes, &mut number);
                let set2 = boxes(rows2, axes, &mut number);
                check(name, set1.view(), set2.view());
            }
        }
    }

    #[test]
    fn the_reference_for_limits_that_often_agree() {
        let mut next = random(12);
        check_all("f32", || next() as f32);
        check_all("f64", || next() as f64);
        check_all("i32", || next() as i32);
        let mut one = random(1);
        check_all("all equal", || one() as f32);
    }

    #[test]
    fn the_reference_for_extreme_limits() {
        let (infinity, max) = (f32::INFINITY, f32::MAX);
        let floats = [-infinity, -max, -1.0, -0.0, 0.0, 1e-45, 1.0, max, infinity];
        let mut next = random(floats.len() as u64);
        check_all("f32", || floats[next() as usize]);
        let (infinity, max, tenth) = (f64::INFINITY, f64::MAX, 0.1f64);
        let near = f64::from_bits(tenth.to_bits() + 1);
        let doubles = [
            -infinity, -max, -0.0, 0.0, 5e-324, tenth, near, 1e300, max, infinity,
        ];
        let mut next = random(doubles.len() as u64);
        check_all("f64", || doubles[next() as usize]);
        let (min, max) = (i32::MIN, i32::MAX);
        let integers = [min, min + 1, -1, 0, 1, 16_777_216, 16_777_217, max - 1, max];
        let mut next = random(integers.len() as u64);
        check_all("i32", || integers[next() as usize]);
    }

    /// Small boxes, sticks and giants, in clusters.
    #[test]
    fn the_reference_for_many_boxes() {
        let mut next = random(1 << 30);
        let mut set = |rows: usize| {
            let mut set = Array2::<f32>::zeros((rows, 6));
            for (i, mut row) in set.rows_mut().into_iter().enumerate() {
                let cluster = (next() % 3) as f32 * 1000.0;
                for axis in 0..3 {
                    let edge = match i % 500 {
                        0 => 800.0,
                        1..250 if axis == i % 3 => 8.0,
                        _ => 0.7,
                    };
                    row[axis] = cluster + (next() % 1000) as f32 / 60.0;
                    row[3 + axis] = row[axis] + edge;
                }
            }
            set
        };
        let (set1, set2) = (set(1500), set(2100));
        check("clusters", set1.view(), set2.view());
    }
}
