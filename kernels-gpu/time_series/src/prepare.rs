//! Values as the options make them, where that takes more than a look at each: duplicates left out,
//! rates.

use cuda_std::prelude::*;

use crate::points::{ABSENT, Value};

/// Which points with equal timestamps are kept.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, DeviceParam)]
pub enum Duplicates {
    /// All.
    Keep,
    /// The first one.
    First,
    /// The last one.
    Last,
}

/// How values are prepared.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Preparation {
    /// The timestamp of each point.
    pub timestamps: DeviceSlice<i64>,
    /// A bit for each point: whether a series begins with it. Without words only the first one.
    pub series_starts: DeviceSlice<u32>,
    /// How points with equal timestamps are treated.
    pub duplicates: Duplicates,
    /// Whether points with NaN are left out: 0 or 1.
    pub skips_nan: u32,
    /// Whether differences to the value before are made: 0 or 1.
    pub makes_rates: u32,
}

impl Preparation {
    #[inline(always)]
    fn begins_series(&self, index: usize) -> bool {
        if index == 0 {
            return true;
        }
        if self.series_starts.is_empty() {
            return false;
        }
        // SAFETY: a bit for each point.
        unsafe { self.series_starts.at(index / 32) >> (index % 32) & 1 != 0 }
    }

    /// Whether the point has the same timestamp as the one before it in its series.
    #[inline(always)]
    fn repeats(&self, index: usize) -> bool {
        // SAFETY: both are points.
        !self.begins_series(index)
            && unsafe { self.timestamps.at(index - 1) == self.timestamps.at(index) }
    }

    /// Whether a point with this value is there.
    #[inline(always)]
    fn has(&self, index: usize, value: f64) -> bool {
        if self.skips_nan != 0 && value.is_nan() {
            return false;
        }
        match self.duplicates {
            Duplicates::Keep => true,
            Duplicates::First => !self.repeats(index),
            Duplicates::Last => index + 1 == self.timestamps.len() || !self.repeats(index + 1),
        }
    }
}

#[inline(always)]
unsafe fn prepare<V: Value>(
    preparation: Preparation,
    values: DeviceSlice<V>,
    prepared: DeviceSliceMut<f64>,
) {
    for index in thread::grid_stride(values.len()) {
        // SAFETY: below the length.
        let mut value = unsafe { values.at(index) }.to_f64();
        let mut is_there = preparation.has(index, value);
        if is_there && preparation.makes_rates != 0 {
            // The nearest lower point of the series that is there. Each run of points that are not
            // is passed over by one thread, so that all together look at each point once.
            let mut other = index;
            loop {
                if preparation.begins_series(other) {
                    is_there = false;
                    break;
                }
                other -= 1;
                // SAFETY: `other` is at least 0, since a series begins with point 0, and below
                // `index`.
                let before = unsafe { values.at(other) }.to_f64();
                if preparation.has(other, before) {
                    value -= before;
                    break;
                }
            }
        }
        // Other NaN must not look like that.
        let bits = if !is_there {
            ABSENT
        } else if value.is_nan() {
            f64::NAN.to_bits()
        } else {
            value.to_bits()
        };
        // SAFETY: room for each value.
        unsafe { prepared.set(index, f64::from_bits(bits)) };
    }
}

/// Prepares `f64`. A point that is not there gets the bits of [`ABSENT`].
///
/// # Safety
/// There are as many timestamps, values and places for prepared ones.
#[kernel]
pub unsafe fn prepare_f64(
    preparation: Preparation,
    values: DeviceSlice<f64>,
    prepared: DeviceSliceMut<f64>,
) {
    // SAFETY: by the contract of this function, there are as many timestamps, values and places for
    // prepared ones.
    unsafe { prepare(preparation, values, prepared) }
}

/// Prepares `f32` as [`prepare_f64`].
///
/// # Safety
/// `prepared` has an element for each timestamp, and so has `values`, as for [`prepare_f64`].
#[kernel]
pub unsafe fn prepare_f32(
    preparation: Preparation,
    values: DeviceSlice<f32>,
    prepared: DeviceSliceMut<f64>,
) {
    // SAFETY: by the contract of `prepare_f64`, which this kernel shares, there are as many
    // timestamps, values and places for prepared ones.
    unsafe { prepare(preparation, values, prepared) }
}
