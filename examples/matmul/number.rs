//! The types of numbers, for all that is the same for them.

use gridstride::matmul::Number;
use half::{bf16, f16};

/// A type of A and B.
pub trait Real: Number {
    const NAME: &'static str;

    /// The name of C's type, its largest number, and its smallest one above 0.
    const SUM_NAME: &'static str;
    const LARGEST_SUM: f64;
    const SMALLEST_SUM: f64;

    /// The number of this type that is nearest, or next to the nearest.
    fn of(number: f64) -> Self;
}

macro_rules! real {
    ($($type:ident, $sum:ident, $of:expr;)*) => {$(
        impl Real for $type {
            const NAME: &'static str = stringify!($type);
            const SUM_NAME: &'static str = stringify!($sum);
            const LARGEST_SUM: f64 = $sum::MAX as f64;
            const SMALLEST_SUM: f64 = $sum::from_bits(1) as f64;

            fn of(number: f64) -> $type {
                $of(number)
            }
        }
    )*};
}
real! {
    f32, f32, |number| number as f32;
    f64, f64, |number| number;
    f16, f32, f16::from_f64;
    bf16, f32, bf16::from_f64;
}
