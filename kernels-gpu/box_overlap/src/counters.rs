//! Counters of all kernels in one place, so that the host reads them at once.

use cuda_std::prelude::*;

use crate::levels::{MAX_LEVELS, first_nodes};

/// Elements of an array of 64-bit numbers.
#[non_exhaustive]
pub struct Counters;

impl Counters {
    /// The lowest centre of a box along each axis, as an integer in the order of the numbers.
    pub const LOW: usize = 0;
    /// The highest.
    pub const HIGH: usize = 3;
    /// The first row of each set that is no box, or [`NO_FAULT`](Self::NO_FAULT).
    pub const FAULTS: usize = 6;
    /// The sum of half the boxes' extents along their longest axis, finite ones, an `f64`.
    pub const EXTENT: usize = 8;
    /// Queries left to whole warps.
    pub const LEFT: usize = 9;
    /// Pairs in all rows.
    pub const PAIRS: usize = 10;
    /// Pairs in the rows left to whole warps.
    pub const LEFT_PAIRS: usize = 11;
    /// Pairs in a sample of the rows left to whole warps.
    pub const SAMPLE_PAIRS: usize = 12;
    /// Steps of the search for them.
    pub const SAMPLE_STEPS: usize = 13;
    /// The number of the first node of each level of the tree.
    pub const FIRST_NODES: usize = 14;
    /// Number of elements.
    pub const COUNT: usize = Self::FIRST_NODES + MAX_LEVELS;
    /// In the place of a row: there is none that is no box.
    pub const NO_FAULT: u64 = u64::MAX;
}

/// Sets all counters to what they are at the start of a search in a tree of `leaves`; it may have
/// none.
///
/// # Safety
/// `counters` has [`Counters::COUNT`] elements; one block of as many threads at least.
#[kernel(max_block = 32)]
pub unsafe fn start(leaves: u32, counters: DeviceSliceMut<u64>) {
    let index = thread::thread_idx_x() as usize;
    if index < Counters::COUNT {
        let value = match index {
            0..Counters::HIGH => i64::MAX as u64,
            Counters::HIGH..Counters::FAULTS => i64::MIN as u64,
            Counters::FAULTS..Counters::EXTENT => Counters::NO_FAULT,
            Counters::FIRST_NODES.. if leaves > 0 => {
                first_nodes(leaves, (index - Counters::FIRST_NODES) as u32) as u64
            }
            _ => 0,
        };
        // SAFETY: an element for this thread.
        unsafe { counters.set(index, value) };
    }
}
