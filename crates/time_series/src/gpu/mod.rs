//! Aggregations on GPUs and in the simulator.

mod finish;
mod kernels;
mod launches;
mod pass;
mod percentiles;
mod points;
mod timeline;
mod tuning;

use gridstride_runtime::device::{Buffer, DeviceArray, DeviceView, Element, assign};
use gridstride_runtime::{Device, Result};
use ndarray::Ix1;
use time_series_kernels::{self as device_kernels, Absent, Aggregate};

use kernels::HasKernels;

use self::pass::{Found, Pass};
use self::percentiles::percentiles;
use self::points::prepared;
use self::timeline::Timeline;
use super::custom::Launches;
use super::device_output::{
    DeviceAggregates, DeviceBucketCounts, DeviceColumns, DeviceCustomAggregates,
};
use super::input::{
    DeviceRounding, DeviceSeries, DeviceTimestamps, Rounding, Series, without_label,
};
use super::method::{self, Method};
use super::options::{Duplicates, Nan, TimeBuckets};
use super::values::with_values;
use super::workspace::{Array, Points};
use crate::MODULE;

/// Series that were copied to a device.
struct Uploaded<V: Element> {
    timestamps: DeviceArray<i64, Ix1>,
    values: DeviceArray<V, Ix1>,
}

impl<V: Element> Uploaded<V> {
    fn new(device: &Device, series: &Series, values: &[V]) -> Result<Uploaded<V>> {
        let len = series.timestamps.len();
        let mut points = Points::allocate(device, len)?;
        points.timestamps.copy_from(&series.timestamps)?;
        points.values.copy_from(values)?;
        Ok(Uploaded {
            timestamps: DeviceArray::from_buffer(points.timestamps, Ix1(len))?,
            values: DeviceArray::from_buffer(points.values, Ix1(len))?,
        })
    }

    fn series<'a>(&'a self, series: &'a Series) -> DeviceSeries<'a, V> {
        DeviceSeries {
            operation: series.operation,
            options: &series.options,
            floor: series.floor,
            offsets: &series.offsets,
            timestamps: &self.timestamps,
            values: &self.values,
        }
    }
}

/// As [`aggregate`], for points of the host, which are copied to a device.
pub fn host(device: &Device, series: &Series) -> Result<DeviceAggregates> {
    with_values!(&series.values, values => {
        aggregate(&Uploaded::new(device, series, values)?.series(series))
    })
}

/// As [`custom`], for points of the host, which are copied to a device.
pub fn host_custom<A: Aggregate<Output: Element>>(
    device: &Device,
    launches: &dyn Launches<A>,
    series: &Series,
) -> Result<DeviceCustomAggregates<A::Output>> {
    with_values!(&series.values, values => {
        custom(launches, &Uploaded::new(device, series, values)?.series(series))
    })
}

/// Aggregates series in the memory of a device.
pub fn aggregate<V: HasKernels>(series: &DeviceSeries<V>) -> Result<DeviceAggregates> {
    let sorted = points::sorted(series)?;
    let found = aggregate_in_order(&points::in_order(series, &sorted));
    points::unsorted(series, found)
}

fn aggregate_in_order<V: HasKernels>(series: &DeviceSeries<V>) -> Result<DeviceAggregates> {
    let options = series.options;
    let methods = options.needed_methods();
    let timeline = Timeline::of(series)?;
    let mut job = Job {
        options,
        timeline: &timeline,
        methods: &methods,
        found: None,
        columns: columns(&timeline, methods.len())?,
    };
    // Both passes find the same buckets; without methods the pass over the values finds them.
    let has_rates = methods.iter().any(Method::is_rate);
    let absent = match options.nan {
        Nan::Skip => Absent::Nan,
        Nan::Propagate => Absent::None,
    };
    let keeps_all = options.duplicates == Duplicates::Keep;
    if !has_rates || !methods.iter().all(Method::is_rate) {
        if keeps_all {
            job.add(false, series.values.buffer(), absent)?;
        } else {
            let values = prepared(series, &timeline, false)?;
            job.add(false, &values, Absent::Marked)?;
        }
    }
    // Percentiles need the rates in memory, and where values are left out, a rate may be the
    // difference to a value far before.
    let is_done = has_rates && keeps_all && job.add_differences(series.values.buffer(), absent)?;
    if has_rates && !is_done {
        let rates = prepared(series, &timeline, true)?;
        job.add(true, &rates, Absent::Marked)?;
    }
    let found = job.found.expect("the first pass finds the buckets");
    let (offsets, columns) = (found.offsets(&timeline)?, job.columns);
    let aggregates = DeviceAggregates {
        offsets,
        starts: found.starts,
        columns,
        methods,
    };
    finish::finish(options, &timeline, aggregates)
}

/// Allocates columns for all buckets that there can be.
fn columns(timeline: &Timeline, count: usize) -> Result<DeviceColumns> {
    let stride = timeline.max_buckets;
    // A product that overflows cannot be allocated either.
    let len = count.saturating_mul(stride);
    let elements = Array::allocate(timeline.device(), len)?.elements;
    Ok(DeviceColumns { elements, stride })
}

/// An aggregation between passes.
struct Job<'a> {
    options: &'a TimeBuckets,
    timeline: &'a Timeline<'a>,
    methods: &'a [Method],
    found: Option<Found>,
    columns: DeviceColumns,
}

impl Job<'_> {
    /// Computes the columns of the rates, or of the values.
    fn add<V: HasKernels>(
        &mut self,
        are_rates: bool,
        values: &Buffer<V>,
        absent: Absent,
    ) -> Result<()> {
        let (statistics, percents) = method::split(self.methods, are_rates);
        let pass = Pass {
            timeline: self.timeline,
            values,
            absent,
            takes_differences: false,
            needs_firsts: self.needs_firsts(),
        };
        // One launch writes columns that are neighbours.
        let mut rest = &statistics[..];
        while !rest.is_empty() || self.found.is_none() {
            let (these, others) = rest.split_at(pass::neighbours(rest));
            let found = pass.columns(self.options, these, &mut self.columns)?;
            self.found.get_or_insert(found);
            rest = others;
        }
        let found = self.found.as_ref().expect("just found");
        percentiles(&pass, &found.firsts, &percents, &mut self.columns)
    }

    /// Computes the columns of the rates without a copy of all rates, and returns whether that was
    /// possible: no value is left out, and there are no percentiles.
    fn add_differences<V: HasKernels>(
        &mut self,
        values: &Buffer<V>,
        absent: Absent,
    ) -> Result<bool> {
        let (statistics, percents) = method::split(self.methods, true);
        if !percents.is_empty() {
            return Ok(false);
        }
        let pass = Pass {
            timeline: self.timeline,
            values,
            absent,
            takes_differences: true,
            needs_firsts: self.needs_firsts(),
        };
        let mut rest = &statistics[..];
        while !rest.is_empty() {
            let (these, others) = rest.split_at(pass::neighbours(rest));
            let found = pass.columns(self.options, these, &mut self.columns)?;
            if found.lacks_values {
                return Ok(false);
            }
            self.found.get_or_insert(found);
            rest = others;
        }
        Ok(true)
    }

    fn needs_firsts(&self) -> bool {
        self.timeline.offsets.len() > 2 || self.methods.iter().any(Method::is_percentile)
    }
}

/// Aggregates series in the memory of a device by a user-defined aggregate.
pub fn custom<V: HasKernels, A: Aggregate<Output: Element>>(
    launches: &dyn Launches<A>,
    series: &DeviceSeries<V>,
) -> Result<DeviceCustomAggregates<A::Output>> {
    let sorted = points::sorted(series)?;
    let found = custom_in_order(launches, &points::in_order(series, &sorted));
    points::unsorted(series, found)
}

fn custom_in_order<V: HasKernels, A: Aggregate<Output: Element>>(
    launches: &dyn Launches<A>,
    series: &DeviceSeries<V>,
) -> Result<DeviceCustomAggregates<A::Output>> {
    let timeline = Timeline::of(series)?;
    let pass = Pass {
        timeline: &timeline,
        values: &prepared(series, &timeline, false)?,
        absent: Absent::Marked,
        takes_differences: false,
        needs_firsts: series.offsets.len() > 2,
    };
    let (found, results) = pass.custom(launches)?;
    let shape = found.starts.raw_dim();
    Ok(DeviceCustomAggregates {
        offsets: found.offsets(&timeline)?,
        starts: found.starts,
        results: DeviceArray::from_buffer(results, shape)?,
    })
}

/// Rounds timestamps of the host.
pub fn host_round(device: &Device, rounding: &mut Rounding) -> Result<()> {
    let mut timestamps = device.upload(&rounding.timestamps)?.into_buffer();
    round(DeviceRounding {
        operation: rounding.operation,
        floor: rounding.floor,
        device,
        timestamps: &mut timestamps,
    })?;
    let mut out = rounding.out.view_mut();
    match out.as_slice_mut() {
        Some(out) => timestamps.copy_to(out)?,
        None => assign(out, &ndarray::aview1(&timestamps.to_vec()?)),
    }
    Ok(())
}

/// Rounds down the timestamps that have a label, on the stream of the device's handle.
pub fn round(rounding: DeviceRounding) -> Result<()> {
    let DeviceRounding {
        operation,
        floor,
        device,
        timestamps,
    } = rounding;
    let mut failure = device.zeros::<u64>(1)?;
    let config = tuning::round(timestamps.len());
    let arguments = (floor, timestamps.slice_mut(), failure.slice_mut());
    // SAFETY: whole buffers are aligned, and the failure has an element. Both are of this device,
    // and stay until the kernel has run, since its failure is copied.
    unsafe { device.launch(&MODULE, &device_kernels::round, config, arguments)? };
    let [failure] = failure.first()?;
    if failure == 0 {
        return Ok(());
    }
    let index = (u64::MAX - failure) as usize;
    let timestamp = DeviceView::part(timestamps, index, 1).download()?[0];
    Err(without_label(operation, index, timestamp, &floor))
}

/// Counts the timestamps of one series of the host in each bucket.
pub fn host_counts(device: &Device, series: &Series) -> Result<DeviceBucketCounts> {
    counts(&DeviceTimestamps {
        operation: series.operation,
        floor: series.floor,
        timestamps: &device.upload(&ndarray::aview1(&series.timestamps))?,
    })
}

/// Counts the timestamps in each bucket.
pub fn counts(series: &DeviceTimestamps) -> Result<DeviceBucketCounts> {
    let timestamps = series.timestamps;
    let offsets = [0, timestamps.len()];
    let timeline = Timeline::new(series.operation, &offsets, timestamps, series.floor)?;
    let mut columns = columns(&timeline, 1)?;
    let pass = Pass {
        timeline: &timeline,
        values: &timestamps.device().alloc::<f32>(0)?,
        absent: Absent::None,
        takes_differences: false,
        needs_firsts: false,
    };
    let starts = pass.counts(&mut columns)?.starts;
    let counts = columns.elements.truncated(starts.len());
    Ok(DeviceBucketCounts {
        counts: DeviceArray::from_buffer(counts, starts.raw_dim())?,
        starts,
    })
}
