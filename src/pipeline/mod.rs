//! Kernels over data larger than a device's memory, or than the share of the memory that they may
//! use.
//!
//! A [`Pipeline`] cuts host arrays, or the elements of an iterator, into chunks. It copies each
//! chunk to a device, runs a kernel on it, and copies the results back. Several chunks are in
//! flight at a time, each on its own stream, so copies in both directions, kernels and the host's
//! work overlap. Each of several devices takes the next chunk when one of its streams is free. If a
//! kernel computes each element from the elements at the same place, results are the same for any
//! number of streams and devices and any amount of memory.
//!
//! ```
//! use gridstride::Device;
//! use gridstride::pipeline::{Pipeline, add};
//! use ndarray::{Array1, array};
//!
//! let pipeline = Pipeline::new(&Device::auto()).streams(2).memory(1 << 20);
//! let mut sums = Array1::zeros(3);
//! add(&pipeline, &array![1, 2, i32::MAX], &array![10, 20, 1], &mut sums)?;
//! assert_eq!(sums, array![11.0, 22.0, 2147483648.0]);
//! # Ok::<(), gridstride::Error>(())
//! ```

mod add;
mod columns;
mod flow;
mod map;
mod options;
mod slot;

pub use add::add;
pub use columns::{Input, Inputs, Output, Outputs};
pub use map::Chunk;
pub use options::Pipeline;
