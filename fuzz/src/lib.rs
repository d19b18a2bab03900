//! What the fuzz targets share: the readers of the program `gridstride`, which are no library, and
//! the references and error bounds of the tests.
//!
//! `cargo xtask fuzz` runs the targets.

// The readers name each other by paths from the root of their crate, so these modules are there.
pub mod box_overlap;
pub mod common;
pub mod tensor_sketch;
pub mod time_series;

pub mod calls;
mod inputs;
// Private, so that its list of all calls is not compiled.
#[path = "../../tests/common/mod.rs"]
mod tests;

use std::sync::OnceLock;

use gridstride::Device;

pub use tests::sketch::Reference;

/// Returns the CPU.
pub fn cpu() -> &'static Device {
    static CPU: OnceLock<Device> = OnceLock::new();
    CPU.get_or_init(Device::cpu)
}

/// Returns the simulator, under one schedule.
pub fn simulator() -> &'static Device {
    static SIMULATOR: OnceLock<Device> = OnceLock::new();
    SIMULATOR.get_or_init(tests::simulator)
}
