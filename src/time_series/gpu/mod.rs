//! Launches, the same for GPU and simulator.

mod custom;
mod finish;
mod order;
mod pass;
mod percentiles;
mod prepared;
mod tuning;
mod value;

use ndarray::{Array1, Ix1};
use time_series_kernels::{self as kernels, Absent, Aggregate, Floor};

use super::aggregates::DeviceColumns;
use super::finish::needed;
use super::method;
use super::series::Series;
use super::{
    AGGREGATE, Aggregation, BucketCounts, COUNTS, CustomAggregates, DeviceAggregates, Duplicates,
    Method, Nan, Order, ROUND, Value, check_labels, without_label,
};
use crate::device::{Buffer, DeviceArray, DeviceView, Element, Module};
use crate::partition::recheck;
use crate::{Device, Error, Result, modules};
pub use custom::{Launches, OwnKernels};
use pass::{Bound, Input, Pass};
use percentiles::{Percentiles, percentiles};
use prepared::prepared;
pub use value::HasKernels;

const MODULE: &Module = &modules::TIME_SERIES;

/// Series in the memory of a device: what all launches have in common.
struct DeviceSeries<'a> {
    operation: &'static str,
    offsets: &'a [usize],
    device_offsets: Buffer<u64>,
    timestamps: &'a DeviceArray<i64, Ix1>,
    /// A bit for each point: whether a series begins with it. Empty for one series.
    starts: Buffer<u32>,
    floor: Floor,
}

impl<'a> DeviceSeries<'a> {
    fn new(
        operation: &'static str,
        offsets: &'a [usize],
        timestamps: &'a DeviceArray<i64, Ix1>,
        floor: Floor,
    ) -> Result<DeviceSeries<'a>> {
        let device = timestamps.device();
        let device_offsets = offsets_on(device, offsets)?;
        let words = match offsets.len() {
            2 => 0,
            _ => timestamps.len().div_ceil(32),
        };
        let mut starts = device.zeros::<u32>(words)?;
        if words > 0 {
            let arguments = (device_offsets.slice(), timestamps.len(), starts.slice_mut());
            // SAFETY: a bit for each point, and offsets that were checked. Buffers are of this device, and freed
            // after the kernel has run.
            unsafe {
                let config = tuning::grid_stride(offsets.len());
                device.launch(MODULE, &kernels::mark_series, config, arguments)?;
            }
        }
        Ok(DeviceSeries {
            operation,
            offsets,
            device_offsets,
            timestamps,
            starts,
            floor,
        })
    }

    fn device(&self) -> &'a Device {
        self.timestamps.device()
    }
}

/// Offsets as kernels take them.
fn offsets_on(device: &Device, offsets: &[usize]) -> Result<Buffer<u64>> {
    #[cfg(target_pointer_width = "64")]
    let wide: &[u64] = bytemuck::cast_slice(offsets);
    #[cfg(not(target_pointer_width = "64"))]
    let wide: &Vec<u64> = &offsets.iter().map(|&offset| offset as u64).collect();
    device.buffer_from(wide)
}

/// Offsets that kernels have written.
fn offsets_of(buffer: &Buffer<u64>) -> Result<Vec<usize>> {
    let wide = buffer.to_vec()?;
    #[cfg(target_pointer_width = "64")]
    let offsets = bytemuck::allocation::cast_vec(wide);
    #[cfg(not(target_pointer_width = "64"))]
    let offsets = wide.into_iter().map(|offset| offset as usize).collect();
    Ok(offsets)
}

/// Aggregates series in the memory of a device, which were checked.
pub fn aggregate<T: Value>(
    with: &Aggregation,
    offsets: &[usize],
    timestamps: &DeviceArray<i64, Ix1>,
    values: &DeviceArray<T, Ix1>,
) -> Result<DeviceAggregates> {
    if with.order == Order::Sort {
        let (sorted, values) = order::sorted(offsets, timestamps, values)?;
        // The index in the error is that before sorting.
        return recheck(ordered(with, offsets, &sorted, &values), || {
            check_labels(AGGREGATE, &timestamps.download()?, &with.floor()?)
        });
    }
    ordered(with, offsets, timestamps, values)
}

fn ordered<T: Value>(
    with: &Aggregation,
    offsets: &[usize],
    timestamps: &DeviceArray<i64, Ix1>,
    values: &DeviceArray<T, Ix1>,
) -> Result<DeviceAggregates> {
    let methods = needed(with);
    let series = DeviceSeries::new(AGGREGATE, offsets, timestamps, with.floor()?)?;
    let bound = Bound::of(&series)?;
    let mut job = Job {
        with,
        series: &series,
        methods: &methods,
        bound,
        found: None,
        columns: DeviceColumns {
            elements: series.device().alloc(bound.room_for(methods.len()))?,
            stride: bound.buckets(),
        },
    };
    // The buckets are the same by either pass; without methods the first one finds them.
    let has_rates = methods.iter().any(Method::is_rate);
    if !has_rates || !methods.iter().all(Method::is_rate) {
        if needs_preparation(with) {
            job.add(
                false,
                &prepared(with, &series, values, false)?,
                Absent::Marked,
            )?;
        } else {
            let absent = match with.nan {
                Nan::Skip => Absent::Nan,
                Nan::Propagate => Absent::None,
            };
            job.add(false, values.buffer(), absent)?;
        }
    }
    if has_rates {
        job.add(
            true,
            &prepared(with, &series, values, true)?,
            Absent::Marked,
        )?;
    }
    let found = job.found.expect("the first pass finds the buckets");
    let offsets = found.offsets(&series)?;
    let aggregates = DeviceAggregates {
        offsets,
        starts: DeviceArray::from_buffer(found.starts, Ix1(found.count))?,
        columns: job.columns,
        methods: methods.to_vec(),
    };
    finish::finish(with, aggregates)
}

/// Whether points are left out for another reason than NaN.
fn needs_preparation(with: &Aggregation) -> bool {
    with.duplicates != Duplicates::Keep
}

/// The columns of an aggregation on their way.
struct Job<'a> {
    with: &'a Aggregation,
    series: &'a DeviceSeries<'a>,
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
            series: self.series,
            values,
            absent,
            bound: self.bound,
            needs_firsts: self.series.offsets.len() > 2
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
            let found = Pass::of(&input).columns(self.with, these, &mut self.columns)?;
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

/// Aggregates series on the host by an aggregate of one's own.
pub(super) fn custom<T: Value, A: Aggregate>(
    with: &Aggregation,
    device: &Device,
    launches: Option<&dyn Launches<A>>,
    series: &Series<T>,
) -> Result<CustomAggregates<A::Output>>
where
    A::Output: Element,
{
    let launches = launches.ok_or_else(|| Error::Unavailable {
        device: device.to_string(),
        reason: "it runs kernels, and the aggregate has none: use Custom::with_kernels".into(),
    })?;
    let mut timestamps = device.upload(&ndarray::aview1(&series.timestamps))?;
    let mut values = device.upload(&ndarray::aview1(&series.values))?;
    if with.order == Order::Sort {
        (timestamps, values) = order::sorted(&series.offsets, &timestamps, &values)?;
    }
    let device_series = DeviceSeries::new(AGGREGATE, &series.offsets, &timestamps, with.floor()?)?;
    let prepared = prepared(with, &device_series, &values, false)?;
    let input = Input {
        series: &device_series,
        values: &prepared,
        absent: Absent::Marked,
        bound: Bound::of(&device_series)?,
        needs_firsts: series.offsets.len() > 2,
    };
    let (found, results) = Pass::of(&input).custom(launches)?;
    Ok(CustomAggregates {
        offsets: found.offsets(&device_series)?,
        starts: found.starts.to_vec()?.into(),
        results: results.to_vec()?.into(),
    })
}

/// Rounds timestamps down, all that have a label.
pub fn round(floor: &Floor, timestamps: &mut DeviceArray<i64, Ix1>) -> Result<()> {
    let device = timestamps.device().clone();
    let mut failure = device.zeros::<u64>(1)?;
    let config = tuning::round(timestamps.len());
    let arguments = (
        *floor,
        timestamps.buffer_mut().slice_mut(),
        failure.slice_mut(),
    );
    // SAFETY: whole arrays are aligned, and the failure has an element. Both are of this device, and stay until
    // the kernel has run, since what it found is copied.
    unsafe { device.launch(MODULE, &kernels::round, config, arguments)? };
    let [failure] = failure.first()?;
    if failure == 0 {
        return Ok(());
    }
    let index = (u64::MAX - failure) as usize;
    let timestamp = DeviceView::part(timestamps.buffer(), index, 1).download()?[0];
    Err(without_label(ROUND, index, timestamp, floor))
}

/// The number of timestamps in each bucket.
pub fn counts(floor: &Floor, timestamps: &DeviceArray<i64, Ix1>) -> Result<BucketCounts> {
    let offsets = [0, timestamps.len()];
    let series = DeviceSeries::new(COUNTS, &offsets, timestamps, *floor)?;
    let values = timestamps.device().alloc::<f32>(0)?;
    let bound = Bound::of(&series)?;
    let input = Input {
        series: &series,
        values: &values,
        absent: Absent::None,
        bound,
        needs_firsts: false,
    };
    let mut columns = DeviceColumns {
        elements: timestamps.device().alloc(bound.buckets())?,
        stride: bound.buckets(),
    };
    let found = Pass::of(&input).counts(&mut columns)?;
    let counts = columns.elements.truncated(found.count).to_vec()?;
    Ok(BucketCounts {
        starts: found.starts.to_vec()?.into(),
        counts: counts
            .into_iter()
            .map(|count| count as u32)
            .collect::<Array1<u32>>(),
    })
}
