//! States of buckets.

use std::hint::cold_path;
use std::ops::Range;

use pulp::{Arch, NullaryFnOnce};
use time_series_kernels::{Aggregate, Point};

use super::buckets::{Found, Visit};
use super::source::Source;
use super::timeline::CHUNK;
use crate::Result;
use crate::number::Number;
use crate::parallel;

/// Buckets that are reduced together.
const TOGETHER: usize = 4;

/// Writes columns from states. A trait, not a closure, so that everything can be inlined where the
/// processor's instructions are known.
pub trait Columns<S, O>: Sync {
    /// Writes the results of some states to a range of a column.
    fn write(&self, column: usize, states: &[S], results: &mut [O]);
}

/// Computes the state of each bucket, and from the states all columns.
pub struct Reduce<'a, A, S, C> {
    pub aggregate: &'a A,
    pub source: &'a S,
    pub columns: &'a C,
}

impl<A, S, C, O> Visit<O> for Reduce<'_, A, S, C>
where
    A: Aggregate<State: Send> + Sync,
    S: Source,
    C: Columns<A::State, O>,
{
    type Scratch = Vec<A::State>;

    fn visit(
        &self,
        found: &Found,
        columns: Vec<&mut [O]>,
        states: &mut Vec<A::State>,
    ) -> Result<()> {
        let arch = Arch::new();
        states.clear();
        states.reserve(found.len());
        arch.dispatch(Buckets(self, arch, found, states));
        arch.dispatch(Write(states, columns, self.columns));
        Ok(())
    }
}

impl<A: Aggregate<State: Send> + Sync, S: Source, C: Sync> Reduce<'_, A, S, C> {
    /// Returns the states of some buckets, each the first point of its series and its points. Goes
    /// through the buckets together, as long as all have points: else a processor would wait for
    /// each addition to a bucket's sum, and guess the end of each bucket.
    #[inline(always)]
    fn states(&self, buckets: &[(usize, Range<usize>); TOGETHER]) -> [A::State; TOGETHER] {
        let one_by_one = || {
            buckets
                .clone()
                .map(|(first, points)| self.state(first, points))
        };
        if !self.aggregate.rejects_nan() {
            return one_by_one();
        }
        let slices = buckets
            .each_ref()
            .map(|(_, points)| self.source.values(points.clone()));
        let [Some(a), Some(b), Some(c), Some(d)] = slices else {
            return one_by_one();
        };
        let slices = [a, b, c, d];
        let mut states = buckets.clone().map(|(first, points)| {
            let near = self.source.near(first, points);
            self.aggregate.empty_near(near)
        });
        let point = |(timestamps, values): (&[i64], &[S::Value]), index: usize| Point {
            timestamp: timestamps[index],
            value: values[index].to_f64(),
        };
        let lengths = slices.map(|(timestamps, _)| timestamps.len());
        let common = lengths.into_iter().fold(usize::MAX, usize::min);
        let heads = slices.map(|(timestamps, values)| (&timestamps[..common], &values[..common]));
        for index in 0..common {
            for (state, head) in states.iter_mut().zip(heads) {
                *state = self.aggregate.push(*state, point(head, index));
            }
        }
        for (bucket, state) in states.iter_mut().enumerate() {
            for index in common..lengths[bucket] {
                *state = self.aggregate.push(*state, point(slices[bucket], index));
            }
            if !self.aggregate.is_valid(state) {
                cold_path();
                let (first, points) = buckets[bucket].clone();
                *state = self.careful(first, points);
            }
        }
        states
    }

    /// Returns the state of some points of a series that begins at `first`.
    #[inline(always)]
    fn state(&self, first: usize, points: Range<usize>) -> A::State {
        let near = self.source.near(first, points.clone());
        let mut state = self.aggregate.empty_near(near);
        let push = |point| state = self.aggregate.push(state, point);
        if self.aggregate.rejects_nan() {
            self.source.for_each::<false>(first, points.clone(), push);
        } else {
            self.source.for_each::<true>(first, points.clone(), push);
        }
        if !self.aggregate.is_valid(&state) {
            cold_path();
            state = self.careful(first, points);
        }
        state
    }

    /// As [`state`](Self::state), whatever the values.
    #[inline(never)]
    fn careful(&self, first: usize, points: Range<usize>) -> A::State {
        let mut state = self.aggregate.empty();
        self.source.for_each::<true>(first, points, |point| {
            state = self.aggregate.push_carefully(state, point);
        });
        state
    }

    /// Returns the state of a bucket of more than a chunk, computed by all threads.
    #[inline(never)]
    fn long(&self, arch: Arch, first: usize, points: Range<usize>) -> A::State {
        let states = parallel::map(points.clone().step_by(CHUNK), |start| {
            let chunk = start..(start + CHUNK).min(points.end);
            arch.dispatch(Chunk(self, first, chunk))
        });
        let merge = |earlier, later| self.aggregate.merge(earlier, later);
        states.into_iter().reduce(merge).expect("it has points")
    }
}

/// Computes the states of all buckets.
struct Buckets<'a, A: Aggregate, S, C>(
    &'a Reduce<'a, A, S, C>,
    Arch,
    &'a Found<'a>,
    &'a mut Vec<A::State>,
);

impl<A: Aggregate<State: Send> + Sync, S: Source, C: Sync> NullaryFnOnce for Buckets<'_, A, S, C> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Buckets(work, arch, found, states) = self;
        let mut buckets = found.each();
        loop {
            let group: [_; TOGETHER] = std::array::from_fn(|_| buckets.next());
            if let [Some(a), Some(b), Some(c), Some(d)] = &group {
                let group = [a, b, c, d].map(Clone::clone);
                if group.iter().all(|(_, points)| points.len() <= CHUNK) {
                    states.extend(work.states(&group));
                    continue;
                }
            }
            let is_last = group.iter().any(Option::is_none);
            for (first, points) in group.into_iter().flatten() {
                states.push(if points.len() > CHUNK {
                    work.long(arch, first, points)
                } else {
                    work.state(first, points)
                });
            }
            if is_last {
                break;
            }
        }
    }
}

/// Computes the state of a chunk of a long bucket.
struct Chunk<'a, A: Aggregate, S, C>(&'a Reduce<'a, A, S, C>, usize, Range<usize>);

impl<A: Aggregate<State: Send> + Sync, S: Source, C: Sync> NullaryFnOnce for Chunk<'_, A, S, C> {
    type Output = A::State;

    #[inline(always)]
    fn call(self) -> A::State {
        self.0.state(self.1, self.2)
    }
}

/// Writes the results of some states.
struct Write<'a, S, O, C>(&'a [S], Vec<&'a mut [O]>, &'a C);

impl<S, O, C: Columns<S, O>> NullaryFnOnce for Write<'_, S, O, C> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Write(states, results, columns) = self;
        for (column, results) in results.into_iter().enumerate() {
            columns.write(column, states, results);
        }
    }
}
