//! Powers of two that keep squares in range.

/// The power of two by which all numbers are multiplied before their differences are squared, and
/// the power of two that reverts the scale in the result.
///
/// The scaled largest magnitude is as high as the sums allow, so that small differences lose as
/// little as possible to underflow. Otherwise multiplication by a power of two is exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Factor of the numbers.
    pub scale: f64,
    /// Factor of the result.
    pub unscale: f64,
}

impl Scale {
    /// Returns the scale for rows of `dim` numbers up to `largest`, and sums of a type whose
    /// numbers are below 2^(`max_exponent` + 1). The results are the roots of the sums if `is_root`.
    #[inline(always)]
    pub fn new(largest: f64, dim: usize, is_root: bool, max_exponent: i32) -> Scale {
        // If all |x| < 2^e, a squared difference is at most 2^(2e+2), and the sum of D squares,
        // with rounding, at most 2^(2e+3) · D.
        let dim = dim.max(1).next_power_of_two().ilog2() as i32;
        let highest = (max_exponent - 3 - dim) / 2;
        // `unscale` must be a normal number too. For squares in f64 this excludes only results that
        // leave the range of f64 in any case.
        let limit = max_exponent - 1;
        let (power, limit) = if is_root {
            (1, limit)
        } else {
            (2, limit.min((f64::MAX_EXP - 2) / 2))
        };
        let exponent = (highest - 1 - exponent_of(largest)).clamp(-limit, limit);
        Scale {
            scale: power_of_two(exponent),
            unscale: power_of_two(-power * exponent),
        }
    }
}

/// The bits of the fraction of an `f64`.
const FRACTION: u32 = f64::MANTISSA_DIGITS - 1;

/// The bias of the exponents of `f64`.
const BIAS: i32 = f64::MAX_EXP - 1;

/// Returns the largest e with 2^e ≤ `value`, or −1023 for a value below 2^−1022.
#[inline(always)]
fn exponent_of(value: f64) -> i32 {
    (value.to_bits() >> FRACTION) as i32 - BIAS
}

/// Returns 2^`exponent`, a normal number.
#[inline(always)]
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + BIAS) as u64) << FRACTION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents() {
        assert_eq!([1.0, 1.99, 0.5].map(exponent_of), [0, 0, -1]);
        assert_eq!([f64::MAX, 0.0].map(exponent_of), [1023, -1023]);
        assert_eq!(
            [-1022, 0, 3].map(power_of_two),
            [f64::MIN_POSITIVE, 1.0, 8.0]
        );
    }

    #[test]
    fn sums_stay_in_range_and_scales_are_normal() {
        for (max_exponent, max, tiny) in [
            (127, f64::from(f32::MAX), f64::from(f32::from_bits(1))),
            (1023, f64::MAX, f64::from_bits(1)),
        ] {
            for largest in [max, 3.0, 1.0, 0.7, tiny, 0.0] {
                for dim in [0, 1, 96, 4096, 4097] {
                    let Scale { scale, unscale } = Scale::new(largest, dim, true, max_exponent);
                    assert_eq!(scale * unscale, 1.0);
                    assert!(scale.is_normal() && unscale.is_normal());
                    let highest = (largest * scale * 2.0).log2() * 2.0 + (dim.max(1) as f64).log2();
                    assert!(
                        highest < f64::from(max_exponent),
                        "{largest:e}, {dim}: {highest}"
                    );
                    // As high as possible, except for the smallest numbers.
                    let gap = f64::from(max_exponent) - highest;
                    assert!(gap <= 6.0 || scale == f64::from(max_exponent - 1).exp2());

                    let squares = Scale::new(largest, dim, false, max_exponent);
                    assert_eq!(squares.scale * squares.scale * squares.unscale, 1.0);
                    assert!(squares.scale.is_normal() && squares.unscale.is_normal());
                    assert!(squares.scale == scale || max_exponent == 1023);
                }
            }
        }
    }
}
