//! cust over a library that plays the driver: that it passes everything on as the driver wants it,
//! and what it makes of a driver that is newer or lacks functions. Needs no GPU.

#![cfg(target_os = "linux")]

use std::{ffi::CString, fs, sync::Arc, thread, time::Duration};

use cust::context::CurrentContext;
use cust::error::CudaError;
use cust::event::{Event, EventFlags, EventStatus};
use cust::function::{BlockSize, FunctionAttribute, GridSize};
use cust::memory::DeviceBox;
use cust::module::{JitFallback, JitTarget, ModuleJitOption, OptLevel};
use cust::prelude::*;
use cust::stream::StreamWaitEventFlags;
use cust::sys::{self, CUresult};
use cust::{CudaFlags, driver};
use fake_driver::{contexts, fail, left, over_fake_driver, seen};

/// A kernel that the fake driver runs, and variables.
const PTX: &str = "
.version 7.0
.visible .const .align 4 .b8 SCALE[4] = {0, 0, 128, 63};
.visible .const .align 2 .b8 PAIR[4];
.visible .const .align 1 .b8 BYTE[1] = {2};
.visible .entry scaled_sums(
";

#[test]
fn a_driver_may_be_newer_and_lack_functions() {
    let test = a_driver_may_be_newer_and_lack_functions;
    let configure = |command: &mut std::process::Command| {
        // As many devices as the test can tell from a default. The enum lacks the first code, and
        // cust reports the second as unknown.
        let fails = "cuMemAlloc_v2:912,cuDeviceGet:223";
        let variables = [("FAKE_DRIVER_GPUS", "7"), ("FAKE_DRIVER_FAILS", fails)];
        command.envs(variables);
    };
    over_fake_driver(test, configure, || {
        // The program itself must not need the library: the loader has not been told of it.
        let is_loaded = || {
            let maps = fs::read_to_string("/proc/self/maps").unwrap();
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

        // This driver has no limits.
        let limit = sys::CUlimit::CU_LIMIT_STACK_SIZE;
        // SAFETY: it has no preconditions.
        let result = unsafe { sys::cuCtxSetLimit(limit, 9) };
        assert_eq!(result, CUresult::CUDA_ERROR_NOT_SUPPORTED);
        assert_eq!(driver::last_error(), Some(801));
    });
}

#[test]
fn over_a_fake_gpu() {
    over_fake_driver(over_a_fake_gpu, |_| {}, || what_the_gpu_does().unwrap());
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
    // The names of cuda.h, and values in place of their addresses.
    let refused = Module::from_ptx(PTX, &options);
    assert_eq!(refused.unwrap_err(), CudaError::InvalidValue);
    assert_eq!(seen(), "{0: 64, 7: 3, 8: 0, 9: 90, 10: 1, 11: 0, 13: 1}");
    drop(Module::from_ptx(PTX, &options[..3])?);
    assert_eq!(seen(), "{0: 64, 7: 3, 8: 0}");
    let module = Module::from_ptx(PTX, &[])?;
    assert_eq!(seen(), "{}");
    // Never without the default stream's order.
    let stream = Stream::new(StreamFlags::NON_BLOCKING, Some(-3))?;
    assert_eq!(seen(), "0 -3");

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
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kernels.ptx");
    fs::write(&file, PTX).unwrap();
    assert!(Module::from_file(&file).is_ok());
    let missing = Module::from_file("others.ptx");
    assert_eq!(missing.unwrap_err(), CudaError::FileNotFound);

    // Streams and events.
    assert_eq!(stream.get_flags()?, StreamFlags::DEFAULT);
    assert_eq!(stream.get_priority()?, -2);
    let start = Event::new(EventFlags::DEFAULT)?;
    let end = Event::new(EventFlags::BLOCKING_SYNC)?;
    let failed = Event::new(EventFlags::DISABLE_TIMING | EventFlags::INTERPROCESS)?;
    assert_eq!(seen(), "6");
    let unrecorded = end.elapsed_time_f32(&start);
    assert_eq!(unrecorded, Err(CudaError::InvalidHandle));
    start.record(&stream)?;
    end.record(&stream)?;
    end.synchronize()?;
    assert_eq!(start.query()?, EventStatus::Ready);
    fail(0, 1, 600);
    assert_eq!(end.query()?, EventStatus::NotReady);
    fail(0, 1, 719);
    assert_eq!(failed.query(), Err(CudaError::LaunchFailed));
    assert_eq!(end.elapsed_time_f32(&start)?, 1.5);
    assert_eq!(end.elapsed(&start)?, Duration::from_micros(1500));
    stream.wait_event(&start, StreamWaitEventFlags::DEFAULT)?;
    stream.wait_event(failed, StreamWaitEventFlags::DEFAULT)?;

    // Launches.
    let mut c = vec![0.0f32; 100];
    let on_c = c.as_slice().as_dbuf()?;
    let expected: Vec<f32> = a.iter().map(|a| 2.0 * (a + 0.5)).collect();
    // SAFETY: the arguments are those of the kernel, and the buffers live.
    unsafe {
        launch!(module.scaled_sums<<<2, (32, 2), 16, stream>>>(
            on_a.as_device_ptr(), on_a.len(), on_b.as_device_ptr(), on_b.len(), on_c.as_device_ptr(),
        ))?;
    }
    assert_eq!(seen(), "(2, 1, 1) (32, 2, 1) 16");
    stream.synchronize()?;
    on_c.copy_to(&mut c)?;
    assert_eq!(c, expected);
    let add = module.get_function("scaled_sums")?;
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
        (1 << 15) - 64
    );
    // SAFETY: the arguments are those of the kernel, and the buffers live.
    let refused = unsafe {
        launch!(add<<<GridSize::xyz(2, 3, 1), 1025, 16, stream>>>(
            on_a.as_device_ptr(), on_a.len(), on_b.as_device_ptr(), on_b.len(), on_c.as_device_ptr()
        ))
    };
    assert_eq!(refused, Err(CudaError::InvalidValue));
    assert_eq!(seen(), "(2, 3, 1) (1025, 1, 1) 16");
    // SAFETY: nothing is launched.
    let missing = unsafe { launch!(module.subtract<<<1, 1, 0, stream>>>()) };
    assert_eq!(missing, Err(CudaError::NotFound));
    CurrentContext::synchronize()?;

    // Everything is freed once, on a thread without a context too, and after the value that made the
    // context: its objects keep it.
    assert!(left().is_some());
    drop(context);
    assert!(contexts() > 0);
    let all = (
        on_a, on_b, on_c, zeros, empty, value, stream, start, end, module,
    );
    thread::spawn(|| drop(all)).join().unwrap();
    assert_eq!(left(), None);
    Ok(())
}

#[test]
fn threads_bind_a_context() {
    over_fake_driver(threads_bind_a_context, |_| {}, || bind().unwrap());
}

fn bind() -> Result<(), CudaError> {
    cust::init(CudaFlags::empty())?;
    let context = Arc::new(Context::retain(Device::get_device(0)?)?);
    let flags = EventFlags::DISABLE_TIMING;
    assert_eq!(Event::new(flags).unwrap_err(), CudaError::InvalidContext);
    let options = [ModuleJitOption::GenerateLineInfo(true)];
    let module = Module::from_ptx_in(&context, &CString::new(PTX).unwrap(), &options).unwrap();
    let (error, log) = Module::from_ptx_in(&context, c"other text", &[]).unwrap_err();
    let bound = context.bind()?;
    assert_eq!((error, &*log), (CudaError::InvalidPtx, "no PTX"));
    assert_eq!(module.find_global(c"PAIR")?.1, 4);
    assert_eq!(module.find_global(c"OTHER"), Err(CudaError::NotFound));
    module
        .get_function("scaled_sums")?
        .set_max_dynamic_shared_memory(9)?;
    assert_eq!(seen(), "8: 9");
    // SAFETY: the stream has no work.
    let stream = unsafe { Stream::non_blocking_in(&context)? };
    assert_eq!(stream.get_flags()?, StreamFlags::NON_BLOCKING);
    assert!(stream.is_idle()?);
    fail(0, 1, 600);
    assert!(!stream.is_idle()?);
    // SAFETY: `stream` lives longer, and has no work.
    let same = unsafe { Stream::from_raw(stream.as_inner()) };
    let event = Event::new_in(&context, flags)?;
    event.record(&same)?;
    drop(bound);
    // Nothing is current, and the objects keep the context.
    assert_eq!(event.record(&same), Err(CudaError::InvalidContext));
    drop(context);
    assert_eq!(contexts(), 1);
    // The stream of `same` is not destroyed twice.
    assert!(Stream::drop(same).is_ok());
    drop((event, module, stream));
    assert_eq!(left(), None);
    Ok(())
}
