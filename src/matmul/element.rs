//! The types of elements of matrices.

use half::{bf16, f16};
use ndarray::LinalgScalar;

use super::dispatch::Dispatch;
use crate::{Number, Real};

/// A type of elements of A and B: `f32`, `f64`, and [`half`]'s `f16` and `bf16`, whose products are summed in `f32`.
pub trait Scalar: Number + Dispatch {
    /// The type of the elements of C, in which products are summed.
    type Sum: Sum;
}

/// A type of elements of C: `f32` or `f64`.
pub trait Sum: Real + Scalar<Sum = Self> + LinalgScalar {}

impl Scalar for f32 {
    type Sum = f32;
}

impl Scalar for f64 {
    type Sum = f64;
}

impl Scalar for f16 {
    type Sum = f32;
}

impl Scalar for bf16 {
    type Sum = f32;
}

impl Sum for f32 {}
impl Sum for f64 {}
