//! A tile with a long bucket, and so mostly with few.

use core::hint::cold_path;

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use crate::aggregate::Aggregate;
use crate::points::{PER_THREAD, Source, THREADS, TILE, Value, for_pairs};
use crate::reduce::Results;
use crate::segments::{Exchange, states_before};
use crate::stage::{LAST, Stage};
use crate::work::Work;

impl<A: Aggregate, V: Value> Work<A, V> {
    /// A tile with a long bucket, and so mostly with few: a thread aggregates its own points, and
    /// those of buckets that lie in several threads are merged.
    ///
    /// # Safety
    /// As of [`reduce`](crate::reduce); `scratch` is shared memory of
    /// [`bytes`](crate::stage::bytes), and `last_heads` has an element for each warp.
    #[inline(always)]
    pub unsafe fn long<R: Results<A>, S: Source>(
        &self,
        scratch: *mut u8,
        last_heads: *mut u32,
        results: R,
    ) {
        if self.heads == 0 && self.points.timestamps.len() - self.start >= TILE as usize {
            // SAFETY: the condition is the same for all threads, so all call this. The tile is
            // whole, and `scratch` is as the contract of this function says.
            unsafe { self.within_bucket::<S>(scratch) };
            return;
        }
        let me = thread::thread_idx_x();
        let own_heads = self.mine.heads.count_ones();
        // SAFETY: room for all of it.
        let (exchange, stage) = unsafe {
            (
                Exchange::new(scratch.add(Stage::<A::State>::BYTES)),
                Stage::new(scratch),
            )
        };
        // SAFETY: all threads that have not returned with the whole block are here, and
        // `last_heads` has an element for each warp by the contract of this function.
        let near = unsafe { self.point_near(last_heads) };
        let empty = self.empty::<S>(near);
        // The same for all threads of a warp, which would take one way after the other.
        let is_whole = self.mine.heads == 0 && self.mine.count == PER_THREAD;
        let is_whole = warp::all(FULL_MASK, is_whole);
        let mut before_me = empty;
        // Some buckets at a time go out, mostly all at once: `from` and up, as many as there are
        // heads that end them.
        let mut from = 0;
        loop {
            let to = from + LAST;
            let place = self.heads_before.wrapping_sub(from);
            let mut state = empty;
            if from == 0
                || (own_heads > 0
                    && self.heads_before <= to
                    && self.heads_before + own_heads > from)
            {
                let is_valid;
                if is_whole {
                    state = self.walk_through::<S>(me, empty);
                    is_valid = self.aggregate.is_valid(&state);
                } else {
                    (state, is_valid) = self.walk::<S, false>(&stage, place, empty);
                }
                if !is_valid {
                    cold_path();
                    (state, _) = self.walk::<S, true>(&stage, place, empty);
                }
            }
            if from == 0 {
                // SAFETY: all threads are here, and the memory is used for nothing else.
                let open = unsafe {
                    states_before(&self.aggregate, own_heads > 0, state, empty, &exchange)
                };
                before_me = open.before;
                if me == THREADS - 1 {
                    // SAFETY: room for each tile.
                    unsafe {
                        if self.heads == 0 {
                            self.pieces.lead.set(self.index, open.after);
                            // Read if there are places for buckets.
                            self.pieces.trail.set(self.index, self.aggregate.empty());
                        } else {
                            self.pieces.trail.set(self.index, open.after);
                        }
                    }
                }
            }
            if own_heads > 0 && place <= LAST {
                // The bucket that ends at this thread's first bucket start began before its points.
                // SAFETY: this thread wrote it, and nothing else uses it before the barrier.
                unsafe {
                    let ends_here = stage.states.add(place as usize);
                    let state = self.aggregate.merge(before_me, ends_here.read());
                    ends_here.write(state);
                    if self.heads_before == 0 {
                        // Room for each tile.
                        self.pieces.lead.set(self.index, state);
                    }
                }
            }
            thread::sync_threads();
            let mut staged = me;
            while staged < LAST && from + staged < self.heads {
                if let Some(place) = self.place(from + staged) {
                    // SAFETY: written before the barrier; this thread's bucket. The last one may go
                    // on in the next tile.
                    unsafe {
                        self.write_head(place, stage.firsts.add(staged as usize).read());
                        if from + staged + 1 < self.heads {
                            let state = stage.states.add(staged as usize + 1).read();
                            results.write(&self.aggregate, place, state);
                        }
                    }
                }
                staged += THREADS;
            }
            from = to;
            if from >= self.heads {
                break;
            }
            thread::sync_threads();
        }
    }

    /// A whole tile without heads. Merging the states of a warp takes longer than adding 8 points to
    /// each, so that half of the warps add twice as many, and the other half nothing.
    ///
    /// # Safety
    /// As of [`long`](Self::long).
    #[inline(always)]
    unsafe fn within_bucket<S: Source>(&self, scratch: *mut u8) {
        const ADDING: u32 = THREADS / 2;
        const _: () = assert!(ADDING == 2 * WARP_SIZE);
        // The halves take turns, as warps of the same number in their blocks share a scheduler.
        let turn = self.index as u32 % 2 * ADDING;
        let me = thread::thread_idx_x() ^ turn;
        let upper: *mut A::State = scratch.cast();
        let mut state = self.empty::<S>(0);
        if me < ADDING {
            state = self.walk_through::<S>(2 * me, state);
            state = self.walk_through::<S>(2 * me + 1, state);
            if !self.aggregate.is_valid(&state) {
                cold_path();
                let first = 2 * me * PER_THREAD;
                state = self.state_of::<S, true>(first, first + 2 * PER_THREAD);
            }
            let mut distance = 1;
            while distance < WARP_SIZE {
                let later = warp::shuffle_down(FULL_MASK, state, distance);
                if me.is_multiple_of(2 * distance) {
                    state = self.aggregate.merge(state, later);
                }
                distance *= 2;
            }
            if me == WARP_SIZE {
                // SAFETY: room for a state, which this thread alone writes.
                unsafe { upper.write(state) };
            }
        }
        thread::sync_threads();
        if me == 0 {
            // SAFETY: written before the barrier; room for each tile.
            unsafe {
                let state = self.aggregate.merge(state, upper.read());
                self.pieces.lead.set(self.index, state);
                // Read if there are places for buckets.
                self.pieces.trail.set(self.index, self.aggregate.empty());
            }
        }
    }

    /// A point of the tile that belongs to the bucket open before this thread's points: its first
    /// one there, so that all threads with that bucket take the same. It has a barrier if there are
    /// heads.
    ///
    /// # Safety
    /// All threads call this; `last_heads` points to an element of shared memory for each warp.
    #[inline(always)]
    unsafe fn point_near(&self, last_heads: *mut u32) -> u32 {
        const NONE: u32 = u32::MAX;
        // The same for all threads.
        if self.heads == 0 {
            return 0;
        }
        let (me, lane) = (thread::thread_idx_x(), warp::lane_id());
        let warp = me / WARP_SIZE;
        let own = match self.mine.heads {
            0 => NONE,
            heads => me * PER_THREAD + 31 - heads.leading_zeros(),
        };
        let with_heads = warp::ballot(FULL_MASK, own != NONE);
        let lower = with_heads & ((1 << lane) - 1);
        let nearest = warp::shuffle_idx(FULL_MASK, own, 31 - (lower | 1).leading_zeros());
        let last = warp::shuffle_idx(FULL_MASK, own, 31 - (with_heads | 1).leading_zeros());
        if lane == 0 {
            // SAFETY: this warp's element.
            unsafe { last_heads.add(warp as usize).write(last) };
        }
        thread::sync_threads();
        if lower != 0 {
            return nearest;
        }
        let mut other = warp;
        while other > 0 {
            other -= 1;
            // SAFETY: each warp wrote its element before the barrier.
            let last = unsafe { last_heads.add(other as usize).read() };
            if last != NONE {
                return last;
            }
        }
        0
    }

    /// Goes through a thread's points, and returns the state of those from its last head on, or of
    /// all, and whether all states are valid. At each head the bucket before it goes to the stage,
    /// as far as this thread knows it, and the head itself: at `place` and up, as far as there is
    /// room. `state` is that of no points of the bucket open before.
    #[inline(always)]
    fn walk<S: Source, const CAREFULLY: bool>(
        &self,
        stage: &Stage<A::State>,
        place: u32,
        state: A::State,
    ) -> (A::State, bool) {
        let me = thread::thread_idx_x();
        let mut state = state;
        let mut are_valid = true;
        let mut place = place;
        let mut subtrahend = self.subtrahend::<S>(me * PER_THREAD);
        let mut index = 0;
        while index < self.mine.count {
            let timestamps = self.tile.timestamp_pair(me, index / 2);
            let values = if S::HAS_VALUES {
                self.tile.value_pair(me, index / 2)
            } else {
                [0.0; 2]
            };
            unrolled! { i in [0 1] {
                let point = me * PER_THREAD + index;
                let mut takes_part = index < self.mine.count;
                if self.mine.heads >> index & 1 != 0 {
                    if place <= LAST {
                        // SAFETY: `place` is at most `LAST`, the last entry of the stage.
                        unsafe {
                            stage.states.add(place as usize).write(state);
                            stage.firsts.add(place as usize).write(point);
                        }
                    }
                    are_valid &= self.aggregate.is_valid(&state);
                    place = place.wrapping_add(1);
                    state = self.empty::<S>(point);
                    takes_part &= !self.is_without_difference::<S>(point);
                }
                if takes_part {
                    if CAREFULLY {
                        // SAFETY: a `Work` is made by `reduce` alone, by whose contract `reports`
                        // has its words.
                        unsafe { self.report_missing::<S>(point, values[i], subtrahend) };
                    }
                    let value = values[i] - subtrahend;
                    state = self.push::<S, CAREFULLY>(state, timestamps[i], value);
                }
                if S::IS_DIFFERENCE {
                    subtrahend = values[i];
                }
                index += 1;
            }}
        }
        (state, are_valid & self.aggregate.is_valid(&state))
    }

    /// Adds the points of a thread if there are as many as a thread can have, and no head among
    /// them.
    #[inline(always)]
    fn walk_through<S: Source>(&self, thread: u32, state: A::State) -> A::State {
        let mut state = state;
        let mut subtrahend = self.subtrahend::<S>(thread * PER_THREAD);
        for_pairs! { pair {
            let timestamps = self.tile.timestamp_pair(thread, pair as u32);
            let values = if S::HAS_VALUES {
                self.tile.value_pair(thread, pair as u32)
            } else {
                [0.0; 2]
            };
            unrolled! { i in [0 1] {
                state = self.push::<S, false>(state, timestamps[i], values[i] - subtrahend);
                if S::IS_DIFFERENCE {
                    subtrahend = values[i];
                }
            }}
        }}
        state
    }
}
