//! A tile without long buckets: a thread aggregates a bucket at a time.

use core::hint::cold_path;

use cuda_std::prelude::*;

use crate::aggregate::Aggregate;
use crate::points::{PER_THREAD, Source, THREADS, TILE, Value};
use crate::reduce::Results;
use crate::work::Work;

/// Bytes of shared memory for the first point of each bucket, and for the number of points.
pub const BYTES: usize = (TILE as usize + 1) * size_of::<u16>();

impl<A: Aggregate, V: Value> Work<A, V> {
    /// Aggregates the tile.
    ///
    /// # Safety
    /// As of [`reduce`](crate::reduce); `scratch` is shared memory of [`BYTES`].
    #[inline(always)]
    pub unsafe fn short<R: Results<A>, S: Source>(&self, scratch: *mut u8, results: R) {
        // The first point of each bucket, and at the end the number of points.
        let firsts: *mut u16 = scratch.cast();
        let me = thread::thread_idx_x();
        let mut bits = self.mine.heads;
        let mut number = self.heads_before;
        while bits != 0 {
            let first = me * PER_THREAD + bits.trailing_zeros();
            // SAFETY: a place for each point.
            unsafe { firsts.add(number as usize).write(first as u16) };
            number += 1;
            bits &= bits - 1;
        }
        if me == THREADS - 1 {
            let count = self.points.timestamps.len() - self.start;
            let count = if count < TILE as usize {
                count as u16
            } else {
                TILE as u16
            };
            // SAFETY: there is one place more than points.
            unsafe { firsts.add(self.heads as usize).write(count) };
        }
        thread::sync_threads();
        // Number 0 is what stands before the first head.
        let mut number = me;
        while number <= self.heads {
            let mut first = 0;
            // SAFETY: each head wrote its element before the barrier, and the last thread that of
            // the end.
            let end = unsafe {
                if number > 0 {
                    first = firsts.add(number as usize - 1).read() as u32;
                }
                firsts.add(number as usize).read() as u32
            };
            let mut state = self.state_of::<S, false>(first, end);
            if !self.aggregate.is_valid(&state) {
                cold_path();
                state = self.state_of::<S, true>(first, end);
            }
            // SAFETY: this thread's bucket, and room for each tile.
            unsafe {
                if number == 0 {
                    self.pieces.lead.set(self.index, state);
                    if self.heads == 0 {
                        // Read if there are places for buckets.
                        self.pieces.trail.set(self.index, self.aggregate.empty());
                    }
                } else {
                    if let Some(place) = self.place(number - 1) {
                        self.write_head(place, first);
                        if number < self.heads {
                            results.write(&self.aggregate, place, state);
                        }
                    }
                    if number == self.heads {
                        // It may go on in the next tile.
                        self.pieces.trail.set(self.index, state);
                    }
                }
            }
            number += THREADS;
        }
    }

    /// The state of neighbouring points of the tile, all of one bucket.
    #[inline(always)]
    pub fn state_of<S: Source, const CAREFULLY: bool>(&self, first: u32, end: u32) -> A::State {
        let mut state = self.empty::<S>(first);
        let value = |point| {
            if S::HAS_VALUES {
                self.tile.value(point)
            } else {
                0.0
            }
        };
        let mut point = first;
        // Only the first point of a bucket can be that of a series.
        if point < end && self.is_without_difference::<S>(point) {
            point += 1;
        }
        let mut subtrahend = self.subtrahend::<S>(point);
        let mut ahead = value(point);
        while point < end {
            let (value_here, timestamp) = (ahead, self.tile.timestamp(point));
            // The next value is read before this one is added.
            let next = point + 1;
            ahead = value(if next < end { next } else { point });
            if CAREFULLY {
                // SAFETY: a `Work` is made by `reduce` alone, by whose contract `reports` has its
                // words.
                unsafe { self.report_missing::<S>(point, value_here, subtrahend) };
            }
            state = self.push::<S, CAREFULLY>(state, timestamp, value_here - subtrahend);
            if S::IS_DIFFERENCE {
                subtrahend = value_here;
            }
            point = next;
        }
        state
    }
}
