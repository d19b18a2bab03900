//! Launches, the same for GPU and simulator.

mod custom;
mod finish;
mod kernels;
mod order;
mod pass;
mod percentiles;
mod prepared;
mod timeline;
mod tuning;
pub mod workspace;

use ndarray::Ix1;
use time_series_kernels::{self as device_kernels, Absent, Aggregate, Floor};

pub use custom::{CustomKernels, Launches};
pub use kernels::{HasKernels, MODULE};

use self::pass::{Bound, Input, Pass};
use self::percentiles::{Percentiles, percentiles};
use self::prepared::prepared;
use self::timeline::Timeline;
use super::device_output::{
    DeviceAggregates, DeviceBucketCounts, DeviceColumns, DeviceCustomAggregates,
};
use super::input::{DeviceSeries, Series, require_labels, without_label};
use super::method::{self, Method};
use super::options::{Duplicates, Nan, Order, TimeBuckets};
use crate::device::{Buffer, DeviceArray, DeviceView, Element};
use crate::partition::recheck;
use crate::{Device, Result};

/// Copies series to a device, and calls `work` with them there.
pub fn on_device<V: Element, R>(
    device: &Device,
    series: &Series<V>,
    work: impl FnOnce(&DeviceSeries<V>) -> Result<R>,
) -> Result<R> {
    let workspace::Points {
        mut timestamps,
        mut values,
    } = workspace::Points::allocate(device, series.timestamps.len())?;
    timestamps.copy_from(&series.timestamps)?;
    values.copy_from(&series.values)?;
    let len = Ix1(timestamps.len());
    work(&DeviceSeries {
        operation: series.operation,
        floor: series.floor,
        offsets: &series.offsets,
        timestamps: &DeviceArray::from_buffer(timestamps, len)?,
        values: &DeviceArray::from_buffer(values, len)?,
    })
}

/// Aggregates series in the memory of a device, which were checked.
pub fn aggregate<V: HasKernels>(
    options: &TimeBuckets,
    series: &DeviceSeries<V>,
) -> Result<DeviceAggregates> {
    in_order(options, series, |series| ordered(options, series))
}

/// Calls `work` with the points in the order of time: sorted, if the options say so.
fn in_order<V: HasKernels, R>(
    options: &TimeBuckets,
    series: &DeviceSeries<V>,
    work: impl FnOnce(&DeviceSeries<V>) -> Result<R>,
) -> Result<R> {
    if options.order != Order::Sort {
        return work(series);
    }
    let (timestamps, values) = order::sorted(series)?;
    let result = work(&DeviceSeries {
        timestamps: &timestamps,
        values: &values,
        ..*series
    });
    // The index in the error is that before sorting.
    recheck(result, || {
        require_labels(
            series.operation,
            &series.timestamps.download()?,
            &series.floor,
        )
    })
}

fn ordered<V: HasKernels>(
    options: &TimeBuckets,
    series: &DeviceSeries<V>,
) -> Result<DeviceAggregates> {
    let methods = options.needed_methods();
    let values = series.values;
    let timeline = Timeline::of(series)?;
    let bound = Bound::of(&timeline)?;
    let columns = workspace::Columns::allocate(timeline.device(), methods.len(), bound.buckets())?;
    let mut job = Job {
        options,
        timeline: &timeline,
        methods: &methods,
        bound,
        found: None,
        columns: DeviceColumns {
            elements: columns.elements,
            stride: bound.buckets(),
        },
    };
    // The buckets are the same by either pass; without methods the first one finds them.
    let has_rates = methods.iter().any(Method::is_rate);
    if !has_rates || !methods.iter().all(Method::is_rate) {
        if needs_preparation(options) {
            job.add(
                false,
                &prepared(options, &timeline, values, false)?,
                Absent::Marked,
            )?;
        } else {
            let absent = match options.nan {
                Nan::Skip => Absent::Nan,
                Nan::Propagate => Absent::None,
            };
            job.add(false, values.buffer(), absent)?;
        }
    }
    if has_rates {
        job.add(
            true,
            &prepared(options, &timeline, values, true)?,
            Absent::Marked,
        )?;
    }
    let found = job.found.expect("the first pass finds the buckets");
    let offsets = found.offsets(&timeline)?;
    let aggregates = DeviceAggregates {
        offsets,
        starts: DeviceArray::from_buffer(found.starts, Ix1(found.count))?,
        columns: job.columns,
        methods: methods.to_vec(),
    };
    finish::finish(options, &timeline, aggregates)
}

/// Whether points are left out for another reason than NaN.
fn needs_preparation(options: &TimeBuckets) -> bool {
    options.duplicates != Duplicates::Keep
}

/// The columns of an aggregation on their way.
struct Job<'a> {
    options: &'a TimeBuckets,
    timeline: &'a Timeline<'a>,
    methods: &'a [Method],
    bound: Bound,
    found: Option<pass::Found>,
    columns: DeviceColumns,
}

impl Job<'_> {
    /// Computes the columns of the values, or of the rates if they are.
    fn add<V: HasKernels>(
        &mut self,
        are_rates: bool,
        values: &Buffer<V>,
        absent: Absent,
    ) -> Result<()> {
        let (statistics, percents) = method::split(self.methods, are_rates);
        let input = Input {
            timeline: self.timeline,
            values,
            absent,
            bound: self.bound,
            needs_firsts: self.timeline.offsets.len() > 2
                || self
                    .methods
                    .iter()
                    .any(|method| method.kind().percentile().is_some()),
        };
        // Neighbours in the result are written by one launch.
        let mut rest = &statistics[..];
        while !rest.is_empty() || self.found.is_none() {
            let neighbours = pass::neighbours(rest);
            let (these, others) = rest.split_at(neighbours);
            let found = Pass::new(&input).columns(self.options, these, &mut self.columns)?;
            self.found.get_or_insert(found);
            rest = others;
        }
        let found = self.found.as_ref().expect("just found");
        percentiles(
            Percentiles {
                input: &input,
                firsts: &found.firsts,
                percents: &percents,
            },
            &mut self.columns,
        )
    }
}

/// Aggregates series in the memory of a device by a user-defined aggregate.
pub fn custom<V: HasKernels, A: Aggregate<Output: Element>>(
    options: &TimeBuckets,
    launches: &dyn Launches<A>,
    series: &DeviceSeries<V>,
) -> Result<DeviceCustomAggregates<A::Output>> {
    in_order(options, series, |series| {
        let timeline = Timeline::of(series)?;
        let prepared = prepared(options, &timeline, series.values, false)?;
        let input = Input {
            timeline: &timeline,
            values: &prepared,
            absent: Absent::Marked,
            bound: Bound::of(&timeline)?,
            needs_firsts: series.offsets.len() > 2,
        };
        let (found, results) = Pass::new(&input).custom(launches)?;
        Ok(DeviceCustomAggregates {
            offsets: found.offsets(&timeline)?,
            starts: DeviceArray::from_buffer(found.starts, Ix1(found.count))?,
            results: DeviceArray::from_buffer(results, Ix1(found.count))?,
        })
    })
}

/// Rounds timestamps down, all that have a label, on the stream of `device`.
pub fn round(
    operation: &'static str,
    floor: &Floor,
    device: &Device,
    timestamps: &mut Buffer<i64>,
) -> Result<()> {
    let mut failure = device.zeros::<u64>(1)?;
    let config = tuning::round(timestamps.len());
    let arguments = (*floor, timestamps.slice_mut(), failure.slice_mut());
    // SAFETY: whole buffers are aligned, and the failure has an element. Both are of this device, and stay until
    // the kernel has run, since what it found is copied.
    unsafe { device.launch(MODULE, &device_kernels::round, config, arguments)? };
    let [failure] = failure.first()?;
    if failure == 0 {
        return Ok(());
    }
    let index = (u64::MAX - failure) as usize;
    let timestamp = DeviceView::part(timestamps, index, 1).download()?[0];
    Err(without_label(operation, index, timestamp, floor))
}

/// Counts the timestamps in each bucket.
pub fn counts(
    operation: &'static str,
    floor: &Floor,
    timestamps: &DeviceArray<i64, Ix1>,
) -> Result<DeviceBucketCounts> {
    let offsets = [0, timestamps.len()];
    let timeline = Timeline::new(operation, &offsets, timestamps, *floor)?;
    let values = timestamps.device().alloc::<f32>(0)?;
    let bound = Bound::of(&timeline)?;
    let input = Input {
        timeline: &timeline,
        values: &values,
        absent: Absent::None,
        bound,
        needs_firsts: false,
    };
    let mut columns = DeviceColumns {
        elements: workspace::Columns::allocate(timestamps.device(), 1, bound.buckets())?.elements,
        stride: bound.buckets(),
    };
    let found = Pass::new(&input).counts(&mut columns)?;
    let counts = columns.elements.truncated(found.count);
    Ok(DeviceBucketCounts {
        starts: DeviceArray::from_buffer(found.starts, Ix1(found.count))?,
        counts: DeviceArray::from_buffer(counts, Ix1(found.count))?,
    })
}
