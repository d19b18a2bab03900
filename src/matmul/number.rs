//! The numbers that matrices consist of.

use std::fmt::Debug;

use half::{bf16, f16};
use ndarray::LinalgScalar;

use super::sealed::Sealed;
use crate::device::Element;

/// A type of numbers of A and B: `f32`, `f64`, and [`half`]'s `f16` and `bf16`, whose products are summed up in
/// `f32`.
pub trait Number: Element + Debug + PartialOrd + Sealed {
    /// The type of C, in which products are summed up.
    type Sum: Sum;

    /// The same number.
    fn to_f64(self) -> f64;

    /// The nearest number of the type.
    fn of_f64(number: f64) -> Self;
}

/// A type of numbers of C: `f32` or `f64`.
pub trait Sum: Number<Sum = Self> + LinalgScalar {
    /// The largest relative error of a rounding: 2⁻²⁴ or 2⁻⁵³.
    const ROUNDOFF: f64;
}

impl Number for f32 {
    type Sum = f32;

    fn to_f64(self) -> f64 {
        self.into()
    }

    fn of_f64(number: f64) -> f32 {
        number as f32
    }
}

impl Number for f64 {
    type Sum = f64;

    fn to_f64(self) -> f64 {
        self
    }

    fn of_f64(number: f64) -> f64 {
        number
    }
}

impl Number for f16 {
    type Sum = f32;

    fn to_f64(self) -> f64 {
        self.into()
    }

    fn of_f64(number: f64) -> f16 {
        f16::from_f64(number)
    }
}

impl Number for bf16 {
    type Sum = f32;

    fn to_f64(self) -> f64 {
        self.into()
    }

    fn of_f64(number: f64) -> bf16 {
        bf16::from_f64(number)
    }
}

impl Sum for f32 {
    const ROUNDOFF: f64 = 1.0 / (1u64 << 24) as f64;
}

impl Sum for f64 {
    const ROUNDOFF: f64 = 1.0 / (1u64 << 53) as f64;
}
