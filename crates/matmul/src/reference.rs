//! The plain ndarray version, as a reference for tests.

use ndarray::{Array2, ArrayView2};

use super::element::Scalar;

/// Computes A·B in `f64`: ndarray's `dot` of the matrices converted to `f64`, which is exact.
///
/// # Panics
/// Panics if the shapes do not fit.
///
/// ```
/// use gridstride::matmul::reference;
/// use ndarray::array;
///
/// let a = array![[1.0f32, 2.0]];
/// let b = array![[3.0f32], [4.0]];
/// assert_eq!(reference::matmul(a.view(), b.view()), array![[11.0]]);
/// ```
pub fn matmul<T: Scalar>(a: ArrayView2<T>, b: ArrayView2<T>) -> Array2<f64> {
    a.mapv(T::to_f64).dot(&b.mapv(T::to_f64))
}

/// Computes |A|·|B|, a factor of the error bounds of a product.
///
/// # Panics
/// Panics if the shapes do not fit.
///
/// ```
/// use gridstride::matmul::reference;
/// use ndarray::array;
///
/// let a = array![[1.0f32, -2.0]];
/// let b = array![[-3.0f32], [4.0]];
/// assert_eq!(reference::magnitudes(a.view(), b.view()), array![[11.0]]);
/// ```
pub fn magnitudes<T: Scalar>(a: ArrayView2<T>, b: ArrayView2<T>) -> Array2<f64> {
    let magnitude = |number: T| number.to_f64().abs();
    a.mapv(magnitude).dot(&b.mapv(magnitude))
}
