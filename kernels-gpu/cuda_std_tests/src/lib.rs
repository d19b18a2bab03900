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
pub mod machine;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
pub mod matrices;
pub mod parameters;
pub mod random;
pub mod shared_memory;
pub mod slices;
pub mod statics;
pub mod threads;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub mod tiles;
pub mod warps;

/// Declares modules whose instructions are the same on all architectures: the PTX of the oldest one
/// is enough.
macro_rules! common {
    ($($name:ident)*) => {$(
        #[cfg(any(not(target_arch = "nvptx64"), not(target_feature = "sm_80")))]
        pub mod $name;
    )*};
}

common! { atomic_floats core_atomics generics heap integers names ordered_atomics std_floats text vectors warp_functions }
