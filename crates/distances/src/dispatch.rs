//! Dispatch by element type and kind of device.

use std::slice;

use gridstride_runtime::device::DeviceKind;
use gridstride_runtime::{Device, Result, partition};

use super::element::Dispatch;
use super::input::{self, DevicePairs, DeviceQueries, HostPairs, HostQueries};
use super::merge::merge;
use super::output::{DevicePlaces, HostPlaces, Nearest};
use super::{cpu, gpu};

macro_rules! dispatch {
    ($($type:ident)*) => {$(
        impl Dispatch for $type {
            fn host_pairs(devices: &[Device], whole: HostPairs<$type>) -> Result<()> {
                let (operation, arguments) = (whole.operation, whole.arguments());
                let parts = partition::run(devices, operation, whole, |device, pairs| {
                    match device.kind() {
                        DeviceKind::Cpu => cpu::pairs(pairs),
                        _ => {
                            pairs.require_kernels()?;
                            gpu::host_pairs(device, pairs)
                        }
                    }
                });
                partition::recheck(parts, || input::recheck(operation, arguments)).map(|_| ())
            }

            fn device_pairs(pairs: DevicePairs<$type>) -> Result<()> {
                let device = pairs.a.device();
                match device.kind() {
                    DeviceKind::Cpu => {
                        let mut copies = pairs.download()?;
                        Self::host_pairs(slice::from_ref(device), copies.view())?;
                        pairs.out.copy_from(copies.out.as_slice().expect("row-major"))
                    }
                    _ => {
                        pairs.require_kernels()?;
                        gpu::device_pairs(pairs)
                    }
                }
            }

            fn host_nearest(
                devices: &[Device],
                whole: HostQueries<$type>,
                places: HostPlaces,
            ) -> Result<()> {
                let (operation, arguments) = (whole.operation, whole.arguments());
                let parts = partition::run(devices, operation, whole, |device, queries| {
                    match device.kind() {
                        DeviceKind::Cpu => cpu::nearest(queries),
                        _ => {
                            queries.require_kernels()?;
                            gpu::host_nearest(device, queries)
                        }
                    }
                });
                let parts = partition::recheck(parts, || input::recheck(operation, arguments))?;
                let ranges: Vec<_> = parts.into_iter().flatten().collect();
                merge(&ranges, places.indices, places.distances)
            }

            fn device_nearest(queries: DeviceQueries<$type>, places: DevicePlaces) -> Result<()> {
                let device = queries.queries.device();
                match device.kind() {
                    DeviceKind::Cpu => {
                        let copies = queries.download()?;
                        let mut nearest = Nearest::zeros(queries.queries.count(), queries.k)?;
                        let on_host = nearest.places();
                        Self::host_nearest(slice::from_ref(device), copies.view(), on_host)?;
                        places.upload(&nearest)
                    }
                    _ => {
                        queries.require_kernels()?;
                        gpu::device_nearest(queries, places)
                    }
                }
            }
        }
    )*};
}
dispatch! { f32 f64 }
