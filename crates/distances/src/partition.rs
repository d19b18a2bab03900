//! Partitions of distances by rows of `a` or `b`, and of a search by queries or rows of the
//! database.

use gridstride_runtime::Result;
use gridstride_runtime::partition::{Partition, bytes_of, equal_ranges, split_at_ranges};
use ndarray::Axis;

use super::element::Component;
use super::input::{HostPairs, HostQueries, Pairing, Pairs, Queries};
use super::workspace::list_bytes;

impl<T: Component> HostPairs<'_, T> {
    /// Splits the distances at a row, or at a column if the axis is 1.
    fn split_at(self, axis: Axis, index: usize) -> (Self, Self) {
        let (a, a_behind) = match axis {
            Axis(0) => self.a.split_at(index),
            _ => (self.a, self.a),
        };
        let (b, b_behind) = match self.b {
            Some(b) if axis == Axis(1) || self.pairing == Pairing::Each => {
                let (b, behind) = b.split_at(index);
                (Some(b), Some(behind))
            }
            b => (b, b),
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
        let of_b = self.b.map_or(0, |b| b.bytes());
        (self.a.bytes())
            .saturating_add(of_b)
            .saturating_add(bytes_of(self.out.len(), size_of::<f64>()))
    }

    /// Splits the rows or the columns, whichever are more. Distances of rows to each other are then
    /// computed twice, so that the host need not copy them to their second place.
    fn split(self, count: usize) -> Result<Vec<Self>> {
        let b = self.b.unwrap_or(self.a);
        let whole = Pairs { b: Some(b), ..self };
        let (rows, columns) = whole.out.dim();
        let (axis, length) = match whole.pairing == Pairing::Each || rows >= columns {
            true => (Axis(0), rows),
            false => (Axis(1), columns),
        };
        let ranges = equal_ranges(length, count, 1);
        let at = |pairs: Self, index| pairs.split_at(axis, index);
        Ok(split_at_ranges(whole, ranges, at))
    }
}

impl<T: Component> HostQueries<'_, T> {
    fn split_at(self, by_query: bool, index: usize) -> (Self, Self) {
        match by_query {
            true => {
                let (queries, behind) = self.queries.split_at(index);
                let rest = Queries {
                    queries: behind,
                    first_query: self.first_query + index,
                    ..self
                };
                (Queries { queries, ..self }, rest)
            }
            false => {
                let (database, behind) = self.database.split_at(index);
                let rest = Queries {
                    database: behind,
                    first_row: self.first_row + index,
                    ..self
                };
                (Queries { database, ..self }, rest)
            }
        }
    }
}

impl<T: Component> Partition for HostQueries<'_, T> {
    fn bytes(&self) -> u64 {
        let results = self.queries.count().saturating_mul(self.columns());
        [
            self.queries.bytes(),
            self.database.bytes(),
            bytes_of(results, 2 * size_of::<u64>()),
            list_bytes(self.columns()),
        ]
        .into_iter()
        .fold(0, u64::saturating_add)
    }

    /// Splits the queries or the rows of the database, whichever are more.
    fn split(self, count: usize) -> Result<Vec<Self>> {
        let (queries, rows) = (self.queries.count(), self.database.count());
        let by_query = queries > rows;
        let ranges = equal_ranges(queries.max(rows), count, 1);
        let at = |part: Self, index| part.split_at(by_query, index);
        Ok(split_at_ranges(self, ranges, at))
    }
}
