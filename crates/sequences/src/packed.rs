//! Packs letters, in as few bits as they need, and copies them to a device.

use std::ops::Range;

use gridstride_runtime::device::{Buffer, Uploads, resize_lazily};
use gridstride_runtime::isa::Isa;
use gridstride_runtime::parallel;
use gridstride_runtime::{Device, Result};

use super::view::largest_of;

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

    /// As [`upload`](Self::upload), but a GPU may copy the letters later. Packs them where they are
    /// copied from: [`Uploads::buffer_filled`] describes `spare`. Also returns the largest code.
    pub fn upload_later(
        uploads: &Uploads,
        codes: &[u8],
        bound: usize,
        spare: &mut Vec<u32>,
    ) -> Result<(Self, Option<u8>)> {
        let bits = bits_for(bound);
        let per_word = per_word(bits);
        let mut largest = None;
        let pack = &mut |range: Range<usize>, words: &mut [u32]| {
            let end = codes.len().min(range.end * per_word);
            let codes = &codes[range.start * per_word..end];
            largest = largest.max(pack_all(codes, bits, words));
        };
        let buffer = uploads.buffer_filled(codes.len().div_ceil(per_word), spare, pack)?;
        Ok((PackedLetters { buffer, bits }, largest))
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
struct Packed {
    words: Vec<u32>,
    bits: u32,
    /// The largest code.
    largest: Option<u8>,
}

impl Packed {
    /// Packs codes, which should be below `bound`, on all cores. A larger code corrupts its word.
    fn pack(&mut self, codes: &[u8], bound: usize) -> Result<()> {
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
        let words = codes.len().div_ceil(per_word(bits));
        resize_lazily(&mut self.words, words)?;
        self.largest = pack_all(codes, bits, &mut self.words);
        self.bits = bits;
        Ok(())
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

fn per_word(bits: u32) -> usize {
    (32 / bits) as usize
}

/// Packs codes into `words` on all cores, and returns the largest code.
fn pack_all(codes: &[u8], bits: u32, words: &mut [u32]) -> Option<u8> {
    let blocks = words.chunks_mut(BLOCK / per_word(bits));
    let blocks = blocks.zip(codes.chunks(BLOCK));
    let isa = Isa::detect();
    let largest = parallel::map(blocks, |(words, codes)| {
        isa.run(
            #[inline(always)]
            || {
                pack_block(codes, bits, words);
                // The block is still in the cache.
                largest_of(codes)
            },
        )
    });
    largest.into_iter().max().flatten()
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
                check(&packed.words, packed.bits, &codes);
            }
        }
    }

    /// Letters that are longer than a block of page-locked memory, and shorter ones after them.
    #[test]
    #[cfg_attr(miri, ignore = "too many letters for an interpreter")]
    fn letters_are_packed_where_they_are_uploaded_from() {
        for device in gridstride_runtime::device::cpu_and_gpu() {
            let (uploads, mut spare) = (device.uploads(), Vec::new());
            for (length, bound) in [(20_000_003, 256), (100_001, 20), (50_001, 4), (0, 4)] {
                let codes: Vec<u8> = (0..length).map(|i| (i % 251 % bound) as u8).collect();
                let uploaded = PackedLetters::upload_later(&uploads, &codes, bound, &mut spare);
                let (letters, largest) = uploaded.unwrap();
                assert_eq!(largest, codes.iter().copied().max());
                assert_eq!(letters.bits, bits_for(bound));
                check(&letters.buffer.to_vec().unwrap(), letters.bits, &codes);
            }
        }
    }

    /// Expects all codes in the words, and no further word.
    #[track_caller]
    fn check(words: &[u32], bits: u32, codes: &[u8]) {
        assert_eq!(words.len(), (codes.len() * bits as usize).div_ceil(32));
        for (i, &code) in codes.iter().enumerate() {
            let bit = i * bits as usize;
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
                check(&packed.words, packed.bits, &codes);
            }
        }
    }
}
