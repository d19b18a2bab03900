//! States of buckets.

use std::marker::PhantomData;
use std::ops::Range;

use pulp::{Arch, NullaryFnOnce};
use rayon::prelude::*;
use time_series_kernels::{Aggregate, Point, Statistics};

use super::CHUNK;
use super::buckets::Buckets;
use super::source::Source;

/// The library's own states as an aggregate.
#[derive(Clone, Copy)]
pub struct StateOf<S>(PhantomData<S>);

// SAFETY: it has no data.
unsafe impl<S> Sync for StateOf<S> {}

impl<S> StateOf<S> {
    pub const NEW: StateOf<S> = StateOf(PhantomData);
}

impl<S: Statistics + 'static> Aggregate for StateOf<S> {
    type State = S;
    type Output = S;

    #[inline(always)]
    fn empty(&self) -> S {
        S::EMPTY
    }

    #[inline(always)]
    fn push(&self, state: S, point: Point) -> S {
        state.push(point.value)
    }

    #[inline(always)]
    fn merge(&self, earlier: S, later: S) -> S {
        earlier.merge(later)
    }

    #[inline(always)]
    fn finish(&self, state: S) -> S {
        state
    }
}

/// What columns are made of states.
///
/// It is a trait, not a closure, so that all can be inlined where the processor's instructions are known.
pub trait Columns<S, O>: Sync {
    /// Writes a part of the column of a number.
    fn write(&self, column: usize, states: &[S], results: &mut [O]);
}

/// Computes the state of each bucket, and of those of neighbours the parts of all columns.
pub fn reduce<A: Aggregate<State: Send> + Sync, O: Send>(
    aggregate: &A,
    source: &impl Source,
    buckets: &Buckets,
    columns: Vec<&mut [O]>,
    made_by: &impl Columns<A::State, O>,
) {
    let arch = Arch::new();
    let work = Reduce {
        aggregate,
        source,
        buckets,
    };
    let parts = buckets.parts(columns).into_par_iter();
    parts.for_each_init(Vec::new, |states, (buckets, columns)| {
        states.clear();
        states.reserve(buckets.len());
        arch.dispatch(Short(&work, buckets.clone(), states));
        // A bucket with more points than a chunk is the last one to begin in its own.
        if let Some(last) = buckets.clone().last()
            && work.buckets.points(last).len() > CHUNK
        {
            states.pop();
            states.push(work.long(arch, last));
        }
        arch.dispatch(Finish(states, columns, made_by));
    });
}

struct Reduce<'a, A, S> {
    aggregate: &'a A,
    source: &'a S,
    buckets: &'a Buckets,
}

impl<A: Aggregate<State: Send> + Sync, S: Source> Reduce<'_, A, S> {
    /// The state of some points of a series, which begins at `first`.
    #[inline(always)]
    fn state(&self, first: usize, points: Range<usize>) -> A::State {
        let mut state = self.aggregate.empty();
        self.source.for_each(first, points, |point| {
            state = self.aggregate.push(state, point);
        });
        state
    }

    /// The state of a long bucket, computed by all threads.
    fn long(&self, arch: Arch, bucket: usize) -> A::State {
        let points = self.buckets.points(bucket);
        let series = self
            .buckets
            .offsets
            .partition_point(|&offset| offset <= bucket)
            - 1;
        let first = self.source.offsets()[series];
        let pieces = points.len().div_ceil(CHUNK);
        let states: Vec<_> = (0..pieces)
            .into_par_iter()
            .map(|piece| {
                let start = points.start + piece * CHUNK;
                let piece = start..(start + CHUNK).min(points.end);
                arch.dispatch(Piece(self, first, piece))
            })
            .collect();
        let merge = |earlier, later| self.aggregate.merge(earlier, later);
        states.into_iter().reduce(merge).expect("it has points")
    }
}

/// The states of all buckets of a range, but of long ones the empty one.
struct Short<'a, A: Aggregate, S>(&'a Reduce<'a, A, S>, Range<usize>, &'a mut Vec<A::State>);

impl<A: Aggregate<State: Send> + Sync, S: Source> NullaryFnOnce for Short<'_, A, S> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Short(work, buckets, states) = self;
        for (bucket, series) in work.buckets.with_series(buckets) {
            let points = work.buckets.points(bucket);
            states.push(if points.len() > CHUNK {
                work.aggregate.empty()
            } else {
                work.state(work.source.offsets()[series], points)
            });
        }
    }
}

/// The state of a piece of a long bucket.
struct Piece<'a, A: Aggregate, S>(&'a Reduce<'a, A, S>, usize, Range<usize>);

impl<A: Aggregate<State: Send> + Sync, S: Source> NullaryFnOnce for Piece<'_, A, S> {
    type Output = A::State;

    #[inline(always)]
    fn call(self) -> A::State {
        self.0.state(self.1, self.2)
    }
}

/// Makes the results of some states.
struct Finish<'a, S, O, C>(&'a [S], Vec<&'a mut [O]>, &'a C);

impl<S, O, C: Columns<S, O>> NullaryFnOnce for Finish<'_, S, O, C> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Finish(states, columns, made_by) = self;
        for (number, results) in columns.into_iter().enumerate() {
            made_by.write(number, states, results);
        }
    }
}
