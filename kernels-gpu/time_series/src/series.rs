//! What is to be known of the series before their points are aggregated.

use cuda_std::prelude::*;
use cuda_std::warp::WARP_SIZE;

use crate::floor::Floor;
use crate::points::TILE;
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

/// Threads of a block of [`bound_tiles`].
pub const BOUND_THREADS: u32 = 256;

/// Bounds the number of buckets that begin in each tile: in each of its series, as many as there
/// are points, or as there are up to its last point. What is not sorted gets at most
/// the number of its points.
///
/// # Safety
/// Offsets ascend from 0 up to the number of timestamps; there is a width for each tile, and a warp.
#[kernel(block = 256)]
pub unsafe fn bound_tiles(
    offsets: DeviceSlice<u64>,
    timestamps: DeviceSlice<i64>,
    floor: Floor,
    widths: DeviceSliceMut<u32>,
) {
    let tile = thread::global_index() / WARP_SIZE as usize;
    // The same for all lanes.
    if tile >= widths.len() {
        return;
    }
    let start = tile * TILE as usize;
    let rest = timestamps.len() - start;
    let end = start
        + if rest < TILE as usize {
            rest
        } else {
            TILE as usize
        };
    // The last series that begins at or before the tile's first point: it has this point.
    let next = partition_point(0..offsets.len(), |series| {
        // SAFETY: below the length.
        unsafe { offsets.at(series) <= start as u64 }
    });
    let mut series = next - 1 + warp::lane_id() as usize;
    let mut bound = 0;
    while series + 1 < offsets.len() {
        // SAFETY: below the length.
        let (begin, behind) =
            unsafe { (offsets.at(series) as usize, offsets.at(series + 1) as usize) };
        if begin >= end {
            break;
        }
        let from = if begin < start { start } else { begin };
        let behind = if behind < end { behind } else { end };
        if from < behind {
            // The bucket that is open before the series' points here, unless it begins here.
            let begins = from == begin;
            let before = if begins { from } else { from - 1 };
            // SAFETY: points of the series.
            let (earlier, later) = unsafe { (timestamps.at(before), timestamps.at(behind - 1)) };
            let buckets = floor.bucket(later).wrapping_sub(floor.bucket(earlier));
            // All buckets that there can be are one more than fit.
            let buckets = buckets.saturating_add(u64::from(begins));
            let points = (behind - from) as u32;
            bound += if earlier <= later && buckets < u64::from(points) {
                buckets as u32
            } else {
                points
            };
        }
        series += WARP_SIZE as usize;
    }
    let bound = warp::reduce_sum(bound);
    if warp::lane_id() == 0 {
        // SAFETY: this tile's.
        unsafe { widths.set(tile, bound) };
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
