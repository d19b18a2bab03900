//! Products of `f32` as sums of products of `bf16`: what their terms are, and what is lost.

use gridstride::device::LaunchConfig;
use gridstride::matmul::{Instructions, MatMul, Precision};
use gridstride::{Device, Error};
use half::bf16;
use matmul_kernels::{SECTIONS, SPLIT_THREADS, Splitting, split_blocks, split_f32};
use ndarray::{Array2, Array3, ArrayView2, Axis, s};

use super::calls::check_layouts;
use super::kernels::{Layout, MODULE, length, place};
use super::tiles::has;
use super::{check, check_product, factors, for_sizes, has_instructions, random};
use test_support::{Random, assert_error, devices, is_slow, with_kernels};

const EMULATED: Precision = Precision::F32ByBf16x6;

/// Emulation by the instructions that the device chooses, and by those of warp groups, which sum
/// the products of all sections in one launch.
fn emulations(device: &Device) -> impl Iterator<Item = MatMul> {
    let asked = [Instructions::Auto, Instructions::WarpGroup];
    let with = asked.map(|asked| MatMul::new().precision(EMULATED).instructions(asked));
    (with.into_iter()).filter(move |&with| has_instructions(device, with))
}

/// Any bits of an `f32`: also NaN, infinities, and numbers below the normal ones.
fn any(index: usize) -> f32 {
    let special = [
        0,
        0x8000_0000,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0001,
        1,
        0x7f7f_ffff,
        0x7f7f_8000,
    ];
    let bits = special.get(index).copied();
    f32::from_bits(bits.unwrap_or((index as u32).wrapping_mul(0x9e37_79b9)))
}

/// The four sections' elements for a number, by the definition.
fn terms(number: f32) -> [bf16; SECTIONS] {
    if !number.is_finite() {
        return [bf16::from_f32(number), bf16::ZERO, bf16::ZERO, bf16::ZERO];
    }
    let nearest = |x: f32| bf16::from_f32(x).clamp(bf16::MIN, bf16::MAX);
    // All differences are exact.
    let first = nearest(number);
    let rest = number - f32::from(first);
    let second = nearest(rest);
    let third = nearest(rest - f32::from(second));
    [first, first, second, third]
}

/// Whether two numbers are equal, or both NaN; zeros may differ in their sign.
fn is_same(found: bf16, expected: bf16) -> bool {
    found == expected || found.is_nan() && expected.is_nan()
}

fn check_splitting(
    device: &Device,
    [outer, k, batch]: [usize; 3],
    layout: Layout,
    flags: [bool; 2],
) {
    let [is_across, is_left] = flags;
    let numbers: Vec<f32> = (0..length(layout, [batch, outer, k])).map(any).collect();
    let bits: Vec<u32> = numbers.iter().map(|number| number.to_bits()).collect();
    let from = device.buffer_from(&bits).unwrap();
    // More than are there, in both directions.
    let section = k.next_multiple_of(8);
    let [lengths, padded] = match is_across {
        false => [[k, outer], [section, outer]],
        true => [[outer, k], [outer.next_multiple_of(8), section]],
    };
    let [neighbours, rows] = padded;
    let (row, next, matrix) = (neighbours, neighbours * rows, SECTIONS * neighbours * rows);
    let mut to = device.buffer_from(&vec![7u16; batch * matrix]).unwrap();
    let [start, stride, stride_k, stride_batch] = layout;
    let task = Splitting {
        from: from.slice(),
        start,
        strides: match is_across {
            false => [stride_k, stride, stride_batch],
            true => [stride, stride_k, stride_batch],
        },
        to: to.slice_mut(),
        to_strides: [row, next, matrix].map(|stride| stride as u64),
        lengths: lengths.map(|length| length as u32),
        padded: padded.map(|length| length as u32),
        is_reversed: u32::from(is_left),
    };
    let config = LaunchConfig::new((split_blocks(task.padded), 1, batch as u32), SPLIT_THREADS);
    // SAFETY: the buffers are those of the task.
    unsafe { device.launch(&MODULE, &split_f32, config, (task,)) }.unwrap();
    for (index, bits) in to.to_vec().unwrap().into_iter().enumerate() {
        let (near, far) = (index % neighbours, index / neighbours % rows);
        let (number, b) = (index / next % SECTIONS, index / matrix);
        let (o, l) = if is_across { (near, far) } else { (far, near) };
        let number = if is_left {
            SECTIONS - 1 - number
        } else {
            number
        };
        let expected = match o < outer && l < k {
            true => terms(numbers[place(layout, b, o, l)])[number],
            false => bf16::ZERO,
        };
        let found = bf16::from_bits(bits);
        assert!(
            is_same(found, expected),
            "{device} {layout:?} {flags:?}: {b}, {o}, {l}, {number}: {found} instead of {expected}"
        );
    }
}

#[test]
fn numbers_are_split_into_terms() {
    for device in with_kernels().filter(|device| has(device, (8, 0))) {
        for sizes in [[1usize, 1, 1], [40, 300, 2], [264, 33, 1], [33, 8, 3]] {
            // Lengths, and multiples of 16 bytes above them.
            let [outer, k, _] = sizes.map(|size| size as i64);
            let [outer_16, k_16, _] = sizes.map(|size| size.next_multiple_of(4) as i64 + 4);
            for layout in [
                [0, k, 1, outer * k],
                [4, k_16, 1, outer * k_16],
                [3, 1, outer + 2, k * (outer + 2) + 1],
                [4, 1, outer_16, k * outer_16],
                [
                    (outer - 1) * (2 * k + 1),
                    -(2 * k + 1),
                    2,
                    outer * (2 * k + 1),
                ],
            ] {
                for flags in [[false, false], [false, true], [true, false], [true, true]] {
                    check_splitting(&device, sizes, layout, flags);
                }
            }
        }
    }
}

/// Numbers from 1 to 2 with all 24 bits.
fn full(shape: (usize, usize), seed: u64) -> Array2<f32> {
    let mut random = Random(seed);
    Array2::from_shape_simple_fn(shape, || {
        f32::from_bits(0x3f80_0000 | (random.bits() >> 41) as u32)
    })
}

/// The largest error as a share of Σ|a·b|.
fn largest_error(a: &Array2<f32>, b: &Array2<f32>, c: ArrayView2<f64>) -> f64 {
    let wide = |matrix: &Array2<f32>| matrix.mapv(f64::from);
    let exact = wide(a).dot(&wide(b));
    // All numbers are positive.
    let errors = c
        .iter()
        .zip(&exact)
        .map(|(c, exact)| (c - exact).abs() / exact);
    errors.fold(0.0, f64::max)
}

/// With few k the bound is below the errors of tf32, and of two terms: it tells them apart.
#[test]
fn few_terms_would_not_be_within_the_bound() {
    let with = MatMul::new().precision(EMULATED);
    // Equal products, whose errors add up.
    let (a, b) = (full((96, 1), 1), full((1, 80), 2));
    let a = a.broadcast((96, 8)).unwrap().to_owned();
    let b = b.broadcast((8, 80)).unwrap().to_owned();
    let bound = with.error_factor::<f32>(8) + MatMul::new().error_factor::<f64>(8);
    let term = |matrix: &Array2<f32>, number: usize| {
        matrix.mapv(|number_of| f64::from(terms(number_of)[number]))
    };
    let [first, second, third] = [1, 2, 3].map(|number| (term(&a, number), term(&b, number)));
    let three = first.0.dot(&first.1) + first.0.dot(&second.1) + second.0.dot(&first.1);
    assert!(largest_error(&a, &b, three.view()) > 4.0 * bound);
    for left_out in [
        first.0.dot(&third.1),
        third.0.dot(&first.1),
        second.0.dot(&second.1),
    ] {
        let all = a.mapv(f64::from).dot(&b.mapv(f64::from));
        assert!(largest_error(&a, &b, (all - left_out).view()) > bound);
    }
    for device in devices() {
        let c = with.matmul(&device, a.view(), b.view()).unwrap();
        let error = largest_error(&a, &b, c.mapv(f64::from).view());
        assert!(error <= bound, "{device}: {error:e} instead of {bound:e}");
    }
    // The simulator computes in tf32.
    let tf32 = with.precision(Precision::Tf32);
    for device in with_kernels()
        .filter(|device| has_instructions(device, with.instructions(Instructions::Warp)))
    {
        let c = tf32.matmul(&device, a.view(), b.view()).unwrap();
        let error = largest_error(&a, &b, c.mapv(f64::from).view());
        assert!(error > 4.0 * bound, "{device}: {error:e}");
    }
}

/// A number times a power of two is exact: its terms are added without rounding.
#[test]
fn products_with_a_permutation_are_exact() {
    let size = 72;
    // Of all magnitudes whose terms are all there.
    let numbers = Array2::from_shape_fn((size, 40), |(row, column)| {
        let number = any(20 + 40 * row + column);
        match number.is_finite() && number.abs() >= 2f32.powi(-110) {
            true => number,
            false => [f32::MAX, -f32::MAX, 2f32.powi(-110), 0.0][(row + column) % 4],
        }
    });
    let permutation = Array2::from_shape_fn((size, size), |(row, column)| {
        f32::from(u8::from(row * 29 % size == column))
    });
    let expected = Array2::from_shape_fn((size, 40), |(row, column)| {
        numbers[(row * 29 % size, column)]
    });
    for device in devices() {
        for with in emulations(&device) {
            let c = with.matmul(&device, permutation.view(), numbers.view());
            assert_eq!(c.unwrap(), expected, "{device}, {with:?}");
            let c = with.matmul(&device, numbers.t(), permutation.t());
            assert_eq!(c.unwrap(), expected.t(), "{device}, {with:?}");
        }
    }
}

/// Elements below 2⁻¹¹⁰ are off by at most 2⁻¹³⁴.
#[test]
fn small_numbers_have_an_absolute_error() {
    let with = MatMul::new().precision(EMULATED);
    let (m, k, n) = (40, 24, 48);
    let (a, b) = factors::<f32>((m, k, n));
    let mut exponent = -100;
    let a = a.mapv(|number| {
        exponent = if exponent < -140 { -100 } else { exponent - 1 };
        number * 2f32.powi(exponent / 2) * 2f32.powi(exponent - exponent / 2)
    });
    let b = b * 2f32.powi(100);
    for device in devices() {
        for (a, b) in [(a.view(), b.view()), (b.t(), a.t())] {
            let c = with.matmul(&device, a, b).unwrap();
            let wide = |matrix: ArrayView2<f32>| matrix.mapv(f64::from);
            let exact = wide(a).dot(&wide(b));
            let sizes = wide(a).mapv(f64::abs).dot(&wide(b).mapv(f64::abs));
            // Both: the elements of one factor are large, and have no such error.
            let lost = 2f64.powi(-134) * k as f64 * 2f64.powi(100);
            let factor = with.error_factor::<f32>(k) + with.error_factor::<f64>(k);
            for ((c, exact), size) in c.iter().zip(&exact).zip(&sizes) {
                let error = (f64::from(*c) - exact).abs();
                assert!(
                    error <= factor * size + lost,
                    "{device}: {c:e} instead of {exact:e}"
                );
            }
        }
    }
}

#[test]
fn infinities_times_numbers_are_infinite() {
    // Second and third terms of powers of two are zero.
    let mut a = Array2::from_elem((40, 24), 2.0f32);
    let b = Array2::from_shape_fn((24, 48), |(_, column)| {
        [1.0f32, -0.5, 0.1, f32::MIN_POSITIVE][column % 4]
    });
    a[(3, 5)] = f32::INFINITY;
    a[(4, 6)] = f32::NEG_INFINITY;
    a[(5, 0)] = f32::MAX;
    let large = Array2::from_elem((40, 24), f32::MAX);
    let check = |device: &Device, with: MatMul| {
        for turned in [false, true] {
            let c = match turned {
                false => with.matmul(device, a.view(), b.view()).unwrap(),
                true => with.matmul(device, b.t(), a.t()).unwrap().reversed_axes(),
            };
            for column in 0..48 {
                let infinity = f32::INFINITY * b[(0, column)];
                assert_eq!(c[(3, column)], infinity, "{device}, {column}");
                assert_eq!(c[(4, column)], -infinity, "{device}, {column}");
                assert!(
                    c[(5, column)].is_finite() && c[(6, column)].is_finite(),
                    "{device}, {column}"
                );
            }
        }
        // Sums that are too large, also those of smaller terms, which may have other signs.
        let c = with.matmul(device, large.view(), large.t()).unwrap();
        assert!(c.iter().all(|c| !c.is_finite()), "{device}");
    };
    for device in devices() {
        emulations(&device).for_each(|with| check(&device, with));
    }
}

/// Around the sums of 2048 and the chunks of 4096.
#[test]
fn long_sums() {
    for device in devices() {
        let lengths: &[usize] = match is_slow(&device) {
            true => &[2047, 2057, 4097],
            false => &[1024, 2047, 2048, 2049, 4095, 4096, 4097, 8193, 20_000],
        };
        for with in emulations(&device) {
            for &k in lengths {
                let (a, b) = factors::<f32>((20, k, 24));
                check_product(&device, with, a.view(), b.view());
                let (a, b) = (full((17, k), 3), full((k, 24), 4));
                check_product(&device, with, a.view(), b.view());
            }
        }
    }
}

/// Several tiles, in one part of k and in several, around the stages of 64 of k.
#[test]
fn tiles_of_warp_groups() {
    let with = (MatMul::new().precision(EMULATED)).instructions(Instructions::WarpGroup);
    let mut devices: Vec<_> = with_kernels().collect();
    devices.retain(|device| has_instructions(device, with));
    let sizes = [(40, 63, 72), (136, 64, 264), (129, 65, 65)];
    let more = [(300, 2049, 520), (1000, 1000, 1000), (2047, 700, 4096)];
    for_sizes(devices, &sizes, &more, |devices, sizes| {
        check_layouts::<f32>(devices, with, sizes);
    });
}

#[test]
fn batches_in_the_device() {
    let with = MatMul::new().precision(EMULATED);
    let (m, k, n) = (40, 72, 48);
    let numbers = |seed, (batch, rows, columns)| -> Array3<f32> {
        let all = random((batch * rows, columns), seed);
        all.into_shape_with_order((batch, rows, columns)).unwrap()
    };
    let (a, b) = (numbers(4, (5, m, k)), numbers(5, (1, k, n)));
    let before = numbers(6, (5, m, n));
    for device in devices() {
        let (there, b_there) = (device.upload(&a).unwrap(), device.upload(&b).unwrap());
        let mut c = with.matmul_device(&there, &b_there).unwrap();
        let host = with.matmul(&device, a.view(), b.view()).unwrap();
        assert_eq!(c.download().unwrap(), host, "{device}");
        for (a, c) in a.outer_iter().zip(host.outer_iter()) {
            check(&device, with, a, b.index_axis(Axis(0), 0), c);
        }
        with.matmul_device_into(&there, &b_there, &mut c).unwrap();
        assert_eq!(c.download().unwrap(), host, "{device}");
        let mut c = device.upload(&before).unwrap();
        with.gemm_device(0.5, &there, &b_there, -2.0, &mut c)
            .unwrap();
        let mut expected = before.clone();
        with.gemm(&device, 0.5, a.view(), b.view(), -2.0, expected.view_mut())
            .unwrap();
        assert_eq!(c.download().unwrap(), expected, "{device}");
    }
}

#[test]
fn too_little_memory_for_the_terms() {
    let with = MatMul::new().precision(EMULATED);
    let a = random::<f32>((64, 64), 1);
    let expected = |device: &Device| with.matmul(device, a.view(), a.view()).unwrap();
    for device in with_kernels().filter(|device| has(device, (8, 0))) {
        // A, B and C have 48 KiB, and the terms 64 KiB.
        let limited = device.with_memory_limit(60 << 10);
        let there = limited.upload(&a).unwrap();
        let error = with.matmul_device(&there, &there);
        assert_error!(error, Error::Allocation { .. });
        // Arrays of the host are split.
        let c = with.matmul(&limited, a.view(), a.view()).unwrap();
        assert_eq!(c, expected(&device), "{device}");
        let c = with
            .matmul(&limited, a.slice(s![..40, ..]), a.view())
            .unwrap();
        assert_eq!(c, expected(&device).slice(s![..40, ..]), "{device}");
    }
}
