//! The pass over all points.
//!
//! A block has a tile of [`TILE`] points, a thread some neighbours. Buckets that begin and end in a
//! tile are complete there; what they are the number of is known by decoupled look-back, for which
//! only *numbers* of buckets are passed on: states would be merged in an order that differs from
//! run to run. What a tile has of buckets that lie in several goes to [`Pieces`], which
//! [`join`](crate::join) puts together, always in the same order.

use core::hint::cold_path;

use cuda_std::prelude::*;
use cuda_std::shared;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};
use primitives_kernels::block;

use crate::aggregate::{Aggregate, Point};
use crate::points::{Mine, PER_THREAD, Points, THREADS, TILE, Tile, Value};
use crate::progress::{Progress, Report, TOTAL};
use crate::segments::{Exchange, Pieces, states_before};

/// Where results go.
pub trait Results<A: Aggregate>: Copy {
    /// Writes the result of bucket number `bucket`.
    ///
    /// # Safety
    /// Nobody else writes that of this bucket, and it is below the number that there is room for.
    unsafe fn write(&self, aggregate: &A, bucket: usize, state: A::State);
}

/// What is known of a bucket apart from its result.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Buckets {
    /// Room for the first timestamp of each bucket: there is as much for results.
    pub starts: DeviceSliceMut<i64>,
    /// Room for the index of its first point, or none.
    pub firsts: DeviceSliceMut<u32>,
    /// Room for the number of buckets that begin in lower tiles, of each tile, and for that of all.
    pub before: DeviceSliceMut<u32>,
}

/// Bytes of dynamic shared memory that a block takes.
pub const fn shared_bytes<S>() -> u32 {
    (Stage::<S>::BYTES + Exchange::<S>::BYTES) as u32
}

/// How many tiles ahead points are brought into the L2 cache: about a microsecond.
const PREFETCHED: u32 = 64;

/// Where the last head of each warp stands in the words that a block's threads share: behind the
/// tile's number, the number of buckets in lower tiles, and the flag for long buckets.
const LAST_HEADS: usize = 3;

/// A tile on its way.
struct Work<A: Aggregate, V> {
    aggregate: A,
    points: Points<V>,
    buckets: Buckets,
    tile: Tile,
    /// The tile's number, and the index of its first point.
    index: usize,
    start: usize,
    mine: Mine,
    /// Buckets that begin in the tile, and with points of lower threads.
    heads: u32,
    heads_before: u32,
}

/// Aggregates a tile. Without `VALUES` there are none, and all points have 0.
///
/// # Safety
/// - A block has [`THREADS`] threads and [`shared_bytes`] of shared memory; there are as many
///   blocks as tiles.
/// - `points` has as many values as timestamps, `progress` a word for each tile, all 0 at first,
///   and `pieces` and `buckets` room for each tile; `results` have as much room as `starts`, and so
///   have `firsts` if there are any.
#[inline(always)]
pub unsafe fn reduce<A: Aggregate, R: Results<A>, V: Value, const VALUES: bool>(
    aggregate: A,
    points: Points<V>,
    progress: Progress,
    buckets: Buckets,
    pieces: Pieces<A::State>,
    results: R,
) {
    let warp_sums = shared_array![u32; (THREADS / WARP_SIZE) as usize];
    let common = shared_array![u32; LAST_HEADS + (THREADS / WARP_SIZE) as usize];
    let me = thread::thread_idx_x();
    if me == 0 {
        // SAFETY: the only one that writes it; a block has one tile.
        unsafe {
            common.write(progress.take() as u32);
            common.add(2).write(0);
        }
    }
    thread::sync_threads();
    // SAFETY: written before the barrier.
    let index = unsafe { common.read() } as usize;
    let start = index * TILE as usize;
    // What a tile a little later will read: of 8 bytes a line of the cache for each thread. Too far
    // ahead it would be gone again before it is read.
    let later = start + (PREFETCHED * TILE + me * PER_THREAD) as usize;
    points.timestamps.prefetch(later);
    if VALUES {
        points.values.prefetch(later);
    }
    // SAFETY: there are as many tiles as blocks, none of them without points.
    let tile = unsafe { Tile::load::<V, VALUES>(&points, start) };
    let first = start + (me * PER_THREAD) as usize;
    let mine = Mine::find(&points, &tile, first);
    // SAFETY: there are words.
    unsafe {
        progress.report(Report::Disorder, first, mine.disorder);
        progress.report(Report::WithoutLabel, first, mine.without_label);
    }
    // Three neighbours without a head.
    let without = warp::ballot(FULL_MASK, mine.heads == 0 && mine.count > 0);
    if without & without >> 1 & without >> 2 != 0 {
        // SAFETY: all write the same, and it is read behind the barriers of the sum.
        unsafe { common.add(2).write(1) };
    }
    // SAFETY: an element for each warp, and all threads are here.
    let (heads_before, heads) = unsafe { block::exclusive_sum(mine.heads.count_ones(), warp_sums) };
    // SAFETY: as above.
    let has_long = unsafe { common.add(2).read() } != 0;
    if me == 0 {
        // SAFETY: this block's tile.
        unsafe { progress.tell(index, heads) };
    }
    let work = Work {
        aggregate,
        points,
        buckets,
        tile,
        index,
        start,
        mine,
        heads,
        heads_before,
    };
    // SAFETY: passed on to the caller.
    unsafe {
        if has_long {
            work.long::<R, VALUES>(progress, common, pieces, results);
        } else {
            work.short::<R, VALUES>(progress, common, pieces, results);
        }
    }
}

impl<A: Aggregate, V: Value> Work<A, V> {
    /// Finds out how many buckets begin in lower tiles, and tells it: for one warp.
    ///
    /// # Safety
    /// As of [`reduce`]; `common` is shared memory.
    #[inline(always)]
    unsafe fn look_back(&self, progress: &Progress, common: *mut u32) {
        // SAFETY: this block's tile, of which thread 0 has told.
        let before = unsafe { progress.look_back(self.index, self.heads) };
        if thread::thread_idx_x() == 0 {
            // SAFETY: the only one that writes it, and room for each tile.
            unsafe {
                common.add(1).write(before);
                self.buckets.before.set(self.index, before);
                if self.index + 1 == thread::grid_dim_x() as usize {
                    self.buckets.before.set(self.index + 1, before + self.heads);
                    progress
                        .words
                        .set(TOTAL, u64::from(before) + u64::from(self.heads));
                }
            }
        }
    }

    /// The state of no points of the bucket that a point of the tile belongs to.
    #[inline(always)]
    fn empty<const VALUES: bool>(&self, point: u32) -> A::State {
        if VALUES {
            self.aggregate.empty_near(self.tile.value(point))
        } else {
            self.aggregate.empty()
        }
    }

    /// The state with a point of the tile, if it takes part.
    #[inline(always)]
    fn push<const CAREFULLY: bool>(&self, state: A::State, timestamp: i64, value: f64) -> A::State {
        if !self.points.absent.has(value) {
            return state;
        }
        let point = Point { timestamp, value };
        if CAREFULLY {
            self.aggregate.push_carefully(state, point)
        } else {
            self.aggregate.push(state, point)
        }
    }

    /// The state of neighbouring points of the tile, all of one bucket.
    #[inline(always)]
    fn state_of<const VALUES: bool, const CAREFULLY: bool>(
        &self,
        first: u32,
        end: u32,
    ) -> A::State {
        let mut state = self.empty::<VALUES>(first);
        let mut point = first;
        while point < end {
            let value = if VALUES { self.tile.value(point) } else { 0.0 };
            state = self.push::<CAREFULLY>(state, self.tile.timestamp(point), value);
            point += 1;
        }
        state
    }

    /// Whether there is room for a bucket: unsorted timestamps may have more than that.
    #[inline(always)]
    fn has_room(&self, bucket: usize) -> bool {
        bucket < self.buckets.starts.len()
    }

    /// Writes what is known of a bucket by its first point.
    ///
    /// # Safety
    /// There is room, and nobody else writes this bucket.
    #[inline(always)]
    unsafe fn write_head(&self, bucket: usize, first: u32) {
        let timestamp = self.tile.timestamp(first);
        // SAFETY: passed on to the caller.
        unsafe {
            self.buckets
                .starts
                .set(bucket, self.points.floor.floor(timestamp));
            if !self.buckets.firsts.is_empty() {
                self.buckets.firsts.set(bucket, self.start as u32 + first);
            }
        }
    }

    /// A tile without long buckets: a thread aggregates a bucket at a time.
    ///
    /// # Safety
    /// As of [`reduce`]; `common` is shared memory.
    #[inline(always)]
    unsafe fn short<R: Results<A>, const VALUES: bool>(
        &self,
        progress: Progress,
        common: *mut u32,
        pieces: Pieces<A::State>,
        results: R,
    ) {
        // The first point of each bucket, and at the end the number of points.
        let firsts = shared_array![u16; PLACES];
        let me = thread::thread_idx_x();
        let mut bits = self.mine.heads;
        let mut place = self.heads_before;
        while bits != 0 {
            let first = me * PER_THREAD + bits.trailing_zeros();
            // SAFETY: a place for each point.
            unsafe { firsts.add(place as usize).write(first as u16) };
            place += 1;
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
        let mut before = None;
        // Number 0 is what stands before the first head.
        let mut number = me;
        loop {
            let (mut first, mut end) = (0, 0);
            if number <= self.heads {
                // SAFETY: written before the barrier.
                unsafe {
                    if number > 0 {
                        first = firsts.add(number as usize - 1).read() as u32;
                    }
                    end = firsts.add(number as usize).read() as u32;
                }
            }
            let mut state = self.state_of::<VALUES, false>(first, end);
            if !self.aggregate.is_valid(&state) {
                cold_path();
                state = self.state_of::<VALUES, true>(first, end);
            }
            // Only now, so that there is something to do while other blocks find out.
            let before = match before {
                Some(before) => before,
                None => {
                    if me < WARP_SIZE {
                        // SAFETY: passed on to the caller.
                        unsafe { self.look_back(&progress, common) };
                    }
                    thread::sync_threads();
                    // SAFETY: written before the barrier.
                    *before.insert(unsafe { common.add(1).read() } as usize)
                }
            };
            // SAFETY: this thread's bucket, and room for each tile.
            unsafe {
                if number == 0 {
                    pieces.lead.set(self.index, state);
                } else if number <= self.heads {
                    let bucket = before + number as usize - 1;
                    if self.has_room(bucket) {
                        self.write_head(bucket, first);
                    }
                    // The last one may go on in the next tile.
                    if number == self.heads {
                        pieces.trail.set(self.index, state);
                    } else if self.has_room(bucket) {
                        results.write(&self.aggregate, bucket, state);
                    }
                }
            }
            number += THREADS;
            if number > self.heads {
                break;
            }
        }
    }

    /// A tile with a long bucket, and so mostly with few: a thread aggregates its own points, and
    /// those of buckets that lie in several threads are merged.
    ///
    /// # Safety
    /// As of [`reduce`]; `common` is shared memory.
    #[inline(always)]
    unsafe fn long<R: Results<A>, const VALUES: bool>(
        &self,
        progress: Progress,
        common: *mut u32,
        pieces: Pieces<A::State>,
        results: R,
    ) {
        let me = thread::thread_idx_x();
        let own_heads = self.mine.heads.count_ones();
        // SAFETY: room for all of it.
        let (exchange, stage) = unsafe {
            let memory = shared::dynamic_shared_mem::<u8>();
            (
                Exchange::new(memory.add(Stage::<A::State>::BYTES)),
                Stage::new(memory),
            )
        };
        // SAFETY: passed on to the caller.
        let near = unsafe { self.point_near(common.add(LAST_HEADS)) };
        let empty = self.empty::<VALUES>(near);
        // The same for all threads of a warp, which would take one way after the other.
        let is_whole = self.mine.heads == 0 && self.mine.count == PER_THREAD;
        let is_whole = warp::all(FULL_MASK, is_whole);
        let mut before_me = empty;
        let mut before = 0;
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
                    state = self.walk_through::<VALUES>(empty);
                    is_valid = self.aggregate.is_valid(&state);
                } else {
                    (state, is_valid) = self.walk::<VALUES, false>(&stage, place, empty);
                }
                if !is_valid {
                    cold_path();
                    (state, _) = self.walk::<VALUES, true>(&stage, place, empty);
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
                            pieces.lead.set(self.index, open.after);
                        } else {
                            pieces.trail.set(self.index, open.after);
                        }
                    }
                }
                if me < WARP_SIZE {
                    // SAFETY: passed on to the caller.
                    unsafe { self.look_back(&progress, common) };
                }
            }
            if own_heads > 0 && place <= LAST {
                // What ends at this thread's first head began before its points.
                // SAFETY: this thread wrote it, and nobody else uses it before the barrier.
                unsafe {
                    let ends_here = stage.states.add(place as usize);
                    let state = self.aggregate.merge(before_me, ends_here.read());
                    ends_here.write(state);
                    if self.heads_before == 0 {
                        // Room for each tile.
                        pieces.lead.set(self.index, state);
                    }
                }
            }
            thread::sync_threads();
            if from == 0 {
                // SAFETY: written before the barrier.
                before = unsafe { common.add(1).read() } as usize;
            }
            let mut place = me;
            while place < LAST && from + place < self.heads {
                let bucket = before + (from + place) as usize;
                if self.has_room(bucket) {
                    // SAFETY: written before the barrier; this thread's bucket. The last one may go
                    // on in the next tile.
                    unsafe {
                        self.write_head(bucket, stage.firsts.add(place as usize).read());
                        if from + place + 1 < self.heads {
                            let state = stage.states.add(place as usize + 1).read();
                            results.write(&self.aggregate, bucket, state);
                        }
                    }
                }
                place += THREADS;
            }
            from = to;
            if from >= self.heads {
                break;
            }
            thread::sync_threads();
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
            // SAFETY: written before the barrier.
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
    fn walk<const VALUES: bool, const CAREFULLY: bool>(
        &self,
        stage: &Stage<A::State>,
        place: u32,
        state: A::State,
    ) -> (A::State, bool) {
        let me = thread::thread_idx_x();
        let mut state = state;
        let mut are_valid = true;
        let mut place = place;
        let mut index = 0;
        while index < self.mine.count {
            let timestamps = self.tile.timestamps(me, index / 2);
            let values = if VALUES {
                self.tile.values(index / 2)
            } else {
                [0.0; 2]
            };
            unrolled! { i in [0 1] {
                if self.mine.heads >> index & 1 != 0 {
                    if place <= LAST {
                        // SAFETY: there is such a place.
                        unsafe {
                            stage.states.add(place as usize).write(state);
                            stage.firsts.add(place as usize).write(me * PER_THREAD + index);
                        }
                    }
                    are_valid &= self.aggregate.is_valid(&state);
                    place = place.wrapping_add(1);
                    state = if VALUES {
                        self.aggregate.empty_near(values[i])
                    } else {
                        self.aggregate.empty()
                    };
                }
                if index < self.mine.count {
                    state = self.push::<CAREFULLY>(state, timestamps[i], values[i]);
                }
                index += 1;
            }}
        }
        (state, are_valid & self.aggregate.is_valid(&state))
    }

    /// The state of a thread's points if there are as many as a thread can have, and no head among
    /// them.
    #[inline(always)]
    fn walk_through<const VALUES: bool>(&self, state: A::State) -> A::State {
        let me = thread::thread_idx_x();
        let mut state = state;
        let mut pair = 0;
        while pair < PER_THREAD / 2 {
            let timestamps = self.tile.timestamps(me, pair);
            let values = if VALUES {
                self.tile.values(pair)
            } else {
                [0.0; 2]
            };
            unrolled! { i in [0 1] {
                state = self.push::<false>(state, timestamps[i], values[i]);
            }}
            pair += 1;
        }
        state
    }
}

/// Places of a [`Stage`], and the last one.
const STAGE: usize = 64;
const LAST: u32 = STAGE as u32 - 1;

/// Some buckets on their way out: neighbours in memory are written by neighbouring threads. A
/// head's place is its number among those of the tile less that of the first one that is here.
struct Stage<S> {
    /// Of the bucket that ends at the head: at place 0, of what goes out before or belongs to an
    /// earlier tile.
    states: *mut S,
    /// The head, as a point of the tile.
    firsts: *mut u32,
}

impl<S> Stage<S> {
    /// A multiple of 16.
    const BYTES: usize = STAGE * (size_of::<S>() + size_of::<u32>());

    /// At the start of so many bytes.
    ///
    /// # Safety
    /// They are there, and aligned for the state.
    #[inline(always)]
    unsafe fn new(memory: *mut u8) -> Stage<S> {
        // SAFETY: in range by the caller's promise.
        unsafe {
            Stage {
                states: memory.cast(),
                firsts: memory.add(STAGE * size_of::<S>()).cast(),
            }
        }
    }
}

/// A place for each point of a tile, and one more.
const PLACES: usize = TILE as usize + 1;
