//! Partitions of sequences and of windows.

use std::ops::Range;

use super::gpu::HasKernels;
use super::input::Windows;
use super::tables::Tables;
use super::windows;
use crate::Result;
use crate::partition::{Partition, bytes_of, equal_ranges, split_at_ranges};
use crate::sequences::SequencesView;

pub struct SequencesPartition<'a, T> {
    pub sequences: SequencesView<'a>,
    /// Entries of a sequence's result.
    pub entries: usize,
    /// Bytes of a device's memory for each letter, if all letters have to be there at once.
    pub bytes_per_letter: u64,
    /// The entries of all sequences.
    pub out: &'a mut [T],
}

/// The work of a sequence besides its letters, in letters.
const LETTERS_PER_SEQUENCE: usize = 64;

impl<T: Send> Partition for SequencesPartition<'_, T> {
    fn bytes(&self) -> u64 {
        let letters = self.sequences.own_codes().len() as u64;
        letters * self.bytes_per_letter + bytes_of(self.out.len(), size_of::<T>())
    }

    /// Splits into ranges of about equal work.
    fn split(self, count: usize) -> Result<Vec<Self>> {
        let sequences = self.sequences.len();
        let offsets = self.sequences.offsets;
        // The work for the first `n` sequences, in letters.
        let work = |n: usize| (offsets[n] - offsets[0] + n * LETTERS_PER_SEQUENCE) as u128;
        let mut ranges = Vec::new();
        let mut start = 0;
        for number in 1..count {
            if sequences - start < 2 {
                break;
            }
            let goal = work(sequences) * number as u128 / count as u128;
            let mut ends = start + 1..sequences - 1;
            let reached = ends.find(|&end| work(end) >= goal);
            let end = reached.unwrap_or(sequences - 1);
            ranges.push(start..end);
            start = end;
        }
        ranges.push(start..sequences);
        let mut rest = self.out;
        let partition = |range: Range<usize>| {
            let out = rest.split_off_mut(..range.len() * self.entries);
            SequencesPartition {
                sequences: self.sequences.range(range),
                out: out.expect("entries of all sequences"),
                ..self
            }
        };
        Ok(ranges.into_iter().map(partition).collect())
    }
}

/// Consecutive windows, at least one.
pub struct WindowsPartition<'a, T> {
    pub tables: &'a Tables,
    /// The codes from the start of the first window to the end of the last.
    pub codes: &'a [u8],
    pub windows: Windows,
    /// A row for each window.
    pub sketches: &'a mut [T],
}

impl<T> WindowsPartition<'_, T> {
    /// Splits after the first `count` windows.
    fn split_at(self, count: usize) -> (Self, Self) {
        let Windows { width, stride, .. } = self.windows;
        let (sketches, behind) = self.sketches.split_at_mut(count * self.tables.dim());
        let windows = |count| Windows {
            count,
            ..self.windows
        };
        (
            WindowsPartition {
                codes: &self.codes[..(count - 1) * stride + width],
                windows: windows(count),
                sketches,
                ..self
            },
            WindowsPartition {
                codes: &self.codes[count * stride..],
                windows: windows(self.windows.count - count),
                sketches: behind,
                ..self
            },
        )
    }
}

impl<T: HasKernels> Partition for WindowsPartition<'_, T> {
    fn bytes(&self) -> u64 {
        windows::gpu::bytes::<T>(self.tables, self.windows, self.codes.len())
    }

    /// Splits between runs of windows, so that runs are computed as in the whole.
    fn split(self, count: usize) -> Result<Vec<Self>> {
        let step = windows::gpu::run(self.windows);
        let ranges = equal_ranges(self.windows.count, count, step);
        Ok(split_at_ranges(self, ranges, Self::split_at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor_sketch::Sequences;

    #[test]
    fn partitions_are_about_equal_and_have_all_sequences() {
        for (lengths, count, counts) in [
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
            let sequences: Sequences = lengths.iter().map(|&length| vec![0; length]).collect();
            let mut out = vec![0f32; 3 * sequences.len()];
            let whole = SequencesPartition {
                sequences: sequences.view(),
                entries: 3,
                bytes_per_letter: 0,
                out: &mut out,
            };
            let split = whole.split(count).unwrap();
            let found: Vec<usize> = split.iter().map(|share| share.sequences.len()).collect();
            assert_eq!(found, counts, "{lengths:?}");
            for share in &split {
                assert_eq!(share.out.len(), 3 * share.sequences.len());
            }
            let slices = split.iter().flat_map(|share| share.sequences.slices());
            assert!(slices.eq(sequences.slices()));
        }
    }
}
