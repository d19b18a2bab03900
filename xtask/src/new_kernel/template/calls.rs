//! The public calls.

use ndarray::{Array1, ArrayView2};

use super::{gpu, reference};
use crate::device::DeviceKind;
use crate::error::During as _;
use crate::{Device, Result};

/// The operation that errors name.
pub const OPERATION: &str = "row_sums";

/// Returns the sum of each row, M×N → M. The results of a device are the same in every run.
///
/// # Errors
/// [`Error::InvalidInput`](crate::Error::InvalidInput) for more rows than a grid can have blocks, and the errors of memory
/// and launches.
pub fn row_sums(device: &Device, matrix: ArrayView2<f32>) -> Result<Array1<f32>> {
    match device.kind() {
        DeviceKind::Cpu => Ok(reference::row_sums(matrix)),
        _ => gpu::row_sums(device, matrix).during(OPERATION),
    }
}
