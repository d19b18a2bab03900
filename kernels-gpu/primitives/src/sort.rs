//! Radix sort: passes from the lowest digit of 8 bits up move keys, and values with them, into the
//! order of that digit. Keys with equal digits keep their order.
//!
//! This is Onesweep (A. Adinets and D. Merrill, 2022). One launch counts the digits of all passes,
//! since the order of the keys does not change how many have a digit. Then each pass is one launch
//! that reads and writes each key once: see [`crate::pass`].

use crate::words::SortWords;
use cuda_std::prelude::*;

/// Bits of a digit.
pub const DIGIT_BITS: u32 = 8;

/// The number of digits.
pub const DIGITS: u32 = 1 << DIGIT_BITS;

/// The most passes of a sort.
pub const MAX_PASSES: u32 = u64::BITS / DIGIT_BITS;

/// Threads of a block of [`digit_totals`].
pub const TOTALS_THREADS: u32 = 256;

/// Keys that a thread of [`digit_totals`] reads at a time.
pub const TOTALS_PER_THREAD: u32 = 8;

/// The bits by which keys are sorted.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct SortBits {
    /// The lowest bit.
    pub start: u32,
    /// The bit behind the highest, above `start`.
    pub end: u32,
}

impl SortBits {
    /// The number of passes.
    #[inline(always)]
    pub const fn passes(self) -> u32 {
        (self.end - self.start).div_ceil(DIGIT_BITS)
    }

    /// The digit of a pass.
    #[inline(always)]
    pub(crate) fn digit(self, pass: u32) -> Digit {
        let shift = self.start + DIGIT_BITS * pass;
        let bits = self.end - shift;
        let mask = if bits < DIGIT_BITS {
            (1 << bits) - 1
        } else {
            DIGITS - 1
        };
        Digit { shift, mask }
    }
}

/// Where a digit is in a key.
#[derive(Clone, Copy)]
pub(crate) struct Digit {
    pub shift: u32,
    pub mask: u32,
}

impl Digit {
    #[inline(always)]
    pub fn of(self, key: u64) -> u32 {
        (key >> self.shift) as u32 & self.mask
    }
}

/// The keys of [`digit_totals`].
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct SortKeys {
    /// The bits by which keys are sorted.
    pub bits: SortBits,
    /// The keys, if the first pass is even.
    pub keys: DeviceSlice<u64>,
    /// The keys, if the first pass is odd.
    pub odd_keys: DeviceSlice<u64>,
    /// The words of the sort.
    pub words: SortWords,
}

/// Counts how many keys have each digit of each pass from the first one on. A single tile needs no
/// counts.
///
/// # Safety
/// The slices have the lengths that [`SortKeys`] documents, with words for several tiles. Nothing
/// else uses the words, or writes to the keys.
#[kernel(block = 256)]
pub unsafe fn digit_totals(arrays: SortKeys) {
    let SortKeys {
        bits,
        keys,
        odd_keys,
        words,
    } = arrays;
    // SAFETY: written by an earlier launch.
    let first_pass = unsafe { words.first_pass() };
    let keys = if first_pass.is_multiple_of(2) {
        keys
    } else {
        odd_keys
    };
    let totals = shared_array![u32; (MAX_PASSES * DIGITS) as usize];
    let me = thread::thread_idx_x();
    let mut pass = 0;
    while pass < MAX_PASSES {
        // SAFETY: a thread for each digit.
        unsafe { totals.add((pass * DIGITS + me) as usize).write(0) };
        pass += 1;
    }
    thread::sync_threads();
    let tile = (TOTALS_THREADS * TOTALS_PER_THREAD) as usize;
    let mut start = thread::block_idx_x() as usize * tile + me as usize;
    while start < keys.len() {
        let mut mine = [0; TOTALS_PER_THREAD as usize];
        let mut count = 0;
        // All are read before the first is used.
        unrolled! { i in [0 1 2 3 4 5 6 7] {
            let place = start + i * TOTALS_THREADS as usize;
            if place < keys.len() {
                // SAFETY: below the length.
                mine[i] = unsafe { keys.at(place) };
                count = i + 1;
            }
        }}
        let mut pass = first_pass;
        while pass < bits.passes() {
            let digit = bits.digit(pass);
            let of_pass = totals.wrapping_add((pass * DIGITS) as usize);
            unrolled! { i in [0 1 2 3 4 5 6 7] {
                if i < count {
                    // SAFETY: a digit is below `DIGITS`, so this is one of the pass's places, which
                    // all threads only add to.
                    unsafe { atomic::add(of_pass.add(digit.of(mine[i]) as usize), 1) };
                }
            }}
            pass += 1;
        }
        start += thread::grid_dim_x() as usize * tile;
    }
    thread::sync_threads();
    let mut pass = first_pass;
    while pass < bits.passes() {
        // SAFETY: no thread adds any more.
        let count = unsafe { totals.add((pass * DIGITS + me) as usize).read() };
        if count != 0 {
            // SAFETY: a total for each digit, which all blocks only add to.
            unsafe { atomic::add(words.total(pass, me), count as u64) };
        }
        pass += 1;
    }
}
