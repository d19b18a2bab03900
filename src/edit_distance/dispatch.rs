//! Dispatch by kind of device.

use super::input::{self, DevicePairs, HostPairs};
use super::{cpu, gpu};
use crate::device::{DeviceKind, zeroed_lazily};
use crate::sequences::Memory;
use crate::{Device, Error, Result, partition};

/// Writes the distances of pairs in the host's memory, on a set of devices.
pub fn host(devices: &[Device], whole: HostPairs) -> Result<()> {
    let work = |device: &Device, pairs: &mut HostPairs| match device.kind() {
        DeviceKind::Cpu => cpu::host(pairs),
        _ => gpu::host(device, pairs),
    };
    partition::run(devices, whole.operation, whole, work).map(|_| ())
}

/// Writes the distances of pairs in a device's memory. The numbers and devices fit.
pub fn device(pairs: DevicePairs) -> Result<()> {
    let DevicePairs {
        operation,
        limit,
        a,
        b,
        out,
    } = pairs;
    match (&a.memory, &b.memory) {
        (Memory::Device(a_buffers), Memory::Device(b_buffers)) => {
            input::require_lengths(operation, "a", a_buffers.lengths())?;
            input::require_lengths(operation, "b", b_buffers.lengths())?;
            gpu::device(a.device(), limit, [a_buffers, b_buffers], out)
        }
        (Memory::Host(a), Memory::Host(b)) => {
            let mut distances = zeroed_lazily(out.len())?;
            let mut pairs = HostPairs::new(operation, limit, a.view(), b.view(), &mut distances)?;
            cpu::host(&mut pairs)?;
            out.copy_from(&distances)
        }
        // The memory of one device is of one kind: the devices differ.
        _ => Err(Error::DifferentDevices {
            operation,
            left: a.device().to_string(),
            right: b.device().to_string(),
        }),
    }
}
