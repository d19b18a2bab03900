//! Marks the first points of series, before the points are aggregated.

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
/// Offsets ascend from 0 up to the number of timestamps. There is a width for each tile, and a
/// thread for one series, or a warp for several.
#[kernel(block = 256)]
pub unsafe fn bound_tiles(
    offsets: DeviceSlice<u64>,
    timestamps: DeviceSlice<i64>,
    floor: Floor,
    widths: DeviceSliceMut<u32>,
) {
    let place = thread::global_index();
    // The kernel waits for two reads of each tile, so that it is fast if all tiles are read at once.
    if offsets.len() == 2 {
        if place < widths.len() {
            let start = place * TILE as usize;
            let end = end_of(start, timestamps.len());
            // SAFETY: by the contract of this function, offsets ascend from 0 up to the number of
            // timestamps. There is a width for each tile, and a thread for one series, or a warp
            // for several.
            unsafe {
                let bound = bound(&timestamps, &floor, 0, start, end);
                widths.set(place, bound);
            }
        }
        return;
    }
    let tile = place / WARP_SIZE as usize;
    // The same for all lanes.
    if tile >= widths.len() {
        return;
    }
    let start = tile * TILE as usize;
    let end = end_of(start, timestamps.len());
    // The last series that begins at or before the tile's first point: it has this point.
    let next = partition_point(0..offsets.len(), |series| {
        // SAFETY: below the length.
        unsafe { offsets.at(series) <= start as u64 }
    });
    let mut series = next - 1 + warp::lane_id() as usize;
    let mut sum = 0;
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
            // SAFETY: points of the series.
            sum += unsafe { bound(&timestamps, &floor, begin, from, behind) };
        }
        series += WARP_SIZE as usize;
    }
    let sum = warp::reduce_sum(sum);
    if warp::lane_id() == 0 {
        // SAFETY: this tile's.
        unsafe { widths.set(tile, sum) };
    }
}

/// The end of the tile from `start` on.
#[inline(always)]
fn end_of(start: usize, points: usize) -> usize {
    let rest = points - start;
    let tile = TILE as usize;
    start + if rest < tile { rest } else { tile }
}

/// Bounds the number of buckets that begin with points `from` to `behind` of the series whose
/// points begin at `begin`.
///
/// # Safety
/// `begin <= from < behind`, and they are points.
#[inline(always)]
unsafe fn bound(
    timestamps: &DeviceSlice<i64>,
    floor: &Floor,
    begin: usize,
    from: usize,
    behind: usize,
) -> u32 {
    // The bucket that is open before the points, unless the series begins with them.
    let begins = from == begin;
    let before = if begins { from } else { from - 1 };
    // SAFETY: by the contract of this function, `begin <= from < behind`, and they are points.
    let (earlier, later) = unsafe { (timestamps.at(before), timestamps.at(behind - 1)) };
    let buckets = floor.bucket(later).wrapping_sub(floor.bucket(earlier));
    // All buckets that there can be are one more than fit.
    let buckets = buckets.saturating_add(u64::from(begins));
    let points = (behind - from) as u32;
    if earlier <= later && buckets < u64::from(points) {
        buckets as u32
    } else {
        points
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
