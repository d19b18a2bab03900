//! Packs letters, in as few bits as they need, and copies them to a device.

use pulp::Arch;

use super::view::largest_of;
use crate::device::{Buffer, Uploads, zeroed_lazily};
use crate::parallel;
use crate::{Device, Result};

/// Codes that one task packs; a multiple of 32.
const BLOCK: usize = 1 << 16;

/// Codes that [`likely_bits`] reads.
const SAMPLE: usize = 1 << 12;

/// Letters of `bits` bits each, starting at the lowest bit of each element.
#[derive(Debug)]
pub struct PackedLetters {
    pub buffer: Buffer<u32>,
    pub bits: u32,
}

impl PackedLetters {
    /// Copies `codes`, which are below `bound`.
    pub fn upload(device: &Device, codes: &[u8], bound: usize) -> Result<Self> {
        let mut packed = Packed::default();
        packed.pack(codes, bound)?;
        Ok(packed.letters(device.buffer_from(&packed.words)?))
    }

    /// Copies any codes, in as few bits as the largest needs.
    pub fn upload_densely(device: &Device, codes: &[u8]) -> Result<Self> {
        let mut packed = Packed::default();
        packed.pack_densely(codes)?;
        Ok(packed.letters(device.buffer_from(&packed.words)?))
    }
}

/// Packed letters on the host. Packing again reuses the memory, because fresh pages would take
/// longer than packing.
#[derive(Default)]
pub struct Packed {
    words: Vec<u32>,
    bits: u32,
    /// The largest code.
    pub largest: Option<u8>,
}

impl Packed {
    /// Packs codes, which should be below `bound`, on all cores. A larger code corrupts its word.
    pub fn pack(&mut self, codes: &[u8], bound: usize) -> Result<()> {
        self.pack_in(codes, bits_for(bound))
    }

    /// Packs any codes, in as few bits as the largest needs. If later codes need more bits than the
    /// first ones, all codes are packed twice.
    fn pack_densely(&mut self, codes: &[u8]) -> Result<()> {
        self.pack_in(codes, likely_bits(codes))?;
        let needed = bits_up_to(self.largest);
        if needed > self.bits {
            self.pack_in(codes, needed)?;
        }
        Ok(())
    }

    fn pack_in(&mut self, codes: &[u8], bits: u32) -> Result<()> {
        let per_word = (32 / bits) as usize;
        let words = codes.len().div_ceil(per_word);
        if words > self.words.capacity() {
            // All cores take the new pages, when they write to them.
            self.words = Vec::new();
            self.words = zeroed_lazily(words)?;
        }
        self.words.resize(words, 0);
        let blocks = self.words.chunks_mut(BLOCK / per_word);
        let blocks = blocks.zip(codes.chunks(BLOCK));
        // Compiled for each instruction set, so that the compiler vectorises the loops.
        let arch = Arch::new();
        let largest = parallel::map(blocks, |(words, codes)| {
            arch.dispatch(|| {
                pack_block(codes, bits, words);
                // The block is still in the cache.
                largest_of(codes)
            })
        });
        self.largest = largest.into_iter().max().flatten();
        self.bits = bits;
        Ok(())
    }

    pub fn upload(&self, uploads: &Uploads) -> Result<PackedLetters> {
        Ok(self.letters(uploads.buffer_from(&self.words)?))
    }

    /// The words in `buffer`.
    fn letters(&self, buffer: Buffer<u32>) -> PackedLetters {
        PackedLetters {
            buffer,
            bits: self.bits,
        }
    }
}

/// Returns the bits of a letter whose code is below `bound`: a power of two, to split no letter.
pub fn bits_for(bound: usize) -> u32 {
    match bound {
        0..=2 => 1,
        3..=4 => 2,
        5..=16 => 4,
        _ => 8,
    }
}

/// Returns the bits of letters whose largest code is `largest`.
fn bits_up_to(largest: Option<u8>) -> u32 {
    bits_for(largest.map_or(0, |largest| usize::from(largest) + 1))
}

/// Returns the bits that the first codes need. In most cases all codes need no more.
pub fn likely_bits(codes: &[u8]) -> u32 {
    bits_up_to(largest_of(&codes[..codes.len().min(SAMPLE)]))
}

/// Packs codes into `words`, and fills the last word up with zeros.
#[inline(always)]
fn pack_block(codes: &[u8], bits: u32, words: &mut [u32]) {
    match bits {
        1 => pack_words::<1, 32>(codes, words),
        2 => pack_words::<2, 16>(codes, words),
        4 => pack_words::<4, 8>(codes, words),
        _ => pack_words::<8, 4>(codes, words),
    }
}

/// Packs codes of `BITS` bits, `PER_WORD` to a word.
#[inline(always)]
fn pack_words<const BITS: u32, const PER_WORD: usize>(codes: &[u8], words: &mut [u32]) {
    let (whole, rest) = codes.as_chunks::<PER_WORD>();
    for (word, codes) in words.iter_mut().zip(whole) {
        *word = pack(codes, BITS);
    }
    if !rest.is_empty() {
        let mut last = [0; PER_WORD];
        last[..rest.len()].copy_from_slice(rest);
        words[whole.len()] = pack(&last, BITS);
    }
}

#[inline(always)]
fn pack<const PER_WORD: usize>(codes: &[u8; PER_WORD], bits: u32) -> u32 {
    let mut word = 0;
    for (i, four) in codes.as_chunks::<4>().0.iter().enumerate() {
        // Four codes lie eight bits apart. Each step halves the gaps of the pairs.
        let mut four = u32::from_le_bytes(*four);
        if bits < 8 {
            let pair = (1 << (2 * bits)) - 1;
            four |= four >> (8 - bits);
            four = (four & pair) | (four >> (16 - 2 * bits) & pair << (2 * bits));
        }
        word |= four << (4 * bits * i as u32);
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_letter_is_where_kernels_look_for_it() {
        let mut packed = Packed::default();
        let bounds = [1, 2, 3, 4, 5, 16, 17, 256];
        for (bound, expected) in bounds.into_iter().zip([1, 1, 2, 2, 4, 4, 8, 8]) {
            let bits = bits_for(bound);
            assert_eq!(bits, expected);
            for length in [0, 1, 3, 4, 5, 15, 16, 17, 31, 32, 33, 1000, BLOCK + 1] {
                let codes: Vec<u8> = (0..length).map(|i| (i * i % 251 % bound) as u8).collect();
                packed.pack(&codes, bound).unwrap();
                assert_eq!(packed.largest, codes.iter().copied().max());
                assert_eq!(packed.bits, bits);
                check(&packed, &codes);
            }
        }
    }

    /// Expects all codes in the words, and no further word.
    #[track_caller]
    fn check(packed: &Packed, codes: &[u8]) {
        let Packed { words, bits, .. } = packed;
        assert_eq!(words.len(), (codes.len() * *bits as usize).div_ceil(32));
        for (i, &code) in codes.iter().enumerate() {
            let bit = i * *bits as usize;
            let letter = words[bit / 32] >> (bit % 32) & (u32::MAX >> (32 - bits));
            assert_eq!(
                letter,
                u32::from(code),
                "{i} of {}, {bits} bits",
                codes.len()
            );
        }
    }

    /// Codes behind the sample, and in another block, need more bits than those of the sample.
    #[test]
    fn later_codes_may_need_more_bits() {
        for (first, later, bits) in [(1, 1, 1), (1, 2, 2), (1, 15, 4), (3, 4, 4), (1, 255, 8)] {
            for place in [SAMPLE, BLOCK, 2 * BLOCK + 6] {
                let mut codes: Vec<u8> =
                    (0..2 * BLOCK + 7).map(|i| (i % 2) as u8 * first).collect();
                codes[place] = later;
                assert!(likely_bits(&codes) <= bits);
                let mut packed = Packed::default();
                packed.pack_densely(&codes).unwrap();
                assert_eq!((packed.bits, packed.largest), (bits, Some(later)));
                check(&packed, &codes);
            }
        }
    }
}
