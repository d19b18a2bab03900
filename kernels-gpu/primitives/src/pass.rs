//! A pass of radix sort, in one launch.
//!
//! A block takes a tile of keys, counts the digits, and tells the counts to the others. Then it
//! sorts the tile within shared memory. A key's place there comes from how many keys of lower warps
//! have its digit, and from ballots within its warp, one for each bit of the digit: so the order is
//! kept. Decoupled look-back gives the number of keys with each digit in lower tiles: a block adds
//! up what they have told, down to one that knows the sum up to itself. Neighbouring threads write
//! neighbours of the sorted tile, mostly to neighbouring places.
//!
//! The counts come before the ranks, though both could come from the ballots, because then a key
//! leaves its registers as soon as its rank is known: more warps fit a multiprocessor.
//!
//! Longer tiles write longer runs of keys; shorter ones occupy a GPU with fewer keys, and fit the 64
//! KiB of shared memory that a block has on any GPU.

use crate::sort::{DIGITS, SortBits};
use crate::tile::sort_tile;
use crate::words::SortWords;
use cuda_std::prelude::*;
use cuda_std::warp::WARP_SIZE;

/// Threads of a block.
pub const SORT_THREADS: u32 = 384;

pub(crate) const WARPS: usize = (SORT_THREADS / WARP_SIZE) as usize;

/// Keys of a thread in long tiles.
const LONG: usize = 16;

/// Keys of a thread in short tiles.
const SHORT: usize = 8;

/// Keys of a long tile.
pub const LONG_SORT_TILE: u32 = sort_tile_keys(LONG);

/// Keys of a short tile.
pub const SHORT_SORT_TILE: u32 = sort_tile_keys(SHORT);

#[inline(always)]
pub(crate) const fn sort_tile_keys(per_thread: usize) -> u32 {
    SORT_THREADS * per_thread as u32
}

/// The bytes of dynamic shared memory of a block that takes tiles of `tile` keys.
pub const fn sort_bytes(tile: u32, with_values: bool) -> u32 {
    let values = if with_values { tile } else { 0 };
    8 * tile + 4 * (values + (WARPS as u32 + 1) * DIGITS)
}

/// The arrays of a pass.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct SortPass {
    /// The bits by which keys are sorted.
    pub bits: SortBits,
    /// The number of the pass.
    pub pass: u32,
    /// The keys, at most 2³².
    pub keys: DeviceSlice<u64>,
    /// Room for as many keys, in other memory.
    pub moved_keys: DeviceSliceMut<u64>,
    /// The words of the sort, in which [`digit_totals`](crate::digit_totals) has counted if there
    /// are several tiles.
    pub words: SortWords,
}

/// The values that are moved with the keys.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct SortValues {
    /// A value for each key.
    pub values: DeviceSlice<u32>,
    /// Room for as many values, in other memory.
    pub moved_values: DeviceSliceMut<u32>,
}

macro_rules! passes {
    ($($pairs:ident, $keys:ident, $per_thread:expr, $ahead:literal, $tile:ident;)*) => {$(
        /// Moves keys, and values with them, into the order of the digit of a pass, unless the pass
        /// is below the first one.
        ///
        /// # Safety
        /// A block has [`SORT_THREADS`] threads and the [`sort_bytes`] of the tile, and there is a
        #[doc = concat!("block for each tile of [`", stringify!($tile), "`] keys.")]
        /// The slices have the lengths that [`SortPass`] and [`SortValues`] document.
        #[kernel(max_block = 384, min_blocks = 2)]
        pub unsafe fn $pairs(arrays: SortPass, values: SortValues) {
            // SAFETY: `sort_tile` asks what this kernel asks: slices as `SortPass` documents, a
            // block of `SORT_THREADS` for each tile, and the `sort_bytes` of tiles with values.
            unsafe { sort_tile::<{ $per_thread }, $ahead, true>(arrays, values) }
        }

        /// Moves keys alone.
        ///
        /// # Safety
        #[doc = concat!("As of [`", stringify!($pairs), "`].")]
        #[kernel(max_block = 384, min_blocks = 2)]
        pub unsafe fn $keys(arrays: SortPass) {
            // SAFETY: slices without elements may be anywhere, and without `VALUES` no value is
            // touched. `sort_tile` asks what this kernel asks: slices as `SortPass` documents, a
            // block of `SORT_THREADS` for each tile, and the `sort_bytes` of tiles without values.
            unsafe {
                let values = SortValues {
                    values: DeviceSlice::from_raw_parts(core::ptr::null(), 0),
                    moved_values: DeviceSliceMut::from_raw_parts(core::ptr::null_mut(), 0),
                };
                sort_tile::<{ $per_thread }, $ahead, false>(arrays, values)
            }
        }
    )*};
}

// Many short tiles tell their counts at about the same time, so that none knows the sum up to
// itself: a block then looks at many lower ones.
passes! {
    sort_pairs_long, sort_keys_long, LONG, 2, LONG_SORT_TILE;
    sort_pairs_short, sort_keys_short, SHORT, 8, SHORT_SORT_TILE;
}
