//! The matrices of chunks: the kernel in which nearly all the time goes.
//!
//! A block keeps the operators of all words for `width` lanes in shared memory, normally eight. A
//! quarter of a warp, one thread a lane, works on one chunk: for each word it reads the lane's
//! operator P and does S ← S·P in registers. No thread waits for another, there is no branch on
//! data, and every 16-byte read of a quarter of a warp is one conflict-free access of 128 bytes.
//! For t = 4 and words of four letters a step is 80 bytes and 33 instructions of arithmetic for
//! each component, so that shared memory and instruction issue are both near their limit.
//!
//! Rows of the table of operators: the words of m letters, then the single letters, for what a
//! chunk's length leaves over, then the identity, with which streams are filled up to units of
//! eight words.

use super::append::{append, flush};
use super::matrix::{identity, multiply, store};
use super::number::{Pair32, Pair64};
use super::words::{Chunk, UNIT};
use super::{Number, quads, square_of_z};
use cuda_std::prelude::*;

/// The arguments that all blocks of a launch share.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Parameters {
    /// Lanes per block, a power of two up to 8.
    pub width: u32,
    /// The first group of this launch, of which block b works on `first_group + b % launched`;
    /// group g has the lanes from `g · width` on.
    pub first_group: u32,
    /// The number of groups of this launch.
    pub launched: u32,
    /// Rows of the table of operators.
    pub rows: u32,
    /// The number of chunks.
    pub chunks: u32,
    /// Letters in a word, m.
    pub word_letters: u32,
    /// Where the letters of the first chunk begin.
    pub origin: u64,
}

/// Units of a block: so many words come together before they are brought to the chunk's matrix.
///
/// A word's operator is the same each time, and once a sum is large, each time it is rounded the
/// same way when it is added. So errors grow with the number of words in a block, not with its
/// root; products of whole blocks differ, and their errors go either way.
const BLOCK_UNITS: u32 = 4;

/// Eight words of a chunk.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
struct Unit([u32; 4]);

/// The arrays of a launch; results are pairs of type `P`.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Arrays<P> {
    /// `rows · width · quads` elements for each group, as made by [`operators`](super::operators).
    pub table: DeviceSlice<u128>,
    /// The words that [`words`](super::words) makes of the chunks, all below `rows`.
    pub units: DeviceSlice<u128>,
    /// The chunks.
    pub chunks: DeviceSlice<Chunk>,
    /// A permutation of their numbers.
    pub order: DeviceSlice<u32>,
    /// Room for `entries(T, T) · launched · width` elements for each chunk.
    pub out: DeviceSliceMut<P>,
}

/// # Safety
/// - The slices have the lengths that [`Arrays`] documents; dynamic shared memory holds the table
///   of one group.
/// - The block has one dimension, a multiple of 32; the grid a multiple of `launched`.
#[inline(always)]
unsafe fn chunks<N: Number, const T: usize, const D: usize>(
    parameters: Parameters,
    arrays: Arrays<N::Pair>,
) {
    let Arrays {
        table,
        units,
        chunks,
        order,
        out,
    } = arrays;
    let Parameters {
        width,
        first_group,
        launched,
        rows,
        ..
    } = parameters;
    let (tid, threads) = (thread::thread_idx_x(), thread::block_dim_x());
    let block = thread::block_idx_x();
    let group = block % launched;

    let row_quads = width * const { quads::<N>(T, D) } as u32;
    let shared = shared::dynamic_shared_mem::<u128>();
    let source = (first_group + group) as usize * (rows * row_quads) as usize;
    let mut i = tid;
    while i < rows * row_quads {
        // SAFETY: within the group's table, on both sides.
        unsafe { shared.add(i as usize).write(table.at(source + i as usize)) };
        i += threads;
    }
    thread::sync_threads();

    let lane_in_group = tid & (width - 1);
    let z2 = N::from_f64(square_of_z((first_group + group) * width + lane_in_group));
    // SAFETY: an operator begins at each row and lane.
    let operators = unsafe {
        shared
            .add(lane_in_group as usize * const { quads::<N>(T, D) })
            .cast::<N::Quad>()
    };

    let lanes = (launched * width) as usize;
    // Neighbouring chunks belong to different blocks, so that all multiprocessors share the last
    // ones, which are too few for all threads.
    let blocks = thread::grid_dim_x() / launched;
    let mut place = tid / width * blocks + block / launched;
    let stride = blocks * (threads / width);
    while place < parameters.chunks {
        // SAFETY: a permutation of the chunks.
        let (number, chunk) = unsafe {
            let number = order.at(place as usize) as usize;
            (number, chunks.at(number))
        };
        let letters_before = chunk.first_letter - parameters.origin;
        let first = Chunk::first_unit(letters_before, number as u64, parameters.word_letters);
        let (mut unit, end) = (0, chunk.units(parameters.word_letters));
        let result = || {
            let lane = (group * width + lane_in_group) as usize;
            number * const { super::entries(T, T) } * lanes + lane
        };
        let mut matrix = identity::<N>();
        let read = |unit: u32| {
            let place = first as usize + unit as usize;
            // SAFETY: below the chunk's end.
            unsafe { units.address(place).cast::<Unit>().read().0 }
        };
        let mut next = if unit < end { read(unit) } else { [0; 4] };
        let mut flushed = false;
        let mut product = identity::<N>();
        while unit < end {
            if unit > 0 && unit.is_multiple_of(BLOCK_UNITS) {
                if const { T <= 4 } {
                    append::<N, T>(&mut product, &mut matrix, z2);
                } else {
                    // SAFETY: `out` has this lane's entries of the chunk's matrix from `result()`
                    // on, `lanes` apart, which are this thread's alone. If `flushed`, an earlier
                    // block of words has written them.
                    unsafe { flush::<N, T>(&mut matrix, out, result(), lanes, flushed, z2) };
                    flushed = true;
                }
            }
            let mut words = next;
            unit += 1;
            if unit < end {
                // Read ahead, so that the wait for memory is behind eight steps.
                next = read(unit);
            }
            let mut step = |word: u32| {
                // SAFETY: words are below `rows`.
                let operator = unsafe { operators.add((word * row_quads) as usize) };
                let load = |index: usize| {
                    // SAFETY: the operator's quads follow.
                    let quad = unsafe { operator.add(index / N::PER_QUAD).read() };
                    N::of_quad(quad, index % N::PER_QUAD)
                };
                multiply::<N, T, D, T>(&mut matrix, load, z2);
            };
            if const { T <= 4 } {
                step(words[0] & 0xFFFF);
                step(words[0] >> 16);
                step(words[1] & 0xFFFF);
                step(words[1] >> 16);
                step(words[2] & 0xFFFF);
                step(words[2] >> 16);
                step(words[3] & 0xFFFF);
                step(words[3] >> 16);
            } else {
                // A step has hundreds of instructions here, and moving the words costs few.
                let mut left = UNIT / 2;
                while left > 0 {
                    step(words[0] & 0xFFFF);
                    step(words[0] >> 16);
                    words = [words[1], words[2], words[3], 0];
                    left -= 1;
                }
            }
        }

        if const { T <= 4 } {
            append::<N, T>(&mut product, &mut matrix, z2);
            let result = result();
            store::<N, T>(&product, |index, value| {
                // SAFETY: the chunk's matrix in this lane, which is this thread's alone.
                unsafe { out.set(result + index * lanes, N::pair(value)) };
            });
        } else {
            // SAFETY: `out` has this lane's entries of the chunk's matrix from `result()` on,
            // `lanes` apart, which are this thread's alone. If `flushed`, an earlier block of words
            // has written them.
            unsafe { flush::<N, T>(&mut matrix, out, result(), lanes, flushed, z2) };
        }
        place += stride;
    }
}

macro_rules! entries {
    ($number:ty, $pair:ident, $block:literal: $($name:ident = $tuple:literal, $depth:literal;)*) => {$(
        #[doc = concat!(
            "The matrices of chunks in `", stringify!($number), "`, for tuples of ", $tuple,
            " and operators with entries up to ", $depth, " above the diagonal."
        )]
        ///
        /// # Safety
        /// As stated for the launch in `gridstride::tensor_sketch`: a table of operators of this
        /// tuple length and depth, words below its rows, a result for each chunk; blocks of whole
        /// warps, a multiple of `launched` of them, with shared memory for the table of a group.
        #[kernel(max_block = $block, min_blocks = 1)]
        pub unsafe fn $name(parameters: Parameters, arrays: Arrays<$pair>) {
            // SAFETY: `chunks` asks what this kernel asks of the arrays, the grid and shared
            // memory, for tuples and operators of these sizes.
            unsafe { chunks::<$number, $tuple, $depth>(parameters, arrays) }
        }
    )*};
}

// Without a least number of blocks, ptxas spills registers for the sake of a second block, for which
// there is no shared memory.
entries! { f32, Pair32, 768:
    chunks_f32_1_1 = 1, 1;
    chunks_f32_2_1 = 2, 1;
    chunks_f32_2_2 = 2, 2;
    chunks_f32_3_1 = 3, 1;
    chunks_f32_3_2 = 3, 2;
    chunks_f32_3_3 = 3, 3;
    chunks_f32_4_1 = 4, 1;
    chunks_f32_4_2 = 4, 2;
    chunks_f32_4_3 = 4, 3;
    chunks_f32_4_4 = 4, 4;
}
entries! { f32, Pair32, 512:
    chunks_f32_5_1 = 5, 1;
    chunks_f32_5_2 = 5, 2;
    chunks_f32_5_3 = 5, 3;
}
entries! { f32, Pair32, 384:
    chunks_f32_6_1 = 6, 1;
    chunks_f32_6_2 = 6, 2;
    chunks_f32_6_3 = 6, 3;
    chunks_f32_7_1 = 7, 1;
    chunks_f32_7_2 = 7, 2;
    chunks_f32_7_3 = 7, 3;
}
entries! { f32, Pair32, 256:
    chunks_f32_8_1 = 8, 1;
    chunks_f32_8_2 = 8, 2;
    chunks_f32_8_3 = 8, 3;
}
entries! { f64, Pair64, 512:
    chunks_f64_1_1 = 1, 1;
    chunks_f64_2_1 = 2, 1;
    chunks_f64_2_2 = 2, 2;
    chunks_f64_3_1 = 3, 1;
    chunks_f64_3_2 = 3, 2;
    chunks_f64_3_3 = 3, 3;
}
entries! { f64, Pair64, 384:
    chunks_f64_4_1 = 4, 1;
    chunks_f64_4_2 = 4, 2;
    chunks_f64_4_3 = 4, 3;
}
entries! { f64, Pair64, 256:
    chunks_f64_5_1 = 5, 1;
    chunks_f64_5_2 = 5, 2;
    chunks_f64_6_1 = 6, 1;
    chunks_f64_6_2 = 6, 2;
    chunks_f64_7_1 = 7, 1;
    chunks_f64_7_2 = 7, 2;
    chunks_f64_8_1 = 8, 1;
    chunks_f64_8_2 = 8, 2;
}
