//! Dispatch by element type and kind of device.

use gridstride_runtime::device::{DeviceKind, Element, assign, zeroed_lazily};
use gridstride_runtime::partition::{lack_memory, recheck, run};
use gridstride_runtime::{Device, Result};
use ndarray::{Array1, ArrayViewMut1};
use time_series_kernels::{Aggregate, Floor};

use super::cpu;
use super::custom::Custom;
use super::device_output::{DeviceAggregates, DeviceBucketCounts, DeviceCustomAggregates};
use super::element::Dispatch;
use super::gpu;
use super::input::{
    DeviceRounding, DeviceSeries, DeviceTimestamps, Rounding, Series, require_labels,
};
use super::method::{self, Method};
use super::output::{BucketCounts, CustomAggregates, Summaries};
use super::partition::{SeriesPartition, joined, uncut};
use super::room::Found;
use super::states::{BucketState, with_smallest_bucket_state};
use super::timeline::Timeline;
use super::workspace::Work;

macro_rules! dispatch {
    ($($type:ident)*) => {$(
        impl Dispatch for $type {
            fn device(series: &DeviceSeries<$type>) -> Result<DeviceAggregates> {
                let device = series.device();
                match device.kind() {
                    DeviceKind::Cpu => {
                        DeviceAggregates::upload(device, cpu::aggregate(&series.download()?)?)
                    }
                    _ => gpu::aggregate(series),
                }
            }

            fn custom_device<A: Aggregate<State: Send, Output: Element> + Send + Sync>(
                custom: &Custom<A>,
                series: &DeviceSeries<$type>,
            ) -> Result<DeviceCustomAggregates<A::Output>> {
                let device = series.device();
                match device.kind() {
                    DeviceKind::Cpu => {
                        let found = cpu::custom(&custom.aggregate, &series.download()?)?;
                        DeviceCustomAggregates::upload(device, found)
                    }
                    _ => gpu::custom(custom.launches(device)?, series),
                }
            }
        }
    )*};
}
dispatch! { f32 f64 }

/// Aggregates series on the host, with all of the devices.
pub fn aggregate(devices: &[Device], series: &Series) -> Result<Found> {
    let whole = SeriesPartition::new(series, Work::Methods);
    let found = run(devices, series.operation, whole, |device, part| {
        let points = part.series()?;
        let found = match device.kind() {
            DeviceKind::Cpu => Found::Host(cpu::aggregate(&points)?),
            _ => Found::Device(gpu::host(device, &points)?),
        };
        if part.is_whole() {
            return Ok((found, None));
        }
        let found = found.download()?;
        let place = part.place(&found);
        Ok((Found::Host(found), place))
    });
    let (options, methods) = (&*series.options, series.options.needed_methods());
    let in_summaries = |method: &Method| !method.is_rate() && !method.is_percentile();
    let found = match recheck(found, || series.check()) {
        Err(error) if lack_memory(devices, &error) && methods.iter().all(in_summaries) => {
            with_smallest_bucket_state!(method::state(&methods), S => {
                merged::<S>(devices, series)?.columns(&methods, options.ddof)?
            })
        }
        found => {
            let mut found = found?;
            if let Some(found) = uncut(&mut found) {
                return Ok(found);
            }
            let found = found
                .into_iter()
                .map(|(found, place)| Ok((found.download()?, place)));
            joined(series.count(), found.collect::<Result<_>>()?)?
        }
    };
    cpu::finish(options, found).map(Found::Host)
}

/// Summarises series on the host, with all of the devices.
pub fn summaries<S: BucketState>(devices: &[Device], series: &Series) -> Result<Summaries<S>> {
    match custom(&S::aggregate(), devices, series) {
        Err(error) if lack_memory(devices, &error) => merged(devices, series),
        found => Ok(Summaries::new(&series.options, found?)),
    }
}

/// Aggregates series on the host by a user-defined aggregate, with all of the devices.
pub fn custom<A: Aggregate<State: Send, Output: Element> + Send + Sync>(
    custom: &Custom<A>,
    devices: &[Device],
    series: &Series,
) -> Result<CustomAggregates<A::Output>> {
    aggregate_by(custom, false, devices, series)
}

/// As [`custom`]. If the points of a bucket may be cut, it has several results, which are
/// neighbours.
fn aggregate_by<A: Aggregate<State: Send, Output: Element> + Send + Sync>(
    custom: &Custom<A>,
    cuts_buckets: bool,
    devices: &[Device],
    series: &Series,
) -> Result<CustomAggregates<A::Output>> {
    let work = Work::Custom {
        state: size_of::<A::State>(),
        result: size_of::<A::Output>(),
        cuts_buckets,
    };
    // Before points are read, and before another device computes its share.
    for device in devices {
        if device.kind() != DeviceKind::Cpu {
            custom.launches(device)?;
        }
    }
    let whole = SeriesPartition::new(series, work);
    let found = run(devices, series.operation, whole, |device, part| {
        let points = part.series()?;
        let found = match device.kind() {
            DeviceKind::Cpu => cpu::custom(&custom.aggregate, &points)?,
            _ => gpu::host_custom(device, custom.launches(device)?, &points)?.download()?,
        };
        let place = part.place(&found);
        Ok((found, place))
    });
    joined(series.count(), recheck(found, || series.check())?)
}

/// Summarises series where a device may not have memory for all points of a bucket.
fn merged<S: BucketState>(devices: &[Device], series: &Series) -> Result<Summaries<S>> {
    let found = aggregate_by(&S::aggregate(), true, devices, series)?;
    Summaries::new(&series.options, found).resample(series.options.every)
}

/// Counts the points of each bucket of one series.
pub fn counts(devices: &[Device], series: &Series) -> Result<BucketCounts> {
    let whole = SeriesPartition::new(series, Work::Counts);
    let found = run(devices, series.operation, whole, |device, part| {
        let points = part.series()?;
        let BucketCounts { starts, counts } = match device.kind() {
            DeviceKind::Cpu => cpu::counts(&Timeline::of(&points))?,
            _ => gpu::host_counts(device, &points)?.download()?,
        };
        let found = CustomAggregates {
            offsets: vec![0, starts.len()],
            starts,
            results: counts,
        };
        let place = part.place(&found);
        Ok((found, place))
    });
    let found = joined(series.count(), recheck(found, || series.check())?)?;
    Ok(BucketCounts {
        starts: found.starts,
        counts: found.results,
    })
}

/// As [`counts`], in the memory of a device.
pub fn counts_device(series: &DeviceTimestamps) -> Result<DeviceBucketCounts> {
    let device = series.timestamps.device();
    match device.kind() {
        DeviceKind::Cpu => {
            let found = cpu::counts(&Timeline {
                operation: series.operation,
                offsets: &[0, series.timestamps.len()],
                timestamps: &series.timestamps.buffer().to_vec()?,
                floor: series.floor,
            })?;
            DeviceBucketCounts::upload(device, &found)
        }
        _ => gpu::counts(series),
    }
}

/// Rounds timestamps.
pub fn round(devices: &[Device], rounding: Rounding) -> Result<()> {
    let Rounding {
        operation,
        floor,
        timestamps,
        ..
    } = rounding;
    let rounded = run(devices, operation, rounding, |device, part| {
        match device.kind() {
            DeviceKind::Cpu => cpu::round_into(part),
            _ => gpu::host_round(device, part),
        }
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

/// As [`round`], in the memory of a device and in place.
pub fn round_device(rounding: DeviceRounding) -> Result<()> {
    match rounding.device.kind() {
        DeviceKind::Cpu => {
            let mut rounded = rounding.timestamps.to_vec()?;
            let view = ArrayViewMut1::from(&mut rounded[..]);
            cpu::round(rounding.operation, rounding.floor, view)?;
            rounding.timestamps.copy_from(&rounded)
        }
        _ => gpu::round(rounding),
    }
}
