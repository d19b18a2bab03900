//! The division of a search into launches, blocks and lists.

use distances_kernels::TILE_ROWS;

use crate::workspace::{capacity, list_bytes};

/// The most bytes of all lists: enough for many ranges, and little beside a GPU's memory.
const MOST_BYTES: u64 = 1 << 30;

/// The share of the memory budget that lists may take.
pub const SHARE: u64 = 8;

/// The most queries of a launch.
const MOST_QUERIES: usize = 1 << 14;

/// Blocks that run on a multiprocessor at a time.
const BLOCKS_PER_PROCESSOR: usize = 2;

/// Blocks that may follow each other on a multiprocessor: more do not make it busier.
const ROUNDS: usize = 4;

/// The share of the multiprocessors' time that more ranges have to save.
const WORTHWHILE: f64 = 0.02;

/// The shape of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Candidates of a list.
    pub capacity: u32,
    /// The most queries of a launch.
    pub queries: usize,
    /// Ranges of the database, none of which is empty.
    pub ranges: u32,
    /// Tiles of each range but the last.
    pub tiles: u32,
}

/// Returns the memory budget of which `lists` lists take their share.
pub fn budget_for(k: usize, lists: usize) -> u64 {
    list_bytes(k) * lists as u64 * SHARE
}

impl Shape {
    /// Returns the shape of a search of k rows on a device of `processors` multiprocessors with a
    /// memory budget of `budget` bytes, if that is known; `None` if there are more tiles than kernels count.
    pub fn new(
        k: usize,
        queries: usize,
        rows: usize,
        tile_columns: u32,
        processors: usize,
        budget: Option<u64>,
    ) -> Option<Shape> {
        let bytes = budget.map_or(MOST_BYTES, |budget| (budget / SHARE).min(MOST_BYTES));
        let lists = (bytes / list_bytes(k)).max(1) as usize;
        let queries = queries.min(MOST_QUERIES).min(lists);
        let query_tiles = queries.div_ceil(TILE_ROWS as usize);
        let tiles = rows.div_ceil(tile_columns as usize);
        i32::try_from(tiles).ok()?;
        let slots = processors.max(1) * BLOCKS_PER_PROCESSOR;
        let most = (ROUNDS * slots)
            .div_ceil(query_tiles)
            .min(lists / queries)
            .clamp(1, tiles);
        let (mut best, mut best_busy) = (1, 0.0);
        for ranges in 1..=most {
            // A range is as long as the longest one, and the last round as long as a full one.
            let per_range = tiles.div_ceil(ranges);
            let rounds = (query_tiles * tiles.div_ceil(per_range)).div_ceil(slots);
            let busy = (query_tiles * tiles) as f64 / (rounds * slots * per_range) as f64;
            if busy > best_busy + WORTHWHILE {
                (best, best_busy) = (ranges, busy);
            }
        }
        let tiles_per_range = tiles.div_ceil(best);
        Some(Shape {
            capacity: capacity(k) as u32,
            queries,
            ranges: tiles.div_ceil(tiles_per_range) as u32,
            tiles: tiles_per_range as u32,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_multiprocessors_are_busy() {
        // 79 tiles of queries in 10 ranges are 790 blocks, three rounds of 264.
        let shape = Shape::new(10, 10_000, 10_000_000, 128, 132, None).unwrap();
        assert_eq!((shape.ranges, shape.queries), (10, 10_000));
        let shape = Shape::new(10, 1, 10_000_000, 128, 132, None).unwrap();
        assert!(shape.ranges >= 264);
        let shape = Shape::new(10, 1_000_000, 1000, 128, 132, None).unwrap();
        assert_eq!(shape.queries, MOST_QUERIES);
    }

    #[test]
    fn ranges_cover_the_database_and_lists_fit() {
        for (queries, rows) in [(1, 1), (1, 129), (300, 5000), (20_000, 64), (5, 100_000)] {
            for k in [1, 10, 1000] {
                for budget in [None, Some(0), Some(1 << 20), Some(1 << 34)] {
                    let shape = Shape::new(k, queries, rows, 64, 132, budget).unwrap();
                    let tiles = rows.div_ceil(64);
                    let (ranges, per_range) = (shape.ranges as usize, shape.tiles as usize);
                    assert!(ranges * per_range >= tiles && (ranges - 1) * per_range < tiles);
                    let bytes = (shape.queries * ranges) as u64 * list_bytes(k);
                    let most = budget.map_or(MOST_BYTES, |budget| budget / SHARE);
                    assert!(shape.queries >= 1 && bytes <= most.max(list_bytes(k)));
                }
            }
        }
        assert_eq!(Shape::new(1, 1, usize::MAX, 64, 132, None), None);
        let few = Shape::new(10, 10_000, 1_000_000, 128, 132, Some(budget_for(10, 300))).unwrap();
        assert!(few.queries * few.ranges as usize <= 300);
    }
}
