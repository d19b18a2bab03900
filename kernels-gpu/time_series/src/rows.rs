//! Buckets left out and filled in, and points brought into order: elements picked by index.

use cuda_std::prelude::*;

use crate::floor::Floor;
use crate::search::partition_point;

/// The bit of a filled bucket's index that says that the bucket has no points. The other bits are
/// then the index of the last bucket before with points.
pub const GAP: u64 = 1 << 63;

#[inline(always)]
unsafe fn pick<T: Copy>(
    from: DeviceSlice<T>,
    indices: DeviceSlice<u64>,
    otherwise: T,
    to: DeviceSliceMut<T>,
) {
    for place in thread::grid_stride(indices.len()) {
        // SAFETY: below the lengths.
        unsafe {
            let index = indices.at(place);
            to.set(
                place,
                if index & GAP != 0 {
                    otherwise
                } else {
                    from.at(index as usize)
                },
            );
        }
    }
}

/// Picks elements by index, and `otherwise` for indices with [`GAP`].
///
/// # Safety
/// Other indices are below the length of `from`, and there is room for each.
#[kernel]
pub unsafe fn pick_f64(
    from: DeviceSlice<f64>,
    indices: DeviceSlice<u64>,
    otherwise: f64,
    to: DeviceSliceMut<f64>,
) {
    // SAFETY: by the contract of this function, other indices are below the length of `from`, and
    // there is room for each.
    unsafe { pick(from, indices, otherwise, to) }
}

/// [`pick_f64`] of integers.
///
/// # Safety
/// The contract of [`pick_f64`]: indices without [`GAP`] are below the length of `from`, and `to`
/// has an element for each.
#[kernel]
pub unsafe fn pick_i64(
    from: DeviceSlice<i64>,
    indices: DeviceSlice<u64>,
    otherwise: i64,
    to: DeviceSliceMut<i64>,
) {
    // SAFETY: by the contract of `pick_f64`, which this kernel shares, indices without `GAP` are
    // below the length of `from`, and there is room for each.
    unsafe { pick(from, indices, otherwise, to) }
}

/// [`pick_f64`] of `f32`, by indices of 32 bits, without gaps.
///
/// # Safety
/// `order` has indices below the length of `from`, and there is room for each.
#[kernel]
pub unsafe fn reorder_f32(
    from: DeviceSlice<f32>,
    order: DeviceSlice<u32>,
    to: DeviceSliceMut<f32>,
) {
    // SAFETY: by the contract of this kernel, `order` has indices below the length of `from`, and
    // there is room for each.
    unsafe { reorder(from, order, to) }
}

/// [`reorder_f32`] of `f64`.
///
/// # Safety
/// The contract of [`reorder_f32`]: `order` has indices below the length of `from`, and `to` has an
/// element for each.
#[kernel]
pub unsafe fn reorder_f64(
    from: DeviceSlice<f64>,
    order: DeviceSlice<u32>,
    to: DeviceSliceMut<f64>,
) {
    // SAFETY: by the contract of `reorder_f32`, which this kernel shares, `order` has indices below
    // the length of `from`, and there is room for each.
    unsafe { reorder(from, order, to) }
}

/// [`reorder_f32`] of integers.
///
/// # Safety
/// The contract of [`reorder_f32`]: `order` has indices below the length of `from`, and `to` has an
/// element for each.
#[kernel]
pub unsafe fn reorder_i64(
    from: DeviceSlice<i64>,
    order: DeviceSlice<u32>,
    to: DeviceSliceMut<i64>,
) {
    // SAFETY: by the contract of `reorder_f32`, which this kernel shares, `order` has indices below
    // the length of `from`, and there is room for each.
    unsafe { reorder(from, order, to) }
}

#[inline(always)]
unsafe fn reorder<T: Copy>(from: DeviceSlice<T>, order: DeviceSlice<u32>, to: DeviceSliceMut<T>) {
    for place in thread::grid_stride(order.len()) {
        // SAFETY: below the lengths.
        unsafe { to.set(place, from.at(order.at(place) as usize)) };
    }
}

/// Keys by which timestamps are sorted, and their numbers.
///
/// # Safety
/// There is room for each.
#[kernel]
pub unsafe fn time_keys(
    timestamps: DeviceSlice<i64>,
    keys: DeviceSliceMut<u64>,
    order: DeviceSliceMut<u32>,
) {
    for index in thread::grid_stride(timestamps.len()) {
        // SAFETY: below the lengths.
        unsafe {
            keys.set(index, timestamps.at(index) as u64 ^ 1 << 63);
            order.set(index, index as u32);
        }
    }
}

/// The series of each point of `order`.
///
/// # Safety
/// Offsets ascend from 0 up to the number of points; there is room for each.
#[kernel]
pub unsafe fn series_keys(
    offsets: DeviceSlice<u64>,
    order: DeviceSlice<u32>,
    keys: DeviceSliceMut<u64>,
) {
    for place in thread::grid_stride(order.len()) {
        // SAFETY: below the length.
        let point = u64::from(unsafe { order.at(place) });
        // The last series that begins at or before the point.
        let next = partition_point(0..offsets.len(), |series| {
            // SAFETY: below the length.
            unsafe { offsets.at(series) <= point }
        });
        // SAFETY: there is room.
        unsafe { keys.set(place, next as u64 - 1) };
    }
}

/// Counts by which buckets are kept.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Counts {
    /// One for each bucket.
    pub counts: DeviceSlice<f64>,
    /// One more for each bucket, or none.
    pub more: DeviceSlice<f64>,
}

/// 1 for each bucket all of whose counts are above `ddof`, else 0.
///
/// # Safety
/// `counts` and `kept` have an element for each bucket, and `more` too unless it is empty.
#[kernel]
pub unsafe fn keep_buckets(Counts { counts, more }: Counts, ddof: f64, kept: DeviceSliceMut<u32>) {
    for bucket in thread::grid_stride(counts.len()) {
        // SAFETY: below the lengths.
        unsafe {
            let is_kept = counts.at(bucket) > ddof && (more.is_empty() || more.at(bucket) > ddof);
            kept.set(bucket, is_kept as u32);
        }
    }
}

/// The indices of the buckets that are kept, from the number of those before each.
///
/// # Safety
/// `before` has an element for each bucket and one more, `indices` for each that is kept.
#[kernel]
pub unsafe fn kept_indices(before: DeviceSlice<u64>, indices: DeviceSliceMut<u64>) {
    for bucket in thread::grid_stride(before.len() - 1) {
        // SAFETY: below the lengths.
        unsafe {
            let place = before.at(bucket);
            if before.at(bucket + 1) > place {
                indices.set(place as usize, bucket as u64);
            }
        }
    }
}

/// How many buckets each series has if all between its first and its last one come out.
///
/// # Safety
/// Offsets, of buckets, ascend up to the number of `starts`; there is room for each series.
#[kernel]
pub unsafe fn filled_lengths(
    offsets: DeviceSlice<u64>,
    starts: DeviceSlice<i64>,
    floor: Floor,
    lengths: DeviceSliceMut<u64>,
) {
    for series in thread::grid_stride(offsets.len() - 1) {
        // SAFETY: below the lengths.
        unsafe {
            let (first, end) = (offsets.at(series) as usize, offsets.at(series + 1) as usize);
            let mut length = 0;
            if first < end {
                let buckets = floor.bucket(starts.at(end - 1)) - floor.bucket(starts.at(first));
                // With a width of 1 over the whole range of `i64` there are 2⁶⁴ buckets, which
                // `u64` cannot count. The host cannot allocate 2⁶⁴ − 1 either.
                length = if buckets == u64::MAX {
                    buckets
                } else {
                    buckets + 1
                };
            }
            lengths.set(series, length);
        }
    }
}

/// Buckets of series with all between the first and the last one.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Filling {
    /// The first bucket of each series, and the number of buckets.
    pub offsets: DeviceSlice<u64>,
    /// The first filled bucket of each series, and their number.
    pub filled_offsets: DeviceSlice<u64>,
    /// The buckets' first timestamps.
    pub starts: DeviceSlice<i64>,
    /// The buckets.
    pub floor: Floor,
}

/// The first timestamp of each filled bucket, and its index: that of the last bucket with points at
/// or before it, with [`GAP`] if that is another one.
///
/// # Safety
/// There is room for each filled bucket.
#[kernel]
pub unsafe fn fill_buckets(
    filling: Filling,
    filled_starts: DeviceSliceMut<i64>,
    indices: DeviceSliceMut<u64>,
) {
    for place in thread::grid_stride(indices.len()) {
        // The last series that begins at or before the place: it is not empty.
        let next = partition_point(0..filling.filled_offsets.len(), |series| {
            // SAFETY: below the length.
            unsafe { filling.filled_offsets.at(series) <= place as u64 }
        });
        let series = next - 1;
        // SAFETY: the series has buckets.
        let (first, end, start) = unsafe {
            let (first, end) = (filling.offsets.at(series), filling.offsets.at(series + 1));
            let within = place as u64 - filling.filled_offsets.at(series);
            let bucket = filling.floor.bucket(filling.starts.at(first as usize)) + within;
            (first as usize, end as usize, filling.floor.start(bucket))
        };
        // The last bucket at or before this one: the series' first one is.
        let next = partition_point(first..end, |bucket| {
            // SAFETY: a bucket of the series.
            unsafe { filling.starts.at(bucket) <= start }
        });
        let bucket = next - 1;
        // SAFETY: a bucket of the series, and room for each filled one.
        unsafe {
            let gap = if filling.starts.at(bucket) == start {
                0
            } else {
                GAP
            };
            filled_starts.set(place, start);
            indices.set(place, bucket as u64 | gap);
        }
    }
}

/// 1 for each result that is not NaN, else 0.
///
/// # Safety
/// There is room for each result.
#[kernel]
pub unsafe fn keep_results(results: DeviceSlice<f64>, kept: DeviceSliceMut<u32>) {
    for bucket in thread::grid_stride(results.len()) {
        // SAFETY: below the lengths.
        unsafe { kept.set(bucket, !results.at(bucket).is_nan() as u32) };
    }
}

/// The results of buckets, and which of them are not NaN.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Repeated {
    /// The first bucket of each series, and the number of buckets.
    pub offsets: DeviceSlice<u64>,
    /// One for each bucket.
    pub results: DeviceSlice<f64>,
    /// The number of results before each bucket that are not NaN, and the number of all of them.
    pub before: DeviceSlice<u64>,
    /// The buckets whose results are not NaN. Not read if these are all buckets.
    pub kept: DeviceSlice<u64>,
}

impl Repeated {
    /// The last result at or before a bucket, in its series, that is not NaN; else NaN. The time does
    /// not depend on how many results before are NaN.
    ///
    /// # Safety
    /// The bucket is one of the series.
    #[inline(always)]
    unsafe fn last(&self, bucket: usize) -> f64 {
        // SAFETY: a bucket.
        let result = unsafe { self.results.at(bucket) };
        if !result.is_nan() {
            return result;
        }
        // SAFETY: there is one more than buckets.
        let before = unsafe { self.before.at(bucket) };
        if before == 0 {
            return result;
        }
        // SAFETY: below the number of buckets that are kept.
        let last = unsafe { self.kept.at(before as usize - 1) };
        // The series that `last` belongs to ends behind the bucket, or before it.
        let next = partition_point(0..self.offsets.len(), |series| {
            // SAFETY: below the length.
            unsafe { self.offsets.at(series) <= last }
        });
        // SAFETY: `last` is below the last offset.
        if unsafe { self.offsets.at(next) } <= bucket as u64 {
            return result;
        }
        // SAFETY: a bucket.
        unsafe { self.results.at(last as usize) }
    }
}

/// Picks results by index. For indices with [`GAP`], the last result before that is not NaN.
///
/// # Safety
/// The other bits of indices are buckets, and there is room for each.
#[kernel]
pub unsafe fn pick_previous(
    repeated: Repeated,
    indices: DeviceSlice<u64>,
    to: DeviceSliceMut<f64>,
) {
    for place in thread::grid_stride(indices.len()) {
        // SAFETY: below the lengths, and buckets.
        unsafe {
            let index = indices.at(place);
            let bucket = (index & !GAP) as usize;
            to.set(
                place,
                if index & GAP != 0 {
                    repeated.last(bucket)
                } else {
                    repeated.results.at(bucket)
                },
            );
        }
    }
}
