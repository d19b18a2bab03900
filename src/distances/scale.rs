//! Powers of two that keep squares in range.

use super::options::Metric;

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
    /// numbers are below 2^(`max_exponent` + 1).
    pub fn new(largest: f64, dim: usize, metric: Metric, max_exponent: i32) -> Scale {
        // If all |x| < 2^e, a squared difference is at most 2^(2e+2), and the sum of D squares,
        // with rounding, at most 2^(2e+3) · D.
        let dim = dim.max(1).next_power_of_two().ilog2() as i32;
        let highest = (max_exponent - 3 - dim) / 2;
        // `unscale` must be a normal number too. For squares in f64 this excludes only results that
        // leave the range of f64 in any case.
        let limit = max_exponent - 1;
        let (power, limit) = match metric {
            Metric::L2 => (1, limit),
            Metric::SquaredL2 => (2, limit.min((f64::MAX_EXP - 2) / 2)),
        };
        let exponent = (highest - 1 - exponent_of(largest)).clamp(-limit, limit);
        Scale {
            scale: f64::from(exponent).exp2(),
            unscale: f64::from(-power * exponent).exp2(),
        }
    }
}

/// Returns the largest e with 2^e ≤ `value`, or −1023 for a value below 2^−1022.
fn exponent_of(value: f64) -> i32 {
    (value.to_bits() >> (f64::MANTISSA_DIGITS - 1)) as i32 - (f64::MAX_EXP - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents() {
        assert_eq!([1.0, 1.99, 0.5].map(exponent_of), [0, 0, -1]);
        assert_eq!([f64::MAX, 0.0].map(exponent_of), [1023, -1023]);
    }

    #[test]
    fn sums_stay_in_range_and_scales_are_normal() {
        for (max_exponent, max, tiny) in [
            (127, f64::from(f32::MAX), f64::from(f32::from_bits(1))),
            (1023, f64::MAX, f64::from_bits(1)),
        ] {
            for largest in [max, 3.0, 1.0, 0.7, tiny, 0.0] {
                for dim in [0, 1, 96, 4096, 4097] {
                    let Scale { scale, unscale } =
                        Scale::new(largest, dim, Metric::L2, max_exponent);
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

                    let squares = Scale::new(largest, dim, Metric::SquaredL2, max_exponent);
                    assert_eq!(squares.scale * squares.scale * squares.unscale, 1.0);
                    assert!(squares.scale.is_normal() && squares.unscale.is_normal());
                    assert!(squares.scale == scale || max_exponent == 1023);
                }
            }
        }
    }
}
