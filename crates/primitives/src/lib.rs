//! Building blocks of many kernels: prefix sums and radix sort, over buffers that stay on their
//! device.
//!
//! The GPU versions follow D. Merrill and A. Grimshaw, 'Parallel Scan for Stream Architectures'
//! (2009): reduce, then scan; and A. Adinets and D. Merrill, 'Onesweep: A Faster Least Significant
//! Digit Radix Sort for GPUs' (2022): count all digits, then move the keys in one launch for each
//! digit. Results are exact, and the same on every device and in every run.
//!
//! ```
//! use gridstride::{Device, primitives::{exclusive_sums, sort_pairs}};
//!
//! let device = Device::auto();
//! let sums = exclusive_sums(&device.buffer_from(&[3u32, 0, 4])?)?;
//! assert_eq!(sums.to_vec()?, [0, 3, 3, 7]);
//! let (keys, values) = (device.buffer_from(&[5u64, 3, 5, 1])?, device.buffer_from(&[0, 1, 2, 3])?);
//! let (keys, values) = sort_pairs(keys, values, 0..64)?;
//! assert_eq!((keys.to_vec()?, values.to_vec()?), (vec![1, 3, 5, 5], vec![3, 1, 0, 2]));
//! # Ok::<(), gridstride::Error>(())
//! ```
//!
//! There are no calls over host arrays: copying them to a GPU takes longer than the work there.

mod calls;
mod cpu;
mod dispatch;
mod gpu;
mod input;

// Defines `MODULE`, the module of the kernels, with the PTX that `build.rs` embeds.
include!(concat!(env!("OUT_DIR"), "/module.rs"));

pub use calls::{exclusive_sums, exclusive_sums_into, sort_keys, sort_pairs};
// For kernels that sort or sum on the way, without a call: they may change in any release.
#[doc(hidden)]
pub use gpu::{PairSort, sums_and_total, sums_bytes};
