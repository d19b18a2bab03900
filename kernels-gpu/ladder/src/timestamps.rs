//! Points in time aggregated into buckets of time.

use cuda_std::prelude::*;

/// v1: a thread sums a fixed number of neighbours, which it reads one after the other. Threads of a
/// warp read places that lie far apart. The last bucket may have fewer points.
///
/// The number is right only for points at regular steps, and buckets that are a multiple of the
/// step: the timestamps are not looked at.
///
/// # Safety
/// There are ⌈values / points⌉ sums, and as many threads; `points` is not 0.
#[kernel]
pub unsafe fn sum_neighbours(points: u32, values: DeviceSlice<f64>, sums: DeviceSliceMut<f64>) {
    let bucket = thread::global_index();
    if bucket >= sums.len() {
        return;
    }
    let first = bucket * points as usize;
    let mut sum = 0.0;
    for i in first..core::cmp::min(first + points as usize, values.len()) {
        // SAFETY: below the number of values.
        sum += unsafe { values.at(i) };
    }
    // SAFETY: below the number of sums, a thread for each.
    unsafe { sums.set(bucket, sum) };
}

/// v3, and v4 on several streams: a block first brings the values of its buckets to shared memory,
/// side by side. So warps read global memory without gaps, and threads find their neighbours in
/// shared memory.
///
/// # Safety
/// As of [`sum_neighbours`]; dynamic shared memory has `points` numbers for each thread of a block.
#[kernel]
pub unsafe fn sum_staged_neighbours(
    points: u32,
    values: DeviceSlice<f64>,
    sums: DeviceSliceMut<f64>,
) {
    let tile = shared::dynamic_shared_mem::<f64>();
    let (points, threads) = (points as usize, thread::block_dim_x() as usize);
    let me = thread::thread_idx_x() as usize;
    let first = thread::block_idx_x() as usize * threads * points;
    let there = core::cmp::min(threads * points, values.len().saturating_sub(first));
    let mut i = me;
    while i < there {
        // SAFETY: below the number of values, and within the tile.
        unsafe { tile.add(i).write(values.at(first + i)) };
        i += threads;
    }
    thread::sync_threads();
    let bucket = thread::global_index();
    if bucket >= sums.len() {
        return;
    }
    let mut sum = 0.0;
    for i in me * points..core::cmp::min((me + 1) * points, there) {
        // SAFETY: each thread wrote its element before the barrier.
        sum += unsafe { tile.add(i).read() };
    }
    // SAFETY: below the number of sums, a thread for each.
    unsafe { sums.set(bucket, sum) };
}

/// The article's `round_timestamps`: a thread floors a timestamp to a multiple of the granularity,
/// in place. The rest of the division is never negative, so that times before 1970 go down as well.
///
/// # Safety
/// `granularity` is above 0, and every timestamp has a multiple of it below.
#[kernel]
pub unsafe fn round_timestamps(granularity: i64, timestamps: DeviceSliceMut<i64>) {
    // SAFETY: by the contract of this kernel, `granularity` is above 0. A division by 0 would need
    // a panic.
    unsafe { core::hint::assert_unchecked(granularity > 0) };
    let i = thread::global_index();
    if i < timestamps.len() {
        // SAFETY: below the length, and a thread for each.
        unsafe {
            let timestamp = timestamps.at(i);
            timestamps.set(i, timestamp - timestamp.rem_euclid(granularity));
        }
    }
}

/// The article's `count_uniqs`: of sorted, rounded timestamps the thread at the first of each run
/// walks along it and counts. The number of points of a bucket need not be known before. Threads
/// within a run write 0.
///
/// # Safety
/// A count for each timestamp, and as many threads.
#[kernel]
pub unsafe fn count_runs(rounded: DeviceSlice<i64>, counts: DeviceSliceMut<u32>) {
    let i = thread::global_index();
    if i < rounded.len() {
        // SAFETY: below the length, and a thread for each.
        unsafe {
            let end = end_of_run(rounded, i);
            counts.set(i, (end - i) as u32);
        }
    }
}

/// `count_uniqs` with sums, as the article ends: the same walk also sums the values, the
/// aggregation without a fixed number of points. A long bucket is the work of one thread still.
///
/// # Safety
/// A value, a count and a sum for each timestamp, and as many threads.
#[kernel]
pub unsafe fn sum_runs(
    rounded: DeviceSlice<i64>,
    values: DeviceSlice<f64>,
    counts: DeviceSliceMut<u32>,
    sums: DeviceSliceMut<f64>,
) {
    let first = thread::global_index();
    if first >= rounded.len() {
        return;
    }
    // SAFETY: below the length.
    let end = unsafe { end_of_run(rounded, first) };
    let mut sum = 0.0;
    for i in first..end {
        // SAFETY: below the end of the run.
        sum += unsafe { values.at(i) };
    }
    // SAFETY: a thread for each.
    unsafe {
        counts.set(first, (end - first) as u32);
        sums.set(first, sum);
    }
}

/// Where the run ends that begins at `first`; `first` itself if none begins there.
///
/// # Safety
/// `first` is below the length.
#[inline(always)]
unsafe fn end_of_run(rounded: DeviceSlice<i64>, first: usize) -> usize {
    // SAFETY: all indices are below the length.
    unsafe {
        let bucket = rounded.at(first);
        let mut end = first;
        if first == 0 || rounded.at(first - 1) != bucket {
            while end < rounded.len() && rounded.at(end) == bucket {
                end += 1;
            }
        }
        end
    }
}
