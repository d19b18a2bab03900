//! The Fourier transform that gridstride's CPU version uses, behind a trait object.
//!
//! rustfft and realfft are generic: a crate that names a transform of `f64` compiles all of their
//! algorithms. Here they are compiled once, and not again with each change of gridstride.
//!
//! ```
//! use fft::{Complex, inverse};
//!
//! let transform = inverse(4);
//! let mut spectrum = [Complex::new(1.0, 0.0), Complex::new(0.5, 0.0), Complex::new(0.0, 0.0)];
//! let mut values = [0.0; 4];
//! transform.process(&mut spectrum, &mut values).unwrap();
//! assert_eq!(values, [2.0, 1.0, 0.0, 1.0]);
//! ```
#![forbid(unsafe_code)]

use std::sync::Arc;

pub use realfft::ComplexToReal;
use realfft::RealFftPlanner;
pub use realfft::num_complex::Complex;

/// Returns the inverse transform that makes `length` real numbers of a spectrum, without a factor.
pub fn inverse(length: usize) -> Arc<dyn ComplexToReal<f64>> {
    RealFftPlanner::new().plan_fft_inverse(length)
}
