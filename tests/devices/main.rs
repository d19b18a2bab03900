//! Devices: what they say of themselves, their memory, launches, streams and pipelines.

mod device;
mod faults;
mod foreign;
mod graph;
mod memory;
mod occupancy;
mod on_stream;
#[cfg(target_os = "linux")]
mod out_of_memory;
mod pipeline;
mod reopening;

use test_support as common;

/// For kernels of these tests, which have no PTX: the simulator runs them.
static OF_TESTS: gridstride::device::Module =
    gridstride::device::Module::new("tests of devices", &[]);
