//! The sequences: random ones, or those of a file.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use checks::random::Random;
use files::Monitor;
use files::memory::{make_room, room_for};
use gridstride::tensor_sketch::{Alphabet, Sequences, Unknown};
use ladder_kernels::tensor_sketch::LETTERS;
use program::report::warn;
use program::sequences::{self, read_records};

/// Sequences of letters' codes, one after the other.
#[derive(Clone, Debug)]
pub struct Letters {
    pub codes: Vec<u8>,
    /// Start of each sequence, and at the end the number of letters.
    pub offsets: Vec<u64>,
}

impl Letters {
    /// Makes `count` random sequences of about `total` letters together: of equal lengths, or each
    /// from half to one and a half of the mean.
    ///
    /// # Errors
    /// If there is no memory for them.
    pub fn random(count: usize, total: usize, are_equal: bool, seed: u64) -> Result<Letters> {
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
        let no_memory = || format!("there is no memory for {end} letters: lower --letters");
        let mut codes = room_for(end as usize).with_context(no_memory)?;
        codes.extend((0..end).map(|_| random.below(LETTERS as u64) as u8));
        Ok(Letters { codes, offsets })
    }

    /// The records of a file of FASTA or FASTQ, which may be compressed. Characters that are no letters of DNA
    /// are left out.
    ///
    /// # Errors
    /// If the file cannot be read, or has no letters.
    pub fn read(path: &Path) -> Result<Letters> {
        let mut letters = Letters {
            codes: Vec::new(),
            offsets: vec![0],
        };
        let dna = sequences::letters(&Alphabet::dna(), Unknown::Skip);
        read_records(path, dna, &Monitor::new(|_| (), warn), |piece| {
            make_room(&mut letters.codes, piece.letters.len(), "letters")?;
            letters.codes.extend_from_slice(piece.letters);
            if piece.is_last {
                make_room(&mut letters.offsets, 1, "records")?;
                letters.offsets.push(letters.codes.len() as u64);
            }
            Ok(())
        })?;
        ensure!(
            !letters.codes.is_empty(),
            "{} has no letters A, C, G and T",
            path.display()
        );
        Ok(letters)
    }

    /// The first letters, with the last sequence cut where they end.
    pub fn first(&self, count: usize) -> Letters {
        let before = |offset: &&u64| **offset < count as u64;
        let mut offsets: Vec<u64> = self.offsets.iter().take_while(before).copied().collect();
        offsets.push(count as u64);
        Letters {
            codes: self.codes[..count].to_vec(),
            offsets,
        }
    }

    /// The same letters and number of sequences, but all sequences of one length, or of two that
    /// differ by a letter.
    pub fn of_equal_lengths(&self) -> Letters {
        let (count, total) = (self.count() as u64, self.codes.len() as u64);
        let offset = |i| (u128::from(total) * u128::from(i) / u128::from(count)) as u64;
        Letters {
            codes: self.codes.clone(),
            offsets: (0..=count).map(offset).collect(),
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
        Ok(Sequences::from_concatenated(
            self.codes.clone(),
            offsets.collect(),
        )?)
    }
}
