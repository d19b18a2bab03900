//! Searches on GPUs and in the simulator.
//!
//! The first stage counts the pairs of each row; prefix sums of the counts tell where each row
//! begins. The second stage writes the pairs of all rows or of some. Among few boxes one launch does
//! both.

mod brute;
mod chunks;
mod counting;
mod few;
mod indexed;
mod kernels;

use std::ops::Range;

use box_overlap_kernels as box_kernels;
use gridstride_runtime::device::{Buffer, DeviceArray, LaunchConfig, reserve};
use gridstride_runtime::offsets;
use gridstride_runtime::partition::{concat, halves, is_short_of_memory};
use gridstride_runtime::{Device, Result};
use ndarray::Ix2;

use super::device_output::DeviceOverlaps;
use super::input::{DeviceProblem, Packed, Problem};
use super::output::Overlaps;
use super::slices::Search;
use super::tuning;
use crate::MODULE;
use brute::Brute;
pub(super) use chunks::host_counts;
use counting::{Counted, Counting, Rows};
use few::Few;
use indexed::Indexed;
pub(super) use kernels::HasKernels;

/// A search whose rows are counted, and the data that the algorithm needs to write the pairs.
struct Searched<T> {
    counted: Counted<T>,
    strategy: Strategy,
}

enum Strategy {
    Few(Few),
    Many(Many),
}

/// Strategies that write the pairs of some rows.
enum Many {
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
    let sets = counting::sets(problem);
    if tuning::are_few(problem.algorithm, sets.rows1, sets.rows2) {
        let (few, counted) = Few::count(problem, sets, counts)?;
        let strategy = Strategy::Few(few);
        return Ok(Searched { counted, strategy });
    }
    let tests_all = tuning::tests_every_pair(problem.algorithm, sets.rows1, sets.rows2);
    // SAFETY: the boxes stay on the device while the result is used, by the contract of this
    // function, which is that of `count_by` too.
    unsafe { count_by(problem, tests_all, counts) }
}

/// Counts the pairs of each row by testing all pairs or by the index. `Auto` may still switch from
/// the index to testing all pairs.
///
/// # Safety
/// See [`count`].
unsafe fn count_by<T: HasKernels>(
    problem: &DeviceProblem<T>,
    tests_all: bool,
    counts: &mut Buffer<u32>,
) -> Result<Searched<T>> {
    let mut search = Counting::new(problem)?;
    let sets = search.sets;
    let (many, rows) = if sets.rows1 == 0 || sets.rows2 == 0 {
        search.read()?;
        counts.fill_zero()?;
        let offsets = search.device.zeros(sets.rows1 as usize + 1)?;
        (Many::Empty, Rows { offsets, pairs: 0 })
    } else {
        let indexed = match tests_all {
            true => None,
            false => Indexed::count(&mut search, counts)?,
        };
        match indexed {
            Some((indexed, rows)) => (Many::Indexed(Box::new(indexed)), rows),
            None => {
                let (brute, rows) = Brute::count(&mut search, counts)?;
                (Many::Brute(Box::new(brute)), rows)
            }
        }
    };
    let counted = Counted {
        device: search.device.clone(),
        sets,
        counters: search.counters,
        rows,
    };
    let strategy = Strategy::Many(many);
    Ok(Searched { counted, strategy })
}

impl<T: HasKernels> Searched<T> {
    /// Returns where each row begins, and the indices of all pairs.
    fn all(mut self, counts: &Buffer<u32>) -> Result<(Buffer<u64>, Buffer<u32>)> {
        let (rows, pairs) = (self.counted.sets.rows1, self.counted.rows.pairs);
        let indices = match self.strategy {
            Strategy::Few(few) => few.all(&mut self.counted)?,
            Strategy::Many(many) => many.fill(&self.counted, counts, 0..rows, pairs as usize)?,
        };
        Ok((self.counted.rows.offsets, indices))
    }

    /// Returns the indices of the pairs of these rows, the pairs from number `first` on.
    fn download(
        &mut self,
        counts: &Buffer<u32>,
        rows: Range<u32>,
        (first, pairs): (usize, usize),
    ) -> Result<Vec<u32>> {
        match &mut self.strategy {
            Strategy::Few(few) => few.download(&mut self.counted, first, pairs),
            Strategy::Many(many) => many.fill(&self.counted, counts, rows, pairs)?.to_vec(),
        }
    }
}

impl Many {
    /// Returns the indices of the pairs of these rows, `pairs` in number.
    fn fill<T: HasKernels>(
        &self,
        counted: &Counted<T>,
        counts: &Buffer<u32>,
        rows: Range<u32>,
        pairs: usize,
    ) -> Result<Buffer<u32>> {
        let mut indices = counted.device.alloc(pairs)?;
        if pairs > 0 {
            match self {
                Many::Empty => {}
                Many::Brute(brute) => brute.fill(counted, rows, &mut indices)?,
                Many::Indexed(indexed) => indexed.fill(counted, counts, rows, &mut indices)?,
            }
        }
        Ok(indices)
    }
}

/// A search over boxes of the host.
pub(super) struct GpuSearch<T: HasKernels> {
    searched: Searched<T>,
    /// The number of each row's pairs.
    counts: Buffer<u32>,
    /// Where each row begins, on the host, once requested.
    offsets: Option<Vec<usize>>,
    /// The boxes, to which `searched` has pointers for kernels that it may still launch.
    _sets: (DeviceArray<T, Ix2>, Option<DeviceArray<T, Ix2>>),
}

impl<T: HasKernels> GpuSearch<T> {
    /// Copies the boxes to the device, and counts the pairs.
    pub fn new(device: &Device, problem: &Problem<T>) -> Result<Self> {
        let allocate = |set: &Packed<T>| {
            let boxes = set.boxes();
            let buffer = device.alloc(boxes.numbers.len())?;
            DeviceArray::from_buffer(buffer, Ix2(boxes.len(), 2 * boxes.axes))
        };
        // Both before the copies, since there may be no memory for the second.
        let mut set1 = allocate(&problem.set1)?;
        let mut set2 = problem.set2.as_ref().map(allocate).transpose()?;
        set1.inner_mut().copy_from(problem.set1.boxes().numbers)?;
        if let (Some(to), Some(set2)) = (&mut set2, &problem.set2) {
            to.inner_mut().copy_from(set2.boxes().numbers)?;
        }
        let uploaded = DeviceProblem {
            operation: problem.operation,
            algorithm: problem.algorithm,
            set1: &set1,
            set2: set2.as_ref(),
        };
        let mut counts = device.alloc(uploaded.rows1())?;
        // SAFETY: the result is kept beside the boxes. Their memory stays where it is when they are
        // moved, and dropping them frees it after the kernels that have been launched.
        let searched = unsafe { count(&uploaded, &mut counts)? };
        Ok(GpuSearch {
            searched,
            counts,
            offsets: None,
            _sets: (set1, set2),
        })
    }
}

impl<T: HasKernels> GpuSearch<T> {
    /// Appends the indices of the pairs of these rows, in the halves of the rows if the device has no
    /// room for all of them.
    fn fetch(
        &mut self,
        offsets: &[usize],
        rows: Range<usize>,
        fetched: &mut Vec<Vec<u32>>,
    ) -> Result<()> {
        let (first, end) = (offsets[rows.start], offsets[rows.end]);
        let range = rows.start as u32..rows.end as u32;
        match (self.searched).download(&self.counts, range, (first, end - first)) {
            Ok(indices) => fetched.push(indices),
            Err(error)
                if rows.len() > 1 && is_short_of_memory(&self.searched.counted.device, &error) =>
            {
                for half in halves(&rows) {
                    self.fetch(offsets, half, fetched)?;
                }
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

impl<T: HasKernels> Search for GpuSearch<T> {
    fn counts(&mut self, counts: &mut [u32]) -> Result<()> {
        self.counts.copy_to(counts)
    }

    fn overlaps(&mut self, rows: Range<usize>) -> Result<Overlaps> {
        let all = match self.offsets.take() {
            Some(offsets) => offsets,
            None => offsets::download(&self.searched.counted.rows.offsets)?,
        };
        let mut fetched = Vec::new();
        self.fetch(&all, rows.clone(), &mut fetched)?;
        let indices = match &mut fetched[..] {
            [indices] => std::mem::take(indices),
            _ => concat::concatenated(fetched.iter().map(Vec::as_slice))?,
        };
        if rows.len() + 1 == all.len() {
            return Ok(Overlaps::new(all, indices));
        }
        let mut own = Vec::new();
        reserve(&mut own, rows.len() + 1)?;
        let first = all[rows.start];
        own.extend(
            all[rows.start..=rows.end]
                .iter()
                .map(|offset| offset - first),
        );
        self.offsets = Some(all);
        Ok(Overlaps::new(own, indices))
    }
}

/// Finds the pairs of boxes in a device's memory, and writes the number of each row's pairs to
/// `counts`.
pub(super) fn overlaps<T: HasKernels>(
    problem: &DeviceProblem<T>,
    counts: &mut Buffer<u32>,
) -> Result<DeviceOverlaps> {
    // SAFETY: the arrays are borrowed until the kernels are launched, and freeing waits for
    // kernels.
    let (offsets, indices) = unsafe { count(problem, counts)? }.all(counts)?;
    DeviceOverlaps::new(offsets, indices)
}

/// Counts the pairs of each row of boxes in a device's memory.
pub(super) fn counts<T: HasKernels>(
    problem: &DeviceProblem<T>,
    counts: &mut Buffer<u32>,
) -> Result<()> {
    // SAFETY: the arrays are borrowed until the result is dropped.
    unsafe { count(problem, counts) }.map(|_| ())
}

/// Returns the list of pairs of compressed rows.
pub(super) fn pair_list(found: &DeviceOverlaps) -> Result<DeviceArray<u32, Ix2>> {
    let (device, count) = (found.device(), found.pair_count());
    let mut pairs = device.alloc(2 * count)?;
    if count > 0 {
        let config = LaunchConfig::new(tuning::striding_blocks(count), tuning::THREADS);
        let (offsets, indices) = (
            found.offsets().buffer().slice(),
            found.indices().buffer().slice(),
        );
        let arguments = (offsets, indices, pairs.slice_mut());
        // SAFETY: `pairs` has two elements for each index, and the offsets belong to the indices.
        // The buffers are on this device and freed after the kernel has run.
        unsafe { device.launch(&MODULE, &box_kernels::pair_list, config, arguments)? };
    }
    DeviceArray::from_buffer(pairs, Ix2(count, 2))
}

/// Returns the matrix of compressed rows, with `limit` columns and `size` elements.
pub(super) fn matrix(
    found: &DeviceOverlaps,
    limit: usize,
    size: usize,
) -> Result<DeviceArray<i32, Ix2>> {
    let device = found.device();
    let mut matrix = device.alloc(size)?;
    if size > 0 {
        let config = LaunchConfig::new(tuning::striding_blocks(size), tuning::THREADS);
        let (offsets, indices) = (
            found.offsets().buffer().slice(),
            found.indices().buffer().slice(),
        );
        let arguments = (limit as u32, offsets, indices, matrix.slice_mut());
        // SAFETY: `matrix` has `limit` elements for each row; and the offsets belong to the
        // indices. The buffers are on this device and freed after the kernel has run.
        unsafe { device.launch(&MODULE, &box_kernels::matrix, config, arguments)? };
    }
    DeviceArray::from_buffer(matrix, Ix2(found.len(), limit))
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::options::{Algorithm, BoxOverlap};
    use gridstride_runtime::device::device_for_tests;
    use gridstride_runtime::random::random;

    /// Returns the algorithm that `Auto` ends with after trying the index, and the number of pairs.
    fn chosen(set1: &Array2<f32>, set2: &Array2<f32>) -> (Algorithm, u64) {
        let device = device_for_tests();
        let [set1, set2] = [set1, set2].map(|set| device.upload(set).unwrap());
        let problem = DeviceProblem::new("test", Algorithm::Auto, &set1, Some(&set2)).unwrap();
        let mut counts = device.alloc(set1.shape()[0]).unwrap();
        // SAFETY: the boxes outlive the result.
        let searched = unsafe { count_by(&problem, false, &mut counts).unwrap() };
        let algorithm = match searched.strategy {
            Strategy::Many(Many::Brute(_)) => Algorithm::BruteForce,
            Strategy::Many(Many::Indexed(_)) => Algorithm::Indexed,
            _ => panic!("there are boxes, and not few"),
        };
        (algorithm, searched.counted.rows.pairs)
    }

    fn equal(rows: usize) -> Array2<f32> {
        vec![[1.0, 1.0, 1.0, 2.0, 2.0, 2.0]; rows].into()
    }

    /// Returns boxes of these extents at random places in the unit cube.
    fn scattered(rows: usize, extents: impl Fn(usize) -> [f32; 3]) -> Array2<f32> {
        let mut bits = random(1);
        let mut next = || (bits() >> 40) as f32 / (1u64 << 24) as f32;
        let row = |row| {
            let (centre, extents) = ([next(), next(), next()], extents(row));
            let side = |i: usize| if i < 3 { -0.5 } else { 0.5 };
            std::array::from_fn::<f32, 6, _>(|i| centre[i % 3] + extents[i % 3] * side(i))
        };
        (0..rows).map(row).collect::<Vec<_>>().into()
    }

    #[test]
    fn sorts_with_fewer_passes_find_the_same_pairs() {
        let device = device_for_tests();
        let search = BoxOverlap::new().algorithm(Algorithm::Indexed);
        // Several tiles of the sort. Long boxes need few bits of a key, small ones all.
        for extent in [0.1, 0.03, 1e-6] {
            let [set1, set2] = [2500, 2000].map(|rows| scattered(rows, |_| [extent; 3]));
            let found = search.overlaps(&device, set1.view(), set2.view()).unwrap();
            let expected = search.overlaps(&Device::cpu(), set1.view(), set2.view());
            assert_eq!(found, expected.unwrap(), "{extent}");
        }
    }

    #[test]
    fn auto_tests_every_pair_of_equal_boxes() {
        // Enough rows for a sample.
        assert!(tuning::sample_stride(4000, 4000).is_some());
        let all = equal(4000);
        assert_eq!(chosen(&all, &all), (Algorithm::BruteForce, 16_000_000));
    }

    #[test]
    fn auto_stays_with_the_index_for_few_equal_boxes() {
        // So few rows that all pairs are counted, and so few tiles that testing them takes long.
        assert!(tuning::sample_stride(1000, 500).is_none());
        let indexed = (Algorithm::Indexed, 500_000);
        assert_eq!(chosen(&equal(500), &equal(1000)), indexed);
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
        let giant = ndarray::arr1(&[0.0, 0.0, 0.0, 0.5, 0.5, 0.5]);
        for row in 0..10 {
            cubes.row_mut(300 * row).assign(&giant);
        }
        assert_eq!(chosen(&cubes, &cubes).0, Algorithm::Indexed);
    }

    #[test]
    fn auto_tests_every_pair_where_all_paths_are_long() {
        // Sticks through the whole space, of which few meet, although the bounding boxes of
        // neighbours overlap most sticks.
        let sticks = scattered(5000, |row| {
            std::array::from_fn(|axis| if axis == row % 3 { 2.0 } else { 1e-4 })
        });
        let (algorithm, pairs) = chosen(&sticks, &sticks);
        assert_eq!(algorithm, Algorithm::BruteForce);
        assert!(pairs < 50_000, "{pairs}");
    }
}
