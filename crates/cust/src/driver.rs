//! The driver's library: whether there is one, its version, and its words for errors.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int};

use crate::error::{CudaError, cudaError_enum};
use crate::library::Driver;
pub use crate::library::LoadError;
use crate::sys;

const SUCCESS: c_int = cudaError_enum::CUDA_SUCCESS as c_int;
const NO_DEVICE: c_int = CudaError::NoDevice as c_int;
const NOT_SUPPORTED: c_int = CudaError::NotSupported as c_int;

thread_local! {
    /// The code of this thread's last failed call, [`SUCCESS`] before any.
    static LAST_ERROR: Cell<c_int> = const { Cell::new(SUCCESS) };
}

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

/// Returns the code that the driver returned from the last of this thread's calls that failed,
/// `None` before any. Calls that succeed leave it.
///
/// Read it at once when a call fails, before a destructor makes calls. `CUDA_ERROR_NOT_READY`
/// (600), the answer of a query, counts as a failure too.
pub fn last_error() -> Option<u32> {
    let code = LAST_ERROR.get();
    (code != SUCCESS).then(|| code.cast_unsigned())
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

/// Returns the driver's function of this name, if there is a driver and it has the function.
///
/// # Safety
///
/// `T` is a function pointer of the function's true type.
pub(crate) unsafe fn symbol<T: Copy>(name: &CStr) -> Option<T> {
    // SAFETY: the caller vouches for T; the driver is never unloaded.
    unsafe { Driver::get().symbol(name) }
}

/// Calls the driver's function, or answers for it if it is missing.
pub(crate) fn call<F>(function: Option<F>, call: impl FnOnce(F) -> c_int) -> cudaError_enum {
    finish(match function {
        Some(function) => call(function),
        None if load_status().is_err() => NO_DEVICE,
        None => NOT_SUPPORTED,
    })
}

/// Keeps the code of a failed call.
fn finish(code: c_int) -> cudaError_enum {
    if code != SUCCESS {
        LAST_ERROR.set(code);
    }
    cudaError_enum::from_code(code)
}

/// Returns the meaning of a code, or its name: what cust displays of an error.
pub(crate) fn words(code: c_int) -> &'static CStr {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_code_is_clamped_and_kept() {
        for (code, seen) in [(700, 700), (912, 999), (-5, 999), (999, 999)] {
            assert_eq!(call(Some(code), |code| code) as c_int, seen);
            assert_eq!(last_error(), Some(code.cast_unsigned()));
        }
        assert_eq!(call(Some(0), |code| code), cudaError_enum::CUDA_SUCCESS);
        assert_eq!(last_error(), Some(999), "success leaves the last error");
    }

    #[test]
    fn each_thread_has_its_last_error() {
        assert_eq!(finish(46), cudaError_enum::CUDA_ERROR_UNKNOWN);
        assert_eq!(std::thread::spawn(last_error).join().unwrap(), None);
        assert_eq!(last_error(), Some(46));
    }

    #[test]
    fn a_missing_function_says_why() {
        let answer = call(None::<c_int>, |_| unreachable!()) as c_int;
        match load_status() {
            Ok(()) => assert_eq!(answer, NOT_SUPPORTED),
            Err(_) => assert_eq!(answer, NO_DEVICE),
        }
    }

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
