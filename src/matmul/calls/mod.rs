//! The calls: products of host arrays, and of arrays in a device's memory.

mod device;
mod host;

use ndarray::{Array, ArrayView, ArrayViewMut, Dimension};

use super::element::{ResultIn, Scalar};
use super::input::MatrixDimension;
use super::options::{MatMul, Precision};
use crate::{DeviceSet, Number, Real, Result};

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
    /// 2⁻²³ if tensor cores sum in `f32`: an instruction shifts its products and the previous sum
    /// to the largest exponent among them and truncates to the 24 bits of `f32` and at least one
    /// more, as measured for all generations (Fasi et al., 'Numerical behavior of NVIDIA tensor
    /// cores', 2021). The error is 2⁻²⁴ for each product, and 2⁻²⁴ for each of fewer than k sums.
    /// [`Precision::Tf32`] first truncates A and B, with relative errors of at most 2⁻¹⁰. A C of
    /// `f16` or `bf16` is rounded once more, with a relative error of at most u = 2⁻¹¹ or 2⁻⁸: its
    /// factor is (1 + f)·(1 + u) − 1.
    ///
    /// ```
    /// use gridstride::matmul::MatMul;
    ///
    /// assert!(MatMul::new().error_factor::<f64>(1000) < 1.2e-13);
    /// ```
    pub fn error_factor<T: Scalar>(&self, k: usize) -> f64 {
        let is_tf32 = size_of::<T>() == size_of::<f32>() && self.precision == Precision::Tf32;
        let uses_tensor_cores = is_tf32 || size_of::<T>() < size_of::<f32>();
        let u = T::Sum::UNIT_ROUNDOFF * if uses_tensor_cores { 2.0 } else { 1.0 };
        let roundings = (k as f64 + 2.0) * u;
        if roundings >= 1.0 {
            return f64::INFINITY;
        }
        let sums = roundings / (1.0 - roundings);
        let cut = if is_tf32 { 2f64.powi(-10) } else { 0.0 };
        (1.0 + cut).powi(2) * (1.0 + sums) - 1.0
    }
}
