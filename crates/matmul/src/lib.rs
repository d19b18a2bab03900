//! Matrix multiplication: C = α·A·B + β·C of `f32`, `f64`, `f16` and `bf16`, for two matrices, a
//! matrix and a vector, or batches of matrices.
//!
//! Matrices and vectors are ndarray views with any strides (transposed, slices, reversed), or
//! arrays and views in a device's memory, which are read in place. A and B of `f16` or `bf16` give
//! a C of `f32`, or of their own type: products are exact unless they overflow or underflow, are
//! summed in `f32`, and for a C of 16 bits rounded at the end ([`MatMul::matmul_as`]).
//! [`Cast::cast`] converts C on the device to the type of
//! the next product's factors.
//!
//! ```
//! use gridstride::{Device, matmul::matmul};
//! use ndarray::array;
//!
//! let a = array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]];
//! let c = matmul(&Device::auto(), a.view(), a.t())?;
//! assert_eq!(c, array![[5.0, 11.0, 17.0], [11.0, 25.0, 39.0], [17.0, 39.0, 61.0]]);
//!
//! let v = array![1.0, -1.0];
//! assert_eq!(matmul(&Device::auto(), a.view(), v.view())?, array![-1.0, -1.0, -1.0]);
//! assert_eq!(matmul(&Device::auto(), v.view(), a.t())?, array![-1.0, -1.0, -1.0]);
//! # Ok::<(), gridstride::Error>(())
//! ```
//!
//! # BLAS rules
//! If β is 0, C is not read, so NaN in C does not matter. If α or k is 0, A and B are not read, and
//! C becomes β·C. Otherwise NaN and infinities in A and B propagate to C as IEEE 754 defines; zeros
//! are not skipped. The CPU sums some hundred products at a time, multiplies each of these sums by α
//! and adds the results: if they include infinities of both signs, which an infinite α can make, C
//! is NaN. The sign and the payload of NaN in C, and the sign of a zero, are unspecified. Any size
//! may be 0.
//!
//! # Precision
//! `f32` and `f64` are multiplied and summed in their type. Tensor cores multiply `f32` only with
//! [`Precision::Tf32`] or [`Precision::F32ByBf16x6`]. [`MatMul::error_factor`] bounds the error of a
//! result.
//!
//! # Determinism
//! The same call gives the same bits on the same device. Other devices, batch sizes, strides, or
//! first elements of views may add in another order. The simulator has a processor per CPU thread.
//!
//! If a product of host arrays is partitioned, over several devices of a kind or within little
//! memory, the partitions use the kernel of the whole product. If rows are split (M ≥ N) and A and
//! B are in row-major order without gaps, the result has the bits of the whole. Otherwise, and on
//! the CPU, sums may be added in another order.
//!
//! # Memory
//! A product of host arrays that is larger than the device's memory, or its
//! [limit](gridstride_runtime::Device::with_memory_limit), is split along C's matrices if there are enough, else
//! along its rows or columns, whichever are more, and never along k.
//!
//! On GPUs a call may need more memory than A, B and C take: for a copy of A or B if no kernel
//! reads the strides in place (neither contiguous rows nor contiguous columns that begin at
//! multiples of 16 bytes; B in tf32 by rows), up to 1 GiB for the sums of parts of k, and for the
//! sums of a C of 16 bits if k is split or the kernel does not round. [`Precision::F32ByBf16x6`]
//! takes 8 bytes for each element of A and B, of up to 4096 k at a time.
//!
//! # Implementation
//! Blocks of threads compute tiles of C. They copy tiles of A and B to shared memory
//! asynchronously, some steps of k ahead of the multiplication; see `kernels-gpu/matmul`. Tiles in
//! shared memory and registers follow CUTLASS (Thakkar et al., NVIDIA). If there are few tiles, k
//! is split into parts whose sums are added in order. The CPU uses the kernels of the crate `gemm`.

mod calls;
mod cpu;
mod dispatch;
mod element;
mod gpu;
mod input;
mod options;
mod partition;
pub mod reference;

// Defines `MODULE`, the module of the kernels, with the PTX that `build.rs` embeds.
include!(concat!(env!("OUT_DIR"), "/module.rs"));

pub use calls::{Cast, gemm, matmul};
pub use element::{CastTo, ResultIn, Scalar, Sum};
pub use input::MatrixDimension;
pub use options::{Instructions, MatMul, Precision};
