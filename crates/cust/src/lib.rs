//! The part of [cust] 0.3.2 that gridstride and plain hosts of kernels use, built without a CUDA
//! toolkit.
//!
//! [`quick_init`], [`Module`](module::Module), [`Stream`](stream::Stream),
//! [`Event`](event::Event), [`DeviceBuffer`](memory::DeviceBuffer) and [`launch!`] have cust's names
//! and signatures, so a host that loads PTX, copies buffers, launches kernels and takes their times
//! compiles unchanged, unless it uses one of the functions listed as missing below.
//!
//! # Why a fork
//!
//! The build scripts of `cust` and `cust_raw` call `find_cuda_helper`, which panics if it finds
//! neither `/opt/cuda`, `/usr/local/cuda*` nor the environment variable `CUDA_LIBRARY_PATH` (on
//! Windows: `C:/CUDA` or `CUDA_PATH`). A crate cannot set a variable for the build script of its
//! dependency: Cargo has `[env]` and `[patch]` for the workspace that is built alone, and passes
//! the metadata of `links` only from a dependency to its dependents. 0.3.2 is the newest version of
//! cust. So every crate that depends on cust, even indirectly, needs a toolkit or the variable.
//!
//! This crate has no build script and links nothing. Each function of [`sys`] looks for the
//! driver's function of the same name at its first call, in `libcuda.so.1` (`nvcuda.dll` on
//! Windows), so that one program runs on machines with and without a driver.
//!
//! # Differences from cust
//!
//! - [`sys`] has the functions, types and constants that this crate and gridstride use. To add one,
//!   copy the declaration from `cust_raw`.
//! - The safe part has contexts, modules, kernels, streams, events, and memory of the device with
//!   copies that wait. These modules are missing: `external`, `link`, `context::legacy` and
//!   `memory::array`. So are unified and page-locked memory (`UnifiedBuffer`, `LockedBuffer`, …),
//!   `DeviceVariable`, asynchronous copies (`AsyncCopyDestination`, all methods in `_async`), the
//!   traits `GpuBuffer`, `GpuBox` and `DeviceMemory`, the functions `cuda_malloc`, `memcpy_htod`,
//!   `mem_get_info` and the like, and `CudaApiVersion`, whose role
//!   [`driver::driver_version`] has.
//! - Missing methods of types that are here:
//!
//!   | type | missing |
//!   |---|---|
//!   | [`Context`] | `Clone`, `get_api_version`, `reset`, `set_flags` |
//!   | [`CurrentContext`](context::CurrentContext) | all but `set_current` and `synchronize` |
//!   | [`Device`] | `devices`, `uuid`, and all but six [attributes](device::DeviceAttribute) |
//!   | [`Module`](module::Module) | the deprecated `from_str` and `load_from_string`; `from_cubin` and `from_fatbin`, because the driver takes an image in memory without its length: write it to a file for [`from_file`](module::Module::from_file) |
//!   | [`Function`](function::Function) | `set_cache_config`, `set_shared_memory_config` |
//!   | [`Stream`](stream::Stream) | `add_callback` |
//!   | [`DeviceSlice`](memory::DeviceSlice) | the trait `DeviceSliceIndex` has no public methods |
//!   | [`SliceExt`](util::SliceExt) | all but `as_dbuf` |
//!
//! - [`DeviceCopy`](trait@memory::DeviceCopy) is the trait of this repository's `cust_core`, and not
//!   that of crates.io's. Its method [`is_value`](memory::DeviceCopy::is_value()) is new. The types of
//!   glam and half have it behind the features of these names, which are off by default. `Mat2`,
//!   `Affine2` and vectors of `bool` of glam lack it, and so do the types of vek, mint and
//!   num-complex.
//! - [`CudaError`](error::CudaError) has no errors of cust itself: `InvalidMemoryAllocation` is
//!   `OutOfMemory`, and there is no `OptixError`.
//! - Flags have no methods of `bitflags`, but for `bits` of [`StreamFlags`](stream::StreamFlags)
//!   and [`EventFlags`](event::EventFlags). The sizes of a launch have no conversions from glam or
//!   vek.
//! - Copies to a device end before their function returns. Buffers, modules, streams and events are
//!   destroyed also on threads without a current context, where cust leaks them. The pointer of a
//!   buffer without elements is aligned, and not null.
//! - [`CopyDestination`](memory::CopyDestination) returns
//!   [`InvalidValue`](error::CudaError::InvalidValue) for slices of different lengths, and
//!   [`Module::get_global`](module::Module::get_global) for a type of another size or alignment.
//!   [`Module::from_ptx`](module::Module::from_ptx) and
//!   [`Module::get_function`](module::Module::get_function) return an error for a text with a zero
//!   byte. cust panics in these cases.
//! - [`ModuleJitOption::DetermineTargetFromContext`](module::ModuleJitOption::DetermineTargetFromContext)
//!   has a value in the array that the driver gets. cust leaves it out, which gives the values of
//!   all options behind it to their neighbours.
//! - Without a driver every function returns `CUDA_ERROR_NO_DEVICE` (100). A function that the
//!   installed driver lacks returns `CUDA_ERROR_NOT_SUPPORTED` (801).
//! - `CUresult` knows the codes of CUDA 11.4. cust reads other codes as undefined values of that
//!   enum. Here they become `CUDA_ERROR_UNKNOWN` (999), and [`driver::last_error`] has the code
//!   that the driver returned.
//! - [`driver`] is new: why there is no driver, its version, and its words for an error. So is what
//!   gridstride's devices need beside it: [`Context::retain`] and [`Context::bind`], with which
//!   threads use a context without keeping it current, and the functions that take one, whose names
//!   end in `_in`; [`Stream::from_raw`](stream::Stream::from_raw) and
//!   [`is_idle`](stream::Stream::is_idle);
//!   [`Module::find_global`](module::Module::find_global);
//!   [`Function::set_max_dynamic_shared_memory`](function::Function::set_max_dynamic_shared_memory);
//!   and [`CUresult::to_result`](error::cudaError_enum::to_result), for calls of [`sys`].
//!
//! cust is by Riccardo D'Ambrosio and Brook Heisler, under MIT or Apache-2.0, see LICENSE-MIT and
//! LICENSE-APACHE.
//!
//! [cust]: https://docs.rs/cust/0.3.2
#![cfg_attr(docsrs, feature(doc_cfg))]

/// The name of a function or code as a C string.
macro_rules! c_name {
    ($name:ident) => {
        const {
            match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => unreachable!(),
            }
        }
    };
}

/// Defines the properties of an object, with the driver's names.
macro_rules! attributes {
    ($(#[$of:meta])* $name:ident: $raw:ident $($(#[$doc:meta])* $attribute:ident = $value:ident,)*) => {
        $(#[$of])*
        #[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$doc])* $attribute,)*
        }

        impl $name {
            fn raw(self) -> $raw {
                match self {
                    $(Self::$attribute => $raw::$value,)*
                }
            }
        }
    };
}

/// Defines how an object of the driver is destroyed by its method `free`: when it is dropped, and
/// in `drop`, which returns errors.
macro_rules! destroyed {
    ([$($generics:tt)*] $name:ty) => {
        impl<$($generics)*> $name {
            /// Destroys the object. Dropping the value does the same and ignores an error.
            ///
            /// # Errors
            ///
            /// The error that the driver returns, with the object.
            pub fn drop(mut object: Self) -> $crate::error::DropResult<Self> {
                match object.free() {
                    Ok(()) => {
                        std::mem::forget(object);
                        Ok(())
                    }
                    Err(error) => Err((error, object)),
                }
            }
        }

        impl<$($generics)*> Drop for $name {
            fn drop(&mut self) {
                // There is no one to tell.
                let _ = self.free();
            }
        }
    };
}

mod call;
pub mod context;
pub mod device;
pub mod driver;
pub mod error;
pub mod event;
pub mod function;
mod library;
pub mod memory;
pub mod module;
pub mod prelude;
pub mod stream;
pub mod sys;
pub mod util;

pub use cust_derive::DeviceCopy;

use context::Context;
use device::Device;
use error::CudaResult;

/// Flags for [`init`]. The driver defines none.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct CudaFlags(());

impl CudaFlags {
    /// Returns the only valid value.
    pub const fn empty() -> Self {
        Self(())
    }
}

/// Initialises the driver. Must be called before any other function of this crate that needs a GPU.
///
/// # Errors
///
/// [`NoDevice`](error::CudaError::NoDevice) without a driver or GPU, and what the driver returns.
///
/// ```
/// if let Err(error) = cust::init(cust::CudaFlags::empty()) {
///     println!("no GPU: {error}");
/// }
/// ```
pub fn init(_flags: CudaFlags) -> CudaResult<()> {
    // SAFETY: cuInit has no preconditions.
    unsafe { sys::cuInit(0) }.to_result()
}

/// Initialises the driver and makes the context of device 0 current on this thread. Keep the
/// context as long as the device is used.
///
/// # Errors
///
/// As [`init`], and what else the driver returns.
///
/// ```
/// match cust::quick_init() {
///     Ok(_context) => println!("{}", cust::device::Device::get_device(0)?.name()?),
///     Err(error) => println!("no GPU: {error}"),
/// }
/// # Ok::<(), cust::error::CudaError>(())
/// ```
#[must_use = "calls fail after the context is dropped"]
pub fn quick_init() -> CudaResult<Context> {
    init(CudaFlags::empty())?;
    Context::new(Device::get_device(0)?)
}
