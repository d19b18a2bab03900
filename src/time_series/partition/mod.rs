//! Partitions of series, which are cut where buckets begin, and of timestamps to be rounded.

mod join;

use std::ops::Range;
use std::sync::Arc;

use ndarray::Axis;

pub use join::{Place, joined, uncut};

use super::fill::Fills;
use super::input::{Rounding, Series, series_of};
use super::method::Method;
use super::options::{Duplicates, Nan, Order, Singletons, TimeBuckets};
use super::workspace::Work;
use crate::Result;
use crate::device::{Element, collected};
use crate::partition::{Partition, bytes_of, equal_ranges, split_at_ranges};

/// Consecutive points of series that are aggregated on one device.
pub struct SeriesPartition<'a, T: Clone> {
    series: &'a Series<'a, T>,
    work: Work,
    /// `None` for all points, as the caller has them.
    part: Option<Part<'a, T>>,
}

/// Some of the points in the order of time.
struct Part<'a, T: Clone> {
    whole: Arc<Ordered<'a, T>>,
    points: Range<usize>,
}

/// All points in the order of time, sorted if the options say so.
struct Ordered<'a, T: Clone> {
    series: Series<'a, T>,
    /// The options of parts: what depends on other buckets is left to the caller.
    options: TimeBuckets,
    cuts_buckets: bool,
}

impl<'a, T: Element + PartialOrd> SeriesPartition<'a, T> {
    /// Returns a partition of all points.
    pub fn new(series: &'a Series<'a, T>, work: Work) -> Self {
        SeriesPartition {
            series,
            work,
            part: None,
        }
    }

    /// Returns the points for a device. Fails if some are out of order.
    pub fn series(&self) -> Result<Series<'_, T>> {
        match &self.part {
            None => Ok(self.series.borrowed()),
            Some(part) => part.series(),
        }
    }

    /// Returns the place of the points among those of all partitions, or `None` for all points.
    pub fn place(&self) -> Option<Place> {
        self.part.as_ref().map(Part::place)
    }

    fn len(&self) -> usize {
        let part = self.part.as_ref();
        part.map_or(self.series.timestamps.len(), |part| part.points.len())
    }

    /// Returns all points as a part, brought in order.
    fn ordered(&self) -> Result<Part<'a, T>> {
        let series = self.series.in_order()?;
        let methods = match self.work {
            Work::Methods => series.options.needed_methods(),
            Work::Custom { .. } | Work::Counts => Vec::new(),
        };
        let options = TimeBuckets {
            methods,
            order: Order::Required,
            fill: Fills::default(),
            singletons: Singletons::Nan,
            ..series.options.clone()
        };
        let whole = Ordered {
            cuts_buckets: self.work.cuts_buckets(),
            options,
            series,
        };
        Ok(Part {
            points: 0..self.len(),
            whole: Arc::new(whole),
        })
    }
}

impl<T: Element + PartialOrd> Partition for SeriesPartition<'_, T> {
    fn bytes(&self) -> u64 {
        self.work.bytes::<T>(self.series.options, self.len())
    }

    fn split(mut self, count: usize) -> Result<Vec<Self>> {
        if self.len() == 0 {
            return Ok(vec![self]);
        }
        let Part { whole, points } = match self.part.take() {
            None => self.ordered()?,
            Some(part) => part,
        };
        let partition = |points| SeriesPartition {
            part: Some(Part {
                whole: whole.clone(),
                points,
            }),
            ..self
        };
        let mut start = points.start;
        let mut partitions = Vec::new();
        for range in equal_ranges(points.len(), count, 1).skip(1) {
            let at = points.start + range.start;
            if at > start
                && let Some(cut) = whole.cut_near(at, &(start..points.end))
            {
                partitions.push(partition(start..cut));
                start = cut;
            }
        }
        partitions.push(partition(start..points.end));
        Ok(partitions)
    }
}

impl<T: Element + PartialOrd> Part<'_, T> {
    fn first_series(&self) -> usize {
        series_of(&self.whole.series.offsets, self.points.start)
    }

    fn place(&self) -> Place {
        let Series {
            timestamps, floor, ..
        } = &self.whole.series;
        let first = timestamps[self.points.start];
        Place {
            first_series: self.first_series(),
            first_label: floor.floor(first.max(floor.lowest())),
        }
    }

    /// Returns the points, for rates with the last value before them.
    fn series(&self) -> Result<Series<'_, T>> {
        let Ordered {
            series, options, ..
        } = &*self.whole;
        let start = self.points.start;
        let is_first = series.offsets[self.first_series()] == start;
        if !is_first
            && self.whole.group(series.timestamps[start - 1])
                >= self.whole.group(series.timestamps[start])
        {
            // The points of the partition before do not all come before these.
            series.check()?;
        }
        let first = match options.methods.iter().any(Method::is_rate) {
            true => first_of_rates(series, start),
            false => start,
        };
        let range = first..self.points.end;
        Ok(Series {
            operation: series.operation,
            options,
            floor: series.floor,
            timestamps: series.timestamps[range.clone()].into(),
            values: series.values[range.clone()].into(),
            offsets: self.offsets_within(range)?.into(),
        })
    }

    /// Returns the offsets of the series from the first to the last with a point, within a range of
    /// points.
    fn offsets_within(&self, range: Range<usize>) -> Result<Vec<usize>> {
        let offsets = &self.whole.series.offsets;
        let last = series_of(offsets, self.points.end - 1);
        let offsets = offsets[self.first_series()..=last + 1].iter();
        collected(offsets.map(|&offset| offset.clamp(range.start, range.end) - range.start))
    }
}

impl<T: Clone> Ordered<'_, T> {
    /// Returns the first timestamp that stays together with a timestamp.
    fn group(&self, timestamp: i64) -> i64 {
        let floor = self.series.floor;
        match !self.cuts_buckets && timestamp >= floor.lowest() {
            true => floor.floor(timestamp),
            false => timestamp,
        }
    }

    /// Returns where points of a range can be cut: before the group of the point at `at`, else
    /// behind it.
    ///
    /// If timestamps are not in order, the cut may be anywhere: [`Part::series`] finds out.
    fn cut_near(&self, at: usize, range: &Range<usize>) -> Option<usize> {
        let (timestamps, offsets) = (&self.series.timestamps, &self.series.offsets);
        let series = series_of(offsets, at);
        let begin = offsets[series].max(range.start);
        let end = offsets[series + 1].min(range.end);
        let group = self.group(timestamps[at]);
        let before = begin + timestamps[begin..at].partition_point(|&t| self.group(t) < group);
        if before > range.start {
            return Some(before);
        }
        let behind = at + timestamps[at..end].partition_point(|&t| self.group(t) <= group);
        (at < behind && behind < range.end).then_some(behind)
    }
}

/// Returns the first point that rates from `start` on need: the first of all points with the
/// timestamp of the last value before `start`.
fn first_of_rates<T: Element + PartialOrd>(points: &Series<T>, start: usize) -> usize {
    let options = points.options;
    let begin = points.offsets[series_of(&points.offsets, start)];
    let is_nan = |value: &T| value.partial_cmp(value).is_none();
    let counts = |index: usize| options.nan == Nan::Propagate || !is_nan(&points.values[index]);
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
