//! The argument of the call, and its errors.

use gridstride_runtime::{Error, Result};
use ndarray::ArrayView2;

/// A matrix whose rows are summed, or some of its rows.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    /// The operation that errors name.
    pub operation: &'static str,
    pub matrix: ArrayView2<'a, f32>,
}

impl<'a> Rows<'a> {
    /// Checks that a grid has a block for each row.
    pub fn new(operation: &'static str, matrix: ArrayView2<'a, f32>) -> Result<Self> {
        if i32::try_from(matrix.nrows()).is_err() {
            let message = format!("{} rows are more than a grid has blocks", matrix.nrows());
            return Err(Error::input(operation, message));
        }
        Ok(Rows { operation, matrix })
    }
}
