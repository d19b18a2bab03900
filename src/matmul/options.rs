//! What a caller may choose of a multiplication.

use super::Scalar;
use crate::Real;

/// The precision of products of `f32`. Other types have a single one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// Products and sums in the type of C.
    #[default]
    Full,
    /// Reads the upper 19 bits of each `f32` of A and B, of which 10 are behind the binary point, and sums in `f32`.
    /// This runs on tensor cores, from compute capability 8.0 on, and is several times as fast. On other devices, and
    /// with [`Instructions::Fma`], it is the same as `Full`. A NaN whose upper bits are all zero becomes infinite.
    Tf32,
}

/// Which instructions multiply on a GPU; the CPU has no choice.
///
/// A type without kernels of these instructions uses the next simpler ones: `f64` has no kernels of warp groups, and `f32`
/// in [`Precision::Full`] has only fused multiply-adds. Products of `f32` and `f64` with at most 16 rows or columns of C
/// always use fused multiply-adds, which are as fast as memory there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Instructions {
    /// The fastest that the device has.
    #[default]
    Auto,
    /// Fused multiply-adds, on every device.
    Fma,
    /// Matrix instructions of warps, from compute capability 8.0 on.
    Warp,
    /// Matrix instructions of warp groups, on compute capability 9.0.
    WarpGroup,
}

/// A matrix multiplication with options. [`matmul()`](super::matmul()) and [`gemm`](super::gemm) use the defaults.
///
/// ```
/// use gridstride::Device;
/// use gridstride::matmul::{MatMul, Precision};
/// use ndarray::array;
///
/// let a = array![[1.5f32, 2.0], [3.0, 4.0]];
/// let c = MatMul::new().precision(Precision::Tf32).matmul(&Device::auto(), a.view(), a.view())?;
/// assert_eq!(c, array![[8.25, 11.0], [16.5, 22.0]]);
/// # Ok::<(), gridstride::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct MatMul {
    pub(super) precision: Precision,
    pub(super) instructions: Instructions,
}

impl MatMul {
    /// Returns a multiplication with the default options.
    pub fn new() -> MatMul {
        MatMul::default()
    }

    /// Sets the precision of products of `f32`. The default is [`Precision::Full`].
    pub fn precision(self, precision: Precision) -> MatMul {
        MatMul { precision, ..self }
    }

    /// Sets the instructions that multiply on a GPU. The default is [`Instructions::Auto`].
    pub fn instructions(self, instructions: Instructions) -> MatMul {
        MatMul {
            instructions,
            ..self
        }
    }

    /// Returns the factor f for which |C − (α·A·B + β·C₀)| ≤ f·(|α|·|A|·|B| + |β|·|C₀|) for each element, on every
    /// device, unless numbers overflow or underflow.
    ///
    /// Whatever the order of additions, no product goes through more than k roundings on its way into an element,
    /// one more for α and one for β: f is γ_{k+2}, with γ_n = n·u / (1 − n·u) (Higham, 'Accuracy and Stability of
    /// Numerical Algorithms', section 3.5). u is 2⁻⁵³ for `f64`, 2⁻²⁴ for `f32`, and 2⁻²³ where tensor cores sum
    /// up in `f32`: an instruction shifts its products and the sum so far to the largest exponent among them and cuts
    /// off what is beyond the 24 bits of `f32` and at least one more, as has been measured for all generations (Fasi et
    /// al., 'Numerical behavior of NVIDIA tensor cores', 2021). That is 2⁻²⁴ for each product, and as much for each of
    /// fewer than k sums. In [`Precision::Tf32`] each number of A and B is 2⁻¹⁰ off at most before that.
    ///
    /// ```
    /// use gridstride::matmul::MatMul;
    ///
    /// assert!(MatMul::new().error_factor::<f64>(1000) < 1.2e-13);
    /// ```
    pub fn error_factor<T: Scalar>(&self, k: usize) -> f64 {
        let is_f64 = T::Sum::UNIT_ROUNDOFF == f64::UNIT_ROUNDOFF;
        let is_f32 = !is_f64 && size_of::<T>() == size_of::<f32>();
        let is_tf32 = is_f32 && self.precision == Precision::Tf32;
        let u = if is_f64 || is_f32 && !is_tf32 {
            T::Sum::UNIT_ROUNDOFF
        } else {
            2.0 * T::Sum::UNIT_ROUNDOFF
        };
        let roundings = (k as f64 + 2.0) * u;
        if roundings >= 1.0 {
            return f64::INFINITY;
        }
        let sums = roundings / (1.0 - roundings);
        let cut = if is_tf32 { 2f64.powi(-10) } else { 0.0 };
        (1.0 + cut).powi(2) * (1.0 + sums) - 1.0
    }
}
