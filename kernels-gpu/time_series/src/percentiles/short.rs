//! Buckets of up to [`SORTED`](super::SORTED) points: a thread sorts a bucket in its registers.

use cuda_std::prelude::*;

use super::{LongerBuckets, SHORT};
use crate::keys::{Bucketed, NO_KEY, Percentiles, Rank, is_nan};
use crate::points::Value;

/// Returns whether a step of Batcher's odd-even mergesort of `length` keys compares key `index` with
/// the one `distance` above: in the step that merges runs of `run` keys.
#[inline(always)]
const fn is_compared(length: usize, run: usize, distance: usize, index: usize) -> bool {
    let start = distance % run;
    let other = index + distance;
    index >= start
        && (index - start) % (2 * distance) < distance
        && other < length
        && index / (2 * run) == other / (2 * run)
}

/// Defines a function that sorts up to `$length` points of a bucket and writes its percentiles.
///
/// `$indices` are the indices below `$length`, and `$run $distance` the steps of the network.
macro_rules! sorted {
    ($name:ident, $length:literal, $indices:tt, $($run:literal $distance:literal),*) => {
        #[inline(always)]
        unsafe fn $name<V: Value>(points: Bucketed<V>, to: Percentiles, bucket: Bucket) {
            let mut keys = [NO_KEY; $length];
            let mut count = 0;
            unrolled! { i in $indices {
                if (i as u32) < bucket.length {
                    // SAFETY: a point of the bucket.
                    keys[i] = unsafe { points.key(bucket.first + i as u32) };
                    count += (keys[i] != NO_KEY) as u32;
                }
            }}
            $(unrolled! { i in $indices {
                if is_compared($length, $run, $distance, i) {
                    // The remainder is the index itself; other indices are not compared.
                    let other = (i + $distance) % $length;
                    let (a, b) = (keys[i], keys[other]);
                    keys[i] = if a > b { b } else { a };
                    keys[other] = if a > b { a } else { b };
                }
            }})*
            let mut has_nan = false;
            unrolled! { i in $indices {
                has_nan |= is_nan(keys[i]);
            }}
            let mut percentile = 0;
            while percentile < to.percents.len() {
                let mut result = f64::NAN;
                if count > 0 && !has_nan {
                    // SAFETY: below the length.
                    let rank = Rank::new(count, unsafe { to.percents.at(percentile) });
                    let (mut lower, mut upper) = (keys[0], keys[0]);
                    // Registers have no indices.
                    unrolled! { i in $indices {
                        if i as u32 == rank.index {
                            lower = keys[i];
                        }
                        if i as u32 == rank.index + 1 {
                            upper = keys[i];
                        }
                    }}
                    result = rank.between(lower, upper);
                }
                // SAFETY: this thread's bucket.
                unsafe { to.set(percentile, bucket.index, result) };
                percentile += 1;
            }
        }
    };
}

sorted! { up_to_8, 8, [0 1 2 3 4 5 6 7], 1 1, 2 2, 2 1, 4 4, 4 2, 4 1 }
sorted! { up_to_16, 16, [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15],
1 1, 2 2, 2 1, 4 4, 4 2, 4 1, 8 8, 8 4, 8 2, 8 1 }
sorted! { up_to_32, 32,
[0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31],
1 1, 2 2, 2 1, 4 4, 4 2, 4 1, 8 8, 8 4, 8 2, 8 1, 16 16, 16 8, 16 4, 16 2, 16 1 }

/// A bucket that a thread sorts.
#[derive(Clone, Copy)]
struct Bucket {
    index: usize,
    first: u32,
    length: u32,
}

#[inline(always)]
unsafe fn short<V: Value>(points: Bucketed<V>, to: Percentiles, longer: LongerBuckets) {
    let threads = thread::grid_dim_x() as usize * thread::block_dim_x() as usize;
    let lane = warp::lane_id() as usize;
    // All lanes of a warp take the same number of rounds.
    let mut first_of_warp = thread::global_index() - lane;
    while first_of_warp < points.firsts.len() {
        let index = first_of_warp + lane;
        let is_bucket = index < points.firsts.len();
        let (mut first, mut length) = (0, 0);
        if is_bucket {
            // SAFETY: below the number of buckets.
            let (start, end) = unsafe { points.points(index) };
            (first, length) = (start, end - start);
        }
        // SAFETY: the caller provides room for all buckets, and each has one thread.
        unsafe { longer.push(points.values.len(), index, length) };
        let is_short = is_bucket && length <= SHORT;
        let longest = warp::reduce_max(if is_short { length } else { 0 });
        if is_short {
            let bucket = Bucket {
                index,
                first,
                length,
            };
            // The shortest network that suffices for all lanes.
            // SAFETY: the bucket is this thread's, and no longer than the function takes.
            unsafe {
                if longest <= 8 {
                    up_to_8(points, to, bucket);
                } else {
                    up_to_16(points, to, bucket);
                }
            }
        }
        first_of_warp += threads;
    }
}

/// Computes percentiles of buckets of up to `SHORT` points, of `f64`, and lists all others.
///
/// # Safety
/// Blocks consist of whole warps. There is room for each bucket in each column, and in the list for
/// all buckets of each class.
#[kernel(max_block = 128)]
pub unsafe fn short_f64(points: Bucketed<f64>, to: Percentiles, longer: LongerBuckets) {
    // SAFETY: this function has the same contract.
    unsafe { short(points, to, longer) }
}

/// [`short_f64`] of `f32`.
///
/// # Safety
/// As of [`short_f64`].
#[kernel(max_block = 128)]
pub unsafe fn short_f32(points: Bucketed<f32>, to: Percentiles, longer: LongerBuckets) {
    // SAFETY: this function has the same contract.
    unsafe { short(points, to, longer) }
}

#[inline(always)]
unsafe fn listed<V: Value>(points: Bucketed<V>, to: Percentiles, buckets: DeviceSlice<u32>) {
    for entry in thread::grid_stride(buckets.len()) {
        // SAFETY: below the length; the buckets exist, are no longer than the function takes, and
        // each is one thread's.
        unsafe {
            let index = buckets.at(entry) as usize;
            let (first, end) = points.points(index);
            let bucket = Bucket {
                index,
                first,
                length: end - first,
            };
            up_to_32(points, to, bucket);
        }
    }
}

/// Computes percentiles of buckets of up to `SORTED` points, of `f64`.
///
/// # Safety
/// The buckets exist and are no longer, and there is room for each bucket in each column.
#[kernel(max_block = 128)]
pub unsafe fn sorted_f64(points: Bucketed<f64>, to: Percentiles, buckets: DeviceSlice<u32>) {
    // SAFETY: this function has the same contract.
    unsafe { listed(points, to, buckets) }
}

/// [`sorted_f64`] of `f32`.
///
/// # Safety
/// As of [`sorted_f64`].
#[kernel(max_block = 128)]
pub unsafe fn sorted_f32(points: Bucketed<f32>, to: Percentiles, buckets: DeviceSlice<u32>) {
    // SAFETY: this function has the same contract.
    unsafe { listed(points, to, buckets) }
}
