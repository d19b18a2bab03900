//! From the type of the values and the kind of the device to the implementation.

use ndarray::{Array1, ArrayViewMut1, Ix1};
use time_series_kernels::{Aggregate, Floor};

use super::cpu::{self, Timeline};
use super::custom::{Custom, summaries};
use super::device_output::{
    DeviceAggregates, DeviceBucketCounts, DeviceCustomAggregates, DeviceSummaries,
};
use super::input::{DeviceSeries, Rounding, Series, require_labels};
use super::options::TimeBuckets;
use super::output::{Aggregates, BucketCounts, CustomAggregates, Summaries};
use super::{gpu, partition};
use crate::device::{Buffer, DeviceArray, DeviceKind, Element, assign, zeroed_lazily};
use crate::partition::{recheck, run};
use crate::{Device, Real, Result};

/// The implementations for a type of values. They are compiled here, once for each type, and not
/// in each crate that aggregates.
pub trait Dispatch: Real + gpu::HasKernels {
    /// Aggregates series on the host, with all of the devices.
    fn host(options: &TimeBuckets, devices: &[Device], series: &Series<Self>)
    -> Result<Aggregates>;

    /// Aggregates series in the memory of a device.
    fn device(options: &TimeBuckets, series: &DeviceSeries<Self>) -> Result<DeviceAggregates>;

    /// Summarises series on the host, with all of the devices.
    fn summaries(
        options: &TimeBuckets,
        devices: &[Device],
        series: &Series<Self>,
    ) -> Result<Summaries>;

    /// Summarises series in the memory of a device.
    fn summaries_device(
        options: &TimeBuckets,
        series: &DeviceSeries<Self>,
    ) -> Result<DeviceSummaries>;
}

macro_rules! dispatch {
    ($($type:ident)*) => {$(
        impl Dispatch for $type {
            fn host(
                options: &TimeBuckets,
                devices: &[Device],
                series: &Series<$type>,
            ) -> Result<Aggregates> {
                partition::aggregate(options, devices, series, &aggregate_on, &summaries_on)
            }

            fn device(
                options: &TimeBuckets,
                series: &DeviceSeries<$type>,
            ) -> Result<DeviceAggregates> {
                if series.device().kind() != DeviceKind::Cpu {
                    return gpu::aggregate(options, series);
                }
                let found = cpu::aggregate(options, &on_host(series)?)?;
                DeviceAggregates::upload(series.device(), found)
            }

            fn summaries(
                options: &TimeBuckets,
                devices: &[Device],
                series: &Series<$type>,
            ) -> Result<Summaries> {
                partition::summaries(options, devices, series, &summaries_on)
            }

            fn summaries_device(
                options: &TimeBuckets,
                series: &DeviceSeries<$type>,
            ) -> Result<DeviceSummaries> {
                let found = custom_device(options, &summaries(), series)?;
                Ok(DeviceSummaries::new(options, found))
            }
        }
    )*};
}
dispatch! { f32 f64 }

/// Aggregates series on the host with one device.
fn aggregate_on<T: Dispatch>(
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

/// Summarises series on the host with one device.
fn summaries_on<T: Dispatch>(
    options: &TimeBuckets,
    device: &Device,
    series: &Series<T>,
) -> Result<CustomAggregates<time_series_kernels::Summary>> {
    custom_on(options, &summaries(), device, series)
}

/// Aggregates series on the host with one device by a user-defined aggregate.
fn custom_on<T: Dispatch, A: Aggregate<State: Send, Output: Element> + Send + Sync>(
    options: &TimeBuckets,
    custom: &Custom<A>,
    device: &Device,
    series: &Series<T>,
) -> Result<CustomAggregates<A::Output>> {
    if device.kind() == DeviceKind::Cpu {
        return cpu::custom(options, &custom.aggregate, series);
    }
    let launches = custom.launches(device)?;
    gpu::on_device(device, series, |series| {
        gpu::custom(options, launches, series)?.download()
    })
}

/// Aggregates series on the host by a user-defined aggregate, with all of the devices.
pub fn custom<T: Dispatch, A: Aggregate<State: Send, Output: Element> + Send + Sync>(
    options: &TimeBuckets,
    custom: &Custom<A>,
    devices: &[Device],
    series: &Series<T>,
) -> Result<CustomAggregates<A::Output>> {
    let state = size_of::<A::State>();
    partition::custom(
        options,
        devices,
        series,
        state,
        &|options, device, series| custom_on(options, custom, device, series),
    )
}

/// Aggregates series in the memory of a device by a user-defined aggregate.
pub fn custom_device<T: Dispatch, A: Aggregate<State: Send, Output: Element> + Send + Sync>(
    options: &TimeBuckets,
    custom: &Custom<A>,
    series: &DeviceSeries<T>,
) -> Result<DeviceCustomAggregates<A::Output>> {
    let device = series.device();
    if device.kind() != DeviceKind::Cpu {
        return gpu::custom(options, custom.launches(device)?, series);
    }
    let found = cpu::custom(options, &custom.aggregate, &on_host(series)?)?;
    DeviceCustomAggregates::upload(device, found)
}

/// Copies series from arrays of the CPU's handle.
fn on_host<'a, T: Real>(series: &DeviceSeries<'a, T>) -> Result<Series<'a, T>> {
    Ok(Series {
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
    floor: Floor,
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

/// Rounds timestamps, with all of the devices.
pub fn round(devices: &[Device], rounding: Rounding) -> Result<()> {
    let Rounding {
        operation,
        floor,
        timestamps,
        ..
    } = rounding;
    let rounded = run(devices, operation, rounding, |device, partition| {
        if device.kind() == DeviceKind::Cpu {
            return cpu::round_into(partition);
        }
        let mut rounded = device.upload(&partition.timestamps)?.into_buffer();
        gpu::round(operation, floor, device, &mut rounded)?;
        let mut out = partition.out.view_mut();
        match out.as_slice_mut() {
            Some(out) => rounded.copy_to(out)?,
            None => assign(out, &ndarray::aview1(&rounded.to_vec()?)),
        }
        Ok(())
    });
    recheck(rounded.map(|_| ()), || {
        require_labels(operation, timestamps, &floor)
    })
}

/// Rounds timestamps in place, with all of the devices. After an error they are unchanged.
pub fn round_inplace(
    operation: &'static str,
    floor: Floor,
    devices: &[Device],
    timestamps: ArrayViewMut1<i64>,
) -> Result<()> {
    if let [device] = devices
        && device.kind() == DeviceKind::Cpu
    {
        return cpu::round(operation, floor, timestamps);
    }
    let mut rounded = Array1::from(zeroed_lazily(timestamps.len())?);
    let rounding = Rounding {
        operation,
        floor,
        timestamps: timestamps.view(),
        out: rounded.view_mut(),
    };
    round(devices, rounding)?;
    assign(timestamps, &rounded);
    Ok(())
}

/// Rounds timestamps in the memory of a device in place, on the stream of `device`.
pub fn round_device(
    operation: &'static str,
    floor: Floor,
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
