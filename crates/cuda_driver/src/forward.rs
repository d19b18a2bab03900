//! The driver's functions under their own names, each passing its call on to the driver.

// The linker wants these names, and the number of parameters is NVIDIA's.
#![allow(non_snake_case, clippy::too_many_arguments)]

use std::{
    cell::Cell,
    ffi::{CStr, c_char, c_int, c_uchar, c_uint, c_ulonglong, c_ushort, c_void},
    sync::OnceLock,
};

use crate::{codes, library::Driver};

/// Any pointer, handle or callback.
type Pointer = *mut c_void;

thread_local! {
    /// The code of this thread's last failed call, [`codes::SUCCESS`] before any.
    static LAST_ERROR: Cell<c_int> = const { Cell::new(codes::SUCCESS) };
}

pub(crate) fn last_error() -> Option<c_int> {
    Some(LAST_ERROR.get()).filter(|&code| code != codes::SUCCESS)
}

/// Keeps the code of a failed call, and gives it as cust can read it.
fn finish(code: c_int) -> c_int {
    if code != codes::SUCCESS {
        LAST_ERROR.set(code);
    }
    codes::clamp(code)
}

/// Calls the driver's function, or answers for it where there is none.
fn call<F>(driver: &Driver, function: Option<F>, call: impl FnOnce(F) -> c_int) -> c_int {
    finish(match function {
        Some(function) => call(function),
        None if driver.status().is_err() => codes::NO_DEVICE,
        None => codes::NOT_SUPPORTED,
    })
}

macro_rules! forward {
    ($(fn $name:ident($($parameter:ident: $type:ty),* $(,)?);)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($parameter: $type),*) -> c_int {
            type Function = unsafe extern "C" fn($($type),*) -> c_int;
            static FUNCTION: OnceLock<Option<Function>> = OnceLock::new();
            let driver = Driver::get();
            // SAFETY: the table gives the types of the parameters as the driver declares them.
            let function = *FUNCTION.get_or_init(|| unsafe { driver.symbol(c_name!($name)) });
            // SAFETY: the caller vouches for the arguments as for a call of the driver's own.
            call(driver, function, |function| unsafe { function($($parameter),*) })
        }
    )*};
}

for_each_function!(forward);

/// `cuGetErrorName` and `cuGetErrorString` of the driver.
type Describe = unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int;

/// What the driver's own `cuGetErrorName` or `cuGetErrorString` says of a code, where there is a
/// driver and it knows the code.
fn ask_driver(function: &CStr, code: c_int) -> Option<&'static CStr> {
    // SAFETY: both functions are of this type.
    let describe = unsafe { Driver::get().symbol::<Describe>(function) }?;
    let mut text = std::ptr::null();
    // SAFETY: both write one pointer and accept any code.
    let result = unsafe { describe(code, &mut text) };
    if result != codes::SUCCESS || text.is_null() {
        return None;
    }
    // SAFETY: on success the driver points to a string of its own, which lives as long as it.
    Some(unsafe { CStr::from_ptr(text) })
}

/// The name of a code, such as `CUDA_ERROR_NO_DEVICE`.
pub(crate) fn name(code: c_int) -> Option<&'static CStr> {
    ask_driver(c"cuGetErrorName", code).or_else(|| codes::name(code))
}

/// What a code means, in words.
pub(crate) fn sentence(code: c_int) -> Option<&'static CStr> {
    match Driver::get().status() {
        Ok(()) => ask_driver(c"cuGetErrorString", code),
        Err(error) if code == codes::NO_DEVICE => Some(error.message()),
        Err(_) => None,
    }
}

/// The driver's function of this name, or what stands in for it: it never fails on a code,
/// because cust panics while it displays an error if this one does.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorString(code: c_int, text: *mut *const c_char) -> c_int {
    let answer = sentence(code)
        .or_else(|| name(code))
        .unwrap_or(c"an error without a name");
    // SAFETY: the caller vouches for the pointer as for a call of the driver's own.
    unsafe { answer_with(answer, text) }
}

/// The driver's function of this name, or what stands in for it.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorName(code: c_int, text: *mut *const c_char) -> c_int {
    // SAFETY: the caller vouches for the pointer as for a call of the driver's own.
    unsafe { answer_with(name(code).unwrap_or(c"CUDA_ERROR_WITHOUT_NAME"), text) }
}

/// # Safety
///
/// `text` is null or can be written to.
unsafe fn answer_with(answer: &'static CStr, text: *mut *const c_char) -> c_int {
    if text.is_null() {
        return codes::INVALID_VALUE;
    }
    // SAFETY: not null, hence writable.
    unsafe { text.write(answer.as_ptr()) };
    codes::SUCCESS
}

#[cfg(test)]
mod tests;
