//! The expected distances of rows of whole numbers, and how far a result may be from them.
//!
//! # The bound
//!
//! The numbers are whole ones times a power of two, exact in their type, so that the squared
//! distances are exact in `i128`. A device's are off by at most γ_{D+4}(u) times themselves, with
//! the unit roundoff u of its arithmetic, that of the numbers or on the CPU `f64`'s: the
//! documentation of `distances` derives it, and what it adds for rows of very different magnitudes.
//! The exact distance has two roundings on its way to `f64`, (1 + θ) with |θ| ≤ γ_2(2⁻⁵³), and one
//! more where it is subnormal. So |device − expected| ≤ (γ + γ') / (1 − γ') · expected, and the
//! smallest number.

use gridstride::Device;
use gridstride::device::DeviceKind;
use gridstride::distances::Metric::{L2, SquaredL2};
use gridstride::distances::{Component, Metric, Nearest};
use ndarray::Array2;

use super::gamma;

pub trait Number: Component + std::fmt::Debug + PartialEq {
    /// Whole numbers below 2 to the power of this are exact.
    const DIGITS: u32;
    const NAN: Self;
    const INFINITY: Self;
    /// `whole` · 2^`exponent`, which is exact.
    fn new(whole: i64, exponent: i32) -> Self;
}

macro_rules! number {
    ($($type:ident)*) => {$(
        impl Number for $type {
            const DIGITS: u32 = $type::MANTISSA_DIGITS;
            const NAN: $type = $type::NAN;
            const INFINITY: $type = $type::INFINITY;
            fn new(whole: i64, exponent: i32) -> $type {
                // In two steps, neither of which leaves the range.
                let half = exponent / 2;
                let power = |exponent: i32| f64::from(exponent).exp2();
                (whole as f64 * power(half) * power(exponent - half)) as $type
            }
        }
    )*};
}
number! { f32 f64 }

pub fn numbers<T: Number>(whole: &Array2<i64>, exponent: i32) -> Array2<T> {
    whole.mapv(|whole| T::new(whole, exponent))
}

pub fn expected(a: &Array2<i64>, b: &Array2<i64>, exponent: i32, metric: Metric) -> Array2<f64> {
    let power = f64::from(exponent).exp2();
    Array2::from_shape_fn((a.nrows(), b.nrows()), |(i, j)| {
        let pairs = a.row(i).into_iter().zip(b.row(j));
        let sum: i128 = pairs.map(|(a, b)| i128::from(a - b).pow(2)).sum();
        match metric {
            L2 => (sum as f64).sqrt() * power,
            SquaredL2 => sum as f64 * power * power,
        }
    })
}

/// The unit roundoff of a device's arithmetic.
fn roundoff<T: Number>(device: &Device) -> f64 {
    let digits = match device.kind() {
        DeviceKind::Cpu => f64::MANTISSA_DIGITS,
        _ => T::DIGITS,
    };
    f64::from(digits).exp2().recip()
}

#[track_caller]
pub fn check<T: Number>(device: &Device, dim: usize, result: &Array2<f64>, expected: &Array2<f64>) {
    assert_eq!(result.dim(), expected.dim());
    let own = gamma(dim + 4, roundoff::<T>(device));
    let exact = gamma(2, 2f64.powi(-53));
    let relative = (own + exact) / (1.0 - exact);
    for ((place, &result), &expected) in result.indexed_iter().zip(expected) {
        assert!(
            result == expected
                || (result - expected).abs() <= relative * expected + f64::from_bits(1),
            "{device}, {:?}, D = {dim}, {place:?}: {result:e} instead of {expected:e}",
            result.is_finite(),
        );
    }
}

/// Sorts each row of a matrix by distance, then by index.
pub fn sorted(matrix: &Array2<f64>, k: usize) -> Nearest {
    let shape = (matrix.nrows(), k);
    let mut found = Nearest {
        indices: Array2::zeros(shape),
        distances: Array2::zeros(shape),
    };
    for (i, row) in matrix.outer_iter().enumerate() {
        let mut order: Vec<usize> = (0..row.len()).collect();
        order.sort_by(|&a, &b| row[a].total_cmp(&row[b]).then(a.cmp(&b)));
        for (j, &index) in order[..k].iter().enumerate() {
            found.indices[[i, j]] = index as u64;
            found.distances[[i, j]] = row[index];
        }
    }
    found
}
