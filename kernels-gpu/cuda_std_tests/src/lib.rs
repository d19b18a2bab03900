//! Kernels that call everything in `cuda_std`. `tests/cuda_std` of gridstride runs them on the
//! GPU and in the simulator, and compares both with what it computes on the host.
//!
//! # Safety of all launches here
//! Slices are valid on the device, and long enough for what the kernel's own line says; nothing
//! else uses them until the kernel has finished. Kernels that speak of a block want whole ones.
#![no_std]

pub mod atomic_floats;
pub mod atomics;
pub mod copies;
pub mod core_atomics;
pub mod floats;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub mod groups;
pub mod heap;
pub mod launches;
pub mod machine;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
pub mod matrices;
pub mod ordered_atomics;
pub mod parameters;
pub mod shared_memory;
pub mod slices;
pub mod statics;
// Once is enough: the same instructions for all architectures.
#[cfg(any(not(target_arch = "nvptx64"), not(target_feature = "sm_80")))]
pub mod std_floats;
pub mod text;
pub mod threads;
pub mod vectors;
pub mod warp_functions;
pub mod warps;
