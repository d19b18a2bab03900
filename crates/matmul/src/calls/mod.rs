//! The calls: products of host arrays, and of arrays in a device's memory.

mod cast;
mod host;
mod resident;

pub use self::cast::Cast;

use gridstride_runtime::{DeviceSet, Number, Real, Result};
use ndarray::{Array, ArrayView, ArrayViewMut, Dimension};

use super::element::{ResultIn, Scalar};
use super::input::MatrixDimension;
use super::options::{EMULATED_CHUNK, EMULATED_SUM, MatMul, Precision};

/// Multiplies A by B with the default options, as [`MatMul::matmul`]: M×K · K×N → M×N, M×K · K → M,
/// K · K×N → N, or for each matrix of a batch B×M×K · B×K×N → B×M×N.
///
/// ```
/// use gridstride::{Device, matmul::matmul};
/// use ndarray::array;
///
/// let a = array![[1.0f32, 2.0]];
/// assert_eq!(matmul(&Device::auto(), a.view(), a.t())?, array![[5.0]]);
/// assert_eq!(matmul(&Device::auto(), a.view(), a.row(0))?, array![5.0]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn matmul<T: Scalar, DA: MatrixDimension<DB>, DB: Dimension>(
    devices: &(impl DeviceSet + ?Sized),
    a: ArrayView<T, DA>,
    b: ArrayView<T, DB>,
) -> Result<Array<T::Sum, DA::Product>> {
    MatMul::new().matmul(devices, a, b)
}

/// Computes C = α·A·B + β·C with the default options, as [`MatMul::gemm`].
///
/// ```
/// use gridstride::{Device, matmul::gemm};
/// use ndarray::array;
///
/// let (a, b) = (array![[1.0, 2.0]], array![[3.0], [4.0]]);
/// let mut c = array![[1.0]];
/// gemm(&Device::auto(), 10.0, a.view(), b.view(), 1.0, c.view_mut())?;
/// assert_eq!(c, array![[111.0]]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn gemm<T: Scalar + ResultIn<C>, C: Number, DA: MatrixDimension<DB>, DB: Dimension>(
    devices: &(impl DeviceSet + ?Sized),
    alpha: T::Sum,
    a: ArrayView<T, DA>,
    b: ArrayView<T, DB>,
    beta: T::Sum,
    c: ArrayViewMut<C, DA::Product>,
) -> Result<()> {
    MatMul::new().gemm(devices, alpha, a, b, beta, c)
}

impl MatMul {
    /// Returns the factor f for which |C − (α·A·B + β·C₀)| ≤ f·(|α|·|A|·|B| + |β|·|C₀|) for each
    /// element, on every device, unless numbers overflow or underflow.
    ///
    /// Whatever the order of additions, each product takes part in at most k roundings, one more
    /// for α and one for β: f is γ_{k+2}, with γ_n = n·u / (1 − n·u) (Higham, 'Accuracy and
    /// Stability of Numerical Algorithms', section 3.5). u is 2⁻⁵³ for `f64`, 2⁻²⁴ for `f32`, and
    /// 2⁻²³ for types and precisions that tensor cores may sum in `f32`: an instruction shifts its products and the previous sum
    /// to the largest exponent among them and truncates to the 24 bits of `f32` and at least one
    /// more, as measured for all generations (Fasi et al., 'Numerical behavior of NVIDIA tensor
    /// cores', 2021). The error is 2⁻²⁴ for each product, and 2⁻²⁴ for each of fewer than k sums.
    /// [`Precision::Tf32`] first truncates A and B, with relative errors of at most 2⁻¹⁰. A C of
    /// `f16` or `bf16` is rounded once more, with a relative error of at most u = 2⁻¹¹ or 2⁻⁸: its
    /// factor is (1 + f)·(1 + u) − 1.
    ///
    /// Products of `f32` and `f64` in [`Precision::Full`] that underflow add at most
    /// (k·|α| + 2)·η/2, with the smallest positive number η, 2⁻¹⁴⁹ or 2⁻¹⁰⁷⁴: each product that is
    /// added, the product with α and that with β lose at most η/2, and sums of numbers below the
    /// normal range are exact.
    ///
    /// In [`Precision::F32ByBf16x6`], the second term of a number is at most v·(1 + v) and the third
    /// at most v² times the number, where v = 2⁻⁸ is the unit roundoff of `bf16`. The products that
    /// are left out are at most 2v³(1 + v) + v⁴ < 2⁻²² of |A|·|B|. The others are summed from the
    /// smallest on, for K = min(k, 4096) at a time. The 3K products of the smallest terms are
    /// together at most 3v²(1 + v)² of |A|·|B|, the next 2K at most 2v(1 + v)², and those of first
    /// terms at most (1 + v)². The first J = min(k, 2048) products of first terms end the sum, and
    /// each further sum of J is added to C. With u = 2⁻²³, the errors are at most γ_(5K+J), γ_(2K+J)
    /// and γ_J times these shares. Some devices add sums of 3K, 2K and J products to C instead, with
    /// smaller errors. Together this is less than f = (1 + 2⁻⁵)·γ_n + 2⁻²² with
    /// n = J + K/60 + ⌈k/2048⌉ + 2·⌈k/4096⌉ + 2. The factor is the larger of f and the factor of
    /// `Full`, in which some devices and sizes are computed. In addition, an element of A or B below
    /// 2⁻¹¹⁰ has an error of up to 2⁻¹³⁴, times the elements that it is multiplied by.
    ///
    /// ```
    /// use gridstride::matmul::MatMul;
    ///
    /// assert!(MatMul::new().error_factor::<f64>(1000) < 1.2e-13);
    /// ```
    pub fn error_factor<T: Scalar>(&self, k: usize) -> f64 {
        let is_single = size_of::<T>() == size_of::<f32>();
        let is_tf32 = is_single && self.precision == Precision::Tf32;
        let uses_tensor_cores = is_tf32 || size_of::<T>() < size_of::<f32>();
        let u = T::Sum::UNIT_ROUNDOFF * if uses_tensor_cores { 2.0 } else { 1.0 };
        let sums = gamma(k as f64 + 2.0, u);
        if is_single && self.precision == Precision::F32ByBf16x6 {
            let (sum, chunk) = (k.min(EMULATED_SUM), k.min(EMULATED_CHUNK));
            let additions = k.div_ceil(EMULATED_SUM) + 2 * k.div_ceil(EMULATED_CHUNK) + 2;
            let roundings = (sum + additions) as f64 + chunk as f64 / 60.0;
            return sums.max((1.0 + 2f64.powi(-5)) * gamma(roundings, 2.0 * u) + 2f64.powi(-22));
        }
        let cut = if is_tf32 { 2f64.powi(-10) } else { 0.0 };
        (1.0 + cut).powi(2) * (1.0 + sums) - 1.0
    }
}

/// Bounds the relative error of `count` roundings by the unit roundoff `u` each.
fn gamma(count: f64, u: f64) -> f64 {
    match count * u {
        roundings if roundings < 1.0 => roundings / (1.0 - roundings),
        _ => f64::INFINITY,
    }
}
