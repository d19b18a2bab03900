//! Statics in constant memory, set from the host.

use super::*;
use cuda_std_tests_kernels::constants::{self, COEFFICIENTS, SETTINGS, Settings, TABLE_LEN};
use gridstride::Error;
use std::sync::{Mutex, PoisonError};

/// The simulators of a process share their constants, so a test that sets one excludes the others.
static SETTING: Mutex<()> = Mutex::new(());

#[test]
fn initial_values_are_those_of_the_source() {
    for device in with_kernels() {
        let count = 3 * TABLE_LEN;
        let mut untouched = device.zeros::<u32>(count).unwrap();
        let mut squares = device.zeros::<u32>(count).unwrap();
        let config = LaunchConfig::for_len(count, 96);
        let arguments = (untouched.slice_mut(), squares.slice_mut());
        // SAFETY: the slices are those of the buffers.
        unsafe { launch(&device, &constants::initial_values, config, arguments) };
        assert_eq!(untouched.to_vec().unwrap(), vec![0x1234_5678 + 77; count]);
        let expected = (0..count).map(|i| (i % TABLE_LEN).pow(2) as u32);
        assert_eq!(
            squares.to_vec().unwrap(),
            Vec::from_iter(expected),
            "{device}"
        );
    }
}

#[test]
fn all_kernels_of_a_module_read_what_the_host_has_set() {
    let _one = SETTING.lock().unwrap_or_else(PoisonError::into_inner);
    let input: Vec<f32> = (0..100).map(|i| i as f32).collect();
    let config = LaunchConfig::for_len(input.len(), 32);
    for device in with_kernels() {
        for set in [[3.0, 2.0, 1.0, 0.5], [0.0, 0.0, 7.0, 0.0]] {
            let mut values = device.buffer_from(&input).unwrap();
            let mut read = device.zeros::<f32>(input.len()).unwrap();
            // SAFETY: the lock excludes other launches, and the slices are those of the buffers.
            unsafe {
                device
                    .set_constant(&MODULE, &raw const COEFFICIENTS, &set)
                    .unwrap();
                let arguments = (values.slice_mut(),);
                launch(&device, &constants::polynomial, config, arguments);
                launch(
                    &device,
                    &constants::read_coefficients,
                    config,
                    (read.slice_mut(),),
                );
            }
            // The values are multiples of 1/2 below 2¹⁹, so that all steps are exact.
            let expected = input
                .iter()
                .map(|x| ((set[3] * x + set[2]) * x + set[1]) * x + set[0]);
            assert_eq!(
                values.to_vec().unwrap(),
                Vec::from_iter(expected),
                "{device}"
            );
            let expected = (0..input.len()).map(|i| set[i % 4]);
            assert_eq!(read.to_vec().unwrap(), Vec::from_iter(expected), "{device}");
        }
    }
}

#[test]
fn structs_with_padding_are_set_in_the_order_of_the_stream() {
    let _one = SETTING.lock().unwrap_or_else(PoisonError::into_inner);
    for device in with_kernels() {
        let stream = device.stream().unwrap();
        let device = device.on(&stream).unwrap();
        let mut buffers = Vec::new();
        let settings = |factor: u32| Settings {
            factor: u64::from(factor) << 33,
            low: factor as u8,
            offset: !factor,
            odd: [factor as u16, !(factor as u16)],
        };
        // No waiting between a launch and the next value.
        for factor in 0..5 {
            let mut out = device.zeros::<u64>(64).unwrap();
            // SAFETY: the lock excludes other launches, and the slice is that of the buffer.
            unsafe {
                device
                    .set_constant(&MODULE, &raw const SETTINGS, &settings(factor))
                    .unwrap();
                let config = LaunchConfig::new(2, 32);
                launch(&device, &constants::set_numbers, config, (out.slice_mut(),));
            }
            buffers.push(out);
        }
        for (factor, out) in (0..).zip(buffers) {
            let set = settings(factor);
            let expected = (0..64).map(|i: u64| {
                let odd = u64::from(set.odd[i as usize / 2 % 2]) * (i % 2);
                i * set.factor + u64::from(set.low) + u64::from(set.offset) + odd
            });
            assert_eq!(out.to_vec().unwrap(), Vec::from_iter(expected), "{device}");
        }
    }
}

#[test]
fn other_pointers_are_refused() {
    for device in with_kernels() {
        let other = 1.0f32;
        // SAFETY: nothing is set.
        let error = unsafe { device.set_constant(&MODULE, &raw const other, &2.0) }.unwrap_err();
        assert!(matches!(&error, Error::InvalidInput { .. }), "{error}");
        let text = error.to_string();
        assert!(
            text.contains("#[address_space(constant)] static mut"),
            "{text}"
        );
        // The address is right, the type is not.
        let first = (&raw const COEFFICIENTS).cast::<f32>();
        // SAFETY: nothing is set.
        assert!(unsafe { device.set_constant(&MODULE, first, &2.0) }.is_err());
    }
    // SAFETY: nothing is set.
    let on_cpu = unsafe { Device::cpu().set_constant(&MODULE, &raw const COEFFICIENTS, &[0.0; 4]) };
    let text = on_cpu.unwrap_err().to_string();
    assert!(text.contains("COEFFICIENTS"), "{text}");
}

/// A module without the static.
static OTHER_MODULE: Module = module!("stream", "kernels-gpu/ptx/stream", "sm_70");

#[test]
fn a_module_without_the_static_is_named() {
    for device in
        with_kernels().filter(|device| device.kind() != gridstride::device::DeviceKind::Simulator)
    {
        // SAFETY: nothing is set.
        let set = unsafe { device.set_constant(&OTHER_MODULE, &raw const COEFFICIENTS, &[0.0; 4]) };
        let text = set.unwrap_err().to_string();
        assert!(
            text.contains("stream") && text.contains("COEFFICIENTS"),
            "{text}"
        );
    }
}
