//! Series over several devices, and over more points than a device has memory for.
//!
//! Points are brought into order on the host, if that is asked for, and [cut](cut) where buckets begin; each stretch is
//! aggregated by itself, and what comes of them is [joined](join). Buckets that are larger than a device's memory are
//! made of summaries of their stretches.

mod cut;
mod join;

use std::borrow::Cow;
use std::ops::Range;

use ndarray::{Array1, ArrayView1};
use time_series_kernels::{Aggregate, Floor};

use self::cut::{Cuttable, Stretch};
use self::join::{Buckets, Piece, joined};
use super::cpu::{self, Timeline};
use super::finish::{finish, needed};
use super::series::{Series, series_of};
use super::{
    AGGREGATE, Aggregates, Aggregation, BucketCounts, COUNTS, Custom, CustomAggregates, Duplicates,
    Fill, Method, Nan, Order, ROUND, Singletons, Summaries, Value, check_labels,
};
use crate::device::{DeviceKind, Element};
use crate::partition::{self, Partition, alone, equal_ranges, is_short_of_memory, require_devices};
use crate::{Device, Error, Result};

/// Bytes of a device that a point may need while points are sorted for percentiles.
const BYTES_OF_SORTING: usize = 48;

/// [`Aggregation::run_series`].
pub fn aggregate<T: Value>(
    with: &Aggregation,
    devices: &[Device],
    series: &Series<T>,
) -> Result<Aggregates> {
    let methods = needed(with);
    let of_point = bytes_of_point::<T>(with, &methods);
    let on = |device: &Device| T::on_host(with, device, series);
    if let Some(found) = in_one(devices, series.timestamps.len(), of_point, on)? {
        return Ok(found);
    }
    let has_rates = methods.iter().any(Method::is_rate);
    let floor = with.floor()?;
    let points = &cpu::in_order(with, &floor, series)?;
    let of_stretch = of_stretch(with, &methods);
    let found = over(
        devices,
        points,
        &floor,
        true,
        of_point,
        |device, stretch| {
            let first = match has_rates {
                true => first_of_rates(with, points, stretch.points.start),
                false => stretch.points.start,
            };
            let found = T::on_host(&of_stretch, device, &part_of(points, stretch, first))?;
            Ok(Piece::new(found, stretch))
        },
    );
    let has_percentiles = (methods.iter()).any(|method| method.kind().percentile().is_some());
    match found {
        Err(error) if is_too_large(devices, &error) && !has_rates && !has_percentiles => {
            let summaries = summaries_of_parts(with, devices, points, &floor)?;
            finish(with, summaries.columns(&methods, with.ddof)?)
        }
        found => finish(with, found?),
    }
}

/// [`Aggregation::run_custom`].
pub fn custom<T: Value, A>(
    with: &Aggregation,
    devices: &[Device],
    custom: &Custom<A>,
    series: &Series<T>,
) -> Result<CustomAggregates<A::Output>>
where
    A: Aggregate<State: Send, Output: Element> + Send + Sync,
{
    let of_point = bytes_of_custom::<T, A>(with);
    let on = |device: &Device| custom.run(with, device, series);
    if let Some(found) = in_one(devices, series.timestamps.len(), of_point, on)? {
        return Ok(found);
    }
    let floor = with.floor()?;
    let points = cpu::in_order(with, &floor, series)?;
    custom_over(with, devices, custom, &points, &floor, true)
}

/// An aggregate of one's own of points in order, stretch by stretch.
fn custom_over<T: Value, A>(
    with: &Aggregation,
    devices: &[Device],
    custom: &Custom<A>,
    points: &Series<T>,
    floor: &Floor,
    keeps_buckets: bool,
) -> Result<CustomAggregates<A::Output>>
where
    A: Aggregate<State: Send, Output: Element> + Send + Sync,
{
    let of_point = bytes_of_custom::<T, A>(with);
    let of_stretch = of_stretch(with, &[]);
    over(
        devices,
        points,
        floor,
        keeps_buckets,
        of_point,
        |device, stretch| {
            let part = part_of(points, stretch, stretch.points.start);
            Ok(Piece::new(custom.run(&of_stretch, device, &part)?, stretch))
        },
    )
}

/// [`Aggregation::summaries`].
pub fn summaries<T: Value>(
    with: &Aggregation,
    devices: &[Device],
    series: &Series<T>,
) -> Result<Summaries> {
    match custom(with, devices, &super::summaries::custom(), series) {
        Err(error) if is_too_large(devices, &error) => {
            let floor = with.floor()?;
            let points = cpu::in_order(with, &floor, series)?;
            summaries_of_parts(with, devices, &points, &floor)
        }
        found => Ok(Summaries::new(with, found?)),
    }
}

/// Summaries of points in order, of which a device may have no room for all of one bucket.
fn summaries_of_parts<T: Value>(
    with: &Aggregation,
    devices: &[Device],
    points: &Series<T>,
    floor: &Floor,
) -> Result<Summaries> {
    let custom = super::summaries::custom();
    let found = custom_over(with, devices, &custom, points, floor, false)?;
    // Parts of a bucket are neighbours with the same label.
    Summaries::new(with, found).resample(with.granularity)
}

/// [`bucket_counts`](super::bucket_counts).
pub fn counts(floor: &Floor, devices: &[Device], timestamps: &[i64]) -> Result<BucketCounts> {
    let of_point = size_of::<i64>() + size_of::<i64>() + size_of::<f64>();
    let on = |device: &Device| count(floor, device, timestamps);
    if let Some(found) = in_one(devices, timestamps.len(), of_point, on)? {
        return Ok(found);
    }
    let offsets = [0, timestamps.len()];
    let cuttable = Cuttable {
        timeline: Timeline {
            operation: COUNTS,
            offsets: &offsets,
            timestamps,
            floor,
        },
        keeps_buckets: true,
        bytes_of_point: of_point,
    };
    divided(devices, &cuttable, |device, stretch| {
        let counts = count(floor, device, &timestamps[stretch.points.clone()])?;
        Ok(Piece::new(counts, stretch))
    })
}

fn count(floor: &Floor, device: &Device, timestamps: &[i64]) -> Result<BucketCounts> {
    match device.kind() {
        DeviceKind::Cpu => cpu::counts(floor, timestamps),
        _ => super::gpu::counts(floor, &device.upload(&ndarray::aview1(timestamps))?),
    }
}

/// [`round_timestamps`](super::round_timestamps), part by part.
pub fn rounded(
    floor: &Floor,
    devices: &[Device],
    timestamps: ArrayView1<i64>,
) -> Result<Vec<Array1<i64>>> {
    require_devices(devices, ROUND)?;
    struct Chunk<'a>(ArrayView1<'a, i64>);
    impl Partition for Chunk<'_> {
        fn bytes(&self) -> u64 {
            (self.0.len() * size_of::<i64>()) as u64
        }

        fn split(self, parts: usize) -> Vec<Self> {
            equal_ranges(self.0.len(), parts, 1)
                .map(|range| Chunk(self.0.slice_move(ndarray::s![range])))
                .collect()
        }
    }
    let round = |device: &Device, chunk: &mut Chunk| {
        let (granularity, origin) = (floor.width(), floor.lowest());
        if device.kind() == DeviceKind::Cpu {
            return cpu::rounded(floor, chunk.0);
        }
        let mut on_device = device.upload(&chunk.0)?;
        super::round_timestamps_device(&mut on_device, granularity, origin)?;
        on_device.download()
    };
    let rounded = partition::run(devices, ROUND, Chunk(timestamps), round);
    partition::recheck(rounded, || check_labels(ROUND, timestamps.iter(), floor))
}

/// What comes of all points on the only device, if it is the only one and has the memory.
fn in_one<R>(
    devices: &[Device],
    points: usize,
    bytes_of_point: usize,
    work: impl FnOnce(&Device) -> Result<R>,
) -> Result<Option<R>> {
    let bytes = points as u64 * bytes_of_point as u64;
    let device = match devices {
        // There is nothing to be divided.
        [device, ..] if points == 0 => device,
        _ => match alone(devices, bytes) {
            Some(device) => device,
            None => return Ok(None),
        },
    };
    match work(device) {
        Err(error) if points > 0 && is_short_of_memory(device, &error) => Ok(None),
        result => result.map(Some),
    }
}

/// What comes of series in order, stretch by stretch.
fn over<T: Value, R: Buckets + Send>(
    devices: &[Device],
    points: &Series<T>,
    floor: &Floor,
    keeps_buckets: bool,
    bytes_of_point: usize,
    work: impl Fn(&Device, &Stretch) -> Result<Piece<R>> + Sync,
) -> Result<R> {
    let cuttable = Cuttable {
        timeline: Timeline {
            operation: AGGREGATE,
            offsets: &points.offsets,
            timestamps: &points.timestamps,
            floor,
        },
        keeps_buckets,
        bytes_of_point,
    };
    divided(devices, &cuttable, work)
}

fn divided<R: Buckets + Send>(
    devices: &[Device],
    cuttable: &Cuttable,
    work: impl Fn(&Device, &Stretch) -> Result<Piece<R>> + Sync,
) -> Result<R> {
    let pieces = partition::run(
        devices,
        cuttable.timeline.operation,
        cuttable.all(),
        |device, stretch| {
            stretch.check_order()?;
            work(device, stretch)
        },
    );
    match pieces {
        Ok(pieces) => joined(cuttable.timeline.offsets.len() - 1, pieces),
        Err(error) => partition::recheck(Err(error), || cuttable.timeline.check()),
    }
}

fn is_too_large(devices: &[Device], error: &Error) -> bool {
    devices
        .iter()
        .any(|device| is_short_of_memory(device, error))
}

/// The points from `first` to the end of a stretch.
fn part_of<'a, T: Value>(points: &'a Series<T>, stretch: &Stretch, first: usize) -> Series<'a, T> {
    let range = first..stretch.points.end;
    Series {
        timestamps: Cow::Borrowed(&points.timestamps[range.clone()]),
        values: Cow::Borrowed(&points.values[range.clone()]),
        offsets: Cow::Owned(stretch.offsets_within(range)),
    }
}

/// What is done with a stretch: all that depends on other buckets is left for the end.
fn of_stretch(with: &Aggregation, methods: &[Method]) -> Aggregation {
    Aggregation {
        methods: methods.to_vec(),
        order: Order::Required,
        fill: Fill::None,
        singletons: Singletons::Nan,
        ..with.clone()
    }
}

/// Where points have to begin for the rates from `start` on: with all that have the timestamp of the last one before it
/// that has a rate's other end.
fn first_of_rates<T: Value>(with: &Aggregation, points: &Series<T>, start: usize) -> usize {
    let begin = points.offsets[series_of(&points.offsets, start)];
    let counts =
        |index: usize| with.nan == Nan::Propagate || !points.values[index].to_f64().is_nan();
    let mut first = start;
    while first > begin {
        let (last, timestamp) = (first - 1, points.timestamps[first - 1]);
        let earlier = &points.timestamps[begin..last];
        first = begin + earlier.partition_point(|&earlier| earlier < timestamp);
        let is_there = match with.duplicates {
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

/// Bytes of a device that a point takes, if it is a bucket of its own.
fn bytes_of_point<T: Value>(with: &Aggregation, methods: &[Method]) -> usize {
    let result = size_of::<i64>() + methods.len() * size_of::<f64>() + size_of::<u32>();
    let has_rates = methods.iter().any(Method::is_rate);
    let has_percentiles = (methods.iter()).any(|method| method.kind().percentile().is_some());
    let prepared = usize::from(has_rates || with.duplicates != Duplicates::Keep);
    let point = size_of::<i64>() + size_of::<T>() + prepared * size_of::<f64>();
    point + result + if has_percentiles { BYTES_OF_SORTING } else { 0 }
}

/// The same for an aggregate of one's own.
fn bytes_of_custom<T: Value, A: Aggregate>(with: &Aggregation) -> usize {
    bytes_of_point::<T>(with, &[]) + size_of::<A::Output>()
}

/// An offset as it is within a range.
fn within(range: &Range<usize>, offset: usize) -> usize {
    offset.clamp(range.start, range.end) - range.start
}
