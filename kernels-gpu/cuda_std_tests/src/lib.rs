//! Kernels that call everything in `cuda_std`. `tests/cuda_std` of gridstride runs them on the
//! GPU and in the simulator, and compares both with what it computes on the host.
//!
//! # Safety of all launches here
//! Slices are valid on the device, and long enough for what the kernel's own line says; nothing
//! else uses them until the kernel has finished. Kernels that speak of a block want whole ones.
#![no_std]

pub mod atomics;
pub mod constants;
pub mod copies;
pub mod floats;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub mod groups;
pub mod launches;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
pub mod matrices;
pub mod random;
pub mod shared_memory;
pub mod slices;
pub mod threads;
pub mod warps;
