//! The test of every pair.
//!
//! A block takes [`BRUTE_ROWS`] boxes of the first set, each thread several in its registers, and a
//! tile of the second after the other in shared memory.
//!
//! Six comparisons a pair would be the limit: GPUs compare half as many numbers in a cycle as they
//! add. So boxes are replaced by *codes* first: their coordinates in 128 steps over the domain, the
//! three of a corner in one `f32` that has 24 bits:
//!
//! ```text
//! bit 23     22 … 16    15        14 … 8     7         6 … 0
//! guard of z, step of z, guard of y, step of y, guard of x, step of x
//! ```
//!
//! With the guards of the maxima set, maxima₂ − minima₁ is a single exact subtraction that leaves a
//! guard set exactly if no step of the minimum is above that of the maximum, and borrows nothing
//! from the next axis. So two subtractions and an *and* of their bits tell whether two codes
//! overlap. That the highest guard is set shows in the exponent: the difference is at least 2²³
//! then. What passes, and every pair does that overlaps, is tested on the numbers.
//!
//! The first pass counts, and notes for each warp in which tiles it found something; the second
//! goes only through those. A row that overlaps much of a chunk is left to its whole warp there,
//! which tests 32 boxes side by side and writes their numbers side by side.

use core::cmp::min;
use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WARP_SIZE};

use crate::boxes::{BoxRow, Number, Sets};
use crate::domain::Domain;

/// Threads of a block.
pub const BRUTE_THREADS: u32 = 256;

/// Boxes of the first set that a block takes.
pub const BRUTE_ROWS: u32 = BRUTE_THREADS * PER_THREAD as u32;

/// Boxes of the second set in a tile: one for each thread.
pub const BRUTE_TILE: u32 = BRUTE_THREADS;

const PER_THREAD: usize = 8;
const WARPS: u32 = BRUTE_THREADS / WARP_SIZE;

/// Steps along an axis.
const STEPS: u32 = 128;

/// The three guards.
const GUARDS: f32 = ((1 << 7) + (1 << 15) + (1 << 23)) as f32;

/// The bits of a difference that show whether it passes: sign and exponent, and the two lower
/// guards.
const GUARD_MASK: u32 = 0xff80_0000 | 1 << 15 | 1 << 7;

/// The masked bits of a difference whose three guards are all set; the exponent is then that of
/// 2²³.
const GUARDS_SET: u32 = ((1 << 23) as f32).to_bits() | 1 << 15 | 1 << 7;

/// A row that overlaps more than one in so many boxes of a chunk is written by a whole warp: that
/// tests every box on its numbers, but writes neighbours together.
const DENSE: u64 = 8;

/// The minimum, and negated the maximum, of the code of a missing box: both differences are
/// negative, so it overlaps nothing.
const NO_BOX: f32 = (1 << 25) as f32;

/// The arguments that all pairs share.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct BruteParameters {
    /// Tiles of the second set that a block goes through: its chunk, the number of which is the
    /// block's index along y.
    pub tiles: u32,
    /// The block along x that the first one of the grid stands for.
    pub first_block: u32,
    /// The rows whose pairs are written: from this one.
    pub first_row: u32,
    /// Up to this one.
    pub end_row: u32,
}

impl BruteParameters {
    /// Words of 32 tiles' bits that a warp has for each chunk.
    #[inline(always)]
    fn words(self) -> u32 {
        self.tiles.div_ceil(32)
    }

    /// Where the words of a warp for this block's chunk begin.
    #[inline(always)]
    fn first_word(self, block: u32, warp: u32) -> usize {
        let chunks = thread::grid_dim_y() as usize;
        let warp = (block * WARPS + warp) as usize;
        (warp * chunks + thread::block_idx_y() as usize) * self.words() as usize
    }
}

/// Arguments of the kernels that count pairs.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct BruteCount<T> {
    /// The boxes.
    pub sets: Sets<T>,
    /// Their codes.
    pub codes: DeviceSlice<f32>,
    /// Room for the pairs of each row with each chunk, \[row\]\[chunk\].
    pub counts: DeviceSliceMut<u32>,
    /// Room for a bit for each tile, \[warp\]\[chunk\]\[word\].
    pub tiles_with_pairs: DeviceSliceMut<u32>,
}

/// The code of a box: of its minima, and of its maxima without guards.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Code {
    min: f32,
    max: f32,
}

/// Two codes, read with one instruction.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
struct Two([Code; 2]);

/// The code of what is no box: with guards on the maxima or without, it overlaps nothing.
const NOTHING: Code = Code {
    min: NO_BOX,
    max: -NO_BOX,
};

/// Whether two codes overlap; guards are on the maxima of both.
#[inline(always)]
fn passes(a: Code, b: Code) -> bool {
    let bits = (b.max - a.min).to_bits() & (a.max - b.min).to_bits();
    bits & GUARD_MASK == GUARDS_SET
}

/// Writes the codes of all rows, those of the first set before those of the second.
///
/// # Safety
/// The slices of `sets` have the rows and axes that it names, `counters` are those that `examine`
/// has left, and `codes` has two elements for each row.
#[inline(always)]
unsafe fn make_codes<T: Number>(
    sets: Sets<T>,
    counters: DeviceSlice<u64>,
    codes: DeviceSliceMut<f32>,
) {
    let rows = codes.len() / 2;
    // SAFETY: by the contract of this function, `counters` are those that `examine` has left. They
    // are of `rows` boxes, since `codes` has two elements for each.
    let domain = unsafe { Domain::load(counters, rows as u32) };
    let step = |coordinate: f64, axis: usize| {
        let steps = domain.place(coordinate, axis) * STEPS as f64;
        // Never falling; what is below 0 becomes 0.
        if steps >= (STEPS - 1) as f64 {
            STEPS - 1
        } else {
            steps as u32
        }
    };
    let make_code = |is_second: bool, index: usize, row: BoxRow<T>| {
        let (mut min, mut max) = (0, 0);
        unrolled! { axis in [0 1 2] {
            if axis < sets.axes as usize {
                min |= step(row.low[axis], axis) << (8 * axis);
                max |= step(row.high[axis], axis) << (8 * axis);
            }
        }}
        let number = index + if is_second { sets.rows1 as usize } else { 0 };
        // SAFETY: two elements for each row.
        unsafe {
            codes.set(2 * number, min as f32);
            codes.set(2 * number + 1, max as f32);
        }
    };
    // SAFETY: by the contract of this function, the slices of `sets` have the rows and axes that it
    // names.
    unsafe { sets.each_row(make_code) };
}

/// The code of a row, with guards on the maxima.
///
/// # Safety
/// `row` is below the number of codes, or `is_there` is false.
#[inline(always)]
unsafe fn code(codes: DeviceSlice<f32>, row: usize, is_there: bool) -> Code {
    if !is_there {
        return NOTHING;
    }
    // SAFETY: two elements for each row; buffers are aligned.
    let code = unsafe { codes.address(2 * row).cast::<Code>().read() };
    Code {
        min: code.min,
        max: code.max + GUARDS,
    }
}

/// The boxes of the first set that a thread has.
struct Mine {
    codes: [Code; PER_THREAD],
    /// The first one; the others are 256 apart.
    first_row: u32,
}

impl Mine {
    /// # Safety
    /// `codes` are those of the sets' rows.
    #[inline(always)]
    unsafe fn load<T: Number>(sets: &Sets<T>, codes: DeviceSlice<f32>, block: u32) -> Mine {
        let first_row = block * BRUTE_ROWS + thread::thread_idx_x();
        let mut mine = Mine {
            codes: [NOTHING; PER_THREAD],
            first_row,
        };
        unrolled! { i in [0 1 2 3 4 5 6 7] {
            let row = first_row + i as u32 * BRUTE_THREADS;
            // SAFETY: below the number of rows if it is there.
            mine.codes[i] = unsafe { code(codes, row as usize, row < sets.rows1) };
        }}
        mine
    }

    /// A bit for each of them that passes with `other`.
    #[inline(always)]
    fn passing(&self, other: Code) -> u32 {
        let mut mask = 0;
        unrolled! { i in [0 1 2 3 4 5 6 7] {
            mask |= (passes(self.codes[i], other) as u32) << i;
        }}
        mask
    }

    /// Whether any passes with `other`.
    #[inline(always)]
    fn any_passes(&self, other: Code) -> bool {
        let mut any = false;
        unrolled! { i in [0 1 2 3 4 5 6 7] {
            any |= passes(self.codes[i], other);
        }}
        any
    }
}

/// Whether row i of the first set and j of the second are a pair.
///
/// # Safety
/// Row `i` is in the first set, row `j` in the second.
#[inline(always)]
unsafe fn is_pair<T: Number>(sets: &Sets<T>, i: u32, j: u32) -> bool {
    // SAFETY: by the contract of this function, row `i` is in the first set and row `j` in the
    // second.
    (sets.above == 0 || j > i) && unsafe { sets.overlap(i, j) }
}

/// Counts the pairs of each row with each chunk.
///
/// # Safety
/// The contract of the kernels `brute_count_…`.
#[inline(always)]
unsafe fn count<T: Number>(parameters: BruteParameters, arguments: BruteCount<T>) {
    let BruteCount {
        sets,
        codes,
        counts,
        tiles_with_pairs,
    } = arguments;
    let tile_codes = shared_array![Code; BRUTE_TILE as usize];
    // [box of a thread][thread]
    let found = shared_array![u32; BRUTE_ROWS as usize];
    let me = thread::thread_idx_x();
    let (warp, lane) = (me / WARP_SIZE, me % WARP_SIZE);
    let block = thread::block_idx_x();
    let chunk = thread::block_idx_y();
    // SAFETY: by their documentation, `codes` are those of the rows of `sets`.
    let mine = unsafe { Mine::load(&sets, codes, block) };
    unrolled! { i in [0 1 2 3 4 5 6 7] {
        // SAFETY: a place for each of the thread's boxes, here and below: its own.
        unsafe { found.add(i * BRUTE_THREADS as usize + me as usize).write(0) };
    }}
    let own_found = |i: u32| found.wrapping_add((i * BRUTE_THREADS + me) as usize);

    let first_code = sets.first_row2() as usize;
    let first_word = parameters.first_word(block, warp);
    let (mut word, mut tile) = (0u32, 0);
    while tile < parameters.tiles {
        let start = (chunk * parameters.tiles + tile) * BRUTE_TILE;
        // None of these boxes stands behind one of the block's.
        let is_below = sets.above != 0 && start + BRUTE_TILE <= block * BRUTE_ROWS + 1;
        let mut found_some = false;
        if start < sets.rows2 && !is_below {
            let row = start + me;
            // SAFETY: a row of the second set if it is there. All have read the last tile.
            unsafe {
                let code = code(codes, first_code + row as usize, row < sets.rows2);
                thread::sync_threads();
                tile_codes.add(me as usize).write(code);
            }
            thread::sync_threads();
            let mut other = 0;
            while other < BRUTE_TILE {
                // SAFETY: an even place in the tile.
                let [a, b] = unsafe { tile_codes.add(other as usize).cast::<Two>().read().0 };
                if mine.any_passes(a) | mine.any_passes(b) {
                    let mut passing = mine.passing(a) | mine.passing(b) << PER_THREAD;
                    while passing != 0 {
                        let bit = passing.trailing_zeros();
                        passing &= passing - 1;
                        let box_of_mine = bit % PER_THREAD as u32;
                        let i = mine.first_row + box_of_mine * BRUTE_THREADS;
                        let j = start + other + bit / PER_THREAD as u32;
                        // SAFETY: what passes is a row.
                        if unsafe { is_pair(&sets, i, j) } {
                            found_some = true;
                            // SAFETY: one of the thread's own places in `found`, which it has set
                            // to 0: `box_of_mine` is below `PER_THREAD`.
                            unsafe { *own_found(box_of_mine) += 1 };
                        }
                    }
                }
                other += 2;
            }
        }
        word |= (warp::any(FULL_MASK, found_some) as u32) << (tile % 32);
        tile += 1;
        if tile % 32 == 0 || tile == parameters.tiles {
            if lane == 0 {
                // SAFETY: the word of this warp for these tiles.
                unsafe { tiles_with_pairs.set(first_word + ((tile - 1) / 32) as usize, word) };
            }
            word = 0;
        }
    }
    unrolled! { i in [0 1 2 3 4 5 6 7] {
        let row = mine.first_row + i as u32 * BRUTE_THREADS;
        if row < sets.rows1 {
            let place = row as usize * thread::grid_dim_y() as usize + chunk as usize;
            // SAFETY: a place for each row and chunk.
            unsafe { counts.set(place, own_found(i as u32).read()) };
        }
    }}
}

/// Writes the pairs of each row with each chunk.
///
/// # Safety
/// The contract of the kernels `brute_fill_…`.
#[inline(always)]
unsafe fn fill<T: Number>(
    parameters: BruteParameters,
    sets: Sets<T>,
    codes: DeviceSlice<f32>,
    sums: DeviceSlice<u64>,
    tiles_with_pairs: DeviceSlice<u32>,
    indices: DeviceSliceMut<u32>,
) {
    // [box of a thread][thread]
    let places = shared_array![u64; BRUTE_ROWS as usize];
    let me = thread::thread_idx_x();
    let block = parameters.first_block + thread::block_idx_x();
    let chunk = thread::block_idx_y();
    let chunks = thread::grid_dim_y() as usize;
    // SAFETY: by the contract of the kernels, `codes` are those of the rows of `sets`.
    let mine = unsafe { Mine::load(&sets, codes, block) };
    let own_place = |i: u32| places.wrapping_add((i * BRUTE_THREADS + me) as usize);
    let chunk_boxes = parameters.tiles * BRUTE_TILE;
    let chunk_start = chunk * chunk_boxes;
    // Bits of the thread's boxes that have pairs: few, or many.
    let (mut few, mut many) = (0, 0);
    unrolled! { i in [0 1 2 3 4 5 6 7] {
        let row = mine.first_row + i as u32 * BRUTE_THREADS;
        // Read by the whole warp below.
        // SAFETY: a place for each of the thread's boxes, here and below: its own.
        unsafe { own_place(i as u32).write(0) };
        if row < parameters.end_row && row >= parameters.first_row {
            // SAFETY: a sum for each row and chunk.
            unsafe {
                let first = sums.at(parameters.first_row as usize * chunks);
                let part = row as usize * chunks + chunk as usize;
                let (start, end) = (sums.at(part), sums.at(part + 1));
                own_place(i as u32).write(start - first);
                if (end - start) * DENSE > chunk_boxes as u64 {
                    many |= 1 << i;
                } else if end > start {
                    few |= 1 << i;
                }
            }
        }
    }}
    let first_code = sets.first_row2() as usize;
    let first_word = parameters.first_word(block, me / WARP_SIZE);
    let mut word_index = 0;
    while word_index < parameters.words() && warp::any(FULL_MASK, few != 0) {
        // SAFETY: the words of this warp.
        let mut word = unsafe { tiles_with_pairs.at(first_word + word_index as usize) };
        while word != 0 {
            let tile = word_index * 32 + word.trailing_zeros();
            word &= word - 1;
            let mut j = chunk_start + tile * BRUTE_TILE;
            let end = min(sets.rows2, j + BRUTE_TILE);
            while j < end {
                // SAFETY: a row of the second set.
                let other = unsafe { code(codes, first_code + j as usize, true) };
                let mut passing = mine.passing(other) & few;
                while passing != 0 {
                    let box_of_mine = passing.trailing_zeros();
                    passing &= passing - 1;
                    let i = mine.first_row + box_of_mine * BRUTE_THREADS;
                    // SAFETY: what passes is a row; the place is the pair's own.
                    unsafe {
                        if is_pair(&sets, i, j) {
                            let place = own_place(box_of_mine);
                            indices.set(place.read() as usize, j);
                            *place += 1;
                        }
                    }
                }
                j += 1;
            }
        }
        word_index += 1;
    }

    let lane = me % WARP_SIZE;
    let lower_lanes = (1u32 << lane) - 1;
    let chunk_end = min(sets.rows2, chunk_start + chunk_boxes);
    let mut box_of_mine = 0;
    while box_of_mine < PER_THREAD as u32 {
        // SAFETY: its own place; it means something if the row is one of those.
        let own_start = unsafe { own_place(box_of_mine).read() };
        let mut lanes = warp::ballot(FULL_MASK, many >> box_of_mine & 1 != 0);
        while lanes != 0 {
            let of_lane = lanes.trailing_zeros();
            lanes &= lanes - 1;
            let i = mine.first_row - lane + of_lane + box_of_mine * BRUTE_THREADS;
            let mut place = warp::shuffle_idx(FULL_MASK, own_start, of_lane) as usize;
            let mut start = chunk_start;
            while start < chunk_end {
                let j = start + lane;
                // SAFETY: rows of the sets.
                let is_hit = j < chunk_end && unsafe { is_pair(&sets, i, j) };
                let hits = warp::ballot(FULL_MASK, is_hit);
                if is_hit {
                    // SAFETY: the pair's own place.
                    unsafe { indices.set(place + (hits & lower_lanes).count_ones() as usize, j) };
                }
                place += hits.count_ones() as usize;
                start += WARP_SIZE;
            }
        }
        box_of_mine += 1;
    }
}

macro_rules! entries {
    ($($type:ty, $codes:ident, $count:ident, $fill:ident;)*) => {$(
        #[doc = concat!("The codes of all rows of `", stringify!($type), "`.")]
        ///
        /// # Safety
        /// The slices of `sets` have the rows and axes that it names, `counters` are those that
        /// `examine` has left, and `codes` has two elements for each row of both sets, or of one if
        /// they are the same.
        #[kernel(max_block = 256)]
        pub unsafe fn $codes(
            sets: Sets<$type>,
            counters: DeviceSlice<u64>,
            codes: DeviceSliceMut<f32>,
        ) {
            // SAFETY: by the contract of this kernel, the slices of `sets` have the rows and axes
            // that it names, `counters` are those that `examine` has left, and `codes` has two
            // elements for each row.
            unsafe { make_codes(sets, counters, codes) }
        }

        #[doc = concat!("Counts the pairs of each row of `", stringify!($type), "` with each chunk of the second set.")]
        ///
        /// # Safety
        /// The slices of `arguments` have the lengths that [`BruteCount`] documents, and `codes`
        /// are those of these sets. A block has exactly [`BRUTE_THREADS`] threads; the grid has one
        /// for [`BRUTE_ROWS`] rows of the first set along x, for each chunk of the second along y.
        #[kernel(max_block = 256, min_blocks = 4)]
        pub unsafe fn $count(parameters: BruteParameters, arguments: BruteCount<$type>) {
            // SAFETY: `count` asks what this kernel asks: slices as `BruteCount` documents, codes
            // of these sets, `BRUTE_THREADS` threads in each block, and a grid over the rows and
            // chunks.
            unsafe { count(parameters, arguments) }
        }

        #[doc = concat!("Writes the pairs of rows of `", stringify!($type), "`, ascending in each.")]
        ///
        /// # Safety
        /// As for the counts, whose prefix sums are `sums` and whose bits are `tiles_with_pairs`.
        /// The grid covers the rows that the parameters name, and `indices` has room for their
        /// pairs.
        // No two parameters have one type. As a struct they are loaded elsewhere, which takes 6%
        // longer.
        #[kernel(block = 256)]
        pub unsafe fn $fill(
            parameters: BruteParameters,
            sets: Sets<$type>,
            codes: DeviceSlice<f32>,
            sums: DeviceSlice<u64>,
            tiles_with_pairs: DeviceSlice<u32>,
            indices: DeviceSliceMut<u32>,
        ) {
            // SAFETY: `fill` asks what this kernel asks: sums and bits of tiles from the count of
            // these sets, a grid over the rows of the parameters, and room for their pairs.
            unsafe { fill(parameters, sets, codes, sums, tiles_with_pairs, indices) }
        }
    )*};
}

entries! {
    f32, codes_f32, brute_count_f32, brute_fill_f32;
    f64, codes_f64, brute_count_f64, brute_fill_f64;
    i32, codes_i32, brute_count_i32, brute_fill_i32;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code_of(min: [u32; 3], max: [u32; 3]) -> Code {
        let packed = |steps: [u32; 3]| (steps[0] | steps[1] << 8 | steps[2] << 16) as f32;
        Code {
            min: packed(min),
            max: packed(max) + GUARDS,
        }
    }

    #[test]
    fn codes_pass_exactly_if_they_overlap() {
        let steps = [0, 1, 63, 64, 127];
        let mut intervals = [(0, 0); 15];
        let mut count = 0;
        for (i, &low) in steps.iter().enumerate() {
            for &high in &steps[i..] {
                intervals[count] = (low, high);
                count += 1;
            }
        }
        let overlap = |a: (u32, u32), b: (u32, u32)| a.0 <= b.1 && a.1 >= b.0;
        for x in intervals {
            for y in intervals {
                for z in intervals {
                    let other = [(1, 64), (64, 64), (127, 127)];
                    let a = code_of([x.0, y.0, z.0], [x.1, y.1, z.1]);
                    let b = code_of(other.map(|o| o.0), other.map(|o| o.1));
                    let expected =
                        overlap(x, other[0]) && overlap(y, other[1]) && overlap(z, other[2]);
                    assert_eq!(passes(a, b), expected, "{x:?} {y:?} {z:?}");
                    assert_eq!(passes(b, a), expected);
                    assert!(!passes(a, NOTHING) && !passes(NOTHING, a));
                }
            }
        }
        assert!(!passes(NOTHING, NOTHING));
    }
}
