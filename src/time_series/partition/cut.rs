//! Points cut where buckets begin.

use std::ops::Range;

use crate::device::collected;
use crate::partition::{Partition, equal_ranges};
use crate::time_series::cpu::Timeline;
use crate::time_series::input::series_of;
use crate::{Error, Result};

/// Estimates the bytes of a device's memory that a number of points takes.
pub type Bytes<'a> = &'a (dyn Fn(usize) -> u64 + Sync);

/// Points that can be cut.
pub struct Cuttable<'a> {
    pub timeline: Timeline<'a>,
    /// Whether the points of a bucket stay together; otherwise only those of a timestamp do.
    pub keeps_buckets: bool,
    pub bytes: Bytes<'a>,
}

/// Consecutive points that are aggregated on one device.
pub struct SeriesPartition<'a> {
    of: &'a Cuttable<'a>,
    pub points: Range<usize>,
}

impl Cuttable<'_> {
    pub fn all(&self) -> SeriesPartition<'_> {
        SeriesPartition {
            of: self,
            points: 0..self.timeline.timestamps.len(),
        }
    }

    /// Returns the first timestamp that stays together with a timestamp.
    fn group(&self, timestamp: i64) -> i64 {
        let floor = self.timeline.floor;
        match self.keeps_buckets && timestamp >= floor.lowest() {
            true => floor.floor(timestamp),
            false => timestamp,
        }
    }

    /// Returns where points of a range can be cut: before the group of the point at `at`, else
    /// behind it.
    ///
    /// If timestamps are not in order, the cut may be anywhere:
    /// [`check_order`](SeriesPartition::check_order) finds out.
    fn cut_near(&self, at: usize, range: &Range<usize>) -> Option<usize> {
        let (timestamps, offsets) = (self.timeline.timestamps, self.timeline.offsets);
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

impl SeriesPartition<'_> {
    /// Returns the first series with a point.
    pub fn first_series(&self) -> usize {
        series_of(self.of.timeline.offsets, self.points.start)
    }

    /// Returns the label of the first point's bucket, or the lowest label if it has none.
    pub fn first_label(&self) -> i64 {
        let timeline = self.of.timeline;
        let first = timeline.timestamps[self.points.start];
        timeline.floor.floor(first.max(timeline.floor.lowest()))
    }

    /// Returns the offsets of the series from the [first](Self::first_series) to the last with a
    /// point, within a range of points.
    pub fn offsets_within(&self, range: Range<usize>) -> Result<Vec<usize>> {
        let offsets = self.of.timeline.offsets;
        let last = series_of(offsets, self.points.end - 1);
        let offsets = offsets[self.first_series()..=last + 1].iter();
        collected(offsets.map(|&offset| offset.clamp(range.start, range.end) - range.start))
    }

    /// Checks that the first point comes behind all points of the partition before.
    pub fn check_order(&self) -> Result<()> {
        let (timestamps, start) = (self.of.timeline.timestamps, self.points.start);
        let is_first = self.of.timeline.offsets[self.first_series()] == start;
        if is_first || self.of.group(timestamps[start - 1]) < self.of.group(timestamps[start]) {
            return Ok(());
        }
        let message = format!("the timestamp at index {start} is out of order");
        let operation = self.of.timeline.operation;
        Err(Error::input_at(operation, "timestamps", start, message))
    }
}

impl Partition for SeriesPartition<'_> {
    fn bytes(&self) -> u64 {
        (self.of.bytes)(self.points.len())
    }

    fn split(self, count: usize) -> Result<Vec<Self>> {
        let SeriesPartition { of, points } = self;
        let mut start = points.start;
        let mut partitions = Vec::new();
        for range in equal_ranges(points.len(), count, 1).skip(1) {
            let at = points.start + range.start;
            if at > start
                && let Some(cut) = of.cut_near(at, &(start..points.end))
            {
                let points = start..cut;
                partitions.push(SeriesPartition { of, points });
                start = cut;
            }
        }
        let points = start..points.end;
        partitions.push(SeriesPartition { of, points });
        Ok(partitions)
    }
}
