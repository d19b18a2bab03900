//! Partitions of series, which are cut where buckets begin, and of timestamps to be rounded.

mod join;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use gridstride_runtime::Result;
use gridstride_runtime::device::collected;
use gridstride_runtime::partition::{Partition, bytes_of, equal_ranges, split_at_ranges};
use ndarray::Axis;

use join::{Buckets, Place};
pub use join::{joined, uncut};

use super::fill::Fills;
use super::input::{Rounding, Series, series_of};
use super::method::Method;
use super::options::{Duplicates, Nan, Order, Singletons, TimeBuckets};
use super::workspace::Work;

/// Consecutive points of series that are aggregated on one device.
pub struct SeriesPartition<'a> {
    series: &'a Series<'a>,
    work: Work,
    points: Range<usize>,
    /// All points in the order of time, once they have been split. The options are those of a
    /// partition: filling and dropping of buckets are left to the caller, since they depend on
    /// other partitions.
    ordered: Option<Arc<Series<'a>>>,
}

impl<'a> SeriesPartition<'a> {
    /// Returns a partition of all points.
    pub fn new(series: &'a Series<'a>, work: Work) -> Self {
        SeriesPartition {
            series,
            work,
            points: 0..series.timestamps.len(),
            ordered: None,
        }
    }

    /// Whether these are all points, as the caller has them.
    pub fn is_whole(&self) -> bool {
        self.ordered.is_none()
    }

    /// Returns the points, for rates with the last value before them. Fails if they do not come
    /// behind those of the partition before.
    pub fn series(&self) -> Result<Series<'_>> {
        let Some(all) = &self.ordered else {
            return Ok(self.series.borrowed());
        };
        let start = self.points.start;
        let first_series = series_of(&all.offsets, start);
        let is_behind = all.offsets[first_series] == start
            || self.group(all.timestamps[start - 1]) < self.group(all.timestamps[start]);
        if !is_behind {
            all.check()?;
        }
        let first = match all.options.methods.iter().any(Method::is_rate) {
            true => first_of_rates(all, start),
            false => start,
        };
        let range = first..self.points.end;
        // From the first series with a point to the last.
        let last_series = series_of(&all.offsets, range.end - 1);
        let offsets = all.offsets[first_series..=last_series + 1].iter();
        let offsets = offsets.map(|&offset| offset.clamp(first, range.end) - first);
        Ok(Series {
            offsets: collected(offsets)?.into(),
            timestamps: all.timestamps[range.clone()].into(),
            values: all.values.range(range),
            ..all.borrowed()
        })
    }

    /// Returns the place of these points' buckets among those of all points, unless they are all.
    pub fn place(&self, found: &impl Buckets) -> Option<Place> {
        let all = self.ordered.as_ref()?;
        let first = all.timestamps[self.points.start].max(all.floor.lowest());
        let first = all.floor.floor(first);
        let (offsets, starts) = found.buckets();
        let of_first_series = starts.iter().take(offsets[1]);
        Some(Place {
            first_series: series_of(&all.offsets, self.points.start),
            skipped: of_first_series.take_while(|&&start| start < first).count(),
        })
    }

    /// Returns all points in the order of time, sorted if the options say so.
    fn in_order(&self) -> Result<Series<'a>> {
        let mut ordered = self.series.in_order()?;
        let methods = match self.work {
            Work::Methods => ordered.options.needed_methods(),
            Work::Custom { .. } | Work::Counts => Vec::new(),
        };
        ordered.options = Cow::Owned(TimeBuckets {
            methods,
            order: Order::Required,
            fill: Fills::default(),
            singletons: Singletons::Nan,
            ..ordered.options.into_owned()
        });
        Ok(ordered)
    }

    /// Returns the first timestamp that stays together with a timestamp.
    fn group(&self, timestamp: i64) -> i64 {
        let floor = self.series.floor;
        match !self.work.cuts_buckets() && timestamp >= floor.lowest() {
            true => floor.floor(timestamp),
            false => timestamp,
        }
    }

    /// Returns where points in order can be cut behind `start`: before the group of the point at
    /// `at`, else behind it.
    ///
    /// If timestamps are not in order, the cut may be anywhere: [`series`](Self::series) finds out.
    fn cut_near(&self, all: &Series, start: usize, at: usize) -> Option<usize> {
        let (timestamps, offsets) = (&all.timestamps, &all.offsets);
        let series = series_of(offsets, at);
        let begin = offsets[series].max(start);
        let end = offsets[series + 1].min(self.points.end);
        let group = self.group(timestamps[at]);
        let before = begin + timestamps[begin..at].partition_point(|&t| self.group(t) < group);
        if before > start {
            return Some(before);
        }
        let behind = at + timestamps[at..end].partition_point(|&t| self.group(t) <= group);
        (at < behind && behind < self.points.end).then_some(behind)
    }
}

impl Partition for SeriesPartition<'_> {
    fn bytes(&self) -> u64 {
        let Series {
            options, values, ..
        } = self.series;
        self.work.bytes(options, values, self.points.len())
    }

    fn split(self, count: usize) -> Result<Vec<Self>> {
        if self.points.is_empty() {
            return Ok(vec![self]);
        }
        let all = match &self.ordered {
            None => Arc::new(self.in_order()?),
            Some(all) => all.clone(),
        };
        let mut start = self.points.start;
        let mut cuts = Vec::new();
        for range in equal_ranges(self.points.len(), count, 1).skip(1) {
            let at = self.points.start + range.start;
            if at > start
                && let Some(cut) = self.cut_near(&all, start, at)
            {
                cuts.push(start..cut);
                start = cut;
            }
        }
        cuts.push(start..self.points.end);
        let partition = |points| SeriesPartition {
            points,
            ordered: Some(all.clone()),
            ..self
        };
        Ok(cuts.into_iter().map(partition).collect())
    }
}

/// Returns the first point that rates from `start` on need: the first of all points with the
/// timestamp of the last value before `start`.
fn first_of_rates(points: &Series, start: usize) -> usize {
    let options = &points.options;
    let begin = points.offsets[series_of(&points.offsets, start)];
    let counts = |index: usize| options.nan == Nan::Propagate || !points.values.is_nan(index);
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
