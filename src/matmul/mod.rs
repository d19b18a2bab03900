//! Matrix multiplication: C = α·A·B + β·C of `f32`, `f64`, `f16` and `bf16`, of two matrices, a matrix and a vector, or
//! batches of matrices.
//!
//! Matrices and vectors are ndarray views with any strides (transposed, cut out of larger ones, reversed), or arrays and
//! views in a device's memory, which are read where they are. A and B of `f16` or `bf16` give a C of `f32`:
//! products are exact, unless they overflow or underflow, and are summed up in `f32`. [`DeviceArray::cast`] converts C to
//! the type of the next product's factors, on the device.
//!
//! ```
//! use gridstride::Device;
//! use gridstride::matmul::matmul;
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
//! # As BLAS has it
//! If β is 0, C is not read: NaN in it does not matter. If α is 0 or k is 0, A and B are not read, and C becomes
//! β·C. Otherwise NaN and infinities in A and B go into C by the rules of IEEE 754; zeros are not skipped. Any
//! size may be 0.
//!
//! # Precision
//! `f32` is multiplied as `f32`, on tensor cores only if [`Precision::Tf32`] is asked for. `f64` is `f64` on
//! tensor cores too. How far a result can be from the exact one is what [`MatMul::error_factor`] says.
//!
//! # Determinism
//! The same call gives the same bits on the same device. Other devices, other sizes of a batch, other strides, or views
//! that start at other places may add in another order. (The simulator takes its number of processors from the threads
//! of the CPU.) Products of arrays on the host that are computed in parts, over several devices of a kind or within
//! little memory, are by the kernel for the whole, and have its bits if rows are cut (M ≥ N) and A and B are in row-major
//! order without gaps. Otherwise, and on the CPU, parts may be read in another way, and added in another order.
//!
//! # Memory
//! A product of arrays on the host that is larger than the memory of the device, or its
//! [limit](crate::Device::limit_memory), is cut into parts of C's matrices, rows or columns, whichever are more; k is not
//! cut.
//!
//! On GPUs a call may need memory besides A, B and C: for a copy of A or B that no kernel reads as it is (other strides
//! than those with rows or columns that are neighbours at multiples of 16 bytes; B in tf32 by rows), and up to 1 GiB for
//! parts of k.
//!
//! # How it works
//! Blocks of threads have tiles of C and bring tiles of A and B to shared memory by asynchronous copies, some steps
//! of k ahead of those that are multiplied; see `kernels-gpu/matmul`. The scheme of tiles in shared memory and
//! registers is that of CUTLASS (Thakkar et al., NVIDIA). If there are few tiles, k is cut into parts, which
//! are added in their order. On the CPU it is the crate `gemm`'s kernels.

mod calls;
mod cast;
mod cpu;
mod dispatch;
mod element;
mod gpu;
mod input;
mod options;
mod partition;
pub mod reference;

pub use calls::{gemm, matmul};
pub use cast::CastTo;
pub use element::{Scalar, Sum};
pub use input::MatrixDimension;
pub use options::{Instructions, MatMul, Precision};
