//! Partitions of a search: rows of the first set with rows of the second.

use std::ops::Range;

use gridstride_runtime::device::zeroed;
use gridstride_runtime::partition::{Partition, bytes_of, equal_ranges, halves};
use gridstride_runtime::{Number, Result, parallel};

use super::input::Problem;
use super::options::Algorithm;
use super::output::{Overlaps, row_blocks};
use super::workspace;

/// The most boxes of a partition that is not split before it is tried, which bounds the number of
/// partitions.
const FEW: usize = 256;

/// Rows of the first set that are tested with rows of the second. Without the type of the
/// coordinates, so that splitting and joining are compiled once.
#[derive(Clone, Debug)]
pub struct SearchPartition {
    pub rows: Range<usize>,
    /// The rows of the second set; `None` for pairs (i, j), i < j, of `rows`.
    pub columns: Option<Range<usize>>,
    algorithm: Algorithm,
    /// The bytes of a box.
    row_bytes: usize,
}

impl<'a, T: Number> Problem<'a, T> {
    /// Returns the partition that is the whole problem.
    pub fn whole(&self) -> SearchPartition {
        let boxes = self.set1.boxes();
        SearchPartition {
            rows: 0..boxes.len(),
            columns: self.set2.as_ref().map(|set2| 0..set2.boxes().len()),
            algorithm: self.algorithm,
            row_bytes: 2 * boxes.axes * size_of::<T>(),
        }
    }

    /// Returns the problem of a partition.
    pub fn of_partition(&self, partition: &SearchPartition) -> Self {
        let set2 = self.set2.as_ref().unwrap_or(&self.set1);
        Problem {
            set1: self.set1.with_rows(&partition.rows),
            set2: partition
                .columns
                .as_ref()
                .map(|columns| set2.with_rows(columns)),
            ..*self
        }
    }
}

impl SearchPartition {
    /// Returns the partitions of `rows` in `count` ranges, ascending.
    pub fn divided(&self, rows: Range<usize>, count: usize) -> Vec<Self> {
        let mut ranges: Vec<_> = equal_ranges(rows.len(), count, 1)
            .map(|range| rows.start + range.start..rows.start + range.end)
            .collect();
        if ranges.is_empty() {
            // A partition without rows still checks the boxes of the other set.
            ranges.push(rows);
        }
        let mut partitions = Vec::new();
        for rows in ranges {
            let behind = rows.end..self.rows.end;
            partitions.push(self.with_rows(&rows, self.columns.as_ref()));
            if self.columns.is_none() && !behind.is_empty() {
                partitions.push(self.with_rows(&rows, Some(&behind)));
            }
        }
        partitions
    }

    fn with_rows(&self, rows: &Range<usize>, columns: Option<&Range<usize>>) -> Self {
        SearchPartition {
            rows: rows.clone(),
            columns: columns.cloned(),
            ..*self
        }
    }

    /// Returns the rows of the second set. For pairs within one set, these are `rows`.
    fn any_columns(&self) -> &Range<usize> {
        self.columns.as_ref().unwrap_or(&self.rows)
    }
}

impl Partition for SearchPartition {
    /// A quarter is for pairs. Few boxes are tried whatever their bytes.
    fn bytes(&self) -> u64 {
        let (rows1, rows2) = (self.rows.len(), self.any_columns().len());
        let boxes = rows1 + self.columns.as_ref().map_or(0, |_| rows2);
        if boxes <= FEW {
            return 0;
        }
        let bytes =
            bytes_of(boxes, self.row_bytes) + workspace::bytes(self.algorithm, rows1, rows2);
        bytes + bytes / 3
    }

    /// Halves the longer side. A single set is split into two searches of its halves, and a search
    /// of one half against the other.
    fn split(self, _: usize) -> Result<Vec<Self>> {
        let (rows, columns) = (&self.rows, self.any_columns());
        if rows.len().max(columns.len()) <= 1 {
            return Ok(vec![self]);
        }
        let [front, back] = &halves(rows);
        Ok(match &self.columns {
            None => vec![
                self.with_rows(front, None),
                self.with_rows(front, Some(back)),
                self.with_rows(back, None),
            ],
            Some(columns) if columns.len() > rows.len() => halves(columns)
                .map(|half| self.with_rows(rows, Some(&half)))
                .into(),
            columns => [front, back]
                .map(|half| self.with_rows(half, columns.as_ref()))
                .into(),
        })
    }
}

/// The result of a partition.
pub struct PartitionResult<F> {
    pub rows: Range<usize>,
    /// The row of the second set from which indices count.
    pub first_column: usize,
    pub result: F,
}

impl<F> PartitionResult<F> {
    pub fn new(partition: &SearchPartition, result: F) -> PartitionResult<F> {
        PartitionResult {
            rows: partition.rows.clone(),
            first_column: partition.any_columns().start,
            result,
        }
    }
}

/// Joins the results of partitions of `rows`. Each row's indices are those of the partitions with
/// the row, ascending.
pub fn joined(rows: Range<usize>, mut found: Vec<PartitionResult<Overlaps>>) -> Result<Overlaps> {
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
    use ndarray::Array2;

    use super::*;

    fn whole(rows: usize, columns: Option<usize>) -> SearchPartition {
        let set = Array2::<i32>::zeros((13, 4));
        let first = |rows| set.slice(ndarray::s![..rows, ..]);
        let problem = Problem::new("test", Algorithm::Auto, first(rows), columns.map(first));
        problem.unwrap().whole()
    }

    /// Splits partitions until they cannot be split.
    fn smallest(partitions: Vec<SearchPartition>) -> Vec<SearchPartition> {
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
    fn covered(partitions: &[SearchPartition], rows: usize, columns: usize) -> Array2<i32> {
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
        for (rows1, rows2) in [(13, 9), (1, 13), (13, 1), (2, 2)] {
            let [two, one] = [Some(rows2), None].map(|columns| whole(rows1, columns));
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
        assert_eq!(whole(0, Some(13)).divided(0..0, 3).len(), 1);
    }
}
