//! How the kernels of the box overlap are launched, and which algorithm is taken.

use box_overlap_kernels::{
    BRUTE_ROWS, BRUTE_THREADS, BRUTE_TILE, BUILD_THREADS, CHILDREN, MAX_LEVELS, NODE_WORDS,
    PACKET_LEVEL, SLOTS, entries, nodes,
};

/// Threads of a block that goes through rows or pairs.
pub(super) const THREADS: u32 = 256;

/// Threads of a block that searches: small, so that a long search keeps few others waiting.
pub(super) const SEARCH_THREADS: u32 = 128;

/// Blocks that go through all rows with a stride: enough to fill a GPU.
const STRIDING_BLOCKS: usize = 1024;

/// Blocks that look at the boxes: each ends with atomic operations on the same few numbers.
const EXAMINING_BLOCKS: usize = 264;

/// Blocks of warps that search for rows left to them.
const ROW_BLOCKS: usize = 1 << 15;

/// Tasks that are enough to occupy a GPU: several warps on each of some hundred multiprocessors.
const ENOUGH_TASKS: u64 = 1 << 14;

/// The subtrees that the search for a row is divided into, at most.
const MAX_SUBTREES: u32 = 1024;

/// Blocks of the brute force that are enough to fill a GPU several times over.
const BRUTE_BLOCKS: usize = 2048;

// Chunks are a grid's extent along y.
const _: () = assert!(BRUTE_BLOCKS <= 65_535);

/// Blocks for so many elements, a thread for each.
pub(super) fn blocks(elements: usize, threads: u32) -> u32 {
    elements
        .div_ceil(threads as usize)
        .clamp(1, i32::MAX as usize) as u32
}

/// Blocks that go through so many elements with a stride.
pub(super) fn striding_blocks(elements: usize) -> u32 {
    blocks(elements, THREADS).min(STRIDING_BLOCKS as u32)
}

/// Blocks that look at so many boxes, four a thread at least.
pub(super) fn examining_blocks(rows: usize) -> u32 {
    blocks(rows.div_ceil(4), THREADS).min(EXAMINING_BLOCKS as u32)
}

/// Bits of a coordinate in the keys by which boxes are sorted. A pass sorts by 8 bits; with 15 a key of three
/// coordinates has 48.
pub(super) fn key_bits(axes: u32) -> u32 {
    if axes == 3 { 15 } else { 18 }
}

/// The level of the tree's root: the lowest with a single node.
pub(super) fn root_level(leaves: u32) -> u32 {
    (0..MAX_LEVELS as u32)
        .find(|&level| nodes(leaves, level) == 1)
        .expect("the highest level has one node")
}

/// The number of nodes of a whole tree.
pub(super) fn tree_nodes(leaves: u32) -> usize {
    (0..=root_level(leaves))
        .map(|level| nodes(leaves, level) as usize)
        .sum()
}

/// Blocks that build levels over the entries of one: a multiple of four, so that the nodes of the highest one
/// are filled up.
pub(super) fn build_blocks(leaves: u32, level: u32) -> u32 {
    entries(leaves, level).div_ceil(CHILDREN * BUILD_THREADS) * CHILDREN
}

/// The level at whose nodes the tasks of rows left to warps begin: a high one if there are many rows, else
/// one with more nodes.
pub(super) fn start_level(leaves: u32, rows: u32) -> u32 {
    let is_wanted = |&level: &u32| {
        let subtrees = nodes(leaves, level);
        subtrees <= MAX_SUBTREES && u64::from(subtrees) * u64::from(rows) <= ENOUGH_TASKS
    };
    let root = root_level(leaves);
    (PACKET_LEVEL.min(root)..=root)
        .find(is_wanted)
        .unwrap_or(root)
}

/// Blocks of warps for so many tasks.
pub(super) fn row_blocks(tasks: u64) -> u32 {
    tasks
        .div_ceil(u64::from(SEARCH_THREADS / 32))
        .clamp(1, ROW_BLOCKS as u64) as u32
}

/// How the brute force divides its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BruteShape {
    /// Blocks along the first set.
    pub blocks: u32,
    /// Chunks of the second set.
    pub chunks: u32,
    /// Tiles of a chunk.
    pub tiles: u32,
}

impl BruteShape {
    pub fn new(rows1: u32, rows2: u32) -> BruteShape {
        let blocks = rows1.div_ceil(BRUTE_ROWS).max(1);
        let tiles = rows2.div_ceil(BRUTE_TILE).max(1) as usize;
        let wanted = BRUTE_BLOCKS.div_ceil(blocks as usize);
        let of_each = tiles.div_ceil(wanted);
        BruteShape {
            blocks,
            chunks: tiles.div_ceil(of_each) as u32,
            tiles: of_each as u32,
        }
    }

    /// Words of the bits that tell in which tiles warps found something.
    pub fn words(&self) -> usize {
        let warps = self.blocks as usize * (BRUTE_THREADS / 32) as usize;
        warps * self.chunks as usize * self.tiles.div_ceil(32) as usize
    }
}

/// Bytes that the brute force takes for so many boxes besides them and the pairs: codes, for each row and chunk a count
/// and a sum, a bit for each warp and tile; where rows begin.
pub(super) fn brute_bytes((rows1, rows2): (u32, u32)) -> u64 {
    let shape = BruteShape::new(rows1, rows2);
    let of_chunks = u64::from(rows1) * 12 * u64::from(shape.chunks);
    8 * (u64::from(rows1) + u64::from(rows2))
        + of_chunks
        + 4 * shape.words() as u64
        + 12 * u64::from(rows1)
        + SMALL
}

/// As many for the search in a tree: while boxes are sorted, or later, with the tree.
pub(super) fn index_bytes((rows1, rows2): (u32, u32)) -> u64 {
    let (rows1, rows2) = (u64::from(rows1), u64::from(rows2));
    let sorted = 24 * (rows1 + rows2);
    let searched = rows1 * (4 + 4 + 4 * SLOTS as u64 + 8 + 8) + 4 * rows2;
    let nodes = tree_nodes(rows2.clamp(1, u64::from(u32::MAX)) as u32) * NODE_WORDS * 4;
    sorted.max(searched + nodes as u64) + SMALL
}

/// Bytes of counters, and of counts and totals of the few blocks that sort little.
const SMALL: u64 = 4 << 10;

/// Whether testing every pair of so many boxes takes less time than building an index and searching in it.
///
/// On an H100 a test takes 0.2 to 0.7 ps, in sets too small to fill it up to 8, and the index 0.16 to 0.25 ms and
/// half a nanosecond for each box. Small sets take about the same time either way.
pub(super) fn prefers_brute_force(rows1: u32, rows2: u32) -> bool {
    let boxes = u64::from(rows1) + u64::from(rows2);
    u64::from(rows1) * u64::from(rows2) <= BRUTE_PAIRS + BRUTE_PAIRS_A_BOX * boxes
}

/// So many pairs are tested in the time that an index takes by itself.
const BRUTE_PAIRS: u64 = 1 << 25;

/// So many in the time that each box adds.
const BRUTE_PAIRS_A_BOX: u64 = 1 << 10;

/// Whether so many rows that were left to warps can have so many pairs that sorting them takes longer than
/// finding that out.
pub(super) fn may_be_dense(rows2: u32, left: u32) -> bool {
    u64::from(rows2) * u64::from(left) > 1 << 27
}

/// From each row of a sample to the next, for so many rows: about a thousand are sampled.
pub(super) fn sample_stride(rows: u32) -> u32 {
    (rows / 1024).max(1)
}

/// Whether so many of the tests find a pair that making them all takes less time than sorting the pairs. On an
/// H100 the brute force took 3.7 ps a test where 4% of the pairs overlapped, and sorting 110 ps a pair.
pub(super) fn is_dense(tests: u64, pairs: u64) -> bool {
    u128::from(pairs) * DENSE > u128::from(tests)
}

/// Pairs of rows left to warps that are sorted at a time, if no row has more: two arrays of 64 bits each.
pub(super) const MAX_KEYS: u64 = 1 << 28;

/// One pair in so many overlaps where both algorithms take the same time.
const DENSE: u128 = 28;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_have_all_levels() {
        for (leaves, root) in [
            (1, 0),
            (4, 0),
            (5, 1),
            (16, 1),
            (17, 2),
            (i32::MAX as u32, 15),
        ] {
            assert_eq!(root_level(leaves), root);
        }
        assert_eq!(tree_nodes(17), 5 + 2 + 1);
        assert_eq!(build_blocks(1, 0), 4);
        assert_eq!(build_blocks(1025, 0), 8);
        assert_eq!(build_blocks(1025, 1), 4);
    }

    #[test]
    fn few_rows_are_divided_and_many_are_not() {
        assert_eq!(start_level(1, 1), 0);
        assert_eq!(start_level(200, 1), 2);
        assert_eq!(nodes(200_000, start_level(200_000, 1)), 782);
        assert_eq!(nodes(200_000, start_level(200_000, 100)), 49);
        assert_eq!(start_level(200_000, 1 << 20), root_level(200_000));
        assert!(nodes(i32::MAX as u32, start_level(i32::MAX as u32, 1)) <= MAX_SUBTREES);
    }

    #[test]
    fn large_sets_are_indexed_unless_the_other_is_small() {
        assert!(prefers_brute_force(1, i32::MAX as u32));
        assert!(prefers_brute_force(20_000_000, 1000));
        assert!(prefers_brute_force(5_000, 5_000));
        assert!(!prefers_brute_force(8_000, 8_000));
        assert!(!prefers_brute_force(20_000_000, 2000));
        assert!(!prefers_brute_force(i32::MAX as u32, i32::MAX as u32));
    }

    #[test]
    fn samples_are_of_about_a_thousand_rows() {
        assert_eq!(sample_stride(1), 1);
        for rows in [1000, 1024, 2047, 2048, 200_000, i32::MAX as u32] {
            assert!((1000..2048).contains(&(rows / sample_stride(rows))));
        }
        assert!(is_dense(u64::MAX, u64::MAX));
        assert!(!is_dense(1_000_000, 1000));
    }

    #[test]
    fn the_brute_force_covers_all_pairs() {
        for rows1 in [1, 2048, 2049, 200_000, i32::MAX as u32] {
            for rows2 in [1, 256, 257, 200_000, i32::MAX as u32] {
                let shape = BruteShape::new(rows1, rows2);
                assert!(u64::from(shape.blocks) * u64::from(BRUTE_ROWS) >= u64::from(rows1));
                let tiles = u64::from(shape.chunks) * u64::from(shape.tiles);
                assert!(tiles * u64::from(BRUTE_TILE) >= u64::from(rows2));
                assert!(shape.chunks as usize <= BRUTE_BLOCKS);
                assert!(shape.words() > 0);
            }
        }
    }
}
