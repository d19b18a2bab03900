//! Float functions with the same result on every device, to the bit, unless the name says `approx`
//! or the result is NaN: the bits of a NaN are anyone's.
//!
//! Subnormal numbers are numbers, on the GPU too. Kernels that are built with
//! `CudaBuilder::{ftz, fast_sqrt, fast_div, fma_contraction}` have other results.
//!
//! Functions whose name ends with a type are few instructions of a GPU. Special functions, such as
//! `sin`, `exp` and `powf`, are those of the crate `libm`, for `f32` and `f64`. `GpuFloat` states
//! their errors.
//!
//! # Methods of the same name
//! Write `float::powf(x, 2.3)` in kernels, not `x.powf(2.3)`. On a GPU the method is that of the
//! trait `GpuFloat`, with the same result. On the host, and so in the simulator, it is that of
//! `std`, even in a crate with `#![no_std]`: a type's own methods come before those of a trait. It
//! uses the system's functions, whose last bits may differ.
//!
//! ```
//! use cuda_std::prelude::*;
//!
//! assert_eq!(float::powf(2.0_f32, 3.0), 8.0);
//! assert_eq!(float::exp(0.0_f64), 1.0);
//! ```

pub(crate) mod functions;
#[cfg(feature = "libm")]
mod special;

#[cfg(feature = "libm")]
pub use crate::GpuFloat;
pub use functions::*;
#[cfg(feature = "libm")]
pub use special::*;
