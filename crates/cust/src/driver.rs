//! The driver's library: whether there is one, its version, and its words for errors.

use std::ffi::{CStr, c_char, c_int};
use std::fmt;

pub use crate::call::last_error;
use crate::call::{NO_DEVICE, SUCCESS, symbol};
use crate::error::{CudaError, cudaError_enum};
use crate::library::Driver;
pub use crate::library::LoadError;
use crate::sys;

/// Returns whether the driver's library was found; loads it at the first call.
///
/// A library does not make a GPU: `cuInit` can still fail.
///
/// # Errors
///
/// If no library could be loaded: the names that were tried, and what the system's loader said of
/// each.
///
/// ```
/// match cust::driver::load_status() {
///     Ok(()) => println!("CUDA {:?}", cust::driver::driver_version()),
///     Err(error) => println!("no GPU: {error}"),
/// }
/// ```
pub fn load_status() -> Result<(), &'static LoadError> {
    Driver::get().status()
}

/// Returns the newest CUDA version that the driver supports, as (major, minor); `None` without a
/// driver.
pub fn driver_version() -> Option<(u32, u32)> {
    let mut version = 0;
    // SAFETY: it writes one integer, and may be called before cuInit.
    unsafe { sys::cuDriverGetVersion(&mut version) }
        .to_result()
        .ok()?;
    let version = u32::try_from(version).ok()?;
    Some((version / 1000, version % 1000 / 10))
}

/// Returns the name, number and meaning of a result code: with a driver in its own words, without
/// one for the codes of CUDA 11.4.
///
/// ```
/// let text = cust::driver::error_text(222);
/// assert!(text.starts_with("CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222)"));
/// ```
pub fn error_text(code: u32) -> String {
    let signed = code.cast_signed();
    let mut text = match name(signed) {
        Some(name) => format!("{} ({code})", name.to_string_lossy()),
        None => format!("CUDA error {code}"),
    };
    if let Some(sentence) = sentence(signed) {
        text += ": ";
        text += &sentence.to_string_lossy();
    }
    text
}

/// Returns the meaning of a code, or its name: what cust displays of an error.
fn words(code: c_int) -> &'static CStr {
    sentence(code)
        .or_else(|| name(code))
        .unwrap_or(c"an error without a name")
}

/// Returns the name of a code, such as `CUDA_ERROR_NO_DEVICE`.
fn name(code: c_int) -> Option<&'static CStr> {
    ask_driver(c"cuGetErrorName", code).or_else(|| cudaError_enum::name_of(code))
}

/// Returns what a code means.
fn sentence(code: c_int) -> Option<&'static CStr> {
    match load_status() {
        Ok(()) => ask_driver(c"cuGetErrorString", code),
        Err(error) if code == NO_DEVICE => Some(error.message()),
        Err(_) => None,
    }
}

/// Calls the driver's `cuGetErrorName` or `cuGetErrorString`. Returns `None` without a driver and
/// for codes that the driver does not know.
fn ask_driver(function: &CStr, code: c_int) -> Option<&'static CStr> {
    type Describe = unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int;
    // SAFETY: both functions are of this type.
    let describe = unsafe { symbol::<Describe>(function) }?;
    let mut text = std::ptr::null();
    // SAFETY: both write one pointer and accept any code.
    let result = unsafe { describe(code, &mut text) };
    if result != SUCCESS || text.is_null() {
        return None;
    }
    // SAFETY: on success the driver points to a string that lives as long as the driver.
    Some(unsafe { CStr::from_ptr(text) })
}

impl fmt::Display for CudaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", words(*self as i32))
    }
}

impl std::error::Error for CudaError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_words() {
        for code in [0, 1, 46, 100, 222, 999, 12345] {
            assert!(!words(code).is_empty());
        }
    }

    #[test]
    fn text_names_the_code() {
        assert!(error_text(1).starts_with("CUDA_ERROR_INVALID_VALUE (1)"));
        assert!(error_text(4_000_000_000).starts_with("CUDA error 4000000000"));
    }
}
