//! Products of matrices.

use arbitrary::{Result, Unstructured};
use gridstride::Device;
use gridstride::Number;
use gridstride::matmul::{Instructions, MatMul, Precision, Scalar};
use half::{bf16, f16};
use ndarray::{Array2, ArrayView2};

use super::most;
use crate::inputs::{Strided, size};
use test_support::products::Expected;

/// Multiplies matrices of any type.
pub fn matmul(device: &Device, u: &mut Unstructured) -> Result<()> {
    match u.int_in_range(0..=3)? {
        0 => product::<f32>(device, u),
        1 => product::<f64>(device, u),
        2 => product::<f16>(device, u),
        _ => product::<bf16>(device, u),
    }
}

/// What the elements of A and B are.
#[derive(Clone, Copy, PartialEq)]
enum Values {
    /// Small whole numbers, whose products and sums are exact in every type.
    Whole,
    /// Such numbers, NaN, infinities and both zeros.
    Special,
    /// Numbers with all their digits, none of whose products overflows or underflows.
    Digits,
}

impl Values {
    fn draw<T: Scalar>(self, u: &mut Unstructured) -> Result<T> {
        let number = match (self, u.arbitrary::<u8>()?) {
            (Values::Special, 0) => f64::NAN,
            (Values::Special, 1) => f64::INFINITY,
            (Values::Special, 2) => f64::NEG_INFINITY,
            (Values::Special, 3) => -0.0,
            (Values::Digits, exponent) => {
                let digits = f64::from(u.arbitrary::<i32>()?) / f64::from(1u32 << 31);
                digits * f64::from(i32::from(exponent % 16) - 8).exp2()
            }
            (_, number) => f64::from(number % 9) - 4.0,
        };
        Ok(T::from_f64(number))
    }
}

fn product<T: Scalar>(device: &Device, u: &mut Unstructured) -> Result<()> {
    let most = most(device, 70, 34);
    let (m, k, n) = (size(u, most)?, size(u, most)?, size(u, most)?);
    let precisions = [Precision::Full, Precision::Tf32, Precision::F32ByBf16x6];
    let instructions = [
        Instructions::Auto,
        Instructions::Fma,
        Instructions::Warp,
        Instructions::WarpGroup,
    ];
    let precision = *u.choose(&precisions)?;
    let instructions = *u.choose(&instructions)?;
    let with = MatMul::new()
        .precision(precision)
        .instructions(instructions);
    let values = *u.choose(&[Values::Whole, Values::Special, Values::Digits])?;
    // What is between the elements does not matter.
    let junk = T::from_f64(f64::NAN);
    let a = Strided::new(u, (m, k), junk, |u| values.draw::<T>(u))?;
    let rows = if u.ratio(1, 16)? { size(u, most)? } else { k };
    let b = Strided::new(u, (rows, n), junk, |u| values.draw::<T>(u))?;
    let (strided_a, strided_b) = (a, b);
    let (a, b) = (strided_a.view(), strided_b.view());
    if rows != k {
        assert!(with.matmul(device, a, b).is_err());
        return Ok(());
    }
    let one = Array2::from_elem((1, 1), T::from_f64(1.0));
    if with.matmul(device, one.view(), one.view()).is_err() {
        // The device has no such instructions.
        let is_plain = matches!(
            (precision, instructions),
            (Precision::Full, Instructions::Auto)
        );
        assert!(!is_plain, "{device} refuses a plain product");
        return Ok(());
    }
    let c = with.matmul(device, a, b).unwrap();
    let (there_a, there_b) = (strided_a.upload(device), strided_b.upload(device));
    let (there_a, there_b) = (strided_a.view_in(&there_a), strided_b.view_in(&there_b));
    let there_c = with.matmul_device(there_a, there_b).unwrap();
    let there_c = there_c.download().unwrap();
    if values == Values::Digits {
        let expected = Expected::new(a, b);
        expected.check(device, with, a, b, c.view());
        expected.check(device, with, a, b, there_c.view());
        return Ok(());
    }
    let exact = sums(a, b);
    same(&exact, c.view(), &with);
    same(&exact, there_c.view(), &with);

    // α·A·B + β·C in a view with gaps, which keep their content.
    let [alpha, beta] = [u.int_in_range(-2..=2)?, u.int_in_range(-2..=2)?].map(f64::from);
    let before = T::Sum::from_f64(f64::from(u.int_in_range(-4..=4i8)?));
    let before = if beta == 0.0 {
        T::Sum::from_f64(f64::NAN)
    } else {
        before
    };
    let mut c = Strided::new(u, (m, n), before, |_| Ok(before))?;
    let factors = [alpha, beta].map(T::Sum::from_f64);
    let mut there_c = device.upload(&c.view()).unwrap();
    with.gemm(device, factors[0], a, b, factors[1], c.view_mut())
        .unwrap();
    with.gemm_device(factors[0], there_a, there_b, factors[1], &mut there_c)
        .unwrap();
    let kept = if beta == 0.0 {
        0.0
    } else {
        beta * before.to_f64()
    };
    let expected = exact.mapv(|sum| {
        // By the rules of BLAS, A and B are not read.
        let product = if alpha == 0.0 || k == 0 {
            0.0
        } else {
            alpha * sum
        };
        product + kept
    });
    same(&expected, c.view(), &with);
    same(&expected, there_c.download().unwrap().view(), &with);
    Ok(())
}

/// Adds the products one after the other, which is exact for whole numbers, and for others gives
/// the infinity or NaN that any order gives.
fn sums<T: Scalar>(a: ArrayView2<T>, b: ArrayView2<T>) -> Array2<f64> {
    Array2::from_shape_fn((a.nrows(), b.ncols()), |(i, j)| {
        let products = a.row(i).into_iter().zip(b.column(j));
        products.map(|(a, b)| a.to_f64() * b.to_f64()).sum()
    })
}

/// Compares numbers. NaN is equal to NaN.
fn same<C: Number>(expected: &Array2<f64>, found: ArrayView2<C>, with: &MatMul) {
    assert_eq!(found.dim(), expected.dim());
    for ((place, found), expected) in found.indexed_iter().zip(expected) {
        let found = found.to_f64();
        assert!(
            found == *expected || found.is_nan() && expected.is_nan(),
            "{with:?}, {place:?}: {found} instead of {expected}"
        );
    }
}
