//! The sequences of a launch, and reading their letters.

use cuda_std::prelude::*;

use crate::Parameters;

/// The sequences of all pairs: pair i is sequence i of `a` and sequence i of `b`.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Texts {
    /// The letters of `a`, packed from the lowest bit of each element up.
    pub a_letters: DeviceSlice<u32>,
    /// Where each sequence of `a` begins, ascending, and where the last one ends, in letters.
    pub a_offsets: DeviceSlice<u64>,
    /// The letters of `b`.
    pub b_letters: DeviceSlice<u32>,
    /// Where the sequences of `b` begin and end.
    pub b_offsets: DeviceSlice<u64>,
}

/// A long pair of a launch.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(target_arch = "nvptx64"),
    derive(bytemuck::Pod, bytemuck::Zeroable)
)]
pub struct Pair {
    /// The first of the pair's [`edges`](crate::edges).
    pub first_edge: u64,
    /// The number of the pair.
    pub index: u32,
    /// The largest distance of interest: `u32::MAX` replaces larger distances.
    pub limit: u32,
}

/// One sequence.
#[derive(Clone, Copy)]
pub struct Sequence {
    letters: DeviceSlice<u32>,
    bits: u32,
    first: u64,
    pub length: u32,
}

impl Texts {
    /// Returns the sequences of a pair, the shorter one first.
    ///
    /// # Safety
    /// The pair exists, and its sequences have fewer than 2³² letters.
    #[inline(always)]
    pub unsafe fn pair(&self, parameters: Parameters, index: u32) -> (Sequence, Sequence) {
        let index = index as usize;
        let sequence = |letters: DeviceSlice<u32>, offsets: DeviceSlice<u64>, bits: u32| {
            // SAFETY: an offset on both sides of the sequence.
            let (first, end) = unsafe { (offsets.at(index), offsets.at(index + 1)) };
            Sequence {
                letters,
                bits,
                first,
                length: (end - first) as u32,
            }
        };
        let a = sequence(self.a_letters, self.a_offsets, parameters.a_bits);
        let b = sequence(self.b_letters, self.b_offsets, parameters.b_bits);
        if a.length <= b.length { (a, b) } else { (b, a) }
    }
}

impl Sequence {
    /// Returns the 32 / `BITS` letters from position `first` on, `BITS` bits each, from the lowest
    /// bit up. Positions outside of the sequence have any letter. `BITS` is at least the bits of a
    /// packed letter.
    #[inline(always)]
    pub fn letters<const BITS: usize>(&self, first: i64) -> u32 {
        let bit = (self.first as i64 + first) * self.bits as i64;
        let element = |index: i64| {
            if (index as u64) < self.letters.len() as u64 {
                // SAFETY: below the length.
                unsafe { self.letters.at(index as usize) }
            } else {
                0
            }
        };
        let index = bit >> 5;
        let both = element(index) as u64 | (element(index + 1) as u64) << 32;
        let packed = (both >> (bit as u32 % 32)) as u32;
        if self.bits == BITS as u32 {
            return packed;
        }
        // The letters of the other side need more bits.
        let mask = (1 << self.bits) - 1;
        let mut letters = 0;
        let mut i = 0;
        while i < 32 / BITS as u32 {
            letters |= (packed >> (i * self.bits) & mask) << (i * BITS as u32);
            i += 1;
        }
        letters
    }
}
