//! NVIDIA GPUs: the only module that uses cust.
//!
//! cust's safe wrappers leave gaps (a context that is current on one thread alone, slices without
//! lifetimes, module loading without the compiler's log, streams that lose their flags), so this
//! module takes the driver's functions from `cust::sys` and closes the gaps here:
//!
//! - every handle keeps its [`Primary`](primary::Primary) context alive and makes it current around
//!   each call, so handles may be used from any thread and dropped in any order;
//! - every result code is checked and becomes an error that names the operation;
//! - cust finds the functions in the driver at run time.
//!
//! [`primary`] is the ground. [`stream`], [`pool`], [`modules`] and [`staging`] stand on it, and
//! [`gpu`] owns them all. `no_cuda.rs` replaces this module in builds without the feature `cuda`.

mod gpu;
mod modules;
mod pool;
mod primary;
mod staging;
mod stream;

pub use gpu::{Allocation, Gpu, HostAllocation};
pub use stream::Event;

/// Returns the number of GPUs; 0 without a driver.
pub fn count() -> usize {
    primary::count().unwrap_or(0)
}
