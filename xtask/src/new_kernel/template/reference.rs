//! The plain ndarray version.

use ndarray::{Array1, ArrayView2, Axis};

/// Returns the sum of each row, M×N → M.
pub fn row_sums(matrix: ArrayView2<f32>) -> Array1<f32> {
    matrix.sum_axis(Axis(1))
}
