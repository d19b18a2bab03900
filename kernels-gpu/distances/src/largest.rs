//! The largest magnitude of an array.

use cuda_std::prelude::*;
use cuda_std::warp::WARP_SIZE;

use crate::number::Number;

/// Threads of a block that looks for the largest magnitude.
pub const LARGEST_THREADS: u32 = 256;

const WARPS: usize = (LARGEST_THREADS / WARP_SIZE) as usize;

/// Words of shared memory of [`largest_of_block`].
pub const WORDS: usize = 2 * WARPS;

/// The largest magnitude among the numbers of an array, and its first number that is not finite.
#[derive(Clone, Copy)]
pub struct Largest {
    /// The bits of the largest magnitude.
    pub magnitude: u64,
    /// The complement of the index of the first number that is NaN or infinite, or 0 if there is
    /// none: the first index has the largest complement.
    pub bad: u64,
}

/// Returns the largest magnitude, and the first number that is NaN or infinite, among the numbers
/// at `start` and every `stride` further for thread 0, behind them for the other threads. All
/// threads get the result.
///
/// # Safety
/// The block has [`LARGEST_THREADS`] threads, and `words` points to [`WORDS`] words of shared memory
/// that nothing else uses.
#[inline(always)]
pub unsafe fn largest_of_block<T: Number>(
    values: DeviceSlice<T>,
    start: usize,
    stride: usize,
    words: *mut u64,
) -> Largest {
    let mut found = Largest {
        magnitude: 0,
        bad: 0,
    };
    let me = thread::thread_idx_x();
    let mut first = start + me as usize;
    while first < values.len() {
        // Loads that do not wait for each other. Behind the end the last number stands in.
        let place = |k: usize| (first + k * stride).min(values.len() - 1);
        // SAFETY: below the length.
        let magnitudes = [0, 1, 2, 3].map(|k| unsafe { values.at(place(k)) }.magnitude());
        unrolled! { k in [0 1 2 3] {
            found.magnitude = found.magnitude.max(magnitudes[k]);
            if magnitudes[k] >= T::INFINITE {
                found.bad = found.bad.max(!(place(k) as u64));
            }
        }}
        first += 4 * stride;
    }
    let (magnitude, bad) = (
        warp::reduce_max(found.magnitude),
        warp::reduce_max(found.bad),
    );
    if warp::lane_id() == 0 {
        let warp = (me / WARP_SIZE) as usize;
        // SAFETY: two words for each warp.
        unsafe {
            words.add(warp).write(magnitude);
            words.add(WARPS + warp).write(bad);
        }
    }
    thread::sync_threads();
    let mut warp = 0;
    while warp < WARPS {
        // SAFETY: each warp wrote its two elements before the barrier.
        unsafe {
            found.magnitude = found.magnitude.max(words.add(warp).read());
            found.bad = found.bad.max(words.add(WARPS + warp).read());
        }
        warp += 1;
    }
    found
}

/// Brings what is known of an array to the elements 2 · `number` and 2 · `number` + 1 of `found`.
/// The blocks along x share the array. Several take the maximum with what is there, one writes.
///
/// # Safety
/// As of [`largest_of_block`]; and `found` has these elements, which blocks of other arrays do not
/// access.
#[inline(always)]
pub unsafe fn largest<T: Number>(
    values: DeviceSlice<T>,
    number: usize,
    found: DeviceSliceMut<u64>,
    words: *mut u64,
) {
    let (block, blocks) = (thread::block_idx_x(), thread::grid_dim_x());
    let start = block as usize * LARGEST_THREADS as usize;
    let stride = blocks as usize * LARGEST_THREADS as usize;
    // SAFETY: by the contract of this function, the block has `LARGEST_THREADS` threads, and
    // `words` points to `WORDS` words that nothing else uses.
    let Largest { magnitude, bad } = unsafe { largest_of_block(values, start, stride, words) };
    if thread::thread_idx_x() != 0 {
        return;
    }
    // SAFETY: within `found`, and accessed atomically alone if there are several blocks.
    unsafe {
        if blocks == 1 {
            found.set(2 * number, magnitude);
            found.set(2 * number + 1, bad);
        } else {
            atomic::max(found.address(2 * number), magnitude);
            if bad != 0 {
                atomic::max(found.address(2 * number + 1), bad);
            }
        }
    }
}
