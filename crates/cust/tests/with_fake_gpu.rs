//! A library that plays the driver of a GPU whose memory is the host's, with one module: the kernel
//! `add` of two slices, and the variable `SCALE`. It checks that the host part of cust passes
//! everything on as the driver wants it. Needs no GPU.
//!
//! See `with_fake_driver` for how the loader finds the library.

#![cfg(target_os = "linux")]

use std::{env, process::Command};

use cust::context::CurrentContext;
use cust::error::CudaError;
use cust::function::{BlockSize, GridSize};
use cust::memory::DeviceBox;
use cust::module::{JitFallback, JitTarget, ModuleJitOption, OptLevel};
use cust::prelude::*;

const DRIVER: &str = r#"
use std::alloc::{Layout, alloc, dealloc};
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::Mutex;

/// The sizes of allocations, by address.
static LIVE: Mutex<Option<HashMap<u64, usize>>> = Mutex::new(None);
/// Objects that live: contexts, modules and streams.
static OBJECTS: Mutex<i32> = Mutex::new(0);
static mut SCALE: f32 = 1.0;

fn count(by: i32) -> c_int {
    *OBJECTS.lock().unwrap() += by;
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn cuInit(_: c_uint) -> c_int { 0 }
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGet(device: *mut c_int, ordinal: c_int) -> c_int {
    unsafe { *device = ordinal + 40 };
    0
}
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDevicePrimaryCtxRetain(context: *mut usize, device: c_int) -> c_int {
    assert_eq!(device, 40);
    unsafe { *context = 41 };
    count(1)
}
#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxRelease_v2(device: c_int) -> c_int {
    assert_eq!(device, 40);
    count(-1)
}
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSetCurrent(context: usize) -> c_int {
    assert_eq!(context, 41);
    0
}
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSynchronize() -> c_int { 0 }
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoadDataEx(
    module: *mut usize, text: *const c_char, options: c_uint, names: *const c_int, values: *const usize,
) -> c_int {
    // The names of cuda.h, in the order of the test. A value stands in place of its address.
    let expected = [(0, 64), (7, 3), (8, 0), (9, 90), (10, 1), (11, 0), (13, 1)];
    for (i, option) in expected.iter().take(options as usize).enumerate() {
        assert_eq!(unsafe { (*names.add(i), *values.add(i)) }, *option);
    }
    // A target, and that of the context.
    if options == 7 {
        return 1;
    }
    if unsafe { CStr::from_ptr(text) }.to_str() != Ok("PTX") {
        return 218;
    }
    unsafe { *module = 42 };
    count(1)
}
#[unsafe(no_mangle)]
pub extern "C" fn cuModuleUnload(module: usize) -> c_int {
    assert_eq!(module, 42);
    count(-1)
}
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleGetFunction(function: *mut usize, module: usize, name: *const c_char) -> c_int {
    assert_eq!(module, 42);
    if unsafe { CStr::from_ptr(name) } != c"add" {
        return 500;
    }
    unsafe { *function = 43 };
    0
}
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleGetGlobal_v2(
    address: *mut u64, bytes: *mut usize, module: usize, name: *const c_char,
) -> c_int {
    assert_eq!(module, 42);
    let at = match unsafe { CStr::from_ptr(name) } {
        name if name == c"SCALE" => (&raw mut SCALE) as u64,
        // Two numbers of 16 bits.
        name if name == c"PAIR" => 0x1002,
        _ => return 500,
    };
    unsafe {
        *address = at;
        *bytes = 4;
    }
    0
}
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamCreateWithPriority(stream: *mut usize, flags: c_uint, priority: c_int) -> c_int {
    assert_eq!((flags, priority), (1, -3));
    unsafe { *stream = 44 };
    count(1)
}
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamSynchronize(stream: usize) -> c_int {
    assert_eq!(stream, 44);
    0
}
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamDestroy_v2(stream: usize) -> c_int {
    assert_eq!(stream, 44);
    count(-1)
}
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAlloc_v2(address: *mut u64, bytes: usize) -> c_int {
    if bytes == 0 {
        return 1;
    }
    if bytes > 1 << 40 {
        return 2;
    }
    unsafe { *address = alloc(Layout::from_size_align(bytes, 256).unwrap()) as u64 };
    LIVE.lock().unwrap().get_or_insert_default().insert(unsafe { *address }, bytes);
    count(1)
}
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemFree_v2(address: u64) -> c_int {
    let bytes = LIVE.lock().unwrap().get_or_insert_default().remove(&address).unwrap();
    unsafe { dealloc(address as *mut u8, Layout::from_size_align(bytes, 256).unwrap()) };
    count(-1)
}
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyHtoD_v2(to: u64, from: *const u8, bytes: usize) -> c_int {
    unsafe { std::ptr::copy_nonoverlapping(from, to as *mut u8, bytes) };
    0
}
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyDtoH_v2(to: *mut u8, from: u64, bytes: usize) -> c_int {
    unsafe { std::ptr::copy_nonoverlapping(from as *const u8, to, bytes) };
    0
}
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuOccupancyMaxPotentialBlockSize(
    grid: *mut c_int, block: *mut c_int, function: usize, _: *mut c_void, shared: usize, limit: c_int,
) -> c_int {
    assert_eq!((function, shared), (43, 8));
    unsafe {
        *grid = 7;
        *block = if limit == 0 { 1024 } else { limit };
    }
    0
}
/// `add(a: &[f32], b: &[f32], c: *mut f32)`, c = SCALE · (a + b).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchKernel(
    function: usize, gx: c_uint, gy: c_uint, gz: c_uint, bx: c_uint, by: c_uint, bz: c_uint,
    shared: c_uint, stream: usize, parameters: *mut *mut c_void, extra: *mut c_void,
) -> c_int {
    assert_eq!((function, shared, stream, extra.is_null()), (43, 16, 44, true));
    if [gx, gy, gz, bx, by, bz] != [2, 1, 1, 32, 2, 1] {
        return 1;
    }
    unsafe {
        let parameter = |i: usize| *parameters.add(i);
        let slice = |i: usize| std::slice::from_raw_parts(*(parameter(i) as *const *const f32), *(parameter(i + 1) as *const usize));
        let (a, b) = (slice(0), slice(2));
        let c = *(parameter(4) as *const *mut f32);
        for i in 0..a.len() {
            *c.add(i) = SCALE * (a[i] + b[i]);
        }
    }
    0
}
/// For the test.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxPopCurrent_v2(_: *mut usize) -> c_int {
    match *OBJECTS.lock().unwrap() {
        0 => 0,
        _ => 1,
    }
}
"#;

const IN_CHILD: &str = "GRIDSTRIDE_TEST_FAKE_GPU";

#[test]
fn over_a_fake_gpu() {
    if env::var_os(IN_CHILD).is_some() {
        return what_the_gpu_does().unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("driver.rs");
    std::fs::write(&source, DRIVER).unwrap();
    let output = Command::new("rustc")
        .args(["--edition", "2024", "--crate-type", "cdylib", "-o"])
        .arg(folder.path().join("libcuda.so.1"))
        .arg(&source)
        .output()
        .expect("rustc is on the path");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", "over_a_fake_gpu", "--nocapture"])
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

fn what_the_gpu_does() -> Result<(), CudaError> {
    let context = cust::quick_init()?;
    CurrentContext::set_current(&context)?;
    let refused = Module::from_ptx("other text", &[]);
    assert_eq!(refused.unwrap_err(), CudaError::InvalidPtx);
    let zero = Module::from_ptx("PTX\0", &[]);
    assert_eq!(zero.unwrap_err(), CudaError::InvalidValue);
    let options = [
        ModuleJitOption::MaxRegisters(64),
        ModuleJitOption::OptLevel(OptLevel::O3),
        ModuleJitOption::DetermineTargetFromContext,
        ModuleJitOption::Target(JitTarget::Compute90),
        ModuleJitOption::Fallback(JitFallback::PreferCompatibleBinary),
        ModuleJitOption::GenenerateDebugInfo(false),
        ModuleJitOption::GenerateLineInfo(true),
    ];
    let refused = Module::from_ptx("PTX", &options);
    assert_eq!(refused.unwrap_err(), CudaError::InvalidValue);
    drop(Module::from_ptx("PTX", &options[..3])?);
    let module = Module::from_ptx("PTX", &[])?;
    let stream = Stream::new(StreamFlags::DEFAULT, Some(-3))?;

    // Copies.
    let a: Vec<f32> = (0..100).map(|i| i as f32).collect();
    let b = [0.5f32; 100];
    let (on_a, on_b) = (a.as_slice().as_dbuf()?, b.as_dbuf()?);
    assert_eq!((on_a.len(), on_a.is_empty()), (100, false));
    assert_eq!(on_a.as_host_vec()?, a);
    let mut short = vec![0.0f32; 99];
    assert_eq!(on_a.copy_to(&mut short), Err(CudaError::InvalidValue));
    let empty = DeviceBuffer::<f32>::from_slice(&[])?;
    assert!(empty.is_empty() && empty.as_device_ptr().is_null());
    assert!(empty.as_host_vec()?.is_empty());
    // SAFETY: nothing reads it.
    let too_large = unsafe { DeviceBuffer::<u64>::uninitialized(1 << 50) };
    assert_eq!(too_large.unwrap_err(), CudaError::OutOfMemory);
    // SAFETY: as above.
    let too_large = unsafe { DeviceBuffer::<u64>::uninitialized(usize::MAX) };
    assert_eq!(too_large.unwrap_err(), CudaError::OutOfMemory);
    let mut value = DeviceBox::new(&[1u8, 2, 3])?;
    value.copy_from(&[4, 5, 6])?;
    assert_eq!(value.as_host_value()?, [4, 5, 6]);

    // Variables.
    assert_eq!(
        module.get_global::<f32>(c"OTHER").unwrap_err(),
        CudaError::NotFound
    );
    assert_eq!(
        module.get_global::<f64>(c"SCALE").unwrap_err(),
        CudaError::InvalidValue
    );
    // The size of both is that of the variable, the alignment that of the first alone.
    assert!(module.get_global::<[u16; 2]>(c"PAIR").is_ok());
    assert_eq!(
        module.get_global::<u32>(c"PAIR").unwrap_err(),
        CudaError::InvalidValue
    );
    let mut scale = module.get_global::<f32>(c"SCALE")?;
    let mut read = 0.0;
    scale.copy_to(&mut read)?;
    assert_eq!(read, 1.0);
    scale.copy_from(&2.0)?;

    // Launches.
    let mut c = vec![0.0f32; 100];
    let on_c = c.as_slice().as_dbuf()?;
    let expected: Vec<f32> = a.iter().map(|a| 2.0 * (a + 0.5)).collect();
    // SAFETY: the arguments are those of `add`, and the buffers live.
    unsafe {
        launch!(module.add<<<2, (32, 2), 16, stream>>>(
            on_a.as_device_ptr(), on_a.len(), on_b.as_device_ptr(), on_b.len(), on_c.as_device_ptr(),
        ))?;
    }
    stream.synchronize()?;
    on_c.copy_to(&mut c)?;
    assert_eq!(c, expected);
    let add = module.get_function("add")?;
    assert_eq!(add.suggested_launch_configuration(8, 0.into())?, (7, 1024));
    assert_eq!(
        add.suggested_launch_configuration(8, BlockSize::xy(8, 4))?,
        (7, 32)
    );
    // SAFETY: as above.
    let refused = unsafe {
        launch!(add<<<GridSize::xyz(2, 3, 1), 64, 16, stream>>>(
            on_a.as_device_ptr(), on_a.len(), on_b.as_device_ptr(), on_b.len(), on_c.as_device_ptr()
        ))
    };
    assert_eq!(refused, Err(CudaError::InvalidValue));
    // SAFETY: nothing is launched.
    let missing = unsafe { launch!(module.subtract<<<1, 1, 0, stream>>>()) };
    assert_eq!(missing, Err(CudaError::NotFound));
    CurrentContext::synchronize()?;

    // Everything is freed once.
    drop((on_a, on_b, on_c, empty, value, stream, module, context));
    let mut popped = std::ptr::null_mut();
    // SAFETY: this driver writes nothing.
    let left = unsafe { cust::sys::cuCtxPopCurrent_v2(&mut popped) };
    assert_eq!(left, cust::sys::CUresult::CUDA_SUCCESS);
    Ok(())
}
