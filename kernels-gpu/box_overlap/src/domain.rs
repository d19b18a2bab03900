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
    /// The factor that scales half an extent of the domain to 1.
    scale: [f64; 3],
    /// Half the domain's extent along its longest axis.
    longest: f64,
    /// The mean of half the boxes' extents along their longest axis, infinite ones counted as
    /// nothing.
    pub mean_extent: f64,
}

impl Domain {
    /// # Safety
    /// `counters` are those that `examine` has left, of `boxes` boxes.
    #[inline(always)]
    pub unsafe fn load(counters: DeviceSlice<u64>, boxes: u32) -> Domain {
        let (mut low, mut scale, mut longest) = ([0.0; 3], [1.0; 3], 0.0f64);
        unrolled! { axis in [0 1 2] {
            // SAFETY: by the contract of this function, `counters` are those that `examine` has
            // left, of `boxes` boxes.
            let (least, most) = unsafe {
                (
                    counters.at(Counters::LOW + axis) as i64,
                    counters.at(Counters::HIGH + axis) as i64,
                )
            };
            if least <= most {
                low[axis] = 0.5 * number(least);
                let half = 0.5 * number(most) - low[axis];
                longest = longest.max(half);
                if half > 0.0 {
                    // Of a subnormal number the reciprocal is infinite.
                    scale[axis] = (1.0 / half).min(f64::MAX);
                }
            }
        }}
        // SAFETY: by the contract of this function, `counters` are those that `examine` has left,
        // of `boxes` boxes.
        let sum = f64::from_bits(unsafe { counters.at(Counters::EXTENT) });
        Domain {
            low,
            scale,
            longest,
            mean_extent: sum / boxes as f64,
        }
    }

    /// The bits of a coordinate that tell apart cells as wide as the mean box is long, `most` at
    /// most. With finer cells a search visits hardly less.
    #[inline(always)]
    pub fn useful_bits(&self, most: u32) -> u32 {
        let (mut bits, mut cells) = (1, 2.0);
        loop {
            // The mean is 0 if all boxes are points; NaN is never enough.
            let is_enough = self.mean_extent * cells >= self.longest;
            if is_enough || bits >= most {
                return bits;
            }
            bits += 1;
            cells *= 2.0;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_as_wide_as_the_mean_box() {
        let domain = |longest, mean_extent| Domain {
            low: [0.0; 3],
            scale: [1.0; 3],
            longest,
            mean_extent,
        };
        assert_eq!(domain(100.0, 1.3).useful_bits(15), 7);
        assert_eq!(domain(128.0, 1.0).useful_bits(15), 7);
        assert_eq!(domain(128.1, 1.0).useful_bits(15), 8);
        assert_eq!(domain(0.0, 0.0).useful_bits(15), 1);
        // Points, and extents whose sum overflows.
        assert_eq!(domain(1.0, 0.0).useful_bits(15), 15);
        assert_eq!(domain(1.0, f64::NAN).useful_bits(15), 15);
        assert_eq!(domain(1.0, f64::INFINITY).useful_bits(15), 1);
    }
}
