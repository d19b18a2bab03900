//! Partitions of a search: rows of the first set with rows of the second.

use std::ops::Range;

use gridstride_runtime::device::zeroed;
use gridstride_runtime::partition::{Partition, bytes_of, equal_ranges, halves};
use gridstride_runtime::{Number, Result, parallel};

use super::input::{Packed, Problem};
use super::output::{Overlaps, row_blocks};
use super::workspace;

/// The most boxes of a partition that is not split before it is tried, which bounds the number of
/// partitions.
const FEW: usize = 256;

impl<'a, T: Number> Problem<'a, T> {
    /// Returns partitions of all tests of `rows`: the rows in `count` ranges, ascending.
    pub fn divided(&self, rows: Range<usize>, count: usize) -> Vec<Self> {
        let end = self.set1.range().end;
        let mut ranges: Vec<_> = equal_ranges(rows.len(), count, 1)
            .map(|range| rows.start + range.start..rows.start + range.end)
            .collect();
        if ranges.is_empty() {
            // The boxes of the other set are checked all the same.
            ranges.push(rows);
        }
        let partitions = ranges.iter().flat_map(|rows| match &self.set2 {
            Some(set2) => vec![self.part(rows, Some(set2.clone()))],
            None if rows.end == end => vec![self.part(rows, None)],
            None => {
                let behind = self.set1.with_rows(&(rows.end..end));
                vec![self.part(rows, None), self.part(rows, Some(behind))]
            }
        });
        partitions.collect()
    }

    fn part(&self, rows: &Range<usize>, set2: Option<Packed<'a, T>>) -> Self {
        Problem {
            set1: self.set1.with_rows(rows),
            set2,
            ..*self
        }
    }
}

impl<T: Number> Partition for Problem<'_, T> {
    /// Pairs need memory too: a quarter of it. Few boxes are tried, whatever they need.
    fn bytes(&self) -> u64 {
        let (rows1, rows2) = (self.rows1(), self.any_set2().range().len());
        let boxes = rows1 + self.set2.as_ref().map_or(0, |_| rows2);
        if boxes <= FEW {
            return 0;
        }
        let width = 2 * self.set1.boxes().axes;
        let bytes = bytes_of(boxes * width, size_of::<T>())
            + workspace::bytes(self.algorithm, rows1, rows2);
        bytes + bytes / 3
    }

    /// Halves the longer side. A single set is split into two searches of its halves, and a search
    /// of one half against the other.
    fn split(self, _: usize) -> Result<Vec<Self>> {
        let (rows, columns) = (self.set1.range(), self.any_set2().range());
        if rows.len().max(columns.len()) <= 1 {
            return Ok(vec![self]);
        }
        let [front, back] = &halves(rows);
        Ok(match &self.set2 {
            None => {
                let behind = self.set1.with_rows(back);
                vec![
                    self.part(front, None),
                    self.part(front, Some(behind)),
                    self.part(back, None),
                ]
            }
            Some(set2) if columns.len() > rows.len() => halves(columns)
                .map(|half| self.part(rows, Some(set2.with_rows(&half))))
                .into(),
            set2 => [front, back]
                .map(|half| self.part(half, set2.clone()))
                .into(),
        })
    }
}

/// The results of a partition.
pub struct Found<F> {
    pub rows: Range<usize>,
    /// The row of the second set from which indices count.
    pub first_column: usize,
    pub result: F,
}

impl<F> Found<F> {
    pub fn new<T: Number>(partition: &Problem<T>, result: F) -> Found<F> {
        Found {
            rows: partition.set1.range().clone(),
            first_column: partition.any_set2().range().start,
            result,
        }
    }
}

/// Joins the results of partitions of `rows`. Each row's indices are those of the partitions with
/// the row, ascending.
pub fn joined(rows: Range<usize>, mut found: Vec<Found<Overlaps>>) -> Result<Overlaps> {
    found.sort_by_key(|found| found.first_column);
    let mut offsets = zeroed::<usize>(rows.len() + 1)?;
    for found in &found {
        let ends = found.result.offsets().windows(2);
        for (offset, ends) in offsets[found.rows.start - rows.start + 1..]
            .iter_mut()
            .zip(ends)
        {
            *offset += ends[1] - ends[0];
        }
    }
    let mut end = 0;
    for offset in &mut offsets {
        end += *offset;
        *offset = end;
    }
    let mut indices = zeroed::<u32>(end)?;
    parallel::each(row_blocks(&offsets, &mut indices), |(block, places)| {
        let block = rows.start + block.start..rows.start + block.end;
        let has_rows = |rows: &Range<usize>| rows.start < block.end && rows.end > block.start;
        let found: Vec<_> = found.iter().filter(|found| has_rows(&found.rows)).collect();
        let mut places = places.iter_mut();
        for row in block {
            for found in found.iter().filter(|found| found.rows.contains(&row)) {
                let indices = found.result.row(row - found.rows.start);
                for (&index, place) in indices.iter().zip(places.by_ref()) {
                    *place = found.first_column as u32 + index;
                }
            }
        }
    });
    Ok(Overlaps::new(offsets, indices))
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, ArrayView2};

    use super::*;
    use crate::options::Algorithm;

    fn problem<'a>(
        set1: ArrayView2<'a, i32>,
        set2: Option<ArrayView2<'a, i32>>,
    ) -> Problem<'a, i32> {
        Problem::new("overlaps", Algorithm::Auto, set1, set2).unwrap()
    }

    /// Splits partitions until they cannot be split.
    fn smallest(partitions: Vec<Problem<i32>>) -> Vec<Problem<i32>> {
        let parts = partitions.into_iter().flat_map(|partition| {
            let parts = partition.split(2).unwrap();
            match parts.len() {
                1 => parts,
                _ => smallest(parts),
            }
        });
        parts.collect()
    }

    /// Counts the partitions that have each pair.
    fn covered(partitions: &[Problem<i32>], rows: usize, columns: usize) -> Array2<i32> {
        let mut times = Array2::zeros((rows, columns));
        for partition in partitions {
            for i in partition.set1.range().clone() {
                let columns = match &partition.set2 {
                    Some(columns) => columns.range().clone(),
                    None => i + 1..partition.set1.range().end,
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
            for count in [1, 3, 40] {
                let partitions = two.divided(0..rows1, count);
                let expected = Array2::<i32>::ones((rows1, rows2));
                assert_eq!(covered(&partitions, rows1, rows2), expected);
                assert_eq!(covered(&smallest(partitions), rows1, rows2), expected);
                for start in 0..rows1 {
                    let partitions = one.divided(start..rows1, count);
                    let expected = Array2::from_shape_fn((rows1, rows1), |(i, j)| {
                        i32::from(i >= start && j > i)
                    });
                    assert_eq!(covered(&partitions, rows1, rows1), expected);
                    assert_eq!(covered(&smallest(partitions), rows1, rows1), expected);
                }
            }
        }
        let none = problem(set.slice(ndarray::s![..0, ..]), Some(set.view()));
        assert_eq!(none.divided(0..0, 3).len(), 1);
    }
}
