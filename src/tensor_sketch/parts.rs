//! Sequences in parts, for several devices and for little memory.

use super::sequences::SequencesView;
use crate::partition::Partition;

/// Some of the sequences.
pub struct PartOfSequences<'a> {
    pub sequences: SequencesView<'a>,
    /// Bytes of a device's memory that each takes.
    pub bytes_a_sequence: u64,
    /// As many for each letter, if all have to be there.
    pub bytes_a_letter: u64,
}

/// So many letters take as long as what a sequence takes besides its letters.
const LETTERS_A_SEQUENCE: u64 = 64;

impl PartOfSequences<'_> {
    /// The work for the first of the sequences, so many of them, in letters.
    fn work(&self, count: usize) -> u64 {
        let offsets = self.sequences.offsets;
        offsets[count] - offsets[0] + count as u64 * LETTERS_A_SEQUENCE
    }

    /// For how many of the sequences the work comes up to this.
    fn count(&self, work: u64) -> usize {
        let (mut below, mut enough) = (0, self.sequences.len());
        while below < enough {
            let middle = below + (enough - below) / 2;
            match self.work(middle) < work {
                true => below = middle + 1,
                false => enough = middle,
            }
        }
        enough
    }
}

impl Partition for PartOfSequences<'_> {
    fn bytes(&self) -> u64 {
        let letters = self.sequences.own_codes().len() as u64;
        letters * self.bytes_a_letter + self.sequences.len() as u64 * self.bytes_a_sequence
    }

    /// About equal in letters.
    fn split(self, parts: usize) -> Vec<Self> {
        let count = self.sequences.len();
        let all = u128::from(self.work(count));
        let mut cut = Vec::new();
        let mut start = 0;
        for part in 1..=parts {
            let rest = count - start;
            if rest < 2 || part == parts {
                break;
            }
            let work = all * part as u128 / parts as u128;
            let end = self.count(work as u64).clamp(start + 1, count - 1);
            cut.push(start..end);
            start = end;
        }
        cut.push(start..count);
        let part = |range| PartOfSequences {
            sequences: self.sequences.part(range),
            ..self
        };
        cut.into_iter().map(part).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor_sketch::Sequences;

    #[test]
    fn parts_are_about_equal_and_have_all_sequences() {
        for (lengths, parts, counts) in [
            (vec![], 3, vec![0]),
            (vec![9], 3, vec![1]),
            (vec![100; 6], 1, vec![6]),
            (vec![100; 6], 3, vec![2, 2, 2]),
            (vec![0; 4], 2, vec![2, 2]),
            (vec![1, 1, 100_000], 2, vec![2, 1]),
            (vec![100_000, 1, 1], 2, vec![1, 2]),
            (vec![5, 5], 7, vec![1, 1]),
            (vec![5, 5, 5], usize::MAX, vec![1, 1, 1]),
        ] {
            let sequences: Sequences = lengths
                .iter()
                .map(|&length| vec![0; length])
                .collect::<Vec<_>>()
                .iter()
                .collect();
            let whole = PartOfSequences {
                sequences: sequences.view(),
                bytes_a_sequence: 10,
                bytes_a_letter: 0,
            };
            let parts = whole.split(parts);
            let found: Vec<usize> = parts.iter().map(|part| part.sequences.len()).collect();
            assert_eq!(found, counts, "{lengths:?}");
            let slices = parts.iter().flat_map(|part| part.sequences.slices());
            assert!(slices.eq(sequences.slices()));
        }
    }
}
