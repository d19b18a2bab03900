//! The rows that are kept.

use std::ops::RangeInclusive;

use super::Tables;

/// Which rows of the sketches a caller asks for.
#[derive(Clone, Copy)]
pub enum Rows {
    /// Row t.
    Last,
    /// Rows 0 to t.
    All,
}

impl Rows {
    pub fn range(self, tuple_length: usize) -> RangeInclusive<usize> {
        match self {
            Rows::Last => tuple_length..=tuple_length,
            Rows::All => 0..=tuple_length,
        }
    }

    pub fn count(self, tables: &Tables) -> usize {
        self.range(tables.tuple_length()).count()
    }
}
