//! The plain ndarray version, as a reference for tests.

use ndarray::{Array2, ArrayView2, s};

use super::{Component, Metric, Windows};

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

/// Computes the slide distances of all sequences of `a` to all of `b` in `f64`: N×M. The distance
/// to a sequence without windows is NaN.
///
/// Numbers are not scaled, so squares may leave the range of `f64`.
///
/// # Panics
/// Panics if the windows of `a` and `b` differ in length.
///
/// ```
/// use gridstride::distances::{Metric, Windows, reference};
/// use ndarray::array;
///
/// let (a, b) = (array![[0.0, 0.0], [1.0, 1.0]], array![[3.0, 4.0]]);
/// let (a, b) = (Windows::new(a.view(), &[0, 2])?, Windows::new(b.view(), &[0, 1])?);
/// assert_eq!(reference::slide_distances(a, b, Metric::L2), array![[5.0]]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn slide_distances<T: Component>(a: Windows<T>, b: Windows<T>, metric: Metric) -> Array2<f64> {
    let sequences = |windows: Windows<T>| -> Vec<Array2<f64>> {
        let ranges = windows.offsets.windows(2);
        ranges
            .map(|ends| windows.rows.slice(s![ends[0]..ends[1], ..]).mapv(T::to_f64))
            .collect()
    };
    let (a, b) = (sequences(a), sequences(b));
    Array2::from_shape_fn((a.len(), b.len()), |(i, j)| {
        let count = a[i].nrows().min(b[j].nrows());
        let common = s![..count, ..];
        let squared = (&a[i].slice(common) - &b[j].slice(common)).pow2().sum();
        match (count, metric) {
            (0, _) => f64::NAN,
            (_, Metric::L2) => squared.sqrt(),
            (_, Metric::SquaredL2) => squared,
        }
    })
}
