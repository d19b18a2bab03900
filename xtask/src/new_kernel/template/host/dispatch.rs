//! Dispatch by kind of device.

use gridstride_runtime::device::DeviceKind;
use gridstride_runtime::error::During;
use gridstride_runtime::partition::{self, concat::concatenated};
use gridstride_runtime::{Device, Result};
use ndarray::Array1;

use super::input::Rows;
use super::{cpu, gpu};

/// Sums rows of the host, on a set of devices.
pub fn host(devices: &[Device], whole: Rows) -> Result<Array1<f32>> {
    let operation = whole.operation;
    let sums = partition::run(devices, operation, whole, |device, rows| {
        match device.kind() {
            DeviceKind::Cpu => Ok(cpu::host(*rows)),
            _ => gpu::host(device, *rows),
        }
    })?;
    let sums = concatenated(sums.iter().map(Vec::as_slice)).during(operation)?;
    Ok(Array1::from(sums))
}
