//! The public calls.

use ndarray::{Array1, ArrayView2};

use super::{gpu, reference};
use crate::device::DeviceKind;
use crate::error::During as _;
use crate::{Device, Error, Result};

/// The operation that errors name.
pub const OPERATION: &str = "row_sums";

/// Returns the sum of each row, M×N → M. The results of a device are the same in every run.
///
/// # Errors
/// [`Error::InvalidInput`](crate::Error::InvalidInput) for more rows than a grid can have blocks, and the errors of memory
/// and launches.
pub fn row_sums(device: &Device, matrix: ArrayView2<f32>) -> Result<Array1<f32>> {
    if i32::try_from(matrix.nrows()).is_err() {
        let message = format!("{} rows are more than a grid has blocks", matrix.nrows());
        return Err(Error::input(OPERATION, message));
    }
    match device.kind() {
        DeviceKind::Cpu => Ok(reference::row_sums(matrix)),
        _ => gpu::row_sums(device, matrix).during(OPERATION),
    }
}
