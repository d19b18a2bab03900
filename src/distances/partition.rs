//! Partitions of distances: by rows of `a` or `b`.

use ndarray::Axis;

use super::element::Component;
use super::input::{HostPairs, Pairs};
use crate::Result;
use crate::partition::{Partition, bytes_of, equal_ranges, split_at_ranges};

impl<'a, T: Component> HostPairs<'a, T> {
    /// Splits the distances at a row, or at a column if the axis is 1.
    fn split_at(self, axis: Axis, index: usize) -> (Self, Self) {
        let ((a, a_behind), (b, b_behind)) = match (axis, self.b) {
            (Axis(1), Some(b)) => {
                let (b, behind) = b.split_at(Axis(0), index);
                ((self.a, self.a), (Some(b), Some(behind)))
            }
            (_, b) => (self.a.split_at(Axis(0), index), (b, b)),
        };
        let (out, out_behind) = self.out.split_at(axis, index);
        let behind = Pairs {
            a: a_behind,
            b: b_behind,
            out: out_behind,
            ..self
        };
        (Pairs { a, b, out, ..self }, behind)
    }
}

impl<T: Component> Partition for HostPairs<'_, T> {
    fn bytes(&self) -> u64 {
        let of_b = self.b.map_or(0, |b| b.len());
        bytes_of(self.a.len(), size_of::<T>())
            .saturating_add(bytes_of(of_b, size_of::<T>()))
            .saturating_add(bytes_of(self.out.len(), size_of::<f64>()))
    }

    /// Splits the rows or the columns, whichever are more. Distances of rows to each other are then
    /// computed twice, so that the host need not copy them to their second place.
    fn split(self, count: usize) -> Result<Vec<Self>> {
        let b = self.b.unwrap_or(self.a);
        let whole = Pairs { b: Some(b), ..self };
        let (rows, columns) = whole.out.dim();
        let (axis, length) = match rows >= columns {
            true => (Axis(0), rows),
            false => (Axis(1), columns),
        };
        let ranges = equal_ranges(length, count, 1);
        Ok(split_at_ranges(whole, ranges, |pairs, index| {
            pairs.split_at(axis, index)
        }))
    }
}
