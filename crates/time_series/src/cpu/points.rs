//! Points without duplicates.

use std::borrow::Cow;
use std::ops::Range;

use gridstride_runtime::Result;
use gridstride_runtime::device::{zeroed, zeroed_lazily};
use gridstride_runtime::parallel;

use super::buckets::split_off;
use crate::input::Series;
use crate::options::Duplicates;
use crate::timeline::{CHUNK, Timeline};
use crate::values::{HostValue, Values, with_values};

/// A chunk of points, and room for the points that are kept.
struct Task<'a> {
    chunk: usize,
    /// The number of points that are kept of the chunks before.
    before: usize,
    offsets: &'a mut [usize],
    timestamps: &'a mut [i64],
}

impl Series<'_> {
    /// Returns the points in the order of time, without the duplicates that the options leave out.
    /// Copies nothing unless points are moved or left out.
    pub fn prepared(&self) -> Result<Series<'_>> {
        let mut points = self.in_order()?;
        if self.options.duplicates != Duplicates::Keep {
            Timeline::of(&points).check()?;
            points.remove_duplicates(self.options.duplicates)?;
        }
        Ok(points)
    }

    /// Keeps one of neighbours with the same timestamp in a series.
    fn remove_duplicates(&mut self, duplicates: Duplicates) -> Result<()> {
        let chunks = self.timestamps.len().div_ceil(CHUNK);
        let kept: Vec<usize> = parallel::map(0..chunks, |chunk| {
            let mut kept = 0;
            self.for_each_kept(duplicates, chunk, || {}, |_| kept += 1);
            kept
        });
        let count: usize = kept.iter().sum();
        if count == self.timestamps.len() {
            return Ok(());
        }
        let mut offsets = zeroed(self.offsets.len())?;
        let mut timestamps = zeroed_lazily(count)?;
        let (mut rest_of_offsets, mut before) = (&mut offsets[..], 0);
        let mut rest_of_timestamps = &mut timestamps[..];
        let mut tasks = Vec::new();
        for (chunk, &kept) in kept.iter().enumerate() {
            tasks.push(Task {
                chunk,
                before,
                offsets: split_off(&mut rest_of_offsets, self.series_beginning_in(chunk).len()),
                timestamps: split_off(&mut rest_of_timestamps, kept),
            });
            before += kept;
        }
        // The offsets of series without points behind all others, and the number of points.
        rest_of_offsets.fill(count);
        self.values = with_values!(&self.values, values => {
            self.keep(duplicates, tasks, values, count)?
        });
        self.offsets = Cow::Owned(offsets);
        self.timestamps = Cow::Owned(timestamps);
        Ok(())
    }

    /// Does the tasks, and returns the `count` values that are kept.
    fn keep<T: HostValue>(
        &self,
        duplicates: Duplicates,
        tasks: Vec<Task>,
        values: &[T],
        count: usize,
    ) -> Result<Values<'static>> {
        let mut all_kept = zeroed_lazily(count)?;
        let mut rest = &mut all_kept[..];
        let tasks = tasks.into_iter().map(|task| {
            let kept = split_off(&mut rest, task.timestamps.len());
            (task, kept)
        });
        parallel::each(tasks, |(task, kept)| {
            let written = std::cell::Cell::new(0);
            let mut offsets = task.offsets.iter_mut();
            let on_series = || {
                *offsets.next().expect("one for each series") = task.before + written.get();
            };
            self.for_each_kept(duplicates, task.chunk, on_series, |index| {
                task.timestamps[written.get()] = self.timestamps[index];
                kept[written.get()] = values[index];
                written.set(written.get() + 1);
            });
        });
        Ok(T::values(all_kept.into()))
    }

    /// Returns the series that begin in a chunk of points.
    fn series_beginning_in(&self, chunk: usize) -> Range<usize> {
        let points = parallel::chunk(chunk, CHUNK, self.timestamps.len());
        let before = |point: usize| self.offsets.partition_point(|&offset| offset < point);
        before(points.start)..before(points.end)
    }

    /// Calls `on_series` for each series that begins in a chunk, with or without points, and
    /// `on_kept` for each point that is kept, in order.
    fn for_each_kept(
        &self,
        duplicates: Duplicates,
        chunk: usize,
        mut on_series: impl FnMut(),
        mut on_kept: impl FnMut(usize),
    ) {
        let mut next = self.series_beginning_in(chunk).start;
        for index in parallel::chunk(chunk, CHUNK, self.timestamps.len()) {
            let mut begins = false;
            // There is always a next offset, since the last one is the number of points.
            while self.offsets[next] == index {
                begins = true;
                next += 1;
                on_series();
            }
            let is_same = |other: usize| self.timestamps[other] == self.timestamps[index];
            let is_kept = match duplicates {
                Duplicates::Keep => true,
                Duplicates::First => begins || !is_same(index - 1),
                Duplicates::Last => self.offsets[next] == index + 1 || !is_same(index + 1),
            };
            if is_kept {
                on_kept(index);
            }
        }
    }
}
