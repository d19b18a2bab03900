//! Matrix instructions of a warp and of a warp group.

use super::*;
use common::gamma;
use cuda_std_tests_kernels::{groups, matrices};
use gridstride::Number;
use gridstride::device::Element;

/// A kind of number that the instructions take.
struct Numbers<T> {
    /// The bits of a number that has them.
    encode: fn(f64) -> T,
    /// Binary digits behind the first one.
    digits: u32,
}

const F64: Numbers<f64> = Numbers {
    encode: |number| number,
    digits: 52,
};
/// The lower bits, which do not count, are not zero.
const TF32: Numbers<u32> = Numbers {
    encode: |number| (number as f32).to_bits() | 0x1abc,
    digits: 10,
};
const F16: Numbers<u16> = Numbers {
    encode: |number| half(number, 10, 15),
    digits: 10,
};
const BF16: Numbers<u16> = Numbers {
    encode: |number| half(number, 7, 127),
    digits: 7,
};

/// The upper bits of a number with `digits` behind the first one, with the exponent of 1 given.
fn half(number: f64, digits: u32, exponent_of_one: u64) -> u16 {
    let bits = number.to_bits();
    let sign = (bits >> 63) << 15;
    if number == 0.0 {
        return sign as u16;
    }
    let exponent = (bits >> 52 & 0x7ff) + exponent_of_one - 1023;
    let fraction = (bits & ((1 << 52) - 1)) >> (52 - digits);
    (sign | exponent << digits | fraction) as u16
}

/// Whole numbers, whose sums are exact.
fn integers(seed: u64, count: usize) -> Vec<f64> {
    let numbers = random(seed, count).into_iter();
    numbers.map(|bits| (bits % 17) as f64 - 8.0).collect()
}

/// Numbers of all digits, of magnitudes from 1/32 to 64.
fn reals(seed: u64, count: usize, digits: u32) -> Vec<f64> {
    let number = |bits: u64| {
        let fraction = bits >> (64 - digits);
        let magnitude = 1.0 + fraction as f64 / (1_u64 << digits) as f64;
        let scale = 2f64.powi((bits % 11) as i32 - 5);
        let sign = if bits >> 8 & 1 == 1 { -1.0 } else { 1.0 };
        sign * magnitude * scale
    };
    random(seed, count).into_iter().map(number).collect()
}

/// A product's shape.
#[derive(Clone, Copy)]
struct Shape {
    rows: usize,
    columns: usize,
    k: usize,
    /// Whether B is given column by column.
    by_columns: bool,
}

impl Shape {
    /// D and the sum of the absolute values that are added for each element of A·B + D.
    fn product(&self, a: &[f64], b: &[f64], d: &[f64]) -> Vec<(f64, f64)> {
        let Shape { columns, k, .. } = *self;
        let element = |i: usize| {
            let (row, column) = (i / columns, i % columns);
            (0..k).fold((d[i], d[i].abs()), |(sum, absolute), l| {
                let of_b = match self.by_columns {
                    true => column * k + l,
                    false => l * columns + column,
                };
                let product = a[row * k + l] * b[of_b];
                (sum + product, absolute + product.abs())
            })
        };
        (0..self.rows * columns).map(element).collect()
    }
}

/// The type of the sums.
trait Sum: Number {
    /// The most that one operation changes a sum by, relative to it. f32 may be cut, not rounded.
    const UNIT: f64;
}

impl Sum for f64 {
    const UNIT: f64 = f64::EPSILON / 2.0;
}

impl Sum for f32 {
    const UNIT: f64 = f32::EPSILON as f64;
}

/// Lets `run` multiply `count` pairs of matrices, and compares.
fn check<T: Element, D: Sum>(
    device: &Device,
    numbers: &Numbers<T>,
    shape: Shape,
    count: usize,
    run: impl Fn(&Buffer<T>, &Buffer<T>, &mut Buffer<D>),
) {
    let Shape { rows, columns, .. } = shape;
    let k = shape.k;
    let lengths = [rows * k, k * columns, rows * columns];
    for exact in [true, false] {
        let make = |seed: u64, length: usize, digits| match exact {
            true => integers(seed, count * length),
            false => reals(seed, count * length, digits),
        };
        let a = make(50, lengths[0], numbers.digits);
        let b = make(51, lengths[1], numbers.digits);
        // So few digits that f32 has them.
        let d = make(52, lengths[2], 20);
        let upload = |values: &[f64]| {
            let encoded = values.iter().map(|&value| (numbers.encode)(value));
            device.buffer_from(&encoded.collect::<Vec<T>>()).unwrap()
        };
        let encoded: Vec<D> = d.iter().map(|&value| D::from_f64(value)).collect();
        let mut out = device.buffer_from(&encoded).unwrap();
        run(&upload(&a), &upload(&b), &mut out);
        let out = out.to_vec().unwrap();
        // An instruction adds some products at a time to the sum: each product is rounded or cut
        // once, the sum once with them and once after it. With at least one product at a time these
        // are 3·k errors, of numbers that are not above the sum of absolute values. The expected
        // sum has 2·k of f64.
        let bound = match exact {
            true => 0.0,
            false => gamma(3 * k, D::UNIT) + gamma(2 * k, f64::UNIT),
        };
        for block in 0..count {
            let of = |matrix: &'_ [f64], length| matrix[block * length..][..length].to_vec();
            let (a, b, d) = (of(&a, lengths[0]), of(&b, lengths[1]), of(&d, lengths[2]));
            let expected = shape.product(&a, &b, &d).into_iter();
            for (i, (expected, absolute)) in expected.enumerate() {
                let read = out[block * lengths[2] + i].to_f64();
                assert!(
                    (read - expected).abs() <= bound * absolute,
                    "{device}, product {block}, row {}, column {}: {read} in place of {expected}",
                    i / columns,
                    i % columns
                );
            }
        }
    }
}

macro_rules! products {
    ($($kernel:ident, $numbers:expr, $sum:ty, $rows:literal $k:literal, $has:expr;)*) => {$(
        #[test]
        fn $kernel() {
            let count = blocks() as usize;
            let shape = Shape { rows: $rows, columns: 8, k: $k, by_columns: false };
            for device in with_capability($has) {
                check::<_, $sum>(&device, &$numbers, shape, count, |a, b, d| {
                    let config = LaunchConfig::new(blocks(), 32);
                    let arguments = (a.slice(), b.slice(), d.slice_mut());
                    // SAFETY: each block has its matrices.
                    unsafe { launch(&device, &matrices::$kernel, config, arguments) };
                });
            }
        }
    )*};
}

products! {
    product_8_8_4_f64, F64, f64, 8 4, |it| it >= (8, 0);
    // The image for 9.0 alone has these.
    product_16_8_4_f64, F64, f64, 16 4, |it| it == (9, 0);
    product_16_8_8_f64, F64, f64, 16 8, |it| it == (9, 0);
    product_16_8_8_tf32, TF32, f32, 16 8, |it| it >= (8, 0);
    product_16_8_16_f16, F16, f32, 16 16, |it| it >= (8, 0);
    product_16_8_16_bf16, BF16, f32, 16 16, |it| it >= (8, 0);
}

#[test]
fn tiles_come_as_they_are_or_transposed() {
    let words = random_u32(53, 128);
    let rows: Vec<[u32; 4]> = words.as_chunks().0.to_vec();
    let element = |tile: usize, row: usize, column: usize| {
        rows[8 * tile + row][column / 2] >> (column % 2 * 16) & 0xffff
    };
    for device in with_capability(|it| it >= (8, 0)) {
        let tiles = device.buffer_from(&rows).unwrap();
        for transposed in [false, true] {
            let kernel = match transposed {
                true => &matrices::tiles_transposed,
                false => &matrices::tiles_plain,
            };
            let mut out = device.zeros::<[u32; 4]>(32).unwrap();
            let config = LaunchConfig::new(1, 32).with_shared_bytes(512);
            // SAFETY: 32 rows, and shared memory for them.
            unsafe { launch(&device, kernel, config, (tiles.slice(), out.slice_mut())) };
            for (lane, read) in out.to_vec().unwrap().into_iter().enumerate() {
                let (g, t) = (lane / 4, lane % 4);
                let expected = std::array::from_fn(|tile| {
                    let [low, high] = [2 * t, 2 * t + 1].map(|other| {
                        if transposed {
                            element(tile, other, g)
                        } else {
                            element(tile, g, other)
                        }
                    });
                    high << 16 | low
                });
                assert_eq!(
                    read, expected,
                    "{device}, lane {lane}, transposed: {transposed}"
                );
            }
        }
    }
}

macro_rules! wide_products {
    ($($kernel:ident, $numbers:expr, $columns:literal;)*) => {$(
        #[test]
        fn $kernel() {
            let size = size_of_encoded(&$numbers);
            let k = groups::K_BYTES / size;
            let shape = Shape { rows: groups::ROWS, columns: $columns, k, by_columns: true };
            for device in with_capability(|it| it == (9, 0)) {
                check::<_, f32>(&device, &$numbers, shape, 1, |a, b, d| {
                    let bytes = (groups::ROWS + $columns) * groups::K_BYTES;
                    let config = LaunchConfig::new(1, groups::BLOCK).with_shared_bytes(bytes as u32);
                    let arguments = (a.slice(), b.slice(), d.slice_mut());
                    // SAFETY: the matrices have the kernel's shape, and shared memory has room for
                    // two.
                    unsafe { launch(&device, &groups::$kernel, config, arguments) };
                });
            }
        }
    )*};
}

fn size_of_encoded<T>(_: &Numbers<T>) -> usize {
    size_of::<T>()
}

wide_products! {
    wide_64_f16_rows_rows, F16, 64;
    wide_64_bf16_across_across, BF16, 64;
    wide_64_tf32, TF32, 64;
    wide_128_f16_rows_rows, F16, 128;
    wide_128_f16_rows_across, F16, 128;
    wide_128_f16_across_rows, F16, 128;
    wide_128_f16_across_across, F16, 128;
    wide_128_bf16_rows_rows, BF16, 128;
    wide_128_bf16_across_across, BF16, 128;
    wide_128_tf32, TF32, 128;
    wide_256_f16_rows_rows, F16, 256;
    wide_256_f16_across_across, F16, 256;
    wide_256_bf16_rows_rows, BF16, 256;
    wide_256_bf16_rows_across, BF16, 256;
    wide_256_bf16_across_rows, BF16, 256;
    wide_256_bf16_across_across, BF16, 256;
    wide_256_tf32, TF32, 256;
}

#[test]
fn rounded_pairs() {
    let ties = [
        1.0f32 + 1.0 / 2048.0,
        1.0 + 3.0 / 2048.0,
        1.0 + 1.0 / 256.0,
        65519.996,
        65520.0,
        3.4e38,
        6e-8,
        2.98e-8,
    ];
    let special = [
        0.0f32,
        -0.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        1e-40,
        -1e-5,
    ];
    let random = random_u32(52, 4000).into_iter().map(f32::from_bits);
    let mut numbers: Vec<f32> = ties.into_iter().chain(special).chain(random).collect();
    numbers.push(0.0);
    let (input, rest) = numbers.as_chunks::<2>();
    assert!(rest.is_empty());
    let bits = |number: f32| match number.is_nan() {
        true => [0x7fff; 2],
        false => [
            half::f16::from_f32(number).to_bits(),
            half::bf16::from_f32(number).to_bits(),
        ],
    };
    for device in with_capability(|capability| capability >= (8, 0)) {
        let values = device.buffer_from(input).unwrap();
        let mut pairs = device.zeros::<[u32; 2]>(input.len()).unwrap();
        let config = LaunchConfig::for_len(input.len(), 128);
        // SAFETY: a pair for each pair.
        unsafe {
            launch(
                &device,
                &matrices::rounded_pairs,
                config,
                (values.slice(), pairs.slice_mut()),
            )
        };
        for (&[first, second], pair) in input.iter().zip(pairs.to_vec().unwrap()) {
            let (first, second) = (bits(first), bits(second));
            let expected = [0, 1].map(|i| u32::from(second[i]) << 16 | u32::from(first[i]));
            assert_eq!(pair, expected, "{device}");
        }
    }
}
