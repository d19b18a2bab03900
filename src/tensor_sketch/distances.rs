//! Distances between sketches.

use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;

use super::invalid_input;
use crate::{Error, Result};

/// How to measure the distance of two rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// √Σ (a − b)², the Euclidean distance.
    L2,
    /// Σ (a − b)².
    SquaredL2,
}

/// The distances of all rows of `a` to all rows of `b`: N×D, M×D → N×M.
///
/// Views may have any strides; others than row-major ones are copied. Differences and sums are in
/// `f64`, because the squares of sketches that were not normalised leave `f32`'s range. Results are
/// the same from run to run and whatever the number of threads.
///
/// # Errors
///
/// - [`Error::Shape`] when the rows of `a` and `b` differ in length.
/// - [`Error::InvalidInput`] for a row that is not finite.
///
/// # Examples
///
/// ```
/// use gridstride::tensor_sketch::{Metric, distances};
/// use ndarray::array;
///
/// let a = array![[0.0, 0.0], [3.0, 0.0]];
/// let b = array![[3.0, 4.0]];
/// assert_eq!(distances(a.view(), b.view(), Metric::L2)?, array![[5.0], [4.0]]);
/// assert_eq!(distances(a.view(), b.view(), Metric::SquaredL2)?, array![[25.0], [16.0]]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn distances(a: ArrayView2<f32>, b: ArrayView2<f32>, metric: Metric) -> Result<Array2<f64>> {
    const OPERATION: &str = "distances";
    if a.ncols() != b.ncols() {
        let message = format!(
            "a is {:?} and b is {:?}: their rows must have the same length",
            a.dim(),
            b.dim()
        );
        return Err(Error::Shape {
            operation: OPERATION,
            message,
        });
    }
    check_finite(OPERATION, "a", a)?;
    check_finite(OPERATION, "b", b)?;
    let (a, b) = (a.as_standard_layout(), b.as_standard_layout());
    let (a, b) = (rows(a.view()), rows(b.view()));
    let mut result = Array2::zeros((a.len(), b.len()));
    result
        .outer_iter_mut()
        .into_par_iter()
        .zip(&a)
        .for_each(|(mut line, row)| {
            for (distance, other) in line.iter_mut().zip(&b) {
                *distance = distance_of(row, other, metric);
            }
        });
    Ok(result)
}

/// The distances of all rows of `a` to each other: N×D → N×N, symmetric with a zero diagonal.
///
/// Each pair is computed once; otherwise as [`distances`].
///
/// # Errors
///
/// [`Error::InvalidInput`] for a row that is not finite.
///
/// # Examples
///
/// ```
/// use gridstride::tensor_sketch::{Metric, pairwise};
/// use ndarray::array;
///
/// let sketches = array![[0.0, 0.0], [3.0, 4.0]];
/// assert_eq!(pairwise(sketches.view(), Metric::L2)?, array![[0.0, 5.0], [5.0, 0.0]]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn pairwise(a: ArrayView2<f32>, metric: Metric) -> Result<Array2<f64>> {
    check_finite("pairwise", "a", a)?;
    let a = a.as_standard_layout();
    let a = rows(a.view());
    let mut result = Array2::zeros((a.len(), a.len()));
    // Long rows of the triangle first, so that no thread is left alone at the end.
    let lines: Vec<_> = result.outer_iter_mut().enumerate().rev().collect();
    lines
        .into_par_iter()
        .with_max_len(1)
        .for_each(|(i, mut line)| {
            for (distance, other) in line.iter_mut().zip(&a[..i]) {
                *distance = distance_of(a[i], other, metric);
            }
        });
    for i in 0..a.len() {
        for j in 0..i {
            result[[j, i]] = result[[i, j]];
        }
    }
    Ok(result)
}

fn check_finite(operation: &'static str, name: &str, view: ArrayView2<f32>) -> Result<()> {
    let mut rows = view.outer_iter().enumerate();
    match rows.find(|(_, row)| !row.iter().all(|value| value.is_finite())) {
        None => Ok(()),
        Some((i, _)) => {
            let message = format!("row {i} of {name} has a value that is NaN or infinite");
            Err(invalid_input(operation, message))
        }
    }
}

/// The rows of a row-major view as slices.
fn rows(view: ArrayView2<'_, f32>) -> Vec<&[f32]> {
    let dim = view.ncols();
    view.to_slice().map_or(vec![], |values| {
        (0..view.nrows())
            .map(|i| &values[i * dim..][..dim])
            .collect()
    })
}

fn distance_of(a: &[f32], b: &[f32], metric: Metric) -> f64 {
    let squared = squared_distance(a, b);
    match metric {
        Metric::L2 => squared.sqrt(),
        Metric::SquaredL2 => squared,
    }
}

/// Sums in eight lanes, which lets the compiler use vector instructions without changing the order
/// of the additions from machine to machine.
fn squared_distance(a: &[f32], b: &[f32]) -> f64 {
    let square = |(&a, &b): (&f32, &f32)| (f64::from(a) - f64::from(b)).powi(2);
    let (a_lanes, a_rest) = a.as_chunks::<8>();
    let (b_lanes, b_rest) = b.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for (a, b) in a_lanes.iter().zip(b_lanes) {
        for (sum, pair) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += square(pair);
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(square).sum();
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array, s};

    use super::{Metric, distances, pairwise};

    /// Whole numbers, so that every order of additions gives the same.
    fn whole_numbers(rows: usize, columns: usize) -> Array2<f32> {
        Array2::from_shape_fn((rows, columns), |(i, j)| {
            (i * 31 + j * j * 7) as f32 % 23.0 - 11.0
        })
    }

    #[test]
    fn the_definition() {
        for (n, m, dim) in [
            (3, 4, 1),
            (5, 2, 7),
            (4, 4, 8),
            (2, 9, 100),
            (0, 3, 4),
            (3, 0, 4),
            (2, 2, 0),
        ] {
            let (a, b) = (whole_numbers(n, dim), whole_numbers(m, dim) * 3.0);
            let expected = Array2::from_shape_fn((n, m), |(i, j)| {
                (&a.row(i) - &b.row(j)).mapv(|d| f64::from(d).powi(2)).sum()
            });
            assert_eq!(
                distances(a.view(), b.view(), Metric::SquaredL2).unwrap(),
                expected
            );
            assert_eq!(
                distances(a.view(), b.view(), Metric::L2).unwrap(),
                expected.sqrt()
            );
        }
    }

    #[test]
    fn views_with_any_strides() {
        let a = whole_numbers(6, 9);
        let turned = a.t().as_standard_layout().into_owned();
        let direct = pairwise(a.view(), Metric::L2).unwrap();
        assert_eq!(pairwise(turned.t(), Metric::L2).unwrap(), direct);
        let backwards = pairwise(a.slice(s![..;-1, ..;-1]), Metric::L2).unwrap();
        assert_eq!(backwards, direct.slice(s![..;-1, ..;-1]));
    }

    #[test]
    fn pairwise_is_symmetric_with_a_zero_diagonal() {
        let a = whole_numbers(17, 33) * 0.1;
        for metric in [Metric::L2, Metric::SquaredL2] {
            let result = pairwise(a.view(), metric).unwrap();
            assert_eq!(result, distances(a.view(), a.view(), metric).unwrap());
            assert_eq!(result, result.t());
            assert!(result.diag().iter().all(|&distance| distance == 0.0));
        }
        assert_eq!(
            pairwise(Array2::zeros((0, 5)).view(), Metric::L2)
                .unwrap()
                .dim(),
            (0, 0)
        );
    }

    #[test]
    fn squares_beyond_f32() {
        let far = array![[f32::MAX], [f32::MIN]];
        let result = pairwise(far.view(), Metric::SquaredL2).unwrap();
        assert_eq!(result[[0, 1]], (2.0 * f64::from(f32::MAX)).powi(2));
    }

    #[test]
    fn refused_input() {
        let (a, b) = (whole_numbers(2, 3), whole_numbers(4, 5));
        let message = distances(a.view(), b.view(), Metric::L2)
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("(2, 3)") && message.contains("(4, 5)"),
            "{message}"
        );
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut c = whole_numbers(3, 3);
            c[[1, 2]] = bad;
            let message = pairwise(c.view(), Metric::L2).unwrap_err().to_string();
            assert!(message.contains("row 1 of a"), "{message}");
            let message = distances(a.view(), c.view(), Metric::L2)
                .unwrap_err()
                .to_string();
            assert!(message.contains("row 1 of b"), "{message}");
        }
    }
}
