//! The version for a device: the CPU's or the kernels.

use ndarray::Ix2;

use super::partition::Tile;
use super::{Component, Metric, cpu, input};
use crate::device::{DeviceArray, DeviceKind};
use crate::error::During;
use crate::{Device, Result, partition};

use super::gpu;

/// Writes distances between rows in the host's memory, with all of the devices.
pub fn host<T: Component>(
    operation: &'static str,
    metric: Metric,
    devices: &[Device],
    whole: Tile<T>,
) -> Result<()> {
    let (a, b) = (whole.a, whole.b);
    let work = |device: &Device, tile: &mut Tile<T>| match device.kind() {
        DeviceKind::Cpu => cpu::compute(operation, metric, tile),
        _ => gpu::compute(operation, metric, device, tile),
    };
    let done = partition::run(devices, operation, whole, work).map(|_| ());
    partition::recheck(done, || {
        input::largest(operation, "a", a)?;
        b.map_or(Ok(()), |b| input::largest(operation, "b", b).map(|_| ()))
    })
}

/// Writes distances between rows in a device's memory.
pub fn resident<T: Component>(
    operation: &'static str,
    metric: Metric,
    a: &DeviceArray<T, Ix2>,
    b: Option<&DeviceArray<T, Ix2>>,
    out: &mut DeviceArray<f64, Ix2>,
) -> Result<()> {
    let done = match a.device().kind() {
        DeviceKind::Cpu => cpu::compute_resident(operation, metric, a, b, out),
        _ => gpu::compute_resident(operation, metric, a, b, out),
    };
    done.during(operation)
}
