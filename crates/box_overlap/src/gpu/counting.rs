//! The start of both algorithms, and the state between the stages that count and write pairs.

use box_overlap_kernels::{self as kernels, Counters, Sets};
use cuda_std::DeviceSliceMut;
use gridstride_runtime::device::{Buffer, DeviceView, LaunchConfig};
use gridstride_runtime::{Device, Result};

use super::kernels::HasKernels;
use crate::MODULE;
use crate::input::{DeviceProblem, no_box};
use crate::tuning::{self, Work};

/// A search whose boxes have been examined.
pub struct Counting<'a, T: HasKernels> {
    pub problem: &'a DeviceProblem<'a, T>,
    pub device: &'a Device,
    pub sets: Sets<T>,
    pub counters: Buffer<u64>,
}

/// The counted pairs of the rows of the first set.
pub struct Rows {
    /// Where each row's pairs begin, and where the last row's pairs end.
    pub offsets: Buffer<u64>,
    /// The number of pairs of all rows.
    pub pairs: u64,
}

/// A search whose rows are counted. The boxes must stay on the device while it is used.
pub struct Counted<T> {
    pub device: Device,
    pub sets: Sets<T>,
    pub counters: Buffer<u64>,
    pub rows: Rows,
}

// SAFETY: the sets are addresses in the device's memory, which only kernels access, whatever thread
// launches them. All other fields are `Send`.
unsafe impl<T: Send> Send for Counted<T> {}

/// Returns the sets as kernels take them.
pub fn sets<T: HasKernels>(problem: &DeviceProblem<T>) -> Sets<T> {
    let (set1, set2) = (problem.set1, problem.any_set2());
    Sets {
        set1: set1.buffer().slice(),
        set2: set2.buffer().slice(),
        rows1: set1.shape()[0] as u32,
        rows2: set2.shape()[0] as u32,
        axes: set1.shape()[1] as u32 / 2,
        above: u32::from(problem.set2.is_none()),
    }
}

/// Fails if a set has a row that is no box.
pub fn require_boxes<T: HasKernels>(
    problem: &DeviceProblem<T>,
    faults: [Option<usize>; 2],
) -> Result<()> {
    for ((name, set), fault) in problem.named_sets().zip(faults) {
        if let Some(row) = fault {
            let width = set.shape()[1];
            let numbers = DeviceView::part(set.buffer(), row * width, width).download()?;
            return Err(no_box(problem.operation, name, row, &numbers.to_vec()));
        }
    }
    Ok(())
}

impl<'a, T: HasKernels> Counting<'a, T> {
    /// Starts the examination of the boxes.
    pub fn new(problem: &'a DeviceProblem<'a, T>) -> Result<Self> {
        // SAFETY: all boxes of the problem.
        unsafe { Counting::of_sets(problem, sets(problem)) }
    }

    /// Starts the examination of some boxes of a problem.
    ///
    /// # Safety
    /// The sets are in the memory of the problem's arrays.
    pub unsafe fn of_sets(problem: &'a DeviceProblem<'a, T>, sets: Sets<T>) -> Result<Self> {
        let device = problem.device();
        let mut counters = device.alloc(Counters::COUNT)?;
        // SAFETY: `counters` has an element for each counter. By the contract of this function, the
        // sets are in the memory of the problem's arrays.
        // The buffers are on this device and freed after the kernels have run.
        unsafe {
            let config = LaunchConfig::new(1, 32);
            let arguments = (sets.rows2, counters.slice_mut());
            device.launch(&MODULE, &kernels::start, config, arguments)?;
            let config = LaunchConfig::new(tuning::examining_blocks(sets.rows()), tuning::THREADS);
            let arguments = (sets, counters.slice_mut());
            device.launch(&MODULE, T::KERNELS.examine, config, arguments)?;
        }
        Ok(Counting {
            problem,
            device,
            sets,
            counters,
        })
    }

    /// Waits for the kernels and reads the counters. Fails if a row is no box.
    pub fn read(&self) -> Result<CounterSnapshot> {
        let counters = self.counters.to_vec()?;
        let fault = |set: usize| {
            let row = counters[Counters::FAULTS + set];
            (row != Counters::NO_FAULT).then_some(row as usize)
        };
        require_boxes(self.problem, [0, 1].map(fault))?;
        Ok(CounterSnapshot {
            pairs: counters[Counters::PAIRS],
            left: counters[Counters::LEFT] as u32,
            left_pairs: counters[Counters::LEFT_PAIRS],
            sampled: Work {
                steps: counters[Counters::SAMPLE_STEPS],
                pairs: counters[Counters::SAMPLE_PAIRS],
            },
        })
    }

    /// Returns the place of one counter, as a parameter of a kernel.
    pub fn counter(&mut self, place: usize) -> DeviceSliceMut<u64> {
        let all = self.counters.slice_mut();
        // SAFETY: all counters are allocated. Kernels that use the slice are launched with
        // `unsafe`.
        unsafe { DeviceSliceMut::from_raw_parts(all.as_mut_ptr().wrapping_add(place), 1) }
    }
}

/// A copy of the counters on the host.
pub struct CounterSnapshot {
    /// The number of pairs of all rows.
    pub pairs: u64,
    /// The number of rows left to warps.
    pub left: u32,
    /// The number of pairs of the rows left to warps.
    pub left_pairs: u64,
    /// The work for a sample of the rows left to warps.
    pub sampled: Work,
}
