//! Global memory: slices, atomics and fences; and the float functions.

mod common;

use common::{SEEDS, launch, slice, slice_mut, under_all_schedules};
use cuda_std::host::{Dim3, LaunchConfig};
use cuda_std::prelude::*;
use simt::{SimError, Simulator};

#[kernel]
unsafe fn read_at(data: DeviceSlice<u32>, index: usize) {
    if thread::global_index() == 70 {
        // SAFETY: past the end when the test wants the simulator to find it.
        unsafe { data.at(index) };
    }
}

#[kernel]
unsafe fn use_at(data: DeviceSliceMut<u32>, index: usize, how: u32) {
    // SAFETY: past the end when the test wants the simulator to find it.
    unsafe {
        match how {
            0 => _ = data.at(index),
            1 => data.set(index, 1),
            _ => _ = data.address(index),
        }
    }
}

#[test]
fn accesses_past_the_end_are_found() {
    let mut data = [0; 10];
    for seed in SEEDS {
        let simulator = Simulator::with_seed(seed);
        let config = LaunchConfig::new(2, 64);
        launch(&simulator, &read_at, config, (slice(&data), 9)).unwrap();
        let error = launch(&simulator, &read_at, config, (slice(&data), 10)).unwrap_err();
        let SimError::OutOfBounds {
            place,
            access: "read",
            index: 10,
            length: 10,
            site,
        } = error
        else {
            panic!("{error}");
        };
        assert_eq!(place.block, Dim3::from((1, 0, 0)));
        assert_eq!(place.thread, Dim3::from((6, 0, 0)));
        assert!(site.file().ends_with("memory.rs"));
        for (how, name) in ["read", "write", "address"].into_iter().enumerate() {
            let how = how as u32;
            let config = LaunchConfig::new(1, 1);
            let inside = (slice_mut(&mut data), 9, how);
            launch(&simulator, &use_at, config, inside).unwrap();
            let outside = (slice_mut(&mut data), usize::MAX, how);
            let error = launch(&simulator, &use_at, config, outside).unwrap_err();
            let SimError::OutOfBounds { access, .. } = error else {
                panic!("{error}");
            };
            assert_eq!(access, name);
        }
    }
}

#[kernel]
unsafe fn read_get(data: DeviceSlice<u32>, empty: DeviceSlice<u32>, out: DeviceSliceMut<u32>) {
    let i = thread::global_index();
    // SAFETY: inside a kernel whose buffers live.
    let value = unsafe { data.get(i) }.unwrap_or(77);
    // SAFETY: inside a kernel whose buffers live; `get` checks the index.
    let is_none = unsafe { empty.get(0) }.is_none();
    let expected = !data.is_empty() && empty.is_empty() && is_none;
    // SAFETY: there is an element for each thread.
    unsafe { out.set(i, value + u32::from(expected)) };
}

#[test]
fn get_is_checked_on_every_device() {
    let (data, mut out) = ([5, 6, 7], [0; 5]);
    let args = (slice(&data), slice(&[]), slice_mut(&mut out));
    launch(
        &Simulator::default(),
        &read_get,
        LaunchConfig::new(1, 5),
        args,
    )
    .unwrap();
    assert_eq!(out, [6, 7, 8, 78, 78]);
}

/// Thread `i` of `n` puts in `i + 1`; the results of all operations.
macro_rules! atomics_test {
    ($($name:ident, $kernel:ident, $type:ty, $lowest:expr;)*) => {$(
        #[kernel]
        unsafe fn $kernel(out: DeviceSliceMut<$type>, before: DeviceSliceMut<$type>) {
            let i = thread::global_index();
            let value = i as $type + 1;
            // SAFETY: `out` has 9 elements, only touched by atomics; `before` one a thread.
            unsafe {
                before.set(i, atomic::add(out.address(0), value));
                atomic::min(out.address(1), <$type>::wrapping_sub(100, value));
                atomic::max(out.address(2), value);
                atomic::and(out.address(3), !(1 << (i % 16)));
                atomic::or(out.address(4), 1 << (i % 16));
                atomic::xor(out.address(5), value);
                // The value that leaves goes on: nothing is lost.
                atomic::add(out.address(7), atomic::exchange(out.address(6), value));
                // A sum by compare-and-exchange; the thread never waits for another one.
                let mut expected = 0;
                loop {
                    let found = atomic::compare_exchange(out.address(8), expected, expected + value);
                    if found == expected {
                        break;
                    }
                    expected = found;
                }
            }
        }

        #[test]
        fn $name() {
            const THREADS: usize = 40 * 33;
            under_all_schedules(|simulator| {
                let mut out: [$type; 9] = [0, <$type>::MAX, $lowest, 0xffff, 0, 0, 0, 0, 0];
                let mut before = vec![0; THREADS];
                let args = (slice_mut(&mut out), slice_mut(&mut before));
                launch(simulator, &$kernel, LaunchConfig::new(40, 33), args).unwrap();
                let values = 1..=THREADS as $type;
                let sum: $type = values.clone().sum();
                let least = values.clone().map(|v| <$type>::wrapping_sub(100, v)).min().unwrap();
                let xor = values.fold(0, |all, value| all ^ value);
                assert_eq!(out[..6], [sum, least, THREADS as $type, 0, 0xffff, xor]);
                assert_eq!(out[6] + out[7], sum);
                assert_eq!(out[8], sum);
                // Each addition saw another one's result.
                before.sort_unstable();
                assert_eq!(before[0], 0);
                assert!(before.windows(2).all(|pair| pair[0] < pair[1]));
            });
        }
    )*};
}

atomics_test! {
    atomics_of_u32, atomics_u32, u32, u32::MIN;
    atomics_of_i32, atomics_i32, i32, i32::MIN;
    atomics_of_u64, atomics_u64, u64, u64::MIN;
    atomics_of_i64, atomics_i64, i64, i64::MIN;
}

#[kernel]
unsafe fn add_floats(single: DeviceSliceMut<f32>, double: DeviceSliceMut<f64>) {
    let value = thread::index_1d() as f32;
    // SAFETY: both have an element, only touched by atomics.
    unsafe {
        atomic::add_f32(single.address(0), value);
        atomic::add_f64(double.address(0), f64::from(value) + 0.25);
    }
}

#[test]
fn float_additions_are_complete() {
    under_all_schedules(|simulator| {
        let (mut single, mut double) = ([0.5], [0.0]);
        let args = (slice_mut(&mut single), slice_mut(&mut double));
        launch(simulator, &add_floats, LaunchConfig::new(20, 50), args).unwrap();
        // All partial sums are below 2²⁴ halves, so that they are exact in any order.
        assert_eq!(single, [499_500.5]);
        assert_eq!(double, [499_750.0]);
    });
}

/// The last block to arrive adds up what the others have written: the pattern fences are for.
#[kernel]
unsafe fn last_block_sums(parts: DeviceSliceMut<u32>, arrived: DeviceSliceMut<u32>) {
    let blocks = thread::grid_dim_x();
    // SAFETY: `parts` has an element more than there are blocks. Each block writes its own; the
    // last to arrive reads them, after the counter and the fences.
    unsafe {
        parts.set(thread::block_idx_x() as usize, thread::block_idx_x() + 1);
        thread::device_fence();
        if atomic::add(arrived.address(0), 1) == blocks - 1 {
            thread::device_fence();
            let sum = (0..blocks as usize).map(|block| parts.at(block)).sum();
            parts.set(blocks as usize, sum);
        }
    }
}

#[test]
fn fences_make_writes_visible_to_the_last_block() {
    under_all_schedules(|simulator| {
        let (mut parts, mut arrived) = (vec![0; 201], [0]);
        let args = (slice_mut(&mut parts), slice_mut(&mut arrived));
        launch(simulator, &last_block_sums, LaunchConfig::new(200, 1), args).unwrap();
        assert_eq!(parts[200], 200 * 201 / 2);
    });
}

#[kernel]
unsafe fn floats(
    input: DeviceSlice<f64>,
    single: DeviceSliceMut<f32>,
    double: DeviceSliceMut<f64>,
) {
    let i = thread::global_index();
    // SAFETY: `input` has an element for each thread, `single` eleven and `double` six.
    unsafe {
        let x = input.at(i);
        let y = x as f32;
        let singles = [
            float::fma_f32(y, y, -1.0),
            float::sqrt_f32(y),
            float::floor_f32(y),
            float::ceil_f32(y),
            float::trunc_f32(y),
            float::round_ties_even_f32(y),
            float::rsqrt_approx_f32(y),
            float::exp2_approx_f32(y),
            float::log2_approx_f32(y),
            float::sin_approx_f32(y),
            float::cos_approx_f32(y),
        ];
        for (j, value) in singles.into_iter().enumerate() {
            single.set(11 * i + j, value);
        }
        let doubles = [
            float::fma_f64(x, x, -1.0),
            float::sqrt_f64(x),
            float::floor_f64(x),
            float::ceil_f64(x),
            float::trunc_f64(x),
            float::round_ties_even_f64(x),
        ];
        for (j, value) in doubles.into_iter().enumerate() {
            double.set(6 * i + j, value);
        }
    }
}

#[test]
fn float_functions_are_those_of_the_standard_library() {
    let input = [
        0.0,
        0.1,
        0.5,
        1.0,
        1.5,
        2.5,
        -0.5,
        -1.7,
        3.25,
        1e6,
        f64::NAN,
        f64::INFINITY,
    ];
    let mut single = vec![0_f32; 11 * input.len()];
    let mut double = vec![0_f64; 6 * input.len()];
    let args = (
        slice(&input),
        slice_mut(&mut single),
        slice_mut(&mut double),
    );
    let config = LaunchConfig::new(1, input.len() as u32);
    launch(&Simulator::default(), &floats, config, args).unwrap();
    for (i, &x) in input.iter().enumerate() {
        let y = x as f32;
        let singles = [
            y.mul_add(y, -1.0),
            y.sqrt(),
            y.floor(),
            y.ceil(),
            y.trunc(),
            y.round_ties_even(),
            1.0 / y.sqrt(),
            y.exp2(),
            y.log2(),
            y.sin(),
            y.cos(),
        ];
        let doubles = [
            x.mul_add(x, -1.0),
            x.sqrt(),
            x.floor(),
            x.ceil(),
            x.trunc(),
            x.round_ties_even(),
        ];
        for (&found, expected) in single[11 * i..].iter().zip(singles) {
            assert!(
                found == expected || found.is_nan() && expected.is_nan(),
                "{x}"
            );
        }
        for (&found, expected) in double[6 * i..].iter().zip(doubles) {
            assert!(
                found == expected || found.is_nan() && expected.is_nan(),
                "{x}"
            );
        }
    }
}
