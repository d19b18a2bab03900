//! Dispatch by element type and kind of device.

use super::element::Dispatch;
use super::input::{self, DevicePairs, HostPairs};
use super::{cpu, gpu};
use crate::device::DeviceKind;
use crate::{Device, Result, partition};

macro_rules! dispatch {
    ($($type:ident)*) => {$(
        impl Dispatch for $type {
            fn host(devices: &[Device], whole: HostPairs<$type>) -> Result<()> {
                let (operation, a, b) = (whole.operation, whole.a, whole.b);
                let work = |device: &Device, pairs: &mut HostPairs<$type>| match device.kind() {
                    DeviceKind::Cpu => cpu::host(pairs),
                    _ => gpu::host(device, pairs),
                };
                let done = partition::run(devices, operation, whole, work).map(|_| ());
                partition::recheck(done, || {
                    input::largest(operation, "a", a)?;
                    b.map_or(Ok(()), |b| input::largest(operation, "b", b).map(|_| ()))
                })
            }

            fn device(pairs: DevicePairs<$type>) -> Result<()> {
                match pairs.a.device().kind() {
                    DeviceKind::Cpu => cpu::device(pairs),
                    _ => gpu::device(pairs),
                }
            }
        }
    )*};
}
dispatch! { f32 f64 }
