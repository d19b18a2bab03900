//! How the kernels of the primitives are launched.

use gridstride_runtime::device::LaunchConfig;
use primitives_kernels::{
    LONG_SORT_TILE, SCAN_TILE, SHORT_SORT_TILE, SORT_THREADS, TOTALS_PER_THREAD, TOTALS_THREADS,
    sort_bytes,
};

/// The most blocks of a prefix sum: each block reads the totals of all lower blocks.
const MAX_SCAN_BLOCKS: usize = 1024;

/// The most blocks that count digits: each adds up to 2048 totals.
const MAX_TOTALS_BLOCKS: usize = 528;

/// Fewer keys than this are sorted in short tiles: long ones would not occupy a large GPU twice.
const SHORT_SORT: usize = 1 << 21;

/// The number of blocks, and of consecutive tiles per block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub blocks: u32,
    pub tiles: u32,
}

impl Shape {
    pub fn scan(values: usize) -> Shape {
        Shape::new(values, SCAN_TILE, MAX_SCAN_BLOCKS)
    }

    /// Covers at most 2⁵² elements.
    fn new(elements: usize, tile: u32, max_blocks: usize) -> Shape {
        let tiles = elements.div_ceil(tile as usize).max(1);
        let per_block = tiles.div_ceil(max_blocks);
        Shape {
            blocks: tiles.div_ceil(per_block) as u32,
            tiles: per_block as u32,
        }
    }
}

/// Returns how the digits of at least one key are counted.
pub(super) fn totals(keys: usize) -> LaunchConfig {
    let tiles = keys.div_ceil((TOTALS_THREADS * TOTALS_PER_THREAD) as usize);
    LaunchConfig::new(tiles.min(MAX_TOTALS_BLOCKS) as u32, TOTALS_THREADS)
}

/// How the passes of a radix sort are launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SortShape {
    /// Long tiles, for many keys.
    Long,
    /// Short tiles, of which more run at a time.
    Short,
}

impl SortShape {
    /// Chooses for a number of keys and the most shared memory of a block.
    ///
    /// By a prototype in CUDA C++ on an H200: 4·10⁵ pairs take 38 us in three passes with short
    /// tiles, and 40 with long ones. 10⁸ pairs take 7.3 ms in eight passes with long tiles, and 8.1
    /// with tiles of 4608.
    pub fn new(keys: usize, shared_bytes: u32) -> SortShape {
        let is_short = keys < SHORT_SORT || sort_bytes(LONG_SORT_TILE, true) > shared_bytes;
        match is_short {
            true => SortShape::Short,
            false => SortShape::Long,
        }
    }

    /// Returns the keys of a tile.
    pub fn tile(self) -> u32 {
        match self {
            SortShape::Long => LONG_SORT_TILE,
            SortShape::Short => SHORT_SORT_TILE,
        }
    }

    /// Returns the tiles of at most 2³² keys.
    pub fn tiles(self, keys: usize) -> u32 {
        keys.div_ceil(self.tile() as usize) as u32
    }

    /// Returns the launch of a pass.
    pub fn config(self, keys: usize, with_values: bool) -> LaunchConfig {
        LaunchConfig::new(self.tiles(keys), SORT_THREADS)
            .with_shared_bytes(sort_bytes(self.tile(), with_values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_all_elements() {
        for elements in [0, 1, 2048, 2049, 1 << 20, 5_000_000, 1 << 32] {
            let shape = Shape::scan(elements);
            let capacity = |blocks: u32| blocks as usize * (shape.tiles * SCAN_TILE) as usize;
            assert!(capacity(shape.blocks) >= elements && shape.blocks >= 1);
            assert!(shape.blocks == 1 || capacity(shape.blocks - 1) < elements);
            assert!(shape.blocks as usize <= MAX_SCAN_BLOCKS);
        }
    }

    #[test]
    fn tiles_have_all_keys() {
        for shape in [SortShape::Long, SortShape::Short] {
            let tile = shape.tile() as usize;
            for (keys, tiles) in [(1, 1), (tile, 1), (tile + 1, 2), (10 * tile, 10)] {
                assert_eq!(shape.tiles(keys), tiles);
                assert_eq!(shape.config(keys, true).grid.x, tiles);
            }
            // All keys, also those of the last tile.
            assert!(u64::from(shape.tiles(1 << 32)) * tile as u64 >= 1 << 32);
        }
        assert_eq!(totals(1).grid.x, 1);
        assert_eq!(totals(1 << 32).grid.x, MAX_TOTALS_BLOCKS as u32);
    }

    #[test]
    fn tiles_fit_every_gpu() {
        assert!(sort_bytes(SHORT_SORT_TILE, true) <= 64 << 10);
        assert_eq!(SortShape::new(100_000_000, 64 << 10), SortShape::Short);
        // Compute capability 8.6.
        assert_eq!(SortShape::new(100_000_000, 99 << 10), SortShape::Long);
        assert_eq!(SortShape::new(400_000, 227 << 10), SortShape::Short);
    }
}
