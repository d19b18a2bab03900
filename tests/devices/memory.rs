//! Mistakes with buffers that kernels make: accesses beside them, and buffers of other devices.

use cuda_std::prelude::*;
use cuda_std_tests_kernels::launches::add_to_all;
use gridstride::device::{Buffer, DeviceKind, LaunchConfig, Module};
use gridstride::{Device, Error};

use crate::OF_TESTS;
use crate::common::{assert_error, fails, fails_with, module, with_kernels};

static MODULE: Module = module!("memory_test", "kernels-gpu/ptx/cuda_std_tests", "sm_70");

/// Reads or writes an element through a pointer.
#[kernel]
unsafe fn element(data: DeviceSliceMut<f32>, index: isize, writes: bool) {
    let element = data.as_mut_ptr().wrapping_offset(index);
    // SAFETY: not given, which the tests are about.
    unsafe {
        match writes {
            true => element.write(1.0),
            false => data.set(0, element.read()),
        }
    }
}

fn access(data: &mut Buffer<f32>, index: isize, writes: bool) -> gridstride::Result<()> {
    let (device, slice) = (data.device().clone(), data.slice_mut());
    let arguments = (slice, index, writes);
    // SAFETY: the slice is the buffer's. The mistakes are those that the simulator finds.
    unsafe { device.launch(&OF_TESTS, &element, LaunchConfig::new(1, 1), arguments) }
}

#[test]
fn writes_beside_buffers_are_reported_by_the_launch() {
    let device = Device::simulator().unwrap();
    let mut data = device.alloc::<f32>(100).unwrap();
    access(&mut data, 99, true).unwrap();
    let text = "kernel `element`: something wrote past the end of a buffer of 100 f32, at byte 400";
    fails(access(&mut data, 100, true), &[text]);
    let text =
        "kernel `element`: something wrote before the start of a buffer of 100 f32, at byte -";
    fails(access(&mut data, -1, true), &[text]);
    // Reads give NaN there, and where nothing was written.
    for index in [1, 98, 100, -1] {
        access(&mut data, 0, true).unwrap();
        access(&mut data, index, false).unwrap();
        assert!(data.to_vec().unwrap()[0].is_nan(), "{index}");
    }
}

#[test]
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
fn accesses_far_beside_buffers_and_to_freed_ones_name_the_thread() {
    let device = Device::simulator().unwrap();
    let mut data = device.alloc::<f32>(100).unwrap();
    let place = "kernel `element`, block (0, 0, 0), thread (0, 0, 0): ";
    for (index, writes) in [(1000, true), (-5000, false)] {
        let memory = format!("at byte {} of a buffer of 100 f32", 4 * index);
        fails(access(&mut data, index, writes), &[place, &memory]);
    }
    let slice = data.slice_mut();
    drop(data);
    let _other = device.alloc::<f32>(100).unwrap();
    // SAFETY: not given, which the simulator finds.
    let result = unsafe {
        device.launch(
            &OF_TESTS,
            &element,
            LaunchConfig::new(1, 1),
            (slice, 3, true),
        )
    };
    fails(result, &[place, "at byte 12 of a freed buffer of 100 f32"]);
}

#[test]
fn buffers_of_other_devices_are_refused() {
    for device in with_kernels() {
        let (other, cpu) = (Device::simulator().unwrap(), Device::cpu());
        let mut own = device.buffer_from(&[1u32; 10]).unwrap();
        let config = LaunchConfig::for_len(10, 32);
        for foreign in [&other, &cpu] {
            let is_unchecked =
                matches!(device.kind(), DeviceKind::Cuda { .. }) && !cfg!(debug_assertions);
            if foreign.same_as(&device) || is_unchecked {
                continue;
            }
            let mut values = foreign.buffer_from(&[1u32; 10]).unwrap();
            let slice = values.slice_mut();
            // SAFETY: the launch is refused.
            let result = unsafe { device.launch(&MODULE, &add_to_all, config, (slice, 1)) };
            let (id, own_id) = (foreign.id(), device.id());
            let or_launch = match foreign.kind() {
                DeviceKind::Cpu => String::new(),
                _ => format!(", or launch on {id}"),
            };
            let text = format!(
                "kernel `add_to_all` cannot be launched: an argument is a buffer on {id}, and the launch is on \
                 {own_id}, which does not have that memory: copy the data to a buffer on {own_id}{or_launch}"
            );
            assert_error!(result, Error::Launch { .. });
            fails_with(result, text);
            assert_eq!(values.to_vec().unwrap(), [1; 10]);
        }
        // SAFETY: the slice is the buffer's.
        unsafe { device.launch(&MODULE, &add_to_all, config, (own.slice_mut(), 1)) }.unwrap();
        assert_eq!(own.to_vec().unwrap(), [2; 10]);
    }
}

/// A parameter with a slice in it.
#[repr(C)]
#[derive(Clone, Copy, DeviceParam)]
struct Numbered {
    number: u32,
    values: DeviceSliceMut<u32>,
}

/// Writes the number to the first element.
#[kernel]
unsafe fn write_number(numbered: Numbered) {
    // SAFETY: the slice has an element.
    unsafe { numbered.values.set(0, numbered.number) };
}

#[test]
fn structs_with_buffers_of_other_devices_are_refused() {
    let device = Device::simulator().unwrap();
    let config = LaunchConfig::new(1, 1);
    let write = |buffer: &mut Buffer<u32>| {
        let values = buffer.slice_mut();
        let numbered = Numbered { number: 7, values };
        // SAFETY: the slice is the buffer's, or the launch is refused.
        unsafe { device.launch(&OF_TESTS, &write_number, config, (numbered,)) }
    };
    for foreign in [Device::simulator().unwrap(), Device::cpu()] {
        let mut values = foreign.buffer_from(&[1u32]).unwrap();
        let text = format!("an argument is a buffer on {}", foreign.id());
        fails(write(&mut values), &[&text]);
        assert_eq!(values.to_vec().unwrap(), [1]);
    }
    let mut own = device.buffer_from(&[1u32]).unwrap();
    write(&mut own).unwrap();
    assert_eq!(own.to_vec().unwrap(), [7]);
}
