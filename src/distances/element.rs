//! The types of numbers that rows can have.

use crate::device::Element;

/// `f32` or `f64`, the types of numbers that rows can have.
///
/// This trait is sealed.
pub trait Real: Element + Into<f64> + PartialOrd + std::fmt::Debug + sealed::Sealed {}

impl Real for f32 {}
impl Real for f64 {}

mod sealed {
    #[cfg(feature = "kernels")]
    use crate::distances::gpu::HasKernels;

    /// What the devices need to know of the type.
    #[cfg(feature = "kernels")]
    pub trait Sealed: HasKernels {}
    /// Keeps the trait to these types.
    #[cfg(not(feature = "kernels"))]
    pub trait Sealed {}

    impl Sealed for f32 {}
    impl Sealed for f64 {}
}
