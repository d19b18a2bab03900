//! Partitions of a search: by queries or by rows of the database.

use super::gpu::tuning;
use super::input::{HostSearch, Queries, Rows};
use crate::Result;
use crate::partition::{Partition, bytes_of, equal_ranges, split_at_ranges};

impl<M: Rows> HostSearch<M> {
    fn split_at(self, by_query: bool, index: usize) -> (Self, Self) {
        let all = self.all;
        let (queries, database) = (all.queries, all.database);
        let ((queries, queries_behind), (database, database_behind)) = match by_query {
            true => (queries.split_at(index), (database, database)),
            false => ((queries, queries), database.split_at(index)),
        };
        let (first_query, first_row) = match by_query {
            true => (self.first_query + index, self.first_row),
            false => (self.first_query, self.first_row + index),
        };
        let behind = HostSearch {
            all: Queries {
                queries: queries_behind,
                database: database_behind,
                ..all
            },
            first_query,
            first_row,
        };
        let all = Queries {
            queries,
            database,
            ..all
        };
        (HostSearch { all, ..self }, behind)
    }
}

impl<M: Rows> Partition for HostSearch<M> {
    fn bytes(&self) -> u64 {
        let Queries {
            queries, database, ..
        } = self.all;
        let results = queries.count().saturating_mul(self.columns());
        [
            queries.bytes(),
            database.bytes(),
            bytes_of(results, 2 * size_of::<u64>()),
            tuning::list_bytes(self.columns()),
        ]
        .into_iter()
        .fold(0, u64::saturating_add)
    }

    /// Splits the queries or the rows of the database, whichever are more.
    fn split(self, count: usize) -> Result<Vec<Self>> {
        let (queries, rows) = (self.all.queries.count(), self.all.database.count());
        let by_query = queries > rows;
        let ranges = equal_ranges(queries.max(rows), count, 1);
        Ok(split_at_ranges(self, ranges, |part, index| {
            part.split_at(by_query, index)
        }))
    }
}
