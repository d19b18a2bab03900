//! The part of [cust] 0.3.2 that gridstride and plain hosts of kernels use, built without a CUDA
//! toolkit.
//!
//! A host that loads PTX, copies buffers and launches kernels with cust compiles here unchanged:
//! [`quick_init`], [`Module`](module::Module), [`Stream`](stream::Stream),
//! [`DeviceBuffer`](memory::DeviceBuffer) and [`launch!`] have cust's names and signatures.
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
//! - The safe part has contexts, modules, kernels, streams, and memory of the device with copies
//!   that wait. Events, graphs, textures, unified and page-locked memory, asynchronous copies and
//!   the derive macro of [`DeviceCopy`](memory::DeviceCopy) are missing.
//! - Without a driver every function returns `CUDA_ERROR_NO_DEVICE` (100). A function that the
//!   installed driver lacks returns `CUDA_ERROR_NOT_SUPPORTED` (801).
//! - `CUresult` knows the codes of CUDA 11.4. cust reads other codes as undefined values of that
//!   enum. Here they become `CUDA_ERROR_UNKNOWN` (999), and [`driver::last_error`] has the code
//!   that the driver returned.
//! - [`driver`] is new: why there is no driver, its version, and its words for an error.
//!
//! cust is by Riccardo D'Ambrosio and Brook Heisler, under MIT or Apache-2.0, see LICENSE-MIT and
//! LICENSE-APACHE.
//!
//! [cust]: https://docs.rs/cust/0.3.2

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

pub mod context;
pub mod device;
pub mod driver;
pub mod error;
pub mod function;
mod library;
pub mod memory;
pub mod module;
pub mod prelude;
pub mod stream;
pub mod sys;
pub mod util;

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
