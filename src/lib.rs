//! GPU kernels written in Rust over ndarray views.

pub mod device;
mod error;
pub mod tensor_sketch;

pub use device::Device;
pub use error::{Error, Result};
