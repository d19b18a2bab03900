//! From packed letters to the numbers of words.

use cuda_std::prelude::*;

/// Words in a unit of 16 bytes.
pub const UNIT: u32 = 8;

/// Threads of a block, a warp for each chunk.
pub const BLOCK: u32 = 128;

/// A piece of a sequence whose matrix is computed in one go.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(target_arch = "nvptx64"),
    derive(bytemuck::Pod, bytemuck::Zeroable)
)]
pub struct Chunk {
    /// Where its letters begin, counted in letters.
    pub first_letter: u64,
    /// The number of letters.
    pub letters: u32,
    /// Nothing; the size is a multiple of the alignment.
    pub reserved: u32,
}

impl Chunk {
    /// The number of units that its words take.
    pub const fn units(&self, word_letters: u32) -> u32 {
        (self.letters / word_letters + self.letters % word_letters).div_ceil(UNIT)
    }

    /// Where the units of chunk number `index` begin, if chunks stand in the order of their letters
    /// and these begin at `origin`.
    ///
    /// A chunk of n letters takes at most n/8m + (m + 6)/8 units, which is less than n/8m + 2 for
    /// the m ≤ 6 that there are, and rounding down takes at most one: so three units more for each
    /// chunk keep all apart, and nothing has to be counted.
    #[inline(always)]
    pub const fn first_unit(first_letter: u64, index: u64, word_letters: u32) -> u64 {
        first_letter / (UNIT * word_letters) as u64 + 3 * index
    }
}

/// The arguments that all chunks share.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Parameters {
    /// Bits of a packed letter: 1, 2, 4 or 8.
    pub bits: u32,
    /// Number of letters in the alphabet, A.
    pub alphabet: u32,
    /// Letters in a word, m.
    pub word_letters: u32,
    /// The number of words, A^m. Where m > 1 the single letters follow.
    pub words: u32,
    /// The number that stands for nothing: the last.
    pub nothing: u32,
    /// The number of chunks.
    pub chunks: u32,
    /// Where the letters of the first chunk begin.
    pub origin: u64,
}

/// Writes the words of all chunks: m letters x₀…x_(m−1) have the number Σ x_i·A^i, a single letter
/// the number A^m + x.
///
/// # Safety
/// `letters` holds the letters of all chunks, packed from the lowest bit of each element up, all
/// below `alphabet`; `chunk_list` has as many elements as stated, in the order of their letters;
/// `units` reaches to the end of the last one's.
#[kernel(block = 128)]
pub unsafe fn words(
    parameters: Parameters,
    letters: DeviceSlice<u32>,
    chunk_list: DeviceSlice<Chunk>,
    units: DeviceSliceMut<u128>,
) {
    let Parameters {
        bits,
        alphabet,
        word_letters,
        words,
        nothing,
        chunks,
        origin,
    } = parameters;
    let lane = thread::thread_idx_x() % 32;
    let warps = thread::grid_dim_x() * (BLOCK / 32);
    let mut number = thread::block_idx_x() * (BLOCK / 32) + thread::thread_idx_x() / 32;
    while number < chunks {
        // SAFETY: below the number of chunks.
        let chunk = unsafe { chunk_list.at(number as usize) };
        let first = Chunk::first_unit(chunk.first_letter - origin, number as u64, word_letters);
        let count = chunk.units(word_letters);
        let mut unit = lane;
        while unit < count {
            // The unit's letters, read from memory 32 bits at a time.
            let (before, full) = (unit * UNIT, chunk.letters / word_letters);
            let begin = before.min(full) * word_letters + before.saturating_sub(full);
            let bit = (chunk.first_letter + begin as u64) * bits as u64;
            let mut left = chunk.letters.saturating_sub(begin);
            let mut source = Bits {
                letters,
                next: (bit / 32) as usize,
                buffer: 0,
                left: 0,
            };
            if left > 0 {
                source.take((bit % 32) as u32);
            }
            // SAFETY: a unit of this chunk, as four times two words.
            let target = unsafe { units.address((first + unit as u64) as usize).cast::<u32>() };
            let mut pair = 0;
            let mut i = 0;
            while i < UNIT {
                let word = if left >= word_letters {
                    left -= word_letters;
                    source.word(bits, alphabet, word_letters)
                } else if left > 0 {
                    left -= 1;
                    words + source.take(bits)
                } else {
                    nothing
                };
                pair = pair >> 16 | word << 16;
                i += 1;
                if i % 2 == 0 {
                    // SAFETY: within the unit.
                    unsafe { target.add(i as usize / 2 - 1).write(pair) };
                }
            }
            unit += 32;
        }
        number += warps;
    }
}

/// Reads bits one after the other.
struct Bits {
    letters: DeviceSlice<u32>,
    next: usize,
    buffer: u64,
    left: u32,
}

impl Bits {
    /// The next `count` bits, at most 31.
    #[inline(always)]
    fn take(&mut self, count: u32) -> u32 {
        if self.left < count {
            // SAFETY: the caller takes only bits of letters that exist.
            let more = unsafe { self.letters.at(self.next) };
            self.buffer |= (more as u64) << self.left;
            self.next += 1;
            self.left += 32;
        }
        let value = self.buffer as u32 & ((1 << count) - 1);
        self.buffer >>= count;
        self.left -= count;
        value
    }

    /// The number of the next `count` letters.
    #[inline(always)]
    fn word(&mut self, bits: u32, alphabet: u32, count: u32) -> u32 {
        if alphabet == 1 << bits {
            // The letters' bits beside each other are the number.
            return self.take(bits * count);
        }
        let (mut word, mut power) = (0, 1);
        let mut k = 0;
        while k < count {
            word += power * self.take(bits);
            power *= alphabet;
            k += 1;
        }
        word
    }
}
