//! The lists of candidates.

use crate::device::workspace;

workspace! {
    /// The lists of all queries of a launch, in all ranges of the database.
    pub struct Candidates(lists: usize, capacity: usize) {
        /// \[range\]\[query\]\[candidate\], of two words.
        candidates: u64 = (2 * lists).saturating_mul(capacity),
        counts: u32 = lists,
    }
}
