//! What is to be known of the series before their points are aggregated.

use cuda_std::prelude::*;

use crate::floor::Floor;
use crate::search::partition_point;

/// Sets a bit for each point with which a series begins.
///
/// # Safety
/// `starts` has a bit, 0 at first, for each point; offsets ascend up to the number of points.
#[kernel]
pub unsafe fn mark_series(offsets: DeviceSlice<u64>, points: usize, starts: DeviceSliceMut<u32>) {
    // The last offset is the end of the last series.
    for series in thread::grid_stride(offsets.len() - 1) {
        // SAFETY: below the length.
        let first = unsafe { offsets.at(series) } as usize;
        if first < points {
            // SAFETY: a bit for each point; all threads only set bits.
            unsafe { atomic::or(starts.address(first / 32), 1 << (first % 32)) };
        }
    }
}

/// Adds to `sum` the number of buckets that each series can have at most: as many as it has points,
/// or as there are from its first to its last one. What is not sorted gets some number.
///
/// # Safety
/// Offsets ascend up to the number of timestamps; `sum` has an element, 0 at first. Blocks are of
/// whole warps.
#[kernel(block = 256)]
pub unsafe fn bound_buckets(
    offsets: DeviceSlice<u64>,
    timestamps: DeviceSlice<i64>,
    floor: Floor,
    sum: DeviceSliceMut<u64>,
) {
    let mut bound = 0;
    for series in thread::grid_stride(offsets.len() - 1) {
        // SAFETY: below the length.
        let (first, end) =
            unsafe { (offsets.at(series) as usize, offsets.at(series + 1) as usize) };
        if first < end {
            // SAFETY: the series has points.
            let (from, to) = unsafe { (timestamps.at(first), timestamps.at(end - 1)) };
            let points = (end - first) as u64;
            let buckets = floor
                .bucket(to)
                .wrapping_sub(floor.bucket(from))
                .wrapping_add(1);
            bound += if from <= to && buckets > 0 && buckets < points {
                buckets
            } else {
                points
            };
        }
    }
    let bound = warp::reduce_sum(bound);
    if bound > 0 && warp::lane_id() == 0 {
        // SAFETY: it has an element, which all threads only add to.
        unsafe { atomic::add(sum.address(0), bound) };
    }
}

/// Finds the first bucket of each series: the number of buckets that begin with points of lower
/// ones.
///
/// # Safety
/// `firsts` has the index of each bucket's first point; `buckets` has room for each offset.
#[kernel]
pub unsafe fn buckets_of_series(
    offsets: DeviceSlice<u64>,
    firsts: DeviceSlice<u32>,
    buckets: DeviceSliceMut<u64>,
) {
    for series in thread::grid_stride(offsets.len()) {
        // SAFETY: below the length.
        let offset = unsafe { offsets.at(series) };
        let bucket = partition_point(0..firsts.len(), |bucket| {
            // SAFETY: below the length.
            u64::from(unsafe { firsts.at(bucket) }) < offset
        });
        // SAFETY: room for each offset.
        unsafe { buckets.set(series, bucket as u64) };
    }
}
