//! Functions for GPU kernels written in Rust: thread and block indices, barriers, shared memory,
//! warp operations, atomics and float functions.
//!
//! A kernel crate compiles for two targets from the same source. For `nvptx64-nvidia-cuda` (through
//! `cuda_builder`) these functions become GPU instructions. On the host they ask the executor that
//! runs the current thread of the kernel, normally the simulator of the crate `simt`; the
//! attribute [`kernel`] then also emits a typed description of the kernel, a
//! [`host::Kernel`], so that a launch with the wrong arguments does not compile.
//!
//! Names and roles are those of rust-cuda's crate of the same name, wherever it has the thing.
//!
//! ```
//! use cuda_std::prelude::*;
//!
//! /// `out[i] = a[i] + b[i]`, right for any launch shape.
//! #[kernel]
//! pub unsafe fn add(a: DeviceSlice<f32>, b: DeviceSlice<f32>, out: DeviceSliceMut<f32>) {
//!     for i in thread::grid_stride(out.len()) {
//!         // SAFETY: `i` is below the length, and the launch gives each `i` to one thread.
//!         unsafe { out.set(i, a.at(i) + b.at(i)) };
//!     }
//! }
//! # fn main() { assert_eq!(add.name(), "add"); }
//! ```
#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(
    target_arch = "nvptx64",
    feature(
        stdarch_nvptx,
        link_llvm_intrinsics,
        asm_experimental_arch,
        core_float_math,
        core_intrinsics,
        const_eval_select,
        panic_internals
    ),
    allow(internal_features)
)]

#[cfg(feature = "alloc")]
extern crate alloc;

pub mod async_copy;
pub mod atomic;
pub mod cfg;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub mod cluster;
pub mod float;
#[cfg(feature = "libm")]
mod float_ext;
mod global;
#[cfg(feature = "libm")]
mod gpu_float;
#[cfg(not(target_arch = "nvptx64"))]
pub mod host;
pub mod io;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub mod mbarrier;
pub mod mem;
pub mod misc;
pub mod mma;
pub mod narrow;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
mod operand;
mod param;
pub mod ptr;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub mod registers;
pub mod shared;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub mod tensor;
pub mod thread;
mod unrolled;
pub mod warp;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub mod wgmma;

/// # What does not compile
///
/// A launch takes the kernel's own parameters, in the form of a tuple:
///
/// ```
/// use cuda_std::host::{Kernel, KernelArgs};
/// use cuda_std::prelude::*;
/// # fn launch<A: KernelArgs>(kernel: &Kernel<A>, args: A) {}
///
/// #[kernel]
/// unsafe fn fill(out: DeviceSliceMut<f32>, value: f32) {}
///
/// # let mut data = [0.0];
/// # let slice = unsafe { DeviceSliceMut::from_raw_parts(data.as_mut_ptr(), data.len()) };
/// launch(&fill, (slice, 1.0));
/// ```
/// Another type, too few of them, or a slice of something else:
/// ```compile_fail,E0308
/// # use cuda_std::{host::{Kernel, KernelArgs}, prelude::*};
/// # fn launch<A: KernelArgs>(kernel: &Kernel<A>, args: A) {}
/// # #[kernel]
/// # unsafe fn fill(out: DeviceSliceMut<f32>, value: f32) {}
/// # let mut data = [0.0];
/// # let slice = unsafe { DeviceSliceMut::from_raw_parts(data.as_mut_ptr(), data.len()) };
/// launch(&fill, (slice, 1_u32));
/// ```
/// ```compile_fail,E0308
/// # use cuda_std::{host::{Kernel, KernelArgs}, prelude::*};
/// # fn launch<A: KernelArgs>(kernel: &Kernel<A>, args: A) {}
/// # #[kernel]
/// # unsafe fn fill(out: DeviceSliceMut<f32>, value: f32) {}
/// # let mut data = [0.0];
/// # let slice = unsafe { DeviceSliceMut::from_raw_parts(data.as_mut_ptr(), data.len()) };
/// launch(&fill, (slice,));
/// ```
/// ```compile_fail,E0308
/// # use cuda_std::{host::{Kernel, KernelArgs}, prelude::*};
/// # fn launch<A: KernelArgs>(kernel: &Kernel<A>, args: A) {}
/// # #[kernel]
/// # unsafe fn fill(out: DeviceSliceMut<f32>, value: f32) {}
/// # let mut data = [0_u64];
/// # let slice = unsafe { DeviceSliceMut::from_raw_parts(data.as_mut_ptr(), data.len()) };
/// launch(&fill, (slice, 1.0));
/// ```
/// A parameter that a GPU cannot take:
/// ```compile_fail,E0277
/// # use cuda_std::{host::{Kernel, KernelArgs}, prelude::*};
/// # fn launch<A: KernelArgs>(kernel: &Kernel<A>, args: A) {}
/// #[kernel]
/// unsafe fn greet(name: &'static str) {}
/// ```
/// ```compile_fail,E0277
/// # use cuda_std::prelude::*;
/// #[kernel]
/// unsafe fn greet(name: String) {}
/// ```
/// ```compile_fail
/// # use cuda_std::prelude::*;
/// #[kernel]
/// unsafe fn greet(pair: (u32, u8)) {}
/// ```
/// A parameter that is aligned to more than 16 bytes, and parameters of more than 32764 bytes:
/// ```compile_fail,E0080
/// # use cuda_std::prelude::*;
/// #[repr(C, align(32))]
/// #[derive(Clone, Copy, DeviceParam)]
/// struct Wide([f32; 8]);
///
/// #[kernel]
/// unsafe fn aligned(wide: Wide) {}
/// ```
/// ```compile_fail,E0080
/// # use cuda_std::prelude::*;
/// #[kernel]
/// unsafe fn large(table: [u32; 8192]) {}
/// ```
/// A kernel that is generic, returns something, is a method or no plain function, or has a
/// bound that no GPU can meet:
/// ```compile_fail
/// # use cuda_std::prelude::*;
/// #[kernel]
/// unsafe fn generic<T: Copy>(out: DeviceSliceMut<T>) {}
/// ```
/// ```compile_fail
/// # use cuda_std::prelude::*;
/// #[kernel]
/// unsafe fn returns(out: DeviceSliceMut<f32>) -> f32 { 0.0 }
/// ```
/// ```compile_fail
/// # use cuda_std::prelude::*;
/// #[kernel]
/// unsafe extern "C" fn foreign(out: DeviceSliceMut<f32>) {}
/// ```
/// ```compile_fail
/// # use cuda_std::prelude::*;
/// #[kernel(block = (32, 64))]
/// unsafe fn too_large(out: DeviceSliceMut<f32>) {}
/// ```
/// ```compile_fail
/// # use cuda_std::prelude::*;
/// #[kernel(blocks = 64)]
/// unsafe fn misspelt(out: DeviceSliceMut<f32>) {}
/// ```
pub use cuda_std_macros::kernel;

pub use cuda_std_macros::{DeviceParam, address_space, externally_visible, gpu_only};
#[cfg(feature = "glam")]
pub use glam;
pub use global::{DeviceSlice, DeviceSliceMut};
#[cfg(feature = "half")]
pub use half::{self, bf16, f16};
pub use param::DeviceParam;
#[doc(hidden)]
pub use param::assert_parameter;
#[cfg(feature = "vek")]
#[deprecated(note = "use `glam`")]
pub use vek;
#[cfg(feature = "libm")]
pub use {float_ext::FloatExt, gpu_float::GpuFloat};

/// The names that nearly every kernel needs: `use cuda_std::prelude::*;`.
pub mod prelude {
    #[cfg(feature = "half")]
    pub use crate::f16;
    pub use crate::{
        DeviceParam, DeviceSlice, DeviceSliceMut, atomic, float, kernel, shared, shared_array,
        thread, unrolled, warp,
    };
    // On the host `std` has them, in its prelude.
    #[cfg(all(feature = "alloc", target_arch = "nvptx64"))]
    pub use crate::{print, println};
    #[cfg(feature = "alloc")]
    pub use alloc::{
        borrow::ToOwned,
        boxed::Box,
        format,
        rc::Rc,
        string::{String, ToString},
        vec,
        vec::Vec,
    };
}

/// A panic inside a kernel stops the launch: the driver reports it as a trap. cuda_builder makes
/// panics traps without a call of this function, which the compiler requires nevertheless.
#[cfg(target_arch = "nvptx64")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    // SAFETY: a trap has no preconditions; it ends the whole launch.
    unsafe { core::arch::nvptx::trap() }
}
