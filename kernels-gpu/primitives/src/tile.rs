//! The work of a block in a [`pass`](crate::pass): a tile of keys.

use crate::block;
use crate::digits::lanes_with;
use crate::pass::{SORT_THREADS, SortPass, SortValues, WARPS, sort_tile_keys};
use crate::sort::{DIGITS, Digit};
use crate::words::look_back;
use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

/// The body, once for each key of a thread.
macro_rules! each_key {
    ($i:ident $body:block) => {
        unrolled! { $i in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17] {
            if $i < KEYS $body
        }}
    };
}

/// The body, once for each warp.
macro_rules! each_warp {
    ($i:ident $body:block) => {
        unrolled! { $i in [0 1 2 3 4 5 6 7 8 9 10 11] $body }
    };
}

const _: () = assert!(WARPS == 12, "as many as the macro writes out");

/// Shared memory of a block.
#[derive(Clone, Copy)]
struct Shared {
    /// The sorted tile's keys.
    keys: *mut u64,
    /// Their values.
    values: *mut u32,
    /// \[warp\]\[digit\]: how many keys of the warp have the digit, then where the warp's next one
    /// goes in the sorted tile.
    in_warps: *mut u32,
    /// \[digit\]: what takes a place in the sorted tile to one in the output.
    to_output: *mut u32,
}

impl Shared {
    /// Divides the dynamic shared memory.
    ///
    /// # Safety
    /// The launch gives the block [`sort_bytes`](crate::sort_bytes).
    #[inline(always)]
    unsafe fn divide(tile: u32, with_values: bool) -> Shared {
        let keys = dynamic_shared_mem::<u64>();
        // SAFETY: within the memory of the block.
        unsafe {
            let values = keys.add(tile as usize) as *mut u32;
            let in_warps = values.add(if with_values { tile as usize } else { 0 });
            Shared {
                keys,
                values,
                in_warps,
                to_output: in_warps.add(WARPS * DIGITS as usize),
            }
        }
    }
}

/// Moves the keys of a tile.
///
/// # Safety
/// The contract of the kernels of a pass, whose tiles have `KEYS` keys for each thread; without
/// `VALUES` there are no values.
#[inline(always)]
pub unsafe fn sort_tile<const KEYS: usize, const AHEAD: usize, const VALUES: bool>(
    arrays: SortPass,
    values: SortValues,
) {
    let full = sort_tile_keys(KEYS);
    let SortPass {
        bits,
        pass,
        keys,
        moved_keys,
        words,
    } = arrays;
    let warp_sums = shared_array![u32; WARPS];
    // The tile's number and the lowest bit of the digit.
    let known = shared_array![u32; 2];
    // SAFETY: written by an earlier launch.
    if pass < unsafe { words.first_pass() } {
        return;
    }
    // SAFETY: by the contract of the kernels, the block has the `sort_bytes` of a tile of `full`
    // keys, with values if there are `VALUES`.
    let shared = unsafe { Shared::divide(full, VALUES) };
    let digit = bits.digit(pass);
    let is_alone = thread::grid_dim_x() == 1;
    let told = 2 * pass + 1;
    let me = thread::thread_idx_x();
    let (warp, lane) = (me / WARP_SIZE, me % WARP_SIZE);
    let lower_lanes = (1u32 << lane) - 1;
    // SAFETY: a place for each digit in each warp.
    let in_warp = unsafe { shared.in_warps.add((warp * DIGITS) as usize) };
    if me == 0 {
        // Tiles are taken in ascending order, so that a block may wait for those of lower tiles.
        // SAFETY: this thread's alone before the barrier.
        unsafe {
            known.write(atomic::add(words.taken(pass), 1) as u32);
            known.add(1).write(digit.shift);
        }
    }
    unrolled! { i in [0 1 2 3 4 5 6 7] {
        // SAFETY: 32 lanes write the places of their warp.
        unsafe { in_warp.add(i * WARP_SIZE as usize + lane as usize).write(0) };
    }}
    thread::sync_threads();
    // SAFETY: one thread wrote the tile's number before the barrier.
    let tile = unsafe { known.read() };
    let start = tile as usize * full as usize;
    let left = keys.len() - start;
    let is_full = left >= full as usize;
    let count = if is_full { full as usize } else { left };

    // A warp takes neighbouring keys, so that its order and that of the warps is theirs. What is
    // past the end has the highest digit and comes to stand behind all others.
    //
    // In 64 bits and from one base, so that all loads have their distances in the instructions.
    let step = WARP_SIZE as usize;
    let first = warp as usize * step * KEYS + lane as usize;
    let from = start + first;
    let mut mine = [u64::MAX; KEYS];
    // Without conditions all loads are under way together.
    if is_full {
        each_key! { i {
            // SAFETY: below the length.
            mine[i] = unsafe { keys.at(from + i * step) };
        }}
    } else {
        each_key! { i {
            if first + i * step < count {
                // SAFETY: below the length.
                mine[i] = unsafe { keys.at(from + i * step) };
            }
        }}
    }
    // The lowest tile begins where the keys with lower digits end.
    let mut lower_digits = 0;
    if tile == 0 && !is_alone {
        let mut total = 0;
        if me < DIGITS {
            // SAFETY: a total for each digit, from an earlier launch.
            total = unsafe { atomic::load(words.total(pass, me)) } as u32;
        }
        // SAFETY: an element for each warp, and all threads are here.
        (lower_digits, _) = unsafe { block::exclusive_sum(total, warp_sums) };
    }
    each_key! { i {
        // SAFETY: a place for each digit, which the lanes only add to.
        unsafe { atomic::add(in_warp.add(digit.of(mine[i]) as usize), 1) };
    }}
    thread::sync_threads();

    // Thread d: the counts of digit d in all warps.
    let mut counts = [0u32; WARPS];
    let mut of_digit = 0;
    if me < DIGITS {
        each_warp! { i {
            // SAFETY: each warp wrote its counts of all digits before the barrier.
            counts[i] = unsafe { shared.in_warps.add(i * DIGITS as usize + me as usize).read() };
            of_digit += counts[i];
        }}
        let sum = lower_digits.wrapping_add(of_digit) as u64;
        let flag = if tile == 0 { told + 1 } else { told };
        if !is_alone {
            // SAFETY: this tile's, used atomically.
            unsafe { atomic::store(words.of_tile(tile, me), (flag as u64) << 32 | sum) };
        }
    }
    // SAFETY: an element for each warp, and all threads are here.
    let (in_tile, _) = unsafe { block::exclusive_sum(of_digit, warp_sums) };
    if me < DIGITS {
        let mut running = in_tile;
        each_warp! { i {
            let place = i * DIGITS as usize + me as usize;
            // SAFETY: nothing else uses these between the barriers.
            unsafe { shared.in_warps.add(place).write(running) };
            #[allow(unused_assignments, reason = "the last warp's is not read")]
            {
                running += counts[i];
            }
        }}
    }
    thread::sync_threads();
    let mut my_values = [0u32; KEYS];
    if VALUES && is_full {
        each_key! { i {
            // SAFETY: a value for each key.
            my_values[i] = unsafe { values.values.at(from + i * step) };
        }}
    } else if VALUES {
        each_key! { i {
            if first + i * step < count {
                // SAFETY: a value for each key.
                my_values[i] = unsafe { values.values.at(from + i * step) };
            }
        }}
    }
    // The digits again. Computed by a shift of which compilers know that it is the same, they would
    // be kept in registers, one for each key, though it takes two instructions to compute one.
    let digit = Digit {
        // SAFETY: written before the first barrier.
        shift: unsafe { known.add(1).read() },
        ..digit
    };
    each_key! { i {
        let digit = digit.of(mine[i]);
        let same = lanes_with(digit);
        // SAFETY: a place for each digit.
        let next = unsafe { in_warp.add(digit as usize) };
        // SAFETY: written last before a rendezvous of the warp.
        let begin = unsafe { next.read() };
        warp::sync_warp(FULL_MASK);
        if same & lower_lanes == 0 {
            // SAFETY: the lowest lane with this digit, and all others have read.
            unsafe { next.write(begin + same.count_ones()) };
        }
        warp::sync_warp(FULL_MASK);
        let place = (begin + (same & lower_lanes).count_ones()) as usize;
        // SAFETY: places are those of a permutation of the tile.
        unsafe {
            shared.keys.add(place).write(mine[i]);
            if VALUES {
                shared.values.add(place).write(my_values[i]);
            }
        }
    }}
    if me < DIGITS {
        // A tile that is alone is the output.
        let mut before = if is_alone { in_tile } else { lower_digits };
        if tile != 0 {
            // SAFETY: lower tiles have been taken before this one. The word is this tile's.
            unsafe {
                before = look_back::<AHEAD>(words, told, tile, me);
                let sum = before.wrapping_add(of_digit) as u64;
                atomic::store(words.of_tile(tile, me), ((told + 1) as u64) << 32 | sum);
            }
        }
        // SAFETY: a place for each digit. Places wrap at 2³², no array does.
        unsafe {
            shared
                .to_output
                .add(me as usize)
                .write(before.wrapping_sub(in_tile))
        };
    }
    thread::sync_threads();

    // SAFETY: the place is below the tile's number of keys, all of which stand before what is past
    // the end; the place in the output is the key's own.
    let write = |place: usize| unsafe {
        let key = shared.keys.add(place).read();
        let to_output = shared.to_output.add(digit.of(key) as usize).read();
        let output = to_output.wrapping_add(place as u32) as usize;
        moved_keys.set(output, key);
        if VALUES {
            let value = shared.values.add(place).read();
            values.moved_values.set(output, value);
        }
    };
    if is_full {
        each_key! { i { write(me as usize + i * SORT_THREADS as usize) }}
    } else {
        let mut place = me as usize;
        while place < count {
            write(place);
            place += SORT_THREADS as usize;
        }
    }
}
