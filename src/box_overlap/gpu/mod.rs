//! The search on GPUs and in the simulator.
//!
//! It has two stages: first the number of pairs of each row is found, and by prefix sums where each row
//! begins, then the pairs are written, of all rows or of some.

mod brute;
mod indexed;
mod kernels;
mod tuning;

use std::ops::Range;

use box_overlap_kernels::{self as box_kernels, Counters, Sets};
use cuda_std::DeviceSliceMut;
use ndarray::{Ix1, Ix2};

use super::boxes::no_box;
use super::search::{Problem, Search};
use super::{Algorithm, Coordinate, DeviceOverlaps, Overlaps};
use crate::device::{Buffer, DeviceArray, DeviceView, LaunchConfig, Module};
use crate::{Device, Result, modules};
use brute::Brute;
use indexed::Indexed;
pub(super) use kernels::HasKernels;
use tuning::Work;

const MODULE: &Module = &modules::BOX_OVERLAP;

/// Both sets in the memory of a device, which is to outlive the search.
struct OnDevice<'a, T: Coordinate> {
    operation: &'static str,
    algorithm: Algorithm,
    device: Device,
    set1: &'a Buffer<T>,
    /// None for pairs (i, j), i < j, of the first set.
    set2: Option<&'a Buffer<T>>,
    axes: usize,
}

impl<T: Coordinate> OnDevice<'_, T> {
    fn sets(&self) -> Sets<T> {
        let rows = |set: &Buffer<T>| (set.len() / (2 * self.axes)) as u32;
        let set2 = self.set2.unwrap_or(self.set1);
        Sets {
            set1: self.set1.slice(),
            set2: set2.slice(),
            rows1: rows(self.set1),
            rows2: rows(set2),
            axes: self.axes as u32,
            above: u32::from(self.set2.is_none()),
        }
    }
}

/// A search whose rows are counted. The boxes must stay on the device while it is used.
struct Counted<T: Coordinate> {
    device: Device,
    sets: Sets<T>,
    /// Where each row's pairs begin, and where the last one's end.
    offsets: Buffer<u64>,
    counts: Buffer<u32>,
    /// Of all rows.
    pairs: u64,
    how: How,
}

enum How {
    /// There are no pairs, since one of the sets is empty.
    Empty,
    Brute(Box<Brute>),
    Indexed(Box<Indexed>),
}

/// What has been found out on the way, on the host.
struct Known(Vec<u64>);

impl Known {
    /// Waits for the kernels. Fails if a row is no box.
    fn read<T: Coordinate>(counters: &Buffer<u64>, boxes: &OnDevice<T>) -> Result<Known> {
        let known = Known(counters.to_vec()?);
        let sets = match boxes.set2 {
            None => [("set", Some(boxes.set1)), ("set", None)],
            Some(set2) => [("set1", Some(boxes.set1)), ("set2", Some(set2))],
        };
        for (number, (name, set)) in sets.into_iter().enumerate() {
            let fault = known.0[Counters::FAULTS + number];
            if let Some(set) = set.filter(|_| fault != Counters::NO_FAULT) {
                let (row, width) = (fault as usize, 2 * boxes.axes);
                let numbers = DeviceView::part(set, row * width, width)
                    .download()?
                    .to_vec();
                return Err(no_box(boxes.operation, name, row, &numbers));
            }
        }
        Ok(known)
    }

    fn pairs(&self) -> u64 {
        self.0[Counters::PAIRS]
    }

    fn left_pairs(&self) -> u64 {
        self.0[Counters::LEFT_PAIRS]
    }

    /// The work for a sample of the rows left to warps.
    fn sampled(&self) -> Work {
        Work {
            steps: self.0[Counters::SAMPLE_STEPS],
            pairs: self.0[Counters::SAMPLE_PAIRS],
        }
    }

    /// How many rows were left to warps.
    fn left(&self) -> u32 {
        self.0[Counters::LEFT] as u32
    }
}

/// The place of one counter, as a parameter of a kernel.
fn counter(counters: &mut Buffer<u64>, place: usize) -> DeviceSliceMut<u64> {
    let all = counters.slice_mut();
    // SAFETY: all counters are there; who launches a kernel with it vouches for its lifetime.
    unsafe { DeviceSliceMut::from_raw_parts(all.as_mut_ptr().wrapping_add(place), 1) }
}

/// Counts the pairs of each row.
///
/// # Safety
/// The boxes must stay on the device while the result is used.
unsafe fn count<T: Coordinate>(boxes: &OnDevice<T>) -> Result<Counted<T>> {
    let sets = boxes.sets();
    let is_small = tuning::prefers_brute_force(sets.rows1, sets.rows2);
    let tests_all = match boxes.algorithm {
        Algorithm::Auto => is_small,
        algorithm => algorithm == Algorithm::BruteForce,
    };
    // SAFETY: passed on to the caller.
    unsafe { count_by(boxes, tests_all) }
}

/// Counts the pairs of each row by testing all, or by the index, from which `Auto` may still turn away.
///
/// # Safety
/// As of [`count`].
unsafe fn count_by<T: Coordinate>(boxes: &OnDevice<T>, tests_all: bool) -> Result<Counted<T>> {
    let device = &boxes.device;
    let sets = boxes.sets();
    let rows1 = sets.rows1 as usize;
    let mut counters = device.alloc(Counters::COUNT)?;
    // SAFETY: the counters are all there, the sets as they say; buffers are of this device and freed after
    // the kernels have run.
    unsafe {
        let config = LaunchConfig::new(1, 32);
        let arguments = (sets.rows2, counters.slice_mut());
        device.launch(MODULE, &box_kernels::start, config, arguments)?;
        let config = LaunchConfig::new(tuning::examining_blocks(sets.rows()), tuning::THREADS);
        let arguments = (sets, counters.slice_mut());
        device.launch(MODULE, T::KERNELS.examine, config, arguments)?;
    }
    let read = |counters: &Buffer<u64>| Known::read(counters, boxes);
    if sets.rows1 == 0 || sets.rows2 == 0 {
        read(&counters)?;
        return Ok(Counted {
            device: device.clone(),
            sets,
            offsets: device.zeros(rows1 + 1)?,
            counts: device.zeros(rows1)?,
            pairs: 0,
            how: How::Empty,
        });
    }
    if tests_all {
        Brute::count(device, sets, counters, read)
    } else {
        Indexed::count(device, sets, counters, boxes.algorithm, read)
    }
}

impl<T: Coordinate> Counted<T> {
    /// The indices of the pairs of these rows, `pairs` in number.
    fn fill(&self, rows: Range<u32>, pairs: usize) -> Result<Buffer<u32>> {
        let mut indices = self.device.alloc(pairs)?;
        if pairs > 0 {
            match &self.how {
                How::Empty => {}
                How::Brute(brute) => brute.fill(self, rows, &mut indices)?,
                How::Indexed(indexed) => indexed.fill(self, rows, &mut indices)?,
            }
        }
        Ok(indices)
    }

    /// All pairs, left on the device.
    pub fn into_overlaps(self) -> Result<DeviceOverlaps> {
        let indices = self.fill(0..self.sets.rows1, self.pairs as usize)?;
        DeviceOverlaps::new(self.offsets, indices)
    }
}

/// A search over boxes of the host.
pub(super) struct GpuSearch<T: Coordinate> {
    operation: &'static str,
    algorithm: Algorithm,
    device: Device,
    set1: Buffer<T>,
    set2: Option<Buffer<T>>,
    axes: usize,
    counted: Option<Counted<T>>,
    /// Where each row begins, on the host, if that has been asked for.
    offsets: Option<Vec<u64>>,
}

impl<T: Coordinate> GpuSearch<T> {
    /// Copies the boxes to the device.
    pub fn new(device: &Device, problem: &Problem<'_, T>) -> Result<Self> {
        let (boxes1, set2) = (problem.set1.boxes(), problem.set2.as_ref());
        let upload = |numbers: &[T]| device.buffer_from(numbers);
        Ok(GpuSearch {
            operation: problem.operation,
            algorithm: problem.algorithm,
            device: device.clone(),
            set1: upload(boxes1.numbers)?,
            set2: set2.map(|set2| upload(set2.boxes().numbers)).transpose()?,
            axes: boxes1.axes,
            counted: None,
            offsets: None,
        })
    }

    fn counted(&mut self) -> Result<&Counted<T>> {
        if self.counted.is_none() {
            let boxes = OnDevice {
                operation: self.operation,
                algorithm: self.algorithm,
                device: self.device.clone(),
                set1: &self.set1,
                set2: self.set2.as_ref(),
                axes: self.axes,
            };
            // SAFETY: the boxes are freed with `self`, the result before them or at the same time.
            self.counted = Some(unsafe { count(&boxes)? });
        }
        Ok(self.counted.as_ref().expect("just counted"))
    }
}

impl<T: Coordinate> Search for GpuSearch<T> {
    fn counts(&mut self) -> Result<Vec<u32>> {
        self.counted()?.counts.to_vec()
    }

    fn overlaps(&mut self, rows: Range<usize>) -> Result<Overlaps> {
        if self.offsets.is_none() {
            self.offsets = Some(self.counted()?.offsets.to_vec()?);
        }
        let all = self.offsets.as_ref().expect("just read");
        let first = all[rows.start];
        let offsets: Vec<u64> = match rows.start == 0 && rows.end == all.len() - 1 {
            true => self.offsets.take().expect("just read"),
            false => all[rows.start..=rows.end]
                .iter()
                .map(|offset| offset - first)
                .collect(),
        };
        let pairs = offsets[offsets.len() - 1] as usize;
        let rows = rows.start as u32..rows.end as u32;
        let indices = self.counted()?.fill(rows, pairs)?.to_vec()?;
        Ok(Overlaps::new(offsets, indices))
    }
}

/// Bytes of a device's memory that a search takes besides the boxes and the pairs, about.
pub(super) fn bytes(algorithm: Algorithm, rows1: usize, rows2: usize) -> u64 {
    let rows = (rows1 as u32, rows2 as u32);
    match algorithm {
        Algorithm::BruteForce => tuning::brute_bytes(rows),
        Algorithm::Auto if tuning::prefers_brute_force(rows.0, rows.1) => tuning::brute_bytes(rows),
        _ => tuning::index_bytes(rows),
    }
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

/// All pairs of boxes in a device's memory.
pub(super) fn overlaps<T: Coordinate>(
    operation: &'static str,
    algorithm: Algorithm,
    set1: &DeviceArray<T, Ix2>,
    set2: Option<&DeviceArray<T, Ix2>>,
) -> Result<DeviceOverlaps> {
    let boxes = OnDevice {
        operation,
        algorithm,
        device: set1.device().clone(),
        set1: set1.buffer(),
        set2: set2.map(DeviceArray::buffer),
        axes: set1.shape()[1] / 2,
    };
    // SAFETY: the arrays are borrowed until the pairs are on their way, and freeing waits for that.
    unsafe { count(&boxes)?.into_overlaps() }
}

#[cfg(all(test, feature = "simulator"))]
mod tests {
    use ndarray::Array2;

    use super::*;

    /// The algorithm that `Auto` ends with once it has tried the index, and the number of pairs.
    fn chosen(set1: &Array2<f32>, set2: &Array2<f32>) -> (Algorithm, u64) {
        let device = Device::simulator().unwrap();
        let [set1, set2] = [set1, set2].map(|set| device.upload(set).unwrap().into_buffer());
        let boxes = OnDevice {
            operation: "test",
            algorithm: Algorithm::Auto,
            device,
            set1: &set1,
            set2: Some(&set2),
            axes: 3,
        };
        // SAFETY: the boxes outlive the result.
        let counted = unsafe { count_by(&boxes, false).unwrap() };
        let algorithm = match counted.how {
            How::Brute(_) => Algorithm::BruteForce,
            How::Indexed(_) => Algorithm::Indexed,
            How::Empty => panic!("there are boxes"),
        };
        (algorithm, counted.pairs)
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
