//! Buckets of up to [`MIDDLE`](super::MIDDLE) points: a warp keeps the keys of a bucket in its
//! registers, and halves the range of keys in which the key of a rank is.

use cuda_std::prelude::*;
use cuda_std::warp::WARP_SIZE;

use super::range::{Extent, KeyRange};
use crate::keys::{Bucketed, NO_KEY, Percentiles, Rank, is_nan};
use crate::points::Value;

/// The keys of a bucket that one lane holds.
trait Held: Copy {
    /// Reads each 32nd key of a bucket.
    ///
    /// # Safety
    /// The points exist, and there are at most 32 for each key that a lane holds.
    unsafe fn read<V: Value>(points: &Bucketed<V>, first: u32, length: u32) -> Self;

    /// Calls a function for each key, also for those of points that are not there.
    fn for_each(&self, call: impl FnMut(u64));
}

/// Declares a type of `$count` keys, and the two kernels for buckets of up to 32 times as many.
macro_rules! held {
    ($type:ident, $count:literal, [$($index:literal)*], $longest:literal, $f64:ident, $f32:ident) => {
        #[derive(Clone, Copy)]
        struct $type([u64; $count]);

        impl Held for $type {
            #[inline(always)]
            unsafe fn read<V: Value>(points: &Bucketed<V>, first: u32, length: u32) -> Self {
                let lane = warp::lane_id();
                let mut keys = [NO_KEY; $count];
                unrolled! { i in [$($index)*] {
                    let offset = i as u32 * WARP_SIZE + lane;
                    if offset < length {
                        // SAFETY: a point of the bucket.
                        keys[i] = unsafe { points.key(first + offset) };
                    }
                }}
                $type(keys)
            }

            #[inline(always)]
            fn for_each(&self, mut call: impl FnMut(u64)) {
                unrolled! { i in [$($index)*] {
                    call(self.0[i]);
                }}
            }
        }

        #[doc = concat!("Computes percentiles of buckets of up to ", $longest, " points, of `f64`.")]
        ///
        /// # Safety
        /// Blocks consist of whole warps. The buckets exist and are no longer, and there is room for
        /// each bucket in each column.
        #[kernel(max_block = 128)]
        pub unsafe fn $f64(points: Bucketed<f64>, to: Percentiles, buckets: DeviceSlice<u32>) {
            // SAFETY: this function has the same contract.
            unsafe { middle::<_, $type>(points, to, buckets) }
        }

        #[doc = concat!("[`", stringify!($f64), "`] of `f32`.")]
        ///
        /// # Safety
        #[doc = concat!("As of [`", stringify!($f64), "`].")]
        #[kernel(max_block = 128)]
        pub unsafe fn $f32(points: Bucketed<f32>, to: Percentiles, buckets: DeviceSlice<u32>) {
            // SAFETY: this function has the same contract.
            unsafe { middle::<_, $type>(points, to, buckets) }
        }
    };
}

held! { Keys2, 2, [0 1], 64, middle_64_f64, middle_64_f32 }
held! { Keys8, 8, [0 1 2 3 4 5 6 7], 256, middle_256_f64, middle_256_f32 }
held! { Keys32, 32, [
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
], 1024, middle_1024_f64, middle_1024_f32 }
held! { Keys64, 64, [
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
    32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63
], 2048, middle_2048_f64, middle_2048_f32 }

/// Returns the lowest key of all lanes that is above a key, or [`NO_KEY`].
#[inline(always)]
fn lowest_above(keys: &impl Held, floor: u64) -> u64 {
    let mut lowest = NO_KEY;
    keys.for_each(|key| {
        if key > floor && key < lowest {
            lowest = key;
        }
    });
    warp::reduce_min(lowest)
}

/// Returns the extent of the keys of a range.
#[inline(always)]
fn extent_within(keys: &impl Held, range: KeyRange) -> Extent {
    let mut extent = Extent::NONE;
    keys.for_each(|key| {
        if range.has(key) {
            extent.add(key);
        }
    });
    extent.of_warp()
}

/// Returns the key of a rank, and the next higher one or the same again.
#[inline(always)]
fn select(keys: &impl Held, all: Extent, rank: u32) -> (u64, u64) {
    let mut range = KeyRange::new(all, rank);
    while !range.is_found() {
        // The upper half begins where the highest bit changes that differs.
        let bit = u64::BITS - 1 - (range.low ^ range.high).leading_zeros();
        let middle = range.high >> bit << bit;
        let width = middle - range.low;
        let mut below = 0;
        keys.for_each(|key| below += (key.wrapping_sub(range.low) < width) as u32);
        let below = warp::reduce_sum(below);
        let count = range.count;
        if range.rest < below {
            range.count = below;
            range.high = middle - 1;
        } else {
            range.rest -= below;
            range.count -= below;
            range.low = middle;
        }
        // Keys of one half, often equal ones, may agree in many further bits, and a single key is
        // found.
        if range.count == count || range.count == 1 {
            let extent = extent_within(keys, range);
            (range.low, range.high) = (extent.lowest, extent.highest);
        }
    }
    let mut upper = range.low;
    if range.rest + 1 == range.count {
        upper = lowest_above(keys, range.low);
    }
    (range.low, upper)
}

#[inline(always)]
unsafe fn middle<V: Value, K: Held>(
    points: Bucketed<V>,
    to: Percentiles,
    buckets: DeviceSlice<u32>,
) {
    let warps = thread::grid_dim_x() as usize * (thread::block_dim_x() / WARP_SIZE) as usize;
    let mut entry = thread::global_index() / WARP_SIZE as usize;
    while entry < buckets.len() {
        // SAFETY: below the length; the buckets exist, and are no longer than the lanes hold.
        let (bucket, keys) = unsafe {
            let bucket = buckets.at(entry) as usize;
            let (first, end) = points.points(bucket);
            (bucket, K::read(&points, first, end - first))
        };
        let mut all = Extent::NONE;
        keys.for_each(|key| all.add(key));
        let all = all.of_warp();
        let mut percentile = 0;
        while percentile < to.percents.len() {
            let mut result = f64::NAN;
            if all.count > 0 && !is_nan(all.highest) {
                // SAFETY: below the length.
                let rank = Rank::new(all.count, unsafe { to.percents.at(percentile) });
                let (lower, upper) = select(&keys, all, rank.index);
                result = rank.between(lower, upper);
            }
            if warp::lane_id() == 0 {
                // SAFETY: this warp's bucket.
                unsafe { to.set(percentile, bucket, result) };
            }
            percentile += 1;
        }
        entry += warps;
    }
}
