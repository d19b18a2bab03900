//! What happens when a device fails: errors, no panics, nothing lost, and results afterwards.

#[cfg(target_os = "linux")]
mod leaks;
mod memory;
mod stress;
