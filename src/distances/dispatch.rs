//! Dispatch by element type and kind of device.

use super::element::Dispatch;
use super::input::{self, DevicePairs, HostPairs};
use super::nearest::input::{
    DeviceQueries, DeviceSlideQueries, HostQueries, HostSlideQueries, Places,
};
use super::nearest::merge::Found;
use super::slide::input::{DeviceSlides, HostSlides};
use super::{cpu, gpu, nearest, slide};
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

            fn host_slides(devices: &[Device], whole: HostSlides<$type>) -> Result<()> {
                let (operation, a, b) = (whole.operation, whole.a, whole.b);
                let work = |device: &Device, slides: &mut HostSlides<$type>| match device.kind() {
                    DeviceKind::Cpu => slide::cpu::host(slides),
                    _ => slide::gpu::host(device, slides),
                };
                let done = partition::run(devices, operation, whole, work).map(|_| ());
                partition::recheck(done, || {
                    input::largest(operation, "a", a.rows())?;
                    input::largest(operation, "b", b.rows())?;
                    slide::gpu::require_lengths(operation, "a", a.offsets, a.dim())?;
                    slide::gpu::require_lengths(operation, "b", b.offsets, b.dim())
                })
            }

            fn device_slides(slides: DeviceSlides<$type>) -> Result<()> {
                match slides.a.rows.device().kind() {
                    DeviceKind::Cpu => slide::cpu::device(slides),
                    _ => slide::gpu::device(slides),
                }
            }

            fn host_nearest(devices: &[Device], whole: HostQueries<$type>) -> Result<Vec<Found>> {
                let all = whole.all;
                let work = |device: &Device, part: &mut HostQueries<$type>| match device.kind() {
                    DeviceKind::Cpu => nearest::cpu::host(part),
                    _ => nearest::gpu::host(device, part),
                };
                let done = partition::run(devices, all.operation, whole, work);
                let done = partition::recheck(done, || {
                    input::largest(all.operation, "queries", all.queries)?;
                    input::largest(all.operation, "database", all.database).map(|_| ())
                });
                Ok(done?.into_iter().flatten().collect())
            }

            fn device_nearest(whole: DeviceQueries<$type>, places: Places) -> Result<()> {
                match whole.queries.device().kind() {
                    DeviceKind::Cpu => nearest::cpu::device(whole, places),
                    _ => nearest::gpu::device(whole, places),
                }
            }

            fn host_slide_nearest(
                devices: &[Device],
                whole: HostSlideQueries<$type>,
            ) -> Result<Vec<Found>> {
                let all = whole.all;
                let work = |device: &Device, part: &mut HostSlideQueries<$type>| {
                    match device.kind() {
                        DeviceKind::Cpu => nearest::slide::cpu::host(part),
                        _ => nearest::slide::gpu::host(device, part),
                    }
                };
                let done = partition::run(devices, all.operation, whole, work);
                let done = partition::recheck(done, || {
                    let arrays = [("queries", all.queries), ("database", all.database)];
                    for (name, windows) in arrays {
                        input::largest(all.operation, name, windows.rows())?;
                    }
                    arrays.into_iter().try_for_each(|(name, windows)| {
                        let (offsets, dim) = (windows.offsets, windows.dim());
                        slide::gpu::require_lengths(all.operation, name, offsets, dim)
                    })
                });
                Ok(done?.into_iter().flatten().collect())
            }

            fn device_slide_nearest(
                whole: DeviceSlideQueries<$type>,
                places: Places,
            ) -> Result<()> {
                match whole.queries.rows.device().kind() {
                    DeviceKind::Cpu => nearest::slide::cpu::device(whole, places),
                    _ => nearest::slide::gpu::device(whole, places),
                }
            }
        }
    )*};
}
dispatch! { f32 f64 }
