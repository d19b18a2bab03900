//! States of buckets.

use std::hint::cold_path;
use std::ops::Range;

use gridstride_runtime::device::reserve;
use gridstride_runtime::parallel;
use gridstride_runtime::{Real, Result};
use pulp::{Arch, NullaryFnOnce};
use time_series_kernels::{Aggregate, Point};

use super::buckets::{Found, Visit};
use super::prefetch::{STEP, prefetch, prefetch_for_later};
use super::source::Source;
use super::together::{TOGETHER, Together};
use crate::timeline::CHUNK;

/// Writes columns from states. A trait, not a closure, so that everything can be inlined where the
/// processor's instructions are known.
pub trait Columns<S, O>: Together<S> {
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

    #[inline(always)]
    fn prepare(&self, point: usize) {
        prepare(self.source, point);
    }

    fn visit(
        &self,
        found: &Found,
        columns: Vec<&mut [O]>,
        states: &mut Vec<A::State>,
    ) -> Result<()> {
        let arch = Arch::new();
        states.clear();
        reserve(states, found.len())?;
        arch.dispatch(Buckets(self, arch, found, states));
        arch.dispatch(Write(states, columns, self.columns));
        Ok(())
    }
}

impl<A, S, C> Reduce<'_, A, S, C>
where
    A: Aggregate<State: Send> + Sync,
    S: Source,
    C: Together<A::State>,
{
    /// Appends the states of all buckets of `values`, which are the source's numbers.
    ///
    /// Goes through several buckets together, as long as all have points: else a processor would
    /// wait for each addition to a bucket's sum, and guess the end of each bucket. Loops instead
    /// of functions over arrays, which would be compiled for any processor.
    #[inline(always)]
    fn together(
        &self,
        arch: Arch,
        found: &Found,
        (timestamps, values): (&[i64], &[S::Value]),
        states: &mut Vec<A::State>,
    ) {
        for start in (0..found.len()).step_by(TOGETHER) {
            let mut bounds = [0; TOGETHER + 1];
            for (i, bound) in bounds.iter_mut().enumerate() {
                *bound = found.bound((start + i).min(found.len()));
            }
            let (mut shortest, mut longest) = (usize::MAX, 0);
            for pair in bounds.windows(2) {
                shortest = shortest.min(pair[1] - pair[0]);
                longest = longest.max(pair[1] - pair[0]);
            }
            // The last group may have fewer buckets.
            if shortest == 0 || longest > CHUNK {
                for bucket in start..found.len().min(start + TOGETHER) {
                    let points = found.bound(bucket)..found.bound(bucket + 1);
                    states.push(self.bucket(arch, points.start, points));
                }
                continue;
            }
            let mut heads = [(&timestamps[..0], &values[..0]); TOGETHER];
            for (i, head) in heads.iter_mut().enumerate() {
                let points = bounds[i]..bounds[i + 1];
                // In most cases this thread takes the next chunk too.
                prefetch_for_later(&timestamps[points.start], CHUNK);
                *head = (
                    &timestamps[points.clone()][..shortest],
                    &values[points][..shortest],
                );
            }
            let together = self.columns.states(arch, heads.map(|head| head.1));
            let group = together.unwrap_or_else(|| self.heads(&bounds, &heads));
            for (i, &head) in group.iter().enumerate() {
                let (points, mut state) = (bounds[i]..bounds[i + 1], head);
                if longest > shortest {
                    for index in points.start + shortest..points.end {
                        let point = point((timestamps, values), index);
                        state = self.aggregate.push(state, point);
                    }
                }
                if !self.aggregate.is_valid(&state) {
                    cold_path();
                    state = self.careful(points.start, points);
                }
                states.push(state);
            }
        }
    }

    /// Returns the states of the first points of several buckets.
    #[inline(always)]
    fn heads(
        &self,
        bounds: &[usize; TOGETHER + 1],
        heads: &[(&[i64], &[S::Value]); TOGETHER],
    ) -> [A::State; TOGETHER] {
        let mut group = [self.aggregate.empty(); TOGETHER];
        for (i, state) in group.iter_mut().enumerate() {
            let near = self.source.near(bounds[i], bounds[i]..bounds[i + 1]);
            *state = self.aggregate.empty_near(near);
        }
        for index in 0..heads[0].1.len() {
            for (state, head) in group.iter_mut().zip(heads) {
                if index.is_multiple_of(STEP) {
                    prefetch(&head.1[index]);
                }
                *state = self.aggregate.push(*state, point(*head, index));
            }
        }
        group
    }

    /// Returns the state of a bucket of a series that begins at `first`.
    #[inline(always)]
    fn bucket(&self, arch: Arch, first: usize, points: Range<usize>) -> A::State {
        if points.len() > CHUNK {
            self.long(arch, first, points)
        } else {
            self.state(first, points)
        }
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

/// Prefetches the first values of the bucket that begins at a point: a cache line, which holds all
/// values of a short bucket.
#[inline(always)]
pub fn prepare(source: &impl Source, point: usize) {
    if let Some((_, values)) = source.values() {
        prefetch_for_later(&values[point], 0);
    }
}

#[inline(always)]
fn point<T: Real>((timestamps, values): (&[i64], &[T]), index: usize) -> Point {
    Point {
        timestamp: timestamps[index],
        value: values[index].to_f64(),
    }
}

/// Computes the states of all buckets.
struct Buckets<'a, A: Aggregate, S, C>(
    &'a Reduce<'a, A, S, C>,
    Arch,
    &'a Found<'a>,
    &'a mut Vec<A::State>,
);

impl<A, S, C> NullaryFnOnce for Buckets<'_, A, S, C>
where
    A: Aggregate<State: Send> + Sync,
    S: Source,
    C: Together<A::State>,
{
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Buckets(work, arch, found, states) = self;
        match work.source.values() {
            Some(values) if work.aggregate.rejects_nan() => {
                work.together(arch, found, values, states)
            }
            _ => {
                for (first, points) in found.each() {
                    states.push(work.bucket(arch, first, points));
                }
            }
        }
    }
}

/// Computes the state of a chunk of a long bucket.
struct Chunk<'a, A: Aggregate, S, C>(&'a Reduce<'a, A, S, C>, usize, Range<usize>);

impl<A, S, C> NullaryFnOnce for Chunk<'_, A, S, C>
where
    A: Aggregate<State: Send> + Sync,
    S: Source,
    C: Together<A::State>,
{
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
