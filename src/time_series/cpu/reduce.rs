//! States of buckets.

use std::hint::cold_path;
use std::ops::Range;

use pulp::{Arch, NullaryFnOnce};
use time_series_kernels::Aggregate;

use super::buckets::{Found, Visit};
use super::source::Source;
use super::timeline::CHUNK;
use crate::Result;
use crate::parallel;

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
    /// Returns the state of some points of a series that begins at `first`.
    #[inline(always)]
    fn state(&self, first: usize, points: Range<usize>) -> A::State {
        let near = self.source.near(first, points.clone());
        let mut state = self.aggregate.empty_near(near);
        self.source.for_each(first, points.clone(), |point| {
            state = self.aggregate.push(state, point);
        });
        if !self.aggregate.is_valid(&state) {
            cold_path();
            state = self.aggregate.empty();
            self.source.for_each(first, points, |point| {
                state = self.aggregate.push_carefully(state, point);
            });
        }
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
        for (first, points) in found.each() {
            states.push(if points.len() > CHUNK {
                work.long(arch, first, points)
            } else {
                work.state(first, points)
            });
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
