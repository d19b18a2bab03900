//! The version for a device: the CPU's or the kernels.

use ndarray::Ix2;

use super::partition::Tile;
use super::{Metric, Real, cpu, input};
use crate::device::{DeviceArray, DeviceKind};
use crate::error::During;
use crate::spread::spread;
use crate::{Device, Error, Result};

#[cfg(feature = "kernels")]
use super::gpu;

/// Writes distances between rows in the host's memory, with all of the devices.
pub fn host<T: Real>(
    operation: &'static str,
    metric: Metric,
    devices: &[Device],
    whole: Tile<T>,
) -> Result<()> {
    let (a, b) = (whole.a, whole.b);
    let work = |device: &Device, tile: &mut Tile<T>| match device.kind() {
        DeviceKind::Cpu => cpu::compute(operation, metric, tile),
        #[cfg(feature = "kernels")]
        _ => gpu::compute(operation, metric, device, tile),
        #[cfg(not(feature = "kernels"))]
        _ => unreachable!("this build has the CPU alone"),
    };
    let done = spread(devices, operation, whole, work);
    if let Err(Error::InvalidInput { .. }) = done {
        // Name the row as counted among all rows, not among those of a part.
        input::largest(operation, "a", a)?;
        b.map_or(Ok(0.0), |b| input::largest(operation, "b", b))?;
    }
    done.map(|_| ())
}

/// Writes distances between rows in a device's memory.
pub fn resident<T: Real>(
    operation: &'static str,
    metric: Metric,
    a: &DeviceArray<T, Ix2>,
    b: Option<&DeviceArray<T, Ix2>>,
    out: &mut DeviceArray<f64, Ix2>,
) -> Result<()> {
    let done = match a.device().kind() {
        DeviceKind::Cpu => cpu::compute_resident(operation, metric, a, b, out),
        #[cfg(feature = "kernels")]
        _ => gpu::compute_resident(operation, metric, a, b, out),
        #[cfg(not(feature = "kernels"))]
        _ => unreachable!("this build has the CPU alone"),
    };
    done.during(operation)
}
