//! Buckets of up to [`LONG`](super::LONG) points: a block narrows the range of the searched key by
//! histograms of the bucket, until shared memory has room for its keys.

use cuda_std::prelude::*;

use super::block::{Scratch, THREADS, for_each_key};
use super::range::{CANDIDATES, Extent, KeyRange};
use crate::keys::{Bucketed, Percentiles, Rank, is_nan};
use crate::points::Value;

/// Threads of a block of the kernels for long buckets.
pub const LONG_THREADS: u32 = THREADS;

#[inline(always)]
unsafe fn long<V: Value>(points: Bucketed<V>, to: Percentiles, buckets: DeviceSlice<u32>) {
    // SAFETY: all threads of the block take part in everything here: the entries, percentiles and
    // ranges are the same for all of them.
    let scratch = unsafe { Scratch::cleared() };
    let mut entry = thread::block_idx_x() as usize;
    while entry < buckets.len() {
        // SAFETY: below the length; the buckets exist.
        let (bucket, first, length) = unsafe {
            let bucket = buckets.at(entry) as usize;
            let (first, end) = points.points(bucket);
            (bucket, first, end - first)
        };
        let mut all = Extent::NONE;
        // SAFETY: the points of the bucket exist. All threads of the block take part, since the
        // entry is the same for all.
        let all = unsafe {
            for_each_key(&points, first, length, |key| all.add(key));
            scratch.extent(all)
        };
        let mut percentile = 0;
        while percentile < to.percents.len() {
            let mut result = f64::NAN;
            if all.count > 0 && !is_nan(all.highest) {
                // SAFETY: below the length.
                let rank = Rank::new(all.count, unsafe { to.percents.at(percentile) });
                let range = KeyRange::new(all, rank.index);
                // SAFETY: the points of the bucket exist, and the range has the searched key. All
                // threads of the block take part, since the percentile is the same for all.
                let (lower, upper) = unsafe { select(&points, first, length, range, &scratch) };
                result = rank.between(lower, upper);
            }
            if thread::thread_idx_x() == 0 {
                // SAFETY: this block's bucket.
                unsafe { to.set(percentile, bucket, result) };
            }
            percentile += 1;
        }
        entry += thread::grid_dim_x() as usize;
    }
}

/// Returns the searched key of the range, and the next higher one or the same again.
///
/// # Safety
/// All threads of the block call this for the same points, which exist.
#[inline(always)]
unsafe fn select<V: Value>(
    points: &Bucketed<V>,
    first: u32,
    length: u32,
    mut range: KeyRange,
    scratch: &Scratch,
) -> (u64, u64) {
    while !range.is_found() && range.count > CANDIDATES {
        // SAFETY: all threads take part, and the points have all keys of the range.
        unsafe {
            for_each_key(points, first, length, |key| {
                if range.has(key) {
                    scratch.count(&range, key);
                }
            });
            range = scratch.narrowed(range);
        }
    }
    let fits = range.count <= CANDIDATES;
    if thread::thread_idx_x() == 0 {
        // SAFETY: the barriers of `extent` separate this from earlier uses.
        unsafe { scratch.held.write(0) };
    }
    thread::sync_threads();
    let mut above = Extent::NONE;
    // If equal keys are more than there is room for, only the key behind them may be needed.
    if fits || range.rest + 1 == range.count {
        // SAFETY: the points exist, and there is room for all keys of the range.
        unsafe {
            for_each_key(points, first, length, |key| {
                if key > range.high {
                    above.add(key);
                } else if fits && key >= range.low {
                    let place = atomic::add(scratch.held, 1);
                    scratch.candidates.add(place as usize).write(key);
                }
            });
        }
    }
    // SAFETY: all threads call these; the barriers of `extent` order the candidates.
    unsafe {
        let above = scratch.extent(above);
        let held = if fits { range.count } else { 0 };
        scratch.selected(range, held, above.lowest)
    }
}

/// Computes percentiles of buckets, each by a block, of `f64`.
///
/// # Safety
/// The buckets exist, and there is room for each bucket in each column.
#[kernel(block = 512)]
pub unsafe fn long_f64(points: Bucketed<f64>, to: Percentiles, buckets: DeviceSlice<u32>) {
    // SAFETY: this function has the same contract.
    unsafe { long(points, to, buckets) }
}

/// [`long_f64`] of `f32`.
///
/// # Safety
/// As of [`long_f64`].
#[kernel(block = 512)]
pub unsafe fn long_f32(points: Bucketed<f32>, to: Percentiles, buckets: DeviceSlice<u32>) {
    // SAFETY: this function has the same contract.
    unsafe { long(points, to, buckets) }
}
