//! Finding the driver's library and the functions in it.

use std::{
    ffi::{CStr, CString, c_void},
    fmt,
    sync::OnceLock,
};

use libloading::Library;

/// Places of the driver's library, the likeliest first.
#[cfg(not(windows))]
const NAMES: &[&str] = &[
    "libcuda.so.1",
    // Windows Subsystem for Linux, where the loader is not told of this folder.
    "/usr/lib/wsl/lib/libcuda.so.1",
    // Containers that mount the library under its bare name.
    "libcuda.so",
];
#[cfg(windows)]
const NAMES: &[&str] = &["nvcuda.dll"];

/// Why the NVIDIA driver's library could not be loaded.
///
/// Displays as one sentence with each name that was tried and what the system's loader said.
pub struct LoadError {
    /// As a C string, because `cuGetErrorString` hands it out too.
    message: CString,
}

impl LoadError {
    fn new(attempts: &[(&str, libloading::Error)]) -> Self {
        let mut message = String::from("the NVIDIA driver's library could not be loaded");
        for (i, (name, error)) in attempts.iter().enumerate() {
            let mark = if i == 0 { ':' } else { ';' };
            let reason = reason(error);
            // On Linux the loader starts with the name by itself.
            let reason = reason.strip_prefix(&format!("{name}: ")).unwrap_or(&reason);
            message += &format!("{mark} {name}: {reason}");
        }
        message.retain(|c| c != '\0');
        Self {
            message: CString::new(message).unwrap_or_default(),
        }
    }

    pub(crate) fn message(&self) -> &CStr {
        &self.message
    }
}

/// Returns the message of the system's loader, without the function that libloading called.
fn reason(error: &libloading::Error) -> String {
    let source = std::error::Error::source(error);
    source.map_or_else(|| error.to_string(), |source| source.to_string())
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message.to_string_lossy())
    }
}

impl fmt::Debug for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LoadError").field(&self.message).finish()
    }
}

impl std::error::Error for LoadError {}

/// The driver's library, or why there is none.
pub(crate) struct Driver(Result<Library, LoadError>);

impl Driver {
    /// The driver of this machine. It is loaded at the first call and never unloaded, so that
    /// functions found in it stay valid.
    pub(crate) fn get() -> &'static Self {
        static DRIVER: OnceLock<Driver> = OnceLock::new();
        DRIVER.get_or_init(|| Self::load(NAMES))
    }

    /// The first of these libraries that loads.
    fn load(names: &[&str]) -> Self {
        let mut attempts = Vec::new();
        for &name in names {
            match load_library(name) {
                Ok(library) => return Self(Ok(library)),
                Err(error) => attempts.push((name, error)),
            }
        }
        Self(Err(LoadError::new(&attempts)))
    }

    pub(crate) fn status(&self) -> Result<(), &LoadError> {
        self.0.as_ref().map(drop)
    }

    /// The function of this name, where there is a driver and it has one.
    ///
    /// # Safety
    ///
    /// `T` must be a function pointer of the function's true type. It may be called only while
    /// `self` lives.
    pub(crate) unsafe fn symbol<T: Copy>(&self, name: &CStr) -> Option<T> {
        const {
            assert!(
                size_of::<T>() == size_of::<*mut c_void>(),
                "T is a function pointer"
            )
        };
        let library = self.0.as_ref().ok()?;
        // SAFETY: an address is copied; nothing is read through it.
        let address = unsafe { *library.get::<*mut c_void>(name).ok()? };
        if address.is_null() {
            return None;
        }
        // SAFETY: the sizes are equal (above), the address is not null, and by the
        // contract of this function T is the type of the function at this address.
        Some(unsafe { std::mem::transmute_copy::<*mut c_void, T>(&address) })
    }
}

#[cfg(not(windows))]
fn load_library(name: &str) -> Result<Library, libloading::Error> {
    // SAFETY: the initialisers of NVIDIA's driver have no preconditions.
    unsafe { Library::new(name) }
}

/// From the system's folder alone, so that no file beside the program takes the driver's place.
#[cfg(windows)]
fn load_library(name: &str) -> Result<Library, libloading::Error> {
    use libloading::os::windows::{LOAD_LIBRARY_SEARCH_SYSTEM32, Library as WindowsLibrary};
    // SAFETY: the initialisers of NVIDIA's driver have no preconditions.
    unsafe { WindowsLibrary::load_with_flags(name, LOAD_LIBRARY_SEARCH_SYSTEM32) }.map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_is_reported_with_every_name() {
        let driver = Driver::load(&["libgridstride_none.so.1", "libgridstride_nor_this.so"]);
        let message = driver.status().unwrap_err().to_string();
        assert!(message.starts_with("the NVIDIA driver's library could not be loaded: "));
        assert!(message.contains("libgridstride_none.so.1: "), "{message}");
        assert!(
            message.contains("; libgridstride_nor_this.so: "),
            "{message}"
        );
        // SAFETY: nothing is called.
        let function = unsafe { driver.symbol::<extern "C" fn() -> i32>(c"cuInit") };
        assert!(function.is_none());
    }

    /// The C library stands in for a driver: it has `getpid` and lacks `cuInit`.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[test]
    fn functions_are_found_by_name() {
        type Function = unsafe extern "C" fn() -> i32;
        let driver = Driver::load(&["libgridstride_none.so.1", "libc.so.6"]);
        assert!(driver.status().is_ok());
        // SAFETY: this is the type of getpid; cuInit is not called.
        let (getpid, init) = unsafe {
            (
                driver.symbol::<Function>(c"getpid"),
                driver.symbol::<Function>(c"cuInit"),
            )
        };
        // SAFETY: getpid has no preconditions, and `driver` still lives.
        assert_eq!(unsafe { getpid.unwrap()() }, std::process::id() as i32);
        assert!(init.is_none());
    }
}
