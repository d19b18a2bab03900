//! GPU kernels written in Rust over ndarray views.

pub mod device;
mod error;

pub use device::Device;
pub use error::{Error, LoadError, Result};
