//! Every function of cuda_std, in kernels that run on every device, against what is computed here
//! without any of it.

mod common;

use common::{devices, simulator, small};
use cuda_std::host::{Kernel, KernelArgs};
use cuda_std_tests_kernels::{atomics, floats, launches, shared_memory, slices, threads, warps};
use gridstride::Device;
use gridstride::device::{Buffer, DeviceKind, Image, LaunchConfig, Module};

static MODULE: Module = Module::new(
    "cuda_std_tests",
    &[Image::new(
        "sm_70",
        include_str!("../kernels-gpu/ptx/cuda_std_tests.sm_70.ptx"),
    )],
);

/// The devices that run kernels.
fn with_kernels() -> impl Iterator<Item = Device> {
    devices()
        .into_iter()
        .filter(|device| device.kind() != DeviceKind::Cpu)
}

/// # Safety
/// As of [`Device::launch`].
unsafe fn launch<A: KernelArgs>(
    device: &Device,
    kernel: &Kernel<A>,
    config: LaunchConfig,
    arguments: A,
) {
    // SAFETY: passed on to the caller.
    unsafe { device.launch(&MODULE, kernel, config, arguments) }.unwrap();
}

/// Blocks of a launch of many.
fn blocks() -> u32 {
    if small() { 2 } else { 17 }
}

/// Numbers without a pattern (SplitMix64).
fn random(seed: u64, count: usize) -> Vec<u64> {
    let mut state = seed;
    let next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    std::iter::repeat_with(next).take(count).collect()
}

fn random_u32(seed: u64, count: usize) -> Vec<u32> {
    random(seed, count)
        .iter()
        .map(|&bits| bits as u32)
        .collect()
}

mod positions {
    use super::*;

    #[test]
    fn every_thread_knows_its_place() {
        // The blocks have 24, 105 and 96 threads: warps that cross rows, and a warp in part.
        for (grid, block) in [
            ((2, 3, 4), (4, 3, 2)),
            ((3, 1, 2), (7, 5, 3)),
            ((1, 2, 1), (1, 96, 1)),
        ] {
            let mut expected = Vec::new();
            for (bz, by, bx) in each(grid) {
                for (z, y, x) in each(block) {
                    let index = x + block.0 * (y + block.1 * z);
                    expected.push([
                        x,
                        y,
                        z,
                        bx,
                        by,
                        bz,
                        block.0,
                        block.1,
                        block.2,
                        grid.0,
                        grid.1,
                        grid.2,
                        index,
                        index % 32,
                    ]);
                }
            }
            for device in with_kernels() {
                let mut out = device.zeros::<[u32; 14]>(expected.len()).unwrap();
                let config = LaunchConfig::new(grid, block);
                // SAFETY: an element per thread.
                unsafe { launch(&device, &threads::positions, config, (out.slice_mut(),)) };
                assert_eq!(out.to_vec().unwrap(), expected, "{device} {config:?}");
            }
        }
    }

    /// All `(z, y, x)` below a size `(x, y, z)`, x fastest.
    fn each(size: (u32, u32, u32)) -> impl Iterator<Item = (u32, u32, u32)> {
        (0..size.2)
            .flat_map(move |z| (0..size.1).flat_map(move |y| (0..size.0).map(move |x| (z, y, x))))
    }

    #[test]
    fn indices_cover_lines_and_planes() {
        for device in with_kernels() {
            let len = 37 * blocks() as usize;
            let mut line = device.zeros::<u64>(len).unwrap();
            let config = LaunchConfig::new(blocks(), 37);
            // SAFETY: an element per thread.
            unsafe { launch(&device, &threads::indices_1d, config, (line.slice_mut(),)) };
            assert_eq!(line.to_vec().unwrap(), (0..len as u64).collect::<Vec<_>>());

            let (width, height) = (3 * 16, 5 * 6);
            let mut plane = device.zeros::<[u64; 2]>(width * height).unwrap();
            let config = LaunchConfig::new((3, 5), (16, 6));
            // SAFETY: an element per thread, `width` threads wide.
            unsafe {
                let arguments = (width, plane.slice_mut());
                launch(&device, &threads::indices_2d, config, arguments)
            };
            for (i, place) in plane.to_vec().unwrap().into_iter().enumerate() {
                assert_eq!(place, [(i % width) as u64, (i / width) as u64]);
            }
        }
    }

    #[test]
    fn strides_visit_every_index_once() {
        for device in with_kernels() {
            for (grid, block, len) in [(1, 1, 5), (2, 32, 63), (3, 20, 60), (2, 33, 200), (4, 8, 0)]
            {
                let mut visits = device.zeros::<u32>(len).unwrap();
                let mut visitors = device.zeros::<u64>(len).unwrap();
                // SAFETY: as long as each other.
                unsafe {
                    let arguments = (visits.slice_mut(), visitors.slice_mut());
                    let config = LaunchConfig::new(grid, block);
                    launch(&device, &threads::strides, config, arguments)
                };
                assert_eq!(visits.to_vec().unwrap(), vec![1; len]);
                let all = u64::from(grid * block);
                let expected: Vec<u64> = (0..len as u64).map(|i| i % all).collect();
                assert_eq!(visitors.to_vec().unwrap(), expected);
            }
        }
    }

    #[test]
    fn strides_end_at_the_end_of_all_indices() {
        let config = LaunchConfig::new(2, 20);
        for device in with_kernels() {
            let mut out = device.zeros::<u64>(40).unwrap();
            // SAFETY: an element per thread.
            unsafe {
                launch(
                    &device,
                    &threads::endless_strides,
                    config,
                    (out.slice_mut(),),
                )
            };
            let expected: Vec<u64> = (0..40).map(|i| i + (i + 40)).collect();
            assert_eq!(out.to_vec().unwrap(), expected);
            // SAFETY: an element per thread.
            unsafe {
                launch(
                    &device,
                    &threads::first_strides,
                    config,
                    (33, out.slice_mut()),
                )
            };
            let first = |i| if i < 33 { i } else { u64::MAX };
            assert_eq!(
                out.to_vec().unwrap(),
                (0..40).map(first).collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn fences_show_writes_to_the_last_block() {
        for device in with_kernels() {
            let count = if small() { 5 } else { 300 };
            let mut parts = device.zeros::<u32>(count + 1).unwrap();
            let mut arrived = device.zeros::<u32>(1).unwrap();
            let config = LaunchConfig::new(count as u32, 32);
            // SAFETY: an element per block and one more.
            unsafe {
                let arguments = (parts.slice_mut(), arrived.slice_mut());
                launch(&device, &threads::last_block_sums, config, arguments)
            };
            let sum: u32 = (0..count as u32).map(|block| 3 * block + 1).sum();
            assert_eq!(parts.to_vec().unwrap()[count], sum);
            assert_eq!(arrived.to_vec().unwrap(), [count as u32]);
        }
    }
}

mod shared {
    use super::*;

    const LEN: usize = shared_memory::BLOCK as usize;

    /// Where thread i of blocks of LEN finds its neighbour's element, `steps` further.
    fn neighbour(i: usize, steps: usize) -> usize {
        i - i % LEN + (i + steps) % LEN
    }

    #[test]
    fn arrays_of_all_elements_are_apart() {
        let count = LEN * blocks() as usize;
        let input: Vec<u32> = random_u32(1, count)
            .iter()
            .map(|value| value >> 9)
            .collect();
        for device in with_kernels() {
            let values = device.buffer_from(&input).unwrap();
            let mut out = device.zeros::<[u64; 5]>(count).unwrap();
            let config = LaunchConfig::new(blocks(), LEN as u32);
            // SAFETY: an element per thread.
            unsafe {
                let arguments = (values.slice(), out.slice_mut());
                launch(&device, &shared_memory::shared_arrays, config, arguments)
            };
            for (i, read) in out.to_vec().unwrap().into_iter().enumerate() {
                let value = u64::from(input[neighbour(i, 1)]);
                let (byte, inverse) = (value % 256, 255 - value % 256);
                // The values are below 2²³, so that they are exact as floats.
                let expected = [
                    byte,
                    value,
                    value << 32 | value,
                    value,
                    (2 * value + 1) * 256 + inverse,
                ];
                assert_eq!(read, expected, "{device}, thread {i}");
            }
        }
    }

    #[test]
    fn functions_have_arrays_and_barriers() {
        let count = LEN * blocks() as usize;
        let input = random_u32(2, count);
        let expected: Vec<u32> = (0..count).map(|i| input[neighbour(i, 2)]).collect();
        for device in with_kernels() {
            for kernel in [
                &shared_memory::shared_in_a_helper,
                &shared_memory::shared_in_a_call,
            ] {
                let mut data = device.buffer_from(&input).unwrap();
                let config = LaunchConfig::new(blocks(), LEN as u32);
                // SAFETY: an element per thread.
                unsafe { launch(&device, kernel, config, (data.slice_mut(),)) };
                assert_eq!(data.to_vec().unwrap(), expected, "{device} {kernel:?}");
            }
        }
    }

    #[test]
    fn dynamic_memory_is_as_large_as_the_launch_says() {
        for device in with_kernels() {
            for (block, steps) in [(1, 3), (33, 40), (64, 0), (100, 7)] {
                let count = block * blocks() as usize;
                let input = random(3, count);
                let mut data = device.buffer_from(&input).unwrap();
                let config =
                    LaunchConfig::new(blocks(), block as u32).with_shared_bytes(16 * block as u32);
                // SAFETY: an element and 16 bytes per thread.
                unsafe {
                    let arguments = (steps, data.slice_mut());
                    launch(&device, &shared_memory::dynamic_ring, config, arguments)
                };
                let from = |i| i - i % block + (i + steps as usize) % block;
                let expected: Vec<u64> = (0..count).map(|i| input[from(i)]).collect();
                assert_eq!(data.to_vec().unwrap(), expected, "{device}");
            }
        }
    }

    #[test]
    fn static_and_dynamic_memory_are_apart() {
        for device in with_kernels() {
            let count = LEN * blocks() as usize;
            let mut out = device.zeros::<u32>(count).unwrap();
            let config = LaunchConfig::new(blocks(), LEN as u32).with_shared_bytes(4 * LEN as u32);
            // SAFETY: an element and 4 bytes per thread.
            unsafe {
                launch(
                    &device,
                    &shared_memory::static_and_dynamic,
                    config,
                    (out.slice_mut(),),
                )
            };
            let expected: Vec<u32> = (0..count)
                .map(|i| (LEN - 1 - i % LEN) as u32)
                .map(|other| 1000 * other + (other + 1) % 256)
                .collect();
            assert_eq!(out.to_vec().unwrap(), expected, "{device}");
        }
    }

    #[test]
    fn trees_add_up_blocks() {
        let count = LEN * blocks() as usize;
        let input: Vec<i64> = random(4, count)
            .iter()
            .map(|&bits| bits as i64 >> 8)
            .collect();
        let expected: Vec<i64> = input.chunks(LEN).map(|block| block.iter().sum()).collect();
        for device in with_kernels() {
            let values = device.buffer_from(&input).unwrap();
            let mut sums = device.zeros::<i64>(blocks() as usize).unwrap();
            let config = LaunchConfig::new(blocks(), LEN as u32);
            // SAFETY: an element per thread, and one per block.
            unsafe {
                let arguments = (values.slice(), sums.slice_mut());
                launch(&device, &shared_memory::block_sums, config, arguments)
            };
            assert_eq!(sums.to_vec().unwrap(), expected, "{device}");
        }
    }
}

mod among_lanes {
    use super::*;

    const LEN: usize = 64;

    /// The thread that each shuffle reads from, for thread `i`.
    fn sources(i: usize, argument: usize) -> [usize; 8] {
        let (lane, first) = (i % 32, i - i % 32);
        let (in_half, first_of_half) = (lane % 16, i - i % 16);
        let (by, in_half_by) = (argument % 32, argument % 16);
        [
            first + (7 * lane + argument) % 32,
            if lane >= by { i - by } else { i },
            if lane + by < 32 { i + by } else { i },
            first + (lane ^ by),
            first_of_half + (in_half + argument) % 16,
            if in_half >= in_half_by {
                i - in_half_by
            } else {
                i
            },
            if in_half + in_half_by < 16 {
                i + in_half_by
            } else {
                i
            },
            first_of_half + (in_half ^ in_half_by),
        ]
    }

    /// For each thread the sum, the minimum and the maximum of its warp, by the operations given;
    /// sums in the order of a butterfly.
    fn reduced<T: Copy>(input: &[T], operations: [fn(T, T) -> T; 3]) -> Vec<[T; 3]> {
        let mut out = Vec::new();
        for warp in input.chunks(32) {
            let all = operations.map(|combine| {
                let mut lanes = warp.to_vec();
                while lanes.len() > 1 {
                    let half = lanes.len() / 2;
                    lanes = (0..half)
                        .map(|i| combine(lanes[i], lanes[i + half]))
                        .collect();
                }
                lanes[0]
            });
            out.extend([all; 32]);
        }
        out
    }

    macro_rules! of_type {
        ($($shuffle_test:ident, $shuffles:ident, $reduce_test:ident, $reductions:ident, $type:ty, $inputs:expr, $operations:expr;)*) => {$(
            #[test]
            fn $shuffle_test() {
                for input in $inputs {
                    let input: Vec<$type> = input;
                    for device in with_kernels() {
                        let values = device.buffer_from(&input).unwrap();
                        for argument in [0, 1, 2, 5, 15, 16, 17, 31, 32, 39, u32::MAX] {
                            let mut out = device.zeros::<[$type; 8]>(LEN).unwrap();
                            let arguments = (values.slice(), argument, out.slice_mut());
                            let config = LaunchConfig::new(1, LEN as u32);
                            // SAFETY: an element per thread.
                            unsafe { launch(&device, &warps::$shuffles, config, arguments) };
                            for (i, read) in out.to_vec().unwrap().into_iter().enumerate() {
                                let expected = sources_wrapping(i, argument).map(|source| input[source]);
                                assert_eq!(bits(&read), bits(&expected), "{device}, thread {i}, argument {argument}");
                            }
                        }
                    }
                }
            }

            #[test]
            fn $reduce_test() {
                for input in $inputs {
                    let input: Vec<$type> = input;
                    let expected = reduced(&input, $operations);
                    for device in with_kernels() {
                        let values = device.buffer_from(&input).unwrap();
                        let mut out = device.zeros::<[$type; 3]>(LEN).unwrap();
                        let config = LaunchConfig::new(1, LEN as u32);
                        let arguments = (values.slice(), out.slice_mut());
                        // SAFETY: an element per thread.
                        unsafe { launch(&device, &warps::$reductions, config, arguments) };
                        for (i, (read, expected)) in out.to_vec().unwrap().iter().zip(&expected).enumerate() {
                            #[allow(clippy::eq_op, reason = "NaN is what differs from itself")]
                            let same = read.iter().zip(expected).all(|(a, b)| {
                                bits(&[*a]) == bits(&[*b]) || (a != a && b != b)
                            });
                            assert!(same, "{device}, thread {i}: {read:?} in place of {expected:?}");
                        }
                    }
                }
            }
        )*};
    }

    /// The kernel adds 32-bit numbers, which wrap: 2³² is a multiple of 32.
    fn sources_wrapping(i: usize, argument: u32) -> [usize; 8] {
        sources(i, (argument % 32) as usize)
    }

    /// What is compared, so that −0 is not 0 and a NaN is itself.
    fn bits<T: number_bits::Bits>(values: &[T]) -> Vec<u64> {
        values.iter().map(|value| value.bits()).collect()
    }

    mod number_bits {
        /// A number's bits, extended.
        pub trait Bits: Copy {
            fn bits(self) -> u64;
        }
        macro_rules! bits {
            ($($type:ty, $bits:expr;)*) => {$(
                impl Bits for $type {
                    fn bits(self) -> u64 {
                        let bits: fn($type) -> u64 = $bits;
                        bits(self)
                    }
                }
            )*};
        }
        bits! {
            u32, |v| v.into();
            i32, |v| v as u64;
            u64, |v| v;
            i64, |v| v as u64;
            f32, |v| v.to_bits().into();
            f64, |v| v.to_bits();
        }
    }

    /// The smaller one of numbers: −0 before 0, and a NaN only of two.
    macro_rules! ordered {
        ($type:ident, $smaller:ident, $larger:ident) => {
            fn $smaller(a: $type, b: $type) -> $type {
                match (a.is_nan(), b.is_nan()) {
                    (true, _) => b,
                    (_, true) => a,
                    _ if a.total_cmp(&b).is_le() => a,
                    _ => b,
                }
            }
            fn $larger(a: $type, b: $type) -> $type {
                match (a.is_nan(), b.is_nan()) {
                    (true, _) => b,
                    (_, true) => a,
                    _ if a.total_cmp(&b).is_ge() => a,
                    _ => b,
                }
            }
        };
    }
    ordered!(f32, smaller_f32, larger_f32);
    ordered!(f64, smaller_f64, larger_f64);

    /// Numbers that round when added; then zeros of both signs; then NaN in most lanes, and in all
    /// of the second warp.
    fn doubles() -> [Vec<f64>; 3] {
        let numbers = random(5, LEN);
        let numbers: Vec<f64> = numbers
            .iter()
            .map(|&bits| bits as i64 as f64 / 3e9)
            .collect();
        let sign = |i: usize| if i.is_multiple_of(3) { 0.0 } else { -0.0 };
        let some = |i: usize| {
            if i % 7 == 3 && i < 32 {
                numbers[i]
            } else {
                f64::NAN
            }
        };
        [
            numbers.clone(),
            (0..LEN).map(sign).collect(),
            (0..LEN).map(some).collect(),
        ]
    }

    fn singles() -> [Vec<f32>; 3] {
        doubles().map(|input| input.iter().map(|&x| x as f32).collect())
    }

    of_type! {
        u32_shuffles, shuffles_u32, u32_reduces, reductions_u32, u32,
            [random_u32(6, LEN)], [u32::wrapping_add, Ord::min, Ord::max];
        i32_shuffles, shuffles_i32, i32_reduces, reductions_i32, i32,
            [random(7, LEN).iter().map(|&v| v as i32).collect()], [i32::wrapping_add, Ord::min, Ord::max];
        u64_shuffles, shuffles_u64, u64_reduces, reductions_u64, u64,
            [random(8, LEN)], [u64::wrapping_add, Ord::min, Ord::max];
        i64_shuffles, shuffles_i64, i64_reduces, reductions_i64, i64,
            [random(9, LEN).iter().map(|&v| v as i64).collect()], [i64::wrapping_add, Ord::min, Ord::max];
        f32_shuffles, shuffles_f32, f32_reduces, reductions_f32, f32,
            singles(), [|a, b| a + b, smaller_f32, larger_f32];
        f64_shuffles, shuffles_f64, f64_reduces, reductions_f64, f64,
            doubles(), [|a, b| a + b, smaller_f64, larger_f64];
    }

    /// Runs a kernel of blocks of 64 on `input` in place.
    fn in_place(
        device: &Device,
        kernel: &Kernel<(cuda_std::DeviceSliceMut<u32>,)>,
        input: &[u32],
    ) -> Vec<u32> {
        let mut data = device.buffer_from(input).unwrap();
        let config = LaunchConfig::new((input.len() / LEN) as u32, LEN as u32);
        // SAFETY: an element per thread.
        unsafe { launch(device, kernel, config, (data.slice_mut(),)) };
        data.to_vec().unwrap()
    }

    #[test]
    fn any_operation_reduces() {
        let input = random_u32(10, LEN * blocks() as usize);
        let product = |warp: &[u32]| [warp.iter().fold(1, |all: u32, &v| all.wrapping_mul(v)); 32];
        let expected: Vec<u32> = input.chunks(32).flat_map(product).collect();
        for device in with_kernels() {
            assert_eq!(
                in_place(&device, &warps::products, &input),
                expected,
                "{device}"
            );
        }
    }

    #[test]
    fn votes_count_the_lanes_of_the_mask() {
        // Blocks with a warp in part; values that few, many, all or no lanes share.
        for (block, kinds, limit) in [
            (32, 4, 2),
            (64, 4, 4),
            (64, 3, 0),
            (72, 40, 20),
            (109, 2, 1),
            (5, 9, 3),
        ] {
            let count = block * blocks() as usize;
            let input: Vec<u32> = random_u32(11, count)
                .iter()
                .map(|value| value % kinds)
                .collect();
            for device in with_kernels() {
                let values = device.buffer_from(&input).unwrap();
                let mut out = device.zeros::<[u32; 8]>(count).unwrap();
                let config = LaunchConfig::new(blocks(), block as u32);
                let arguments = (values.slice(), limit, out.slice_mut());
                // SAFETY: an element per thread.
                unsafe { launch(&device, &warps::votes, config, arguments) };
                let found = out.to_vec().unwrap();
                for i in 0..count {
                    let (thread, first) = (i % block, i - i % block);
                    let lanes_of = |size: usize| {
                        let start = thread - thread % size;
                        start..(start + size).min(block)
                    };
                    let mask = |size: usize, holds: &dyn Fn(u32) -> bool| -> u32 {
                        lanes_of(size)
                            .filter(|&other| holds(input[first + other]))
                            .map(|other| 1 << (other % 32))
                            .sum()
                    };
                    let expected: Vec<u32> = [32, 16]
                        .into_iter()
                        .flat_map(|size| {
                            let below = mask(size, &|value| value < limit);
                            let everyone = mask(size, &|_| true);
                            [
                                below,
                                u32::from(below == everyone),
                                u32::from(below != 0),
                                mask(size, &|value| value == input[i]),
                            ]
                        })
                        .collect();
                    assert_eq!(
                        found[i][..],
                        expected,
                        "{device}, block {block}, thread {i}"
                    );
                }
            }
        }
    }

    #[test]
    fn lanes_in_two_branches_do_not_mix() {
        let input = random_u32(12, LEN * blocks() as usize);
        let ballot = |i: usize, divisor| -> u32 {
            (0..32)
                .filter(|lane| {
                    lane % 2 == i % 2 && input[i - i % 32 + lane].is_multiple_of(divisor)
                })
                .map(|lane| 1 << lane)
                .sum()
        };
        let expected: Vec<u32> = (0..input.len())
            .map(|i| match i % 2 {
                0 => ballot(i, 3) ^ input[i ^ 2],
                _ => ballot(i, 5) ^ input[i ^ 4],
            })
            .collect();
        for device in with_kernels() {
            assert_eq!(
                in_place(&device, &warps::divergent_halves, &input),
                expected,
                "{device}"
            );
        }
    }

    #[test]
    fn a_ballot_is_a_mask() {
        let input = random_u32(13, LEN * blocks() as usize);
        let expected: Vec<u32> = (0..input.len())
            .map(|i| {
                let warp = &input[i - i % 32..][..32];
                let first = warp.iter().find(|&value| value % 2 == 1);
                if input[i] % 2 == 1 {
                    *first.unwrap()
                } else {
                    input[i]
                }
            })
            .collect();
        for device in with_kernels() {
            assert_eq!(
                in_place(&device, &warps::first_odd, &input),
                expected,
                "{device}"
            );
        }
    }

    #[test]
    fn a_warp_synchronises_without_its_block() {
        let input = random_u32(14, LEN * blocks() as usize);
        let expected: Vec<u32> = (0..input.len())
            .map(|i| input[i ^ 15 ^ 31].wrapping_mul(3))
            .collect();
        for device in with_kernels() {
            assert_eq!(
                in_place(&device, &warps::warp_exchange, &input),
                expected,
                "{device}"
            );
        }
    }
}

mod atomic {
    use super::*;

    /// What the cells hold in the end, `initial` being in them and `values` applied with the
    /// thread numbers from `first` on; the cell of exchanges and the sum of what left it only
    /// together, as cell 6.
    macro_rules! integers {
        ($($name:ident, $type:ty, $global:ident, $shared:ident, $value:expr;)*) => {$(
            #[test]
            fn $name() {
                const CELLS: usize = atomics::CELLS;
                let bits = <$type>::BITS;
                let block = 96;
                let count = block * blocks() as usize;
                let value: fn(u64) -> $type = $value;
                let values: Vec<$type> = random(15, count).into_iter().map(value).collect();
                let initial: [$type; CELLS] = [7, <$type>::MAX, <$type>::MIN, !0, 0, 11, 0, 0, 0];
                let check = |device: &Device, first: usize, values: &[$type], cells: &[$type]| {
                    let sum = values.iter().fold(0, |sum: $type, &v| sum.wrapping_add(v));
                    let set = (first..first + values.len()).fold(0, |set, i| set | 1 << (i as u32 % bits));
                    let expected: [$type; 6] = [
                        sum.wrapping_add(7),
                        values.iter().map(|&v| <$type>::wrapping_sub(100, v)).min().unwrap(),
                        *values.iter().max().unwrap(),
                        !set,
                        set,
                        values.iter().fold(11, |all, v| all ^ v),
                    ];
                    assert_eq!(cells[..6], expected, "{device}");
                    assert!(values.contains(&cells[6]), "{device}");
                    assert_eq!(cells[6].wrapping_add(cells[7]), sum, "{device}");
                    assert_eq!(cells[8], sum, "{device}");
                };
                // Additions in some order: what one leaves is what one other finds, from 7 on.
                let check_chain = |device: &Device, values: &[$type], found: &[$type]| {
                    let mut left: Vec<$type> = values.iter().zip(found).map(|(v, f)| f.wrapping_add(*v)).collect();
                    let mut found = found.to_vec();
                    let sum = values.iter().fold(7, |sum: $type, &v| sum.wrapping_add(v));
                    left.push(7);
                    found.push(sum);
                    left.sort_unstable();
                    found.sort_unstable();
                    assert!(left == found, "{device}");
                };
                for device in with_kernels() {
                    let config = LaunchConfig::new(blocks(), block as u32);
                    let input = device.buffer_from(&values).unwrap();
                    let mut found = device.zeros::<$type>(count).unwrap();
                    let mut cells = device.buffer_from(&initial).unwrap();
                    let arguments = (cells.slice_mut(), input.slice(), found.slice_mut());
                    // SAFETY: CELLS cells, and an element per thread.
                    unsafe { launch(&device, &atomics::$global, config, arguments) };
                    check(&device, 0, &values, &cells.to_vec().unwrap());
                    check_chain(&device, &values, &found.to_vec().unwrap());

                    let mut cells = device.buffer_from(&initial.repeat(blocks() as usize)).unwrap();
                    let arguments = (cells.slice_mut(), input.slice(), found.slice_mut());
                    // SAFETY: CELLS cells per block, and an element per thread.
                    unsafe { launch(&device, &atomics::$shared, config, arguments) };
                    let (cells, found) = (cells.to_vec().unwrap(), found.to_vec().unwrap());
                    for (i, values) in values.chunks(block).enumerate() {
                        check(&device, block * i, values, &cells[CELLS * i..][..CELLS]);
                        check_chain(&device, values, &found[block * i..][..block]);
                    }
                }
            }
        )*};
    }

    integers! {
        integers_of_u32, u32, atomics_global_u32, atomics_shared_u32, |bits| bits as u32;
        integers_of_i32, i32, atomics_global_i32, atomics_shared_i32, |bits| bits as i32;
        integers_of_u64, u64, atomics_global_u64, atomics_shared_u64, |bits| bits;
        integers_of_i64, i64, atomics_global_i64, atomics_shared_i64, |bits| bits as i64;
    }

    macro_rules! floats {
        ($($name:ident, $type:ty, $global:ident, $shared:ident;)*) => {$(
            #[test]
            fn $name() {
                let block = 96;
                let count = block * blocks() as usize;
                // Positive multiples of 1/4 with a sum below 2²²: exact in any order.
                let values: Vec<$type> = random(16, count).iter().map(|bits| (bits % 4096 + 1) as $type / 4.0).collect();
                let check = |device: &Device, values: &[$type], found: &[$type], sum: $type| {
                    assert_eq!(sum, values.iter().sum::<$type>() + 0.5, "{device}");
                    let mut found = found.to_vec();
                    let mut left: Vec<$type> = values.iter().zip(&found).map(|(v, f)| f + v).collect();
                    left.push(0.5);
                    found.push(sum);
                    left.sort_by(<$type>::total_cmp);
                    found.sort_by(<$type>::total_cmp);
                    assert!(left == found, "{device}");
                };
                for device in with_kernels() {
                    let config = LaunchConfig::new(blocks(), block as u32);
                    let input = device.buffer_from(&values).unwrap();
                    let mut found = device.zeros::<$type>(count).unwrap();
                    let mut sum = device.buffer_from::<$type>(&[0.5]).unwrap();
                    let arguments = (sum.slice_mut(), input.slice(), found.slice_mut());
                    // SAFETY: an element, and one per thread.
                    unsafe { launch(&device, &atomics::$global, config, arguments) };
                    check(&device, &values, &found.to_vec().unwrap(), sum.to_vec().unwrap()[0]);

                    let mut sums = device.buffer_from::<$type>(&vec![0.5; blocks() as usize]).unwrap();
                    let arguments = (sums.slice_mut(), input.slice(), found.slice_mut());
                    // SAFETY: an element per block, and one per thread.
                    unsafe { launch(&device, &atomics::$shared, config, arguments) };
                    let (sums, found) = (sums.to_vec().unwrap(), found.to_vec().unwrap());
                    for (i, values) in values.chunks(block).enumerate() {
                        check(&device, values, &found[block * i..][..block], sums[i]);
                    }
                }
            }
        )*};
    }

    floats! {
        additions_of_f32, f32, add_global_f32, add_shared_f32;
        additions_of_f64, f64, add_global_f64, add_shared_f64;
    }
}

mod float {
    use super::*;
    use std::f64::consts::TAU;

    macro_rules! exact {
        ($($name:ident, $type:ident, $kernel:ident, $bits:ident, $random:expr;)*) => {$(
            #[test]
            fn $name() {
                let special = [
                    0.0, -0.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 3.5, 0.499_999_97, 1.0, -1.0,
                    8_388_607.5, 4_503_599_627_370_495.5, 1e30, -1e30,
                    $type::NAN, $type::INFINITY, $type::NEG_INFINITY, $type::MAX, $type::MIN,
                    $type::MIN_POSITIVE, $type::EPSILON, 1.0 + $type::EPSILON, 1.0 - $type::EPSILON / 2.0,
                    // Subnormal, the smallest and the largest.
                    $type::from_bits(1), -$type::from_bits(1), $type::from_bits($type::MIN_POSITIVE.to_bits() - 1),
                    $type::MIN_POSITIVE / 3.0,
                ];
                let mut operands = Vec::new();
                for a in special {
                    for b in special {
                        // c is what cancels the product, so that only the rounding is left.
                        operands.extend([[a, b, 1.0], [a, b, -(a * b)], [a, b, -0.0]]);
                    }
                }
                if small() {
                    operands.truncate(300);
                }
                let bits: fn(u64) -> $bits = $random;
                let draws: Vec<$type> = random(17, if small() { 300 } else { 9000 })
                    .into_iter()
                    .map(|draw| $type::from_bits(bits(draw)))
                    .collect();
                operands.extend(draws.chunks_exact(3).map(|draws| [draws[0], draws[1], draws[2]]));
                // Near 1, where no product overflows.
                operands.extend(random(18, 500).into_iter().map(|draw| {
                    let part = |shift: u32| 0.5 + (draw >> shift & 0xffff) as $type / 50_000.0;
                    [part(0), part(16), -part(32)]
                }));
                let expected: Vec<[$type; 8]> = operands
                    .iter()
                    .map(|&[a, b, c]| {
                        [a.mul_add(b, c), a.sqrt(), a.floor(), a.ceil(), a.trunc(), a.round_ties_even(), a * b + c, a / b]
                    })
                    .collect();
                operands.resize(operands.len().next_multiple_of(128), [1.0; 3]);
                for device in with_kernels() {
                    let input = device.buffer_from(&operands).unwrap();
                    let mut out = device.zeros::<[$type; 8]>(operands.len()).unwrap();
                    let config = LaunchConfig::new((operands.len() / 128) as u32, 128);
                    let arguments = (input.slice(), out.slice_mut());
                    // SAFETY: an element per thread.
                    unsafe { launch(&device, &floats::$kernel, config, arguments) };
                    let names = ["fma", "sqrt", "floor", "ceil", "trunc", "round_ties_even", "a * b + c", "a / b"];
                    for (i, found) in out.to_vec().unwrap().iter().take(expected.len()).enumerate() {
                        for ((name, found), expected) in names.iter().zip(found).zip(expected[i]) {
                            let same = found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
                            assert!(same, "{device}: {name} of {:?} is {found:?}, not {expected:?}", operands[i]);
                        }
                    }
                }
            }
        )*};
    }

    exact! {
        exact_functions_of_f32, f32, exact_f32, u32, |draw| draw as u32;
        exact_functions_of_f64, f64, exact_f64, u64, |draw| draw;
    }

    /// The approximations of `inputs` on every device.
    fn approximations(inputs: &[f32]) -> Vec<(Device, Vec<[f32; 5]>)> {
        with_kernels()
            .map(|device| {
                let mut padded = inputs.to_vec();
                padded.resize(inputs.len().next_multiple_of(128), 1.0);
                let input = device.buffer_from(&padded).unwrap();
                let mut out = device.zeros::<[f32; 5]>(padded.len()).unwrap();
                let config = LaunchConfig::new((padded.len() / 128) as u32, 128);
                let arguments = (input.slice(), out.slice_mut());
                // SAFETY: an element per thread.
                unsafe { launch(&device, &floats::approximate, config, arguments) };
                let mut results = out.to_vec().unwrap();
                results.truncate(inputs.len());
                (device, results)
            })
            .collect()
    }

    /// The bounds that the functions document. The reference has an error of at most an ulp of
    /// `f64`, 2⁻⁵² relative, which `slack` covers.
    #[test]
    fn approximations_keep_their_bounds() {
        let slack = 1.0 + 1e-6;
        let per = if small() { 40 } else { 2000 };
        let mut inputs = Vec::new();
        // Positive numbers of all exponents, subnormal ones too.
        inputs.extend(
            random(19, per)
                .iter()
                .map(|&draw| f32::from_bits(draw as u32 % 0x7f80_0000)),
        );
        // Between −150 and 130, where 2ˣ is anything from 0 to infinity.
        inputs.extend(
            random(20, per)
                .iter()
                .map(|&draw| (draw % 280_000) as f32 / 1000.0 - 150.0),
        );
        // Close to 1 and in (1/2, 2); within ±2π and ±100π.
        inputs.extend(
            random(21, per)
                .iter()
                .map(|&draw| 1.0 + (draw as i64 >> 32) as f32 * 1e-14),
        );
        inputs.extend(
            random(22, per)
                .iter()
                .map(|&draw| 0.5 + (draw % 1_500_000) as f32 * 1e-6),
        );
        inputs.extend(
            random(23, per)
                .iter()
                .map(|&draw| (draw as i64 as f64 / 2f64.powi(63) * TAU * 0.999_999) as f32),
        );
        inputs.extend(
            random(24, per)
                .iter()
                .map(|&draw| (draw as i64 as f64 / 2f64.powi(63) * 50.0 * TAU * 0.999_999) as f32),
        );
        for (device, results) in approximations(&inputs) {
            for (&x, [rsqrt, exp2, log2, sin, cos]) in inputs.iter().zip(results) {
                let wide = f64::from(x);
                let near = |name: &str, found: f32, exact: f64, bound: f64| {
                    let error = (f64::from(found) - exact).abs();
                    assert!(
                        error <= bound * slack,
                        "{device}: {name} of {x:e} is {found:e}, {error:e} off, more than {bound:e}"
                    );
                };
                if x > 0.0 {
                    let exact = 1.0 / wide.sqrt();
                    near("rsqrt", rsqrt, exact, exact * 2f64.powf(-22.9));
                    let exact = wide.log2();
                    let scale = if 0.5 < x && x < 2.0 { 1.0 } else { exact.abs() };
                    near("log2", log2, exact, scale * 2f64.powi(-22));
                }
                let exact = wide.exp2();
                if exact < 2f64.powi(128) * (1.0 - 2f64.powi(-22)) {
                    // An ulp of a float in [2^e, 2^(e+1)) is 2^(e−23), and 2⁻¹⁴⁹ at least.
                    let ulp = 2f64.powf((wide.floor() - 23.0).max(-149.0));
                    near("exp2", exp2, exact, 2.0 * ulp);
                } else if exact > 2f64.powi(128) * (1.0 + 2f64.powi(-22)) {
                    assert_eq!(exp2, f32::INFINITY, "{device}: {x}");
                }
                let bound = match wide.abs() {
                    small if small <= TAU => 2f64.powf(-20.5),
                    large if large <= 50.0 * TAU => 2f64.powf(-14.7),
                    _ => continue,
                };
                near("sin", sin, wide.sin(), bound);
                near("cos", cos, wide.cos(), bound);
            }
        }
    }

    #[test]
    fn approximations_have_the_limits_that_they_should() {
        let (nan, infinity) = (f32::NAN, f32::INFINITY);
        let cases = [
            // x, then 1 / √x, 2ˣ, log₂ x, sin x, cos x.
            (0.0, [infinity, 1.0, -infinity, 0.0, 1.0]),
            (-0.0, [-infinity, 1.0, -infinity, -0.0, 1.0]),
            (infinity, [0.0, infinity, infinity, nan, nan]),
            (-infinity, [nan, 0.0, nan, nan, nan]),
            (nan, [nan; 5]),
        ];
        let inputs = cases.map(|(x, _)| x);
        for (device, results) in approximations(&inputs) {
            for ((x, expected), found) in cases.iter().zip(results) {
                let same = found.iter().zip(expected).all(|(found, expected)| {
                    found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan()
                });
                assert!(
                    same,
                    "{device}: {found:?} in place of {expected:?} for {x:?}"
                );
            }
        }
        for (device, results) in approximations(&[1.0, 4.0, -1.0]) {
            assert_eq!((results[0][0], results[1][0]), (1.0, 0.5), "{device}");
            assert_eq!(
                (results[0][1], results[1][1], results[2][1]),
                (2.0, 16.0, 0.5),
                "{device}"
            );
            assert_eq!((results[0][2], results[1][2]), (0.0, 2.0), "{device}");
            assert!(results[2][0].is_nan() && results[2][2].is_nan(), "{device}");
        }
    }
}

mod slice {
    use super::*;

    #[test]
    fn reads_find_every_element_and_the_end() {
        for device in with_kernels() {
            for (len, block) in [(0_usize, 1), (1, 2), (63, 64), (100, 128)] {
                let input = random_u32(25, len);
                let values = device.buffer_from(&input).unwrap();
                let empty = device.buffer_from::<u32>(&[]).unwrap();
                let mut out = device.zeros::<[u64; slices::READS]>(block).unwrap();
                let arguments = (values.slice(), empty.slice(), out.slice_mut());
                let config = LaunchConfig::new(1, block as u32);
                // SAFETY: an element per thread, more than `len`.
                unsafe { launch(&device, &slices::read_slice, config, arguments) };
                for (i, found) in out.to_vec().unwrap().into_iter().enumerate() {
                    let value = input.get(i).copied().map_or(0, u64::from);
                    let within = |len: usize| if i < len { value } else { u64::MAX };
                    let expected = [
                        value,
                        value,
                        within(len),
                        within(len / 2),
                        u64::MAX,
                        u64::from(i < len),
                        len as u64,
                        u64::from(len == 0),
                        0,
                        1,
                    ];
                    assert_eq!(found, expected, "{device}, element {i} of {len}");
                }
            }
        }
    }

    #[test]
    fn writes_reach_every_element() {
        for device in with_kernels() {
            for len in [1, 64, 1000] {
                let input: Vec<u32> = random_u32(26, len)
                    .iter()
                    .map(|value| value % 1000)
                    .collect();
                let mut data = device.buffer_from(&input).unwrap();
                let mut empty = device.zeros::<u32>(0).unwrap();
                let mut lengths = device.zeros::<u64>(4).unwrap();
                let arguments = (data.slice_mut(), empty.slice_mut(), lengths.slice_mut());
                // SAFETY: not empty, empty, and four elements.
                unsafe {
                    launch(
                        &device,
                        &slices::write_slice,
                        LaunchConfig::for_len(len, 128),
                        arguments,
                    )
                };
                let expected: Vec<u32> = input.iter().map(|v| 3 * (2 * v + 1001)).collect();
                assert_eq!(data.to_vec().unwrap(), expected, "{device}");
                assert_eq!(lengths.to_vec().unwrap(), [len as u64, 0, 0, 1], "{device}");
            }
        }
    }

    #[test]
    fn elements_have_their_width() {
        let draws = random(27, 128);
        let bytes: Vec<i8> = draws.iter().map(|&draw| draw as i8).collect();
        let shorts: Vec<u16> = draws.iter().map(|&draw| (draw >> 8) as u16).collect();
        let doubles: Vec<f64> = draws.iter().map(|&draw| draw as i64 as f64 * 1.1).collect();
        for device in with_kernels() {
            let inputs = (
                device.buffer_from(&bytes).unwrap(),
                device.buffer_from(&shorts).unwrap(),
                device.buffer_from(&doubles).unwrap(),
            );
            let mut short_out = device.zeros::<i16>(128).unwrap();
            let mut byte_out = device.zeros::<u8>(128).unwrap();
            let mut single_out = device.zeros::<f32>(128).unwrap();
            let arguments = (
                inputs.0.slice(),
                inputs.1.slice(),
                inputs.2.slice(),
                short_out.slice_mut(),
                byte_out.slice_mut(),
                single_out.slice_mut(),
            );
            // SAFETY: an element per thread.
            unsafe {
                launch(
                    &device,
                    &slices::element_widths,
                    LaunchConfig::new(2, 64),
                    arguments,
                )
            };
            let expected: Vec<i16> = bytes.iter().map(|&v| 3 * i16::from(v)).collect();
            assert_eq!(short_out.to_vec().unwrap(), expected, "{device}");
            let expected: Vec<u8> = shorts.iter().map(|&v| (v >> 4) as u8).collect();
            assert_eq!(byte_out.to_vec().unwrap(), expected, "{device}");
            let expected: Vec<f32> = doubles.iter().map(|&v| v as f32).collect();
            assert_eq!(single_out.to_vec().unwrap(), expected, "{device}");
        }
    }
}

mod parameters {
    use super::*;
    use cuda_std_tests_kernels::launches::{Aligned, Bytes, Mixed, Nested, Single, Table};

    #[test]
    fn a_kernel_needs_no_parameters() {
        for device in with_kernels() {
            // SAFETY: it does nothing.
            unsafe { launch(&device, &launches::nothing, LaunchConfig::new(3, 40), ()) };
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
            // SAFETY: there are 12 elements.
            unsafe {
                launch(
                    &device,
                    &launches::scalars,
                    LaunchConfig::new(1, 32),
                    arguments,
                )
            };
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

    #[test]
    fn twenty_four_parameters_arrive() {
        for device in with_kernels() {
            let mut out = device.zeros::<[u64; 23]>(1).unwrap();
            let wide = 0xf0f1_f2f3_f4f5_f6f7;
            let arguments = (
                1,
                wide + 2,
                3,
                4,
                0xf005,
                6,
                0xf000_0007,
                8,
                wide + 9,
                0xf00a,
                0xf00b,
                wide + 12,
                13,
                14,
                15,
                0xf000_0010,
                17,
                wide as usize + 18,
                0xf000_0013,
                0xf014,
                21,
                wide + 22,
                23,
                out.slice_mut(),
            );
            // SAFETY: an element.
            unsafe { launch(&device, &launches::many, LaunchConfig::new(1, 1), arguments) };
            let expected = [
                1,
                wide + 2,
                3,
                4,
                0xf005,
                6,
                0xf000_0007,
                8,
                wide + 9,
                0xf00a,
                0xf00b,
                wide + 12,
                13,
                14,
                15,
                0xf000_0010,
                17,
                wide + 18,
                0xf000_0013,
                0xf014,
                21,
                wide + 22,
                23,
            ];
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
            // SAFETY: an element, and 13.
            unsafe {
                launch(
                    &device,
                    &launches::structs,
                    LaunchConfig::new(1, 1),
                    arguments,
                )
            };
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
            // SAFETY: an element per thread.
            unsafe {
                launch(
                    &device,
                    &launches::table,
                    LaunchConfig::new(2, 50),
                    arguments,
                )
            };
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
            let arguments = (
                source.slice().as_ptr(),
                target.slice_mut().as_mut_ptr(),
                300,
            );
            // SAFETY: both have 300 elements.
            unsafe {
                launch(
                    &device,
                    &launches::raw_pointers,
                    LaunchConfig::new(2, 64),
                    arguments,
                )
            };
            assert_eq!(target.to_vec().unwrap(), input, "{device}");
        }
    }

    /// Launches on counters of blocks.
    fn counts(
        device: &Device,
        kernel: &Kernel<(cuda_std::DeviceSliceMut<u32>,)>,
        config: LaunchConfig,
    ) -> gridstride::Result<Vec<u32>> {
        let mut counts: Buffer<u32> = device.zeros(config.grid.x as usize)?;
        // SAFETY: an element per block.
        unsafe { device.launch(&MODULE, kernel, config, (counts.slice_mut(),)) }?;
        counts.to_vec()
    }

    #[test]
    fn bounds_admit_what_they_say() {
        for device in with_kernels() {
            let exact =
                |block| counts(&device, &launches::exact_block, LaunchConfig::new(5, block));
            assert_eq!(exact((4, 2, 3)).unwrap(), [24; 5], "{device}");
            for other in [(24, 1, 1), (4, 3, 2), (4, 2, 2)] {
                let error = exact(other).unwrap_err().to_string();
                assert!(error.contains("blocks of (4, 2, 3) alone"), "{error}");
            }
            let bounded = |block| {
                counts(
                    &device,
                    &launches::bounded_block,
                    LaunchConfig::new(3, block),
                )
            };
            for (block, threads) in [
                ((128, 1, 1), 128),
                ((8, 4, 4), 128),
                ((1, 127, 1), 127),
                ((1, 1, 1), 1),
            ] {
                assert_eq!(bounded(block).unwrap(), [threads; 3], "{device}");
            }
            let error = bounded((129, 1, 1)).unwrap_err().to_string();
            assert!(error.contains("more than the 128 threads"), "{error}");
        }
    }

    #[test]
    fn panics_that_do_not_happen_change_nothing() {
        for device in with_kernels() {
            let input = random_u32(29, 500)
                .iter()
                .map(|value| value % 1000)
                .collect::<Vec<_>>();
            let mut values = device.buffer_from(&input).unwrap();
            let arguments = (1000, values.slice_mut());
            // SAFETY: the slice is valid.
            unsafe {
                launch(
                    &device,
                    &launches::panics_at,
                    LaunchConfig::new(2, 64),
                    arguments,
                )
            };
            let expected: Vec<u32> = input.iter().map(|value| value + 1).collect();
            assert_eq!(values.to_vec().unwrap(), expected, "{device}");
        }
    }

    /// In the simulator alone: a trap leaves CUDA's context, which the other tests share, useless.
    #[test]
    fn a_panic_names_its_thread() {
        let device = simulator();
        let mut values = device.buffer_from(&[3_u32, 4, 5, 6]).unwrap();
        let arguments = (5, values.slice_mut());
        // SAFETY: the slice is valid.
        let launched = unsafe {
            device.launch(
                &MODULE,
                &launches::panics_at,
                LaunchConfig::new(1, 4),
                arguments,
            )
        };
        let message = launched.unwrap_err().to_string();
        assert!(
            message.contains("panics_at")
                && message.contains("5 is forbidden")
                && message.contains("(2, 0, 0)"),
            "{message}"
        );
    }
}
