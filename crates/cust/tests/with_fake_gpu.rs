//! A library that plays the driver of a GPU whose memory is the host's, with one module: the kernel
//! `add` of two slices, and the variable `SCALE`. It checks that the host part of cust passes
//! everything on as the driver wants it. Needs no GPU.
//!
//! See `with_fake_driver` for how the loader finds the library.

#![cfg(target_os = "linux")]

use std::{env, process::Command, time::Duration};

use cust::context::CurrentContext;
use cust::error::CudaError;
use cust::event::{Event, EventFlags, EventStatus};
use cust::function::{BlockSize, FunctionAttribute, GridSize};
use cust::memory::DeviceBox;
use cust::module::{JitFallback, JitTarget, ModuleJitOption, OptLevel};
use cust::prelude::*;
use cust::stream::StreamWaitEventFlags;

const DRIVER: &str = r#"
use std::alloc::{Layout, alloc, dealloc};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// The sizes of allocations, by address.
static LIVE: Mutex<Option<HashMap<u64, usize>>> = Mutex::new(None);
/// Objects that live: modules, streams and events.
static OBJECTS: Mutex<i32> = Mutex::new(0);
/// How often the primary context is retained.
static RETAINED: Mutex<i32> = Mutex::new(0);
/// Whether a copy or a fill in the default stream may not have ended.
static IS_COPYING: AtomicBool = AtomicBool::new(false);
thread_local! {
    /// The contexts that were made current on this thread.
    static CONTEXTS: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}
static mut SCALE: f32 = 1.0;
static mut BYTE: u8 = 2;

fn count(by: i32) -> c_int {
    *OBJECTS.lock().unwrap() += by;
    0
}

/// Of an object that lives in the context, which has to be current and to exist.
fn count_in_context(by: i32) -> c_int {
    let is_current = CONTEXTS.with_borrow(|contexts| contexts.last() == Some(&41));
    match is_current && *RETAINED.lock().unwrap() > 0 {
        true => count(by),
        false => 201,
    }
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
    *RETAINED.lock().unwrap() += 1;
    0
}
#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxRelease_v2(device: c_int) -> c_int {
    assert_eq!(device, 40);
    *RETAINED.lock().unwrap() -= 1;
    0
}
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDevicePrimaryCtxGetState(
    device: c_int,
    flags: *mut c_uint,
    active: *mut c_int,
) -> c_int {
    assert_eq!(device, 40);
    unsafe { (*flags, *active) = (0, (*RETAINED.lock().unwrap() > 0).into()) };
    0
}
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetDevice(device: *mut c_int) -> c_int {
    unsafe { *device = 40 };
    0
}
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSetCurrent(context: usize) -> c_int {
    assert_eq!(context, 41);
    CONTEXTS.set(vec![context]);
    0
}
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetCurrent(context: *mut usize) -> c_int {
    unsafe { *context = CONTEXTS.with_borrow(|contexts| contexts.last().copied().unwrap_or(0)) };
    0
}
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxPushCurrent_v2(context: usize) -> c_int {
    if context != 41 {
        return 201;
    }
    CONTEXTS.with_borrow_mut(|contexts| contexts.push(context));
    0
}
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxPopCurrent_v2(context: *mut usize) -> c_int {
    match CONTEXTS.with_borrow_mut(Vec::pop) {
        Some(popped) => {
            unsafe { *context = popped };
            0
        }
        None => 201,
    }
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
    count_in_context(1)
}
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoad(module: *mut usize, path: *const c_char) -> c_int {
    if unsafe { CStr::from_ptr(path) } != c"kernels.ptx" {
        return 301;
    }
    unsafe { *module = 42 };
    count_in_context(1)
}
#[unsafe(no_mangle)]
pub extern "C" fn cuModuleUnload(module: usize) -> c_int {
    assert_eq!(module, 42);
    count_in_context(-1)
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
        name if name == c"BYTE" => {
            unsafe {
                *address = (&raw mut BYTE) as u64;
                *bytes = 1;
            }
            return 0;
        }
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
    // Never without the default stream's order.
    assert_eq!((flags, priority), (0, -3));
    unsafe { *stream = 44 };
    count_in_context(1)
}
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamGetFlags(stream: usize, flags: *mut c_uint) -> c_int {
    assert_eq!(stream, 44);
    unsafe { *flags = 0 };
    0
}
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamGetPriority(stream: usize, priority: *mut c_int) -> c_int {
    assert_eq!(stream, 44);
    unsafe { *priority = -2 };
    0
}
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamWaitEvent(stream: usize, event: usize, flags: c_uint) -> c_int {
    assert_eq!((stream, event >= 50, flags), (44, true, 0));
    0
}
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamSynchronize(stream: usize) -> c_int {
    match stream {
        0 => IS_COPYING.store(false, SeqCst),
        _ => assert_eq!(stream, 44),
    }
    0
}
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamDestroy_v2(stream: usize) -> c_int {
    assert_eq!(stream, 44);
    count_in_context(-1)
}
/// Events are 50 and the flags. Each is recorded 1.5 ms times its flags after the start.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventCreate(event: *mut usize, flags: c_uint) -> c_int {
    unsafe { *event = 50 + flags as usize };
    count_in_context(1)
}
#[unsafe(no_mangle)]
pub extern "C" fn cuEventRecord(event: usize, stream: usize) -> c_int {
    assert_eq!((event >= 50, stream), (true, 44));
    0
}
#[unsafe(no_mangle)]
pub extern "C" fn cuEventQuery(event: usize) -> c_int {
    match event {
        50 => 0,
        51 => 600,
        _ => 719,
    }
}
#[unsafe(no_mangle)]
pub extern "C" fn cuEventSynchronize(_: usize) -> c_int { 0 }
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventElapsedTime(time: *mut f32, start: usize, end: usize) -> c_int {
    unsafe { *time = 1.5 * (end - start) as f32 };
    0
}
#[unsafe(no_mangle)]
pub extern "C" fn cuEventDestroy_v2(event: usize) -> c_int {
    assert!(event >= 50);
    count_in_context(-1)
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
    count_in_context(1)
}
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemFree_v2(address: u64) -> c_int {
    let result = count_in_context(-1);
    if result == 0 {
        let bytes = LIVE.lock().unwrap().get_or_insert_default().remove(&address).unwrap();
        unsafe { dealloc(address as *mut u8, Layout::from_size_align(bytes, 256).unwrap()) };
    }
    result
}
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyHtoD_v2(to: u64, from: *const u8, bytes: usize) -> c_int {
    IS_COPYING.store(true, SeqCst);
    unsafe { std::ptr::copy_nonoverlapping(from, to as *mut u8, bytes) };
    0
}
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyDtoD_v2(to: u64, from: u64, bytes: usize) -> c_int {
    IS_COPYING.store(true, SeqCst);
    unsafe { std::ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, bytes) };
    0
}
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemsetD8_v2(to: u64, value: u8, count: usize) -> c_int {
    IS_COPYING.store(true, SeqCst);
    unsafe { std::slice::from_raw_parts_mut(to as *mut u8, count) }.fill(value);
    0
}
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemsetD16_v2(to: u64, value: u16, count: usize) -> c_int {
    IS_COPYING.store(true, SeqCst);
    unsafe { std::slice::from_raw_parts_mut(to as *mut u16, count) }.fill(value);
    0
}
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemsetD32_v2(to: u64, value: u32, count: usize) -> c_int {
    IS_COPYING.store(true, SeqCst);
    unsafe { std::slice::from_raw_parts_mut(to as *mut u32, count) }.fill(value);
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
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    blocks: *mut c_int, function: usize, threads: c_int, shared: usize,
) -> c_int {
    assert_eq!((function, threads, shared), (43, 64, 16));
    unsafe { *blocks = 9 };
    0
}
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuOccupancyAvailableDynamicSMemPerBlock(
    bytes: *mut usize, function: usize, blocks: c_int, threads: c_int,
) -> c_int {
    assert_eq!((function, blocks, threads), (43, 2, 64));
    unsafe { *bytes = 1 << 15 };
    0
}
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuFuncGetAttribute(value: *mut c_int, attribute: c_int, function: usize) -> c_int {
    assert_eq!(function, 43);
    unsafe { *value = 100 + attribute };
    0
}
/// `add(a: &[f32], b: &[f32], c: *mut f32)`, c = SCALE · (a + b).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchKernel(
    function: usize, gx: c_uint, gy: c_uint, gz: c_uint, bx: c_uint, by: c_uint, bz: c_uint,
    shared: c_uint, stream: usize, parameters: *mut *mut c_void, extra: *mut c_void,
) -> c_int {
    assert_eq!((function, shared, stream, extra.is_null()), (43, 16, 44, true));
    assert!(!IS_COPYING.load(SeqCst), "a kernel could read what a copy has yet to write");
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
/// For the test: how often the context is retained, and the number of objects, in place of memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> c_int {
    unsafe {
        *free = *RETAINED.lock().unwrap() as usize;
        *total = *OBJECTS.lock().unwrap() as usize;
    }
    0
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
    // A `&[f32]` of a kernel is aligned and not null.
    assert!(empty.is_empty() && empty.as_device_ptr().as_raw() == 4);
    assert!(empty.as_host_vec()?.is_empty());
    // SAFETY: nothing reads it.
    let too_large = unsafe { DeviceBuffer::<u64>::uninitialized(1 << 50) };
    assert_eq!(too_large.unwrap_err(), CudaError::OutOfMemory);
    // SAFETY: nothing reads it.
    let too_large = unsafe { DeviceBuffer::<u64>::uninitialized(usize::MAX) };
    assert_eq!(too_large.unwrap_err(), CudaError::OutOfMemory);
    let mut value = DeviceBox::new(&[1u8, 2, 3])?;
    value.copy_from(&[4, 5, 6])?;
    assert_eq!(value.as_host_value()?, [4, 5, 6]);

    // Parts.
    let mut numbers = [1u32, 2, 3, 4, 5].as_dbuf()?;
    let (first, second) = numbers.split_at(2);
    assert_eq!((first.len(), second.as_host_vec()?), (2, vec![3, 4, 5]));
    assert_eq!(numbers[1..=2].as_host_vec()?, [2, 3]);
    assert_eq!(numbers[3].as_host_vec()?, [4]);
    assert_eq!((numbers[..].len(), numbers[5..].len()), (5, 0));
    let (first, second) = numbers.split_at_mut(2);
    first.copy_from(&second[1..])?;
    assert_eq!(first.copy_from(&second[..1]), Err(CudaError::InvalidValue));
    assert_eq!(numbers.as_host_vec()?, [4, 5, 3, 4, 5]);
    numbers[3..].set_zero()?;
    numbers[..1].set_16(0x0102)?;
    numbers[1..2].set_8(3)?;
    numbers[2].set_32(7)?;
    let expected = [0x0102_0102, 0x0303_0303, 7, 0, 0];
    assert_eq!(numbers.as_slice().as_host_vec()?, expected);
    let mut bytes = numbers.cast::<u8>();
    assert_eq!((bytes.len(), bytes[8].as_host_vec()?), (20, vec![7]));
    assert_eq!(bytes[..3].set_16(0), Err(CudaError::InvalidValue));
    assert_eq!(bytes[1..5].set_32(0), Err(CudaError::InvalidValue));
    assert!(bytes.try_cast::<u64>().is_err());
    let mut zeros = DeviceBuffer::<f32>::zeroed(100)?;
    assert_eq!(zeros.as_host_vec()?, [0.0; 100]);
    zeros.copy_from(&on_a)?;
    assert_eq!(zeros.as_host_vec()?, a);
    let zero = DeviceBox::<u16>::zeroed()?;
    assert_eq!(zero.as_host_value()?, 0);
    // SAFETY: the box gives its memory up.
    let again = unsafe { DeviceBox::from_device(DeviceBox::into_device(zero)) };
    assert!(DeviceBox::drop(again).is_ok());
    let place = DevicePointer::<f32>::from_raw(64);
    assert_eq!(place.wrapping_add(2).wrapping_sub(3).as_raw(), 60);
    assert_eq!(place.wrapping_offset(-1).as_ptr().addr(), 60);
    assert!(DevicePointer::<f32>::null().is_null());

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
    let mut byte = 0u8;
    module.get_global(c"BYTE")?.copy_to(&mut byte)?;
    assert_eq!(byte, 2);
    let mut truth = [true];
    let mut variable = module.get_global::<[bool; 1]>(c"BYTE")?;
    let refused = variable.copy_to(&mut truth);
    assert_eq!(refused, Err(CudaError::InvalidValue));
    variable.copy_from(&[false])?;
    variable.copy_to(&mut truth)?;
    assert_eq!(truth, [false]);
    assert!(Module::from_file("kernels.ptx").is_ok());
    let missing = Module::from_file("others.ptx");
    assert_eq!(missing.unwrap_err(), CudaError::FileNotFound);

    // Streams and events.
    assert_eq!(stream.get_flags()?, StreamFlags::DEFAULT);
    assert_eq!(stream.get_priority()?, -2);
    let start = Event::new(EventFlags::DEFAULT)?;
    let end = Event::new(EventFlags::BLOCKING_SYNC)?;
    let failed = Event::new(EventFlags::DISABLE_TIMING | EventFlags::INTERPROCESS)?;
    assert_eq!(failed.as_inner().addr(), 56);
    start.record(&stream)?;
    end.synchronize()?;
    assert_eq!(start.query()?, EventStatus::Ready);
    assert_eq!(end.query()?, EventStatus::NotReady);
    assert_eq!(failed.query(), Err(CudaError::LaunchFailed));
    assert_eq!(end.elapsed_time_f32(&start)?, 1.5);
    assert_eq!(end.elapsed(&start)?, Duration::from_micros(1500));
    stream.wait_event(&start, StreamWaitEventFlags::DEFAULT)?;
    stream.wait_event(failed, StreamWaitEventFlags::DEFAULT)?;

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
    assert_eq!(add.get_attribute(FunctionAttribute::NumRegisters)?, 104);
    let (grid, block) = (GridSize::xy(2, 1), BlockSize::xy(8, 8));
    assert_eq!(add.max_active_blocks_per_multiprocessor(block, 16)?, 9);
    assert_eq!(
        add.available_dynamic_shared_memory_per_block(grid, block)?,
        1 << 15
    );
    // SAFETY: the arguments are those of `add`, and the buffers live.
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

    // Everything is freed once, on a thread without a context too, and after the value that made the
    // context: its objects keep it.
    assert!(driver_has().objects > 0);
    drop(context);
    assert!(driver_has().contexts > 0);
    let all = (
        on_a, on_b, on_c, zeros, empty, value, stream, start, end, module,
    );
    std::thread::spawn(|| drop(all)).join().unwrap();
    assert_eq!(
        driver_has(),
        Has {
            contexts: 0,
            objects: 0
        }
    );
    Ok(())
}

/// What this driver has: how often its context is retained, and modules, streams, events and
/// allocations.
#[derive(Debug, PartialEq)]
struct Has {
    contexts: usize,
    objects: usize,
}

fn driver_has() -> Has {
    let (mut contexts, mut objects) = (0, 0);
    // SAFETY: it writes two numbers.
    let result = unsafe { cust::sys::cuMemGetInfo_v2(&mut contexts, &mut objects) };
    assert_eq!(result, cust::sys::CUresult::CUDA_SUCCESS);
    Has { contexts, objects }
}
