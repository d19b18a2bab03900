//! The number types of arrays.

use std::fmt::Debug;

use crate::device::Element;

/// A type of numbers: `f32`, `f64`, `i32`, and with the feature `matmul` of gridstride (here: `half`)
/// also `f16` and `bf16` of the crate half.
///
/// Each kernel takes some of these types, and has its own trait for further properties. Sealed.
pub trait Number: Element + PartialOrd + Debug + sealed::Sealed {
    /// The name of the type, for messages.
    const NAME: &'static str;

    /// Converts to `f64`, which is exact.
    fn to_f64(self) -> f64;

    /// Returns the nearest number of the type, ties to even. Integers saturate, and NaN becomes 0.
    ///
    /// ```
    /// use gridstride::Number;
    ///
    /// assert_eq!(f32::from_f64(0.1), 0.1);
    /// assert_eq!(i32::from_f64(2.5), 2);
    /// ```
    fn from_f64(value: f64) -> Self;
}

/// A floating-point type of results: `f32` or `f64`.
pub trait Real: Number {
    /// The unit roundoff u, 2⁻²⁴ or 2⁻⁵³: half the distance from 1 to the next larger number, and
    /// the largest relative error of a rounding.
    const UNIT_ROUNDOFF: f64;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! numbers {
    ($($type:ident: |$value:ident| $from:expr;)*) => {$(
        impl sealed::Sealed for $type {}

        impl Number for $type {
            const NAME: &'static str = stringify!($type);

            #[inline]
            fn to_f64(self) -> f64 {
                self.into()
            }

            #[inline]
            fn from_f64($value: f64) -> $type {
                $from
            }
        }
    )*};
}
numbers! {
    f32: |value| value as f32;
    f64: |value| value;
    i32: |value| value.round_ties_even() as i32;
}

#[cfg(feature = "half")]
mod half_precision {
    use half::{bf16, f16};

    use super::*;

    numbers! {
        f16: |value| f16::from_f32(rounded_to_odd(value));
        bf16: |value| bf16::from_f32(rounded_to_odd(value));
    }

    /// Rounds to the neighbour with an odd last bit if the value is no `f32`, so that a second
    /// rounding, to fewer bits, has the same result as a single rounding: Boldo, Melquiond, 'When
    /// double rounding is odd' (2005).
    fn rounded_to_odd(value: f64) -> f32 {
        let nearest = value as f32;
        let error = value - f64::from(nearest);
        if error == 0.0 || value.is_nan() || value.is_infinite() {
            return nearest;
        }
        let bits = nearest.to_bits();
        let is_away_from_zero = f64::from(nearest).abs() > value.abs();
        f32::from_bits((bits - u32::from(is_away_from_zero)) | 1)
    }

    #[cfg(test)]
    #[test]
    fn conversion_rounds_once() {
        for (value, nearest) in [
            // Just above the middle of two neighbours, and equal to the middle in f32.
            (1.0 + 2f64.powi(-11) + 2f64.powi(-40), 1.0 + 2f64.powi(-10)),
            (1.0 + 2f64.powi(-11), 1.0),
            (
                -1.0 - 2f64.powi(-11) - 2f64.powi(-40),
                -1.0 - 2f64.powi(-10),
            ),
            (2f64.powi(-25) * (1.0 + 2f64.powi(-30)), 2f64.powi(-24)),
            (2f64.powi(-25), 0.0),
            (65_519.999, 65_504.0),
            (65_520.0, f64::INFINITY),
            (1e300, f64::INFINITY),
            (f64::NEG_INFINITY, f64::NEG_INFINITY),
        ] {
            let rounded = <f16 as Number>::from_f64(value).to_f64();
            assert_eq!(rounded, nearest, "{value:e}");
        }
        let rounded = |value| <bf16 as Number>::from_f64(value).to_f64();
        let value = 1.0 + 2f64.powi(-8) + 2f64.powi(-40);
        assert_eq!(rounded(value), 1.0 + 2f64.powi(-7));
        assert!(rounded(f64::NAN).is_nan());
    }
}

impl Real for f32 {
    const UNIT_ROUNDOFF: f64 = f32::EPSILON as f64 / 2.0;
}

impl Real for f64 {
    const UNIT_ROUNDOFF: f64 = f64::EPSILON / 2.0;
}
