//! From the type of the elements and the kind of the device to the implementation.

use super::element::Dispatch;
use super::input::{self, DeviceTile, Tile};
use super::{cpu, gpu};
use crate::device::DeviceKind;
use crate::{Device, Result, partition};

macro_rules! dispatch {
    ($($type:ident)*) => {$(
        impl Dispatch for $type {
            fn host(devices: &[Device], whole: Tile<$type>) -> Result<()> {
                let (operation, a, b) = (whole.operation, whole.a, whole.b);
                let work = |device: &Device, tile: &mut Tile<$type>| match device.kind() {
                    DeviceKind::Cpu => cpu::host(tile),
                    _ => gpu::host(device, tile),
                };
                let done = partition::run(devices, operation, whole, work).map(|_| ());
                partition::recheck(done, || {
                    input::largest(operation, "a", a)?;
                    b.map_or(Ok(()), |b| input::largest(operation, "b", b).map(|_| ()))
                })
            }

            fn device(tile: DeviceTile<$type>) -> Result<()> {
                match tile.a.device().kind() {
                    DeviceKind::Cpu => cpu::device(tile),
                    _ => gpu::device(tile),
                }
            }
        }
    )*};
}
dispatch! { f32 f64 }
