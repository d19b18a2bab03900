//! What both algorithms offer: the pairs of some rows.

use crate::Result;
use crate::box_overlap::input::Boxes;

/// The second set, prepared.
pub(super) trait Finder<T>: Sync {
    /// The pairs of rows of the first set, of which the first is its row `first`. The indices of a row
    /// are in any order.
    fn find(&self, rows: Boxes<'_, T>, first: usize, wanted: Wanted) -> Result<Found>;
}

/// What of the pairs is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Counts,
    CountsAndIndices,
}

/// The pairs of some rows.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// How many pairs each row has.
    pub counts: Vec<u32>,
    /// Row after row, if wanted.
    pub indices: Vec<u32>,
}
