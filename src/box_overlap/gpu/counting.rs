//! What both algorithms begin with, and what counting leaves for the stage that writes pairs.

use box_overlap_kernels::{self as kernels, Counters, Sets};
use cuda_std::DeviceSliceMut;

use super::kernels::HasKernels;
use super::tuning::{self, Work};
use crate::box_overlap::input::{DeviceProblem, named, no_box};
use crate::device::{Buffer, DeviceView, LaunchConfig, Module};
use crate::{Device, Result, modules};

pub const MODULE: &Module = &modules::BOX_OVERLAP;

/// A search whose boxes have been examined.
pub struct Counting<'a, T: HasKernels> {
    pub problem: &'a DeviceProblem<'a, T>,
    pub device: &'a Device,
    pub sets: Sets<T>,
    pub counters: Buffer<u64>,
}

/// The rows of the first set, whose pairs are counted.
pub struct Rows {
    /// Where each row's pairs begin, and where those of the last row end.
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

impl<'a, T: HasKernels> Counting<'a, T> {
    /// Starts to examine the boxes.
    pub fn new(problem: &'a DeviceProblem<'a, T>) -> Result<Self> {
        let (device, set1, set2) = (problem.device(), problem.set1, problem.any_set2());
        let sets = Sets {
            set1: set1.buffer().slice(),
            set2: set2.buffer().slice(),
            rows1: set1.shape()[0] as u32,
            rows2: set2.shape()[0] as u32,
            axes: set1.shape()[1] as u32 / 2,
            above: u32::from(problem.set2.is_none()),
        };
        let mut counters = device.alloc(Counters::COUNT)?;
        // SAFETY: the counters are all there, the sets as they say; buffers are of this device and freed after
        // the kernels have run.
        unsafe {
            let config = LaunchConfig::new(1, 32);
            let arguments = (sets.rows2, counters.slice_mut());
            device.launch(MODULE, &kernels::start, config, arguments)?;
            let config = LaunchConfig::new(tuning::examining_blocks(sets.rows()), tuning::THREADS);
            let arguments = (sets, counters.slice_mut());
            device.launch(MODULE, T::KERNELS.examine, config, arguments)?;
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
        let sets = named(self.problem.set1, self.problem.set2);
        for (number, (name, set)) in sets.enumerate() {
            let fault = counters[Counters::FAULTS + number];
            if fault != Counters::NO_FAULT {
                let (row, width) = (fault as usize, set.shape()[1]);
                let numbers = DeviceView::part(set.buffer(), row * width, width).download()?;
                let numbers = numbers.to_vec();
                return Err(no_box(self.problem.operation, name, row, &numbers));
            }
        }
        Ok(CounterSnapshot(counters))
    }

    /// Returns the place of one counter, as a parameter of a kernel.
    pub fn counter(&mut self, place: usize) -> DeviceSliceMut<u64> {
        let all = self.counters.slice_mut();
        // SAFETY: all counters are there; who launches a kernel with it vouches for its lifetime.
        unsafe { DeviceSliceMut::from_raw_parts(all.as_mut_ptr().wrapping_add(place), 1) }
    }

    /// Ends the counting.
    pub fn counted(self, rows: Rows) -> Counted<T> {
        Counted {
            device: self.device.clone(),
            sets: self.sets,
            counters: self.counters,
            rows,
        }
    }
}

/// A copy of the counters on the host.
pub struct CounterSnapshot(Vec<u64>);

impl CounterSnapshot {
    pub fn pairs(&self) -> u64 {
        self.0[Counters::PAIRS]
    }

    pub fn left_pairs(&self) -> u64 {
        self.0[Counters::LEFT_PAIRS]
    }

    /// Returns the work for a sample of the rows left to warps.
    pub fn sampled(&self) -> Work {
        Work {
            steps: self.0[Counters::SAMPLE_STEPS],
            pairs: self.0[Counters::SAMPLE_PAIRS],
        }
    }

    /// Returns how many rows were left to warps.
    pub fn left(&self) -> u32 {
        self.0[Counters::LEFT] as u32
    }
}
