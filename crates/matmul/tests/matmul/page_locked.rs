//! Products of page-locked host arrays equal those of resident arrays bit for bit, also if they are
//! so large that a GPU overlaps their copies with kernels.

use gridstride::device::{DeviceKind, PinnedBuffer};
use gridstride::matmul::{MatMul, Scalar};
use gridstride::{Device, Number};
use ndarray::{Array2, ArrayView2, ArrayViewMut2};

use super::{for_types, random};
use test_support::with_kernels;

/// Returns the rows of A, its columns, and the columns of B: on GPUs so large that copies overlap,
/// with a last panel of rows that ends within a tile.
fn sizes<T>(device: &Device) -> [usize; 3] {
    match device.kind() {
        DeviceKind::Cuda { .. } => [3100, 8240 / size_of::<T>(), 1030],
        _ => [70, 40, 50],
    }
}

fn pinned<T: Scalar>(device: &Device, matrix: ArrayView2<T>) -> PinnedBuffer<T> {
    let mut copy = device.pinned(matrix.len()).unwrap();
    copy.iter_mut()
        .zip(matrix)
        .for_each(|(to, from)| *to = *from);
    copy
}

/// Checks C = 0.5·A·B + beta·C, of a C that is page-locked, or is not.
#[track_caller]
fn check<T: Scalar>(
    with: MatMul,
    device: &Device,
    [a, b]: [ArrayView2<T>; 2],
    beta: f64,
    is_locked: bool,
) {
    let (alpha, beta) = (T::Sum::from_f64(0.5), T::Sum::from_f64(beta));
    let before = random::<T::Sum>((a.nrows(), b.ncols()), 3);
    // In the layout of the host's arrays, which the choice of a kernel depends on.
    let resident = |matrix: ArrayView2<T>| match matrix.is_standard_layout() {
        true => (device.upload(&matrix).unwrap(), false),
        false => (device.upload(&matrix.t()).unwrap(), true),
    };
    let [a_there, b_there] = [a, b].map(resident);
    let [a_there, b_there] = [&a_there, &b_there].map(|(matrix, is_across)| match is_across {
        true => matrix.view().t(),
        false => matrix.view(),
    });
    let mut expected = device.upload(&before).unwrap();
    with.gemm_device(alpha, a_there, b_there, beta, &mut expected)
        .unwrap();
    let expected = expected.download().unwrap();

    let mut c: Vec<T::Sum>;
    let mut c_locked;
    let c = match is_locked {
        true => {
            c_locked = pinned(device, before.view());
            &mut c_locked[..]
        }
        false => {
            c = before.iter().copied().collect();
            &mut c[..]
        }
    };
    let mut c = ArrayViewMut2::from_shape(before.dim(), c).unwrap();
    with.gemm(device, alpha, a, b, beta, c.view_mut()).unwrap();
    let bits = |matrix: ArrayView2<T::Sum>| -> Vec<u64> {
        matrix.iter().map(|c| c.to_f64().to_bits()).collect()
    };
    assert!(
        bits(c.view()) == bits(expected.view()),
        "{device}, {with:?}, strides {:?} {:?}",
        a.strides(),
        b.strides()
    );
}

fn all_layouts<T: Scalar>(with: MatMul, device: &Device) {
    let [m, k, n] = sizes::<T>(device);
    let (a, b) = (random::<T>((m, k), 1), random::<T>((k, n), 2));
    let locked = [a.view(), a.t(), b.view(), b.t()].map(|matrix| pinned(device, matrix));
    let view = |which: usize, shape| ArrayView2::from_shape(shape, &locked[which]).unwrap();
    let [a, a_across] = [view(0, (m, k)), view(1, (k, m)).reversed_axes()];
    let [b, b_across] = [view(2, (k, n)), view(3, (n, k)).reversed_axes()];
    check(with, device, [a, b], 0.0, true);
    check(with, device, [a, b_across], 0.25, true);
    check(with, device, [a_across, b], 0.25, true);
    check(with, device, [a, b], 0.25, false);
}

#[test]
fn products_are_those_of_resident_arrays() {
    for device in with_kernels() {
        for_types!(all_layouts(&device));
    }
}

#[test]
fn calls_of_several_threads_do_not_mix() {
    for device in with_kernels() {
        let [m, k, n] = sizes::<f32>(&device);
        let multiply = |seed: u64| {
            let (a, b) = (random::<f32>((m, k), seed), random::<f32>((k, n), 2 * seed));
            let [a_locked, b_locked] = [&a, &b].map(|matrix| pinned(&device, matrix.view()));
            let expected = MatMul::new().matmul(&device, a.view(), b.view()).unwrap();
            let mut c = pinned(&device, Array2::zeros((m, n)).view());
            for _ in 0..3 {
                c.fill(f32::NAN);
                let a = ArrayView2::from_shape((m, k), &a_locked).unwrap();
                let b = ArrayView2::from_shape((k, n), &b_locked).unwrap();
                let out = ArrayViewMut2::from_shape((m, n), &mut c).unwrap();
                MatMul::new().matmul_into(&device, a, b, out).unwrap();
                assert!(expected.iter().eq(c.iter()), "{device}, {seed}");
            }
        };
        std::thread::scope(|scope| {
            for seed in 1..4 {
                scope.spawn(move || multiply(seed));
            }
        });
    }
}
