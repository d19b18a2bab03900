//! States of buckets.

use std::any::{Any, TypeId};
use std::hint::cold_path;
use std::ops::Range;

use gridstride_runtime::device::reserve;
use gridstride_runtime::isa::Isa;
use gridstride_runtime::parallel;
use gridstride_runtime::{Real, Result};
use time_series_kernels::{Aggregate, Point, StatesOf, Sums};

use super::buckets::Bounds;
use super::prefetch::{STEP, prefetch, prefetch_for_later};
use super::sums::{GROUP, sums};
use crate::input::Series;
use crate::options::Nan;
use crate::timeline::CHUNK;
use crate::values::with_values;

/// Numbers to aggregate: values or rates.
#[derive(Clone, Copy)]
pub struct Numbers<'a, T> {
    /// A timestamp for each number. Statistics ignore them.
    pub timestamps: &'a [i64],
    pub numbers: &'a [T],
    /// Whether NaN is left out.
    pub skips_nan: bool,
}

impl<T: Real> Numbers<'_, T> {
    #[inline(always)]
    fn point(&self, index: usize) -> Point {
        Point {
            timestamp: self.timestamps[index],
            value: self.numbers[index].to_f64(),
        }
    }

    /// Returns the first number, or NaN if there is none.
    #[inline(always)]
    fn first(&self, range: Range<usize>) -> f64 {
        let mut numbers = self.numbers[range].iter().map(|number| number.to_f64());
        let first = numbers.find(|number| !(number.is_nan() && self.skips_nan));
        first.unwrap_or(f64::NAN)
    }

    /// Calls `f` with each number. Without `CHECKS_NAN`, `f` also gets each NaN that is left out,
    /// and must reject it.
    #[inline(always)]
    fn for_each<const CHECKS_NAN: bool>(&self, range: Range<usize>, mut f: impl FnMut(Point)) {
        let timestamps = &self.timestamps[range.clone()];
        let numbers = self.numbers[range].iter().enumerate();
        for (&timestamp, (index, number)) in timestamps.iter().zip(numbers) {
            if index.is_multiple_of(STEP) {
                prefetch(number);
            }
            let value = number.to_f64();
            if CHECKS_NAN && value.is_nan() && self.skips_nan {
                continue;
            }
            f(Point { timestamp, value });
        }
    }
}

/// Appends the states of buckets of values.
pub fn reduce_values<A: Aggregate<State: Send> + Sync>(
    aggregate: &A,
    points: &Series,
    bounds: Bounds,
    states: &mut Vec<A::State>,
) -> Result<()> {
    with_values!(&points.values, values => Reduce {
        aggregate,
        numbers: Numbers {
            timestamps: &points.timestamps,
            numbers: values,
            skips_nan: points.options.nan == Nan::Skip,
        },
    }
    .buckets(bounds, states))
}

/// Reduces numbers by an aggregate.
pub struct Reduce<'a, A, T> {
    pub aggregate: &'a A,
    pub numbers: Numbers<'a, T>,
}

impl<A: Aggregate<State: Send> + Sync, T: Real> Reduce<'_, A, T> {
    /// Appends the states of buckets.
    pub fn buckets(&self, bounds: Bounds, states: &mut Vec<A::State>) -> Result<()> {
        reserve(states, bounds.len())?;
        let isa = Isa::detect();
        isa.run(
            #[inline(always)]
            || self.states(isa, bounds, states),
        );
        Ok(())
    }

    /// Appends the states of buckets, for which there is room.
    #[inline(always)]
    fn states(&self, isa: Isa, bounds: Bounds, states: &mut Vec<A::State>) {
        if self.aggregate.rejects_nan() {
            return self.groups(isa, bounds, states);
        }
        for bucket in 0..bounds.len() {
            states.push(self.bucket(bounds.points(bucket)));
        }
    }

    /// Appends the states of buckets, group by group.
    ///
    /// Pushes to the states of a group in turns while all of its buckets have numbers: additions
    /// to one sum wait for each other, and ends of buckets are often mispredicted. Arrays are
    /// filled by loops, since functions such as `array::map` would be compiled for any processor.
    #[inline(always)]
    fn groups(&self, isa: Isa, bounds: Bounds, states: &mut Vec<A::State>) {
        // A copy: the compiler assumes that writing a state may change what a reference refers to.
        let all = self.numbers;
        let (timestamps, numbers) = (all.timestamps, all.numbers);
        for start in (0..bounds.len()).step_by(GROUP) {
            let mut ends = [0; GROUP + 1];
            let firsts = &bounds.firsts[start..];
            if let Some(firsts) = firsts.first_chunk::<{ GROUP + 1 }>() {
                for i in 0..=GROUP {
                    ends[i] = firsts[i] as usize - bounds.origin;
                }
            } else {
                for (i, end) in ends.iter_mut().enumerate() {
                    *end = bounds.bound(start + i);
                }
            }
            let (mut shortest, mut longest) = (usize::MAX, 0);
            for pair in ends.windows(2) {
                shortest = shortest.min(pair[1] - pair[0]);
                longest = longest.max(pair[1] - pair[0]);
            }
            // The last group may have fewer buckets.
            if shortest == 0 || longest > CHUNK {
                for bucket in start..bounds.len().min(start + GROUP) {
                    states.push(self.bucket(bounds.points(bucket)));
                }
                continue;
            }
            let mut heads = [(&timestamps[..0], &numbers[..0]); GROUP];
            for (i, head) in heads.iter_mut().enumerate() {
                let points = ends[i]..ends[i + 1];
                // In most cases this thread takes the next chunk too.
                prefetch_for_later(&timestamps[points.start], CHUNK);
                *head = (
                    &timestamps[points.clone()][..shortest],
                    &numbers[points][..shortest],
                );
            }
            let sums = self.sums(isa, heads.map(|head| head.1));
            let group = sums.unwrap_or_else(|| self.heads(&ends, &heads));
            for (i, &head) in group.iter().enumerate() {
                let (points, mut state) = (ends[i]..ends[i + 1], head);
                if longest > shortest {
                    for index in points.start + shortest..points.end {
                        state = self.aggregate.push(state, all.point(index));
                    }
                }
                if !self.aggregate.is_valid(&state) {
                    cold_path();
                    state = self.careful(points);
                }
                states.push(state);
            }
        }
    }

    /// Returns the states of a group if they are sums, which are faster in vectors.
    #[inline(always)]
    fn sums(&self, isa: Isa, numbers: [&[T]; GROUP]) -> Option<[A::State; GROUP]> {
        match TypeId::of::<A>() == TypeId::of::<StatesOf<Sums>>() {
            true => (&sums(isa, numbers)? as &dyn Any).downcast_ref().copied(),
            false => None,
        }
    }

    /// Returns the states of the first numbers of a group's buckets.
    #[inline(always)]
    fn heads(
        &self,
        ends: &[usize; GROUP + 1],
        heads: &[(&[i64], &[T]); GROUP],
    ) -> [A::State; GROUP] {
        let mut group = [self.aggregate.empty(); GROUP];
        for (i, state) in group.iter_mut().enumerate() {
            let first = self.numbers.first(ends[i]..ends[i + 1]);
            *state = self.aggregate.empty_near(first);
        }
        for index in 0..heads[0].1.len() {
            for (state, (timestamps, numbers)) in group.iter_mut().zip(heads) {
                if index.is_multiple_of(STEP) {
                    prefetch(&numbers[index]);
                }
                let point = Point {
                    timestamp: timestamps[index],
                    value: numbers[index].to_f64(),
                };
                *state = self.aggregate.push(*state, point);
            }
        }
        group
    }

    /// Returns the state of a bucket.
    #[inline(always)]
    fn bucket(&self, points: Range<usize>) -> A::State {
        if points.len() > CHUNK {
            self.long(points)
        } else {
            self.state(points)
        }
    }

    /// Returns the state of a range.
    #[inline(always)]
    fn state(&self, range: Range<usize>) -> A::State {
        let first = self.numbers.first(range.clone());
        let mut state = self.aggregate.empty_near(first);
        let push = |point| state = self.aggregate.push(state, point);
        if self.aggregate.rejects_nan() {
            self.numbers.for_each::<false>(range.clone(), push);
        } else {
            self.numbers.for_each::<true>(range.clone(), push);
        }
        if !self.aggregate.is_valid(&state) {
            cold_path();
            state = self.careful(range);
        }
        state
    }

    /// As [`state`](Self::state), for numbers that make its result invalid.
    #[inline(never)]
    fn careful(&self, range: Range<usize>) -> A::State {
        let mut state = self.aggregate.empty();
        self.numbers.for_each::<true>(range, |point| {
            state = self.aggregate.push_carefully(state, point);
        });
        state
    }

    /// Returns the state of a bucket of more than a chunk.
    #[inline(never)]
    fn long(&self, points: Range<usize>) -> A::State {
        let chunk = |points| {
            Ok(Isa::detect().run(
                #[inline(always)]
                || self.state(points),
            ))
        };
        let state = merged(self.aggregate, points, &chunk);
        state.expect("reducing does not fail")
    }
}

/// Returns the state of a bucket of more than a chunk: all threads compute the states of chunks of
/// its points, which are merged in order.
pub fn merged<A: Aggregate<State: Send> + Sync>(
    aggregate: &A,
    points: Range<usize>,
    state_of_chunk: &(dyn Fn(Range<usize>) -> Result<A::State> + Sync),
) -> Result<A::State> {
    let states = parallel::try_map(points.clone().step_by(CHUNK), |start| {
        state_of_chunk(start..(start + CHUNK).min(points.end))
    })?;
    let merge = |earlier, later| aggregate.merge(earlier, later);
    Ok(states.into_iter().reduce(merge).expect("it has points"))
}
