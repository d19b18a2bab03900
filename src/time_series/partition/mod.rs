//! How series are divided among devices, and how more points than a device's memory holds are.
//!
//! The host sorts the points if the options say so, and [cuts](cut) them where buckets begin. Each
//! partition is aggregated by itself, and the results are [joined](join). Buckets that are larger
//! than a device's memory are merged from summaries of several partitions.

mod cut;
mod join;

use ndarray::Axis;

use self::cut::{Bytes, Cuttable, SeriesPartition};
use self::join::{Buckets, PartitionBuckets, joined};
use super::cpu::{self, Timeline};
use super::fill::Fills;
use super::gpu::workspace;
use super::input::{Rounding, Series, series_of};
use super::method::Method;
use super::options::{Duplicates, Nan, Order, Singletons, TimeBuckets};
use super::output::{Aggregates, BucketCounts, CustomAggregates, Summaries};
use super::states::BucketState;
use crate::device::Element;
use crate::partition::{
    self, Partition, alone, bytes_of, equal_ranges, is_short_of_memory, split_at_ranges,
};
use crate::{Device, Error, Real, Result};

/// Aggregates series with one device.
type On<'a, T, R> = &'a (dyn Fn(&Device, &Series<T>) -> Result<R> + Sync);

/// Aggregates series by `on`, if there is a single device and it has the memory.
pub fn aggregate_whole<T: Real, R>(
    devices: &[Device],
    series: &Series<T>,
    on: impl FnOnce(&Device) -> Result<R>,
) -> Result<Option<R>> {
    let methods = series.options.needed_methods();
    let bytes = |points| workspace::aggregate_bytes::<T>(series.options, &methods, points);
    in_one(devices, series.timestamps.len(), &bytes, on)
}

/// Aggregates series in partitions by `on`, or by `summaries_on` if a bucket is too large for a
/// device's memory.
pub fn aggregate_divided<T: Real, S: BucketState>(
    devices: &[Device],
    series: &Series<T>,
    on: On<T, Aggregates>,
    summaries_on: On<T, CustomAggregates<S>>,
) -> Result<Aggregates> {
    let options = series.options;
    let methods = options.needed_methods();
    let bytes = |points| workspace::aggregate_bytes::<T>(options, &methods, points);
    let points = &series.in_order()?;
    let in_summaries = |method: &Method| !method.is_rate() && !method.is_percentile();
    let found = match divided_series(&methods, devices, points, true, &bytes, on) {
        Err(error) if is_too_large(devices, &error) && methods.iter().all(in_summaries) => {
            summaries_of_ranges(devices, points, summaries_on)?.columns(&methods, options.ddof)?
        }
        found => found?,
    };
    cpu::finish(options, found)
}

/// Aggregates series by `on`, a user-defined aggregate with states of `state` bytes.
pub fn custom<T: Real, O: Element>(
    devices: &[Device],
    series: &Series<T>,
    state: usize,
    on: On<T, CustomAggregates<O>>,
) -> Result<CustomAggregates<O>> {
    let bytes = |points| workspace::custom_bytes::<T, O>(state, points);
    let whole = |device: &Device| on(device, series);
    if let Some(found) = in_one(devices, series.timestamps.len(), &bytes, whole)? {
        return Ok(found);
    }
    let points = &series.in_order()?;
    divided_series(&[], devices, points, true, &bytes, on)
}

pub fn summaries<T: Real, S: BucketState>(
    devices: &[Device],
    series: &Series<T>,
    on: On<T, CustomAggregates<S>>,
) -> Result<Summaries<S>> {
    match custom(devices, series, size_of::<S>(), on) {
        Err(error) if is_too_large(devices, &error) => {
            summaries_of_ranges(devices, &series.in_order()?, on)
        }
        found => Ok(Summaries::new(series.options, found?)),
    }
}

/// Summarises points in order, where a device may not have memory for all points of a bucket.
fn summaries_of_ranges<T: Real, S: BucketState>(
    devices: &[Device],
    points: &Series<T>,
    on: On<T, CustomAggregates<S>>,
) -> Result<Summaries<S>> {
    let bytes = |points| workspace::custom_bytes::<T, S>(size_of::<S>(), points);
    let found = divided_series(&[], devices, points, false, &bytes, on)?;
    // Summaries of the same bucket are neighbours with the same label.
    Summaries::new(points.options, found).resample(points.options.every)
}

/// Aggregates points in order by `on`, partition by partition. What depends on other buckets is
/// left to the caller.
fn divided_series<T: Real, R: Buckets + Send>(
    methods: &[Method],
    devices: &[Device],
    points: &Series<T>,
    keeps_buckets: bool,
    bytes: Bytes,
    on: On<T, R>,
) -> Result<R> {
    let options = &TimeBuckets {
        methods: methods.to_vec(),
        order: Order::Required,
        fill: Fills::default(),
        singletons: Singletons::Nan,
        ..points.options.clone()
    };
    let has_rates = methods.iter().any(Method::is_rate);
    let cuttable = Cuttable {
        timeline: Timeline::of(points),
        keeps_buckets,
        bytes,
    };
    divided(devices, &cuttable, |device, partition| {
        let start = partition.points.start;
        let first = match has_rates {
            true => first_of_rates(points, start),
            false => start,
        };
        let range = first..partition.points.end;
        let series = Series {
            operation: points.operation,
            options,
            floor: points.floor,
            timestamps: points.timestamps[range.clone()].into(),
            values: points.values[range.clone()].into(),
            offsets: partition.offsets_within(range)?.into(),
        };
        on(device, &series)
    })
}

/// Counts the points of each bucket of one series by `on`.
pub fn counts(
    devices: &[Device],
    timeline: &Timeline,
    on: impl Fn(&Device, &Timeline) -> Result<BucketCounts> + Sync,
) -> Result<BucketCounts> {
    let whole = |device: &Device| on(device, timeline);
    let points = timeline.timestamps.len();
    if let Some(found) = in_one(devices, points, &workspace::counts_bytes, whole)? {
        return Ok(found);
    }
    let cuttable = Cuttable {
        timeline: *timeline,
        keeps_buckets: true,
        bytes: &workspace::counts_bytes,
    };
    let found = divided(devices, &cuttable, |device, partition| {
        let points = Timeline {
            offsets: &[0, partition.points.len()],
            timestamps: &timeline.timestamps[partition.points.clone()],
            ..*timeline
        };
        let BucketCounts { starts, counts } = on(device, &points)?;
        Ok(CustomAggregates {
            offsets: vec![0, starts.len()],
            starts,
            results: counts,
        })
    })?;
    Ok(BucketCounts {
        starts: found.starts,
        counts: found.results,
    })
}

impl Partition for Rounding<'_> {
    fn bytes(&self) -> u64 {
        bytes_of(self.timestamps.len(), size_of::<i64>())
    }

    fn split(self, count: usize) -> Result<Vec<Self>> {
        let ranges = equal_ranges(self.timestamps.len(), count, 1);
        Ok(split_at_ranges(self, ranges, |whole, index| {
            let (timestamps, behind) = whole.timestamps.split_at(Axis(0), index);
            let (out, out_behind) = whole.out.split_at(Axis(0), index);
            let partition = |timestamps, out| Rounding {
                timestamps,
                out,
                ..whole
            };
            (partition(timestamps, out), partition(behind, out_behind))
        }))
    }
}

/// Returns the result for all points on the only device, if there is only one and it has the
/// memory.
fn in_one<R>(
    devices: &[Device],
    points: usize,
    bytes: Bytes,
    work: impl FnOnce(&Device) -> Result<R>,
) -> Result<Option<R>> {
    let device = match devices {
        // There is nothing to divide.
        [device, ..] if points == 0 => Some(device),
        _ => alone(devices, bytes(points)),
    };
    let Some(device) = device else {
        return Ok(None);
    };
    match work(device) {
        Err(error) if points > 0 && is_short_of_memory(device, &error) => Ok(None),
        result => result.map(Some),
    }
}

/// Runs the partitions, and joins the results.
fn divided<R: Buckets + Send>(
    devices: &[Device],
    cuttable: &Cuttable,
    work: impl Fn(&Device, &SeriesPartition) -> Result<R> + Sync,
) -> Result<R> {
    let operation = cuttable.timeline.operation;
    let found = partition::run(devices, operation, cuttable.all(), |device, partition| {
        partition.check_order()?;
        Ok(PartitionBuckets::new(work(device, partition)?, partition))
    });
    let found = partition::recheck(found, || cuttable.timeline.check())?;
    joined(cuttable.timeline.offsets.len() - 1, found)
}

fn is_too_large(devices: &[Device], error: &Error) -> bool {
    let mut devices = devices.iter();
    devices.any(|device| is_short_of_memory(device, error))
}

/// Returns the first point that rates from `start` on need: the first of all points with the
/// timestamp of the last value before `start`.
fn first_of_rates<T: Real>(points: &Series<T>, start: usize) -> usize {
    let options = points.options;
    let begin = points.offsets[series_of(&points.offsets, start)];
    let counts =
        |index: usize| options.nan == Nan::Propagate || !points.values[index].to_f64().is_nan();
    let mut first = start;
    while first > begin {
        let (last, timestamp) = (first - 1, points.timestamps[first - 1]);
        let earlier = &points.timestamps[begin..last];
        first = begin + earlier.partition_point(|&earlier| earlier < timestamp);
        let has_value = match options.duplicates {
            Duplicates::Keep => (first..=last).any(counts),
            Duplicates::First => counts(first),
            Duplicates::Last => counts(last),
        };
        if has_value {
            break;
        }
    }
    first
}
