//! Types of values.

/// A type of values: `f64` or `f32`. All is computed in `f64`.
pub trait Value: crate::device::Element + time_series_kernels::Value + sealed::Sealed {}

impl Value for f64 {}
impl Value for f32 {}

pub(super) mod sealed {
    use ndarray::Ix1;

    use super::super::gpu;
    use super::super::series::Series;
    use super::super::{Aggregates, Aggregation, DeviceAggregates, cpu};
    use crate::device::{DeviceArray, DeviceKind};
    use crate::{Device, Result};

    /// What the devices need to know of the type.
    pub trait Sealed: Doors + gpu::HasKernels {}

    /// The doors to what is large and generic: behind them that is compiled here, once for each type, and not
    /// again in each crate that aggregates.
    pub trait Doors: Sized {
        /// Aggregates series on the host.
        fn on_host(_: &Aggregation, _: &Device, _: &Series<Self>) -> Result<Aggregates>
        where
            Self: super::Value;
        /// Aggregates series in the memory of a device.
        fn on_device(
            _: &Aggregation,
            offsets: &[usize],
            timestamps: &DeviceArray<i64, Ix1>,
            values: &DeviceArray<Self, Ix1>,
        ) -> Result<DeviceAggregates>
        where
            Self: super::Value;
    }

    macro_rules! doors {
        ($($type:ident)*) => {$(
            impl Sealed for $type {}
            impl Doors for $type {
                fn on_host(with: &Aggregation, device: &Device, series: &Series<$type>) -> Result<Aggregates> {
                    match device.kind() {
                        DeviceKind::Cpu => cpu::aggregate(with, series),
                        _ => {
                            let timestamps = device.upload(&ndarray::aview1(&series.timestamps))?;
                            let values = device.upload(&ndarray::aview1(&series.values))?;
                            gpu::aggregate(with, &series.offsets, &timestamps, &values)?.download()
                        }
                    }
                }

                fn on_device(
                    with: &Aggregation,
                    offsets: &[usize],
                    timestamps: &DeviceArray<i64, Ix1>,
                    values: &DeviceArray<$type, Ix1>,
                ) -> Result<DeviceAggregates> {
                    let device = timestamps.device();
                    if device.kind() != DeviceKind::Cpu {
                        return gpu::aggregate(with, offsets, timestamps, values);
                    }
                    let (on_host, values) = (timestamps.download()?, values.download()?);
                    let series = Series::new(offsets, on_host.view(), values.view())?;
                    DeviceAggregates::upload(device, cpu::aggregate(with, &series)?)
                }
            }
        )*};
    }
    doors! { f32 f64 }
}
