//! NVIDIA GPUs: the only module that uses cust.
//!
//! Contexts, streams, events, modules and kernels are cust's. The driver's functions in `cust::sys`
//! are called for what cust has no types for: memory pools, page-locked memory, asynchronous copies,
//! graphs and tensor maps. Every handle keeps its [`Primary`](primary::Primary) context alive and
//! makes it current around each call, so handles may be used from any thread and dropped in any
//! order. Every result is checked, and errors name the operation.
//!
//! [`stream`], [`memory`], [`modules`], [`staging`], [`outbox`], [`uploads`], [`borrowed`] and
//! [`graph`] build on [`primary`], and [`gpu`] owns them all. `no_cuda.rs` replaces this module in
//! builds without the feature `cuda`.

mod blocks;
mod borrowed;
mod event;
mod gpu;
mod graph;
mod memory;
mod modules;
mod outbox;
mod page_locked;
mod primary;
mod spare;
mod staging;
mod stream;
mod tensor_map;
mod threshold;
mod upload_blocks;
mod uploads;
mod words;

pub use event::Event;
pub use gpu::{Allocation, Gpu};
pub use graph::{Graph, Recording};
pub use page_locked::HostAllocation;
pub use uploads::Uploads;

use crate::device::DriverState;

/// Returns the number of GPUs; 0 without a driver.
pub fn count() -> usize {
    primary::count().unwrap_or(0)
}

/// Starts the driver, and returns its state.
pub fn driver_state() -> DriverState {
    primary::driver_state()
}

/// Returns the newest CUDA version that the driver supports.
pub fn driver_version() -> Option<(u32, u32)> {
    cust::driver::driver_version()
}
