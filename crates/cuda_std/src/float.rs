//! Float functions of few GPU instructions, with the same result on every device, to the bit,
//! unless the name says `approx` or the result is NaN: the bits of a NaN are anyone's.
//!
//! Subnormal numbers are numbers, on the GPU too. Kernels that are built with
//! `CudaBuilder::ftz(true)` or `fast_sqrt(true)` have other results.
//!
//! `core` has no such functions without `std`, and a GPU has no C library. What is not here
//! (sine, exponential, …) a kernel crate takes from the crate `libm`.

pub(crate) mod functions;

#[cfg(feature = "libm")]
pub use crate::GpuFloat;
pub use functions::*;
