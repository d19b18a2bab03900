//! Some rows of a product against their plain version.

use anyhow::{Result, bail};
use gridstride::Number;
use gridstride::matmul::{MatMul, reference};
use ndarray::parallel::prelude::*;
use ndarray::{Array2, ArrayView2, Axis, Zip};
use serde::Serialize;

use super::number::Real;

/// Rows that are checked, at most.
const ROWS: usize = 16;

/// Numbers of B that a thread takes as f64 in one go, unless a column has more.
const NUMBERS: usize = 1 << 21;

/// Rows of the product in f64, and how far from them a result may be.
pub struct Check {
    rows: Vec<usize>,
    exact: Array2<f64>,
    /// NaN where there is none.
    bounds: Array2<f64>,
}

/// The result of a comparison.
#[derive(Clone, Copy, Serialize)]
pub struct Checked {
    /// Rows that were compared.
    pub rows: usize,
    /// The largest error as a share of its bound.
    #[serde(rename = "largest_share_of_bound")]
    pub share: f64,
    /// The largest error.
    #[serde(rename = "largest_error")]
    pub error: f64,
    /// Numbers that were compared.
    pub numbers: usize,
    /// Numbers among these that have no bound.
    #[serde(rename = "numbers_without_bound")]
    pub unbounded: usize,
}

impl Check {
    /// Computes rows that are spread evenly, among them the first and the last.
    ///
    /// An element is at most `error_factor` times Σ|a·b| off, and so is the reference, which sums
    /// up in f64, as are these magnitudes. Each product that underflows can add the least number of
    /// C's type. Sums that go beyond the range of C's type, and those with NaN or infinities in
    /// them, have no bound.
    pub fn new<T: Real>(matmul: &MatMul, a: ArrayView2<T>, b: ArrayView2<T>) -> Check {
        let (m, k, n) = (a.nrows(), a.ncols(), b.ncols());
        let count = m.min(ROWS);
        let spread = |i: usize| i * (m - 1) / (count - 1).max(1);
        let rows: Vec<_> = (0..count).map(spread).collect();
        let a = a.select(Axis(0), &rows);

        let (mut exact, mut bounds) = (Array2::zeros((count, n)), Array2::zeros((count, n)));
        let columns = (NUMBERS / k.max(1)).max(1);
        let exact_parts = exact.axis_chunks_iter_mut(Axis(1), columns);
        let bound_parts = bounds.axis_chunks_iter_mut(Axis(1), columns);
        let b_parts = b.axis_chunks_iter(Axis(1), columns).into_par_iter();
        let parts = b_parts.zip(exact_parts.into_par_iter().zip(bound_parts));
        parts.for_each(|(b, (mut exact, mut magnitudes))| {
            exact.assign(&reference::matmul(a.view(), b));
            magnitudes.assign(&reference::magnitudes(a.view(), b));
        });

        let (factor, own) = (
            matmul.error_factor::<T>(k),
            MatMul::new().error_factor::<f64>(k),
        );
        bounds.mapv_inplace(|magnitudes| {
            let most = magnitudes / (1.0 - own);
            let bound = (factor + own) * most + k as f64 * T::SMALLEST_SUM;
            match bound.is_finite() && most * (1.0 + factor) <= T::LARGEST_SUM {
                true => bound,
                false => f64::NAN,
            }
        });
        Check {
            rows,
            exact,
            bounds,
        }
    }

    /// Adds the last rounding of a C whose type has the unit roundoff `unit`, the largest number
    /// `largest` and the smallest one above 0 `least`.
    pub fn rounded(mut self, unit: f64, largest: f64, least: f64) -> Check {
        Zip::from(&mut self.bounds)
            .and(&self.exact)
            .for_each(|bound, &exact| {
                let most = exact.abs() + *bound;
                *bound = match most * (1.0 + unit) <= largest {
                    true => *bound + unit * most + least,
                    false => f64::NAN,
                };
            });
        self
    }

    /// Compares a result.
    ///
    /// # Errors
    /// An error that names the wrong number.
    pub fn compare<S: Number>(&self, c: ArrayView2<S>) -> Result<Checked> {
        let sampled = c.select(Axis(0), &self.rows).mapv(S::to_f64);
        let mut found = Checked {
            rows: self.rows.len(),
            share: 0.0,
            error: 0.0,
            numbers: sampled.len(),
            unbounded: 0,
        };
        let mut wrong = None;
        Zip::indexed(&sampled)
            .and(&self.exact)
            .and(&self.bounds)
            .for_each(|(i, j), &number, &exact, &bound| {
                if bound.is_nan() {
                    found.unbounded += 1;
                    return;
                }
                let error = (number - exact).abs();
                if error.is_nan() || error > bound {
                    wrong = wrong.or(Some((self.rows[i], j, number, exact, bound)));
                } else if error > 0.0 {
                    found.share = found.share.max(error / bound);
                    found.error = found.error.max(error);
                }
            });
        if let Some((i, j, number, exact, bound)) = wrong {
            bail!(
                "the product is wrong: in row {i}, column {j} there is {number:e}, which must be {exact:e}, \
                 and at most {bound:e} off"
            );
        }
        Ok(found)
    }
}

impl Checked {
    /// Returns the larger errors of two results of the same product.
    pub fn and(self, other: Checked) -> Checked {
        Checked {
            share: self.share.max(other.share),
            error: self.error.max(other.error),
            ..self
        }
    }
}
