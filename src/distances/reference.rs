//! The plain ndarray version, as a reference for tests.

use ndarray::{Array2, ArrayView2};

use super::{Component, Metric};

/// Computes the distances of all rows of `a` to all rows of `b` in `f64`: N×D, M×D → N×M.
///
/// Numbers are not scaled, so squares may leave the range of `f64`.
///
/// # Panics
/// Panics if the rows of `a` and `b` differ in length.
///
/// ```
/// use gridstride::distances::{Metric, reference};
/// use ndarray::array;
///
/// let (a, b) = (array![[0.0f32, 0.0], [3.0, 0.0]], array![[3.0, 4.0]]);
/// assert_eq!(reference::distances(a.view(), b.view(), Metric::L2), array![[5.0], [4.0]]);
/// ```
pub fn distances<T: Component>(a: ArrayView2<T>, b: ArrayView2<T>, metric: Metric) -> Array2<f64> {
    let (a, b) = (a.mapv(T::to_f64), b.mapv(T::to_f64));
    Array2::from_shape_fn((a.nrows(), b.nrows()), |(i, j)| {
        let squared = (&a.row(i) - &b.row(j)).pow2().sum();
        match metric {
            Metric::L2 => squared.sqrt(),
            Metric::SquaredL2 => squared,
        }
    })
}
