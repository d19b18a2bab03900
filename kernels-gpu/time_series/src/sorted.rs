//! Percentiles of long buckets by sorting: what comes before and after the radix sort.

use cuda_std::prelude::*;

use crate::keys::{Bucketed, NO_KEY, Percentiles, Rank, is_nan};
use crate::points::Value;
use crate::search::partition_point;

/// Arguments of [`bucket_lengths`].
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct BucketLengths {
    /// The number of points.
    pub points: usize,
    /// The index of the first point of every bucket.
    pub firsts: DeviceSlice<u32>,
    /// Some of the buckets.
    pub buckets: DeviceSlice<u32>,
    /// Room for the length of each of them.
    pub lengths: DeviceSliceMut<u32>,
}

/// The lengths of some buckets.
///
/// # Safety
/// The arguments are as they say.
#[kernel]
pub unsafe fn bucket_lengths(arguments: BucketLengths) {
    let BucketLengths {
        points,
        firsts,
        buckets,
        lengths,
    } = arguments;
    for entry in thread::grid_stride(buckets.len()) {
        // SAFETY: below the lengths; they are buckets.
        unsafe {
            let bucket = buckets.at(entry) as usize;
            let end = if bucket + 1 < firsts.len() {
                firsts.at(bucket + 1)
            } else {
                points as u32
            };
            lengths.set(entry, end - firsts.at(bucket));
        }
    }
}

#[inline(always)]
unsafe fn keys_of<V: Value>(
    points: Bucketed<V>,
    buckets: DeviceSlice<u32>,
    offsets: DeviceSlice<u64>,
    keys: DeviceSliceMut<u64>,
    entries: DeviceSliceMut<u32>,
) {
    for place in thread::grid_stride(keys.len()) {
        // The end of the last one is above all places.
        let next = partition_point(0..offsets.len(), |entry| {
            // SAFETY: below the length.
            unsafe { offsets.at(entry) <= place as u64 }
        });
        let entry = next - 1;
        // SAFETY: an entry is below the number of buckets, whose points these are.
        unsafe {
            let first = points.firsts.at(buckets.at(entry) as usize);
            let within = place as u64 - offsets.at(entry);
            keys.set(place, points.key(first + within as u32));
            entries.set(place, entry as u32);
        }
    }
}

/// The keys of the points of some buckets, of `f64`, one bucket after the other, and which one each
/// is of.
///
/// # Safety
/// `offsets` has where each bucket's points go, and behind it their number: there is room for as
/// many.
#[kernel]
pub unsafe fn keys_f64(
    points: Bucketed<f64>,
    buckets: DeviceSlice<u32>,
    offsets: DeviceSlice<u64>,
    keys: DeviceSliceMut<u64>,
    entries: DeviceSliceMut<u32>,
) {
    // SAFETY: passed on to the caller.
    unsafe { keys_of(points, buckets, offsets, keys, entries) }
}

/// [`keys_f64`] of `f32`.
///
/// # Safety
/// As there.
#[kernel]
pub unsafe fn keys_f32(
    points: Bucketed<f32>,
    buckets: DeviceSlice<u32>,
    offsets: DeviceSlice<u64>,
    keys: DeviceSliceMut<u64>,
    entries: DeviceSliceMut<u32>,
) {
    // SAFETY: passed on to the caller.
    unsafe { keys_of(points, buckets, offsets, keys, entries) }
}

/// Makes keys of numbers, and numbers them.
///
/// # Safety
/// There is room for each.
#[kernel]
pub unsafe fn widen(
    numbers: DeviceSlice<u32>,
    keys: DeviceSliceMut<u64>,
    order: DeviceSliceMut<u32>,
) {
    for index in thread::grid_stride(numbers.len()) {
        // SAFETY: below the lengths.
        unsafe {
            keys.set(index, u64::from(numbers.at(index)));
            order.set(index, index as u32);
        }
    }
}

/// Sorted points of some buckets.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Sorted {
    /// The buckets.
    pub buckets: DeviceSlice<u32>,
    /// Where each bucket's points begin in `order`, and behind it their number.
    pub offsets: DeviceSlice<u64>,
    /// The keys of all, ascending.
    pub keys: DeviceSlice<u64>,
    /// Which keys are each bucket's, ascending.
    pub order: DeviceSlice<u32>,
}

impl Sorted {
    #[inline(always)]
    fn key(&self, place: usize) -> u64 {
        // SAFETY: below the number of points.
        unsafe { self.keys.at(self.order.at(place) as usize) }
    }
}

/// Takes percentiles from sorted points, a thread for each bucket.
///
/// # Safety
/// There is room for each bucket in each column.
#[kernel]
pub unsafe fn percentiles_of_sorted(sorted: Sorted, to: Percentiles) {
    for entry in thread::grid_stride(sorted.buckets.len()) {
        // SAFETY: below the lengths.
        let (bucket, first, end) = unsafe {
            let (first, end) = (sorted.offsets.at(entry), sorted.offsets.at(entry + 1));
            let bucket = sorted.buckets.at(entry);
            (bucket as usize, first as usize, end as usize)
        };
        // The first one that is not there.
        let end = partition_point(first..end, |place| sorted.key(place) < NO_KEY);
        let count = (end - first) as u32;
        let has_nan = count > 0 && is_nan(sorted.key(end - 1));
        let mut percentile = 0;
        while percentile < to.percents.len() {
            let mut result = f64::NAN;
            if count > 0 && !has_nan {
                // SAFETY: below the length.
                let rank = Rank::new(count, unsafe { to.percents.at(percentile) });
                let lower = sorted.key(first + rank.index as usize);
                let mut upper = lower;
                if rank.index + 1 < count {
                    upper = sorted.key(first + rank.index as usize + 1);
                }
                result = rank.between(lower, upper);
            }
            // SAFETY: this thread's bucket.
            unsafe { to.set(percentile, bucket, result) };
            percentile += 1;
        }
    }
}
