//! Which tile of C a block has.

use cuda_std::prelude::*;

/// Tiles in a column that blocks of neighbouring numbers take before they go on to the next column:
/// what runs at the same time then shares tiles of A and B in the cache.
const GROUP: u32 = 8;

/// Row and column of the first element of this block's tile, of `rows`×`columns` elements.
#[inline(always)]
pub fn first_element(m: u32, n: u32, rows: u32, columns: u32) -> (u32, u32) {
    let (down, across) = (m.div_ceil(rows), n.div_ceil(columns));
    let (row, column) = place_in_groups(GROUP, thread::block_idx_x(), down, across);
    (row * rows, column * columns)
}

/// Where tile number `tile` is in a matrix of `down`×`across` tiles, of which `group` in a column
/// have neighbouring numbers.
#[inline(always)]
pub fn place_in_groups(group: u32, tile: u32, down: u32, across: u32) -> (u32, u32) {
    let of_group = group * across;
    let first = tile / of_group * group;
    let height = group.min(down - first);
    let within = tile % of_group;
    (first + within % height, within / height)
}
