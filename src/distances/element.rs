//! The types of elements of rows.

use super::gpu::HasKernels;
use crate::Real;

/// A type of elements of rows: `f32` or `f64`. This trait is sealed.
pub trait Component: Real + sealed::Sealed {}

impl Component for f32 {}
impl Component for f64 {}

mod sealed {
    /// What the devices need to know of the type.
    pub trait Sealed: super::HasKernels {}

    impl Sealed for f32 {}
    impl Sealed for f64 {}
}
