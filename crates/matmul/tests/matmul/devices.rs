//! Products over several devices, and within little memory, equal the products of one device with
//! enough memory bit for bit, except on the CPU.

use std::fmt::Debug;

use gridstride::device::DeviceKind;
use gridstride::matmul::{MatMul, Scalar, gemm, matmul};
use gridstride::{Device, Error};
use ndarray::{Array2, Array3, ArrayView2, ArrayView3, Axis, array, s, stack};

use super::{Sizes, check, factors, for_types, random};
use test_support::{NO_DEVICE, assert_error, devices, fails_with, several, with_kernels};

/// Few rows, few columns, thin factors, and sizes around partitions.
const SIZES: &[Sizes] = &[
    (1, 1, 1),
    (1, 9, 300),
    (2, 5, 3),
    (300, 16, 1),
    (257, 40, 10),
    (10, 40, 257),
    (129, 33, 65),
    (770, 24, 40),
    (64, 1000, 48),
];

#[track_caller]
fn assert_same<T: Scalar>(found: &Array2<T>, expected: &Array2<T>, what: &dyn Debug) {
    assert_eq!(found.dim(), expected.dim(), "{what:?}");
    let is_other =
        |(found, expected): (&T, &T)| found.to_f64().to_bits() != expected.to_f64().to_bits();
    let differ = found.iter().zip(expected).position(is_other);
    assert_eq!(differ, None, "{what:?}, {:?}", found.dim());
}

fn over_several<T: Scalar>(with: MatMul, device: &Device, sizes: &[Sizes]) {
    for &sizes in sizes {
        let (a, b) = factors::<T>(sizes);
        let expected = with.matmul(device, a.view(), b.view()).unwrap();
        for count in [1, 2, 3, 5] {
            let devices = several(device, count);
            let found = with.matmul(&devices, a.view(), b.view()).unwrap();
            if device.kind() == DeviceKind::Cpu {
                check(device, with, a.view(), b.view(), found.view());
            } else {
                assert_same(&found, &expected, &devices);
            }
        }
    }
}

#[test]
fn several_devices_compute_what_one_does() {
    for device in devices() {
        for_types!(over_several(&device, SIZES));
    }
}

/// With one processor, `f64` products of a thin factor use matrix instructions.
#[test]
fn several_devices_of_one_processor_compute_what_one_does() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1);
    pool.build().unwrap().install(|| {
        for device in with_kernels() {
            for_types!(over_several(&device, &[(10, 40, 257), (1, 40, 6145)]));
        }
    });
}

#[test]
fn little_memory_suffices() {
    for device in with_kernels() {
        for &(m, k, n) in SIZES {
            let (a, b) = factors::<f64>((m, k, n));
            let expected = matmul(&device, a.view(), b.view()).unwrap();
            let all = 8 * (m * k + k * n + m * n) as u64;
            for parts in [1, 2, 3, 7] {
                // At least a row or a column of each.
                let limited = device.with_memory_limit((all / parts).max(64 * (k as u64 + 8)));
                let found = matmul(&limited, a.view(), b.view()).unwrap();
                assert_same(&found, &expected, &parts);
            }
        }
    }
}

/// Partitions of fewer rows than columns are cut between the columns, down to one: they still use the
/// kernel of the whole.
#[test]
fn rows_are_cut_where_memory_ends() {
    let (a, b) = (random::<f64>((130, 2100), 1), random((2100, 2), 2));
    for device in with_kernels() {
        let expected = matmul(&device, a.view(), b.view()).unwrap();
        let limited = device.with_memory_limit(40_000);
        let found = matmul(&limited, a.view(), b.view()).unwrap();
        assert_same(&found, &expected, &device);
    }
}

#[test]
fn batches_are_cut_between_matrices() {
    let matrices = |seed| random::<f32>((20, 20), seed);
    let of = |count: u64| -> Array3<f32> {
        let all: Vec<Array2<f32>> = (0..count).map(matrices).collect();
        let views: Vec<_> = all.iter().map(|matrix| matrix.view()).collect();
        stack(Axis(0), &views).unwrap()
    };
    let (many, one) = (of(7), of(1));
    for device in devices() {
        let check = |a: ArrayView3<f32>, b: ArrayView3<f32>| {
            let expected = matmul(&device, a, b).unwrap();
            for count in [2, 3, 9] {
                assert_eq!(matmul(&several(&device, count), a, b).unwrap(), expected);
            }
            let limited = device.with_memory_limit(5000);
            assert_eq!(matmul(&limited, a, b).unwrap(), expected);
        };
        check(many.view(), many.view());
        check(one.view(), many.view());
        check(many.view(), one.view());
    }
}

/// Views that are cut may be packed in another order than the whole, and so added.
#[test]
fn views_and_sums_keep_their_places() {
    let (a, b) = factors::<f64>((70, 30, 50));
    // |2·A·B + 3·C| ≤ 2·30·1 + 3·1/2 in each element, on both sides.
    let bound = 2.0 * MatMul::new().error_factor::<f64>(30) * 61.5;
    for device in devices() {
        let check = |a: ArrayView2<f64>, b: ArrayView2<f64>| {
            let (m, n) = (a.nrows(), b.ncols());
            let part = s![3..3 + 2 * m;2, 5..5 + n];
            let frame = Array2::from_elem((160, 80), 0.5);
            let mut expected = frame.clone();
            gemm(&device, 2.0, a, b, 3.0, expected.slice_mut(part)).unwrap();
            for devices in [several(&device, 3), vec![device.with_memory_limit(9000)]] {
                let mut c = frame.clone();
                gemm(&devices, 2.0, a, b, 3.0, c.slice_mut(part)).unwrap();
                let error = (&c - &expected).fold(0.0, |most: f64, error| most.max(error.abs()));
                assert!(error <= bound, "{devices:?}: {error}");
            }
        };
        check(a.slice(s![..;-1, ..]), b.slice(s![.., ..;2]));
        check(b.t(), a.t());
    }
}

#[test]
fn too_little_memory_is_an_error() {
    let a = random::<f32>((40, 40), 1);
    for device in with_kernels() {
        for bytes in [0, 1, 100] {
            let error = matmul(&device.with_memory_limit(bytes), a.view(), a.view());
            assert_error!(error, Error::Allocation { .. });
        }
        let devices = vec![device.with_memory_limit(100); 3];
        let error = matmul(&devices, a.view(), a.view());
        assert_error!(error, Error::Allocation { .. });
    }
    let none: [Device; 0] = [];
    let error = matmul(&none, a.view(), a.view());
    fails_with(error, format!("matmul: {NO_DEVICE}"));
    let empty = Array2::<f32>::zeros((0, 3));
    let error = matmul(&none, empty.view(), Array2::zeros((3, 2)).view());
    fails_with(error, format!("matmul: {NO_DEVICE}"));
    let error = matmul(&none, array![[1.0]].view(), array![[1.0], [2.0]].view());
    assert_error!(error, Error::Shape { .. });
}
