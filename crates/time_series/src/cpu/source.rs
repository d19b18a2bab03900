//! The numbers that are aggregated: the values, or their rates.

use std::ops::Range;

use gridstride_runtime::device::zeroed;
use gridstride_runtime::parallel;
use gridstride_runtime::{Real, Result};
use time_series_kernels::Point;

use super::prefetch::{STEP, prefetch};
use crate::input::Series;
use crate::options::Nan;
use crate::timeline::CHUNK;

/// The numbers to aggregate in a range of points, in a series that begins at point `first`.
pub trait Source: Sync {
    /// The type of the values.
    type Value: Real;

    /// Returns all timestamps and values, or `None` if the numbers are not the values.
    fn values(&self) -> Option<(&[i64], &[Self::Value])>;

    /// Returns the first number, or NaN if there is none.
    fn near(&self, first: usize, points: Range<usize>) -> f64;

    /// Calls `f` with each number. Without `LOOKS`, values need not be looked at: `f` may get NaN
    /// in place of values that are left out, and must then notice it.
    fn for_each<const LOOKS: bool>(&self, first: usize, points: Range<usize>, f: impl FnMut(Point));
}

/// The values, or the differences of values to the values before them.
pub struct Numbers<'a, T: Clone, const ARE_RATES: bool> {
    points: &'a Series<'a, T>,
    skips_nan: bool,
    /// For rates of values without NaN, one more than the index of the last point before each chunk
    /// whose value is not skipped, of any series, so that searches stay within a chunk.
    before_chunks: Vec<usize>,
}

pub type Values<'a, T> = Numbers<'a, T, false>;
pub type Rates<'a, T> = Numbers<'a, T, true>;

impl<'a, T: Real, const ARE_RATES: bool> Numbers<'a, T, ARE_RATES> {
    pub fn new(points: &'a Series<T>) -> Result<Self> {
        let skips_nan = points.options.nan == Nan::Skip;
        let chunks = match ARE_RATES && skips_nan {
            true => points.values.len().div_ceil(CHUNK),
            false => 0,
        };
        let mut before_chunks = zeroed(chunks)?;
        if let Some((_, after_first)) = before_chunks.split_first_mut() {
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
        Ok(Numbers {
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

impl<T: Real, const ARE_RATES: bool> Source for Numbers<'_, T, ARE_RATES> {
    type Value = T;

    #[inline(always)]
    fn values(&self) -> Option<(&[i64], &[T])> {
        (!ARE_RATES).then(|| (&*self.points.timestamps, &*self.points.values))
    }

    #[inline(always)]
    fn near(&self, first: usize, points: Range<usize>) -> f64 {
        let start = points.start;
        let values = self.points.values[points]
            .iter()
            .map(|value| value.to_f64());
        let mut values = values.filter(|value| !(value.is_nan() && self.skips_nan));
        let number = if ARE_RATES {
            let mut before = self.before(first, start);
            values.find_map(|value| Some(value - before.replace(value)?))
        } else {
            values.next()
        };
        number.unwrap_or(f64::NAN)
    }

    #[inline(always)]
    fn for_each<const LOOKS: bool>(
        &self,
        first: usize,
        points: Range<usize>,
        mut f: impl FnMut(Point),
    ) {
        let looks = LOOKS || ARE_RATES;
        let mut before = match ARE_RATES {
            true => self.before(first, points.start),
            false => None,
        };
        let timestamps = &self.points.timestamps[points.clone()];
        let values = self.points.values[points].iter().enumerate();
        for (&timestamp, (index, value)) in timestamps.iter().zip(values) {
            if index.is_multiple_of(STEP) {
                prefetch(value);
            }
            let value = value.to_f64();
            if looks && value.is_nan() && self.skips_nan {
                continue;
            }
            if !ARE_RATES {
                f(Point { timestamp, value });
            } else if let Some(before) = before.replace(value) {
                let value = value - before;
                f(Point { timestamp, value });
            }
        }
    }
}
