//! From the type of the values and the kind of the device to the implementation.

use ndarray::{Array1, ArrayView1, ArrayViewMut1, Ix1};
use time_series_kernels::{Aggregate, Floor};

use super::cpu::{self, Timeline};
use super::custom::{Custom, summaries};
use super::device_output::{DeviceAggregates, DeviceBucketCounts, DeviceCustomAggregates};
use super::input::{DeviceSeries, Series};
use super::options::TimeBuckets;
use super::output::{Aggregates, BucketCounts, CustomAggregates, Summaries};
use super::{gpu, partition};
use crate::device::{Buffer, DeviceArray, DeviceKind, Element, assign, zeroed_lazily};
use crate::{Device, Real, Result};

/// The implementations for a type of values. They are compiled here, once for each type, and not in each crate that
/// aggregates.
pub trait Dispatch: Sized {
    /// Aggregates series on the host, with all of the devices.
    fn host(options: &TimeBuckets, devices: &[Device], series: &Series<Self>) -> Result<Aggregates>
    where
        Self: Real;

    /// Aggregates series in the memory of a device.
    fn device(options: &TimeBuckets, series: &DeviceSeries<Self>) -> Result<DeviceAggregates>
    where
        Self: Real;

    /// Summarises series on the host, with all of the devices.
    fn summaries(
        options: &TimeBuckets,
        devices: &[Device],
        series: &Series<Self>,
    ) -> Result<Summaries>
    where
        Self: Real;

    /// Aggregates series on the host by a user-defined aggregate, with all of the devices.
    fn custom<A>(
        options: &TimeBuckets,
        custom: &Custom<A>,
        devices: &[Device],
        series: &Series<Self>,
    ) -> Result<CustomAggregates<A::Output>>
    where
        Self: Real,
        A: Aggregate<State: Send, Output: Element> + Send + Sync;

    /// Aggregates series in the memory of a device by a user-defined aggregate.
    fn custom_device<A>(
        options: &TimeBuckets,
        custom: &Custom<A>,
        series: &DeviceSeries<Self>,
    ) -> Result<DeviceCustomAggregates<A::Output>>
    where
        Self: Real,
        A: Aggregate<State: Send, Output: Element> + Send + Sync;
}

macro_rules! dispatch {
    ($($type:ident)*) => {$(
        impl Dispatch for $type {
            fn host(
                options: &TimeBuckets,
                devices: &[Device],
                series: &Series<$type>,
            ) -> Result<Aggregates> {
                partition::aggregate(options, devices, series, aggregate_on, |options, device, series| {
                    custom_on(options, &summaries(), device, series)
                })
            }

            fn device(
                options: &TimeBuckets,
                series: &DeviceSeries<$type>,
            ) -> Result<DeviceAggregates> {
                let device = series.device();
                match device.kind() {
                    DeviceKind::Cpu => {
                        let found = on_host(series, |series| cpu::aggregate(options, series))?;
                        DeviceAggregates::upload(device, found)
                    }
                    _ => gpu::aggregate(options, series),
                }
            }

            fn summaries(
                options: &TimeBuckets,
                devices: &[Device],
                series: &Series<$type>,
            ) -> Result<Summaries> {
                partition::summaries(options, devices, series, |options, device, series| {
                    custom_on(options, &summaries(), device, series)
                })
            }

            fn custom<A>(
                options: &TimeBuckets,
                custom: &Custom<A>,
                devices: &[Device],
                series: &Series<$type>,
            ) -> Result<CustomAggregates<A::Output>>
            where
                A: Aggregate<State: Send, Output: Element> + Send + Sync,
            {
                let state = size_of::<A::State>();
                partition::custom(options, devices, series, state, |options, device, series| {
                    custom_on(options, custom, device, series)
                })
            }

            fn custom_device<A>(
                options: &TimeBuckets,
                custom: &Custom<A>,
                series: &DeviceSeries<$type>,
            ) -> Result<DeviceCustomAggregates<A::Output>>
            where
                A: Aggregate<State: Send, Output: Element> + Send + Sync,
            {
                let device = series.device();
                match device.kind() {
                    DeviceKind::Cpu => {
                        let found = on_host(series, |series| {
                            cpu::custom(options, &custom.aggregate, series)
                        })?;
                        DeviceCustomAggregates::upload(device, found)
                    }
                    _ => gpu::custom(options, custom.launches(device)?, series),
                }
            }
        }
    )*};
}
dispatch! { f32 f64 }

/// Aggregates series on the host with one device.
fn aggregate_on<T: Real + gpu::HasKernels>(
    options: &TimeBuckets,
    device: &Device,
    series: &Series<T>,
) -> Result<Aggregates> {
    match device.kind() {
        DeviceKind::Cpu => cpu::aggregate(options, series),
        _ => gpu::on_device(device, series, |series| {
            gpu::aggregate(options, series)?.download()
        }),
    }
}

/// Aggregates series on the host with one device by a user-defined aggregate.
fn custom_on<T: Real + gpu::HasKernels, A>(
    options: &TimeBuckets,
    custom: &Custom<A>,
    device: &Device,
    series: &Series<T>,
) -> Result<CustomAggregates<A::Output>>
where
    A: Aggregate<State: Send, Output: Element> + Send + Sync,
{
    match device.kind() {
        DeviceKind::Cpu => cpu::custom(options, &custom.aggregate, series),
        _ => {
            let launches = custom.launches(device)?;
            gpu::on_device(device, series, |series| {
                gpu::custom(options, launches, series)?.download()
            })
        }
    }
}

/// Calls `work` with a copy of the series that the CPU has in arrays of its device.
fn on_host<T: Real, R>(
    series: &DeviceSeries<T>,
    work: impl FnOnce(&Series<T>) -> Result<R>,
) -> Result<R> {
    work(&Series {
        operation: series.operation,
        floor: series.floor,
        offsets: series.offsets.into(),
        timestamps: series.timestamps.buffer().to_vec()?.into(),
        values: series.values.buffer().to_vec()?.into(),
    })
}

/// Counts the points of each bucket, with all of the devices.
pub fn counts(devices: &[Device], timeline: &Timeline) -> Result<BucketCounts> {
    partition::counts(devices, timeline, |device, timeline| match device.kind() {
        DeviceKind::Cpu => cpu::counts(timeline),
        _ => {
            let timestamps = device.upload(&ndarray::aview1(timeline.timestamps))?;
            gpu::counts(timeline.operation, timeline.floor, &timestamps)?.download()
        }
    })
}

/// Counts the points of each bucket in the memory of a device.
pub fn counts_device(
    operation: &'static str,
    floor: &Floor,
    timestamps: &DeviceArray<i64, Ix1>,
) -> Result<DeviceBucketCounts> {
    let device = timestamps.device();
    if device.kind() != DeviceKind::Cpu {
        return gpu::counts(operation, floor, timestamps);
    }
    let found = cpu::counts(&Timeline {
        operation,
        offsets: &[0, timestamps.len()],
        timestamps: &timestamps.buffer().to_vec()?,
        floor,
    })?;
    DeviceBucketCounts::upload(device, &found)
}

/// Writes rounded timestamps to `out`, which has as many elements, with all of the devices.
pub fn round(
    operation: &'static str,
    floor: &Floor,
    devices: &[Device],
    timestamps: ArrayView1<i64>,
    out: ArrayViewMut1<i64>,
) -> Result<()> {
    let on = |device: &Device, timestamps: ArrayView1<i64>, mut out: ArrayViewMut1<i64>| {
        if device.kind() == DeviceKind::Cpu {
            return cpu::round_into(operation, floor, timestamps, out);
        }
        let mut rounded = device.upload(&timestamps)?.into_buffer();
        gpu::round(operation, floor, device, &mut rounded)?;
        match out.as_slice_mut() {
            Some(out) => rounded.copy_to(out)?,
            None => assign(out, &ndarray::aview1(&rounded.to_vec()?)),
        }
        Ok(())
    };
    partition::round(operation, floor, devices, timestamps, out, on)
}

/// Rounds timestamps in place, with all of the devices. After an error they are what they were.
pub fn round_inplace(
    operation: &'static str,
    floor: &Floor,
    devices: &[Device],
    timestamps: ArrayViewMut1<i64>,
) -> Result<()> {
    match devices {
        [device] if device.kind() == DeviceKind::Cpu => cpu::round(operation, floor, timestamps),
        devices => {
            let mut rounded = Array1::from(zeroed_lazily(timestamps.len())?);
            round(
                operation,
                floor,
                devices,
                timestamps.view(),
                rounded.view_mut(),
            )?;
            assign(timestamps, &rounded);
            Ok(())
        }
    }
}

/// Rounds timestamps in the memory of a device in place, on the stream of `device`.
pub fn round_device(
    operation: &'static str,
    floor: &Floor,
    device: &Device,
    timestamps: &mut Buffer<i64>,
) -> Result<()> {
    if device.kind() != DeviceKind::Cpu {
        return gpu::round(operation, floor, device, timestamps);
    }
    let mut rounded = timestamps.to_vec()?;
    cpu::round(operation, floor, ArrayViewMut1::from(&mut rounded[..]))?;
    timestamps.copy_from(&rounded)
}
