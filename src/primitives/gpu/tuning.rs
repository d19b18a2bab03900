//! How the kernels of the primitives are launched.

use primitives_kernels::{SCAN_TILE, SORT_TILE};

/// Blocks of a prefix sum at most: each of them reads the sums of all lower ones.
const MAX_SCAN_BLOCKS: usize = 1024;

/// Blocks of a pass of radix sort at most: for each there are 256 counts to be added up. The largest GPUs
/// run about as many at a time.
const MAX_SORT_BLOCKS: usize = 1024;

/// Blocks that share tiles, and how many each has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parts {
    pub blocks: u32,
    pub tiles: u32,
}

impl Parts {
    pub fn of_scan(values: usize) -> Parts {
        Parts::of(values, SCAN_TILE, MAX_SCAN_BLOCKS)
    }

    pub fn of_sort(keys: usize) -> Parts {
        Parts::of(keys, SORT_TILE, MAX_SORT_BLOCKS)
    }

    /// Of at most 2⁵² elements.
    fn of(elements: usize, tile: u32, max_blocks: usize) -> Parts {
        let tiles = elements.div_ceil(tile as usize).max(1);
        let of_each = tiles.div_ceil(max_blocks);
        Parts {
            blocks: tiles.div_ceil(of_each) as u32,
            tiles: of_each as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_all_elements() {
        for elements in [0, 1, 2048, 2049, 1 << 20, 5_000_000, 1 << 32] {
            for (parts, tile, most) in [
                (Parts::of_scan(elements), SCAN_TILE, MAX_SCAN_BLOCKS),
                (Parts::of_sort(elements), SORT_TILE, MAX_SORT_BLOCKS),
            ] {
                let capacity = |blocks: u32| blocks as usize * parts.tiles as usize * tile as usize;
                assert!(capacity(parts.blocks) >= elements && parts.blocks >= 1);
                assert!(parts.blocks == 1 || capacity(parts.blocks - 1) < elements);
                assert!(parts.blocks as usize <= most);
            }
        }
    }
}
