//! Partitions of sequences and of windows.

use std::ops::Range;

use tensor_sketch_kernels::fourier::Number;

use super::input::{HostSketch, HostWindows, Windows};
use super::options::Form;
use super::workspace::Workspace;
use crate::Result;
use crate::partition::{Partition, bytes_of, equal_ranges, split_at_ranges};

/// The work of a sequence besides its letters, in letters.
const LETTERS_PER_SEQUENCE: usize = 64;

impl<T: Send> Partition for HostSketch<'_, T> {
    fn bytes(&self) -> u64 {
        let letters = match self.job.form {
            // A byte for each, all at once.
            Form::Direct => self.sequences.own_codes().len() as u64,
            Form::Auto | Form::Fourier => 0,
        };
        letters + bytes_of(self.out.len(), size_of::<T>())
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
            let out = rest.split_off_mut(..range.len() * self.job.entries());
            HostSketch {
                sequences: self.sequences.range(range),
                out: out.expect("entries of all sequences"),
                ..self
            }
        };
        Ok(ranges.into_iter().map(partition).collect())
    }
}

impl<T> HostWindows<'_, T> {
    fn split_at(self, count: usize) -> (Self, Self) {
        let Windows { width, stride, .. } = self.windows;
        let (out, behind) = self.out.split_at_mut(count * self.job.tables.dim());
        let windows = |count| Windows {
            count,
            ..self.windows
        };
        (
            HostWindows {
                codes: &self.codes[..(count - 1) * stride + width],
                windows: windows(count),
                out,
                ..self
            },
            HostWindows {
                codes: &self.codes[count * stride..],
                windows: windows(self.windows.count - count),
                out: behind,
                ..self
            },
        )
    }
}

impl<T: Number + Send> Partition for HostWindows<'_, T> {
    fn bytes(&self) -> u64 {
        Workspace::<T>::new(self.job.tables).window_bytes(self.codes.len(), self.windows)
    }

    /// Splits between runs of windows, so that runs are computed as in the whole.
    fn split(self, count: usize) -> Result<Vec<Self>> {
        let step = self.windows.run();
        let ranges = equal_ranges(self.windows.count, count, step);
        Ok(split_at_ranges(self, ranges, Self::split_at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor_sketch::input::Rows;
    use crate::tensor_sketch::{Sequences, Tables, TensorSketch};

    #[test]
    fn partitions_are_about_equal_and_have_all_sequences() {
        let sketcher = TensorSketch::new(Tables::from_seed(4, 1, 3, 0).unwrap());
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
            let whole = HostSketch {
                job: sketcher.job("test", Rows::Last),
                sequences: sequences.view(),
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
