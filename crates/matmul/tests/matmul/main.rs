//! Products of matrices, on every device, against ndarray's `dot` in f64.

mod adversarial;
mod calls;
mod cast;
mod devices;
mod emulated;
mod exact;
mod kernels;
mod page_locked;
mod properties;
mod rounded;
mod tiles;
mod vectors;

use gridstride::matmul::{MatMul, Scalar};
use gridstride::{Device, Error};
use ndarray::{Array2, ArrayView2};

use test_support::products::Expected;
use test_support::{Random, is_slow, small};

/// Calls a function for every type of numbers, with every precision.
macro_rules! for_types {
    ($run:ident($($argument:expr),*)) => {
        let with = gridstride::matmul::MatMul::new();
        $run::<f32>(with $(, $argument)*);
        $run::<f32>(with.precision(gridstride::matmul::Precision::Tf32) $(, $argument)*);
        $run::<f32>(with.precision(gridstride::matmul::Precision::F32ByBf16x6) $(, $argument)*);
        $run::<f64>(with $(, $argument)*);
        $run::<half::f16>(with $(, $argument)*);
        $run::<half::bf16>(with $(, $argument)*);
    };
}
use for_types;

/// Rows of A, its columns and rows of B, columns of B.
type Sizes = (usize, usize, usize);

/// A and B with these sizes.
fn factors<T: Scalar>((m, k, n): Sizes) -> (Array2<T>, Array2<T>) {
    (random((m, k), 1), random((k, n), 2))
}

/// Numbers between -1 and 1 with all their digits.
fn random<T: Scalar>(shape: (usize, usize), seed: u64) -> Array2<T> {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    Array2::from_shape_simple_fn(shape, || {
        T::from_f64((random.bits() >> 11) as f64 / (1u64 << 52) as f64 - 1.0)
    })
}

/// Checks `sizes` on all devices, and `more` on the fast ones.
fn for_sizes<S: Copy>(
    mut devices: Vec<Device>,
    sizes: &[S],
    more: &[S],
    check: impl Fn(&[Device], S),
) {
    let count = if small() { 8 } else { sizes.len() };
    (sizes.iter().take(count)).for_each(|&size| check(&devices, size));
    devices.retain(|device| !is_slow(device));
    if !devices.is_empty() {
        more.iter().for_each(|&size| check(&devices, size));
    }
}

/// Whether a device has the requested instructions. Says on stderr if the device is skipped.
fn has_instructions(device: &Device, with: MatMul) -> bool {
    let one = ndarray::array![[1.0f64]];
    match with.matmul(device, one.view(), one.view()) {
        Ok(_) => true,
        Err(error @ Error::Unavailable { .. }) => {
            eprintln!("skipped: {error}");
            false
        }
        Err(error) => panic!("{device}: {error}"),
    }
}

/// Multiplies, and compares with the reference.
#[track_caller]
fn check_product<T: Scalar>(device: &Device, with: MatMul, a: ArrayView2<T>, b: ArrayView2<T>) {
    let c = with.matmul(device, a, b).unwrap();
    check(device, with, a, b, c.view());
}

/// Checks that C is A·B within the promised bound.
fn check<T: Scalar>(
    device: &Device,
    with: MatMul,
    a: ArrayView2<T>,
    b: ArrayView2<T>,
    c: ArrayView2<T::Sum>,
) {
    Expected::new(a, b).check(device, with, a, b, c);
}
