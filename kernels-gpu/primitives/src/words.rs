//! The words by which the blocks of a sort's launches report to each other.

use crate::sort::{DIGITS, MAX_PASSES};
use cuda_std::prelude::*;

/// Words, all 0 before the first launch, that the blocks of a sort's launches use atomically:
/// a counter of the tiles taken for each pass, the first pass, the totals \[pass\]\[digit\], and a
/// word for each digit of each tile, \[tile\]\[digit\].
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct SortWords {
    /// [`words`](Self::words) of the number of tiles.
    pub words: DeviceSliceMut<u64>,
}

impl SortWords {
    /// The number of words of a sort with these many tiles. A tile that is alone needs no totals,
    /// and tells nothing.
    pub const fn words(tiles: usize) -> usize {
        if tiles > 1 {
            Self::HEADER + DIGITS as usize * tiles
        } else {
            Self::TOTALS
        }
    }

    /// The place of the first pass. Passes below are left out: what writes the keys may write this
    /// number, and the keys where that pass reads them.
    pub const FIRST_PASS: usize = MAX_PASSES as usize;

    const TOTALS: usize = 2 * MAX_PASSES as usize;
    const HEADER: usize = Self::TOTALS + (MAX_PASSES * DIGITS) as usize;

    /// The counter of a pass's tiles.
    ///
    /// # Safety
    /// `words` has the [`HEADER`](Self::HEADER) of a sort.
    #[inline(always)]
    pub(crate) unsafe fn taken(&self, pass: u32) -> *mut u64 {
        // SAFETY: one of the first words.
        unsafe { self.words.address(pass as usize) }
    }

    /// The first pass.
    ///
    /// # Safety
    /// As of [`taken`](Self::taken), and no thread writes the word.
    #[inline(always)]
    pub(crate) unsafe fn first_pass(&self) -> u32 {
        // SAFETY: one of the first words.
        unsafe { self.words.at(Self::FIRST_PASS) as u32 }
    }

    /// How many keys have a digit in a pass.
    ///
    /// # Safety
    /// As of [`taken`](Self::taken).
    #[inline(always)]
    pub(crate) unsafe fn total(&self, pass: u32, digit: u32) -> *mut u64 {
        // SAFETY: one of the totals.
        unsafe {
            self.words
                .address(Self::TOTALS + (pass * DIGITS + digit) as usize)
        }
    }

    /// A tile's word of a digit.
    ///
    /// # Safety
    /// `words` has [`DIGITS`] words for the tile behind the header.
    #[inline(always)]
    pub(crate) unsafe fn of_tile(&self, tile: u32, digit: u32) -> *mut u64 {
        let place = tile as usize * DIGITS as usize + digit as usize;
        // SAFETY: by the contract of this function, `words` has those of the tile.
        unsafe { self.words.address(Self::HEADER + place) }
    }
}

/// How many keys with a digit the lower tiles have, of the thread of that digit.
///
/// `told` is in the higher half of a word that has the tile's own count in its lower half, and
/// `told + 1` in one that has the count of all tiles up to it. Words of lower passes have less.
///
/// # Safety
/// There is a lower tile. Blocks that have started took all of them, and tile 0 tells the second at
/// once.
#[inline(always)]
pub(crate) unsafe fn look_back<const AHEAD: usize>(
    words: SortWords,
    told: u32,
    tile: u32,
    digit: u32,
) -> u32 {
    let mut before = 0u32;
    let mut above = tile;
    loop {
        // Reading several words takes as long as one.
        let mut seen = [0u64; AHEAD];
        let mut is_done = false;
        // Below tile 0, which is the last that counts, there is none.
        let other = |i: usize| (above - 1).saturating_sub(i as u32);
        // SAFETY: by the contract of this function, a lower tile has words, which are only used
        // atomically.
        let look = |i: usize| unsafe { atomic::load(words.of_tile(other(i), digit)) };
        unrolled! { i in [0 1 2 3 4 5 6 7] {
            if i < AHEAD {
                seen[i] = look(i);
            }
        }}
        unrolled! { i in [0 1 2 3 4 5 6 7] {
            if i < AHEAD && !is_done {
                while ((seen[i] >> 32) as u32) < told {
                    thread::nanosleep(20);
                    seen[i] = look(i);
                }
                before = before.wrapping_add(seen[i] as u32);
                is_done = (seen[i] >> 32) as u32 > told;
            }
        }}
        if is_done {
            return before;
        }
        above -= AHEAD as u32;
    }
}
