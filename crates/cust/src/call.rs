//! Calls of the driver's functions, and the code of the last call that failed.

use std::cell::Cell;
use std::ffi::{CStr, c_int};

use crate::error::{CudaError, cudaError_enum};
use crate::library::Driver;

pub(crate) const SUCCESS: c_int = cudaError_enum::CUDA_SUCCESS as c_int;
pub(crate) const NO_DEVICE: c_int = CudaError::NoDevice as c_int;
const NOT_SUPPORTED: c_int = CudaError::NotSupported as c_int;

thread_local! {
    /// The code of this thread's last failed call, [`SUCCESS`] before any.
    static LAST_ERROR: Cell<c_int> = const { Cell::new(SUCCESS) };
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

/// Returns the driver's function of this name, if there is a driver and it has the function.
///
/// # Safety
///
/// `T` is a function pointer of the function's true type.
pub(crate) unsafe fn symbol<T: Copy>(name: &CStr) -> Option<T> {
    // SAFETY: `T` is a function pointer of the function's true type, by the contract of this
    // function. The driver is never unloaded.
    unsafe { Driver::get().symbol(name) }
}

/// Calls the driver's function, or answers for it if it is missing.
pub(crate) fn call<F>(function: Option<F>, call: impl FnOnce(F) -> c_int) -> cudaError_enum {
    finish(match function {
        Some(function) => call(function),
        None if Driver::get().status().is_err() => NO_DEVICE,
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
        match Driver::get().status() {
            Ok(()) => assert_eq!(answer, NOT_SUPPORTED),
            Err(_) => assert_eq!(answer, NO_DEVICE),
        }
    }
}
