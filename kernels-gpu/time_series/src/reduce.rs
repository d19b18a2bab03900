//! The pass over all points.
//!
//! A block has a tile of [`TILE`] points, a thread some neighbours. Buckets that begin and end in a
//! tile are complete there. Their places in the output are known before: as many for each tile as
//! its time span and its points allow at most, see [`bound_tiles`](crate::bound_tiles). Blocks need
//! not wait for each other: where every bucket has points, no place is left free. If there are free
//! places, the host repeats the pass with the numbers of buckets that it found. What a tile has of
//! buckets that lie in several goes to [`Pieces`], which [`join`](crate::join) puts together,
//! always in the same order.

use cuda_std::prelude::*;
use cuda_std::shared;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};
use primitives_kernels::block::warp_inclusive_sum;

use crate::aggregate::Aggregate;
use crate::heads::Mine;
use crate::points::{PER_THREAD, Points, Source, TILE, Value};
use crate::reports::{Report, Reports, TOTAL};
use crate::segments::{Pieces, WARPS};
use crate::short;
use crate::stage;
use crate::tile::Tile;
use crate::work::Work;

/// Where results go.
pub trait Results<A: Aggregate>: Copy {
    /// Writes the result of bucket number `bucket`.
    ///
    /// # Safety
    /// No other thread writes the result of this bucket, whose index is below the room for results.
    unsafe fn write(&self, aggregate: &A, bucket: usize, state: A::State);
}

/// Where first timestamps, first points and numbers of buckets go.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Buckets {
    /// Room for the first timestamp of each bucket: there is as much for results.
    pub starts: DeviceSliceMut<i64>,
    /// Room for the index of its first point, or none.
    pub firsts: DeviceSliceMut<u32>,
    /// The first place of each tile's buckets in all of these, and the number of places. None if
    /// there is one tile: it has as many places as buckets.
    pub places: DeviceSlice<u64>,
    /// Room for the number of buckets that begin in each tile.
    pub counts: DeviceSliceMut<u32>,
    /// Whether to aggregate only tiles that a kernel for short buckets left out: 0 or 1.
    pub only_left_out: u32,
}

/// Bytes of dynamic shared memory that a block takes: for its tile, and for what tiles without long
/// buckets or those with them need.
pub const fn shared_bytes<V: Value, S>() -> u32 {
    let (short, long) = (short::BYTES, stage::bytes::<S>());
    (Tile::<V>::BYTES + if short > long { short } else { long }) as u32
}

/// Bit of a warp's report that marks a long bucket; the other bits count bucket starts.
const HAS_LONG: u32 = 1 << 31;

/// Neighbouring threads without a head that make a bucket a long one.
const LONG: u32 = 48 / PER_THREAD;

/// Marks the number of buckets of a tile that was left out.
const LEFT_OUT: u32 = 1 << 31;

/// Aggregates a tile; if it is to have `ONLY_SHORT` buckets, leaves it out if there is a long one.
/// Without what long buckets need, a kernel takes fewer registers, and more blocks run.
///
/// # Safety
/// - A block has [`THREADS`](crate::THREADS) threads and [`shared_bytes`] of shared memory; there are as many
///   blocks as tiles.
/// - `points` has as many values as timestamps, unless the source has none; `pieces` and `counts`
///   have room for each tile; there is a place more than tiles, or no
///   place for one tile; places ascend, up to at most the number of `starts`, of `results`, and of
///   `firsts` if there are any.
/// - `reports` has its words.
#[inline(always)]
pub unsafe fn reduce<A: Aggregate, R: Results<A>, V: Value, S: Source, const ONLY_SHORT: bool>(
    aggregate: A,
    points: Points<V>,
    reports: Reports,
    buckets: Buckets,
    pieces: Pieces<A::State>,
    results: R,
) {
    let of_warps = shared_array![u32; WARPS];
    let last_heads = shared_array![u32; WARPS];
    let me = thread::thread_idx_x();
    let index = thread::block_idx_x() as usize;
    let start = index * TILE as usize;
    // SAFETY: room for each tile. All threads read the same, before one of them writes it.
    if buckets.only_left_out != 0 && unsafe { buckets.counts.at(index) } & LEFT_OUT == 0 {
        return;
    }
    let memory = shared::dynamic_shared_mem::<u8>();
    // SAFETY: there is memory for a tile and what follows it, and there are as many tiles as
    // blocks, none of them without points, and a place more than tiles, if there are places.
    let (tile, scratch) = unsafe {
        let tile = Tile::<V>::new(memory);
        tile.load::<S>(&points, buckets.places, start);
        (tile, memory.add(Tile::<V>::BYTES))
    };
    thread::sync_threads();
    let mine = Mine::find(&points, &tile, start);
    if mine.disorder | mine.without_label != 0 {
        let first = start + (me * PER_THREAD) as usize;
        // SAFETY: by the contract of this function, `reports` has its words.
        unsafe {
            reports.report(Report::Disorder, first, mine.disorder);
            reports.report(Report::WithoutLabel, first, mine.without_label);
        }
    }
    // SAFETY: all threads are here.
    let (heads_before, heads, has_long) = unsafe { count_heads(&mine, of_warps) };
    let (mut from, mut end) = (0, u64::from(heads));
    if !buckets.places.is_empty() {
        (from, end) = tile.places();
    }
    let work = Work {
        aggregate,
        points,
        reports,
        buckets,
        pieces,
        tile,
        index,
        start,
        mine,
        heads,
        heads_before,
        end: end as u32,
        room: (end - from) as u32,
    };
    // SAFETY: `counts` and `pieces` have room for each tile, `reports` has its words, and only the
    // last block writes the number of places. `short` and `long` share this function's contract;
    // `scratch` is what is left of the `shared_bytes` behind the tile, and `last_heads` has an
    // element for each warp.
    unsafe {
        if me == 0 {
            let is_left_out = ONLY_SHORT && has_long;
            let mark = if is_left_out { LEFT_OUT } else { 0 };
            buckets.counts.set(index, heads | mark);
            reports.report(Report::Long, start, u32::from(is_left_out));
            reports.report(Report::Places, start, u32::from(heads != work.room));
            if index + 1 == thread::grid_dim_x() as usize {
                reports.words.set(TOTAL, end);
            }
        }
        if !has_long {
            work.short::<R, S>(scratch, results);
        } else if !ONLY_SHORT {
            work.long::<R, S>(scratch, last_heads, results);
        } else if me == 0 {
            // Segments that are joined before the tile is aggregated are joined again.
            pieces.lead.set(index, work.aggregate.empty());
            pieces.trail.set(index, work.aggregate.empty());
        }
    }
}

/// Counts the heads in lower threads and in the tile, and says whether it has a long bucket.
///
/// # Safety
/// All threads call this; `of_warps` has an element of shared memory for each warp, which nothing
/// else uses until the barrier.
#[inline(always)]
unsafe fn count_heads(mine: &Mine, of_warps: *mut u32) -> (u32, u32, bool) {
    let (warp, lane) = (thread::thread_idx_x() / WARP_SIZE, warp::lane_id());
    let own = mine.heads.count_ones();
    let without = warp::ballot(FULL_MASK, mine.heads == 0 && mine.count > 0);
    // A bit for the last thread of so many neighbours without a head.
    let mut long = without;
    let mut neighbours = 1;
    while neighbours < LONG {
        long &= without << neighbours;
        neighbours += 1;
    }
    let up_to_me = warp_inclusive_sum(own);
    if lane == WARP_SIZE - 1 {
        let word = up_to_me | if long != 0 { HAS_LONG } else { 0 };
        // SAFETY: this warp's element.
        unsafe { of_warps.add(warp as usize).write(word) };
    }
    thread::sync_threads();
    let (mut before, mut all, mut flags) = (up_to_me - own, 0, 0);
    unrolled! { other in [0 1 2 3] {
        // SAFETY: each of the four warps wrote its element before the barrier.
        let word = unsafe { of_warps.add(other).read() };
        let heads = word & !HAS_LONG;
        if (other as u32) < warp {
            before += heads;
        }
        all += heads;
        flags |= word;
    }}
    (before, all, flags & HAS_LONG != 0)
}
