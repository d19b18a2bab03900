//! Launch shapes, and the largest sizes.

pub mod nearest;
pub mod slide_nearest;

use distances_kernels::{LARGEST_THREADS, TILE_ROWS};

/// The most numbers in which a block looks for the largest magnitude, which takes about 2 us. A
/// launch for that takes as long, and waiting for its result longer.
const FEW: usize = 8192;

/// The most distances that a call waits for.
const FEW_DISTANCES: usize = 1 << 18;

/// The most blocks that look for the largest magnitude of an array: enough to fill a GPU, and few
/// enough that their atomic operations do not matter.
const LARGEST_BLOCKS: usize = 1024;

/// Numbers that each of these threads looks at, if there are enough.
const LARGEST_NUMBERS: usize = 4;

/// Whether the blocks that compute distances look for the largest magnitude of all numbers
/// themselves, and the call waits for the distances.
pub fn are_few(numbers: usize, distances: usize) -> bool {
    numbers <= FEW && (1..=FEW_DISTANCES).contains(&distances)
}

/// Returns the blocks of [`LARGEST_THREADS`] threads that look for the largest magnitude: one for
/// few numbers, whose result needs no zeros to begin with.
pub fn largest_blocks(numbers: usize) -> u32 {
    if numbers <= FEW {
        return 1;
    }
    let blocks = numbers.div_ceil(LARGEST_THREADS as usize * LARGEST_NUMBERS);
    blocks.min(LARGEST_BLOCKS) as u32
}

/// Returns the tiles of an N×M result, one per block; `None` if a grid has too few blocks.
pub fn tiles(rows: usize, columns: usize, tile_columns: u32) -> Option<u32> {
    let down = rows.div_ceil(TILE_ROWS as usize);
    let across = columns.div_ceil(tile_columns as usize);
    in_grid(down.checked_mul(across)?)
}

/// Returns the tiles of an N×N result on or below the diagonal; `None` as in [`tiles`].
///
/// Rows count as a multiple of 128: a tile behind the end writes nothing.
pub fn tiles_below(rows: usize, tile_columns: u32) -> Option<u32> {
    let down = rows.div_ceil(TILE_ROWS as usize);
    let squares = down.checked_mul(down.checked_add(1)?)? / 2;
    in_grid(squares.checked_mul((TILE_ROWS / tile_columns) as usize)?)
}

/// Returns the blocks of a grid; `None` if a grid has too few.
pub fn in_grid(blocks: usize) -> Option<u32> {
    i32::try_from(blocks).ok().map(|blocks| blocks as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_cover_the_result() {
        assert_eq!(tiles(10_000, 10_000, 128), Some(79 * 79));
        assert_eq!(tiles(1, 129, 128), Some(2));
        assert_eq!(tiles(129, 1, 64), Some(2));
        assert_eq!(tiles(usize::MAX, usize::MAX, 64), None);
        assert_eq!(tiles_below(10_000, 128), Some(79 * 80 / 2));
        assert_eq!(tiles_below(10_000, 64), Some(79 * 80));
        assert_eq!(tiles_below(1 << 40, 64), None);
    }

    #[test]
    fn few_numbers_with_few_distances_are_few() {
        assert!(are_few(FEW, 1) && are_few(1, FEW_DISTANCES));
        assert!(!are_few(FEW + 1, 1) && !are_few(1, FEW_DISTANCES + 1) && !are_few(0, 0));
    }

    #[test]
    fn few_numbers_take_few_blocks() {
        assert_eq!([0, FEW, FEW + 1].map(largest_blocks), [1, 1, 9]);
        assert_eq!(largest_blocks(usize::MAX), 1024);
    }
}
