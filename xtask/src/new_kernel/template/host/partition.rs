//! Partitions of a matrix: ranges of rows.

use gridstride_runtime::Result;
use gridstride_runtime::partition::{Partition, bytes_of, equal_ranges, split_at_ranges};
use ndarray::Axis;

use super::input::Rows;

impl Partition for Rows<'_> {
    fn bytes(&self) -> u64 {
        let of_sums = bytes_of(self.matrix.nrows(), size_of::<f32>());
        bytes_of(self.matrix.len(), size_of::<f32>()).saturating_add(of_sums)
    }

    fn split(self, count: usize) -> Result<Vec<Self>> {
        let ranges = equal_ranges(self.matrix.nrows(), count, 1);
        Ok(split_at_ranges(self, ranges, |rows, index| {
            let (matrix, behind) = rows.matrix.split_at(Axis(0), index);
            let behind = Rows {
                matrix: behind,
                ..rows
            };
            (Rows { matrix, ..rows }, behind)
        }))
    }
}
