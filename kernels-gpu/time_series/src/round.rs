//! Timestamps rounded down.

use cuda_std::prelude::*;

use crate::floor::Floor;
use crate::points::Pair;

/// Pairs that a thread has at a time.
const AT_ONCE: usize = 4;

/// Threads of a block that rounds.
pub const ROUND_THREADS: u32 = 256;

/// Rounds timestamps in place. Of those whose bucket has no label, which stay what they are,
/// `failure` gets 2⁶⁴ − 1 less the lowest index.
///
/// # Safety
/// The timestamps are aligned to 16 bytes; `failure` has an element, 0 at first.
#[kernel(block = 256)]
pub unsafe fn round(floor: Floor, timestamps: DeviceSliceMut<i64>, failure: DeviceSliceMut<u64>) {
    let len = timestamps.len();
    let step = ROUND_THREADS as usize;
    // A block's neighbouring pairs, `AT_ONCE` for each thread.
    let mut first =
        thread::block_idx_x() as usize * AT_ONCE * step + thread::thread_idx_x() as usize;
    while 2 * first < len {
        if 2 * (first + (AT_ONCE - 1) * step) + 2 <= len {
            let mut pairs = [Pair([0i64; 2]); AT_ONCE];
            unrolled! { i in [0 1 2 3] {
                // SAFETY: the pair ends within the length.
                pairs[i] = unsafe { timestamps.address(2 * (first + i * step)).cast::<Pair<i64>>().read() };
            }}
            unrolled! { i in [0 1 2 3] {
                let place = 2 * (first + i * step);
                let Pair([a, b]) = pairs[i];
                // SAFETY: the pair ends within the length, at a multiple of 16 bytes as the
                // timestamps begin at one. `failure` has an element. Nobody else has these
                // timestamps.
                unsafe {
                    let rounded = Pair([
                        rounded(floor, a, place, failure),
                        rounded(floor, b, place + 1, failure),
                    ]);
                    timestamps.address(place).cast::<Pair<i64>>().write(rounded);
                }
            }}
        } else {
            let mut i = 0;
            while i < AT_ONCE {
                let mut place = 2 * (first + i * step);
                let end = place + 2;
                while place < end && place < len {
                    // SAFETY: below the length, and no other thread has it.
                    unsafe {
                        let timestamp = timestamps.at(place);
                        timestamps.set(place, rounded(floor, timestamp, place, failure));
                    }
                    place += 1;
                }
                i += 1;
            }
        }
        first += thread::grid_dim_x() as usize * AT_ONCE * step;
    }
}

/// # Safety
/// `failure` has an element.
#[inline(always)]
unsafe fn rounded(floor: Floor, timestamp: i64, place: usize, failure: DeviceSliceMut<u64>) -> i64 {
    if timestamp < floor.lowest() {
        // SAFETY: it is there, and all threads use it atomically.
        unsafe { atomic::max(failure.address(0), u64::MAX - place as u64) };
        return timestamp;
    }
    floor.floor(timestamp)
}
