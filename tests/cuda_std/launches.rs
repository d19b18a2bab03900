//! Parameters of kernels, and bounds of blocks.

use super::*;
use cuda_std_tests_kernels::launches::{Aligned, Bytes, Mixed, Nested, Single, Table};

#[test]
fn a_kernel_needs_no_parameters() {
    for device in with_kernels() {
        // SAFETY: it does nothing.
        unsafe {
            launch(
                &device,
                &kernels::launches::nothing,
                LaunchConfig::new(3, 40),
                (),
            )
        };
        device.synchronize().unwrap();
    }
}

#[test]
fn scalars_of_every_width_arrive() {
    for device in with_kernels() {
        let mut out = device.zeros::<u64>(12).unwrap();
        let arguments = (
            0xa1_u8,
            -1.5e300_f64,
            -2_i8,
            0xbeef_u16,
            i64::MIN + 5,
            -30_000_i16,
            -0.0_f32,
            255_u8,
            0x0123_4567_89ab_cdef_u64,
            -7_i32,
            0xdead_beef_u32,
            out.slice_mut(),
            -9_isize,
        );
        let config = LaunchConfig::new(1, 32);
        // SAFETY: there are 12 elements.
        unsafe { launch(&device, &kernels::launches::scalars, config, arguments) };
        let expected = [
            0xa1,
            (-1.5e300_f64).to_bits(),
            -2_i64 as u64,
            0xbeef,
            (i64::MIN + 5) as u64,
            -30_000_i64 as u64,
            0x8000_0000,
            255,
            0x0123_4567_89ab_cdef,
            -7_i64 as u64,
            0xdead_beef,
            -9_i64 as u64,
        ];
        assert_eq!(out.to_vec().unwrap(), expected, "{device}");
    }
}

/// Expands to the numbers as arguments of the kernel, followed by `$target`, and to the array that
/// the kernel writes.
macro_rules! numbers {
    ($target:ident, $($number:expr),*) => {
        (($(($number) as _,)* $target), [$($number),*])
    };
}

#[test]
fn twenty_four_parameters_arrive() {
    for device in with_kernels() {
        let mut out = device.zeros::<[u64; 23]>(1).unwrap();
        let target = out.slice_mut();
        let (wide, high) = (0xf0f1_f2f3_f4f5_f6f7_u64, 0xf000_0000);
        let (arguments, expected) = numbers![
            target,
            1,
            wide + 2,
            3,
            4,
            0xf005,
            6,
            high + 7,
            8,
            wide + 9,
            0xf00a,
            0xf00b,
            wide + 12,
            13,
            14,
            15,
            high + 16,
            17,
            wide + 18,
            high + 19,
            0xf014,
            21,
            wide + 22,
            23
        ];
        // SAFETY: an element.
        unsafe {
            launch(
                &device,
                &kernels::launches::many,
                LaunchConfig::new(1, 1),
                arguments,
            )
        };
        assert_eq!(out.to_vec().unwrap(), [expected], "{device}");
    }
}

#[test]
fn structs_arrive_with_their_padding() {
    for device in with_kernels() {
        let input = device.buffer_from(&[1_000_000_u32]).unwrap();
        let mut out = device.zeros::<u64>(13).unwrap();
        let arguments = (
            Bytes {
                first: 200,
                second: -3,
                third: 7,
            },
            Mixed {
                byte: 9,
                double: -0.1,
                short: 0xfedc,
                singles: [1.0, 2.0, 3.0],
                last: -100,
            },
            0x77,
            Single { number: 2.5 },
            Nested {
                input: input.slice(),
                factor: 0xffff,
                out: out.slice_mut(),
            },
            Aligned {
                words: [11, 12, 13, 14, 15],
            },
        );
        let config = LaunchConfig::new(1, 1);
        // SAFETY: an element, and 13.
        unsafe { launch(&device, &kernels::launches::structs, config, arguments) };
        let expected = [
            200,
            -3_i64 as u64,
            7,
            9,
            (-0.1_f64).to_bits(),
            0xfedc,
            321,
            -100_i64 as u64,
            0x77,
            2.5_f32.to_bits().into(),
            1_000_000 * 0xffff,
            11,
            15,
        ];
        assert_eq!(out.to_vec().unwrap(), expected, "{device}");
    }
}

#[test]
fn structs_hold_tables() {
    let mut table = Table { entries: [0; 33] };
    for (entry, i) in table.entries.iter_mut().zip(0..) {
        *entry = 60_000 - 1000 * i;
    }
    for device in with_kernels() {
        let mut out = device.zeros::<u16>(100).unwrap();
        let arguments = (table, out.slice_mut());
        let config = LaunchConfig::new(2, 50);
        // SAFETY: an element per thread.
        unsafe { launch(&device, &kernels::launches::table, config, arguments) };
        let expected: Vec<u16> = (0..100).map(|i| table.entries[i % 33]).collect();
        assert_eq!(out.to_vec().unwrap(), expected, "{device}");
    }
}

#[test]
fn pointers_are_parameters() {
    let input = random_u32(28, 300);
    for device in with_kernels() {
        let source = device.buffer_from(&input).unwrap();
        let mut target = device.zeros::<u32>(300).unwrap();
        let (from, to) = (source.slice().as_ptr(), target.slice_mut().as_mut_ptr());
        let config = LaunchConfig::new(2, 64);
        // SAFETY: both have 300 elements.
        unsafe {
            launch(
                &device,
                &kernels::launches::raw_pointers,
                config,
                (from, to, 300),
            )
        };
        assert_eq!(target.to_vec().unwrap(), input, "{device}");
    }
}

/// Launches a kernel that counts the threads of each of `grid` blocks.
fn counts(
    device: &Device,
    kernel: &Kernel<(cuda_std::DeviceSliceMut<u32>,)>,
    grid: u32,
    block: (u32, u32, u32),
) -> gridstride::Result<Vec<u32>> {
    let config = LaunchConfig::new(grid, block);
    let mut counts: Buffer<u32> = device.zeros(grid as usize)?;
    // SAFETY: an element per block.
    unsafe { device.launch(&MODULE, kernel, config, (counts.slice_mut(),)) }?;
    counts.to_vec()
}

#[test]
fn bounds_admit_what_they_say() {
    for device in with_kernels() {
        let exact = |block| counts(&device, &kernels::launches::exact_block, 5, block);
        assert_eq!(exact((4, 2, 3)).unwrap(), [24; 5], "{device}");
        for other in [(24, 1, 1), (4, 3, 2), (4, 2, 2)] {
            fails(exact(other), &["blocks of (4, 2, 3) alone"]);
        }
        let bounded = |block| counts(&device, &kernels::launches::bounded_block, 3, block);
        for block in [(128, 1, 1), (8, 4, 4), (1, 127, 1), (1, 1, 1)] {
            let threads = block.0 * block.1 * block.2;
            assert_eq!(bounded(block).unwrap(), [threads; 3], "{device}");
        }
        fails(bounded((129, 1, 1)), &["more than the 128 threads"]);
    }
}

#[test]
fn panics_that_do_not_happen_change_nothing() {
    for device in with_kernels() {
        let input: Vec<u32> = random_u32(29, 500).iter().map(|v| v % 1000).collect();
        let mut values = device.buffer_from(&input).unwrap();
        let arguments = (1000, values.slice_mut());
        let config = LaunchConfig::new(2, 64);
        // SAFETY: the slice is valid.
        unsafe { launch(&device, &kernels::launches::panics_at, config, arguments) };
        let expected: Vec<u32> = input.iter().map(|value| value + 1).collect();
        assert_eq!(values.to_vec().unwrap(), expected, "{device}");
    }
}

/// In the simulator alone: a trap leaves CUDA's context, which the other tests share, useless.
#[test]
fn a_panic_names_its_thread() {
    let device = simulator();
    let mut values = device.buffer_from(&[3_u32, 4, 5, 6]).unwrap();
    let (config, arguments) = (LaunchConfig::new(1, 4), (5, values.slice_mut()));
    // SAFETY: the slice is valid.
    let launched =
        unsafe { device.launch(&MODULE, &kernels::launches::panics_at, config, arguments) };
    fails(launched, &["panics_at", "5 is forbidden", "(2, 0, 0)"]);
}
