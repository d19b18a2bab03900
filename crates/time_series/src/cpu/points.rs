//! Points without duplicates.

use std::borrow::Cow;
use std::ops::Range;

use gridstride_runtime::device::{zeroed, zeroed_lazily};
use gridstride_runtime::parallel;
use gridstride_runtime::{Real, Result};

use super::buckets::split_off;
use crate::input::Series;
use crate::options::Duplicates;
use crate::timeline::{CHUNK, Timeline};

impl<T: Real> Series<'_, T> {
    /// Returns the points in the order of time, without the duplicates that the options leave out.
    /// Copies nothing unless points are moved or left out.
    pub fn prepared(&self) -> Result<Series<'_, T>> {
        let mut points = self.in_order()?;
        if self.options.duplicates != Duplicates::Keep {
            Timeline::of(&points).check()?;
            points.remove_duplicates(self.options.duplicates)?;
        }
        Ok(points)
    }

    /// Keeps one of neighbours with the same timestamp in a series.
    fn remove_duplicates(&mut self, duplicates: Duplicates) -> Result<()> {
        let chunks = self.values.len().div_ceil(CHUNK);
        let kept: Vec<usize> = parallel::map(0..chunks, |chunk| {
            let mut kept = 0;
            self.for_each_kept(duplicates, chunk, || {}, |_| kept += 1);
            kept
        });
        let count: usize = kept.iter().sum();
        if count == self.values.len() {
            return Ok(());
        }
        let mut offsets = zeroed(self.offsets.len())?;
        let mut timestamps = zeroed_lazily(count)?;
        let mut values = zeroed_lazily(count)?;
        let (mut rest_of_offsets, mut before) = (&mut offsets[..], 0);
        let (mut rest_of_timestamps, mut rest_of_values) = (&mut timestamps[..], &mut values[..]);
        let mut tasks = Vec::new();
        for (chunk, &kept) in kept.iter().enumerate() {
            let offsets = split_off(&mut rest_of_offsets, self.series_of(chunk).len());
            let timestamps = split_off(&mut rest_of_timestamps, kept);
            let values = split_off(&mut rest_of_values, kept);
            tasks.push((chunk, before, offsets, timestamps, values));
            before += kept;
        }
        // The offsets of series without points behind all others, and the number of points.
        rest_of_offsets.fill(count);
        parallel::each(tasks, |(chunk, before, offsets, timestamps, values)| {
            let written = std::cell::Cell::new(0);
            let mut offsets = offsets.iter_mut();
            let on_series = || {
                *offsets.next().expect("one for each series") = before + written.get();
            };
            self.for_each_kept(duplicates, chunk, on_series, |index| {
                timestamps[written.get()] = self.timestamps[index];
                values[written.get()] = self.values[index];
                written.set(written.get() + 1);
            });
        });
        self.offsets = Cow::Owned(offsets);
        self.timestamps = Cow::Owned(timestamps);
        self.values = Cow::Owned(values);
        Ok(())
    }

    /// Returns the series that begin in a chunk of points.
    fn series_of(&self, chunk: usize) -> Range<usize> {
        let end = ((chunk + 1) * CHUNK).min(self.values.len());
        let begun = |end: usize| self.offsets.partition_point(|&offset| offset < end);
        begun(chunk * CHUNK)..begun(end)
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
        let mut next = self.series_of(chunk).start;
        let end = ((chunk + 1) * CHUNK).min(self.values.len());
        for index in chunk * CHUNK..end {
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
