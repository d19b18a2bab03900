//! Statics in shared, constant and global memory, and addresses in them.

use super::*;
use cuda_std_tests_kernels::statics::{self, BLOCK};
use gridstride::device::DeviceKind;

#[test]
fn shared_statics_are_those_of_a_block() {
    let count = BLOCK * blocks() as usize;
    let input: Vec<u32> = random_u32(42, count).iter().map(|v| v % 1000).collect();
    for device in with_kernels() {
        let mut data = device.buffer_from(&input).unwrap();
        let mut sums = device.zeros::<f32>(blocks() as usize).unwrap();
        let config = LaunchConfig::new(blocks(), BLOCK as u32);
        let arguments = (data.slice_mut(), sums.slice_mut());
        // SAFETY: an element per thread, and one per block.
        unsafe { launch(&device, &statics::shared_statics, config, arguments) };
        let turned: Vec<u32> = input
            .chunks(BLOCK)
            .flat_map(|block| block.iter().rev())
            .copied()
            .collect();
        // Below 2²⁴, so exact in any order.
        let sum = |block: &[u32]| block.iter().sum::<u32>() as f32 + 0.5;
        let expected: Vec<f32> = input.chunks(BLOCK).map(sum).collect();
        assert_eq!(data.to_vec().unwrap(), turned, "{device}");
        assert_eq!(sums.to_vec().unwrap(), expected, "{device}");
    }
}

#[test]
fn constant_statics_have_their_values() {
    for device in with_kernels() {
        let mut out = device.zeros::<f64>(60).unwrap();
        let config = LaunchConfig::new(2, 30);
        // SAFETY: an element per thread.
        unsafe {
            launch(
                &device,
                &statics::constant_statics,
                config,
                (out.slice_mut(),),
            )
        };
        let primes = [2, 3, 5, 7, 11, 13, 17, 19].into_iter().cycle();
        let expected: Vec<f64> = primes
            .take(60)
            .map(|prime| f64::from(prime) - 0.25)
            .collect();
        assert_eq!(out.to_vec().unwrap(), expected, "{device}");
    }
}

#[test]
fn global_statics_last() {
    for device in with_kernels() {
        let mut out = device.zeros::<u32>(1).unwrap();
        let mut before = || {
            // SAFETY: an element.
            unsafe {
                launch(
                    &device,
                    &statics::global_statics,
                    LaunchConfig::new(1, 1),
                    (out.slice_mut(),),
                )
            };
            out.to_vec().unwrap()[0]
        };
        let first = before();
        assert!(first >= 1000, "{device}");
        assert_eq!([before(), before()], [first + 1, first + 2], "{device}");
    }
}

#[test]
fn addresses_are_in_their_memory() {
    for device in with_kernels() {
        let mut out = device.zeros::<[u32; 4]>(5).unwrap();
        // SAFETY: five elements.
        unsafe {
            launch(
                &device,
                &statics::memories,
                LaunchConfig::new(1, 1),
                (out.slice_mut(),),
            )
        };
        let (global, shared, constant, local) =
            ([1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]);
        let expected = match device.kind() {
            // A host has one memory.
            DeviceKind::Simulator => [global; 5],
            _ => [global, shared, constant, local, global],
        };
        assert_eq!(out.to_vec().unwrap(), expected, "{device}");

        let mut out = device.zeros::<u32>(4).unwrap();
        let config = LaunchConfig::new(1, 1);
        // SAFETY: four elements.
        unsafe {
            launch(
                &device,
                &statics::converted_addresses,
                config,
                (out.slice_mut(),),
            )
        };
        // The constants are 2 and 3, in 16 bits each.
        assert_eq!(out.to_vec().unwrap(), [21, 22, 0x3_0002, 1], "{device}");
    }
}
