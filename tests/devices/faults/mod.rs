//! What happens when a device fails: errors, no panics, nothing lost, and results afterwards.

mod memory;
