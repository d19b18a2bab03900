//! The element types of matrices.

use gridstride_runtime::device::Buffer;
use gridstride_runtime::{Device, Number, Real, Result};
use half::{bf16, f16};
use ndarray::LinalgScalar;

use super::input::{DeviceProduct, Product};
use super::options::MatMul;

/// A type of elements of A and B: `f32`, `f64`, and [`half`]'s `f16` and `bf16`, summed in `f32`.
pub trait Scalar: Number + ResultIn<<Self as Scalar>::Sum> {
    /// The type in which products are summed.
    type Sum: Sum;
}

/// A type of elements of A and B whose products can have elements of type `C`: the type of the sums,
/// or for `f16` and `bf16` also the type itself. The sums are then rounded once, at the end, to the
/// nearest number, ties to even.
pub trait ResultIn<C>: Dispatch<C> {}

impl<T: Dispatch<C>, C> ResultIn<C> for T {}

/// A type in which products are summed: `f32` or `f64`.
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

/// A product of host arrays.
pub type HostProduct<'a, T, C = <T as Scalar>::Sum> = Product<'a, T, <T as Scalar>::Sum, C>;

/// A product of arrays in a device's memory.
pub type ResidentProduct<'a, T, C> = DeviceProduct<'a, T, <T as Scalar>::Sum, C>;

/// The implementations for an element type and a type of C: `dispatch.rs` compiles them, so that
/// callers need not.
pub trait Dispatch<C>: Sized {
    /// Computes a product of host arrays, whose shapes fit, on a set of devices.
    fn host(options: MatMul, devices: &[Device], product: HostProduct<Self, C>) -> Result<()>
    where
        Self: Scalar,
        C: Number;

    /// Computes a product of arrays in the memory of C's device, whose shapes fit.
    fn device(options: MatMul, product: ResidentProduct<Self, C>) -> Result<()>
    where
        Self: Scalar,
        C: Number;
}

/// A type of numbers whose arrays [`Cast::cast`](super::Cast::cast) converts to arrays of `U`: `f32` to `f16`,
/// `bf16` and `f64`, and back.
pub trait CastTo<U: Number>: Number {
    /// Converts the elements.
    #[doc(hidden)]
    fn cast_buffer(from: &Buffer<Self>) -> Result<Buffer<U>>;
}
