//! Percentiles of buckets: those of up to [`SHORT`] points are sorted by a thread, in its
//! registers; in those of up to [`MIDDLE`] a warp looks for the values, bit by bit; longer ones are
//! sorted all together by radix sort, first by value, then by bucket. All are exact, so that it
//! does not matter which way a bucket takes.

use cuda_std::prelude::*;
use cuda_std::warp::WARP_SIZE;

use crate::keys::{Bucketed, NO_KEY, Percentiles, Rank, is_nan};
use crate::points::Value;

/// Points of a bucket that a thread sorts at most.
pub const SHORT: u32 = 32;

/// Points of a bucket that a warp looks through at most.
pub const MIDDLE: u32 = 2048;

/// Threads of a block.
pub const SELECT_THREADS: u32 = 128;

/// Buckets with more than [`SHORT`] points.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct LongBuckets {
    /// How many there are up to [`MIDDLE`], and how many beyond; 0 at first.
    pub counts: DeviceSliceMut<u32>,
    /// Room for all: those up to [`MIDDLE`] stand at the front, the others at the back.
    pub list: DeviceSliceMut<u32>,
}

/// One step of a bitonic sorting network: in blocks of `$size`, elements `$distance` apart.
macro_rules! compare_and_exchange {
    ($keys:ident: $($size:literal $distance:literal),*) => {$(
        unrolled! { i in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31] {
            if i & $distance == 0 {
                let (a, b) = ($keys[i], $keys[i | $distance]);
                let ascends = i & $size == 0;
                let exchanges = (a > b) == ascends;
                $keys[i] = if exchanges { b } else { a };
                $keys[i | $distance] = if exchanges { a } else { b };
            }
        }}
    )*};
}

#[inline(always)]
unsafe fn of_short<V: Value>(points: Bucketed<V>, to: Percentiles, others: LongBuckets) {
    for bucket in thread::grid_stride(points.firsts.len()) {
        // SAFETY: below the number of buckets.
        let (first, end) = unsafe { points.points(bucket) };
        let length = end - first;
        if length > SHORT {
            let is_long = length > MIDDLE;
            // SAFETY: room for as many buckets as there can be of that length.
            unsafe {
                let place = atomic::add(others.counts.address(is_long as usize), 1) as usize;
                let place = if is_long {
                    others.list.len() - 1 - place
                } else {
                    place
                };
                others.list.set(place, bucket as u32);
            }
            continue;
        }
        let mut keys = [NO_KEY; SHORT as usize];
        let mut count = 0;
        let mut has_nan = false;
        unrolled! { i in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31] {
            if (i as u32) < length {
                // SAFETY: a point of the bucket.
                keys[i] = unsafe { points.key(first + i as u32) };
                if keys[i] != NO_KEY {
                    count += 1;
                }
                has_nan |= is_nan(keys[i]);
            }
        }}
        compare_and_exchange! { keys:
            2 1, 4 2, 4 1, 8 4, 8 2, 8 1, 16 8, 16 4, 16 2, 16 1, 32 16, 32 8, 32 4, 32 2, 32 1
        }
        let mut percentile = 0;
        while percentile < to.percents.len() {
            let mut result = f64::NAN;
            if count > 0 && !has_nan {
                // SAFETY: below the length.
                let rank = Rank::new(count, unsafe { to.percents.at(percentile) });
                let (mut lower, mut upper) = (keys[0], keys[0]);
                // Registers have no indices.
                unrolled! { i in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31] {
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
            unsafe { to.set(percentile, bucket, result) };
            percentile += 1;
        }
    }
}

/// Percentiles of buckets up to [`SHORT`] points, of `f64`; lists the others.
///
/// # Safety
/// There is room for each bucket in each column, and in the lists for as many as there can be of
/// their length.
#[kernel(max_block = 128)]
pub unsafe fn short_f64(points: Bucketed<f64>, to: Percentiles, others: LongBuckets) {
    // SAFETY: passed on to the caller.
    unsafe { of_short(points, to, others) }
}

/// [`short_f64`] of `f32`.
///
/// # Safety
/// As there.
#[kernel(max_block = 128)]
pub unsafe fn short_f32(points: Bucketed<f32>, to: Percentiles, others: LongBuckets) {
    // SAFETY: passed on to the caller.
    unsafe { of_short(points, to, others) }
}

/// A bucket that the lanes of a warp look through, each a point in 32.
struct Range<V> {
    points: Bucketed<V>,
    first: u32,
    // Not the end: numbers of points beyond it need not fit.
    length: u32,
}

/// What the lanes know of all keys together.
#[derive(Clone, Copy)]
struct Extent {
    count: u32,
    lowest: u64,
    highest: u64,
}

impl<V: Value> Range<V> {
    /// The number of keys that are there, and the lowest and highest of those above `floor`, or of
    /// all.
    #[inline(always)]
    fn extent(&self, floor: Option<u64>) -> Extent {
        let mut extent = Extent {
            count: 0,
            lowest: NO_KEY,
            highest: 0,
        };
        let mut offset = warp::lane_id();
        while offset < self.length {
            // SAFETY: a point of the bucket.
            let key = unsafe { self.points.key(self.first + offset) };
            let is_above = match floor {
                Some(floor) => key > floor,
                None => true,
            };
            if key != NO_KEY && is_above {
                extent.count += 1;
                extent.lowest = if key < extent.lowest {
                    key
                } else {
                    extent.lowest
                };
                extent.highest = if key > extent.highest {
                    key
                } else {
                    extent.highest
                };
            }
            offset += WARP_SIZE;
        }
        Extent {
            count: warp::reduce_sum(extent.count),
            lowest: warp::reduce_min(extent.lowest),
            highest: warp::reduce_max(extent.highest),
        }
    }

    /// How many keys have, from bit `bit` on, the same bits as `key`.
    #[inline(always)]
    fn alike(&self, key: u64, bit: u32) -> u32 {
        let mut count = 0;
        let mut offset = warp::lane_id();
        while offset < self.length {
            // SAFETY: a point of the bucket.
            let other = unsafe { self.points.key(self.first + offset) };
            count += ((other ^ key) >> bit == 0) as u32;
            offset += WARP_SIZE;
        }
        warp::reduce_sum(count)
    }

    /// The key at a rank, and the next higher one or the same again, of the keys within the extent
    /// of all.
    #[inline(always)]
    fn select(&self, all: Extent, rank: u32) -> (u64, u64) {
        let mut bit = u64::BITS - (all.lowest ^ all.highest).leading_zeros();
        // The bits that all have; the others are found from the highest one down.
        let mut key = if bit < u64::BITS {
            all.lowest >> bit << bit
        } else {
            0
        };
        let mut rest = rank;
        let mut alike = all.count;
        while bit > 0 {
            bit -= 1;
            let with_zero = self.alike(key, bit);
            if rest < with_zero {
                alike = with_zero;
            } else {
                rest -= with_zero;
                alike -= with_zero;
                key |= 1 << bit;
            }
        }
        let upper = if rest + 1 < alike {
            key
        } else {
            self.extent(Some(key)).lowest
        };
        (key, upper)
    }
}

#[inline(always)]
unsafe fn of_middle<V: Value>(points: Bucketed<V>, to: Percentiles, buckets: DeviceSlice<u32>) {
    let warps = thread::grid_dim_x() as usize * (thread::block_dim_x() / WARP_SIZE) as usize;
    let mut entry = thread::global_index() / WARP_SIZE as usize;
    while entry < buckets.len() {
        // SAFETY: below the length; they are buckets.
        let (bucket, (first, end)) = unsafe {
            let bucket = buckets.at(entry) as usize;
            (bucket, points.points(bucket))
        };
        let range = Range {
            points,
            first,
            length: end - first,
        };
        let all = range.extent(None);
        let mut percentile = 0;
        while percentile < to.percents.len() {
            let mut result = f64::NAN;
            if all.count > 0 && !is_nan(all.highest) {
                // SAFETY: below the length.
                let rank = Rank::new(all.count, unsafe { to.percents.at(percentile) });
                let (lower, upper) = range.select(all, rank.index);
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

/// Percentiles of some buckets, each by a warp, of `f64`.
///
/// # Safety
/// Blocks consist of whole warps; there is room for each bucket in each column.
#[kernel(max_block = 128)]
pub unsafe fn middle_f64(points: Bucketed<f64>, to: Percentiles, buckets: DeviceSlice<u32>) {
    // SAFETY: passed on to the caller.
    unsafe { of_middle(points, to, buckets) }
}

/// [`middle_f64`] of `f32`.
///
/// # Safety
/// As there.
#[kernel(max_block = 128)]
pub unsafe fn middle_f32(points: Bucketed<f32>, to: Percentiles, buckets: DeviceSlice<u32>) {
    // SAFETY: passed on to the caller.
    unsafe { of_middle(points, to, buckets) }
}
