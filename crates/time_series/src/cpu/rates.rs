//! Rates: the difference between each value and the value before it.

use std::hint::cold_path;
use std::ops::Range;

use gridstride_runtime::device::{reserve, zeroed};
use gridstride_runtime::isa::Isa;
use gridstride_runtime::parallel;
use gridstride_runtime::{Number, Real, Result};
use time_series_kernels::{StatesOf, Statistics};

use super::buckets::BucketSlice;
use super::reduce::{Numbers, Reduce, merged};
use crate::input::Series;
use crate::options::Nan;
use crate::timeline::CHUNK;
use crate::values::with_values;

/// The least number of points in a block of buckets. The rates of a block are computed together, and
/// fit in the fastest cache.
const BLOCK: usize = 1 << 10;

/// Differences that are computed before each check for NaN.
const PER_CHECK: usize = 64;

/// The rates of points.
pub struct Rates<'a> {
    pub points: &'a Series<'a>,
    skips_nan: bool,
    /// If NaN is left out: for each chunk, one more than the index of the last number before the
    /// chunk, of any series, or 0. Searches for a number stay within a chunk.
    before_chunks: Vec<usize>,
}

/// An iterator over the rates of consecutive points.
#[derive(Clone)]
pub struct Iter<'a, T> {
    values: std::slice::Iter<'a, T>,
    skips_nan: bool,
    /// The last value before the remaining values.
    pub before: Option<f64>,
}

impl<T: Real> Iterator for Iter<'_, T> {
    type Item = f64;

    #[inline(always)]
    fn next(&mut self) -> Option<f64> {
        for value in &mut self.values {
            let value = value.to_f64();
            if value.is_nan() && self.skips_nan {
                continue;
            }
            if let Some(before) = self.before.replace(value) {
                return Some(value - before);
            }
        }
        None
    }
}

impl<'a> Rates<'a> {
    pub fn new(points: &'a Series) -> Result<Self> {
        let skips_nan = points.options.nan == Nan::Skip;
        let chunks = match skips_nan {
            true => points.timestamps.len().div_ceil(CHUNK),
            false => 0,
        };
        let mut before_chunks = zeroed(chunks)?;
        if let Some((_, after_first)) = before_chunks.split_first_mut() {
            parallel::each(after_first.iter_mut().enumerate(), |(chunk, end)| {
                let range = parallel::chunk(chunk, CHUNK, points.timestamps.len());
                *end = last_number(points, range).map_or(0, |last| last + 1);
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

    /// Returns the last value before a point of a series that begins at `first`.
    pub fn before(&self, first: usize, point: usize) -> Option<f64> {
        if point == first {
            return None;
        }
        let last = if !self.skips_nan {
            Some(point - 1)
        } else {
            let start = (point / CHUNK * CHUNK).max(first);
            last_number(self.points, start..point).or_else(|| {
                let end = *self.before_chunks.get(point / CHUNK)?;
                (end > first && start > first).then(|| end - 1)
            })
        };
        last.map(|last| with_values!(&self.points.values, values => values[last].to_f64()))
    }

    /// Returns the rates of values that follow the value `before`.
    #[inline(always)]
    pub fn iter<'b, T>(&self, values: &'b [T], before: Option<f64>) -> Iter<'b, T> {
        Iter {
            values: values.iter(),
            skips_nan: self.skips_nan,
            before,
        }
    }

    /// Appends the states of the rates of buckets. Overwrites `rates`.
    pub fn reduce<S: Statistics + Send + 'static>(
        &self,
        buckets: &BucketSlice,
        rates: &mut Vec<f64>,
        states: &mut Vec<S>,
    ) -> Result<()> {
        reserve(states, buckets.len())?;
        // Only the last bucket can be longer than a chunk, since all begin in the same chunk.
        let (others, last) = buckets.split_last();
        let is_long = last.len() > CHUNK;
        for block in if is_long { &others } else { buckets }.blocks(BLOCK) {
            if self.differences(&block, rates)? {
                let numbers = Numbers {
                    // Not those of the rates, but statistics ignore them.
                    timestamps: &self.points.timestamps,
                    numbers: rates,
                    skips_nan: false,
                };
                let aggregate = &StatesOf::<S>::NEW;
                Reduce { aggregate, numbers }.buckets(block.bounds().rebased(), states)?;
            } else {
                with_values!(&self.points.values, values => {
                    Isa::detect().run(
                        #[inline(always)]
                        || self.one_by_one(values, &block, states),
                    );
                });
            }
        }
        if is_long {
            states.push(merged(&StatesOf::<S>::NEW, last, &|points| {
                let mut state = Vec::new();
                let firsts = [points.start as u32];
                self.reduce(
                    &buckets.with_firsts(&firsts, points.end),
                    &mut Vec::new(),
                    &mut state,
                )?;
                Ok(state[0])
            })?);
        }
        Ok(())
    }

    /// Writes the rates of buckets if all of their points have one, and returns whether they have.
    fn differences(&self, buckets: &BucketSlice, rates: &mut Vec<f64>) -> Result<bool> {
        let (series, points) = (buckets.first_series(), buckets.bounds().all());
        if points.start == series.start || points.end > series.end {
            return Ok(false);
        }
        rates.clear();
        reserve(rates, points.len())?;
        Ok(with_values!(&self.points.values, values => {
            let values = &values[points.start - 1..points.end];
            Isa::detect().run(
                #[inline(always)]
                || push_differences(values, rates),
            )
        }))
    }

    /// Appends the states of the rates of buckets some of whose points may have none.
    #[inline(always)]
    fn one_by_one<S: Statistics>(
        &self,
        values: &[impl Real],
        buckets: &BucketSlice,
        states: &mut Vec<S>,
    ) {
        let mut before = None;
        for (bucket, (first, points)) in buckets.each().enumerate() {
            if bucket == 0 || points.start == first {
                before = self.before(first, points.start);
            }
            let all = self.iter(&values[points], before);
            let (mut first, mut rest) = (all.clone(), all.clone());
            let mut state = S::empty_near(first.next().unwrap_or(f64::NAN));
            for rate in &mut rest {
                state = state.push(rate);
            }
            if !state.is_valid() {
                cold_path();
                state = careful(all);
            }
            states.push(state);
            before = rest.before;
        }
    }
}

/// Returns the last point of a range whose value is not NaN.
fn last_number(points: &Series, range: Range<usize>) -> Option<usize> {
    let start = range.start;
    let last = with_values!(&points.values, values => {
        values[range].iter().rposition(|value| !value.is_nan())
    });
    last.map(|last| start + last)
}

/// Appends the differences of neighbours until one is NaN, and returns whether none is.
#[inline(always)]
fn push_differences(values: &[impl Real], rates: &mut Vec<f64>) -> bool {
    let mut chunks = values[1..].chunks(PER_CHECK).zip(values.chunks(PER_CHECK));
    chunks.all(|(later, earlier)| {
        let (count, pairs) = (rates.len(), later.iter().zip(earlier));
        rates.extend(pairs.map(|(later, earlier)| later.to_f64() - earlier.to_f64()));
        // Without a branch, so that the loop is vectorized.
        let are_nan = rates[count..].iter().map(|rate| u64::from(rate.is_nan()));
        are_nan.fold(0, |any, is_nan| any | is_nan) == 0
    })
}

/// Returns the state of rates that make the result of plain pushes invalid.
#[inline(never)]
fn careful<S: Statistics>(rates: Iter<impl Real>) -> S {
    rates.fold(S::EMPTY, S::push_carefully)
}
