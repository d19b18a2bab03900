//! Values as integers in the same order, and what a percentile is of values in order.

use cuda_std::prelude::*;

use crate::points::{Absent, Value};

/// The key of a point that is not there: above all others.
pub const NO_KEY: u64 = u64::MAX;

/// The key of NaN, whatever its bits.
const NAN_KEY: u64 = 0xfff8_0000_0000_0000;

/// The key of a value: −0 is below 0, and NaN above all numbers.
#[inline(always)]
pub fn key(value: f64, absent: Absent) -> u64 {
    if !absent.has(value) {
        return NO_KEY;
    }
    if value.is_nan() {
        return NAN_KEY;
    }
    let bits = value.to_bits();
    // The order of negative numbers is that of their bits the other way round.
    bits ^ (((bits as i64) >> 63) as u64 | 1 << 63)
}

/// The value of a key.
#[inline(always)]
fn value(key: u64) -> f64 {
    let bits = if key >> 63 != 0 { key ^ 1 << 63 } else { !key };
    f64::from_bits(bits)
}

/// Where a percentile stands among `count` values in order: the index of the value below or at it,
/// and how far it is on the way to the next one.
#[derive(Clone, Copy, Debug)]
pub struct Rank {
    /// The index of the lower value.
    pub index: u32,
    /// From 0 to below 1.
    pub fraction: f64,
}

impl Rank {
    /// Of a percentile from 0 to 100, of 1 value at least.
    #[inline(always)]
    pub fn new(count: u32, percent: f64) -> Rank {
        let place = (count - 1) as f64 * percent / 100.0;
        let index = float::floor_f64(place);
        Rank {
            index: index as u32,
            fraction: place - index,
        }
    }

    /// The percentile, between the value at the index and the next one. If there is none, `upper`
    /// may be any.
    #[inline(always)]
    pub fn between(self, lower: u64, upper: u64) -> f64 {
        interpolated(value(lower), value(upper), self.fraction)
    }
}

/// The number at `fraction`, from 0 to below 1, of the way from `low` up to `high`.
#[inline(always)]
pub fn interpolated(low: f64, high: f64, fraction: f64) -> f64 {
    // The difference of equal infinities is not a number, and neither is a part 0 of one that is
    // infinite.
    if fraction == 0.0 || low == high {
        return low;
    }
    let difference = high - low;
    if difference.is_infinite() && low.is_finite() && high.is_finite() {
        return low * (1.0 - fraction) + high * fraction;
    }
    low + fraction * difference
}

/// Whether a key is that of a value that is not a number.
#[inline(always)]
pub fn is_nan(key: u64) -> bool {
    key == NAN_KEY
}

/// The points of all buckets, of which percentiles are taken.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Bucketed<V> {
    /// The value of each point.
    pub values: DeviceSlice<V>,
    /// The index of each bucket's first point.
    pub firsts: DeviceSlice<u32>,
    /// Which points take no part.
    pub absent: Absent,
}

impl<V: Value> Bucketed<V> {
    /// The first point of a bucket, and the first one behind it.
    ///
    /// # Safety
    /// `bucket` is below the number of buckets.
    #[inline(always)]
    pub unsafe fn points(&self, bucket: usize) -> (u32, u32) {
        // SAFETY: below the length.
        unsafe {
            let end = if bucket + 1 < self.firsts.len() {
                self.firsts.at(bucket + 1)
            } else {
                self.values.len() as u32
            };
            (self.firsts.at(bucket), end)
        }
    }

    /// The key of a point.
    ///
    /// # Safety
    /// `point` is below the number of values.
    #[inline(always)]
    pub unsafe fn key(&self, point: u32) -> u64 {
        // SAFETY: below the length.
        key(
            unsafe { self.values.at(point as usize) }.to_f64(),
            self.absent,
        )
    }
}

/// Where percentiles go.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Percentiles {
    /// The percentiles, from 0 to 100.
    pub percents: DeviceSlice<f64>,
    /// Room for a column of each.
    pub columns: DeviceSliceMut<f64>,
    /// Stride between columns, in elements.
    pub stride: usize,
}

impl Percentiles {
    /// Writes a bucket's percentile.
    ///
    /// # Safety
    /// The percentile and the bucket exist, and no other thread writes the element.
    #[inline(always)]
    pub unsafe fn set(&self, percentile: usize, bucket: usize, value: f64) {
        // SAFETY: room for each bucket in each column.
        unsafe { self.columns.set(percentile * self.stride + bucket, value) };
    }
}
