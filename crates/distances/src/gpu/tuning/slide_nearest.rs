//! The division of a search by slide distances into blocks of their matrix.

use super::nearest::SHARE;
use crate::workspace::{Selected, list_bytes};

/// The most bytes of the matrix and the lists: enough to fill a GPU with tiles.
const MOST_BYTES: u64 = 1 << 28;

/// The most queries of a block of the matrix.
const MOST_QUERIES: usize = 1 << 11;

/// The columns of a block for which there are fewer queries in it if there is little memory.
const WANTED_COLUMNS: usize = 1 << 10;

/// Columns that a block of threads reads at a time.
const STEP: usize = 1 << 10;

/// Blocks of threads that select, per multiprocessor.
const BLOCKS_PER_PROCESSOR: usize = 8;

/// The blocks of the matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// The most queries of a block.
    pub queries: usize,
    /// The most sequences of a block.
    pub columns: usize,
    /// Columns of each range but the last one.
    pub per_range: usize,
    /// Ranges of the columns of a whole block, none of which is empty.
    pub ranges: u32,
}

/// Returns the bytes that a search may take of a memory budget, if that is known, and at least
/// those of one list.
pub fn bytes(k: usize, budget: Option<u64>) -> u64 {
    let share = budget.map_or(MOST_BYTES, |budget| (budget / SHARE).min(MOST_BYTES));
    share.max(list_bytes(k))
}

impl Shape {
    /// Returns the shape of a search for `k` of `sequences` sequences, at least one each, which
    /// takes at most `bytes` bytes, at least those of [`list_bytes`].
    pub fn new(k: usize, queries: usize, sequences: usize, processors: usize, bytes: u64) -> Shape {
        let least = Selected::bytes(sequences.min(WANTED_COLUMNS), 1, k);
        let queries = (bytes / least).clamp(1, queries.min(MOST_QUERIES) as u64) as usize;
        let of_lists = |ranges: usize| Selected::bytes(0, queries * ranges, k);
        // `list_bytes` has room for some hundred distances beside k candidates.
        let columns = |ranges: usize| {
            let columns = (bytes - of_lists(ranges)) / Selected::bytes(queries, 0, 0);
            sequences.min(columns as usize)
        };
        // A quarter of the memory for lists, so that ranges do not cost columns.
        let most = ((bytes / 4 / of_lists(1)) as usize).min(columns(1).div_ceil(STEP));
        let ranges = (BLOCKS_PER_PROCESSOR * processors.max(1)).div_ceil(queries);
        let ranges = ranges.clamp(1, most.max(1));
        let columns = columns(ranges);
        let per_range = columns.div_ceil(ranges);
        Shape {
            queries,
            columns,
            per_range,
            ranges: columns.div_ceil(per_range) as u32,
        }
    }

    /// Returns how many distances a block has.
    pub fn distances(&self) -> usize {
        self.queries * self.columns
    }

    /// Returns how many lists a block has.
    pub fn lists(&self) -> usize {
        self.queries * self.ranges as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_columns_and_fit() {
        for (queries, sequences) in [
            (1, 1),
            (1, 100_000),
            (300, 5000),
            (100_000, 64),
            (9, 1 << 30),
        ] {
            for k in [1, 10, 1024] {
                for budget in [None, Some(0), Some(1 << 16), Some(1 << 22), Some(1 << 34)] {
                    let bytes = bytes(k, budget);
                    let shape = Shape::new(k, queries, sequences, 132, bytes);
                    assert!(shape.columns >= sequences.min(256), "{shape:?}");
                    assert!(shape.queries >= 1 && shape.queries <= queries);
                    let (ranges, per_range) = (shape.ranges as usize, shape.per_range);
                    assert!(ranges * per_range >= shape.columns);
                    assert!((ranges - 1) * per_range < shape.columns);
                    assert!(Selected::bytes(shape.distances(), shape.lists(), k) <= bytes);
                }
            }
        }
    }

    #[test]
    fn few_queries_have_ranges_and_many_have_wide_blocks() {
        let all = bytes(10, None);
        assert!(Shape::new(10, 1, 1_000_000, 132, all).ranges >= 900);
        let shape = Shape::new(10, 10_000, 1_000_000, 132, all);
        assert_eq!((shape.queries, shape.ranges), (MOST_QUERIES, 1));
        assert!(shape.columns > 16_000);
    }

    /// The test of kernels `over_several_devices_and_within_little_memory` needs several blocks of
    /// columns.
    #[test]
    fn little_memory_has_several_blocks_of_columns() {
        for processors in [1, 132] {
            let shape = Shape::new(6, 7, 1100, processors, bytes(6, Some(60_000)));
            assert!(shape.columns < 1100, "{shape:?}");
        }
    }
}
