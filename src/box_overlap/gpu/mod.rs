//! The search on GPUs and in the simulator.
//!
//! It has two stages: first the number of pairs of each row is found, and by prefix sums where each row
//! begins, then the pairs are written, of all rows or of some.

mod brute;
mod counting;
mod indexed;
mod kernels;
mod tuning;
mod workspace;

use std::ops::Range;

use box_overlap_kernels as box_kernels;
use ndarray::{Ix1, Ix2};

use super::input::{DeviceProblem, Packed, Problem};
use super::options::Algorithm;
use super::output::{Overlaps, offsets_of};
use super::slices::Search;
use crate::device::{Buffer, DeviceArray, LaunchConfig};
use crate::{Device, Result};
use brute::Brute;
use counting::{Counted, Counting, MODULE, Rows};
use indexed::Indexed;
pub(super) use kernels::HasKernels;
pub(super) use workspace::bytes;

/// A search whose rows are counted, and what the algorithm needs to write their pairs.
struct Searched<T> {
    counted: Counted<T>,
    strategy: Strategy,
}

enum Strategy {
    /// There are no pairs, since one of the sets is empty.
    Empty,
    Brute(Box<Brute>),
    Indexed(Box<Indexed>),
}

/// Counts the pairs of each row.
///
/// # Safety
/// The boxes must stay on the device while the result is used.
unsafe fn count<T: HasKernels>(
    problem: &DeviceProblem<T>,
    counts: &mut Buffer<u32>,
) -> Result<Searched<T>> {
    let rows2 = problem.any_set2().shape()[0];
    let tests_all =
        tuning::tests_every_pair(problem.algorithm, problem.rows1() as u32, rows2 as u32);
    // SAFETY: passed on to the caller.
    unsafe { count_by(problem, tests_all, counts) }
}

/// Counts the pairs of each row by testing all, or by the index, from which `Auto` may still turn away.
///
/// # Safety
/// As of [`count`].
unsafe fn count_by<T: HasKernels>(
    problem: &DeviceProblem<T>,
    tests_all: bool,
    counts: &mut Buffer<u32>,
) -> Result<Searched<T>> {
    let mut search = Counting::new(problem)?;
    let sets = search.sets;
    let (strategy, rows) = if sets.rows1 == 0 || sets.rows2 == 0 {
        search.read()?;
        counts.fill_zero()?;
        let offsets = search.device.zeros(sets.rows1 as usize + 1)?;
        (Strategy::Empty, Rows { offsets, pairs: 0 })
    } else {
        let indexed = match tests_all {
            true => None,
            false => Indexed::count(&mut search, counts)?,
        };
        match indexed {
            Some((indexed, rows)) => (Strategy::Indexed(Box::new(indexed)), rows),
            None => {
                let (brute, rows) = Brute::count(&mut search, counts)?;
                (Strategy::Brute(Box::new(brute)), rows)
            }
        }
    };
    let counted = search.counted(rows);
    Ok(Searched { counted, strategy })
}

impl<T: HasKernels> Searched<T> {
    /// Returns the indices of the pairs of these rows, `pairs` in number.
    fn fill(&self, counts: &Buffer<u32>, rows: Range<u32>, pairs: usize) -> Result<Buffer<u32>> {
        let counted = &self.counted;
        let mut indices = counted.device.alloc(pairs)?;
        if pairs > 0 {
            match &self.strategy {
                Strategy::Empty => {}
                Strategy::Brute(brute) => brute.fill(counted, rows, &mut indices)?,
                Strategy::Indexed(indexed) => indexed.fill(counted, counts, rows, &mut indices)?,
            }
        }
        Ok(indices)
    }
}

/// A search over boxes of the host.
pub(super) struct GpuSearch<T: HasKernels> {
    operation: &'static str,
    algorithm: Algorithm,
    set1: DeviceArray<T, Ix2>,
    set2: Option<DeviceArray<T, Ix2>>,
    /// The search, and the number of each row's pairs.
    counted: Option<(Searched<T>, Buffer<u32>)>,
    /// Where each row begins, on the host, if that has been asked for.
    offsets: Option<Vec<usize>>,
}

impl<T: HasKernels> GpuSearch<T> {
    /// Copies the boxes to the device.
    pub fn new(device: &Device, problem: &Problem<T>) -> Result<Self> {
        let upload = |set: &Packed<T>| {
            let boxes = set.boxes();
            let buffer = device.buffer_from(boxes.numbers)?;
            DeviceArray::from_buffer(buffer, Ix2(boxes.len(), 2 * boxes.axes))
        };
        Ok(GpuSearch {
            operation: problem.operation,
            algorithm: problem.algorithm,
            set1: upload(&problem.set1)?,
            set2: problem.set2.as_ref().map(upload).transpose()?,
            counted: None,
            offsets: None,
        })
    }

    fn counted(&mut self) -> Result<&(Searched<T>, Buffer<u32>)> {
        if self.counted.is_none() {
            let problem = DeviceProblem {
                operation: self.operation,
                algorithm: self.algorithm,
                set1: &self.set1,
                set2: self.set2.as_ref(),
            };
            let mut counts = problem.device().alloc(problem.rows1())?;
            // SAFETY: the boxes are freed with `self`, the result before them or at the same time.
            let searched = unsafe { count(&problem, &mut counts)? };
            self.counted = Some((searched, counts));
        }
        Ok(self.counted.as_ref().expect("just counted"))
    }
}

impl<T: HasKernels> Search for GpuSearch<T> {
    fn counts(&mut self, counts: &mut [u32]) -> Result<()> {
        self.counted()?.1.copy_to(counts)
    }

    fn overlaps(&mut self, rows: Range<usize>) -> Result<Overlaps> {
        if self.offsets.is_none() {
            self.offsets = Some(offsets_of(&self.counted()?.0.counted.rows.offsets)?);
        }
        let all = self.offsets.as_ref().expect("just read");
        let first = all[rows.start];
        let offsets: Vec<usize> = match rows.start == 0 && rows.end == all.len() - 1 {
            true => self.offsets.take().expect("just read"),
            false => all[rows.start..=rows.end]
                .iter()
                .map(|offset| offset - first)
                .collect(),
        };
        let pairs = offsets[offsets.len() - 1];
        let rows = rows.start as u32..rows.end as u32;
        let (searched, counts) = self.counted()?;
        let indices = searched.fill(counts, rows, pairs)?.to_vec()?;
        Ok(Overlaps::new(offsets, indices))
    }

    fn prepare(&mut self) -> Result<()> {
        self.counted().map(|_| ())
    }
}

/// Finds all pairs of boxes in a device's memory: where each row begins, and the indices. The number of each row's pairs
/// goes to `counts`.
pub(super) fn overlaps<T: HasKernels>(
    problem: &DeviceProblem<T>,
    counts: &mut Buffer<u32>,
) -> Result<(Buffer<u64>, Buffer<u32>)> {
    // SAFETY: the arrays are borrowed until the pairs are on their way, and freeing waits for that.
    let searched = unsafe { count(problem, counts)? };
    let (all, pairs) = (searched.counted.sets.rows1, searched.counted.rows.pairs);
    let indices = searched.fill(counts, 0..all, pairs as usize)?;
    Ok((searched.counted.rows.offsets, indices))
}

/// Counts the pairs of each row of boxes in a device's memory.
pub(super) fn counts<T: HasKernels>(
    problem: &DeviceProblem<T>,
    counts: &mut Buffer<u32>,
) -> Result<()> {
    // SAFETY: the arrays are borrowed until the result is dropped.
    unsafe { count(problem, counts) }.map(|_| ())
}

/// The pairs of compressed rows.
pub(super) fn pair_list(
    offsets: &DeviceArray<u64, Ix1>,
    indices: &DeviceArray<u32, Ix1>,
) -> Result<Buffer<u32>> {
    let device = indices.device();
    let mut pairs = device.alloc(2 * indices.len())?;
    if !pairs.is_empty() {
        let config = LaunchConfig::new(tuning::striding_blocks(indices.len()), tuning::THREADS);
        let arguments = (
            offsets.buffer().slice(),
            indices.buffer().slice(),
            pairs.slice_mut(),
        );
        // SAFETY: two elements for each index, and offsets that belong to them; buffers are of this device
        // and freed after the kernel has run.
        unsafe { device.launch(MODULE, &box_kernels::pair_list, config, arguments)? };
    }
    Ok(pairs)
}

/// The matrix of compressed rows, with so many columns and elements.
pub(super) fn matrix(
    offsets: &DeviceArray<u64, Ix1>,
    indices: &DeviceArray<u32, Ix1>,
    limit: u32,
    size: usize,
) -> Result<Buffer<i32>> {
    let device = indices.device();
    let mut matrix = device.alloc(size)?;
    if size > 0 {
        let config = LaunchConfig::new(tuning::striding_blocks(size), tuning::THREADS);
        let arguments = (
            limit,
            offsets.buffer().slice(),
            indices.buffer().slice(),
            matrix.slice_mut(),
        );
        // SAFETY: `limit` elements for each row; otherwise as above.
        unsafe { device.launch(MODULE, &box_kernels::matrix, config, arguments)? };
    }
    Ok(matrix)
}

#[cfg(all(test, feature = "simulator"))]
mod tests {
    use ndarray::Array2;

    use super::*;

    /// The algorithm that `Auto` ends with once it has tried the index, and the number of pairs.
    fn chosen(set1: &Array2<f32>, set2: &Array2<f32>) -> (Algorithm, u64) {
        let device = Device::simulator().unwrap();
        let [set1, set2] = [set1, set2].map(|set| device.upload(set).unwrap());
        let problem = DeviceProblem::new("test", Algorithm::Auto, &set1, Some(&set2)).unwrap();
        let mut counts = device.alloc(set1.shape()[0]).unwrap();
        // SAFETY: the boxes outlive the result.
        let searched = unsafe { count_by(&problem, false, &mut counts).unwrap() };
        let algorithm = match searched.strategy {
            Strategy::Brute(_) => Algorithm::BruteForce,
            Strategy::Indexed(_) => Algorithm::Indexed,
            Strategy::Empty => panic!("there are boxes"),
        };
        (algorithm, searched.counted.rows.pairs)
    }

    fn equal(rows: usize) -> Array2<f32> {
        vec![[1.0, 1.0, 1.0, 2.0, 2.0, 2.0]; rows].into()
    }

    /// Boxes as long as `extents` whose centres have no pattern in the unit cube.
    fn scattered(rows: usize, extents: impl Fn(usize) -> [f32; 3]) -> Array2<f32> {
        let mut state = 1u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / (1u64 << 24) as f32
        };
        let row = |row| {
            let (centre, extents) = ([next(), next(), next()], extents(row));
            std::array::from_fn::<f32, 6, _>(|i| {
                centre[i % 3] + extents[i % 3] * if i < 3 { -0.5 } else { 0.5 }
            })
        };
        (0..rows).map(row).collect::<Vec<_>>().into()
    }

    #[test]
    fn auto_tests_every_pair_of_equal_boxes() {
        // So many that a sample is taken.
        assert!(tuning::sample_stride(3000, 3000).is_some());
        let all = equal(3000);
        let expected = (Algorithm::BruteForce, 9_000_000);
        assert_eq!(chosen(&all, &all), expected);
        // And so few that all pairs are counted.
        assert!(tuning::sample_stride(1000, 500).is_none());
        let expected = (Algorithm::BruteForce, 500_000);
        assert_eq!(chosen(&equal(500), &equal(1000)), expected);
    }

    #[test]
    fn auto_stays_with_the_index_for_boxes_far_apart() {
        let cubes = scattered(3000, |_| [0.05; 3]);
        let (algorithm, pairs) = chosen(&cubes, &cubes);
        assert_eq!(algorithm, Algorithm::Indexed);
        assert!(pairs < 30_000, "{pairs}");
    }

    #[test]
    fn auto_stays_with_the_index_for_a_few_giants() {
        let mut cubes = scattered(3000, |_| [0.05; 3]);
        for giant in 0..10 {
            cubes
                .row_mut(300 * giant)
                .assign(&ndarray::arr1(&[0.0, 0.0, 0.0, 0.5, 0.5, 0.5]));
        }
        assert_eq!(chosen(&cubes, &cubes).0, Algorithm::Indexed);
    }

    #[test]
    fn auto_tests_every_pair_where_all_ways_are_long() {
        // Sticks through everything, of which few meet, although the bounding boxes of neighbours overlap most of them.
        let sticks = scattered(5000, |row| {
            std::array::from_fn(|axis| if axis == row % 3 { 2.0 } else { 1e-4 })
        });
        let (algorithm, pairs) = chosen(&sticks, &sticks);
        assert_eq!(algorithm, Algorithm::BruteForce);
        assert!(pairs < 50_000, "{pairs}");
    }
}
