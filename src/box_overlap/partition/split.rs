//! Partitions of a search: rows of the first set with rows of the second.

use std::ops::Range;

use crate::box_overlap::gpu;
use crate::box_overlap::input::{Packed, Problem};
use crate::partition::{Partition, equal_ranges};
use crate::{Number, Result};

/// Rows of the first set that are tested against rows of the second, the columns.
#[derive(Debug)]
pub struct SearchPartition<'a, T: Number> {
    whole: &'a Problem<'a, T>,
    pub rows: Range<usize>,
    /// `None` for pairs (i, j), i < j, of `rows`.
    columns: Option<Range<usize>>,
}

/// The most boxes of a partition that is not split before it is tried, which bounds the number of
/// partitions.
const FEW: usize = 256;

impl<'a, T: Number> SearchPartition<'a, T> {
    /// Returns partitions of all tests of `rows`: the rows in `count` ranges, ascending, split
    /// further where a partition takes more than `bytes`.
    pub fn covering(
        whole: &'a Problem<'a, T>,
        rows: Range<usize>,
        count: usize,
        bytes: Option<u64>,
    ) -> Vec<Self> {
        let end = whole.any_set2().boxes().len();
        let mut ranges: Vec<_> = equal_ranges(rows.len(), count, 1)
            .map(|range| rows.start + range.start..rows.start + range.end)
            .collect();
        if ranges.is_empty() {
            // The boxes of the other set are checked all the same.
            ranges.push(rows);
        }
        let partition = |rows: &Range<usize>, columns| SearchPartition {
            whole,
            rows: rows.clone(),
            columns,
        };
        let partitions = ranges.iter().flat_map(|rows| match &whole.set2 {
            Some(_) => vec![partition(rows, Some(0..end))],
            None if rows.end == end => vec![partition(rows, None)],
            None => vec![partition(rows, None), partition(rows, Some(rows.end..end))],
        });
        let few = whole.rows1().min(FEW / 2);
        let few = partition(&(0..few), Some(0..end.min(FEW / 2)));
        match bytes.filter(|&bytes| few.bytes() <= bytes) {
            Some(bytes) => partitions
                .flat_map(|partition| partition.within(bytes))
                .collect(),
            // Without room for a few boxes the first partition fails.
            None => partitions.collect(),
        }
    }

    /// Splits the partition until each half takes at most `bytes` or has few boxes.
    fn within(self, bytes: u64) -> Vec<Self> {
        if self.bytes() <= bytes || self.boxes() <= FEW {
            return vec![self];
        }
        let halves = self
            .split(2)
            .expect("boxes split without an error")
            .into_iter();
        halves.flat_map(|half| half.within(bytes)).collect()
    }

    /// Returns the partition as a search of separate sets.
    pub fn problem(&self) -> Problem<'_, T> {
        let rows_of_set2 = |columns| Packed::rows(self.whole.any_set2(), columns);
        Problem {
            operation: self.whole.operation,
            algorithm: self.whole.algorithm,
            set1: self.whole.set1.rows(self.rows.clone()),
            set2: self.columns.clone().map(rows_of_set2),
        }
    }

    /// Returns the rows of the second set, which may be the first.
    pub fn columns(&self) -> &Range<usize> {
        self.columns.as_ref().unwrap_or(&self.rows)
    }

    /// Returns the number of boxes of both sets.
    fn boxes(&self) -> usize {
        self.rows.len() + self.columns.as_ref().map_or(0, Range::len)
    }

    /// Returns the bytes of the boxes alone.
    pub fn bytes_of_boxes(&self) -> u64 {
        let width = 2 * self.whole.set1.boxes().axes;
        self.boxes() as u64 * width as u64 * size_of::<T>() as u64
    }
}

impl<T: Number> Partition for SearchPartition<'_, T> {
    fn bytes(&self) -> u64 {
        let columns = self.columns().len();
        self.bytes_of_boxes() + gpu::bytes(self.whole.algorithm, self.rows.len(), columns)
    }

    /// Halves the longer side. A single set is split into two searches of its halves, and a search
    /// of one half against the other.
    fn split(self, _: usize) -> Result<Vec<Self>> {
        if self.rows.len().max(self.columns().len()) <= 1 {
            return Ok(vec![self]);
        }
        let new = |rows: &Range<usize>, columns: Option<&Range<usize>>| SearchPartition {
            whole: self.whole,
            rows: rows.clone(),
            columns: columns.cloned(),
        };
        Ok(match &self.columns {
            None => {
                let [front, back] = &halves(&self.rows);
                vec![new(front, None), new(front, Some(back)), new(back, None)]
            }
            Some(columns) if columns.len() > self.rows.len() => halves(columns)
                .map(|half| new(&self.rows, Some(&half)))
                .into(),
            columns => halves(&self.rows)
                .map(|half| new(&half, columns.as_ref()))
                .into(),
        })
    }
}

/// Splits a range in the middle.
pub fn halves(range: &Range<usize>) -> [Range<usize>; 2] {
    let middle = range.start + range.len() / 2;
    [range.start..middle, middle..range.end]
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, ArrayView2};

    use super::*;
    use crate::box_overlap::options::Algorithm;

    fn problem<'a>(
        set1: ArrayView2<'a, i32>,
        set2: Option<ArrayView2<'a, i32>>,
    ) -> Problem<'a, i32> {
        Problem::new("overlaps", Algorithm::Auto, set1, set2).unwrap()
    }

    /// Counts the partitions that have each pair.
    fn covered(partitions: &[SearchPartition<i32>], rows: usize, columns: usize) -> Array2<i32> {
        let mut times = Array2::zeros((rows, columns));
        for partition in partitions {
            for i in partition.rows.clone() {
                let columns = match &partition.columns {
                    Some(columns) => columns.clone(),
                    None => i + 1..partition.rows.end,
                };
                columns.for_each(|j| times[[i, j]] += 1);
            }
        }
        times
    }

    #[test]
    fn each_pair_is_in_one_partition() {
        let set = Array2::zeros((13, 4));
        for (rows1, rows2) in [(13, 9), (1, 13), (13, 1), (2, 2)] {
            let set1 = set.slice(ndarray::s![..rows1, ..]);
            let set2 = set.slice(ndarray::s![..rows2, ..]);
            let two = problem(set1, Some(set2));
            let one = problem(set1, None);
            let bytes = [None, None, None, Some(100), Some(0)];
            for (count, bytes) in [1, 3, 40, 1, 2].into_iter().zip(bytes) {
                let partitions = SearchPartition::covering(&two, 0..rows1, count, bytes);
                let expected = Array2::<i32>::ones((rows1, rows2));
                assert_eq!(covered(&partitions, rows1, rows2), expected);
                for start in 0..rows1 {
                    let partitions = SearchPartition::covering(&one, start..rows1, count, bytes);
                    let expected = Array2::from_shape_fn((rows1, rows1), |(i, j)| {
                        i32::from(i >= start && j > i)
                    });
                    assert_eq!(covered(&partitions, rows1, rows1), expected);
                }
            }
        }
        let none = problem(set.slice(ndarray::s![..0, ..]), Some(set.view()));
        assert_eq!(SearchPartition::covering(&none, 0..0, 3, None).len(), 1);
    }
}
