//! The timestamps of series: checks, and where buckets begin.

use std::ops::{BitOr, Range};

use gridstride_runtime::isa::Isa;
use gridstride_runtime::{Error, Result, parallel};
use time_series_kernels::Floor;

use super::input::{Series, out_of_order, series_of, without_label};

/// Points of a chunk: few enough for a core's cache, and enough to hide the cost of a task.
pub const CHUNK: usize = 1 << 13;

/// Points that the search for the end of a bucket visits one by one, before steps become larger.
const NEAR: usize = 16;

/// Timestamps of series, and their rounding.
#[derive(Clone, Copy)]
pub struct Timeline<'a> {
    /// The operation that the caller called.
    pub operation: &'static str,
    pub offsets: &'a [usize],
    pub timestamps: &'a [i64],
    pub floor: Floor,
}

impl<'a> Timeline<'a> {
    pub fn of(series: &'a Series) -> Timeline<'a> {
        Timeline {
            operation: series.operation,
            offsets: &series.offsets,
            timestamps: &series.timestamps,
            floor: series.floor,
        }
    }

    /// Fails for the first timestamp that is below the timestamp before it in its series, or whose
    /// bucket has no label.
    pub fn check(&self) -> Result<()> {
        let isa = Isa::detect();
        let first_bad = |chunk| {
            isa.run(
                #[inline(always)]
                || self.first_bad_of(chunk),
            )
        };
        match parallel::find_first(self.chunks(), &first_bad) {
            None => Ok(()),
            Some(index) => Err(self.error(index)),
        }
    }

    /// Returns how many buckets may begin in each chunk of points: the exact number if no bucket
    /// between others is empty.
    pub fn rooms(&self) -> Vec<usize> {
        parallel::map(0..self.chunks(), |chunk| self.room(chunk))
    }

    fn chunks(&self) -> usize {
        self.timestamps.len().div_ceil(CHUNK)
    }

    pub fn points_of(&self, chunk: usize) -> Range<usize> {
        parallel::chunk(chunk, CHUNK, self.timestamps.len())
    }

    /// Returns, for each series with points in a chunk, all points of the series and those in the
    /// chunk.
    #[inline(always)]
    fn series_in(&self, chunk: usize) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
        let chunk = self.points_of(chunk);
        let first = series_of(self.offsets, chunk.start);
        let series = self.offsets[first..].windows(2);
        series
            .map(|offsets| offsets[0]..offsets[1])
            .take_while(move |series| series.start < chunk.end)
            .map(move |series| {
                let points = series.start.max(chunk.start)..series.end.min(chunk.end);
                (series, points)
            })
            .filter(|(_, points)| !points.is_empty())
    }

    fn room(&self, chunk: usize) -> usize {
        let of_series = |(series, points): (Range<usize>, Range<usize>)| {
            let ends = [points.start, points.end - 1];
            let [first, last] = ends.map(|index| self.timestamps[index]);
            if first < self.floor.lowest() || last < first {
                // The timestamps are bad, and no bucket will be found.
                return 0;
            }
            let apart = self.floor.bucket(last) - self.floor.bucket(first);
            let more = match usize::try_from(apart) {
                Ok(apart) if apart < points.len() => apart,
                // There are many empty buckets.
                _ => self.changes(points.clone()),
            };
            more + usize::from(!self.continues(series.start, points.start))
        };
        self.series_in(chunk).map(of_series).sum()
    }

    /// Counts the points of a range that are not in the bucket of the point before.
    fn changes(&self, points: Range<usize>) -> usize {
        let timestamps = self.timestamps[points].iter();
        let buckets = timestamps.map(|&timestamp| self.floor.bucket(timestamp));
        let is_change = |(before, bucket)| usize::from(before != bucket);
        buckets.clone().zip(buckets.skip(1)).map(is_change).sum()
    }

    /// Calls `found` with each point of a chunk at which a bucket begins, and with the bucket's
    /// start. Returns the end of the last bucket's points, which may be in a later chunk, or the
    /// chunk's first bad point.
    #[inline(always)]
    pub fn find(
        &self,
        chunk: usize,
        mut found: impl FnMut(usize, i64),
    ) -> std::result::Result<usize, usize> {
        let width = self.floor.width();
        let (mut end, mut length) = (0, 1);
        for (series, points) in self.series_in(chunk) {
            if let Some(index) = self.first_bad(series.start, points.clone()) {
                return Err(index);
            }
            let mut index = points.start;
            let mut start = self.floor.floor(self.timestamps[index]);
            if !self.continues(series.start, index) {
                found(index, start);
            }
            loop {
                let last = start.saturating_add(width - 1);
                // Most buckets have as many points as the bucket before.
                let guess = index + length;
                let is_next = guess < points.end
                    && self.timestamps[guess - 1] <= last
                    && self.timestamps[guess] > last;
                if !is_next {
                    let next = self.after(index + 1..points.end, last);
                    if next == points.end {
                        break;
                    }
                    length = next - index;
                }
                index += length;
                // The next bucket, in most cases. Its start does not overflow, since the timestamp
                // is later than the bucket before.
                start += width;
                if self.timestamps[index] > start.saturating_add(width - 1) {
                    start = self.floor.floor(self.timestamps[index]);
                }
                found(index, start);
            }
            end = points.end;
            // If the next chunk begins with a bad point, its own search returns the point.
            if end < series.end && self.timestamps[end] >= self.timestamps[end - 1] {
                end = self.after(end..series.end, start.saturating_add(width - 1));
            }
        }
        Ok(end)
    }

    /// Whether the bucket of a point, which has a label, began before the point in a series that
    /// begins at `first`.
    fn continues(&self, first: usize, index: usize) -> bool {
        index > first
            && self.timestamps[index - 1] >= self.floor.lowest()
            && self.floor.bucket(self.timestamps[index - 1])
                == self.floor.bucket(self.timestamps[index])
    }

    /// Returns the first of some points in order that is later than a timestamp, or their end.
    #[inline(always)]
    fn after(&self, points: Range<usize>, last: i64) -> usize {
        let timestamps = &self.timestamps[..points.end];
        let mut index = points.start;
        while index < points.end && index < points.start + NEAR {
            if timestamps[index] > last {
                return index;
            }
            index += 1;
        }
        let mut step = NEAR;
        while index + step < points.end && timestamps[index + step] <= last {
            index += step;
            step *= 2;
        }
        let upper = (index + step).min(points.end);
        index + timestamps[index..upper].partition_point(|&timestamp| timestamp <= last)
    }

    /// Returns the first bad point of a chunk.
    #[inline(always)]
    fn first_bad_of(&self, chunk: usize) -> Option<usize> {
        let mut series = self.series_in(chunk);
        series.find_map(|(series, points)| self.first_bad(series.start, points))
    }

    /// Returns the first point of a range in a series that is out of order, or in a bucket without
    /// a label.
    #[inline(always)]
    fn first_bad(&self, first: usize, mut points: Range<usize>) -> Option<usize> {
        let start = points.start;
        let pairs = &self.timestamps[start.max(first + 1) - 1..points.end];
        // Compares all pairs without a branch, so that the loop is vectorized, in numbers as wide
        // as timestamps, so that results of comparisons need not be packed.
        let neighbours = pairs[1..].iter().zip(pairs);
        let descents = neighbours.map(|(later, earlier)| u64::from(later < earlier));
        // If no pair descends, the first timestamp is the lowest.
        if descents.fold(0, BitOr::bitor) == 0 && self.timestamps[start] >= self.floor.lowest() {
            return None;
        }
        points.find(|&index| {
            self.timestamps[index] < self.floor.lowest() || self.descends(first, index)
        })
    }

    /// Whether a point of a series is earlier than the point before.
    fn descends(&self, first: usize, index: usize) -> bool {
        index > first && self.timestamps[index] < self.timestamps[index - 1]
    }

    #[cold]
    pub fn error(&self, index: usize) -> Error {
        let timestamp = self.timestamps[index];
        let series = series_of(self.offsets, index);
        if !self.descends(self.offsets[series], index) {
            return without_label(self.operation, index, timestamp, &self.floor);
        }
        let before = self.timestamps[index - 1];
        out_of_order(self.operation, self.offsets, index, before, timestamp)
    }
}
