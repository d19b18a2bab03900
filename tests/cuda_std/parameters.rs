//! Parameters as Rust-CUDA's kernels have them.

use super::children::in_children;
use super::*;
use cuda_std_tests_kernels::parameters::{self, Line};
use std::ptr::{null, null_mut};

#[test]
fn slices_are_parameters() {
    for device in with_kernels() {
        for (len, more) in [(0, 3), (1, 0), (100, 5)] {
            let (values, factors) = (random_u32(40, len), random(41, more));
            let factors: Vec<u64> = factors.iter().map(|factor| factor >> 32).collect();
            let input = device.buffer_from(&values).unwrap();
            let others = device.buffer_from(&factors).unwrap();
            let mut output = device.buffer_from(&vec![7_u64; 100]).unwrap();
            let arguments = (input.slice(), 200, others.slice(), output.slice_mut());
            let config = LaunchConfig::new(4, 32);
            // SAFETY: an element for each of `input`.
            unsafe { launch(&device, &parameters::scaled, config, arguments) };
            let scaled = values
                .iter()
                .map(|&v| u64::from(v) + 200 * factors.iter().sum::<u64>());
            let expected: Vec<u64> = scaled.chain(std::iter::repeat(7)).take(100).collect();
            assert_eq!(output.to_vec().unwrap(), expected, "{device}");
        }
    }
}

#[test]
fn slices_know_their_lengths() {
    for device in with_kernels() {
        for (bytes, triples, none) in [(3, 2, 0), (0, 0, 1), (17, 100, 5)] {
            let bytes = device.buffer_from(&vec![1_u8; bytes]).unwrap();
            let triples = device.buffer_from(&vec![[1_f32; 3]; triples]).unwrap();
            let mut doubles = device.zeros::<f64>(none).unwrap();
            let mut out = device.zeros::<u64>(7).unwrap();
            let arguments = (
                bytes.slice(),
                triples.slice(),
                doubles.slice_mut(),
                out.slice_mut(),
            );
            // SAFETY: seven elements.
            unsafe {
                launch(
                    &device,
                    &parameters::lengths,
                    LaunchConfig::new(1, 1),
                    arguments,
                )
            };
            let (b, t) = (bytes.len() as u64, triples.len() as u64);
            let expected = [
                b,
                t,
                none as u64,
                u64::from(b == 0),
                u64::from(none == 0),
                0,
                12 * t,
            ];
            assert_eq!(out.to_vec().unwrap(), expected, "{device}");
            assert_eq!(doubles.to_vec().unwrap(), vec![1.0; none], "{device}");
        }
    }
}

/// An empty buffer of a program that calls the driver may be a null pointer.
#[test]
fn null_is_an_empty_slice() {
    for device in with_kernels() {
        let mut out = device.zeros::<u64>(7).unwrap();
        // SAFETY: no elements.
        let (bytes, triples, none) = unsafe {
            (
                DeviceSlice::from_raw_parts(null(), 0),
                DeviceSlice::from_raw_parts(null(), 0),
                DeviceSliceMut::from_raw_parts(null_mut(), 0),
            )
        };
        let arguments = (bytes, triples, none, out.slice_mut());
        let config = LaunchConfig::new(1, 1);
        // SAFETY: seven elements.
        unsafe { launch(&device, &parameters::lengths, config, arguments) };
        assert_eq!(out.to_vec().unwrap(), [0, 0, 0, 1, 1, 0, 0], "{device}");
    }
}

#[test]
fn references_are_parameters() {
    let line = Line {
        slope: 0.5,
        start: -3.0,
        times: 3,
    };
    // The bytes of a `Line`: 8, 4 and 1, then padding.
    let mut bytes = [[0_u8; 8]; 2];
    bytes[0] = line.slope.to_ne_bytes();
    bytes[1][..4].copy_from_slice(&line.start.to_ne_bytes());
    bytes[1][4] = line.times;
    for device in with_kernels() {
        let line_there = device.buffer_from(&bytes.map(u64::from_ne_bytes)).unwrap();
        let mut powers = device.zeros::<[f64; 4]>(1).unwrap();
        let mut count = device.buffer_from(&[10_i16]).unwrap();
        let arguments = (
            line_there.slice().as_ptr().cast(),
            powers.slice_mut().as_mut_ptr(),
            count.slice_mut().as_mut_ptr(),
        );
        let config = LaunchConfig::new(1, 1);
        // SAFETY: addresses of one element each.
        unsafe { launch(&device, &parameters::references, config, arguments) };
        let mut value = -3.0;
        let expected = [(); 4].map(|()| {
            (0..3).for_each(|_| value = value * 0.5 + 1.0);
            value
        });
        assert_eq!(powers.to_vec().unwrap(), [expected], "{device}");
        assert_eq!(count.to_vec().unwrap(), [-2], "{device}");
    }
}

#[test]
fn arrays_are_parameters() {
    for device in with_kernels() {
        let byte = device.buffer_from(&[250_u8]).unwrap();
        let mut out = device.zeros::<i64>(8).unwrap();
        let pairs = [[1, 255], [128, 4]];
        let (byte, target) = (byte.slice().as_ptr(), out.slice_mut().as_mut_ptr());
        let arguments = ([-1, 300, i16::MIN], pairs, byte, target);
        // SAFETY: one element, and eight.
        unsafe {
            launch(
                &device,
                &parameters::arrays,
                LaunchConfig::new(1, 1),
                arguments,
            )
        };
        let expected = [-1, 300, -32768, 1, 255, 128, 4, 250];
        assert_eq!(out.to_vec().unwrap(), expected, "{device}");
    }
}

#[test]
fn the_widest_and_the_narrowest_are_parameters() {
    let (wide, negative) = (
        0x0123_4567_89ab_cdef_fedc_ba98_7654_3210_u128,
        -5_i128 << 70,
    );
    for device in with_kernels() {
        for (yes, no) in [(true, false), (false, true), (true, true)] {
            let mut out = device.zeros::<u64>(8).unwrap();
            let arguments = (yes, wide, no, negative, 'Ω', out.slice_mut());
            // SAFETY: eight elements.
            unsafe {
                launch(
                    &device,
                    &parameters::extremes,
                    LaunchConfig::new(1, 1),
                    arguments,
                )
            };
            let expected = [
                u64::from(yes),
                wide as u64,
                (wide >> 64) as u64,
                u64::from(no),
                negative as u64,
                (negative >> 64) as u64,
                0x3a9,
                if yes && !no { 1 } else { 2 },
            ];
            assert_eq!(out.to_vec().unwrap(), expected, "{device}");
        }
    }
}

fn past_the_end(device: &Device) -> gridstride::Result<()> {
    let mut values = device.zeros::<u32>(65).unwrap();
    let config = LaunchConfig::new(3, 22);
    // SAFETY: the kernel looks at the length.
    unsafe {
        device.launch(
            &MODULE,
            &parameters::unchecked_index,
            config,
            (values.slice_mut(),),
        )
    }?;
    device.synchronize()
}

#[test]
fn an_index_past_the_end_names_thread_and_line() {
    fails(
        past_the_end(&simulator()),
        &[
            "`unchecked_index`",
            "block (2, 0, 0)",
            "thread (21, 0, 0)",
            "cuda_std_tests/src/parameters.rs:24:",
            "the len is 65 but the index is 65",
        ],
    );
}

/// On a GPU it is a trap, after which the context is useless.
#[test]
fn an_index_past_the_end_fails_the_launch() {
    let work = |device: &Device| assert!(past_the_end(device).is_err(), "{device}");
    let check = |device: &Device, output: &std::process::Output| {
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{device}: {text}");
    };
    in_children(
        "parameters::an_index_past_the_end_fails_the_launch",
        work,
        check,
    );
}
