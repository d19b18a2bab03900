//! The rows between which distances are computed, and checks of them.

use ndarray::{ArrayView2, ArrayViewMut2, Ix2};

use super::options::Metric;
use crate::device::{DeviceArray, Element};
use crate::{Error, Number, Result};

/// Distances of rows in the host's memory to others, or to each other.
pub struct Tile<'a, T> {
    /// The public operation, for errors.
    pub operation: &'static str,
    pub metric: Metric,
    pub a: ArrayView2<'a, T>,
    /// `None` for the distances of the rows of `a` to each other.
    pub b: Option<ArrayView2<'a, T>>,
    pub out: ArrayViewMut2<'a, f64>,
}

/// Distances of rows in a device's memory to others, or to each other.
pub struct DeviceTile<'a, T: Element> {
    /// The public operation, for errors.
    pub operation: &'static str,
    pub metric: Metric,
    pub a: &'a DeviceArray<T, Ix2>,
    /// `None` for the distances of the rows of `a` to each other.
    pub b: Option<&'a DeviceArray<T, Ix2>>,
    pub out: &'a mut DeviceArray<f64, Ix2>,
}

/// Checks that the rows of `a` and `b` have the same length.
pub fn require_rows(operation: &'static str, a: &[usize], b: &[usize]) -> Result<()> {
    if a[1] == b[1] {
        return Ok(());
    }
    let (a, b) = (text(a), text(b));
    let message = format!("a is {a} and b is {b}: their rows must have the same length");
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
    let message = format!(
        "the distances are {rows}×{columns}, but out is {}",
        text(out)
    );
    Err(Error::Shape { operation, message })
}

/// Returns the largest magnitude, or the error of a row that is not finite.
pub fn largest<T: Number>(operation: &'static str, name: &str, view: ArrayView2<T>) -> Result<f64> {
    let mut largest = 0.0f64;
    for (i, row) in view.outer_iter().enumerate() {
        // A sum that is NaN or infinite also tells of numbers that are, and needs no branches.
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

/// The error of a row that is not finite.
pub fn not_finite(operation: &'static str, name: &str, row: usize) -> Error {
    let message = format!("row {row} of {name} has a value that is NaN or infinite");
    Error::input_at(operation, row, message)
}

/// Checks the length of rows for kernels.
pub fn require_dim(operation: &'static str, dim: usize, max: usize) -> Result<()> {
    if dim <= max {
        return Ok(());
    }
    let message = format!("rows of {dim} numbers are longer than {max}: take the device cpu");
    Err(Error::input(operation, message))
}

/// The error of more distances than a grid has room for.
pub fn too_many(operation: &'static str, (rows, columns): (usize, usize)) -> Error {
    let message = format!("{rows}×{columns} distances are more than one launch computes");
    Error::input(operation, message)
}

fn text(shape: &[usize]) -> String {
    format!("{}×{}", shape[0], shape[1])
}
