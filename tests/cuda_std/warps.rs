//! Operations among the lanes of a warp.

use super::*;

const LEN: usize = 64;

/// The thread that each shuffle reads from, for thread `i`.
fn sources(i: usize, argument: usize) -> [usize; 8] {
    let (lane, first) = (i % 32, i - i % 32);
    let (in_half, first_of_half) = (lane % 16, i - i % 16);
    let (by, in_half_by) = (argument % 32, argument % 16);
    [
        first + (7 * lane + argument) % 32,
        i - if lane >= by { by } else { 0 },
        i + if lane + by < 32 { by } else { 0 },
        first + (lane ^ by),
        first_of_half + (in_half + argument) % 16,
        i - if in_half >= in_half_by { in_half_by } else { 0 },
        i + if in_half + in_half_by < 16 {
            in_half_by
        } else {
            0
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
                let (low, high) = lanes.split_at(lanes.len() / 2);
                lanes = low.iter().zip(high).map(|(a, b)| combine(*a, *b)).collect();
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
                        unsafe { launch(&device, &kernels::warps::$shuffles, config, arguments) };
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
                    unsafe { launch(&device, &kernels::warps::$reductions, config, arguments) };
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

/// The bytes of numbers. Comparing them tells −0 from 0 and finds a NaN equal to itself.
fn bits<T: Bits>(values: &[T]) -> Vec<Vec<u8>> {
    values.iter().map(|value| value.bits()).collect()
}

trait Bits: Copy {
    fn bits(self) -> Vec<u8>;
}

macro_rules! bits {
    ($($type:ty)*) => {$(
        impl Bits for $type {
            fn bits(self) -> Vec<u8> {
                self.to_ne_bytes().to_vec()
            }
        }
    )*};
}
bits! { u32 i32 u64 i64 f32 f64 }

/// The smaller or larger of two numbers: −0 is below 0, and NaN is chosen only over NaN.
macro_rules! ordered {
    ($name:ident, $type:ident, $is_first:ident) => {
        fn $name(a: $type, b: $type) -> $type {
            match (a.is_nan(), b.is_nan()) {
                (true, _) => b,
                (_, true) => a,
                _ if a.total_cmp(&b).$is_first() => a,
                _ => b,
            }
        }
    };
}
ordered!(smaller_f32, f32, is_le);
ordered!(larger_f32, f32, is_ge);
ordered!(smaller_f64, f64, is_le);
ordered!(larger_f64, f64, is_ge);

/// Numbers that round when added; then zeros of both signs; then NaN in most lanes, and in all
/// of the second warp.
fn doubles() -> [Vec<f64>; 3] {
    let numbers = random(5, LEN).into_iter();
    let numbers: Vec<f64> = numbers.map(|bits| bits as i64 as f64 / 3e9).collect();
    let sign = |i: usize| if i.is_multiple_of(3) { 0.0 } else { -0.0 };
    let some = |i: usize| match i % 7 {
        3 if i < 32 => numbers[i],
        _ => f64::NAN,
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

/// Runs a kernel of blocks of 64 on `input` in place, on every device.
#[track_caller]
fn check_in_place(
    kernel: &Kernel<(cuda_std::DeviceSliceMut<u32>,)>,
    input: &[u32],
    expected: &[u32],
) {
    let config = LaunchConfig::new((input.len() / LEN) as u32, LEN as u32);
    for device in with_kernels() {
        let mut data = device.buffer_from(input).unwrap();
        // SAFETY: an element per thread.
        unsafe { launch(&device, kernel, config, (data.slice_mut(),)) };
        assert_eq!(data.to_vec().unwrap(), expected, "{device}");
    }
}

#[test]
fn any_operation_reduces() {
    let input = random_u32(10, LEN * blocks() as usize);
    let product = |warp: &[u32]| [warp.iter().fold(1, |all: u32, &v| all.wrapping_mul(v)); 32];
    let expected: Vec<u32> = input.chunks(32).flat_map(product).collect();
    check_in_place(&kernels::warps::products, &input, &expected);
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
        let input: Vec<u32> = random_u32(11, count).iter().map(|v| v % kinds).collect();
        for device in with_kernels() {
            let values = device.buffer_from(&input).unwrap();
            let mut out = device.zeros::<[u32; 8]>(count).unwrap();
            let config = LaunchConfig::new(blocks(), block as u32);
            let arguments = (values.slice(), limit, out.slice_mut());
            // SAFETY: an element per thread.
            unsafe { launch(&device, &kernels::warps::votes, config, arguments) };
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
                let found = &found[i][..];
                assert_eq!(found, expected, "{device}, block {block}, thread {i}");
            }
        }
    }
}

#[test]
fn lanes_in_two_branches_do_not_mix() {
    let input = random_u32(12, LEN * blocks() as usize);
    let ballot = |i: usize, divisor| -> u32 {
        (0..32)
            .filter(|lane| lane % 2 == i % 2 && input[i - i % 32 + lane].is_multiple_of(divisor))
            .map(|lane| 1 << lane)
            .sum()
    };
    let expected: Vec<u32> = (0..input.len())
        .map(|i| match i % 2 {
            0 => ballot(i, 3) ^ input[i ^ 2],
            _ => ballot(i, 5) ^ input[i ^ 4],
        })
        .collect();
    check_in_place(&kernels::warps::divergent_halves, &input, &expected);
}

#[test]
fn a_ballot_is_a_mask() {
    let input = random_u32(13, LEN * blocks() as usize);
    let expected: Vec<u32> = (0..input.len())
        .map(|i| {
            let warp = &input[i - i % 32..][..32];
            let first = warp.iter().find(|&value| value % 2 == 1);
            match input[i] % 2 {
                1 => *first.unwrap(),
                _ => input[i],
            }
        })
        .collect();
    check_in_place(&kernels::warps::first_odd, &input, &expected);
}

#[test]
fn a_warp_synchronises_without_its_block() {
    let input = random_u32(14, LEN * blocks() as usize);
    let expected: Vec<u32> = (0..input.len())
        .map(|i| input[i ^ 15 ^ 31].wrapping_mul(3))
        .collect();
    check_in_place(&kernels::warps::warp_exchange, &input, &expected);
}
