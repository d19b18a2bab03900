//! Where the centres of all boxes are.

use cuda_std::prelude::*;

use crate::counters::Counters;

/// Bits of a number as an integer that is ordered as the numbers are.
#[inline(always)]
pub fn ordered(value: f64) -> i64 {
    let bits = value.to_bits() as i64;
    bits ^ ((bits >> 63) & i64::MAX)
}

/// The number that [`ordered`] was made of.
#[inline(always)]
fn number(ordered: i64) -> f64 {
    f64::from_bits((ordered ^ ((ordered >> 63) & i64::MAX)) as u64)
}

/// Where the centres of all boxes are, those with an infinite limit aside.
#[derive(Clone, Copy)]
pub struct Domain {
    /// Half of the lowest along each axis: the difference of halves does not overflow.
    low: [f64; 3],
    /// What brings half an extent of the domain to 1.
    scale: [f64; 3],
    /// The mean of half the boxes' extents along their longest axis, infinite ones counted as
    /// nothing.
    pub mean_extent: f64,
}

impl Domain {
    /// # Safety
    /// `counters` are those that `examine` has left, of `boxes` boxes.
    #[inline(always)]
    pub unsafe fn load(counters: DeviceSlice<u64>, boxes: u32) -> Domain {
        let (mut low, mut scale) = ([0.0; 3], [1.0; 3]);
        unrolled! { axis in [0 1 2] {
            // SAFETY: passed on to the caller.
            let (least, most) = unsafe {
                (
                    counters.at(Counters::LOW + axis) as i64,
                    counters.at(Counters::HIGH + axis) as i64,
                )
            };
            if least <= most {
                low[axis] = 0.5 * number(least);
                let half = 0.5 * number(most) - low[axis];
                if half > 0.0 {
                    // Of a subnormal number the reciprocal is infinite.
                    scale[axis] = (1.0 / half).min(f64::MAX);
                }
            }
        }}
        // SAFETY: passed on to the caller.
        let sum = f64::from_bits(unsafe { counters.at(Counters::EXTENT) });
        Domain {
            low,
            scale,
            mean_extent: sum / boxes as f64,
        }
    }

    /// Where a coordinate is between the lowest centre, 0, and the highest, 1: never falling, and
    /// of a number never NaN, since the half of any is finite or infinite itself, and the scale is
    /// neither 0 nor infinite.
    #[inline(always)]
    pub fn place(&self, coordinate: f64, axis: usize) -> f64 {
        (0.5 * coordinate - self.low[axis]) * self.scale[axis]
    }
}

/// Half the box's extent along its longest axis.
#[inline(always)]
pub fn half_extent(low: &[f64; 3], high: &[f64; 3]) -> f64 {
    let mut extent = 0.0f64;
    unrolled! { axis in [0 1 2] {
        extent = extent.max(0.5 * high[axis] - 0.5 * low[axis]);
    }}
    extent
}
