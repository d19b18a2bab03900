//! Sums of the rows of a matrix. Each block of threads sums one row.
//!
//! ```
//! use gridstride::{Device, row_sums::row_sums};
//! use ndarray::array;
//!
//! let sums = row_sums(&Device::auto(), array![[1.0, 2.0], [3.0, 4.0]].view())?;
//! assert_eq!(sums, array![3.0, 7.0]);
//! # Ok::<(), gridstride::Error>(())
//! ```

mod calls;
mod cpu;
mod dispatch;
mod gpu;
mod input;
mod partition;
pub mod reference;

// Defines `MODULE`, the module of the kernels, with the PTX that `build.rs` embeds.
include!(concat!(env!("OUT_DIR"), "/module.rs"));

pub use calls::row_sums;
