//! The two types of numbers that a sketch can have.

use crate::device::Element;

/// `f32` or `f64`: the type of a sketch's entries, and of the sums that lead to them.
///
/// Sealed: there is no third one.
pub trait Real: Element + PartialOrd + std::fmt::Debug + sealed::Sealed {
    /// 2⁻²⁴ or 2⁻⁵³: half the distance from 1 to the next larger number, the largest relative error
    /// of one rounding.
    const UNIT_ROUNDOFF: f64;

    /// The name of the type, for messages.
    const NAME: &'static str;

    /// The nearest number of this type.
    fn from_f64(value: f64) -> Self;

    /// The same number.
    fn to_f64(self) -> f64;
}

mod sealed {
    #[cfg(feature = "kernels")]
    use crate::tensor_sketch::gpu;
    use crate::tensor_sketch::{cpu, distances};

    /// What the devices need to know of the type.
    #[cfg(not(feature = "kernels"))]
    pub trait Sealed: cpu::Vector + distances::Value {}
    /// What the devices need to know of the type.
    #[cfg(feature = "kernels")]
    pub trait Sealed: cpu::Vector + distances::Value + gpu::Kernels {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

impl Real for f32 {
    const UNIT_ROUNDOFF: f64 = f32::EPSILON as f64 / 2.0;
    const NAME: &'static str = "f32";

    fn from_f64(value: f64) -> f32 {
        value as f32
    }

    fn to_f64(self) -> f64 {
        f64::from(self)
    }
}

impl Real for f64 {
    const UNIT_ROUNDOFF: f64 = f64::EPSILON / 2.0;
    const NAME: &'static str = "f64";

    fn from_f64(value: f64) -> f64 {
        value
    }

    fn to_f64(self) -> f64 {
        self
    }
}
