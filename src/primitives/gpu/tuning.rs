//! How the kernels of the primitives are launched.

use primitives_kernels::{SCAN_TILE, SORT_TILE};

/// The most blocks of a prefix sum: each block reads the totals of all lower blocks.
const MAX_SCAN_BLOCKS: usize = 1024;

/// The most blocks of a pass of radix sort: each block adds 256 counts. The largest GPUs run about
/// this number of blocks at a time.
const MAX_SORT_BLOCKS: usize = 1024;

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

    pub fn sort(keys: usize) -> Shape {
        Shape::new(keys, SORT_TILE, MAX_SORT_BLOCKS)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_all_elements() {
        for elements in [0, 1, 2048, 2049, 1 << 20, 5_000_000, 1 << 32] {
            for (shape, tile, most) in [
                (Shape::scan(elements), SCAN_TILE, MAX_SCAN_BLOCKS),
                (Shape::sort(elements), SORT_TILE, MAX_SORT_BLOCKS),
            ] {
                let capacity = |blocks: u32| blocks as usize * shape.tiles as usize * tile as usize;
                assert!(capacity(shape.blocks) >= elements && shape.blocks >= 1);
                assert!(shape.blocks == 1 || capacity(shape.blocks - 1) < elements);
                assert!(shape.blocks as usize <= most);
            }
        }
    }
}
