//! Partitions of sequences and of windows.

use std::ops::Range;

use gridstride_runtime::Result;
use gridstride_runtime::partition::{Partition, bytes_of, equal_ranges};
use gridstride_sequences::SequencesView;
use tensor_sketch_kernels::fourier::Number;

use super::input::{HostSketch, Job, Rows};
use super::options::Form;
use super::workspace::Workspace;

/// The work of a sequence besides its letters, in letters.
const LETTERS_PER_SEQUENCE: usize = 64;

impl<T: Number + Send> Partition for HostSketch<'_, T> {
    fn bytes(&self) -> u64 {
        let letters = self.sequences.own_codes().len();
        let rows = bytes_of(self.out.len(), size_of::<T>());
        match (self.job.rows, self.job.form) {
            (Rows::Windows(windows), _) => {
                let letters = self.codes_of(windows).len();
                Workspace::<T>::new(self.job.tables).window_bytes(letters, windows)
            }
            // A byte for each letter, all at once.
            (_, Form::Direct) => letters as u64 + rows,
            (_, Form::Auto | Form::Fourier) => rows,
        }
    }

    fn split(self, count: usize) -> Result<Vec<Self>> {
        let (job, mut rest) = (self.job, self.out);
        let mut places = |range: &Range<usize>| {
            let out = rest.split_off_mut(..range.len() * job.entries());
            out.expect("entries of all sequences or windows")
        };
        let part = |range: Range<usize>| match job.rows {
            Rows::Windows(windows) => HostSketch {
                out: places(&range),
                job: Job {
                    rows: Rows::Windows(windows.range(range)),
                    ..job
                },
                ..self
            },
            Rows::Last | Rows::All => HostSketch {
                out: places(&range),
                sequences: self.sequences.range(range),
                ..self
            },
        };
        Ok(match job.rows {
            // Between runs of windows, so that runs are computed as in the whole.
            Rows::Windows(windows) => {
                let ranges = equal_ranges(windows.count, count, windows.run());
                ranges.map(part).collect()
            }
            Rows::Last | Rows::All => {
                let ranges = ranges_of_equal_work(self.sequences, count);
                ranges.into_iter().map(part).collect()
            }
        })
    }
}

/// Returns ranges of sequences of about equal work.
fn ranges_of_equal_work(sequences: SequencesView, count: usize) -> Vec<Range<usize>> {
    let (all, offsets) = (sequences.len(), sequences.offsets);
    // The work for the first `n` sequences, in letters.
    let work = |n: usize| (offsets[n] - offsets[0] + n * LETTERS_PER_SEQUENCE) as u128;
    let (mut ranges, mut start) = (Vec::new(), 0);
    for number in 1..count {
        if all - start < 2 {
            break;
        }
        let goal = work(all) * number as u128 / count as u128;
        let mut ends = start + 1..all - 1;
        let reached = ends.find(|&end| work(end) >= goal);
        let end = reached.unwrap_or(all - 1);
        ranges.push(start..end);
        start = end;
    }
    ranges.push(start..all);
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Sequences, Tables, TensorSketch};

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
