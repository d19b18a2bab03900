//! The types of numbers, for all that is the same for them.

use gridstride::matmul::Scalar;
use half::{bf16, f16};

/// A type of A and B.
pub trait Real: Scalar {
    /// C's largest number.
    const LARGEST_SUM: f64;
    /// C's smallest number above 0.
    const SMALLEST_SUM: f64;
}

macro_rules! real {
    ($($type:ident, $sum:ident;)*) => {$(
        impl Real for $type {
            const LARGEST_SUM: f64 = $sum::MAX as f64;
            const SMALLEST_SUM: f64 = $sum::from_bits(1) as f64;
        }
    )*};
}
real! {
    f32, f32;
    f64, f64;
    f16, f32;
    bf16, f32;
}
