//! Random numbers in kernels, and the same numbers on the host.
//!
//! The crate takes the role of Rust-CUDA's `gpu_rand`, and its types have the same names:
//!
//! - [`DefaultRand`], a generator of 16 bytes. The host initialises a state for each thread.
//! - [`Philox`], a counter-based generator. Each thread makes its own from a seed and the thread's
//!   index, so nothing is stored or initialised.
//! - [`xoroshiro`], all generators of the crate `rand_xoshiro`. They have no `initialize_states`:
//!   jump a clone instead. On the host they are neither `Copy` nor plain data for buffers.
//! - [`GpuRand`], uniform and normal numbers from any generator.
//!
//! ```
//! use gpu_rand::{GpuRand, Philox};
//!
//! /// What thread `index` of a kernel would do.
//! fn points_in_circle(seed: u64, index: u64) -> u32 {
//!     let mut random = Philox::new(seed, index);
//!     let is_inside = |_: &u32| {
//!         let (x, y) = (random.uniform_f32(), random.uniform_f32());
//!         x * x + y * y < 1.0
//!     };
//!     (0..1000).filter(is_inside).count() as u32
//! }
//!
//! let inside: u32 = (0..100).map(|index| points_in_circle(42, index)).sum();
//! let pi = 4.0 * inside as f64 / 100_000.0;
//! // One standard deviation is √(π (4 − π) / 100 000) = 0.005.
//! assert!((pi - 3.1416).abs() < 0.026);
//! ```
//!
//! # Determinism
//! All numbers are the same on GPUs, in the simulator and on the host, bit for bit, in builds
//! without `CudaBuilder::{ftz, fast_sqrt, fast_div, fma_contraction}`: they are made of integers and
//! of the functions of the crate `libm`, which consist of IEEE 754 operations with one rounding
//! each. Integers and uniform numbers are the same in all builds. The generators are not for
//! cryptography.
#![no_std]

#[cfg(not(target_arch = "nvptx64"))]
extern crate alloc;

mod default;
mod gpurng;
mod philox;

pub use default::DefaultRand;
pub use gpurng::GpuRand;
pub use philox::Philox;
pub use rand_core;
pub use rand_xoshiro as xoroshiro;
