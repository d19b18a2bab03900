//! The plain ndarray version.

use ndarray::{Array1, ArrayView2, Axis};

/// Returns the sum of each row in `f64`, M×N → M.
///
/// ```
/// use gridstride::row_sums::reference;
/// use ndarray::array;
///
/// assert_eq!(reference::row_sums(array![[1.0, 2.0]].view()), array![3.0]);
/// ```
pub fn row_sums(matrix: ArrayView2<f32>) -> Array1<f64> {
    matrix.mapv(f64::from).sum_axis(Axis(1))
}
