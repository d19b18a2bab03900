//! Dispatch by element type and kind of device.

use super::element::Dispatch;
use super::input::{self, DevicePairs, DeviceQueries, HostPairs, HostQueries};
use super::merge::merge;
use super::output::{DevicePlaces, HostPlaces, Nearest};
use super::{cpu, gpu};
use crate::device::DeviceKind;
use crate::{Device, Result, partition};

macro_rules! dispatch {
    ($($type:ident)*) => {$(
        impl Dispatch for $type {
            fn host_pairs(devices: &[Device], whole: HostPairs<$type>) -> Result<()> {
                let (operation, arguments) = (whole.operation, whole.arguments());
                let done = partition::run(devices, operation, whole, |device, pairs| {
                    if device.kind() == DeviceKind::Cpu {
                        return cpu::pairs(pairs);
                    }
                    pairs.require_kernels()?;
                    gpu::host_pairs(device, pairs)
                });
                partition::recheck(done, || input::recheck(operation, arguments)).map(|_| ())
            }

            fn device_pairs(pairs: DevicePairs<$type>) -> Result<()> {
                if pairs.a.device().kind() == DeviceKind::Cpu {
                    let mut on_host = pairs.download()?;
                    cpu::pairs(&mut on_host.view())?;
                    return pairs.out.copy_from(on_host.out.as_slice().expect("row-major"));
                }
                pairs.require_kernels()?;
                gpu::device_pairs(pairs)
            }

            fn host_nearest(
                devices: &[Device],
                whole: HostQueries<$type>,
                places: HostPlaces,
            ) -> Result<()> {
                let (operation, arguments) = (whole.operation, whole.arguments());
                let found = partition::run(devices, operation, whole, |device, queries| {
                    if device.kind() == DeviceKind::Cpu {
                        return cpu::nearest(queries);
                    }
                    queries.require_kernels()?;
                    gpu::host_nearest(device, queries)
                });
                let found = partition::recheck(found, || input::recheck(operation, arguments))?;
                let found: Vec<_> = found.into_iter().flatten().collect();
                merge(&found, places.indices, places.distances)
            }

            fn device_nearest(queries: DeviceQueries<$type>, places: DevicePlaces) -> Result<()> {
                if queries.queries.device().kind() == DeviceKind::Cpu {
                    let on_host = queries.download()?;
                    let found = cpu::nearest(&on_host.view())?;
                    let mut nearest = Nearest::zeros(queries.queries.count(), queries.k)?;
                    merge(&found, nearest.indices.view_mut(), nearest.distances.view_mut())?;
                    return places.upload(&nearest);
                }
                queries.require_kernels()?;
                gpu::device_nearest(queries, places)
            }
        }
    )*};
}
dispatch! { f32 f64 }
