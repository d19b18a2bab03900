//! Timestamps of series: whether they are as they have to be, and where buckets begin among them.

use std::ops::Range;

use pulp::{Arch, NullaryFnOnce};
use rayon::prelude::*;
use time_series_kernels::Floor;

use super::CHUNK;
use crate::time_series::series::out_of_order;
use crate::time_series::without_label;
use crate::{Error, Result};

/// Points that are looked at one after the other for the end of a bucket, before steps become larger.
const NEAR: usize = 16;

/// The buckets that begin in a chunk of points.
#[derive(Clone, Default)]
pub struct Beginnings {
    /// The first point of each, counted from the chunk's first one.
    pub points: Vec<u16>,
    /// The first timestamp of each.
    pub starts: Vec<i64>,
}

/// Timestamps of series, and what cuts them.
#[derive(Clone, Copy)]
pub struct Timeline<'a> {
    /// What the caller asked for.
    pub operation: &'static str,
    pub offsets: &'a [usize],
    pub timestamps: &'a [i64],
    pub floor: &'a Floor,
}

impl Timeline<'_> {
    /// # Errors
    /// That of the first timestamp that is below the one before it in its series, or whose bucket has no label.
    pub fn check(&self) -> Result<()> {
        let arch = Arch::new();
        let mistakes = self.chunks().map(|chunk| arch.dispatch(Check(self, chunk)));
        match mistakes.filter_map(|mistake| mistake).min() {
            None => Ok(()),
            Some(index) => Err(self.error(index)),
        }
    }

    /// The buckets that begin in each chunk of points.
    ///
    /// # Errors
    /// Those of [`check`](Self::check).
    pub fn beginnings(&self) -> Result<Vec<Beginnings>> {
        let arch = Arch::new();
        let found: Vec<_> = self
            .chunks()
            .map_init(Beginnings::default, |room, chunk| {
                arch.dispatch(Find(self, chunk, room))
            })
            .collect();
        // The first mistake of all: chunks are in order.
        found
            .into_iter()
            .map(|found| found.map_err(|index| self.error(index)))
            .collect()
    }

    /// The numbers of the chunks of points.
    fn chunks(&self) -> impl IndexedParallelIterator<Item = usize> + use<> {
        (0..self.timestamps.len().div_ceil(CHUNK)).into_par_iter()
    }

    /// The parts of series in a chunk that have points, each with the first point of the series.
    #[inline(always)]
    fn pieces(&self, chunk: usize) -> impl Iterator<Item = (usize, Range<usize>)> {
        let start = chunk * CHUNK;
        let end = (start + CHUNK).min(self.timestamps.len());
        // The last one that begins at or before the first point has points: the next one begins later.
        let first = self.offsets.partition_point(|&offset| offset <= start) - 1;
        let series = self.offsets[first..].windows(2);
        series
            .take_while(move |series| series[0] < end)
            .map(move |series| (series[0], series[0].max(start)..series[1].min(end)))
            .filter(|(_, points)| !points.is_empty())
    }

    /// Calls `found` with each point of a part of a series at which a bucket begins, and with the bucket's start.
    /// Timestamps have to be in order and to have labels. `first` is the first point of the series.
    #[inline(always)]
    fn find(&self, first: usize, points: Range<usize>, mut found: impl FnMut(usize, i64)) {
        let (timestamps, width) = (self.timestamps, self.floor.width());
        let mut index = points.start;
        let mut start = self.floor.floor(timestamps[index.max(first + 1) - 1]);
        if index > first {
            index = self.after(index..points.end, start.saturating_add(width - 1));
        } else {
            found(index, start);
            index = self.after(index + 1..points.end, start.saturating_add(width - 1));
        }
        while index < points.end {
            // Mostly it is the next bucket. That its start does not overflow shows in the timestamp being later
            // than all of the last bucket.
            start += width;
            if timestamps[index] > start.saturating_add(width - 1) {
                start = self.floor.floor(timestamps[index]);
            }
            found(index, start);
            index = self.after(index + 1..points.end, start.saturating_add(width - 1));
        }
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
    fn error(&self, index: usize) -> Error {
        let timestamp = self.timestamps[index];
        let series = self.offsets.partition_point(|&offset| offset <= index) - 1;
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
        pieces.find_map(|(first, points)| timeline.first_mistake(first, points))
    }
}

/// The buckets that begin in a chunk, or its first mistake; with room to write to.
struct Find<'a>(&'a Timeline<'a>, usize, &'a mut Beginnings);

impl NullaryFnOnce for Find<'_> {
    type Output = std::result::Result<Beginnings, usize>;

    #[inline(always)]
    fn call(self) -> Self::Output {
        let Find(timeline, chunk, room) = self;
        room.points.clear();
        room.starts.clear();
        for (first, points) in timeline.pieces(chunk) {
            if let Some(index) = timeline.first_mistake(first, points.clone()) {
                return Err(index);
            }
            timeline.find(first, points, |index, start| {
                room.points.push((index - chunk * CHUNK) as u16);
                room.starts.push(start);
            });
        }
        // As large as they are.
        Ok(room.clone())
    }
}
