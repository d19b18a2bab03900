//! Random sequences.

use gridstride::Result;
use gridstride::tensor_sketch::Sequences;
use ladder_kernels::tensor_sketch::LETTERS;

use crate::common::random::Random;

/// Sequences of letters' codes, one after the other.
pub struct Letters {
    pub codes: Vec<u8>,
    /// Where each begins, and at the end their number.
    pub offsets: Vec<u64>,
}

impl Letters {
    /// So many sequences, of about so many letters together.
    pub fn random(count: usize, total: usize, are_equal: bool, seed: u64) -> Letters {
        let mean = total as f64 / count as f64;
        let mut random = Random::new(seed, 0);
        let mut offsets = vec![0];
        let mut end = 0;
        for _ in 0..count {
            let factor = match are_equal {
                true => 1.0,
                false => 0.5 + random.unit(),
            };
            end += (mean * factor).round() as u64;
            offsets.push(end);
        }
        let codes = (0..end).map(|_| random.below(LETTERS as u64) as u8);
        Letters {
            codes: codes.collect(),
            offsets,
        }
    }

    /// The number of sequences.
    pub fn count(&self) -> usize {
        self.offsets.len() - 1
    }

    pub fn sequence(&self, index: usize) -> &[u8] {
        &self.codes[self.offsets[index] as usize..self.offsets[index + 1] as usize]
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.count()).map(|index| self.sequence(index))
    }

    pub fn longest(&self) -> usize {
        self.iter().map(<[u8]>::len).max().unwrap_or(0)
    }

    /// The same for the library.
    pub fn sequences(&self) -> Result<Sequences> {
        let offsets = self.offsets.iter().map(|&offset| offset as usize);
        Sequences::from_concatenated(self.codes.clone(), offsets.collect())
    }
}
