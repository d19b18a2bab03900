//! Products with a C of 16 bits.

use gridstride::Device;
use gridstride::matmul::{Instructions, MatMul, ResultIn, Scalar, gemm};
use half::{bf16, f16};
use ndarray::{Array2, Array3, ArrayView2, s};

use super::{Expected, Sizes, factors, for_sizes, has_instructions, random};
use test_support::{devices, with_kernels};

/// The unit roundoff of a type of 16 bits.
fn unit<T: Scalar>() -> f64 {
    match T::NAME {
        "f16" => 2f64.powi(-11),
        _ => 2f64.powi(-8),
    }
}

/// alpha·A·B + beta·C₀ in `f64`, and the bound of the error of the sums.
struct Rounded {
    exact: Array2<f64>,
    error_of_sums: Array2<f64>,
}

impl Rounded {
    fn new<T: Scalar>(
        (alpha, a, b): (f64, ArrayView2<T>, ArrayView2<T>),
        (beta, before): (f64, ArrayView2<T>),
    ) -> Rounded {
        let Expected { exact, sizes } = Expected::new(a, b);
        let before = beta * before.mapv(T::to_f64);
        let factor = MatMul::new().error_factor::<T>(a.ncols());
        let of_reference = MatMul::new().error_factor::<f64>(a.ncols());
        let sizes = alpha.abs() * sizes + before.mapv(f64::abs);
        Rounded {
            exact: alpha * exact + before,
            error_of_sums: (factor + of_reference) * sizes,
        }
    }

    /// A·B.
    fn product<T: Scalar>(a: ArrayView2<T>, b: ArrayView2<T>) -> Rounded {
        let zeros = Array2::from_elem((a.nrows(), b.ncols()), T::from_f64(0.0));
        Rounded::new((1.0, a, b), (0.0, zeros.view()))
    }

    /// Checks C within the promised bound: the sums' error, and a rounding. Numbers here are far
    /// from overflow; f16 loses at most 2⁻²⁵ below its normal numbers.
    fn check<T: Scalar>(&self, c: ArrayView2<T>, what: &str) {
        assert_eq!(c.dim(), self.exact.dim(), "{what}");
        for ((place, c), (exact, of_sum)) in c
            .indexed_iter()
            .zip(self.exact.iter().zip(&self.error_of_sums))
        {
            let bound = of_sum + unit::<T>() * (exact.abs() + of_sum) + 2f64.powi(-25);
            let error = (c.to_f64() - exact).abs();
            assert!(
                error <= bound,
                "{what}, {} at {place:?}: {c:?} instead of {exact}",
                T::NAME
            );
        }
    }
}

/// A or B in one of four layouts.
fn laid_out<T: Scalar>(matrix: &Array2<T>, layout: usize) -> (Array2<T>, bool) {
    match layout {
        0 => (matrix.clone(), false),
        // Columns without gaps.
        _ => (matrix.t().as_standard_layout().into_owned(), true),
    }
}

fn every_layout<T: Scalar + ResultIn<T>>(devices: &[Device], sizes: Sizes) {
    let (a, b) = factors::<T>(sizes);
    let expected = Rounded::product(a.view(), b.view());
    for layouts in 0..4 {
        let ((of_a, a_turned), (of_b, b_turned)) =
            (laid_out(&a, layouts % 2), laid_out(&b, layouts / 2));
        let a = if a_turned { of_a.t() } else { of_a.view() };
        let b = if b_turned { of_b.t() } else { of_b.view() };
        for device in devices {
            let what = format!("{device}, {sizes:?}, layout {layouts}");
            let c = MatMul::new().matmul_as::<T, _, _, _>(device, a, b).unwrap();
            expected.check(c.view(), &what);
            let (a, b) = (device.upload(&of_a).unwrap(), device.upload(&of_b).unwrap());
            let (a, b) = (a.view(), b.view());
            let (a, b) = (
                if a_turned { a.t() } else { a },
                if b_turned { b.t() } else { b },
            );
            let resident = MatMul::new().matmul_device_as::<T, _, _, _>(a, b).unwrap();
            assert_eq!(resident.download().unwrap(), c, "{what}");
        }
    }
}

#[test]
fn of_every_size_and_layout() {
    // Around the tiles of 128×256 and 64 k, with and without pieces of 16 bytes.
    let sizes = [
        (1, 1, 1),
        (3, 5, 7),
        (128, 64, 256),
        (129, 72, 264),
        (136, 65, 257),
        (8, 200, 16),
        (260, 8, 40),
        // In parts of k.
        (20, 1500, 24),
    ];
    // The CPU rounds C in two blocks, and computes it on all threads.
    let blocks = [(300, 64, 520), (520, 64, 300)];
    let large = [(1000, 1016, 2048), (2049, 512, 1031), (96, 20_000, 128)];
    let each = |devices: &[Device], sizes| {
        every_layout::<f16>(devices, sizes);
        every_layout::<bf16>(devices, sizes);
    };
    for_sizes(devices(), &sizes, &blocks, each);
    for_sizes(with_kernels().collect(), &[], &large, each);
}

#[test]
fn alpha_and_beta() {
    fn of_type<T: Scalar<Sum = f32> + ResultIn<T>>(device: &Device) {
        for sizes in [(130, 72, 264), (37, 24, 19), (20, 1500, 24), (5, 0, 8)] {
            let (a, b) = factors::<T>(sizes);
            let before = random::<T>((2 * sizes.0, sizes.2), 3);
            for (alpha, beta) in [(1.0, 1.0), (-0.5, 0.25), (0.0, 0.5), (2.0, 0.0)] {
                // Every other row of C.
                let mut c = before.clone();
                let view = c.slice_mut(s![..;2, ..]);
                gemm(device, alpha, a.view(), b.view(), beta, view).unwrap();
                let what = format!("{device}, {sizes:?}, {alpha}, {beta}");
                let (alpha, beta) = (f64::from(alpha), f64::from(beta));
                let kept = before.slice(s![..;2, ..]);
                let expected = Rounded::new((alpha, a.view(), b.view()), (beta, kept));
                expected.check(c.slice(s![..;2, ..]), &what);
                assert_eq!(
                    c.slice(s![1..;2, ..]),
                    before.slice(s![1..;2, ..]),
                    "{what}"
                );
            }
        }
    }
    for device in devices() {
        of_type::<f16>(&device);
        of_type::<bf16>(&device);
    }
}

#[test]
fn batches_and_shared_factors() {
    let (m, k, n) = (40, 72, 48);
    for device in devices() {
        let numbers = |seed, shape: (usize, usize, usize)| -> Array3<bf16> {
            let all = random((shape.0 * shape.1, shape.2), seed);
            all.into_shape_with_order(shape).unwrap()
        };
        let (a, b) = (numbers(4, (5, m, k)), numbers(5, (1, k, n)));
        let c: Array3<bf16> = MatMul::new()
            .matmul_as(&device, a.view(), b.view())
            .unwrap();
        for (a, c) in a.outer_iter().zip(c.outer_iter()) {
            let b = b.index_axis(ndarray::Axis(0), 0);
            Rounded::product(a, b).check(c, &device.to_string());
        }
    }
}

/// Kernels that write sums, which are rounded afterwards.
#[test]
fn by_other_instructions() {
    for instructions in [Instructions::Fma, Instructions::Warp] {
        let with = MatMul::new().instructions(instructions);
        for device in with_kernels().filter(|device| has_instructions(device, with)) {
            let (a, b) = factors::<f16>((65, 17, 63));
            let c: Array2<f16> = with.matmul_as(&device, a.view(), b.view()).unwrap();
            let what = format!("{device}, {instructions:?}");
            Rounded::product(a.view(), b.view()).check(c.view(), &what);
        }
    }
}

#[test]
fn infinities_and_nan() {
    for device in devices() {
        let a = Array2::from_shape_fn((16, 8), |(row, k)| match (row, k) {
            (1, 0) => f16::INFINITY,
            (2, 0) => f16::NAN,
            _ => f16::from_f32(200.0),
        });
        let b = Array2::from_elem((8, 16), f16::from_f32(200.0));
        let c: Array2<f16> = MatMul::new()
            .matmul_as(&device, a.view(), b.view())
            .unwrap();
        // 8·200·200 is beyond the largest f16.
        assert!(c.row(0).iter().all(|&c| c == f16::INFINITY), "{device}");
        assert!(c.row(1).iter().all(|&c| c == f16::INFINITY), "{device}");
        assert!(c.row(2).iter().all(|c| c.is_nan()), "{device}");
    }
}
