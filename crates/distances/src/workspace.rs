//! Temporary buffers of a search, and how many bytes its shortest list takes.

use distances_kernels::{MAX_CANDIDATES, TILE_ROWS};
use gridstride_runtime::device::workspace;

workspace! {
    /// The lists of all queries of a launch, in all ranges of the database.
    pub struct Candidates(lists: usize, capacity: usize) {
        /// \[range\]\[query\]\[candidate\], of two words.
        candidates: u64 = (2 * lists).saturating_mul(capacity),
        counts: u32 = lists,
    }
}

workspace! {
    /// The slide distances of a block of queries to a block of sequences, and the nearest sequences
    /// so far: a list of k candidates for each query in each range of the block's columns.
    pub struct Selected(distances: usize, lists: usize, k: usize) {
        /// Row-major.
        matrix: f64 = distances,
        /// \[range\]\[query\]\[candidate\], of two words.
        candidates: u64 = (2 * lists).saturating_mul(k),
        counts: u32 = lists,
    }
}

/// The least candidates of a list beyond k: two tiles of them.
const LEAST_ROOM: usize = 2 * TILE_ROWS as usize;

/// Returns the candidates of a list, a power of two for the sort.
pub fn capacity(k: usize) -> usize {
    let capacity = k.saturating_add(LEAST_ROOM).min(MAX_CANDIDATES as usize);
    capacity.next_power_of_two()
}

/// Returns the bytes of a list and its count.
pub fn list_bytes(k: usize) -> u64 {
    Candidates::bytes(1, capacity(k))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_hold_the_nearest_and_a_tile() {
        for k in [1, 10, 256, 257, 768, 1024] {
            let capacity = capacity(k);
            assert!(capacity.is_power_of_two() && capacity <= MAX_CANDIDATES as usize);
            assert!(capacity >= k + TILE_ROWS as usize, "{k}");
        }
        assert_eq!([10, 257, 1024].map(capacity), [512, 1024, 2048]);
    }
}
