//! Prefix sums over an array, in two launches: each block adds its part up, then each block adds
//! the sums of the parts below its own and goes through its part again.
//!
//! An element is read twice, the second time mostly from the cache: what a single pass would save
//! does not matter beside what makes the numbers, and no block ever waits for another.

use crate::block;
use cuda_std::prelude::*;

/// Threads of a block.
pub const SCAN_THREADS: u32 = 256;

/// Elements that a block takes at a time.
pub const SCAN_TILE: u32 = SCAN_THREADS * PER_THREAD;

/// Neighbours that a thread adds up by itself.
const PER_THREAD: u32 = 4;

/// `totals[b]` becomes the sum of the elements of block b's part: `tiles` tiles of [`SCAN_TILE`].
///
/// # Safety
/// `totals` has an element for each block, the blocks together have all elements, and a block has
/// [`SCAN_THREADS`] threads.
#[kernel(block = 256)]
pub unsafe fn totals_u32(tiles: u32, values: DeviceSlice<u32>, totals: DeviceSliceMut<u64>) {
    let warp_sums = shared_array![u64; (SCAN_THREADS / 32) as usize];
    let block = thread::block_idx_x() as usize;
    let part = tiles as usize * SCAN_TILE as usize;
    let start = block * part;
    let end = values.len().min(start + part);
    let mut sum = 0u64;
    let mut index = start + thread::thread_idx_x() as usize;
    while index < end {
        // SAFETY: below the length.
        sum += unsafe { values.at(index) } as u64;
        index += SCAN_THREADS as usize;
    }
    // SAFETY: an element for each warp, and all threads are here.
    let (_, total) = unsafe { block::exclusive_sum(sum, warp_sums) };
    if thread::thread_idx_x() == 0 {
        // SAFETY: an element for each block.
        unsafe { totals.set(block, total) };
    }
}

/// The arrays of [`sums_u32`].
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Sums {
    /// The elements.
    pub values: DeviceSlice<u32>,
    /// The totals that [`totals_u32`] has written, for the same blocks.
    pub totals: DeviceSlice<u64>,
    /// Element i becomes the sum of the values below i: one more than there are values.
    pub sums: DeviceSliceMut<u64>,
    /// Its first element, if there is one, becomes the sum of all values.
    pub total: DeviceSliceMut<u64>,
}

/// Adds up all values below each.
///
/// # Safety
/// The slices have the lengths that [`Sums`] documents; otherwise as for [`totals_u32`].
#[kernel(block = 256)]
pub unsafe fn sums_u32(tiles: u32, arrays: Sums) {
    let Sums {
        values,
        totals,
        sums,
        total,
    } = arrays;
    let warp_sums = shared_array![u64; (SCAN_THREADS / 32) as usize];
    let block = thread::block_idx_x() as usize;
    let me = thread::thread_idx_x();

    // The sum of all parts below.
    let mut below = 0u64;
    let mut other = me as usize;
    while other < block {
        // SAFETY: an element for each block.
        below += unsafe { totals.at(other) };
        other += SCAN_THREADS as usize;
    }
    // SAFETY: an element for each warp, and all threads are here.
    let (_, mut before) = unsafe { block::exclusive_sum(below, warp_sums) };

    let mut tile = 0;
    while tile < tiles as usize {
        let start = (block * tiles as usize + tile) * SCAN_TILE as usize;
        if start >= values.len() {
            break;
        }
        let first = start + (me * PER_THREAD) as usize;
        let mut mine = [0u32; PER_THREAD as usize];
        let mut sum = 0u64;
        let mut i = 0;
        while i < PER_THREAD as usize {
            if first + i < values.len() {
                // SAFETY: below the length.
                mine[i] = unsafe { values.at(first + i) };
            }
            sum += mine[i] as u64;
            i += 1;
        }
        // SAFETY: `warp_sums` has an element for each warp. All threads are here, since the loop's
        // condition is the same for all.
        let (below, of_tile) = unsafe { block::exclusive_sum(sum, warp_sums) };
        let mut running = before + below;
        let mut i = 0;
        while i < PER_THREAD as usize {
            if first + i < values.len() {
                // SAFETY: below the length.
                unsafe { sums.set(first + i, running) };
            }
            running += mine[i] as u64;
            i += 1;
        }
        before += of_tile;
        tile += 1;
    }
    if block == thread::grid_dim_x() as usize - 1 && me == 0 {
        // SAFETY: one more than there are values.
        unsafe { sums.set(values.len(), before) };
        if !total.is_empty() {
            // SAFETY: it has an element.
            unsafe { total.set(0, before) };
        }
    }
}
