//! A pass of radix sort: moves keys, and values with them, into the order of one digit of 8 bits,
//! those with the same digit in the order in which they were. Passes from the lowest digit up sort.
//!
//! Three launches: each block counts the digits in its part of the keys; the counts are added up,
//! so that each block knows where its keys with each digit begin; each block moves its keys. There
//! a tile is sorted within shared memory first, so that neighbours in the output are written by
//! neighbouring threads.
//!
//! Within a warp the place of a key among those with the same digit is found by ballots (one for
//! each bit of the digit), without atomic operations, so that the order is kept.

use crate::block;
use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

/// Bits of a digit.
pub const DIGIT_BITS: u32 = 8;

/// Digits, and threads of a block: one each.
pub const DIGITS: u32 = 1 << DIGIT_BITS;

/// Threads of a block.
pub const SORT_THREADS: u32 = 256;

/// Keys that a block takes at a time.
pub const SORT_TILE: u32 = SORT_THREADS * PER_THREAD as u32;

const PER_THREAD: usize = 8;
const WARPS: u32 = SORT_THREADS / WARP_SIZE;

/// What is the same for all keys in a pass.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct SortParameters {
    /// The lowest bit of the digit.
    pub shift: u32,
    /// The digit's bits, 8 at most, in the lowest places.
    pub mask: u32,
    /// Tiles of [`SORT_TILE`] keys in a block's part.
    pub tiles: u32,
}

impl SortParameters {
    #[inline(always)]
    fn digit(self, key: u64) -> u32 {
        (key >> self.shift) as u32 & self.mask
    }

    /// The keys of this block: from, to.
    #[inline(always)]
    fn part(self, keys: usize) -> (usize, usize) {
        let size = self.tiles as usize * SORT_TILE as usize;
        let start = (thread::block_idx_x() as usize * size).min(keys);
        (start, keys.min(start + size))
    }
}

/// Counts how many keys of each block's part have each digit: `counts` is \[digit\]\[block\].
///
/// # Safety
/// A block has [`SORT_THREADS`] threads, the blocks together have all keys, and `counts` has a
/// place for each digit of each block.
#[kernel(block = 256)]
pub unsafe fn digit_counts(
    parameters: SortParameters,
    keys: DeviceSlice<u64>,
    counts: DeviceSliceMut<u32>,
) {
    let in_block = shared_array![u32; DIGITS as usize];
    let me = thread::thread_idx_x() as usize;
    // SAFETY: a thread for each digit.
    unsafe { in_block.add(me).write(0) };
    thread::sync_threads();
    let (start, end) = parameters.part(keys.len());
    let mut index = start + me;
    while index < end {
        // SAFETY: below the length.
        let digit = parameters.digit(unsafe { keys.at(index) });
        // SAFETY: a place for each digit, which all threads only add to.
        unsafe { atomic::add(in_block.add(digit as usize), 1) };
        index += SORT_THREADS as usize;
    }
    thread::sync_threads();
    let place = me * thread::grid_dim_x() as usize + thread::block_idx_x() as usize;
    // SAFETY: a place for each digit of each block; nobody adds any more.
    unsafe { counts.set(place, in_block.add(me).read()) };
}

/// The arrays of [`digit_places`].
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct DigitPlaces {
    /// How many keys of each block have each digit, \[digit\]\[block\].
    pub counts: DeviceSliceMut<u32>,
    /// Room for how many keys have each digit.
    pub totals: DeviceSliceMut<u32>,
}

/// The arrays of [`move_keys`], and those of [`move_pairs`] for the keys.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct MoveKeys {
    /// The keys.
    pub keys: DeviceSlice<u64>,
    /// What [`digit_places`] has made of the counts.
    pub counts: DeviceSlice<u32>,
    /// How many keys have each digit.
    pub totals: DeviceSlice<u32>,
    /// Room for as many keys, in other memory.
    pub moved_keys: DeviceSliceMut<u64>,
}

/// Makes of the counts of `blocks` blocks, for each digit, how many keys with that digit the lower
/// blocks have, and of `totals` how many keys have each digit. One warp for each digit.
///
/// # Safety
/// The arrays are as they say; there are as many warps as digits, in whole blocks.
#[kernel(max_block = 256)]
pub unsafe fn digit_places(blocks: u32, arrays: DigitPlaces) {
    let DigitPlaces { counts, totals } = arrays;
    let digit = thread::global_index() / WARP_SIZE as usize;
    let lane = warp::lane_id();
    let mut before = 0u32;
    let mut first = 0;
    while first < blocks {
        let here = first + lane < blocks;
        let place = digit * blocks as usize + (first + lane) as usize;
        let mut count = 0;
        if here {
            // SAFETY: a place for each digit of each block, which this thread alone uses.
            count = unsafe { counts.at(place) };
        }
        let sum = block::warp_inclusive_sum(count);
        if here {
            // SAFETY: as above.
            unsafe { counts.set(place, before + sum - count) };
        }
        before += warp::shuffle_idx(FULL_MASK, sum, WARP_SIZE - 1);
        first += WARP_SIZE;
    }
    if lane == 0 {
        // SAFETY: a place for each digit.
        unsafe { totals.set(digit, before) };
    }
}

/// A bit for every lane whose key has the same digit.
#[inline(always)]
fn lanes_with(digit: u32) -> u32 {
    let mut lanes = FULL_MASK;
    let mut bit = 0;
    while bit < DIGIT_BITS {
        let is_set = digit >> bit & 1 != 0;
        let with_it = warp::ballot(FULL_MASK, is_set);
        lanes &= if is_set { with_it } else { !with_it };
        bit += 1;
    }
    lanes
}

/// Moves this block's part.
///
/// # Safety
/// As of [`move_pairs`]; without `VALUES` there are none.
#[inline(always)]
unsafe fn move_part<const VALUES: bool>(
    parameters: SortParameters,
    arrays: MoveKeys,
    values: DeviceSlice<u32>,
    moved_values: DeviceSliceMut<u32>,
) {
    let MoveKeys {
        keys,
        counts,
        totals,
        moved_keys,
    } = arrays;
    // [warp][digit]: how many keys of the warp so far, then of all lower warps.
    let in_warps = shared_array![u32; (WARPS * DIGITS) as usize];
    // [digit]: what takes a place in the sorted tile to one in the output.
    let to_output = shared_array![u32; DIGITS as usize];
    let warp_sums = shared_array![u32; WARPS as usize];
    let tile_keys = shared_array![u64; SORT_TILE as usize];
    let tile_values = shared_array![u32; SORT_TILE as usize];

    let me = thread::thread_idx_x();
    let (warp, lane) = (me / WARP_SIZE, me % WARP_SIZE);
    let lower_lanes = (1u32 << lane) - 1;
    // SAFETY: a place for each digit in each warp.
    let in_warp = unsafe { in_warps.add((warp * DIGITS) as usize) };

    // Thread d keeps where the block's next key with digit d goes. Places wrap at 2³², no array
    // does. SAFETY: a place for each digit, and of each block.
    let (total, in_lower_blocks) = unsafe {
        let place = me as usize * thread::grid_dim_x() as usize + thread::block_idx_x() as usize;
        (totals.at(me as usize), counts.at(place))
    };
    // SAFETY: an element for each warp, and all threads are here.
    let (lower_digits, _) = unsafe { block::exclusive_sum(total, warp_sums) };
    let mut next = lower_digits.wrapping_add(in_lower_blocks);

    let (mut start, end) = parameters.part(keys.len());
    while start < end {
        let left = end - start;
        let count = if left < SORT_TILE as usize {
            left as u32
        } else {
            SORT_TILE
        };
        let mut digit = 0;
        while digit < DIGITS {
            // SAFETY: 32 lanes write the places of their warp. Those who read the last tile's have
            // been at a barrier since.
            unsafe { in_warp.add((digit + lane) as usize).write(0) };
            digit += WARP_SIZE;
        }
        warp::sync_warp(FULL_MASK);

        // A warp takes neighbouring keys, so that its order and that of the warps is theirs. What
        // is past the end counts as the highest key and comes to stand behind all others.
        let first = warp * (WARP_SIZE * PER_THREAD as u32) + lane;
        let mut mine = [u64::MAX; PER_THREAD];
        let mut ranks = [0u32; PER_THREAD];
        unrolled! { i in [0 1 2 3 4 5 6 7] {
            let place = first + i as u32 * WARP_SIZE;
            if place < count {
                // SAFETY: below the length.
                mine[i] = unsafe { keys.at(start + place as usize) };
            }
        }}
        unrolled! { i in [0 1 2 3 4 5 6 7] {
            let digit = parameters.digit(mine[i]);
            let same = lanes_with(digit);
            // SAFETY: a place for each digit.
            let counter = unsafe { in_warp.add(digit as usize) };
            // SAFETY: written last before a rendezvous of the warp.
            let before = unsafe { counter.read() };
            warp::sync_warp(FULL_MASK);
            if same & lower_lanes == 0 {
                // SAFETY: the lowest lane with this digit, and all others have read.
                unsafe { counter.write(before + same.count_ones()) };
            }
            warp::sync_warp(FULL_MASK);
            ranks[i] = before + (same & lower_lanes).count_ones();
        }}
        thread::sync_threads();

        // Thread d: the digit's places in all warps, then in the sorted tile.
        let mut of_digit = 0;
        let mut other = 0;
        while other < WARPS {
            // SAFETY: a place for each digit in each warp, which nobody else uses between the
            // barriers.
            unsafe {
                let counter = in_warps.add((other * DIGITS + me) as usize);
                let count = counter.read();
                counter.write(of_digit);
                of_digit += count;
            }
            other += 1;
        }
        // SAFETY: an element for each warp, and all threads are here.
        let (in_tile, _) = unsafe { block::exclusive_sum(of_digit, warp_sums) };
        // SAFETY: a place for each digit. Who read it for the last tile has been at a barrier
        // since.
        unsafe { to_output.add(me as usize).write(next.wrapping_sub(in_tile)) };
        let mut other = 0;
        while other < WARPS {
            // SAFETY: as above.
            unsafe { *in_warps.add((other * DIGITS + me) as usize) += in_tile };
            other += 1;
        }
        next = next.wrapping_add(of_digit);
        thread::sync_threads();

        unrolled! { i in [0 1 2 3 4 5 6 7] {
            let digit = parameters.digit(mine[i]);
            // SAFETY: a place for each digit, before the barrier.
            ranks[i] += unsafe { in_warp.add(digit as usize).read() };
            // SAFETY: ranks are those of a permutation of the tile.
            unsafe { tile_keys.add(ranks[i] as usize).write(mine[i]) };
            if VALUES {
                let place = first + i as u32 * WARP_SIZE;
                if place < count {
                    // SAFETY: a value for each key, and a place for each.
                    unsafe {
                        let value = values.at(start + place as usize);
                        tile_values.add(ranks[i] as usize).write(value);
                    }
                }
            }
        }}
        thread::sync_threads();

        unrolled! { i in [0 1 2 3 4 5 6 7] {
            let place = me + i as u32 * SORT_THREADS;
            if place < count {
                // SAFETY: below the tile's number of keys, all of which stand before what is past
                // the end; the place in the output is the key's own.
                unsafe {
                    let key = tile_keys.add(place as usize).read();
                    let digit = parameters.digit(key);
                    let output = to_output.add(digit as usize).read().wrapping_add(place) as usize;
                    moved_keys.set(output, key);
                    if VALUES {
                        moved_values.set(output, tile_values.add(place as usize).read());
                    }
                }
            }
        }}
        start += SORT_TILE as usize;
    }
}

/// Moves keys, and values with them, to where [`digit_places`] says.
///
/// # Safety
/// A block has [`SORT_THREADS`] threads, blocks are those of [`digit_counts`]; the arrays are as
/// they say; there are as many values as keys, and room for as many in other memory; there are at
/// most 2³² keys.
#[kernel(block = 256)]
pub unsafe fn move_pairs(
    parameters: SortParameters,
    arrays: MoveKeys,
    values: DeviceSlice<u32>,
    moved_values: DeviceSliceMut<u32>,
) {
    // SAFETY: passed on to the caller.
    unsafe { move_part::<true>(parameters, arrays, values, moved_values) }
}

/// Moves keys alone.
///
/// # Safety
/// As of [`move_pairs`].
#[kernel(block = 256)]
pub unsafe fn move_keys(parameters: SortParameters, arrays: MoveKeys) {
    // SAFETY: passed on to the caller; no value is ever touched.
    unsafe {
        move_part::<false>(
            parameters,
            arrays,
            DeviceSlice::from_raw_parts(core::ptr::null(), 0),
            DeviceSliceMut::from_raw_parts(core::ptr::null_mut(), 0),
        )
    }
}
