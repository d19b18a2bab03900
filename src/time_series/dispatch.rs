//! Dispatch by element type and kind of device.

use ndarray::{Array1, ArrayViewMut1, Ix1};
use time_series_kernels::{Aggregate, Floor};

use super::cpu::{self, Timeline};
use super::custom::Custom;
use super::device_output::{
    DeviceAggregates, DeviceBucketCounts, DeviceCustomAggregates, DeviceSummaries,
};
use super::element::Dispatch;
use super::gpu::{self, HasKernels};
use super::input::{DeviceSeries, Rounding, Series, require_labels};
use super::method;
use super::output::{Aggregates, BucketCounts, CustomAggregates, Summaries};
use super::partition;
use super::room::Room;
use super::states::{BucketState, with_smallest_bucket_state};
use crate::device::{Buffer, DeviceArray, DeviceKind, Element, assign, zeroed_lazily};
use crate::partition::{recheck, run};
use crate::{Device, Real, Result};

macro_rules! dispatch {
    ($($type:ident)*) => {$(
        impl Dispatch for $type {
            fn host(devices: &[Device], series: &Series<$type>) -> Result<Aggregates> {
                let whole = |device: &Device| aggregate_on(device, series);
                match partition::aggregate_whole(devices, series, whole)? {
                    Some(found) => Ok(found),
                    None => divided(devices, series),
                }
            }

            fn host_into(
                devices: &[Device],
                series: &Series<$type>,
                mut room: Room,
            ) -> Result<Vec<usize>> {
                let whole = |device: &Device| aggregate_into_on(device, series, &mut room);
                if let Some(offsets) = partition::aggregate_whole(devices, series, whole)? {
                    return Ok(offsets);
                }
                room.assign(divided(devices, series)?)
            }

            fn device(series: &DeviceSeries<$type>) -> Result<DeviceAggregates> {
                match series.device().kind() {
                    DeviceKind::Cpu => {
                        let found = cpu::aggregate(&on_host(series)?)?;
                        DeviceAggregates::upload(series.device(), found)
                    }
                    _ => gpu::aggregate(series),
                }
            }

            fn summaries<S: BucketState>(
                devices: &[Device],
                series: &Series<$type>,
            ) -> Result<Summaries<S>> {
                partition::summaries(devices, series, &summaries_on)
            }

            fn summaries_device<S: BucketState>(
                series: &DeviceSeries<$type>,
            ) -> Result<DeviceSummaries<S>> {
                let found = Self::custom_device(&S::aggregate(), series)?;
                Ok(DeviceSummaries::new(series.options, found))
            }

            fn custom<A: Aggregate<State: Send, Output: Element> + Send + Sync>(
                custom: &Custom<A>,
                devices: &[Device],
                series: &Series<$type>,
            ) -> Result<CustomAggregates<A::Output>> {
                let on = |device: &Device, series: &Series<$type>| custom_on(custom, device, series);
                partition::custom(devices, series, size_of::<A::State>(), &on)
            }

            fn custom_device<A: Aggregate<State: Send, Output: Element> + Send + Sync>(
                custom: &Custom<A>,
                series: &DeviceSeries<$type>,
            ) -> Result<DeviceCustomAggregates<A::Output>> {
                let device = series.device();
                if device.kind() != DeviceKind::Cpu {
                    return gpu::custom(custom.launches(device)?, series);
                }
                let found = cpu::custom(&custom.aggregate, &on_host(series)?)?;
                DeviceCustomAggregates::upload(device, found)
            }
        }
    )*};
}
dispatch! { f32 f64 }

fn aggregate_on<T: Real + HasKernels>(device: &Device, series: &Series<T>) -> Result<Aggregates> {
    match device.kind() {
        DeviceKind::Cpu => cpu::aggregate(series),
        _ => gpu::on_device(device, series, |series| gpu::aggregate(series)?.download()),
    }
}

/// Aggregates series in partitions.
fn divided<T: Real + HasKernels>(devices: &[Device], series: &Series<T>) -> Result<Aggregates> {
    with_smallest_bucket_state!(method::state(&series.options.methods), S => {
        partition::aggregate_divided(devices, series, &aggregate_on, &summaries_on::<T, S>)
    })
}

fn aggregate_into_on<T: Real + HasKernels>(
    device: &Device,
    series: &Series<T>,
    room: &mut Room,
) -> Result<Vec<usize>> {
    match device.kind() {
        DeviceKind::Cpu => room.assign(cpu::aggregate(series)?),
        _ => gpu::on_device(device, series, |series| {
            room.download(gpu::aggregate(series)?)
        }),
    }
}

fn summaries_on<T: Real + HasKernels, S: BucketState>(
    device: &Device,
    series: &Series<T>,
) -> Result<CustomAggregates<S>> {
    custom_on(&S::aggregate(), device, series)
}

fn custom_on<T: Real + HasKernels, A: Aggregate<State: Send, Output: Element> + Send + Sync>(
    custom: &Custom<A>,
    device: &Device,
    series: &Series<T>,
) -> Result<CustomAggregates<A::Output>> {
    if device.kind() == DeviceKind::Cpu {
        return cpu::custom(&custom.aggregate, series);
    }
    let launches = custom.launches(device)?;
    gpu::on_device(device, series, |series| {
        gpu::custom(launches, series)?.download()
    })
}

/// Copies series from arrays of the CPU's handle.
fn on_host<'a, T: Real>(series: &DeviceSeries<'a, T>) -> Result<Series<'a, T>> {
    Ok(Series {
        operation: series.operation,
        options: series.options,
        floor: series.floor,
        offsets: series.offsets.into(),
        timestamps: series.timestamps.buffer().to_vec()?.into(),
        values: series.values.buffer().to_vec()?.into(),
    })
}

pub fn counts(devices: &[Device], timeline: &Timeline) -> Result<BucketCounts> {
    partition::counts(devices, timeline, |device, timeline| match device.kind() {
        DeviceKind::Cpu => cpu::counts(timeline),
        _ => {
            let timestamps = device.upload(&ndarray::aview1(timeline.timestamps))?;
            gpu::counts(timeline.operation, timeline.floor, &timestamps)?.download()
        }
    })
}

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
    let (from, to) = (timestamps.view(), rounded.view_mut());
    round(devices, Rounding::new(operation, floor, from, to)?)?;
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
