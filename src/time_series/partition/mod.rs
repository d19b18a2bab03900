//! How series are divided among devices, and how more points than fit a device's memory are.
//!
//! Points are brought into order on the host, if that is asked for, and [cut](cut) where buckets begin. Each stretch is
//! aggregated by itself, and the results are [joined](join). Buckets that are larger than a device's memory are made of
//! summaries of their stretches.

mod cut;
mod join;

use std::borrow::Cow;

use ndarray::{ArrayView1, ArrayViewMut1};
use time_series_kernels::{Floor, Summary};

use self::cut::{Cuttable, Stretch};
use self::join::{Buckets, Piece, joined};
use super::cpu::{self, Timeline};
use super::gpu::workspace;
use super::input::{Series, require_labels, series_of};
use super::method::Method;
use super::options::{Duplicates, Fill, Nan, Order, Singletons, TimeBuckets};
use super::output::{Aggregates, BucketCounts, CustomAggregates, Summaries};
use crate::device::Element;
use crate::partition::{
    self, Partition, alone, bytes_of, equal_ranges, is_short_of_memory, split_at_ranges,
};
use crate::{Device, Error, Real, Result};

/// Aggregates series by `on`, or where a bucket is too large for the devices' memory by `summaries_on`.
pub fn aggregate<T: Real>(
    options: &TimeBuckets,
    devices: &[Device],
    series: &Series<T>,
    on: impl Fn(&TimeBuckets, &Device, &Series<T>) -> Result<Aggregates> + Sync,
    summaries_on: impl Fn(&TimeBuckets, &Device, &Series<T>) -> Result<CustomAggregates<Summary>> + Sync,
) -> Result<Aggregates> {
    let methods = options.needed_methods();
    let bytes = |points| workspace::aggregate_bytes::<T>(options, &methods, points);
    let whole = |device: &Device| on(options, device, series);
    if let Some(found) = in_one(devices, series.timestamps.len(), &bytes, whole)? {
        return Ok(found);
    }
    let has_rates = methods.iter().any(Method::is_rate);
    let points = &series.in_order(options)?;
    let part_options = part_options(options, &methods);
    let cuttable = Cuttable {
        timeline: Timeline::of(points),
        keeps_buckets: true,
        bytes: &bytes,
    };
    let found = divided(devices, &cuttable, |device, stretch| {
        let first = match has_rates {
            true => first_of_rates(options, points, stretch.points.start),
            false => stretch.points.start,
        };
        on(&part_options, device, &part(points, stretch, first))
    });
    let has_percentiles = (methods.iter()).any(|method| method.kind().percentile().is_some());
    match found {
        Err(error) if is_too_large(devices, &error) && !has_rates && !has_percentiles => {
            let summaries = summaries_of_parts(options, devices, points, summaries_on)?;
            cpu::finish(options, summaries.columns(&methods, options.ddof)?)
        }
        found => cpu::finish(options, found?),
    }
}

/// Aggregates series by `on`, a user-defined aggregate with states of `state` bytes.
pub fn custom<T: Real, O: Element>(
    options: &TimeBuckets,
    devices: &[Device],
    series: &Series<T>,
    state: usize,
    on: impl Fn(&TimeBuckets, &Device, &Series<T>) -> Result<CustomAggregates<O>> + Sync,
) -> Result<CustomAggregates<O>> {
    let bytes = |points| workspace::custom_bytes::<T, O>(state, points);
    let whole = |device: &Device| on(options, device, series);
    if let Some(found) = in_one(devices, series.timestamps.len(), &bytes, whole)? {
        return Ok(found);
    }
    custom_of_parts(
        options,
        devices,
        &series.in_order(options)?,
        true,
        &bytes,
        on,
    )
}

/// Aggregates points in order by a user-defined aggregate, stretch by stretch.
fn custom_of_parts<T: Real, O: Element>(
    options: &TimeBuckets,
    devices: &[Device],
    points: &Series<T>,
    keeps_buckets: bool,
    bytes: &(dyn Fn(usize) -> u64 + Sync),
    on: impl Fn(&TimeBuckets, &Device, &Series<T>) -> Result<CustomAggregates<O>> + Sync,
) -> Result<CustomAggregates<O>> {
    let part_options = part_options(options, &[]);
    let cuttable = Cuttable {
        timeline: Timeline::of(points),
        keeps_buckets,
        bytes,
    };
    divided(devices, &cuttable, |device, stretch| {
        on(
            &part_options,
            device,
            &part(points, stretch, stretch.points.start),
        )
    })
}

/// Summarises series by `on`.
pub fn summaries<T: Real>(
    options: &TimeBuckets,
    devices: &[Device],
    series: &Series<T>,
    on: impl Fn(&TimeBuckets, &Device, &Series<T>) -> Result<CustomAggregates<Summary>> + Sync,
) -> Result<Summaries> {
    match custom(options, devices, series, size_of::<Summary>(), &on) {
        Err(error) if is_too_large(devices, &error) => {
            summaries_of_parts(options, devices, &series.in_order(options)?, on)
        }
        found => Ok(Summaries::new(options, found?)),
    }
}

/// Summarises points in order where a device may not have room for all points of a bucket.
fn summaries_of_parts<T: Real>(
    options: &TimeBuckets,
    devices: &[Device],
    points: &Series<T>,
    on: impl Fn(&TimeBuckets, &Device, &Series<T>) -> Result<CustomAggregates<Summary>> + Sync,
) -> Result<Summaries> {
    let bytes = |points| workspace::custom_bytes::<T, Summary>(size_of::<Summary>(), points);
    let found = custom_of_parts(options, devices, points, false, &bytes, on)?;
    // Parts of a bucket are neighbours with the same label.
    Summaries::new(options, found).resample(options.granularity)
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
    divided(devices, &cuttable, |device, stretch| {
        let part = Timeline {
            offsets: &[0, stretch.points.len()],
            timestamps: &timeline.timestamps[stretch.points.clone()],
            ..*timeline
        };
        on(device, &part)
    })
}

/// Writes rounded timestamps to `out` by `on`.
pub fn round(
    operation: &'static str,
    floor: &Floor,
    devices: &[Device],
    timestamps: ArrayView1<i64>,
    out: ArrayViewMut1<i64>,
    on: impl Fn(&Device, ArrayView1<i64>, ArrayViewMut1<i64>) -> Result<()> + Sync,
) -> Result<()> {
    let rounded = partition::run(
        devices,
        operation,
        Rounding { timestamps, out },
        |device: &Device, part: &mut Rounding| on(device, part.timestamps, part.out.view_mut()),
    );
    partition::recheck(rounded.map(|_| ()), || {
        require_labels(operation, timestamps.iter(), floor)
    })
}

/// Timestamps, and where the rounded ones go.
struct Rounding<'a> {
    timestamps: ArrayView1<'a, i64>,
    out: ArrayViewMut1<'a, i64>,
}

impl Partition for Rounding<'_> {
    fn bytes(&self) -> u64 {
        bytes_of(self.timestamps.len(), size_of::<i64>())
    }

    fn split(self, parts: usize) -> Vec<Self> {
        let ranges = equal_ranges(self.timestamps.len(), parts, 1);
        split_at_ranges(self, ranges, |whole, index| {
            let (timestamps, behind) = whole.timestamps.split_at(ndarray::Axis(0), index);
            let (out, out_behind) = whole.out.split_at(ndarray::Axis(0), index);
            let behind = Rounding {
                timestamps: behind,
                out: out_behind,
            };
            (Rounding { timestamps, out }, behind)
        })
    }
}

/// Returns the result for all points on the only device, if there is only one and it has the memory.
fn in_one<R>(
    devices: &[Device],
    points: usize,
    bytes: &dyn Fn(usize) -> u64,
    work: impl FnOnce(&Device) -> Result<R>,
) -> Result<Option<R>> {
    let device = match devices {
        // There is nothing to be divided.
        [device, ..] if points == 0 => device,
        _ => match alone(devices, bytes(points)) {
            Some(device) => device,
            None => return Ok(None),
        },
    };
    match work(device) {
        Err(error) if points > 0 && is_short_of_memory(device, &error) => Ok(None),
        result => result.map(Some),
    }
}

/// Does the work stretch by stretch, and joins the results.
fn divided<R: Buckets + Send>(
    devices: &[Device],
    cuttable: &Cuttable,
    work: impl Fn(&Device, &Stretch) -> Result<R> + Sync,
) -> Result<R> {
    let operation = cuttable.timeline.operation;
    let pieces = partition::run(devices, operation, cuttable.all(), |device, stretch| {
        stretch.check_order()?;
        Ok(Piece::new(work(device, stretch)?, stretch))
    });
    let pieces = partition::recheck(pieces, || cuttable.timeline.check())?;
    joined(cuttable.timeline.offsets.len() - 1, pieces)
}

fn is_too_large(devices: &[Device], error: &Error) -> bool {
    devices
        .iter()
        .any(|device| is_short_of_memory(device, error))
}

/// Returns the points from `first` to the end of a stretch.
fn part<'a, T: Real>(points: &'a Series<T>, stretch: &Stretch, first: usize) -> Series<'a, T> {
    let range = first..stretch.points.end;
    Series {
        operation: points.operation,
        floor: points.floor,
        timestamps: Cow::Borrowed(&points.timestamps[range.clone()]),
        values: Cow::Borrowed(&points.values[range.clone()]),
        offsets: Cow::Owned(stretch.offsets_within(range)),
    }
}

/// Returns the options for a stretch: what depends on other buckets is left for the end.
fn part_options(options: &TimeBuckets, methods: &[Method]) -> TimeBuckets {
    TimeBuckets {
        methods: methods.to_vec(),
        order: Order::Required,
        fill: Fill::None,
        singletons: Singletons::Nan,
        ..options.clone()
    }
}

/// Returns where points have to begin for the rates from `start` on: with all points that have the timestamp of the last
/// value before.
fn first_of_rates<T: Real>(options: &TimeBuckets, points: &Series<T>, start: usize) -> usize {
    let begin = points.offsets[series_of(&points.offsets, start)];
    let counts =
        |index: usize| options.nan == Nan::Propagate || !points.values[index].to_f64().is_nan();
    let mut first = start;
    while first > begin {
        let (last, timestamp) = (first - 1, points.timestamps[first - 1]);
        let earlier = &points.timestamps[begin..last];
        first = begin + earlier.partition_point(|&earlier| earlier < timestamp);
        let is_there = match options.duplicates {
            Duplicates::Keep => (first..=last).any(counts),
            Duplicates::First => counts(first),
            Duplicates::Last => counts(last),
        };
        if is_there {
            break;
        }
    }
    first
}
