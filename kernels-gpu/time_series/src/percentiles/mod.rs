//! Percentiles of buckets. Each length of buckets has its own kernels: a thread sorts up to
//! [`SORTED`] points in its registers; a warp holds up to [`MIDDLE`] keys in its registers and
//! narrows the range of the key of a rank; a block narrows the range with histograms of up to
//! [`LONG`] points; beyond, several blocks do. All results are exact, so a bucket's length does not
//! change them.

mod block;
mod huge;
mod long;
mod middle;
mod range;
mod short;

use cuda_std::prelude::*;
use cuda_std::warp::FULL_MASK;

pub use huge::{
    HUGE_THREADS, HUGE_TILE, Huge, HugeState, huge_begin, huge_choose, huge_extents_f32,
    huge_extents_f64, huge_finish, huge_gather_f32, huge_gather_f64, huge_histogram_f32,
    huge_histogram_f64, huge_tiles,
};
pub use long::{LONG_THREADS, long_f32, long_f64};
pub use middle::{
    middle_64_f32, middle_64_f64, middle_256_f32, middle_256_f64, middle_1024_f32, middle_1024_f64,
    middle_2048_f32, middle_2048_f64,
};
pub use range::{BINS, CANDIDATES, ROUNDS};
pub use short::{short_f32, short_f64, sorted_f32, sorted_f64};

/// The longest bucket that is processed where it is found. Longer ones are listed first, so that
/// threads of a warp have buckets of similar length.
pub const SHORT: u32 = 16;

/// The longest bucket that a thread sorts.
pub const SORTED: u32 = 32;

/// The longest bucket whose keys the registers of a warp hold.
pub const MIDDLE: u32 = 2048;

/// The longest bucket that a block processes alone.
pub const LONG: u32 = 32_768;

/// The longest bucket of each class of buckets beyond `SHORT`.
pub const CLASSES: [u32; 7] = [SORTED, 64, 256, 1024, MIDDLE, LONG, u32::MAX];

/// Threads of a block of the kernels for up to `MIDDLE` points.
pub const SELECT_THREADS: u32 = 128;

/// The buckets with more than `SHORT` points, by class.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct LongerBuckets {
    /// The number of buckets of each class. Zeros at first.
    pub counts: DeviceSliceMut<u32>,
    /// The buckets. Those of a class begin at [`class_start`].
    pub list: DeviceSliceMut<u32>,
}

/// Returns the shortest bucket of a class.
const fn shortest(class: usize) -> u32 {
    if class == 0 {
        SHORT + 1
    } else {
        CLASSES[class - 1] + 1
    }
}

/// Returns where the buckets of a class begin in the list, if there are so many points. The start
/// of the class behind the last one is the length of the list.
#[inline(always)]
pub fn class_start(points: usize, class: usize) -> usize {
    let mut start = 0;
    // Constants have no index that only the thread knows.
    unrolled! { before in [0 1 2 3 4 5 6] {
        if before < class {
            start += points / shortest(before) as usize;
        }
    }}
    start
}

impl LongerBuckets {
    /// Lists the bucket of each lane of a warp whose length is beyond [`SHORT`].
    ///
    /// All lanes of the warp call this. Each class takes one atomic operation per warp.
    ///
    /// # Safety
    /// The list has room for all buckets of `points` points, and no bucket is listed twice.
    #[inline(always)]
    unsafe fn push(&self, points: usize, bucket: usize, length: u32) {
        let is_longer = length > SHORT;
        let mut pending = warp::ballot(FULL_MASK, is_longer);
        if pending == 0 {
            return;
        }
        let lane = warp::lane_id();
        let lower_lanes = (1u32 << lane) - 1;
        let mut class = 0;
        unrolled! { i in [0 1 2 3 4 5 6] {
            class += (length > CLASSES[i]) as usize;
        }}
        while pending != 0 {
            let leader = pending.trailing_zeros();
            let current = warp::shuffle_idx(FULL_MASK, class as u32, leader);
            let is_of_class = is_longer && class as u32 == current;
            let same = warp::ballot(FULL_MASK, is_of_class);
            let mut place = 0;
            if lane == leader {
                // SAFETY: a counter for each class.
                place = unsafe {
                    atomic::add(self.counts.address(current as usize), same.count_ones())
                };
            }
            place = warp::shuffle_idx(FULL_MASK, place, leader);
            if is_of_class {
                let place = place + (same & lower_lanes).count_ones();
                let start = class_start(points, class);
                // SAFETY: the caller provides room for all buckets of each class.
                unsafe { self.list.set(start + place as usize, bucket as u32) };
            }
            pending &= !same;
        }
    }
}
