//! Matrices to multiply, and what their products have to be.

use gridstride::Device;
use gridstride::Number;
use gridstride::matmul::{MatMul, Precision, Scalar, reference};
use ndarray::{Array2, ArrayView2};

/// A type of numbers, with how it is multiplied.
pub enum Kind {
    F32(MatMul),
    F64(MatMul),
    F16(MatMul),
    Bf16(MatMul),
}

/// Every type, and every precision.
pub fn types() -> [Kind; 5] {
    let with = MatMul::new();
    [
        Kind::F32(with),
        Kind::F32(with.precision(Precision::Tf32)),
        Kind::F64(with),
        Kind::F16(with),
        Kind::Bf16(with),
    ]
}

/// Numbers between -1 and 1 with all their digits.
pub fn random<T: Scalar>(shape: (usize, usize), seed: u64) -> Array2<T> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Array2::from_shape_simple_fn(shape, || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        let mixed = (state ^ (state >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        T::from_f64((mixed >> 11) as f64 / (1u64 << 52) as f64 - 1.0)
    })
}

/// Whether a device has the instructions that are asked for; otherwise that it is skipped is said.
pub fn has_instructions(device: &Device, with: MatMul) -> bool {
    let one = ndarray::array![[1.0f64]];
    match with.matmul(device, one.view(), one.view()) {
        Ok(_) => true,
        Err(error) => {
            eprintln!("skipped: {error}");
            false
        }
    }
}

/// That C is A·B within the bound that is promised.
pub fn check<T: Scalar>(
    device: &Device,
    with: MatMul,
    a: ArrayView2<T>,
    b: ArrayView2<T>,
    c: ArrayView2<T::Sum>,
) {
    let (exact, sizes) = (reference::matmul(a, b), reference::magnitudes(a, b));
    let factor = with.error_factor::<T>(a.ncols());
    // The reference's own error.
    let factor = factor + MatMul::new().error_factor::<f64>(a.ncols());
    for ((place, c), (exact, size)) in c.indexed_iter().zip(exact.iter().zip(&sizes)) {
        let error = (c.to_f64() - exact).abs();
        assert!(
            error <= factor * size,
            "{device}, {with:?}, {} {:?}·{:?}, strides {:?} {:?}, at {place:?}: {c:?} instead of {exact}",
            std::any::type_name::<T>(),
            a.dim(),
            b.dim(),
            a.strides(),
            b.strides(),
        );
    }
}
