//! Products of matrices on every device, against ndarray's `dot` in f64.

use gridstride::Device;
use gridstride::Number;
use gridstride::device::DeviceView;
use gridstride::matmul::{Instructions, MatMul, Precision, ResultIn, Scalar, gemm, matmul};
use half::{bf16, f16};
use ndarray::{Array2, Array3, Axis, Ix3, array, s};
use simt::{Limits, Simulator};

use super::{
    Expected, Sizes, check, check_product, factors, for_sizes, for_types, has_instructions, random,
};
use test_support::tests;
use test_support::{devices, fails, is_slow, with_kernels};

/// Around the edges of tiles (64 and 128 rows, 64, 128 and 256 columns), of the kernels' steps of k
/// (8 to 64), and of 16-byte vectors.
const SIZES: &[Sizes] = &[
    (1, 1, 1),
    (1, 17, 2),
    (3, 5, 7),
    (63, 15, 65),
    (64, 16, 64),
    (65, 17, 63),
    (127, 31, 129),
    (128, 64, 256),
    (129, 65, 257),
    (40, 136, 264),
];

/// More sizes, for fast devices.
const MORE_SIZES: &[Sizes] = &[
    (255, 127, 513),
    (256, 128, 512),
    (257, 129, 511),
    (384, 1000, 768),
    (1000, 1000, 1000),
    (511, 2049, 130),
    (20, 30_000, 20),
    (100, 100_000, 60),
    (2048, 8, 2048),
];

/// Multiplies A and B of these sizes, each stored by rows or by columns, on each device.
pub fn check_layouts<T: Scalar>(devices: &[Device], with: MatMul, sizes: Sizes) {
    let (a, b) = factors::<T>(sizes);
    let expected = Expected::new(a.view(), b.view());
    let [a_columns, b_columns] =
        [&a, &b].map(|matrix| matrix.t().as_standard_layout().into_owned());
    for device in devices {
        for a in [a.view(), a_columns.t()] {
            for b in [b.view(), b_columns.t()] {
                let c = with.matmul(device, a, b).unwrap();
                expected.check(device, with, a, b, c.view());
            }
        }
    }
}

fn every_size_and_layout<T: Scalar>(with: MatMul) {
    let mut devices = devices();
    devices.retain(|device| has_instructions(device, with));
    for_sizes(devices, SIZES, MORE_SIZES, |devices, sizes| {
        check_layouts::<T>(devices, with, sizes);
    });
}

/// Tests the kernels that `Auto` does not choose here.
fn other_instructions<T: Scalar>(precision: Precision) {
    for instructions in [Instructions::Fma, Instructions::Warp] {
        let with = MatMul::new()
            .precision(precision)
            .instructions(instructions);
        let devices = with_kernels().filter(|device| has_instructions(device, with));
        let devices: Vec<_> = devices.collect();
        for sizes in [(65, 17, 63), (129, 65, 257), (40, 136, 264), (136, 40, 72)] {
            check_layouts::<T>(&devices, with, sizes);
        }
    }
}

tests! {
    f32_of_every_size_and_layout => every_size_and_layout::<f32>(MatMul::new());
    f64_of_every_size_and_layout => every_size_and_layout::<f64>(MatMul::new());
    tf32_of_every_size_and_layout => every_size_and_layout::<f32>(MatMul::new().precision(Precision::Tf32));
    emulated_of_every_size_and_layout => every_size_and_layout::<f32>(MatMul::new().precision(Precision::F32ByBf16x6));
    f16_of_every_size_and_layout => every_size_and_layout::<f16>(MatMul::new());
    bf16_of_every_size_and_layout => every_size_and_layout::<bf16>(MatMul::new());

    f64_by_other_instructions => other_instructions::<f64>(Precision::Full);
    tf32_by_other_instructions => other_instructions::<f32>(Precision::Tf32);
    emulated_by_other_instructions => other_instructions::<f32>(Precision::F32ByBf16x6);
    f16_by_other_instructions => other_instructions::<f16>(Precision::Full);
    bf16_by_other_instructions => other_instructions::<bf16>(Precision::Full);
}

/// More matrices than one launch computes.
#[test]
fn more_products_than_a_grid_has_room_for() {
    fn of_type<T: Scalar + ResultIn<T>>(device: &Device) {
        let count = 65_541;
        let numbers = |batch, (rows, columns), factor: usize| {
            Array3::from_shape_fn((batch, rows, columns), |(i, row, column)| {
                T::from_f64(((i * factor + 3 * row + column) % 31) as f64)
            })
        };
        let a = numbers(count, (1, 2), 3);
        for matrices in [1, count] {
            let b = numbers(matrices, (2, 3), 5);
            let (there, b_there) = (device.upload(&a).unwrap(), device.upload(&b).unwrap());
            let sums = MatMul::new().matmul_device(&there, &b_there).unwrap();
            let rounded = MatMul::new().matmul_device_as::<T, _, _, _>(&there, &b_there);
            let (sums, rounded) = (sums.download(), rounded.unwrap().download());
            let (sums, rounded) = (sums.unwrap(), rounded.unwrap());
            for (i, a) in a.outer_iter().enumerate() {
                let b = b.index_axis(Axis(0), i.min(matrices - 1));
                let expected = a.mapv(T::to_f64).dot(&b.mapv(T::to_f64));
                let sum = sums.index_axis(Axis(0), i).mapv(Number::to_f64);
                assert_eq!(sum, expected, "{device}, {matrices}: {i}");
                let rounded = rounded.index_axis(Axis(0), i).mapv(T::to_f64);
                let nearest = expected.mapv(|sum| T::from_f64(sum).to_f64());
                assert_eq!(rounded, nearest, "{device}, {matrices}: {i}");
            }
        }
    }
    for device in with_kernels().filter(|device| !is_slow(device)) {
        of_type::<f32>(&device);
        of_type::<f16>(&device);
    }
}

#[test]
fn thin_factors() {
    fn of_type<T: Scalar>() {
        let thin = [1, 2, 3, 5, 8, 10, 12, 13, 16, 17];
        let tall = [128, 129, 300, 1025];
        let deep = [1, 7, 16, 33, 100, 784];
        for (i, columns) in thin.into_iter().enumerate() {
            let sizes = (tall[i % 4], deep[i % 6], columns);
            for sizes in [sizes, (sizes.2, sizes.1, sizes.0)] {
                check_layouts::<T>(&devices(), MatMul::new(), sizes);
            }
        }
    }
    of_type::<f32>();
    of_type::<f64>();
}

#[test]
fn few_tiles_and_a_long_sum() {
    fn of_type<T: Scalar>(with: MatMul, device: &Device, k: usize) {
        let (a, b) = factors::<T>((20, k, 24));
        check_product(device, with, a.view(), b.view());
    }
    for device in devices() {
        let k = if is_slow(&device) { 1500 } else { 200_000 };
        for_types!(of_type(&device, k));
    }
}

#[test]
fn views_of_every_kind() {
    let large = random::<f32>((90, 140), 3);
    for device in devices() {
        for a in [
            large.slice(s![10..80, 20..90]),
            large.slice(s![..;-1, ..]).slice_move(s![..70, ..70]),
            large.slice(s![.., ..;-1]).slice_move(s![..70, ..70]),
            large.slice(s![..70, ..;2]),
            large
                .slice(s![..;-1, ..;-2])
                .slice_move(s![..70, ..])
                .reversed_axes(),
        ] {
            let b = large.slice(s![..a.ncols(), 3..50]);
            check_product(&device, MatMul::new(), a, b);
        }
    }
}

#[test]
fn views_of_arrays_on_the_device_are_read_where_they_are() {
    let large = random::<f32>((200, 300), 4);
    for device in devices() {
        let there = device.upload(&large).unwrap();
        let part = |rows, columns| {
            let rows = there.view().slice_axis(0, rows).unwrap();
            rows.slice_axis(1, columns).unwrap()
        };
        for start in [0, 3, 4] {
            let rows = start..start + 100;
            let (a, b) = (part(rows.clone(), 5..165), part(10..170, rows.clone()));
            let c = MatMul::new().matmul_device(a, b).unwrap();
            let (a_here, b_here) = (
                large.slice(s![rows.clone(), 5..165]),
                large.slice(s![10..170, rows]),
            );
            let c = c.download().unwrap();
            check(&device, MatMul::new(), a_here, b_here, c.view());
            let transposed = MatMul::new().matmul_device(b.t(), a.t()).unwrap();
            let c = transposed.download().unwrap();
            check(&device, MatMul::new(), b_here.t(), a_here.t(), c.view());
        }
    }
}

/// Rows that share elements, such as windows of a series, and equal rows and matrices.
#[test]
fn views_that_overlap_are_read_where_they_are() {
    fn of_type<T: Scalar>(with: MatMul, device: &Device) {
        let series: Vec<T> = random::<T>((1, 8000), 5).into_iter().collect();
        let there = device.buffer_from(&series).unwrap();
        for (batch, m, k, n) in [(1, 70, 64, 90), (3, 40, 72, 24), (2, 130, 40, 3)] {
            let b = DeviceView::new(&there, 16, Ix3(batch, k, n), Ix3(8, n, 1)).unwrap();
            for strides in [
                [0, 8, 1],
                [8, 8, 1],
                [8, 0, 1],
                [16, 1, 8],
                [8, 1, 0],
                [3, 5, 2],
            ] {
                let a = DeviceView::new(
                    &there,
                    8,
                    Ix3(batch, m, k),
                    Ix3(strides[0], strides[1], strides[2]),
                );
                let a = a.unwrap();
                let c = with.matmul_device(a, b).unwrap();
                let (a, b, c) = (
                    a.download().unwrap(),
                    b.download().unwrap(),
                    c.download().unwrap(),
                );
                for (i, c) in c.outer_iter().enumerate() {
                    let (a, b) = (a.index_axis(Axis(0), i), b.index_axis(Axis(0), i));
                    check(device, with, a, b, c);
                }
            }
        }
    }
    for device in devices() {
        for_types!(of_type(&device));
        // Kernels that copy tiles refuse no stride.
        let with = MatMul::new().instructions(Instructions::WarpGroup);
        if has_instructions(&device, with) {
            of_type::<f32>(with.precision(Precision::Tf32), &device);
            of_type::<f16>(with, &device);
            of_type::<bf16>(with, &device);
        }
    }
}

#[test]
fn batches() {
    for device in devices() {
        let a = Array3::from_shape_fn((5, 37, 20), |(i, j, k)| {
            ((i * 7 + j * 3 + k) % 11) as f64 - 5.0
        });
        let b = Array3::from_shape_fn((5, 20, 70), |(i, j, k)| {
            ((i + j * 5 + k * 2) % 13) as f64 - 6.0
        });
        let c = matmul(&device, a.view(), b.view()).unwrap();
        let one = b.slice(s![2..3, .., ..]);
        let with_one = matmul(&device, a.view(), one).unwrap();
        let [a_turned, b_turned] = [&a, &b].map(|batch| batch.view().permuted_axes([0, 2, 1]));
        let turned = matmul(&device, b_turned, a_turned).unwrap();
        for i in 0..5 {
            let (a, b) = (a.index_axis(Axis(0), i), b.index_axis(Axis(0), i));
            // Integers: exact.
            assert_eq!(c.index_axis(Axis(0), i), a.dot(&b), "{device}");
            let by_one = a.dot(&one.index_axis(Axis(0), 0));
            assert_eq!(with_one.index_axis(Axis(0), i), by_one, "{device}");
            assert_eq!(turned.index_axis(Axis(0), i), a.dot(&b).t(), "{device}");
        }
    }
}

#[test]
fn alpha_and_beta() {
    fn of_type<T: Scalar>(with: MatMul, sizes: Sizes, make: impl Fn(f64) -> T::Sum) {
        let (a, b) = factors::<T>(sizes);
        let (a, b) = (a.view(), b.view());
        let Expected { exact, sizes: size } = Expected::new(a, b);
        let before = Array2::from_shape_fn((sizes.0, sizes.2), |(i, j)| {
            make((i as f64 - j as f64) / 64.0)
        });
        for device in devices() {
            for (alpha, beta) in [(2.0, 0.0), (0.0, 0.5), (-1.5, 1.0), (0.5, -2.0)] {
                let mut c = before.clone();
                with.gemm(&device, make(alpha), a, b, make(beta), c.view_mut())
                    .unwrap();
                let exact = &exact * alpha + before.mapv(Number::to_f64) * beta;
                let size = &size * alpha.abs() + before.mapv(|c| c.to_f64().abs()) * beta.abs();
                let factor = with.error_factor::<T>(sizes.1) + with.error_factor::<f64>(sizes.1);
                for ((c, exact), size) in c.iter().zip(&exact).zip(&size) {
                    assert!(
                        (c.to_f64() - exact).abs() <= factor * size,
                        "{device} {alpha} {beta}: {c:?} {exact}"
                    );
                }
            }
        }
    }
    let with = MatMul::new();
    for sizes in [(70, 33, 90), (200, 40, 10), (9, 700, 11)] {
        of_type::<f32>(with, sizes, |x| x as f32);
        of_type::<f32>(with.precision(Precision::F32ByBf16x6), sizes, |x| x as f32);
        of_type::<f64>(with, sizes, |x| x);
        of_type::<bf16>(with, sizes, |x| x as f32);
        of_type::<f16>(with, sizes, |x| x as f32);
    }
}

#[test]
fn results_of_any_strides() {
    for device in devices() {
        let (a, b) = factors::<f64>((30, 20, 40));
        let mut large = Array2::from_elem((100, 100), 7.0);
        let mut part = large.slice_mut(s![10..70;2, 20..100;2]);
        part.swap_axes(0, 1);
        let c = part.slice_mut(s![.., ..;-1]).reversed_axes();
        gemm(&device, 1.0, a.view(), b.view(), 0.0, c).unwrap();
        let c = large.slice(s![10..70;2, 20..100;2]);
        let c = c.slice(s![..;-1, ..]);
        check(&device, MatMul::new(), a.view(), b.view(), c);
        large.slice_mut(s![10..70;2, 20..100;2]).fill(7.0);
        let is_untouched = large.iter().all(|&x| x == 7.0);
        assert!(is_untouched, "{device}: written beside C");
    }
}

#[test]
fn sizes_of_zero_and_sums_of_nothing() {
    for device in devices() {
        for (m, k, n) in [(0, 3, 2), (2, 3, 0), (0, 0, 0), (0, 5, 0)] {
            let (a, b) = (Array2::<f32>::ones((m, k)), Array2::ones((k, n)));
            assert_eq!(matmul(&device, a.view(), b.view()).unwrap().dim(), (m, n));
        }
        let none = Array2::<f32>::zeros((2, 0));
        let c = matmul(&device, none.view(), none.t()).unwrap();
        assert_eq!(c, Array2::<f32>::zeros((2, 2)), "{device}");
        let mut c = array![[1.0f32, f32::NAN], [3.0, 4.0]];
        gemm(&device, 1.0, none.view(), none.t(), 0.0, c.view_mut()).unwrap();
        assert_eq!(c, Array2::<f32>::zeros((2, 2)), "{device}");
        let mut c = array![[1.0f32, 2.0], [3.0, 4.0]];
        gemm(&device, 1.0, none.view(), none.t(), 0.5, c.view_mut()).unwrap();
        assert_eq!(c, array![[0.5, 1.0], [1.5, 2.0]], "{device}");
        // Infinity times no sum is none.
        let there = device.upload(&none).unwrap();
        let mut c = device.upload(&c).unwrap();
        let by = MatMul::new();
        by.gemm_device(f32::INFINITY, &there, there.view().t(), 1.0, &mut c)
            .unwrap();
        let c = c.download().unwrap();
        assert_eq!(c, array![[0.5, 1.0], [1.5, 2.0]], "{device}");
        let batch = Array3::<f64>::zeros((0, 3, 3));
        let c = matmul(&device, batch.view(), batch.view()).unwrap();
        assert_eq!(c.dim(), (0, 3, 3));
    }
}

#[test]
fn nan_and_infinities() {
    fn of_type<T: Scalar>(with: MatMul, sizes: Sizes, sum: impl Fn(f64) -> T::Sum) {
        let make = T::from_f64;
        for device in devices() {
            let mut a = Array2::from_elem((sizes.0, sizes.1), make(1.0));
            let mut b = Array2::from_elem((sizes.1, sizes.2), make(0.0));
            a[(1, 0)] = make(f64::NAN);
            a[(2, sizes.1 - 1)] = make(f64::INFINITY);
            b.column_mut(0).fill(make(1.0));
            // 0·∞ is NaN; C's NaN does not matter.
            let mut c = Array2::from_elem((sizes.0, sizes.2), sum(f64::NAN));
            let (a, b) = (a.view(), b.view());
            with.gemm(&device, sum(1.0), a, b, sum(0.0), c.view_mut())
                .unwrap();
            let c = c.mapv(Number::to_f64);
            assert_eq!(c[(0, 0)], sizes.1 as f64, "{device}");
            assert!(c.row(1).iter().all(|c| c.is_nan()), "{device}");
            assert_eq!(c[(2, 0)], f64::INFINITY, "{device}");
            assert!(c[(2, 1)].is_nan(), "{device}");
            assert!(c.slice(s![3.., 1..]).iter().all(|&c| c == 0.0), "{device}");
            // A and B are not read.
            let mut c = Array2::from_elem((sizes.0, sizes.2), sum(2.0));
            with.gemm(&device, sum(0.0), a, b, sum(0.5), c.view_mut())
                .unwrap();
            assert!(c.iter().all(|c| c.to_f64() == 1.0), "{device}");
        }
    }
    let with = MatMul::new();
    for sizes in [(40, 24, 40), (150, 33, 5), (5, 40, 130)] {
        of_type::<f32>(with, sizes, |x| x as f32);
        of_type::<f32>(with.precision(Precision::F32ByBf16x6), sizes, |x| x as f32);
        of_type::<f64>(with, sizes, |x| x);
        of_type::<f16>(with, sizes, |x| x as f32);
        of_type::<bf16>(with, sizes, |x| x as f32);
    }
}

#[test]
fn devices_with_little_shared_memory_have_kernels_too() {
    // Of compute capability 7.0, 7.5 and 8.6, but with the instructions of 9.0.
    for kilobytes in [96, 64, 99] {
        let mut limits = Limits::default();
        limits.shared_bytes = kilobytes << 10;
        let device = Device::simulator_with(Simulator::default().limits(limits));
        fn of_type<T: Scalar>(device: &Device, with: MatMul) {
            for sizes in [(200, 40, 300), (300, 50, 10)] {
                let (a, b) = factors::<T>(sizes);
                check_product(device, with, a.view(), b.view());
            }
        }
        for instructions in [Instructions::Auto, Instructions::Fma] {
            let with = MatMul::new().instructions(instructions);
            of_type::<f32>(&device, with);
            of_type::<f32>(&device, with.precision(Precision::Tf32));
            of_type::<f32>(&device, with.precision(Precision::F32ByBf16x6));
            of_type::<f64>(&device, with);
            of_type::<f16>(&device, with);
        }
    }
}

#[test]
fn f32_by_multiply_adds_is_full() {
    let with = MatMul::new().instructions(Instructions::Fma);
    for device in with_kernels() {
        for sizes in [(70, 40, 80), (300, 50, 10)] {
            let (a, b) = factors::<f32>(sizes);
            let full = with.matmul(&device, a.view(), b.view()).unwrap();
            for precision in [Precision::Tf32, Precision::F32ByBf16x6] {
                let with = with.precision(precision);
                assert_eq!(with.matmul(&device, a.view(), b.view()).unwrap(), full);
            }
        }
    }
}

#[test]
fn a_matrix_that_is_broadcast_is_one() {
    let (a, b) = factors::<f32>((30, 40, 50));
    for device in devices() {
        let batch = b.broadcast((3, 40, 50)).unwrap();
        let as_batch = a.view().insert_axis(Axis(0));
        let c = matmul(&device, as_batch, batch).unwrap();
        for c in c.outer_iter() {
            check(&device, MatMul::new(), a.view(), b.view(), c);
        }
    }
}

#[test]
fn shapes_without_elements_may_be_too_large_to_count() {
    for device in devices() {
        let [a, b] = [(0, 1 << 40, 0), (0, 0, 1 << 40)].map(Array3::<f32>::zeros);
        let error = matmul(&device, a.view(), b.view());
        fails(error, &["more elements than can be counted"]);
        let one = Array2::<f32>::ones((1, 1));
        let a = one.broadcast((1 << 40, 1 << 20)).unwrap();
        let c = matmul(&device, a, Array2::zeros((1 << 20, 0)).view()).unwrap();
        assert_eq!(c.dim(), (1 << 40, 0), "{device}");
    }
}

#[test]
fn shapes_that_do_not_fit_are_named() {
    for device in devices() {
        let (a, b) = (Array2::<f32>::zeros((3, 4)), Array2::<f32>::zeros((5, 6)));
        fails(matmul(&device, a.view(), b.view()), &["3×4", "5×6"]);
        let mut c = Array2::zeros((2, 2));
        let error = gemm(&device, 1.0, a.view(), a.t(), 0.0, c.view_mut());
        fails(error, &["3×3", "2×2"]);
        let [a, b] = [(2, 3, 4), (3, 4, 5)].map(Array3::<f32>::zeros);
        fails(matmul(&device, a.view(), b.view()), &["2×3×4", "3×4×5"]);
    }
}

#[test]
fn results_repeat_bit_for_bit() {
    for device in devices() {
        let (a, b) = factors::<f32>((30, 3000, 20));
        let [first, second] = [(); 2].map(|()| matmul(&device, a.view(), b.view()).unwrap());
        assert_eq!(first, second, "{device}");
    }
}
