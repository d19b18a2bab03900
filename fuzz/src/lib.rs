//! What the fuzz targets share: the readers of the program `gridstride`, which are no library, and
//! the references and error bounds of the tests.
//!
//! `cargo xtask fuzz` runs the targets.

// The readers name each other by paths from the root of their crate, so these modules are there.
pub mod box_overlap;
pub mod common;
pub mod tensor_sketch;
pub mod time_series;

/// The references and error bounds of the tests.
#[path = "../../tests/common/mod.rs"]
pub mod tests;

pub mod calls;
mod inputs;

use std::sync::OnceLock;

pub use gridstride::Device;

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
