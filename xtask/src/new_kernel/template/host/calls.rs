//! The public calls.

use gridstride_runtime::{DeviceSet, Result};
use ndarray::{Array1, ArrayView2};

use super::dispatch;
use super::input::Rows;

/// Returns the sum of each row, M×N → M. The results of a device are the same in every run, and over
/// several devices of one kind.
///
/// # Errors
/// [`Error::InvalidInput`](gridstride_runtime::Error::InvalidInput) for more rows than a grid can have blocks or
/// for no devices, and the errors of memory and launches.
///
/// ```
/// use gridstride::{Device, row_sums::row_sums};
/// use ndarray::array;
///
/// assert_eq!(row_sums(&Device::auto(), array![[1.0, 2.0]].view())?, array![3.0]);
/// # Ok::<(), gridstride::Error>(())
/// ```
pub fn row_sums(
    devices: &(impl DeviceSet + ?Sized),
    matrix: ArrayView2<f32>,
) -> Result<Array1<f32>> {
    let rows = Rows::new("row_sums", matrix)?;
    dispatch::host(devices.devices(), rows)
}
