//! Timestamps of series: whether they are as they have to be, and where buckets begin among them.

use std::ops::Range;

use pulp::{Arch, NullaryFnOnce};
use time_series_kernels::Floor;

use crate::parallel;
use crate::time_series::input::{Series, out_of_order, series_of, without_label};
use crate::{Error, Result};

/// Points that a thread takes in one go: few enough for its cache, enough that taking them costs nothing.
pub const CHUNK: usize = 1 << 13;

/// Points that are looked at one after the other for the end of a bucket, before steps become larger.
const NEAR: usize = 16;

/// Timestamps of series, and what cuts them.
#[derive(Clone, Copy)]
pub struct Timeline<'a> {
    /// What the caller asked for.
    pub operation: &'static str,
    pub offsets: &'a [usize],
    pub timestamps: &'a [i64],
    pub floor: &'a Floor,
}

impl<'a> Timeline<'a> {
    /// Returns the timestamps of series.
    pub fn of<T: Clone>(series: &'a Series<T>) -> Timeline<'a> {
        Timeline {
            operation: series.operation,
            offsets: &series.offsets,
            timestamps: &series.timestamps,
            floor: &series.floor,
        }
    }

    /// # Errors
    /// That of the first timestamp that is below the one before it in its series, or whose bucket has no label.
    pub fn check(&self) -> Result<()> {
        let arch = Arch::new();
        let check = |chunk| arch.dispatch(Check(self, chunk));
        match parallel::find_first(self.chunks(), &check) {
            None => Ok(()),
            Some(index) => Err(self.error(index)),
        }
    }

    /// How many buckets may begin in each chunk of points: as many as do if no bucket between them is empty.
    pub fn rooms(&self) -> Vec<usize> {
        parallel::map(0..self.chunks(), |chunk| self.room(chunk))
    }

    /// The number of chunks of points.
    fn chunks(&self) -> usize {
        self.timestamps.len().div_ceil(CHUNK)
    }

    /// The points of a chunk.
    pub fn points_of(&self, chunk: usize) -> Range<usize> {
        parallel::chunk(chunk, CHUNK, self.timestamps.len())
    }

    /// The parts of series in a chunk that have points, each with the points of the whole series.
    #[inline(always)]
    fn pieces(&self, chunk: usize) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
        let chunk = self.points_of(chunk);
        let first = series_of(self.offsets, chunk.start);
        let series = self.offsets[first..].windows(2);
        series
            .map(|offsets| offsets[0]..offsets[1])
            .take_while(move |series| series.start < chunk.end)
            .map(move |series| {
                let piece = series.start.max(chunk.start)..series.end.min(chunk.end);
                (series, piece)
            })
            .filter(|(_, piece)| !piece.is_empty())
    }

    fn room(&self, chunk: usize) -> usize {
        let of_piece = |(series, piece): (Range<usize>, Range<usize>)| {
            let (first, last) = (self.timestamps[piece.start], self.timestamps[piece.end - 1]);
            if first < self.floor.lowest() || last < first {
                // It is a mistake, and nothing will be found.
                return 0;
            }
            let apart = self.floor.bucket(last) - self.floor.bucket(first);
            let more = match usize::try_from(apart) {
                Ok(apart) if apart < piece.len() => apart,
                // With so many empty buckets it says nothing.
                _ => self.changes(piece.clone()),
            };
            more + usize::from(!self.continues(series.start, piece.start))
        };
        self.pieces(chunk).map(of_piece).sum()
    }

    /// How many points of a part of a series are not in the bucket of the one before them.
    fn changes(&self, points: Range<usize>) -> usize {
        let buckets = self.timestamps[points]
            .iter()
            .map(|&timestamp| self.floor.bucket(timestamp));
        let is_change = |(before, bucket)| usize::from(before != bucket);
        buckets.clone().zip(buckets.skip(1)).map(is_change).sum()
    }

    /// Calls `found` with each point of a chunk at which a bucket begins, and with the bucket's start. Returns the end
    /// of the last one's points, which may be in a later chunk, or the chunk's first mistake.
    #[inline(always)]
    pub fn find(
        &self,
        chunk: usize,
        mut found: impl FnMut(usize, i64),
    ) -> std::result::Result<usize, usize> {
        let width = self.floor.width();
        let (mut end, mut length) = (0, 1);
        for (series, piece) in self.pieces(chunk) {
            if let Some(index) = self.first_mistake(series.start, piece.clone()) {
                return Err(index);
            }
            let mut index = piece.start;
            let mut start = self.floor.floor(self.timestamps[index]);
            if !self.continues(series.start, index) {
                found(index, start);
            }
            loop {
                let last = start.saturating_add(width - 1);
                // Mostly buckets have as many points as the one before.
                let guess = index + length;
                let is_next = guess < piece.end
                    && self.timestamps[guess - 1] <= last
                    && self.timestamps[guess] > last;
                if !is_next {
                    let next = self.after(index + 1..piece.end, last);
                    if next == piece.end {
                        break;
                    }
                    length = next - index;
                }
                index += length;
                // Mostly it is the next bucket. That its start does not overflow shows in the timestamp being later
                // than all of the last bucket.
                start += width;
                if self.timestamps[index] > start.saturating_add(width - 1) {
                    start = self.floor.floor(self.timestamps[index]);
                }
                found(index, start);
            }
            end = piece.end;
            // If the next chunk begins with a mistake, it will say so.
            if end < series.end && self.timestamps[end] >= self.timestamps[end - 1] {
                end = self.after(end..series.end, start.saturating_add(width - 1));
            }
        }
        Ok(end)
    }

    /// Whether the bucket of a point, which has a label, began before it in the series, which begins at `first`.
    fn continues(&self, first: usize, index: usize) -> bool {
        index > first
            && self.timestamps[index - 1] >= self.floor.lowest()
            && self.floor.bucket(self.timestamps[index - 1])
                == self.floor.bucket(self.timestamps[index])
    }

    /// The first of some points in order that is later than a timestamp, or their end.
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

    /// The first point of a part of a series that is out of order, or in a bucket without a label.
    #[inline(always)]
    fn first_mistake(&self, first: usize, mut points: Range<usize>) -> Option<usize> {
        let start = points.start;
        let pairs = &self.timestamps[start.max(first + 1) - 1..points.end];
        // All of them, without a branch: so it is done in vectors.
        let descends = pairs[1..]
            .iter()
            .zip(pairs)
            .fold(false, |descends, (later, earlier)| {
                descends | (later < earlier)
            });
        // If none descends, the first one is the earliest.
        if !descends && self.timestamps[start] >= self.floor.lowest() {
            return None;
        }
        points.find(|&index| {
            self.timestamps[index] < self.floor.lowest() || self.descends(first, index)
        })
    }

    /// Whether a point of a series is earlier than the one before it.
    fn descends(&self, first: usize, index: usize) -> bool {
        index > first && self.timestamps[index] < self.timestamps[index - 1]
    }

    /// The error of a mistake.
    #[cold]
    pub fn error(&self, index: usize) -> Error {
        let timestamp = self.timestamps[index];
        let series = series_of(self.offsets, index);
        if !self.descends(self.offsets[series], index) {
            return without_label(self.operation, index, timestamp, self.floor);
        }
        let before = self.timestamps[index - 1];
        out_of_order(self.operation, self.offsets, index, before, timestamp)
    }
}

/// The first mistake in a chunk.
struct Check<'a>(&'a Timeline<'a>, usize);

impl NullaryFnOnce for Check<'_> {
    type Output = Option<usize>;

    #[inline(always)]
    fn call(self) -> Option<usize> {
        let Check(timeline, chunk) = self;
        let mut pieces = timeline.pieces(chunk);
        pieces.find_map(|(series, piece)| timeline.first_mistake(series.start, piece))
    }
}
