//! How the kernels of the box overlap are launched, and which algorithm is taken.

use box_overlap_kernels::{
    BRUTE_ROWS, BRUTE_THREADS, BRUTE_TILE, BUILD_THREADS, CHILDREN, MAX_LEVELS, PACKET_LEVEL,
    entries, nodes,
};

use crate::box_overlap::options::Algorithm;

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

/// Whether an algorithm begins with testing every pair.
pub(super) fn tests_every_pair(algorithm: Algorithm, rows1: u32, rows2: u32) -> bool {
    match algorithm {
        Algorithm::Auto => prefers_brute_force(rows1, rows2),
        algorithm => algorithm == Algorithm::BruteForce,
    }
}

/// Whether testing every pair takes less time than building an index and searching in it, if few pairs overlap.
///
/// On an H100 a test takes 0.2 to 0.7 ps, in sets too small to fill it up to 8, and the index 0.16 to 0.25 ms and
/// half a nanosecond for each box. Up to 10 000 boxes in each set take about the same time either way, if few of them
/// overlap and the way through the tree is short; with many pairs, or a long way, the index takes up to six times as
/// long.
fn prefers_brute_force(rows1: u32, rows2: u32) -> bool {
    let boxes = u64::from(rows1) + u64::from(rows2);
    u64::from(rows1) * u64::from(rows2) <= BRUTE_PAIRS + BRUTE_PAIRS_A_BOX * boxes
}

/// So many pairs are tested in the time that an index takes by itself.
const BRUTE_PAIRS: u64 = 1 << 27;

/// So many in the time that each box adds.
const BRUTE_PAIRS_A_BOX: u64 = 1 << 10;

// Whether to stay with the index
//
// The index leaves rows with many pairs, or a long way through the tree, to warps, which search twice for them: to
// count the pairs, and to write them as keys to be sorted. Rows that are not left cost little. So once the first
// stage has told how many rows are left, testing every pair is compared with what the index still has to do, by the
// times below. They are of an H100 and of `f32`, in picoseconds, and within about a factor of 2
// of what was measured there. Launches and waits take about 0.13 ms either way, and are left out.
//
// Trying the index first costs at most as much as testing every pair if few of them overlap, or the set would
// have gone to the brute force at once; a sample costs some 25 us. Where pairs overlap, testing takes longer, so that
// `Auto` takes at most about twice as long as the faster of the two.

/// A test of two boxes by their codes: 7.62 ms for 4·10¹⁰ of welds and pipes, 14.3 at random places.
const CODE_TEST: f64 = 0.4;

/// A pair that the brute force finds and writes, while few of a row's tests do: 5.82 ms for 1.6·10⁹ tests and
/// 64 M pairs, 36.5 ms for 10¹⁰ and 403 M.
const BRUTE_PAIR: f64 = 85.0;

/// A test in rows that warps write, since many of their tests find a pair: 11.9 ms for 1.6·10⁹.
const DENSE_TEST: f64 = 7.0;

/// A step of a warp on its way through the tree: 42 accesses of 128 bytes to the cache of a multiprocessor, at one in a
/// cycle.
const STEP: f64 = 200.0;

/// Leaves that a warp tests in a step, and so the most pairs that it finds.
const LEAVES_A_STEP: f64 = 32.0;

/// A pair that is written as a key, sorted, and written to its row: what is left of 138 ms for 1.6·10⁹ pairs.
const SORTED_PAIR: f64 = 75.0;

/// The time of `tests` tests of two boxes that find and write `pairs` pairs.
pub(super) fn brute_force_time(tests: u64, pairs: u64) -> f64 {
    let (tests, pairs) = (tests as f64, pairs as f64);
    tests * CODE_TEST + (pairs * BRUTE_PAIR).min(tests * DENSE_TEST)
}

/// What warps have to do for the rows that were left to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Work {
    /// Steps on the way through the tree.
    pub steps: u64,
    /// Pairs that they find.
    pub pairs: u64,
}

impl Work {
    /// The work for all rows, of which one in `stride` was a sample.
    pub fn times(self, stride: u32) -> Work {
        Work {
            steps: self.steps * u64::from(stride),
            pairs: self.pairs * u64::from(stride),
        }
    }

    /// The time of counting the pairs and of writing them.
    pub fn time(self) -> f64 {
        self.steps as f64 * STEP + self.time_after_counting()
    }

    /// The time of writing the pairs, with as many steps as they take at least.
    pub fn time_after_counting(self) -> f64 {
        let pairs = self.pairs as f64;
        pairs * SORTED_PAIR + (self.steps as f64).max(pairs / LEAVES_A_STEP) * STEP
    }
}

/// From each row of a sample of the rows left to warps to the next, if a sample is to be taken: unless it is most of
/// the rows, or counting the pairs of all of them takes no longer than to wait for the sample.
pub(super) fn sample_stride(rows2: u32, left: u32) -> Option<u32> {
    let stride = left / SAMPLED_ROWS;
    let is_quick = u64::from(left) * u64::from(rows2) <= QUICK_TESTS;
    (stride > 1 && !is_quick).then_some(stride)
}

/// Rows of a sample, about.
const SAMPLED_ROWS: u32 = 256;

/// Tests of leaves that warps make in about 25 us.
const QUICK_TESTS: u64 = 1 << 22;

/// Blocks that search for the rows of a sample: few, as each warp adds to the same two numbers in the end.
pub(super) fn sample_blocks(tasks: u64) -> u32 {
    row_blocks(tasks).min(STRIDING_BLOCKS as u32)
}

/// Pairs of rows left to warps that are sorted at a time, if no row has more: two arrays of 64 bits each.
pub(super) const MAX_KEYS: u64 = 1 << 28;

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
        assert!(prefers_brute_force(10_000, 10_000));
        assert!(!prefers_brute_force(15_000, 15_000));
        assert!(!prefers_brute_force(20_000_000, 2000));
        assert!(!prefers_brute_force(i32::MAX as u32, i32::MAX as u32));
    }

    #[test]
    fn samples_are_of_some_hundred_rows() {
        let most = i32::MAX as u32;
        for rows in [512, 1000, 200_000, most] {
            let stride = sample_stride(most, rows).unwrap();
            assert!((256..512).contains(&(rows / stride)), "{rows}");
        }
        // Most of the rows, and few tests.
        assert_eq!(sample_stride(most, 511), None);
        assert_eq!(sample_stride(1 << 12, 1 << 10), None);
        assert_eq!(sample_stride(10_000, 10_000), Some(39));
    }

    /// Rows of "Other boxes" in BENCHMARKS.md, some of which are left to warps, as an H100 measured them: boxes of each
    /// set, pairs, and the milliseconds of both algorithms. In all but the giants' row nearly all pairs are in rows that are left.
    const MEASURED: [(u64, u64, f64, f64); 5] = [
        (10_000, 100_000_000, 1.13, 8.89),
        (40_000, 1_600_000_000, 11.9, 138.0),
        (40_000, 64_000_000, 5.82, 7.89),
        (100_000, 403_000_000, 36.5, 50.5),
        (200_000, 220_000, 15.3, 0.422),
    ];

    /// The least work that finds so many pairs.
    fn least_work(pairs: u64) -> Work {
        Work {
            steps: pairs / 32,
            pairs,
        }
    }

    #[test]
    fn times_are_within_twice_those_measured() {
        // Until the rows are left, an index takes 0.17 ms and half a nanosecond for each box. Launches of the brute force
        // take 0.13 ms.
        for (boxes, pairs, brute_force, indexed) in MEASURED {
            let modelled = [
                0.13 + brute_force_time(boxes * boxes, pairs) * 1e-9,
                0.17 + boxes as f64 * 1e-6 + least_work(pairs).time() * 1e-9,
            ];
            for (modelled, measured) in modelled.into_iter().zip([brute_force, indexed]) {
                let ratio = modelled / measured;
                assert!(
                    (0.5..2.0).contains(&ratio),
                    "{boxes}: {modelled} for {measured} ms"
                );
            }
        }
    }

    #[test]
    fn auto_takes_at_most_twice_as_long_as_the_faster_algorithm() {
        for (boxes, pairs, brute_force, indexed) in MEASURED {
            let tests = boxes * boxes;
            let auto = if least_work(pairs).time() > brute_force_time(tests, pairs) {
                // The index, a sample, and all tests.
                0.17 + boxes as f64 * 1e-6 + 0.03 + brute_force
            } else {
                indexed + 0.03
            };
            let ratio = auto / brute_force.min(indexed);
            assert!(ratio < 2.0, "{boxes}, {pairs}: {auto} ms");
        }
    }

    #[test]
    fn long_ways_count_where_few_boxes_overlap() {
        // Sticks through everything: each row tests all leaves, and finds nothing.
        let tests = 10_000u64 * 10_000;
        let work = Work {
            steps: tests / 32,
            pairs: 0,
        };
        assert!(work.time() > brute_force_time(tests, 0));
        // Sticks a tenth as long: a thousand steps for each of 2000 rows.
        let tests = 200_000u64 * 200_000;
        let work = Work {
            steps: 2_000_000,
            pairs: 40_000,
        };
        assert!(work.time() < brute_force_time(tests, 440_000));
        assert_eq!(work.times(3).steps, 6_000_000);
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
