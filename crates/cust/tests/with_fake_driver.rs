//! A library that plays the driver: what a driver newer than this crate returns, and what happens
//! when it lacks a function. Needs no GPU.
//!
//! The loader reads its search path when a program starts. So the test builds the library, then
//! runs this same program again with that path.

#![cfg(target_os = "linux")]

use std::{env, path::Path, process::Command};

use cust::sys::{self, CUresult};
use cust::{CudaFlags, device::Device, driver, error::CudaError};

const DRIVER: &str = r#"
use std::ffi::{c_char, c_int, c_uint};

#[unsafe(no_mangle)]
pub extern "C" fn cuInit(_flags: c_uint) -> c_int {
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDriverGetVersion(version: *mut c_int) -> c_int {
    unsafe { *version = 13010 };
    0
}

/// As many devices as the test can tell from a default.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetCount(count: *mut c_int) -> c_int {
    unsafe { *count = 7 };
    0
}

/// A code that the enum lacks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAlloc_v2(_address: *mut u64, _bytes: usize) -> c_int {
    912
}

/// A code that the enum has, and that cust reports as unknown.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGet(_device: *mut c_int, _ordinal: c_int) -> c_int {
    223
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorName(code: c_int, text: *mut *const c_char) -> c_int {
    if code != 912 {
        return 1;
    }
    unsafe { *text = c"CUDA_ERROR_CDP_NOT_SUPPORTED".as_ptr() };
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorString(code: c_int, text: *mut *const c_char) -> c_int {
    if code != 912 {
        return 1;
    }
    unsafe { *text = c"no dynamic parallelism".as_ptr() };
    0
}
"#;

const IN_CHILD: &str = "GRIDSTRIDE_TEST_FAKE_DRIVER";

#[test]
fn over_a_fake_driver() {
    if env::var_os(IN_CHILD).is_some() {
        return what_cust_sees();
    }
    let folder = tempfile::tempdir().unwrap();
    build(folder.path());
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", "over_a_fake_driver", "--nocapture"])
        .env("LD_LIBRARY_PATH", folder.path())
        .env(IN_CHILD, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}"
    );
}

fn build(folder: &Path) {
    let source = folder.join("driver.rs");
    std::fs::write(&source, DRIVER).unwrap();
    let output = Command::new("rustc")
        .args(["--edition", "2024", "--crate-type", "cdylib", "-o"])
        .arg(folder.join("libcuda.so.1"))
        .arg(&source)
        .output()
        .expect("rustc is on the path");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn what_cust_sees() {
    // The program itself must not need the library: the loader has not been told of it.
    let is_loaded = || {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        maps.contains("libcuda.so.1")
    };
    assert!(!is_loaded());
    assert!(driver::load_status().is_ok());
    assert!(is_loaded());
    assert_eq!(driver::driver_version(), Some((13, 1)));
    assert_eq!(cust::init(CudaFlags::empty()), Ok(()));
    assert_eq!(Device::num_devices(), Ok(7));
    assert_eq!(driver::last_error(), None);

    let mut address = 0;
    // SAFETY: it writes one address.
    let result = unsafe { sys::cuMemAlloc_v2(&mut address, 16) };
    assert_eq!(result, CUresult::CUDA_ERROR_UNKNOWN);
    assert_eq!(driver::last_error(), Some(912));
    let text = "CUDA_ERROR_CDP_NOT_SUPPORTED (912): no dynamic parallelism";
    assert_eq!(driver::error_text(912), text);

    let error = Device::get_device(0).unwrap_err();
    assert_eq!(error, CudaError::UnknownError);
    assert_eq!(error.to_string(), "\"CUDA_ERROR_UNKNOWN\"");
    assert_eq!(driver::last_error(), Some(223));
    let text = "CUDA_ERROR_JIT_COMPILATION_DISABLED (223)";
    assert_eq!(driver::error_text(223), text);

    // This driver has no contexts.
    // SAFETY: it has no preconditions.
    let result = unsafe { sys::cuCtxSynchronize() };
    assert_eq!(result, CUresult::CUDA_ERROR_NOT_SUPPORTED);
    assert_eq!(driver::last_error(), Some(801));
}
