//! The atomic integers of `core`.

use super::*;
use cuda_std::DeviceSlice;
use cuda_std_tests_kernels::core_atomics::*;

macro_rules! methods {
    ($($name:ident $type:ident $kernel:ident;)*) => {$(
        #[test]
        fn $name() {
            let values: [$type; 9] = [100, 50, 7, 0x5f, 0x21, 0x13, 0x3c, 90, 99];
            let mut cell = values[0];
            let mut expected = vec![3];
            for (i, operation) in [
                $type::wrapping_add, $type::wrapping_sub, |a, b| a & b, |a, b| a | b, |a, b| a ^ b, |a: $type, b: $type| !(a & b),
                Ord::min, Ord::max,
            ].iter().enumerate() {
                let operation: &fn($type, $type) -> $type = operation;
                expected.push(cell);
                cell = operation(cell, values[i + 1]);
            }
            // A swap, two compare-and-swaps of which the second fails, and two more.
            expected.extend([cell, values[0], values[1], values[1], 77, values[8]]);
            for device in with_kernels() {
                for order in 0..5 {
                    // Four: a GPU accesses the whole aligned word of a narrow element.
                    let mut cell = device.buffer_from(&[3 as $type, 0, 0, 0]).unwrap();
                    let mut out = device.zeros::<$type>(15).unwrap();
                    let address = cell.slice_mut().as_mut_ptr().cast_const().cast();
                    let arguments = (address, order, values, out.slice_mut());
                    // SAFETY: an integer, and 15 elements.
                    unsafe { launch_of(&COMMON, &device, &$kernel, LaunchConfig::new(1, 1), arguments) };
                    assert_eq!(out.to_vec().unwrap(), expected, "{device}, order {order}");
                    assert_eq!(cell.to_vec().unwrap(), [77, 0, 0, 0], "{device}");
                }
            }
        }
    )*};
}

methods! {
    methods_of_u8 u8 methods_of_atomic_u8;
    methods_of_u16 u16 methods_of_atomic_u16;
    methods_of_u32 u32 methods_of_atomic_u32;
    methods_of_i32 i32 methods_of_atomic_i32;
    methods_of_u64 u64 methods_of_atomic_u64;
    methods_of_i64 i64 methods_of_atomic_i64;
}

/// The buffer's elements as what an atomic type of their layout is to a kernel.
fn shared<T: bytemuck::Pod + Send + Sync, A: 'static>(buffer: &mut Buffer<T>) -> DeviceSlice<A> {
    let slice = buffer.slice_mut();
    // SAFETY: elements of the same size and alignment; the buffers of this module outlive their
    // launches.
    unsafe { DeviceSlice::from_raw_parts(slice.as_mut_ptr().cast_const().cast(), slice.len()) }
}

#[test]
fn counters_of_all_widths_count() {
    let values: Vec<u32> = random_u32(51, 3000).iter().map(|v| v % 1000).collect();
    for device in with_kernels() {
        let input = device.buffer_from(&values).unwrap();
        let mut counts = device.zeros::<u32>(7).unwrap();
        // A GPU accesses the whole aligned word that has the byte: memcheck reports the rest of it.
        let mut narrow = device.zeros::<u8>(8).unwrap();
        let mut total = device.zeros::<u64>(1).unwrap();
        let mut any_even = device.zeros::<u8>(4).unwrap();
        let arguments = (
            input.slice(),
            shared(&mut counts),
            shared(&mut narrow),
            shared(&mut total).as_ptr(),
            shared(&mut any_even).as_ptr(),
        );
        // SAFETY: buffers of the layouts.
        unsafe {
            launch_of(
                &COMMON,
                &device,
                &histogram,
                LaunchConfig::new(blocks(), 64),
                arguments,
            )
        };
        let count = |kinds: u32, kind: u32| values.iter().filter(|&v| v % kinds == kind).count();
        let expected: Vec<u32> = (0..7).map(|kind| count(7, kind) as u32).collect();
        assert_eq!(counts.to_vec().unwrap(), expected, "{device}");
        let expected: Vec<u8> = (0..8).map(|kind| count(8, kind) as u8).collect();
        assert_eq!(narrow.to_vec().unwrap(), expected, "{device}");
        let sum = values.iter().map(|&v| u64::from(v)).sum::<u64>();
        assert_eq!(total.to_vec().unwrap(), [sum], "{device}");
        assert_eq!(any_even.to_vec().unwrap(), [1, 0, 0, 0], "{device}");
    }
}

#[test]
fn orders_and_fences_pass_messages_on() {
    let count = if small() { 5 } else { 100 };
    let expected: Vec<u64> = (0..=count as u64)
        .map(|i| 9 + 3 * i * i.saturating_sub(1) / 2)
        .collect();
    for device in with_kernels() {
        for kernel in [
            &messages_acquired,
            &messages_consistent,
            &messages_fenced,
            &messages_exchanged,
            &messages_compared,
        ] {
            let mut data = vec![0_u64; count + 1];
            let mut flags = vec![0_u32; count + 1];
            (data[0], flags[0]) = (9, 1);
            let mut data = device.buffer_from(&data).unwrap();
            let mut flags = device.buffer_from(&flags).unwrap();
            let mut started = device.zeros::<u32>(1).unwrap();
            let arguments = (
                data.slice_mut(),
                shared(&mut flags),
                shared(&mut started).as_ptr(),
            );
            // SAFETY: an element per block and one more, of which the first are set.
            unsafe {
                launch_of(
                    &COMMON,
                    &device,
                    kernel,
                    LaunchConfig::new(count as u32, 1),
                    arguments,
                )
            };
            assert_eq!(data.to_vec().unwrap(), expected, "{device} {kernel:?}");
        }
    }
}
