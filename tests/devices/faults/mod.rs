//! What happens when a device fails: errors, no panics, nothing lost, and results afterwards.

mod kernels;
#[cfg(target_os = "linux")]
mod leaks;
mod memory;
mod stress;
