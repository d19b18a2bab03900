//! Products of matrices and vectors on every device, compared with the reference in f64 within the
//! derived bound.

use gridstride::device::DeviceKind;
use gridstride::matmul::{MatMul, Scalar, gemm, matmul};
use gridstride::{Device, Result};
use ndarray::{Array1, Array2, ArrayView1, Axis, array, s, stack};

use super::{Expected, for_sizes, for_types, random};
use test_support::{self, devices, fails, is_slow, with_kernels};

/// Rows and columns of the matrix: around the edges of tiles and of 16-byte vectors, around 128,
/// where the kernels for thin factors begin, and long sums.
const SIZES: &[(usize, usize)] = &[
    (1, 1),
    (1, 17),
    (5, 3),
    (63, 100),
    (64, 1),
    (127, 40),
    (128, 64),
    (129, 65),
    (300, 784),
    (1025, 33),
    (7, 700),
    (200, 1001),
    (1540, 17),
    (3200, 5),
];

/// More sizes, for fast devices: the CPU cuts them into blocks of rows, of columns, and of k, and
/// the last block is not full.
const BLOCKS: &[(usize, usize)] = &[
    (600, 1030),
    (150, 2000),
    (3, 90_000),
    (60_001, 5),
    (40, 7000),
];

/// Sizes for GPUs, which choose kernels by them.
const LARGE_SIZES: &[(usize, usize)] = &[
    (5000, 4000),
    (3, 200_000),
    (200_001, 5),
    (1024, 4096),
    (40, 500_000),
    (150, 9000),
];

fn vector<T: Scalar>(length: usize, seed: u64) -> Array1<T> {
    random((1, length), seed).remove_axis(Axis(0))
}

#[test]
fn every_size_and_layout() {
    fn of_type<T: Scalar>(with: MatMul, devices: &[Device], (m, n): (usize, usize)) {
        let by_rows = random::<T>((m, n), 1);
        let by_columns = by_rows.t().as_standard_layout().into_owned();
        let (long, short) = (vector::<T>(2 * n, 2), vector::<T>(m, 3));
        // Neighbours, every second number, and backwards.
        let on_the_right = [s![..n], s![..;2], s![..n;-1]].map(|places| long.slice(places));
        let on_the_left = [short.view(), short.slice(s![..;-1])];
        let a = by_rows.view();
        let right = Expected::new(a, stack(Axis(1), &on_the_right).unwrap().view());
        let left = Expected::new(stack(Axis(0), &on_the_left).unwrap().view(), a);
        for device in devices {
            for a in [a, by_columns.t()] {
                for (i, v) in on_the_right.into_iter().enumerate() {
                    let c = with.matmul(device, a, v).unwrap();
                    let (v, c) = (v.insert_axis(Axis(1)), c.view().insert_axis(Axis(1)));
                    right.part(Axis(1), i).check(device, with, a, v, c);
                }
                for (i, v) in on_the_left.into_iter().enumerate() {
                    let c = with.matmul(device, v, a).unwrap();
                    let (v, c) = (v.insert_axis(Axis(0)), c.view().insert_axis(Axis(0)));
                    left.part(Axis(0), i).check(device, with, v, a, c);
                }
            }
        }
    }
    let check = |devices: &[Device], sizes| {
        for_types!(of_type(devices, sizes));
    };
    for_sizes(devices(), SIZES, BLOCKS, check);
    for_sizes(with_kernels().collect(), &[], LARGE_SIZES, check);
}

#[test]
fn arrays_on_the_device() {
    fn of_length<T: Scalar>(with: MatMul, devices: &[Device], n: usize) {
        // A row more than the fewest that have kernels of their own.
        let m = 129;
        let (a, v, w) = (
            random::<T>((m, n), 1),
            vector::<T>(n + 10, 2),
            vector::<T>(m, 3),
        );
        // A part of a longer vector, which does not begin at a multiple of 16 bytes.
        let v_part = v.slice(s![5..n + 5]);
        let (column, row) = (v_part.insert_axis(Axis(1)), v_part.insert_axis(Axis(0)));
        let w_row = w.view().insert_axis(Axis(0));
        let right = Expected::new(a.view(), column);
        let turned = right.transposed();
        let left = Expected::new(w_row, a.view());
        for device in devices {
            let a_there = device.upload(&a).unwrap();
            let (v_there, w_there) = (device.upload(&v).unwrap(), device.upload(&w).unwrap());
            let part = || v_there.view().slice_axis(0, 5..n + 5).unwrap();

            let c = with.matmul_device(&a_there, part()).unwrap();
            let c = c.download().unwrap().insert_axis(Axis(1));
            right.check(device, with, a.view(), column, c.view());
            let c = with.matmul_device(part(), a_there.view().t()).unwrap();
            let c = c.download().unwrap().insert_axis(Axis(0));
            turned.check(device, with, row, a.t(), c.view());
            let c = with.matmul_device(&w_there, &a_there).unwrap();
            let c = c.download().unwrap().insert_axis(Axis(0));
            left.check(device, with, w_row, a.view(), c.view());
        }
    }
    fn of_lengths<T: Scalar>(with: MatMul, devices: &[Device]) {
        // From 16 KiB on there is a kernel of its own.
        for n in [70, (16 << 10) / size_of::<T>() + 7] {
            of_length::<T>(with, devices, n);
        }
    }
    for_types!(of_lengths(&devices()));
}

#[test]
fn alpha_beta_and_results_of_any_strides() {
    fn of_type<T: Scalar<Sum = f32>>(with: MatMul, device: &Device) {
        for (m, n) in [(40, 30), (200, 50), (9, 700)] {
            let (a, v) = (random::<T>((m, n), 1), vector::<T>(n, 2));
            for (alpha, beta) in [(2.0, 0.0), (0.0, 0.5), (-1.5, 1.0), (0.5, -2.0)] {
                let before = Array1::from_shape_fn(3 * m, |i| (i % 64) as f32 / 64.0 - 0.5);
                let column = v.view().insert_axis(Axis(1));
                let factor = with.error_factor::<T>(n) + MatMul::new().error_factor::<f64>(n);
                let Expected { exact, sizes: size } = Expected::new(a.view(), column);
                let check = |c: ArrayView1<f32>| {
                    let was = before.slice(s![..;-3]);
                    for (i, (&c, &was)) in c.iter().zip(was).enumerate() {
                        let (alpha, beta, was) =
                            (f64::from(alpha), f64::from(beta), f64::from(was));
                        let expected = alpha * exact[(i, 0)] + beta * was;
                        let bound = factor * (alpha.abs() * size[(i, 0)] + (beta * was).abs());
                        let error = (f64::from(c) - expected).abs();
                        assert!(error <= bound, "{device}, {m}×{n}, {alpha} {beta}, {i}");
                    }
                };
                let mut all = before.clone();
                let c = all.slice_mut(s![..;-3]);
                with.gemm(device, alpha, a.view(), v.view(), beta, c)
                    .unwrap();
                check(all.slice(s![..;-3]));
                for (i, (now, was)) in all.iter().zip(&before).enumerate() {
                    assert!(
                        (3 * m - 1 - i).is_multiple_of(3) || now == was,
                        "{device}, {i}"
                    );
                }

                // The other way around, on the device: vᵀ·Aᵀ.
                let there = (device.upload(&v).unwrap(), device.upload(&a).unwrap());
                let mut c = device.upload(&before.slice(s![..;-3])).unwrap();
                with.gemm_device(alpha, &there.0, there.1.view().t(), beta, &mut c)
                    .unwrap();
                check(c.download().unwrap().view());
            }
        }
    }
    for device in devices() {
        of_type::<f32>(MatMul::new(), &device);
        of_type::<half::f16>(MatMul::new(), &device);
        of_type::<half::bf16>(MatMul::new(), &device);
    }
}

#[test]
fn the_products_of_ndarray() -> Result<()> {
    for device in devices() {
        // Integers: exact.
        let mut sizes = vec![(3, 4), (150, 20)];
        if matches!(device.kind(), DeviceKind::Cuda { .. }) && !is_slow(&device) {
            // Enough for parts of k of the kernel for a matrix whose rows are neighbours.
            sizes.push((16_384, 16_384));
        }
        for (m, n) in sizes {
            let a = Array2::from_shape_fn((m, n), |(i, j)| ((i * 7 + j * 3) % 11) as f64 - 5.0);
            let v = Array1::from_shape_fn(n, |i| (i % 5) as f64 - 2.0);
            let w = Array1::from_shape_fn(m, |i| (i % 7) as f64 - 3.0);
            assert_eq!(matmul(&device, a.view(), v.view())?, a.dot(&v), "{device}");
            assert_eq!(matmul(&device, w.view(), a.view())?, w.dot(&a), "{device}");
        }
    }
    Ok(())
}

#[test]
fn several_devices_compute_what_one_does() -> Result<()> {
    for n in [70, 4103] {
        let (a, v) = (random::<f32>((300, n), 1), vector::<f32>(n, 2));
        for device in with_kernels() {
            let expected = matmul(&device, a.view(), v.view())?;
            for count in [2, 3] {
                let devices = test_support::several(&device, count);
                let found = matmul(&devices, a.view(), v.view())?;
                assert_eq!(found, expected, "{devices:?}");
            }
        }
    }
    Ok(())
}

#[test]
fn empty_vectors() -> Result<()> {
    for device in devices() {
        let (none, three) = (Array1::<f32>::zeros(0), Array1::<f32>::ones(3));
        let c = matmul(&device, Array2::ones((0, 3)).view(), three.view())?;
        assert_eq!(c, none, "{device}");
        let c = matmul(&device, three.view(), Array2::ones((3, 0)).view())?;
        assert_eq!(c, none, "{device}");
        let tall = Array2::<f32>::ones((3, 0));
        let zeros = array![0.0, 0.0, 0.0];
        let c = matmul(&device, tall.view(), none.view())?;
        assert_eq!(c, zeros, "{device}");
        assert_eq!(matmul(&device, none.view(), tall.t())?, zeros, "{device}");
        let mut c = array![2.0f32, 4.0, f32::NAN];
        gemm(&device, 1.0, tall.view(), none.view(), 0.5, c.view_mut())?;
        assert_eq!(c.slice(s![..2]), array![1.0, 2.0], "{device}");
        assert!(c[2].is_nan(), "{device}");
        gemm(&device, 1.0, tall.view(), none.view(), 0.0, c.view_mut())?;
        assert_eq!(c, zeros, "{device}");
        let there = (device.upload(&tall)?, device.upload(&none)?);
        let c = MatMul::new().matmul_device(&there.0, &there.1)?;
        assert_eq!(c.download()?, zeros, "{device}");
    }
    Ok(())
}

#[test]
fn shapes_that_do_not_fit_are_named() {
    for device in devices() {
        let (a, v) = (Array2::<f32>::zeros((3, 4)), Array1::<f32>::zeros(5));
        let texts = [
            "A is 3×4 and B is a vector of 5",
            "as many columns as B has elements",
        ];
        fails(matmul(&device, a.view(), v.view()), &texts);
        let texts = [
            "A is a vector of 5 and B is 3×4",
            "as many elements as B has rows",
        ];
        fails(matmul(&device, v.view(), a.view()), &texts);
        let (four, mut c) = (Array1::<f32>::zeros(4), Array1::zeros(2));
        let error = gemm(&device, 1.0, a.view(), four.view(), 0.0, c.view_mut());
        let text = "the product is a vector of 3, but C is a vector of 2";
        fails(error, &[text]);
    }
}
