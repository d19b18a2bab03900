//! The segments of a bucket that lies in several threads, blocks or tiles.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use crate::aggregate::Aggregate;
use crate::points::THREADS;

/// Warps of a block that aggregates or joins.
pub const WARPS: usize = (THREADS / WARP_SIZE) as usize;

/// Shared memory for [`states_before`].
pub struct Exchange<S> {
    states: *mut S,
    has_head: *mut u32,
}

impl<S> Exchange<S> {
    /// Bytes that it takes.
    pub const BYTES: usize = WARPS * size_of::<S>() + WARPS * size_of::<u32>();

    /// Uses `BYTES` bytes of shared memory from `memory` on.
    ///
    /// # Safety
    /// `memory` points to at least `BYTES` bytes of shared memory, aligned for `S`.
    #[inline(always)]
    pub unsafe fn new(memory: *mut u8) -> Exchange<S> {
        // SAFETY: by the contract of this function, `memory` has `BYTES` bytes, and the second
        // array begins within them.
        unsafe {
            Exchange {
                states: memory.cast(),
                has_head: memory.add(WARPS * size_of::<S>()).cast(),
            }
        }
    }
}

/// The state of the bucket that is open before and after a thread's points. In a warp without a
/// head, `before` is meaningless, and `after` is complete only in the last warp: no caller reads
/// the others.
#[derive(Clone, Copy)]
pub struct Open<S> {
    /// The state of the points in lower threads, back to the last head or to the block's start.
    pub before: S,
    /// The same, with the points of this thread.
    pub after: S,
}

/// Merges the threads' states in order, and returns for each thread the state of the open bucket
/// before and after its points. `state` covers the thread's points from its last head on, or all of
/// them if it has no head. `empty` is the empty state of the bucket that is open before the thread.
/// There is one barrier.
///
/// # Safety
/// All [`THREADS`] threads of the block call this, with the same `exchange`, which nothing else
/// uses until the next barrier.
#[inline(always)]
pub unsafe fn states_before<A: Aggregate>(
    aggregate: &A,
    has_head: bool,
    state: A::State,
    empty: A::State,
    exchange: &Exchange<A::State>,
) -> Open<A::State> {
    let me = thread::thread_idx_x();
    let (warp, lane) = (me / WARP_SIZE, me % WARP_SIZE);
    let heads = warp::ballot(FULL_MASK, has_head);
    let up_to_me = u32::MAX >> (WARP_SIZE - 1 - lane);
    let heads_up_to_me = heads & up_to_me;
    // The lane from which on states are merged into this one.
    let first = match heads_up_to_me {
        0 => 0,
        heads => WARP_SIZE - 1 - heads.leading_zeros(),
    };
    let mut state = state;
    let mut distance = 1;
    while distance < WARP_SIZE {
        let merges = lane >= first + distance;
        // With short buckets hardly any step is needed.
        if !warp::any(FULL_MASK, merges) {
            break;
        }
        let lower = warp::shuffle_up(FULL_MASK, state, distance);
        if merges {
            state = aggregate.merge(lower, state);
        }
        distance *= 2;
    }
    let mut before = empty;
    if heads != 0 {
        let lower = warp::shuffle_up(FULL_MASK, state, 1);
        if lane > 0 {
            before = lower;
        }
    }
    if lane == WARP_SIZE - 1 {
        // SAFETY: both arrays of `exchange` have an element for each warp, which this thread alone
        // writes.
        unsafe {
            exchange.states.add(warp as usize).write(state);
            exchange
                .has_head
                .add(warp as usize)
                .write((heads != 0) as u32);
        }
    }
    thread::sync_threads();
    if heads == 0 && warp as usize != WARPS - 1 {
        return Open {
            before,
            after: state,
        };
    }
    // The segments that the lower warps leave open, from the nearest warp down.
    let mut carried = empty;
    let mut other = warp;
    while other > 0 {
        other -= 1;
        // SAFETY: the last lane of warp `other` wrote both elements before the barrier.
        let (lower, has_head) = unsafe {
            (
                exchange.states.add(other as usize).read(),
                exchange.has_head.add(other as usize).read(),
            )
        };
        carried = aggregate.merge(lower, carried);
        if has_head != 0 {
            break;
        }
    }
    if heads_up_to_me == 0 {
        state = aggregate.merge(carried, state);
    }
    if heads & ((1 << lane) - 1) == 0 {
        before = aggregate.merge(carried, before);
    }
    Open {
        before,
        after: state,
    }
}

/// The segments of buckets that lie in several of a launch's units, a tile or some hundred of
/// them: for each unit the points before its first bucket start, and from its last bucket start on.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Pieces<S> {
    /// The points up to the first head, or all points if there is none.
    pub lead: DeviceSliceMut<S>,
    /// From the last head on, if there is one.
    pub trail: DeviceSliceMut<S>,
}
