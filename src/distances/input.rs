//! The rows between which distances are computed, and the checks of rows and results.

use ndarray::{ArrayView2, ArrayViewMut2, Ix2};

use super::options::Metric;
use crate::device::DeviceArray;
use crate::{Error, Number, Result};

/// Pairs of rows of matrices `M`, and the place for their distances.
pub struct Pairs<M, Out> {
    /// The public operation, for errors.
    pub operation: &'static str,
    pub metric: Metric,
    pub a: M,
    /// `None` for the distances of the rows of `a` to each other.
    pub b: Option<M>,
    pub out: Out,
    /// Whether the host allocates the pages of `out` when they are written.
    pub is_new: bool,
}

/// Pairs of rows of host arrays.
pub type HostPairs<'a, T> = Pairs<ArrayView2<'a, T>, ArrayViewMut2<'a, f64>>;

/// Pairs of rows in a device's memory.
pub type DevicePairs<'a, T> = Pairs<&'a DeviceArray<T, Ix2>, &'a mut DeviceArray<f64, Ix2>>;

/// Checks that the rows of `a` and `b` have the same length.
pub fn require_rows(operation: &'static str, a: &[usize], b: &[usize]) -> Result<()> {
    if a[1] == b[1] {
        return Ok(());
    }
    let message = format!(
        "a is {}×{} and b is {}×{}: their rows must have the same length",
        a[0], a[1], b[0], b[1]
    );
    Err(Error::Shape { operation, message })
}

/// Checks that `out` has an element for each distance.
pub fn require_out(
    operation: &'static str,
    (rows, columns): (usize, usize),
    out: &[usize],
) -> Result<()> {
    if out == [rows, columns] {
        return Ok(());
    }
    let (out_rows, out_columns) = (out[0], out[1]);
    let message =
        format!("the distances are {rows}×{columns}, but out is {out_rows}×{out_columns}");
    Err(Error::Shape { operation, message })
}

/// Returns the largest magnitude, or the error of a row that is not finite.
pub fn largest<T: Number>(operation: &'static str, name: &str, view: ArrayView2<T>) -> Result<f64> {
    let mut largest = 0.0f64;
    for (i, row) in view.outer_iter().enumerate() {
        // Becomes NaN if a value is NaN or infinite, without a branch per value.
        let mut sum = 0.0;
        for value in row.iter().map(|&value| value.to_f64().abs()) {
            largest = largest.max(value);
            sum += value * 0.0;
        }
        if sum != 0.0 {
            return Err(not_finite(operation, name, i));
        }
    }
    Ok(largest)
}

pub fn not_finite(operation: &'static str, name: &str, row: usize) -> Error {
    let message = format!(
        "row {row} of {name} has a value that is NaN or infinite: all numbers must be finite"
    );
    Error::input_at(operation, "rows", row, message)
}

/// Checks that kernels can index the elements of a row.
pub fn require_dim(operation: &'static str, dim: usize, max: usize) -> Result<()> {
    if dim <= max {
        return Ok(());
    }
    let message = format!("rows of {dim} numbers are longer than {max}: take the device cpu");
    Err(Error::input(operation, message))
}

pub fn too_many(operation: &'static str, (rows, columns): (usize, usize)) -> Error {
    let message = format!("{rows}×{columns} distances are more than one launch computes");
    Error::input(operation, message)
}
