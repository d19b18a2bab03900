//! GPU kernels written in Rust, over [`ndarray`] views.
//!
//! One call runs natively on the CPU, on an NVIDIA GPU, or in a simulator that runs the GPU's
//! kernels on the CPU: the [`Device`] is a value. No CUDA toolkit is needed, neither to build nor
//! to run; for a GPU, its driver.
//!
//! ```
//! use gridstride::Device;
//! use gridstride::tensor_sketch::{Alphabet, Sequences, Tables, TensorSketch, Unknown};
//!
//! let dna = Alphabet::dna();
//! let mut sequences = Sequences::new();
//! sequences.push(dna.encode(b"GATTACAGATTACA", Unknown::Error)?.codes)?;
//! let sketcher = TensorSketch::new(Tables::from_seed(dna.size(), 4, 96, 1)?);
//! let sketches = sketcher.sketch(&Device::auto(), &sequences)?; // 1 × 96
//! # assert_eq!(sketches.dim(), (1, 96));
//! # Ok::<(), gridstride::Error>(())
//! ```
//!
//! # Features
//! - `cuda`: NVIDIA GPUs. The program still starts without a driver, and [`Device::auto`] then
//!   takes the CPU.
//! - `simulator`: the simulator, for tests and for kernels of one's own.
//! - `build-ptx`: compiles the kernels' sources while building, instead of embedding the PTX that
//!   comes with the crate.

pub mod box_overlap;
pub mod device;
mod error;
pub mod matmul;
#[cfg(feature = "kernels")]
mod modules;
pub mod primitives;
mod spread;
pub mod stream;
pub mod tensor_sketch;
pub mod time_series;

pub use device::{Device, DeviceSet};
pub use error::{Error, LoadError, Result};

/// The programs of the README run as tests.
#[cfg(all(doctest, feature = "simulator"))]
#[doc = include_str!("../README.md")]
struct Readme;

/// Programs of the guide; `cargo xtask guide` tests those that are crates of several files.
#[cfg(all(doctest, feature = "simulator"))]
#[doc = include_str!("../docs/guide/matmul.md")]
#[doc = include_str!("../docs/guide/profiling.md")]
#[doc = include_str!("../docs/guide/streaming.md")]
struct Guide;
