//! Launch shapes of the kernels, and the choice of the algorithm.

use box_overlap_kernels::{
    BRUTE_ROWS, BRUTE_THREADS, BRUTE_TILE, BUILD_THREADS, FEW_ROWS, FEW_WORDS, MAX_LEVELS,
    PACKET_LEVEL, entries, nodes,
};

use super::options::Algorithm;

/// Threads of a block that loops over rows or pairs.
pub const THREADS: u32 = 256;

/// Threads of a block that searches: few, so that a long search blocks few other warps.
pub const SEARCH_THREADS: u32 = 128;

/// Blocks of a grid-stride loop: enough to fill a GPU.
const STRIDING_BLOCKS: usize = 1024;

/// Blocks that examine the boxes: each ends with atomic operations on the same few counters.
const EXAMINING_BLOCKS: usize = 264;

/// Blocks of warps that search for the rows left to them.
const ROW_BLOCKS: usize = 1 << 15;

/// Tasks that occupy a GPU: several warps on each of some hundred multiprocessors.
const ENOUGH_TASKS: u64 = 1 << 14;

/// The most subtrees that the search for a row is divided into.
const MAX_SUBTREES: u32 = 1024;

/// Blocks of the brute force that fill a GPU several times over.
const BRUTE_BLOCKS: usize = 2048;

// Chunks are a grid's extent along y.
const _: () = assert!(BRUTE_BLOCKS <= 65_535);

/// Returns the blocks for `elements` elements, with one thread for each.
pub fn blocks(elements: usize, threads: u32) -> u32 {
    let blocks = elements.div_ceil(threads as usize);
    blocks.clamp(1, i32::MAX as usize) as u32
}

/// Returns the blocks of a grid-stride loop over `elements` elements.
pub fn striding_blocks(elements: usize) -> u32 {
    blocks(elements, THREADS).min(STRIDING_BLOCKS as u32)
}

/// Returns the blocks that examine boxes, at least four per thread.
pub fn examining_blocks(rows: usize) -> u32 {
    blocks(rows.div_ceil(4), THREADS).min(EXAMINING_BLOCKS as u32)
}

/// Returns the bits of a coordinate in the sort keys of boxes. A pass sorts by 8 bits; with 15 bits
/// a key of three coordinates has 48.
pub fn key_bits(axes: u32) -> u32 {
    if axes == 3 { 15 } else { 18 }
}

/// Returns the level of the tree's root: the lowest level with a single node.
pub fn root_level(leaves: u32) -> u32 {
    (0..MAX_LEVELS as u32)
        .find(|&level| nodes(leaves, level) == 1)
        .expect("the highest level has one node")
}

/// Returns the words of a tree.
pub fn tree_words(leaves: u32) -> usize {
    box_overlap_kernels::tree_words(leaves, root_level(leaves))
}

/// Returns the blocks that build levels over the entries of a level.
pub fn build_blocks(leaves: u32, level: u32) -> u32 {
    entries(leaves, level).div_ceil(BUILD_THREADS)
}

/// Returns the level at whose nodes the tasks of rows left to warps begin: a high level if there
/// are many rows, else a level with more nodes.
pub fn start_level(leaves: u32, rows: u32) -> u32 {
    let is_wanted = |&level: &u32| {
        let subtrees = nodes(leaves, level);
        subtrees <= MAX_SUBTREES && u64::from(subtrees) * u64::from(rows) <= ENOUGH_TASKS
    };
    let root = root_level(leaves);
    (PACKET_LEVEL.min(root)..=root)
        .find(is_wanted)
        .unwrap_or(root)
}

pub fn row_blocks(tasks: u64) -> u32 {
    let blocks = tasks.div_ceil(u64::from(SEARCH_THREADS / 32));
    blocks.clamp(1, ROW_BLOCKS as u64) as u32
}

/// How the brute force divides its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BruteShape {
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
        let all_tiles = rows2.div_ceil(BRUTE_TILE).max(1) as usize;
        let tiles = all_tiles.div_ceil(BRUTE_BLOCKS.div_ceil(blocks as usize));
        BruteShape {
            blocks,
            chunks: all_tiles.div_ceil(tiles) as u32,
            tiles: tiles as u32,
        }
    }

    /// Returns the words of the bits that tell in which tiles warps found pairs.
    pub fn words(&self) -> usize {
        let warps = self.blocks as usize * (BRUTE_THREADS / 32) as usize;
        warps * self.chunks as usize * self.tiles.div_ceil(32) as usize
    }
}

/// Whether one block of threads searches among so few boxes.
///
/// 2¹⁸ pairs take a call 66 us, 10⁴ pairs 21. The other searches have nine launches and more, and
/// take 80 at least.
pub fn are_few(algorithm: Algorithm, rows1: u32, rows2: u32) -> bool {
    let words = u64::from(rows1) * u64::from(rows2.div_ceil(32));
    let fits = rows1.max(rows2) <= FEW_ROWS && words <= u64::from(FEW_WORDS);
    algorithm == Algorithm::Auto && fits
}

/// Returns the pairs for which a search among few boxes has room at once.
pub fn few_pairs(rows1: usize, rows2: usize) -> usize {
    /// Pairs of a box that are not unusual.
    const PAIRS: usize = 8;
    (PAIRS * rows1.max(rows2)).min(rows1 * rows2)
}

/// Whether an algorithm begins with testing every pair.
pub fn tests_every_pair(algorithm: Algorithm, rows1: u32, rows2: u32) -> bool {
    match algorithm {
        Algorithm::Auto => prefers_brute_force(rows1, rows2),
        algorithm => algorithm == Algorithm::BruteForce,
    }
}

/// Whether testing every pair takes less time than building an index and searching it, if few pairs
/// overlap: the smaller set must be small, and the other one large.
fn prefers_brute_force(rows1: u32, rows2: u32) -> bool {
    first_brute_force_time(rows1, rows2) < first_index_time(rows1, rows2)
}

/// The fewest rows of a chunk that is searched while others are copied: the bus takes 0.1 ms for as
/// many boxes, and so does the search, with its dozen launches.
const CHUNK_ROWS: usize = 1 << 18;
/// The most chunks: the last one is searched after all copies, but neighbouring rows of a large chunk
/// are nearer to each other, and read the same nodes of the tree.
const CHUNKS: usize = 4;

/// Returns the rows of each chunk of the first set, if its chunks are searched while others are
/// copied: in the index, of large sets.
pub fn chunk_rows(algorithm: Algorithm, rows1: usize, rows2: usize) -> Option<usize> {
    let chunks = (rows1 / CHUNK_ROWS).min(CHUNKS);
    let is_large = chunks >= 2 && rows2 >= CHUNK_ROWS;
    let is_indexed = is_large && !tests_every_pair(algorithm, rows1 as u32, rows2 as u32);
    is_indexed.then(|| rows1.div_ceil(chunks))
}

/// A chunk may leave one in so many rows to warps without a choice of the algorithm for all rows.
const FEW_LEFT: usize = 256;
// Even if these rows overlap everything, their searches take less than testing every pair.
const _: () = assert!(STEP / LEAVES_A_STEP < CODE_TEST * FEW_LEFT as f64);

/// Returns the number of a chunk's rows that may be left to warps.
pub fn few_left(chunk: usize) -> usize {
    chunk.div_ceil(FEW_LEFT)
}

// Times in picoseconds if few pairs overlap, within 40% of those measured on an H200. Both have
// launches and a wait for the number of pairs.

/// The brute force of a tile of boxes, which takes the same time in a small set as in a large one, in
/// which all multiprocessors have tiles.
const TILE: f64 = 60e6;

/// Returns the time of testing every pair.
fn first_brute_force_time(rows1: u32, rows2: u32) -> f64 {
    const LAUNCHES: f64 = 65e6;
    const BOX: f64 = 80.0;
    /// Of welds and pipes. Boxes at random places take twice as long.
    const TEST: f64 = 0.2;
    let [rows1, rows2] = [rows1, rows2].map(f64::from);
    let tile = (rows2 / f64::from(BRUTE_TILE)).min(1.0);
    LAUNCHES + TILE * tile + BOX * (rows1 + rows2) + TEST * rows1 * rows2
}

/// Returns the time of an index and its search. A search is short if one set is small: the tree is
/// low, or the queries are few.
fn first_index_time(rows1: u32, rows2: u32) -> f64 {
    const LAUNCHES: f64 = 90e6;
    const BOX: f64 = 130.0;
    const SEARCH: f64 = 300.0;
    let [least, most] = [rows1.min(rows2), rows1.max(rows2)].map(f64::from);
    LAUNCHES + BOX * (least + most) + SEARCH * least
}

// Whether to stay with the index
//
// The index leaves rows with many pairs, or a long path through the tree, to warps, which search
// twice for them: to count the pairs, and to write the pairs as keys to be sorted. Other rows cost
// little. Once the first stage has told how many rows are left, the time of testing every pair is
// compared with that of the index's remaining work, by the times below. They are of an H200 and of
// `f32`, in picoseconds, and within about a factor of 2 of measurements there. Launches and waits
// take about 0.1 ms either way, and are left out.
//
// Trying the index first costs at most as much as testing every pair if few pairs overlap, or the
// choice would have been brute force at once; a sample costs some 25 us. Where pairs overlap,
// testing takes longer, so `Auto` takes at most about twice as long as the faster algorithm.

/// A test of two boxes by their codes: 7.62 ms for 4·10¹⁰ of welds and pipes, 14.4 at random
/// places.
const CODE_TEST: f64 = 0.4;

/// A pair that the brute force finds and writes, if few of a row's tests find a pair: 5.20 ms for
/// 1.6·10⁹ tests and 64 M pairs, 31.9 ms for 10¹⁰ and 403 M.
const BRUTE_PAIR: f64 = 70.0;

/// A test in rows that warps write, since many of their tests find a pair: 11.9 ms for 1.6·10⁹.
const DENSE_TEST: f64 = 7.0;

/// The same in one tile, where few tiles leave most multiprocessors idle: 0.37 to 0.92 ms for 600
/// to 4000 equal boxes in each set.
const TILE_TEST: f64 = 1400.0;

/// A step of a warp on its path through the tree: 42 accesses of 128 bytes to the cache of a
/// multiprocessor, one per cycle.
const STEP: f64 = 200.0;

/// Leaves that a warp tests in a step, and so the most pairs that it finds.
const LEAVES_A_STEP: f64 = 32.0;

/// A pair that is written as a key, sorted, and written to its row: the rest of 84 ms for 1.6·10⁹
/// pairs.
const SORTED_PAIR: f64 = 40.0;

/// Returns the time of testing every pair of two sets, or of one set `above` the diagonal, and of
/// writing `pairs` pairs.
pub fn brute_force_time(rows1: u32, rows2: u32, above: u32, pairs: u64) -> f64 {
    let all = f64::from(rows1) * f64::from(rows2);
    let tests = all / f64::from(1u32 << above);
    let pairs = pairs as f64;
    let of_tile = f64::from(rows1.min(BRUTE_ROWS)) * f64::from(rows2.min(BRUTE_TILE));
    let tile = of_tile * (pairs / tests.max(1.0)) * TILE_TEST;
    let written = (pairs * BRUTE_PAIR).min(tests * DENSE_TEST);
    TILE + (tests * CODE_TEST + written).max(tile)
}

/// The work of warps for the rows left to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Steps on the paths through the tree.
    pub steps: u64,
    /// Pairs found.
    pub pairs: u64,
}

impl Work {
    /// Returns the work for all rows, if this is the work for a sample of one row in `stride`.
    pub fn times(self, stride: u32) -> Work {
        Work {
            steps: self.steps * u64::from(stride),
            pairs: self.pairs * u64::from(stride),
        }
    }

    /// Returns the time of counting and writing the pairs.
    pub fn time(self) -> f64 {
        self.steps as f64 * STEP + self.time_after_counting()
    }

    /// Returns the time of writing the pairs, which take a minimum number of steps.
    pub fn time_after_counting(self) -> f64 {
        let pairs = self.pairs as f64;
        pairs * SORTED_PAIR + (self.steps as f64).max(pairs / LEAVES_A_STEP) * STEP
    }
}

/// Returns the stride of a sample of the rows left to warps. Returns `None` if the sample would
/// have most of the rows, or if counting the pairs of all rows takes no longer than waiting for the
/// sample.
pub fn sample_stride(rows2: u32, left: u32) -> Option<u32> {
    /// The approximate size of a sample.
    const SAMPLED_ROWS: u32 = 256;
    /// Tests of leaves that warps run in about 30 us.
    const QUICK_TESTS: u64 = 1 << 20;
    let stride = left / SAMPLED_ROWS;
    let is_quick = u64::from(left) * u64::from(rows2) <= QUICK_TESTS;
    (stride > 1 && !is_quick).then_some(stride)
}

/// Returns the blocks that search for the rows of a sample: few, as each warp adds to the same two
/// counters.
pub fn sample_blocks(tasks: u64) -> u32 {
    row_blocks(tasks).min(STRIDING_BLOCKS as u32)
}

/// The most pairs of rows left to warps that are sorted at a time, if no row has more: two arrays
/// of 64-bit keys.
pub const MAX_KEYS: u64 = 1 << 28;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_have_all_levels() {
        let leaves = [1, 4, 5, 16, 17, i32::MAX as u32];
        assert_eq!(leaves.map(root_level), [0, 0, 1, 1, 2, 15]);
        // Leaves and nodes; then entries of level 4 besides.
        assert_eq!(tree_words(17), 24 * 5 + 12 * (5 + 2 + 1));
        assert_eq!(
            tree_words(1024),
            24 * 256 + 12 * (256 + 64 + 16 + 4 + 1) + 6 * 4
        );
        assert_eq!(build_blocks(1, 0), 1);
        assert_eq!(build_blocks(1025, 0), 5);
        assert_eq!(build_blocks(1025, 1), 2);
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

    /// Welds and pipes, or boxes at random places if the sets differ in size: the boxes of each set,
    /// and the milliseconds of both algorithms on an H200.
    const SPARSE: [(u32, u32, f64, f64); 22] = [
        (1000, 1000, 0.125, 0.083),
        (3000, 3000, 0.125, 0.105),
        (6000, 6000, 0.135, 0.121),
        (10_000, 10_000, 0.164, 0.119),
        (14_000, 14_000, 0.180, 0.115),
        (20_000, 20_000, 0.272, 0.121),
        (40_000, 40_000, 0.596, 0.127),
        (80_000, 80_000, 1.774, 0.137),
        (200_000, 200_000, 7.620, 0.187),
        (20_000, 1, 0.065, 0.104),
        (20_000, 100, 0.087, 0.099),
        (20_000, 600, 0.118, 0.100),
        (200_000, 1, 0.066, 0.103),
        (200_000, 100, 0.092, 0.103),
        (200_000, 300, 0.134, 0.113),
        (200_000, 2000, 0.280, 0.110),
        (2_000_000, 1, 0.230, 0.352),
        (2_000_000, 300, 0.388, 0.364),
        (1_000_000, 1_000_000, 165.7, 0.669),
        (10_000_000, 1, 0.850, 1.795),
        (10_000_000, 100, 0.865, 1.796),
        (10_000_000, 1000, 2.189, 1.803),
    ];

    #[test]
    fn first_times_are_near_those_measured() {
        for (rows1, rows2, brute_force, indexed) in SPARSE {
            let modelled = [
                first_brute_force_time(rows1, rows2),
                first_index_time(rows1, rows2),
            ];
            for (modelled, measured) in modelled.into_iter().zip([brute_force, indexed]) {
                let ratio = modelled * 1e-9 / measured;
                assert!(
                    (0.6..1.4).contains(&ratio),
                    "{rows1}, {rows2}: {modelled} for {measured} ms"
                );
            }
        }
    }

    #[test]
    fn the_faster_algorithm_for_sparse_sets_is_chosen() {
        for (rows1, rows2, brute_force, indexed) in SPARSE {
            let chosen = match prefers_brute_force(rows1, rows2) {
                true => brute_force,
                false => indexed,
            };
            let ratio = chosen / brute_force.min(indexed);
            assert!(ratio <= 1.25, "{rows1}, {rows2}: {chosen} ms");
        }
    }

    #[test]
    fn large_sets_are_indexed_unless_the_other_is_small() {
        assert!(prefers_brute_force(1, i32::MAX as u32));
        assert!(prefers_brute_force(i32::MAX as u32, 1));
        assert!(prefers_brute_force(200_000, 100));
        for rows in [1000, 10_000, 15_000, i32::MAX as u32] {
            assert!(!prefers_brute_force(rows, rows));
        }
        assert!(!prefers_brute_force(20_000_000, 1000));
        assert!(!prefers_brute_force(200_000, 300));
    }

    #[test]
    fn chunks_are_of_large_indexed_sets() {
        let chunk = |rows1, rows2| chunk_rows(Algorithm::Auto, rows1, rows2);
        assert_eq!(chunk(10_000_000, 10_000_000), Some(2_500_000));
        assert_eq!(chunk(10_000_001, 300_000), Some(2_500_001));
        assert_eq!(chunk(600_000, 10_000_000), Some(300_000));
        assert_eq!(chunk(500_000, 10_000_000), None);
        assert_eq!(chunk(10_000_000, 200_000), None);
        assert_eq!(chunk_rows(Algorithm::BruteForce, 1 << 24, 1 << 24), None);
    }

    #[test]
    fn one_block_searches_among_few_boxes() {
        let few = |rows1, rows2| are_few(Algorithm::Auto, rows1, rows2);
        for (rows1, rows2) in [
            (0, 0),
            (0, 1024),
            (1024, 0),
            (512, 512),
            (1024, 256),
            (256, 1024),
        ] {
            assert!(few(rows1, rows2), "{rows1} and {rows2}");
            assert!(few_pairs(rows1 as usize, rows2 as usize) <= (rows1 * rows2) as usize);
        }
        for (rows1, rows2) in [(0, 1025), (1025, 0), (513, 512), (512, 513), (1024, 257)] {
            assert!(!few(rows1, rows2), "{rows1} and {rows2}");
        }
        assert!(!are_few(Algorithm::BruteForce, 1, 1) && !are_few(Algorithm::Indexed, 1, 1));
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
        assert_eq!(sample_stride(1 << 10, 1 << 10), None);
        assert_eq!(sample_stride(10_000, 10_000), Some(39));
    }

    /// Sets with rows left to warps, measured on an H200: boxes of each set, pairs, and the
    /// milliseconds of both algorithms. In all but the line of giants, nearly all pairs are in rows
    /// left to warps.
    const MEASURED: [(u32, u64, f64, f64); 8] = [
        (1000, 1_000_000, 0.480, 0.211),
        (2000, 4_000_000, 0.859, 0.355),
        (4000, 16_000_000, 0.919, 0.811),
        (10_000, 100_000_000, 1.121, 5.204),
        (40_000, 1_600_000_000, 11.9, 84.0),
        (40_000, 64_000_000, 5.20, 4.97),
        (100_000, 403_000_000, 31.9, 29.2),
        (200_000, 220_000, 15.2, 0.308),
    ];

    /// Returns the least work that finds `pairs` pairs.
    fn least_work(pairs: u64) -> Work {
        let steps = pairs / 32;
        Work { steps, pairs }
    }

    #[test]
    fn times_are_within_twice_those_measured() {
        // Launches of the brute force take 0.065 ms.
        for (boxes, pairs, brute_force, indexed) in MEASURED {
            let modelled = [
                0.065 + brute_force_time(boxes, boxes, 0, pairs) * 1e-9,
                (first_index_time(boxes, boxes) + least_work(pairs).time()) * 1e-9,
            ];
            for (modelled, measured) in modelled.into_iter().zip([brute_force, indexed]) {
                let ratio = modelled / measured;
                let is_near = (0.5..2.0).contains(&ratio);
                assert!(is_near, "{boxes}: {modelled} for {measured} ms");
            }
        }
    }

    #[test]
    fn auto_takes_at_most_twice_as_long_as_the_faster_algorithm() {
        for (boxes, pairs, brute_force, indexed) in MEASURED {
            let auto = if least_work(pairs).time() > brute_force_time(boxes, boxes, 0, pairs) {
                // The index, a sample, and all tests.
                first_index_time(boxes, boxes) * 1e-9 + 0.03 + brute_force
            } else {
                indexed + 0.03
            };
            let ratio = auto / brute_force.min(indexed);
            assert!(ratio < 2.0, "{boxes}, {pairs}: {auto} ms");
        }
    }

    #[test]
    fn auto_never_stays_with_the_index_for_many_equal_boxes() {
        // All rows are left to warps, and all of their pairs overlap.
        let mut sampled = 0;
        for rows in (1000..200_000u32).step_by(997) {
            // Without a sample, all pairs are counted.
            let Some(stride) = sample_stride(rows, rows) else {
                assert!(rows < 1100, "{rows}");
                continue;
            };
            let pairs = u64::from(rows / stride) * u64::from(rows);
            let work = least_work(pairs).times(stride);
            let is_switched = work.time() > brute_force_time(rows, rows, 0, work.pairs);
            assert!(is_switched || rows < 5000, "{rows}");
            sampled += 1;
        }
        assert!(sampled > 100, "{sampled}");
    }

    #[test]
    fn long_paths_count_where_few_boxes_overlap() {
        // Sticks through the whole space: each row tests all leaves, and finds nothing.
        let tests = 10_000u64 * 10_000;
        let (steps, pairs) = (tests / 32, 0);
        let work = Work { steps, pairs };
        assert!(work.time() > brute_force_time(10_000, 10_000, 0, 0));
        // Sticks a tenth as long: a thousand steps for each of 2000 rows.
        let (steps, pairs) = (2_000_000, 40_000);
        let work = Work { steps, pairs };
        assert!(work.time() < brute_force_time(200_000, 200_000, 0, 440_000));
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
