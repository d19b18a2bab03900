//! Devices, buffers, streams and launches, on every available device.

use std::time::Duration;

use cuda_std::prelude::*;
use cuda_std_tests_kernels::launches::add_to_all;
use gridstride::device::{
    DeviceArray, DeviceKind, DeviceView, DriverState, Image, LaunchConfig, Module,
};
use gridstride::{Device, Error};
use ndarray::{Array, Array3, Ix1, Ix2, arr0, array, s};
use rayon::prelude::*;

use crate::OF_TESTS;
use crate::common::{
    assert_error, cuda, devices, fails, fails_with, module, simulator, with_kernels,
};

/// An entry that the module does not have.
#[kernel]
unsafe fn missing(values: DeviceSliceMut<u32>) {
    // SAFETY: never right, which the simulator says.
    unsafe { values.set(values.len(), 0) };
}

static MODULE: Module = module!("device_test", "kernels-gpu/ptx/cuda_std_tests", "sm_70");

fn add(device: &Device, values: &mut gridstride::device::Buffer<u32>, amount: u32) {
    let config = LaunchConfig::for_len(values.len(), 256);
    // SAFETY: the slice is the buffer's, which outlives the launch.
    unsafe { device.launch(&MODULE, &add_to_all, config, (values.slice_mut(), amount)) }.unwrap();
}

#[test]
fn devices_say_what_they_are() {
    let list = Device::list();
    assert_eq!(list[0].kind, DeviceKind::Cpu);
    for device in devices() {
        let info = device.info();
        assert_eq!(info.kind, device.kind());
        assert!(info.processors > 0 && !info.name.is_empty());
        let kind = device.kind().to_string();
        assert!(info.to_string().starts_with(&kind), "{info}");
        assert!(device.to_string().starts_with(&kind), "{device}");
        assert!(list.iter().any(|listed| listed.kind == info.kind));
        assert_eq!(format!("{device:?}"), format!("Device({device})"));
    }
    if let Some(gpu) = cuda() {
        let info = gpu.info();
        assert!(info.compute_capability.unwrap() >= (5, 0));
        assert!(info.free_memory.unwrap() <= info.total_memory.unwrap());
        assert!(info.shared_memory_per_block.unwrap() >= 48 << 10);
        assert_eq!(Device::auto().kind(), DeviceKind::Cuda { ordinal: 0 });
    }
}

#[test]
fn a_gpu_that_is_not_there_is_refused_with_the_reason() {
    let error = Device::cuda(1000);
    assert_error!(error, Error::Unavailable { device, .. } if device == "cuda:1000");
}

#[test]
fn the_driver_says_why_there_is_no_gpu() {
    let driver = Device::driver();
    match (driver.state, Device::cuda(0)) {
        (DriverState::Ready { gpus }, found) => {
            assert_eq!(gpus > 0, found.is_ok());
            assert!(driver.cuda_version.unwrap() >= (11, 0));
        }
        (DriverState::NotBuilt, Err(Error::Unavailable { .. })) if cfg!(not(feature = "cuda")) => {
            assert_eq!(driver.cuda_version, None);
        }
        (
            DriverState::Missing { reason } | DriverState::Failed { reason, .. },
            Err(Error::Unavailable { reason: said, .. }),
        ) => assert_eq!(reason, said),
        other => panic!("{other:?}"),
    }
}

#[test]
fn views_of_any_layout_come_back_as_they_went() {
    let cube = Array::from_shape_fn((4, 5, 6), |(i, j, k)| (i * 100 + j * 10 + k) as i32);
    for device in devices() {
        let upload = |view: ndarray::ArrayViewD<i32>| {
            let uploaded = device.upload(&view).unwrap();
            assert_eq!(uploaded.shape(), view.shape());
            assert_eq!(uploaded.len(), view.len());
            assert_eq!(uploaded.download().unwrap(), view);
        };
        upload(cube.view().into_dyn());
        upload(cube.t().into_dyn());
        upload(cube.slice(s![..;-1, 1..;2, ..;-3]).into_dyn());
        upload(cube.slice(s![2, .., 3]).into_dyn());
        upload(cube.slice(s![.., 5.., ..]).into_dyn());
        upload(cube.view().permuted_axes([1, 2, 0]).into_dyn());
        upload(cube.slice(s![1..2, 1..2, 1..2]).into_dyn());
        upload(array![7].broadcast((3, 2)).unwrap().into_dyn());
        let one = device.upload(&arr0(2.5)).unwrap();
        assert_eq!(one.download().unwrap(), arr0(2.5));
        let none = device.upload(&Array3::<u8>::zeros((0, 3, 2))).unwrap();
        assert!(none.is_empty());
    }
}

#[test]
fn views_are_copied_to_arrays_on_their_device() {
    let cube = Array::from_shape_fn((4, 5, 6), |(i, j, k)| (i * 100 + j * 10 + k) as i32);
    for device in devices() {
        let there = device.upload(&cube).unwrap();
        let slices = [(0, 1..3), (0, 2..3), (0, 4..4), (1, 1..4), (2, 5..6)];
        for (axis, range) in slices {
            let view = there.view().slice_axis(axis, range).unwrap();
            for view in [view, view.swap_axes(0, 2).unwrap()] {
                let copied = view.to_array().unwrap();
                assert_eq!(copied.shape(), view.shape());
                assert!(copied.device().same_as(&device));
                assert_eq!(copied.download().unwrap(), view.download().unwrap());
            }
        }
        // The stride of an axis with one index may be of any size.
        let two = device.buffer_from(&[1, 2]).unwrap();
        let one = DeviceView::new(&two, 1, Ix2(1, 1), Ix2(usize::MAX, 1)).unwrap();
        assert_eq!(one.slice_axis(0, 1..1).unwrap().shape(), [0, 1]);
        let none = DeviceView::new(&two, 0, Ix2(0, 5), Ix2(1, usize::MAX / 2)).unwrap();
        assert_eq!(none.slice_axis(1, 3..5).unwrap().shape(), [0, 2]);
        // The copy is an array of its own.
        let numbers = DeviceArray::from_buffer(there.into_buffer(), Ix1(120)).unwrap();
        let mut copied = numbers
            .view()
            .slice_axis(0, 7..107)
            .unwrap()
            .to_array()
            .unwrap();
        copied.buffer_mut().fill_zero().unwrap();
        assert_eq!(copied.download().unwrap(), Array::zeros(100));
        let all = numbers.download().unwrap();
        assert_eq!(all.as_slice().unwrap(), cube.as_slice().unwrap());
        let limited = device.with_memory_limit(480);
        let whole = limited.upload(&all).unwrap();
        assert_error!(whole.view().to_array(), Error::Allocation { .. });
    }
}

#[test]
fn buffers_become_arrays_of_the_right_size_alone() {
    for device in devices() {
        let buffer = device.buffer_from(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        let array = DeviceArray::from_buffer(buffer, Ix2(2, 3)).unwrap();
        let expected = array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
        assert_eq!(array.download().unwrap(), expected);
        let wrong = DeviceArray::from_buffer(array.into_buffer(), Ix2(2, 4));
        fails(wrong, &["[2, 4] does not have the buffer's 6"]);
        let empty = |rows, columns| {
            let buffer = device.alloc::<u64>(0).unwrap();
            DeviceArray::from_buffer(buffer, Ix2(rows, columns))
        };
        fails(empty(usize::MAX, 2), &["[18446744073709551615, 2]"]);
        fails(empty(usize::MAX, 0), &["[18446744073709551615, 0]"]);
        assert_eq!(empty(7, 0).unwrap().shape(), [7, 0]);
    }
}

#[test]
fn copies_of_the_wrong_length_are_refused() {
    for device in devices() {
        let mut buffer = device.zeros::<i64>(3).unwrap();
        assert_eq!(buffer.to_vec().unwrap(), [0; 3]);
        let error = buffer.copy_from(&[1, 2]);
        assert_error!(&error, Error::Shape { .. });
        fails(error, &["2 elements, the buffer 3"]);
        fails(buffer.copy_to(&mut [0; 4]), &["4 elements, the buffer 3"]);
        buffer.copy_from(&[5, 6, 7]).unwrap();
        assert_eq!(buffer.to_vec().unwrap(), [5, 6, 7]);
        buffer.fill_zero().unwrap();
        assert_eq!(buffer.to_vec().unwrap(), [0; 3]);
        let none = device.buffer_from::<f64>(&[]).unwrap();
        assert!(none.is_empty() && none.to_vec().unwrap().is_empty());
    }
}

#[test]
fn simulators_are_told_apart() {
    let (one, other) = (simulator(), simulator());
    let buffer = one.buffer_from(&[1u32]).unwrap();
    let elsewhere = other.buffer_from(&[1u32]).unwrap();
    let keys = one.buffer_from(&[1u64]).unwrap();
    fails_with(
        gridstride::primitives::sort_pairs(keys, elsewhere, 0..8),
        format!("sort_pairs: one argument is on {one}, another on {other}"),
    );
    let name = one.to_string();
    let number = name.strip_prefix("simulator:").unwrap();
    assert!(number.parse::<u64>().is_ok());
    assert_ne!(name, other.to_string());
    assert_eq!(buffer.device().id(), one.with_memory_limit(100).id());
}

#[test]
fn a_device_tells_its_limit_and_what_is_used() {
    for device in devices() {
        assert_eq!((device.memory_limit(), device.memory_used()), (None, None));
        let limited = device.with_memory_limit(1000);
        let buffer = limited.zeros::<u32>(100).unwrap();
        let kept = limited.clone().zeros::<u8>(7).unwrap();
        assert_eq!(limited.memory_limit(), Some(1000));
        assert_eq!(limited.memory_used(), Some(407));
        let cause = format!("{device} cannot allocate 600 bytes: 593 of 1000 bytes are free");
        let text = format!("allocation of a buffer: {cause}");
        fails_with(limited.zeros::<u8>(600), text);
        drop(buffer);
        assert_eq!(limited.memory_used(), Some(7));
        drop(kept);
        assert_eq!(limited.memory_used(), Some(0));
        assert_eq!(limited.with_memory_limit(5).memory_limit(), Some(5));
    }
}

#[test]
fn sizes_beyond_the_address_space_are_said_as_such() {
    for device in devices() {
        let error = device.alloc::<f64>(usize::MAX).unwrap_err().to_string();
        let text = "cannot allocate more bytes than the address space has";
        assert!(error.ends_with(text), "{error}");
    }
}

#[test]
fn too_much_memory_is_refused_with_sizes() {
    for device in devices() {
        for len in [1 << 50, usize::MAX] {
            let requested = (len as u64).saturating_mul(8);
            let refused = device.alloc::<f64>(len);
            assert_error!(refused, Error::Allocation { requested: bytes, .. } if *bytes == requested);
            assert!(device.pinned::<f64>(len).is_err());
        }
        // The device is as usable as before.
        assert_eq!(device.buffer_from(&[1u8]).unwrap().to_vec().unwrap(), [1]);
    }
}

#[test]
fn kernels_run_in_the_order_of_the_calls() {
    for device in with_kernels() {
        for len in [1, 255, 256, 257, 10_000] {
            let mut values = device.buffer_from(&vec![1; len]).unwrap();
            for amount in [10, 100] {
                add(&device, &mut values, amount);
            }
            assert_eq!(values.to_vec().unwrap(), vec![111; len]);
        }
        device.synchronize().unwrap();
    }
}

#[test]
fn launches_that_break_a_limit_do_not_start() {
    for device in with_kernels() {
        let mut values = device.zeros::<u32>(8).unwrap();
        for (config, expected) in [
            (LaunchConfig::new(1, 257), "more than the 256 threads"),
            (LaunchConfig::new(0, 32), "no extent along x"),
            (LaunchConfig::new((1, 70_000), 32), "70000 along y"),
            (
                LaunchConfig::new(1, 32).with_shared_bytes(1 << 20),
                "1048576 bytes of shared memory",
            ),
        ] {
            // SAFETY: the slice is the buffer's, which outlives the launch.
            let launched =
                unsafe { device.launch(&MODULE, &add_to_all, config, (values.slice_mut(), 1)) };
            assert_error!(&launched, Error::Launch { kernel, .. } if kernel == "add_to_all");
            fails(launched, &[expected]);
        }
        assert_eq!(values.to_vec().unwrap(), [0; 8]);
    }
}

/// Bytes of this process that are in memory.
#[cfg(target_os = "linux")]
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[cfg(target_os = "linux")]
#[test]
fn zeros_take_pages_when_they_are_accessed() {
    const BYTES: usize = 1 << 30;
    for device in [Device::cpu(), simulator()] {
        let before = resident();
        let zeros = device.zeros::<u8>(BYTES).unwrap();
        let pinned = device.pinned::<u8>(BYTES).unwrap();
        // Other tests run meanwhile.
        assert!(resident() < before + BYTES as u64 / 2, "{device}");
        assert_eq!((zeros.len(), pinned[BYTES - 1]), (BYTES, 0));
    }
}

#[test]
fn buffers_are_aligned_and_zeros_are_zeros() {
    #[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
    #[repr(C, align(1024))]
    struct Page([u8; 1024]);

    for device in devices() {
        for len in [1, 3, 1000, 1 << 17] {
            let zeros = device.zeros::<u8>(len).unwrap();
            assert!(zeros.as_ptr().addr().is_multiple_of(256), "{device}");
            assert!(
                zeros.to_vec().unwrap().iter().all(|&byte| byte == 0),
                "{device}"
            );
        }
        let pages = device.zeros::<Page>(3).unwrap();
        assert_eq!(pages.to_vec().unwrap(), [Page([0; 1024]); 3], "{device}");
    }
    for device in [Device::cpu(), simulator()] {
        let pages = device.alloc::<Page>(3).unwrap();
        assert!(pages.as_ptr().addr().is_multiple_of(1024), "{device}");
    }
}

#[test]
fn the_cpu_runs_no_kernels() {
    let device = Device::cpu();
    let mut values = device.zeros::<u32>(8).unwrap();
    let config = LaunchConfig::new(1, 32);
    // SAFETY: nothing is launched.
    let launched = unsafe { device.launch(&MODULE, &add_to_all, config, (values.slice_mut(), 1)) };
    assert_error!(&launched, Error::Unavailable { .. });
    let advice = "runs no kernels such as add_to_all: use Device::simulator() or a GPU";
    fails(launched, &[advice]);
}

#[test]
fn the_simulator_names_the_kernel_that_leaves_its_slice() {
    let device = simulator();
    let mut values = device.zeros::<u32>(3).unwrap();
    let config = LaunchConfig::new(1, 1);
    // SAFETY: the simulator stops the access past the end.
    let launched = unsafe { device.launch(&OF_TESTS, &missing, config, (values.slice_mut(),)) };
    assert_error!(&launched, Error::Simulation(_));
    fails(launched, &["missing", "3"]);
}

#[test]
fn modules_that_do_not_load_say_why() {
    let Some(device) = cuda() else { return };
    static BROKEN: Module = Module::new(
        "broken",
        &[Image::new(
            "sm_70",
            ".version 7.0\n.target sm_70\n.address_size 64\nthis is no PTX\n",
        )],
    );
    static FUTURE: Module = Module::new("future", &[Image::new("sm_999", ".version 7.0\n")]);
    let mut values = device.zeros::<u32>(8).unwrap();
    let config = LaunchConfig::new(1, 32);
    let mut failure = |module| {
        // SAFETY: nothing is launched, as the module does not load.
        let launched =
            unsafe { device.launch(module, &add_to_all, config, (values.slice_mut(), 1)) };
        match launched.unwrap_err() {
            Error::Load(error) => error,
            other => panic!("{other}"),
        }
    };
    let broken = failure(&BROKEN);
    let version = (broken.ptx_version.as_str(), broken.ptx_target.as_str());
    assert_eq!(version, ("7.0", "sm_70"));
    assert!(broken.log.contains("line 4"), "{broken}");
    assert!(broken.to_string().contains("broken"), "{broken}");
    assert!(broken.reason.contains("PTX"), "{broken}");
    let future = failure(&FUTURE);
    assert!(future.reason.contains("compute capability"), "{future}");

    // SAFETY: nothing is launched, as there is no such entry.
    let launched = unsafe { device.launch(&OF_TESTS, &missing, config, (values.slice_mut(),)) };
    fails(launched, &["device_test has no such entry"]);
}

#[test]
fn a_scope_waits_for_its_copies() {
    for device in devices() {
        let stream = device.stream().unwrap();
        let mut pinned = device.pinned::<u32>(100_000).unwrap();
        assert!(pinned.iter().all(|&value| value == 0));
        for (value, i) in pinned.iter_mut().zip(0..) {
            *value = i;
        }
        let mut buffer = device.alloc(pinned.len()).unwrap();
        let mut back = device.pinned::<u32>(pinned.len()).unwrap();
        stream
            .scope(|scope| {
                scope.upload(&pinned, &mut buffer)?;
                scope.download(&buffer, &mut back)?;
                assert!(scope.stream().device().same_as(&device));
                Ok(())
            })
            .unwrap();
        assert_eq!(pinned[..], back[..]);

        let failed = stream.scope(|scope| {
            scope.upload(&pinned, &mut buffer)?;
            scope.upload(&pinned[1..], &mut buffer)
        });
        assert!(matches!(failed, Err(Error::Shape { .. })));
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            stream.scope(|_| -> gridstride::Result<()> { panic!("within a scope") })
        }));
        assert!(panicked.is_err());
        stream.synchronize().unwrap();
    }
}

#[test]
fn events_order_streams() {
    for device in with_kernels() {
        let (first, second) = (device.stream().unwrap(), device.stream().unwrap());
        let mut values = device.buffer_from(&vec![0; 1 << 20]).unwrap();
        let config = LaunchConfig::for_len(values.len(), 256);
        let done = device.event().unwrap();
        for (stream, amount) in [(&first, 1), (&second, 2)] {
            stream.wait(&done).unwrap();
            // SAFETY: the slice is the buffer's; the event orders the two launches.
            unsafe { stream.launch(&MODULE, &add_to_all, config, (values.slice_mut(), amount)) }
                .unwrap();
            stream.record(&done).unwrap();
        }
        device.wait(&done).unwrap();
        assert!(values.to_vec().unwrap().iter().all(|&value| value == 3));
    }
}

#[test]
fn events_measure_time() {
    for device in devices() {
        let (start, end) = (device.event().unwrap(), device.event().unwrap());
        fails(end.elapsed_since(&start), &["not been recorded"]);
        device.record(&start).unwrap();
        start.synchronize().unwrap();
        std::thread::sleep(Duration::from_millis(20));
        let _zeros = device.zeros::<u8>(1 << 20).unwrap();
        device.record(&end).unwrap();
        end.synchronize().unwrap();
        let elapsed = end.elapsed_since(&start).unwrap();
        let expected = Duration::from_millis(10)..Duration::from_secs(10);
        assert!(expected.contains(&elapsed), "{device}: {elapsed:?}");
        fails(start.elapsed_since(&end), &["recorded after the end"]);
    }
}

#[test]
fn things_of_two_devices_do_not_mix() {
    let (one, other) = (simulator(), simulator());
    let stream = one.stream().unwrap();
    let event = other.event().unwrap();
    let mut buffer = other.zeros::<u8>(1).unwrap();
    let of_cpu = Device::cpu().event().unwrap();
    for mixed in [
        stream.record(&event),
        one.record(&event),
        event.elapsed_since(&of_cpu).map(drop),
        stream.scope(|scope| scope.upload(&[1], &mut buffer)),
    ] {
        assert_error!(mixed, Error::DifferentDevices { .. });
    }
    assert!(one.same_as(&one.clone()) && !one.same_as(&other));
}

#[test]
fn any_thread_may_use_and_drop_anything() {
    for device in with_kernels() {
        let mut values = device.buffer_from(&[0; 1000]).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| add(&device, &mut values, 5));
        });
        let stream = device.stream().unwrap();
        let event = device.event().unwrap();
        // The device goes first, here; the rest on other threads, in another order.
        drop(device);
        std::thread::spawn(move || drop(stream)).join().unwrap();
        let values = std::thread::spawn(move || values.to_vec().unwrap());
        assert_eq!(values.join().unwrap(), [5; 1000]);
        drop(event);
    }
}

/// The GPUs of this machine.
fn gpus() -> Vec<Device> {
    let list = Device::list().into_iter();
    let opened = list.filter_map(|info| match info.kind {
        DeviceKind::Cuda { ordinal } => Some(Device::cuda(ordinal).unwrap()),
        _ => None,
    });
    opened.collect()
}

#[test]
fn several_gpus_work_side_by_side() {
    let gpus = gpus();
    let [first, second, ..] = &gpus[..] else {
        eprintln!("skipped: {} GPUs", gpus.len());
        return;
    };
    let event = first.event().unwrap();
    let mut on_first = first.buffer_from(&[1; 1000]).unwrap();
    let mut on_second = second.buffer_from(&[2; 1000]).unwrap();
    for _ in 0..3 {
        add(first, &mut on_first, 10);
        first.record(&event).unwrap();
        // The context of one GPU does not stay current for the calls of the other.
        second.wait(&event).unwrap();
        add(second, &mut on_second, 20);
    }
    assert_error!(second.record(&event), Error::DifferentDevices { .. });
    let stream = second.stream().unwrap();
    let mixed = stream.scope(|scope| scope.upload(&[0; 1000], &mut on_first));
    assert_error!(mixed, Error::DifferentDevices { .. });
    drop(gpus);
    drop(event);
    assert_eq!(on_second.to_vec().unwrap(), [62; 1000]);
    drop(on_second);
    assert_eq!(on_first.to_vec().unwrap(), [31; 1000]);
    drop(stream);
}

#[test]
fn many_threads_share_a_device() {
    for device in with_kernels() {
        std::thread::scope(|scope| {
            for thread in 0..8u32 {
                let device = &device;
                scope.spawn(move || {
                    for round in 0..10 {
                        let mut values = device.buffer_from(&[thread; 500]).unwrap();
                        add(device, &mut values, round);
                        assert_eq!(values.to_vec().unwrap(), [thread + round; 500]);
                    }
                });
            }
        });
    }
}

/// Bytes around the size from which copies go in chunks, and from which chunks have their full
/// length.
const SIZES_OF_COPIES: [usize; 6] = [
    (8 << 20) - 4,
    8 << 20,
    (8 << 20) + 4,
    (17 << 20) + 12,
    64 << 20,
    (64 << 20) + 4,
];

fn numbers(bytes: usize, seed: u32) -> Vec<u32> {
    (0..bytes as u32 / 4)
        .map(|index| index.wrapping_mul(2_654_435_761) ^ seed)
        .collect()
}

/// Small copies may go on when they return, but not read their source.
#[test]
fn the_source_of_a_copy_may_change_at_once() {
    for device in with_kernels() {
        // Around the sizes of the page-locked slots for copies to and from a GPU, and of what the
        // driver copies at once.
        for bytes in [
            0, 4, 1020, 1024, 1028, 4092, 4096, 4100, 65_532, 65_536, 65_540,
        ] {
            let expected = numbers(bytes, 7);
            let mut source = expected.clone();
            let mut pinned = device.pinned::<u32>(bytes / 4).unwrap();
            pinned.copy_from_slice(&expected);
            // Work that the copies have to wait for.
            let mut busy = device.zeros::<u32>(1 << 12).unwrap();
            add(&device, &mut busy, 1);
            let mut there = [(); 2].map(|()| device.zeros::<u32>(bytes / 4).unwrap());
            there[0].copy_from(&source).unwrap();
            source.fill(u32::MAX);
            there[1].copy_from(&pinned).unwrap();
            pinned.fill(u32::MAX);
            for there in there {
                assert_eq!(
                    there.to_vec().unwrap(),
                    expected,
                    "{bytes} bytes on {device}"
                );
            }
        }
    }
}

/// Memory of a freed buffer is used again only after the work on the buffer.
#[test]
fn temporary_buffers_do_not_disturb_each_other() {
    for device in with_kernels() {
        let mut all = Vec::new();
        for round in 0..100 {
            let mut temporary = device.zeros::<u32>(1000).unwrap();
            add(&device, &mut temporary, round);
            let mut kept = device.alloc::<u32>(1000).unwrap();
            kept.fill_zero().unwrap();
            add(&device, &mut kept, 2 * round);
            drop(temporary);
            all.push(kept);
        }
        for (round, kept) in (0..).zip(&all) {
            assert_eq!(kept.to_vec().unwrap(), [2 * round; 1000], "{device}");
        }
    }
}

#[test]
fn large_copies_arrive_whole() {
    for device in devices() {
        for (seed, bytes) in SIZES_OF_COPIES.into_iter().enumerate() {
            let source = numbers(bytes, seed as u32);
            let buffer = device.buffer_from(&source).unwrap();
            assert_eq!(buffer.to_vec().unwrap(), source, "{device}, {bytes} bytes");
            // Page-locked memory is copied from and to directly.
            let mut pinned = device.pinned::<u32>(source.len()).unwrap();
            buffer.copy_to(&mut pinned).unwrap();
            assert_eq!(pinned[..], source[..], "{device}, {bytes} bytes");
            let mut buffer = device.zeros::<u32>(source.len()).unwrap();
            buffer.copy_from(&pinned).unwrap();
            assert_eq!(buffer.to_vec().unwrap(), source, "{device}, {bytes} bytes");
        }
    }
}

#[test]
fn large_copies_of_many_threads_arrive_whole() {
    for device in devices() {
        // Threads that wait for each other inside a copy begin another one meanwhile.
        (0..16_u32).into_par_iter().for_each(|seed| {
            let source = numbers(9 << 20, seed);
            let buffer = device.buffer_from(&source).unwrap();
            assert_eq!(buffer.to_vec().unwrap(), source, "{device}, {seed}");
        });
    }
}
