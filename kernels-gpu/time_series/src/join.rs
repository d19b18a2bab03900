//! Buckets that lie in several tiles, put together from their pieces.
//!
//! Each thread joins one unit, each block [`THREADS`] consecutive units. In the first launch a unit
//! is a tile; in each further launch a unit is what a block of the launch before has joined, until
//! one block suffices. The order of merging is a tree that depends on positions alone. If all
//! buckets are short, each lies in two tiles at most, and one launch joins them.

use cuda_std::prelude::*;
use cuda_std::shared;

use crate::aggregate::Aggregate;
use crate::points::THREADS;
use crate::reduce::Results;
use crate::reports::{Reports, TOTAL};
use crate::segments::{Exchange, Pieces, states_before};

/// The segments to join.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Units {
    /// The first place of each tile's buckets, and the number of places. None for one tile.
    pub places: DeviceSlice<u64>,
    /// The reports of the tiles.
    pub reports: Reports,
    /// Tiles of a unit.
    pub tiles: u32,
    /// Units.
    pub count: u32,
    /// Room for results.
    pub buckets: u32,
}

/// Pieces that are joined.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Join<S> {
    /// The segments that the units left.
    pub pieces: Pieces<S>,
    /// Room for the segments that blocks leave.
    pub joined: Pieces<S>,
}

impl Units {
    /// The first place of a unit's buckets, or the number of places.
    #[inline(always)]
    fn first_place(&self, unit: u32) -> u32 {
        if self.places.is_empty() {
            // SAFETY: by the contract of `join`, `units.reports` has its words.
            let total = unsafe { self.reports.words.at(TOTAL) };
            return if unit == 0 { 0 } else { total as u32 };
        }
        let tiles = self.places.len() - 1;
        let tile = unit as usize * self.tiles as usize;
        // SAFETY: not above the number of tiles.
        unsafe { self.places.at(if tile < tiles { tile } else { tiles }) as u32 }
    }
}

/// Bytes of dynamic shared memory that a block takes.
pub const fn shared_bytes<S>() -> u32 {
    Exchange::<S>::BYTES as u32
}

/// Joins the units of a block. What it does not complete goes to `joined`; the only block completes
/// all.
///
/// # Safety
/// - A block has [`THREADS`] threads and [`shared_bytes`] of shared memory; the blocks together
///   have all units.
/// - There is room for what each block leaves, and in `results` for the buckets.
/// - `units.places` is empty or has a place more than tiles, and places ascend; `units.reports` has
///   its words.
#[inline(always)]
pub unsafe fn join<A: Aggregate, R: Results<A>>(
    aggregate: A,
    units: Units,
    Join { pieces, joined }: Join<A::State>,
    results: R,
) {
    let me = thread::thread_idx_x();
    let block = thread::block_idx_x();
    let unit = block * THREADS + me;
    let (mut lead, mut state) = (aggregate.empty(), aggregate.empty());
    let mut has_head = false;
    let before_block = units.first_place(block * THREADS);
    let mut before = before_block;
    if unit < units.count {
        before = units.first_place(unit);
        has_head = units.first_place(unit + 1) > before;
        // SAFETY: `lead` has an element for each unit, and `unit < count`.
        lead = unsafe { pieces.lead.at(unit as usize) };
        if has_head {
            // SAFETY: `trail` has an element for each unit, written if a bucket begins in the unit.
            state = unsafe { pieces.trail.at(unit as usize) };
        } else {
            state = lead;
        }
    }
    // SAFETY: all threads are here, and nothing else is in that memory.
    let open = unsafe {
        let exchange = Exchange::new(shared::dynamic_shared_mem::<u8>());
        states_before(&aggregate, has_head, state, aggregate.empty(), &exchange)
    };
    if has_head {
        let complete = aggregate.merge(open.before, lead);
        // SAFETY: the bucket is the one open before this unit, and no other unit closes it.
        unsafe {
            if before > before_block {
                write(&aggregate, &units, &results, before - 1, complete);
            } else {
                joined.lead.set(block as usize, complete);
            }
        }
    }
    if me == THREADS - 1 {
        let last_unit = (block + 1) * THREADS;
        let after_block = units.first_place(if last_unit < units.count {
            last_unit
        } else {
            units.count
        });
        // SAFETY: room for each block. The bucket that is open in the end is the last one.
        unsafe {
            if after_block == before_block {
                joined.lead.set(block as usize, open.after);
            } else if thread::grid_dim_x() > 1 {
                joined.trail.set(block as usize, open.after);
            } else {
                write(&aggregate, &units, &results, after_block - 1, open.after);
            }
        }
    }
}

/// Joins tiles that each begin a bucket, except the last one and those that were left out: every
/// bucket lies in two neighbours at most. A thread has a tile, and needs no other thread.
///
/// # Safety
/// - A unit is a tile. The launch has a thread for each, in blocks of [`THREADS`].
/// - Every tile has a lead, and every tile but the last one a trail, of no points if the tile was
///   left out. There is room in `results` for the buckets.
/// - `units.places` has a place more than tiles, and places ascend.
#[inline(always)]
pub unsafe fn join_neighbours<A: Aggregate, R: Results<A>>(
    aggregate: A,
    units: Units,
    pieces: Pieces<A::State>,
    results: R,
) {
    let tile = thread::block_idx_x() * THREADS + thread::thread_idx_x();
    if tile >= units.count {
        return;
    }
    let (before, after) = (units.first_place(tile), units.first_place(tile + 1));
    let (has_head, is_last) = (after > before, tile + 1 == units.count);
    // Nothing is open before the first tile.
    if before > 0 && (has_head || is_last) {
        // SAFETY: places lie before this tile, so there is a tile before it, which has a trail. Places
        // ascend, so no other tile closes the bucket at `before - 1`.
        unsafe {
            let trail = pieces.trail.at(tile as usize - 1);
            let complete = aggregate.merge(trail, pieces.lead.at(tile as usize));
            write(&aggregate, &units, &results, before - 1, complete);
        }
    }
    if has_head && is_last {
        // SAFETY: a tile with a head has a trail. The bucket that is open in the end is the last.
        unsafe {
            let trail = pieces.trail.at(tile as usize);
            write(&aggregate, &units, &results, after - 1, trail);
        }
    }
}

/// # Safety
/// As of [`Results::write`], but there need not be room.
#[inline(always)]
unsafe fn write<A: Aggregate, R: Results<A>>(
    aggregate: &A,
    units: &Units,
    results: &R,
    bucket: u32,
    state: A::State,
) {
    if bucket < units.buckets {
        // SAFETY: there is room, as has been compared, and by the contract of this function, no
        // other thread else writes the result of this bucket.
        unsafe { results.write(aggregate, bucket as usize, state) };
    }
}
