//! The numbers that are aggregated: the values, or their rates.

use std::ops::Range;

use time_series_kernels::Point;

use super::timeline::CHUNK;
use crate::device::zeroed;
use crate::parallel;
use crate::time_series::input::Series;
use crate::time_series::options::Nan;
use crate::{Real, Result};

/// The numbers to aggregate in a range of points, in a series that begins at point `first`.
pub trait Source: Sync {
    /// Returns the first number, or NaN if there is none.
    fn near(&self, first: usize, points: Range<usize>) -> f64;

    /// Calls `f` with each number.
    fn for_each(&self, first: usize, points: Range<usize>, f: impl FnMut(Point));
}

/// The values.
pub struct ValuesOf<'a, T: Clone> {
    points: &'a Series<'a, T>,
    skips_nan: bool,
}

impl<'a, T: Real> ValuesOf<'a, T> {
    pub fn new(points: &'a Series<T>) -> Self {
        ValuesOf {
            points,
            skips_nan: points.options.nan == Nan::Skip,
        }
    }
}

impl<T: Real> Source for ValuesOf<'_, T> {
    #[inline(always)]
    fn near(&self, _first: usize, points: Range<usize>) -> f64 {
        let values = self.points.values[points]
            .iter()
            .map(|value| value.to_f64());
        let mut there = values.filter(|value| !(value.is_nan() && self.skips_nan));
        there.next().unwrap_or(f64::NAN)
    }

    #[inline(always)]
    fn for_each(&self, _first: usize, points: Range<usize>, mut f: impl FnMut(Point)) {
        let timestamps = &self.points.timestamps[points.clone()];
        for (&timestamp, value) in timestamps.iter().zip(&self.points.values[points]) {
            let value = value.to_f64();
            if !(value.is_nan() && self.skips_nan) {
                f(Point { timestamp, value });
            }
        }
    }
}

/// The differences of values to the values before them.
pub struct Rates<'a, T: Clone> {
    points: &'a Series<'a, T>,
    skips_nan: bool,
    /// One more than the index of the last point before each chunk whose value is not skipped, of any
    /// series, so that searches stay within a chunk.
    before_chunks: Vec<usize>,
}

impl<'a, T: Real> Rates<'a, T> {
    pub fn new(points: &'a Series<T>) -> Result<Self> {
        let skips_nan = points.options.nan == Nan::Skip;
        let mut before_chunks = zeroed(points.values.len().div_ceil(CHUNK))?;
        if let Some((_, after_first)) = before_chunks.split_first_mut()
            && skips_nan
        {
            let chunks = after_first.iter_mut().zip(points.values.chunks(CHUNK));
            parallel::each(chunks.enumerate(), |(chunk, (end, values))| {
                let last = values.iter().rposition(|value| !value.to_f64().is_nan());
                *end = last.map_or(0, |last| chunk * CHUNK + last + 1);
            });
        }
        let mut last = 0;
        for end in &mut before_chunks {
            last = last.max(*end);
            *end = last;
        }
        Ok(Rates {
            points,
            skips_nan,
            before_chunks,
        })
    }

    /// Returns the last value before a point.
    #[inline(always)]
    fn before(&self, first: usize, point: usize) -> Option<f64> {
        let value = |index: usize| self.points.values[index].to_f64();
        if !self.skips_nan {
            return (point > first).then(|| value(point - 1));
        }
        let start = point / CHUNK * CHUNK;
        let near = (start.max(first)..point)
            .rev()
            .map(value)
            .find(|value| !value.is_nan());
        near.or_else(|| {
            let end = *self.before_chunks.get(point / CHUNK)?;
            (end > first && start > first).then(|| value(end - 1))
        })
    }
}

impl<T: Real> Source for Rates<'_, T> {
    #[inline(always)]
    fn near(&self, first: usize, points: Range<usize>) -> f64 {
        let mut before = self.before(first, points.start);
        let values = self.points.values[points]
            .iter()
            .map(|value| value.to_f64());
        let mut values = values.filter(|value| !(value.is_nan() && self.skips_nan));
        let rate = values.find_map(|value| Some(value - before.replace(value)?));
        rate.unwrap_or(f64::NAN)
    }

    #[inline(always)]
    fn for_each(&self, first: usize, points: Range<usize>, mut f: impl FnMut(Point)) {
        let mut before = self.before(first, points.start);
        let timestamps = &self.points.timestamps[points.clone()];
        for (&timestamp, value) in timestamps.iter().zip(&self.points.values[points]) {
            let value = value.to_f64();
            if value.is_nan() && self.skips_nan {
                continue;
            }
            if let Some(before) = before.replace(value) {
                let value = value - before;
                f(Point { timestamp, value });
            }
        }
    }
}
