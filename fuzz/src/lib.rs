//! What the fuzz targets share: calls of the library with random arguments, and the devices that
//! compute them.
//!
//! `cargo xtask fuzz` runs the targets.

pub mod calls;
mod inputs;

use std::sync::OnceLock;

use gridstride::Device;

pub use test_support::sketch::Reference;

/// Returns the CPU.
pub fn cpu() -> &'static Device {
    static CPU: OnceLock<Device> = OnceLock::new();
    CPU.get_or_init(Device::cpu)
}

/// Returns the simulator, under one schedule.
pub fn simulator() -> &'static Device {
    static SIMULATOR: OnceLock<Device> = OnceLock::new();
    SIMULATOR.get_or_init(test_support::simulator)
}
