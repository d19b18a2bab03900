//! The CUDA driver's functions, found at run time: one program for machines with and without a
//! driver, built without a CUDA toolkit.
//!
//! # What it does
//!
//! `cust` declares some hundred functions (`cuInit`, `cuMemAlloc_v2`, …) and asks the linker for
//! `libcuda`. A program linked that way needs a CUDA toolkit to be built and refuses to start
//! where no NVIDIA driver is installed. This crate defines those functions itself. At its first
//! call each looks for its namesake in the driver's library (`libcuda.so.1`; `nvcuda.dll` on
//! Windows) and passes the call on from then on. Without a driver every function returns
//! `CUDA_ERROR_NO_DEVICE` (100); one that the installed driver lacks returns
//! `CUDA_ERROR_NOT_SUPPORTED` (801).
//!
//! Some crate in the program has to name this one, or rustc leaves it out of the link and the
//! linker reports `undefined symbol: cuInit`. A call of one of its functions will do, and so will
//!
//! ```
//! use cuda_driver as _;
//! ```
//!
//! Those functions of `cust::sys` that cust does not call are forwarded where programs of today
//! need them (captured graphs, page-locked and pitched memory, peers, cooperative launches…); the
//! rest does not link. [`symbol`] finds any function.
//!
//! A shared library (`cdylib`) exports the functions. Should it be loaded into a process that is
//! itself linked with `libcuda`, the loader may bind cust to the driver directly, past this crate;
//! linking the library with `-C link-arg=-Wl,-Bsymbolic-functions` keeps the calls inside it.
//!
//! # Building without a CUDA toolkit
//!
//! The build scripts of `cust` and `cust_raw` stop where they find no toolkit, before any code of
//! this crate has a say. With a toolkit in `/usr/local/cuda` or `/opt/cuda` there is nothing to
//! do. Without one, set the environment variable `CUDA_LIBRARY_PATH` to any folder that has a
//! subfolder `lib64`; what is in it does not matter. `/usr` is such a folder on Debian, Ubuntu,
//! Fedora and Arch for x86-64. In the `.cargo/config.toml` of a project:
//!
//! ```toml
//! [env]
//! CUDA_LIBRARY_PATH = "/usr"
//! ```
//!
//! Where `/usr/lib64` does not exist (Alpine, macOS), make a folder of your own and set
//! `{ value = "that/folder", relative = true }`. The linker's wish for `libcuda` is then met by an
//! empty archive that the build script of this crate makes.
//!
//! On Windows `cust` takes no notice of `CUDA_LIBRARY_PATH`. Its build script wants `CUDA_PATH` to
//! name a folder with a file `include\cuda.h` and a folder `lib\x64`. This is read from its source
//! and was not tried on Windows.
//!
//! # Errors
//!
//! cust reads results as a Rust enum which knows the codes of CUDA 11.4. Another value in it would
//! be undefined behaviour, so codes that it lacks are handed to it as `CUDA_ERROR_UNKNOWN` (999),
//! and cust itself turns several that it does know, such as 222 for PTX that is too new, into
//! [`UnknownError`]. [`last_error`] has the code that the driver returned, [`error_text`] its
//! meaning.
//!
//! [`UnknownError`]: https://docs.rs/cust/0.3.2/cust/error/enum.CudaError.html

use std::ffi::{CStr, c_int};

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

#[macro_use]
mod functions;
mod codes;
mod forward;
mod library;

use library::Driver;
pub use library::LoadError;

/// Whether the driver's library was found; loads it at the first call.
///
/// A library does not make a GPU: `cuInit` can still fail.
///
/// # Errors
///
/// Where no library could be loaded: the names that were tried, and what the system's loader said
/// of each.
///
/// ```
/// match cuda_driver::load_status() {
///     Ok(()) => println!("CUDA {:?}", cuda_driver::driver_version()),
///     Err(error) => println!("no GPU: {error}"),
/// }
/// ```
pub fn load_status() -> Result<(), &'static LoadError> {
    Driver::get().status()
}

/// The newest CUDA version that the driver supports, as (major, minor); `None` without a driver.
///
/// ```
/// if let Some((major, minor)) = cuda_driver::driver_version() {
///     println!("CUDA {major}.{minor}");
/// }
/// ```
pub fn driver_version() -> Option<(u32, u32)> {
    type Function = unsafe extern "C" fn(*mut c_int) -> c_int;
    // SAFETY: this is the type of cuDriverGetVersion.
    let function = unsafe { symbol::<Function>(c"cuDriverGetVersion") }?;
    let mut version = 0;
    // SAFETY: it writes one integer, and may be called before cuInit.
    let result = unsafe { function(&mut version) };
    let version = u32::try_from(version).ok()?;
    (result == codes::SUCCESS).then_some((version / 1000, version % 1000 / 10))
}

/// A function of the driver by its exact name, for those that `cust::sys` lacks; `None` without a
/// driver, or with one that lacks it.
///
/// The function is the driver's own: its results do not reach [`last_error`], and must not be read
/// as `cust::sys::CUresult`, which does not know all codes. Keep what is returned: each call
/// searches the library.
///
/// # Safety
///
/// `T` is a function pointer of the function's true type, `unsafe extern "C" fn(…) -> c_int`.
///
/// ```
/// use std::ffi::c_int;
///
/// type CtxGetId = unsafe extern "C" fn(*mut std::ffi::c_void, *mut u64) -> c_int;
/// // SAFETY: this is how cuda.h declares cuCtxGetId.
/// let function = unsafe { cuda_driver::symbol::<CtxGetId>(c"cuCtxGetId") };
/// ```
pub unsafe fn symbol<T: Copy>(name: &CStr) -> Option<T> {
    // SAFETY: the caller vouches for T; the driver is never unloaded.
    unsafe { Driver::get().symbol(name) }
}

/// The code that the driver returned from the last of this thread's calls that failed, `None`
/// before any. Calls that succeed leave it.
///
/// Read it at once when cust reports its `UnknownError`, before a destructor makes calls of its
/// own. `CUDA_ERROR_NOT_READY` (600), the answer of a query, counts as a failure too.
pub fn last_error() -> Option<u32> {
    forward::last_error().map(i32::cast_unsigned)
}

/// The name, number and meaning of a result code: with a driver in its own words, without one for
/// the codes that cust knows.
///
/// ```
/// let text = cuda_driver::error_text(222);
/// assert!(text.starts_with("CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222)"));
/// ```
pub fn error_text(code: u32) -> String {
    let signed = code.cast_signed();
    let mut text = match forward::name(signed) {
        Some(name) => format!("{} ({code})", name.to_string_lossy()),
        None => format!("CUDA error {code}"),
    };
    if let Some(sentence) = forward::sentence(signed) {
        text += ": ";
        text += &sentence.to_string_lossy();
    }
    text
}
