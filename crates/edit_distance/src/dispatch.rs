//! Dispatch by kind of device.

use std::slice;

use gridstride_runtime::device::{DeviceKind, zeroed_lazily};
use gridstride_runtime::{Device, Result, partition};

use super::input::{DevicePairs, HostPairs};
use super::{cpu, gpu};

/// Writes the distances of sequences of the host, on a set of devices.
pub fn host(devices: &[Device], whole: HostPairs) -> Result<()> {
    let parts = partition::run(
        devices,
        whole.operation,
        whole,
        |device, pairs| match device.kind() {
            DeviceKind::Cpu => cpu::host(pairs),
            _ => gpu::host(device, pairs),
        },
    );
    parts.map(|_| ())
}

/// Writes the distances of sequences in the memory of a device.
pub fn device(pairs: DevicePairs) -> Result<()> {
    let device = pairs.a.device();
    match device.kind() {
        DeviceKind::Cpu => {
            let mut distances = zeroed_lazily(pairs.out.len())?;
            host(slice::from_ref(device), pairs.download(&mut distances)?)?;
            pairs.out.copy_from(&distances)
        }
        _ => {
            pairs.require_kernels()?;
            gpu::device(pairs)
        }
    }
}
