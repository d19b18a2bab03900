//! The matrices of chunks: the kernel in which nearly all the time goes.
//!
//! A block keeps the operators of all words for `width` lanes in shared memory, normally eight. A
//! quarter of a warp, one thread a lane, works on one chunk: for each word it reads the lane's
//! operator P and does S ← S·P in registers. No thread waits for another, there is no branch on
//! data, and every 16-byte read of a quarter of a warp is one conflict-free access of 128 bytes.
//! For t = 4 and words of four letters a step is 80 bytes and 33 instructions of arithmetic for
//! each component, so that shared memory and instruction issue are both near their limit.
//!
//! Where words of four letters of two bits are bytes of the packed text, kernels read the text.
//! Otherwise [`words`](super::words) makes words first.
//!
//! Rows of the table of operators: the words of m letters, then the single letters, for what a
//! chunk's length leaves over, then the identity, with which streams are filled up to units of
//! eight words.

use super::matrix::{Matrix, entry_index, identity, multiply, store};
use super::number::{Pair32, Pair64};
use super::{Complex, MAX_TUPLE, Number, quads, square_of_z};
use crate::fourier::words::{Chunk, LETTERS_OF_BYTES, Text, UNIT, Unit};
use cuda_std::prelude::*;

/// What is the same for all blocks of a launch.
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

/// The arrays of a launch; results are pairs of type `P`.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Arrays<P> {
    /// `rows · width · quads` elements for each group, as made by [`operators`](super::operators).
    pub table: DeviceSlice<u128>,
    /// The words that [`words`](super::words) makes of the chunks, all below `rows`. Kernels for
    /// packed letters do not read them.
    pub units: DeviceSlice<u128>,
    /// The letters of the chunks, two bits each. Only kernels for packed letters read them.
    pub letters: DeviceSlice<u32>,
    /// The chunks.
    pub chunks: DeviceSlice<Chunk>,
    /// A permutation of their numbers.
    pub order: DeviceSlice<u32>,
    /// Room for `entries(T, T) · launched · width` elements for each chunk.
    pub out: DeviceSliceMut<P>,
}

/// # Safety
/// - The arrays are as they say; dynamic shared memory holds the table of one group.
/// - The block has one dimension, a multiple of 32; the grid a multiple of `launched`.
#[inline(always)]
unsafe fn chunks<N: Number, const T: usize, const D: usize, const PACKED: bool>(
    parameters: Parameters,
    arrays: Arrays<N::Pair>,
) {
    let table = arrays.table;
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
    // SAFETY: an operator begins at each row and lane.
    let operators = unsafe {
        shared
            .add(lane_in_group as usize * const { quads::<N>(T, D) })
            .cast::<N::Quad>()
    };
    // SAFETY: as the caller says, and the table is in shared memory.
    unsafe {
        if const { T <= 4 } && first_group + group > 0 {
            // Products with a constant are a sign in another instruction. Only lane 0, in the first
            // group, has another square.
            multiply_all::<N, T, D, PACKED>(parameters, arrays, operators, N::from_f64(-1.0));
        } else {
            let z2 = N::from_f64(square_of_z((first_group + group) * width + lane_in_group));
            multiply_all::<N, T, D, PACKED>(parameters, arrays, operators, z2);
        }
    }
}

/// The matrices of this thread's chunks, in its lane.
///
/// # Safety
/// As [`chunks`]. `operators` points to those of the lane in shared memory.
#[inline(always)]
unsafe fn multiply_all<N: Number, const T: usize, const D: usize, const PACKED: bool>(
    parameters: Parameters,
    arrays: Arrays<N::Pair>,
    operators: *const N::Quad,
    z2: N,
) {
    let Arrays {
        units,
        chunks,
        order,
        out,
        ..
    } = arrays;
    let Parameters {
        width,
        launched,
        rows,
        ..
    } = parameters;
    let text = Text {
        bits: 2,
        alphabet: 4,
        word_letters: 4,
        words: 256,
        nothing: rows - 1,
        letters: arrays.letters,
    };
    let (tid, threads) = (thread::thread_idx_x(), thread::block_dim_x());
    let block = thread::block_idx_x();
    let (group, lane_in_group) = (block % launched, tid & (width - 1));
    let row_quads = width * const { quads::<N>(T, D) } as u32;

    let lanes = (launched * width) as usize;
    let slots = threads / width;
    // Neighbouring chunks belong to different blocks, so that all multiprocessors share the last
    // ones, which are too few for all threads.
    let blocks = thread::grid_dim_x() / launched;
    let mut place = tid / width * blocks + block / launched;
    let stride = blocks * slots;
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
        let whole_units = chunk.letters / LETTERS_OF_BYTES;
        // SAFETY: below the chunk's end.
        let read = |unit: u32| unsafe {
            if !PACKED {
                let place = first as usize + unit as usize;
                units.address(place).cast::<Unit>().read().0
            } else if unit < whole_units {
                text.whole_unit_of_bytes(chunk, unit)
            } else {
                text.unit(chunk, unit)
            }
        };
        let mut next = if unit < end { read(unit) } else { [0; 4] };
        let mut flushed = false;
        let mut product = identity::<N>();
        while unit < end {
            if unit > 0 && unit.is_multiple_of(BLOCK_UNITS) {
                if const { T <= 4 } {
                    append::<N, T>(&mut product, &mut matrix, z2);
                } else {
                    // SAFETY: as below.
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
            // SAFETY: as above.
            unsafe { flush::<N, T>(&mut matrix, out, result(), lanes, flushed, z2) };
        }
        place += stride;
    }
}

/// Brings the matrix of a block of words to the chunk's, from the right, and starts the next block
/// with the identity.
#[inline(always)]
fn append<N: Number, const T: usize>(product: &mut Matrix<N>, matrix: &mut Matrix<N>, z2: N) {
    append_to_row::<N, T, 0>(product, matrix, z2);
    append_to_row::<N, T, 1>(product, matrix, z2);
    append_to_row::<N, T, 2>(product, matrix, z2);
    append_to_row::<N, T, 3>(product, matrix, z2);
    *matrix = identity();
}

/// Row A of `product` times `matrix`.
#[inline(always)]
fn append_to_row<N: Number, const T: usize, const A: usize>(
    product: &mut Matrix<N>,
    matrix: &Matrix<N>,
    z2: N,
) {
    if const { A >= T } {
        return;
    }
    let row = product[A];
    let mut store = |b: usize, value| product[A][b] = value;
    append_entry::<N, T, A, 4>(&row, matrix, &mut store, z2);
    append_entry::<N, T, A, 3>(&row, matrix, &mut store, z2);
    append_entry::<N, T, A, 2>(&row, matrix, &mut store, z2);
    append_entry::<N, T, A, 1>(&row, matrix, &mut store, z2);
}

/// Brings the matrix of a block of words to the chunk's in memory, from the right, and starts the
/// next block with the identity. The first one is stored as it is.
///
/// # Safety
/// Entry (a, b) of the chunk's matrix is element `result + entry_index(a, b) · lanes` of `out`, was
/// written before if `flushed`, and no other thread uses it.
#[inline(always)]
unsafe fn flush<N: Number, const T: usize>(
    matrix: &mut Matrix<N>,
    out: DeviceSliceMut<N::Pair>,
    result: usize,
    lanes: usize,
    flushed: bool,
    z2: N,
) {
    if flushed {
        // SAFETY: passed on to the caller.
        unsafe {
            append_row::<N, T, 0>(matrix, out, result, lanes, z2);
            append_row::<N, T, 1>(matrix, out, result, lanes, z2);
            append_row::<N, T, 2>(matrix, out, result, lanes, z2);
            append_row::<N, T, 3>(matrix, out, result, lanes, z2);
            append_row::<N, T, 4>(matrix, out, result, lanes, z2);
            append_row::<N, T, 5>(matrix, out, result, lanes, z2);
            append_row::<N, T, 6>(matrix, out, result, lanes, z2);
            append_row::<N, T, 7>(matrix, out, result, lanes, z2);
        }
    } else {
        store::<N, T>(matrix, |index, value| {
            // SAFETY: passed on to the caller.
            unsafe { out.set(result + index * lanes, N::pair(value)) };
        });
    }
    *matrix = identity();
}

/// Row A of the matrix in memory times `matrix`.
///
/// # Safety
/// As [`flush`].
#[inline(always)]
unsafe fn append_row<N: Number, const T: usize, const A: usize>(
    matrix: &Matrix<N>,
    out: DeviceSliceMut<N::Pair>,
    result: usize,
    lanes: usize,
    z2: N,
) {
    if const { A >= T } {
        return;
    }
    let place = |b: usize| result + entry_index(T, A, b) * lanes;
    let mut row = [Complex::<N>::ZERO; MAX_TUPLE + 1];
    let mut b = A + 1;
    while b <= T {
        // SAFETY: passed on to the caller.
        row[b] = N::unpair(unsafe { out.at(place(b)) });
        b += 1;
    }
    // SAFETY: passed on to the caller.
    let mut store = |b: usize, value| unsafe { out.set(place(b), N::pair(value)) };
    append_entry::<N, T, A, 8>(&row, matrix, &mut store, z2);
    append_entry::<N, T, A, 7>(&row, matrix, &mut store, z2);
    append_entry::<N, T, A, 6>(&row, matrix, &mut store, z2);
    append_entry::<N, T, A, 5>(&row, matrix, &mut store, z2);
    append_entry::<N, T, A, 4>(&row, matrix, &mut store, z2);
    append_entry::<N, T, A, 3>(&row, matrix, &mut store, z2);
    append_entry::<N, T, A, 2>(&row, matrix, &mut store, z2);
    append_entry::<N, T, A, 1>(&row, matrix, &mut store, z2);
}

/// Entry (A, B) of the product.
#[inline(always)]
fn append_entry<N: Number, const T: usize, const A: usize, const B: usize>(
    row: &[Complex<N>; MAX_TUPLE + 1],
    matrix: &Matrix<N>,
    store: &mut impl FnMut(usize, Complex<N>),
    z2: N,
) {
    if const { B > T || B <= A } {
        return;
    }
    let mut sum = row[B];
    let mut m = A + 1;
    while m < B {
        let p = matrix[m][B];
        sum = sum.plus_product(row[m], p, N::mul(p.y, z2));
        m += 1;
    }
    store(B, sum.plus(matrix[A][B]));
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
        /// tuple length and depth, words below its rows, a result for each chunk.
        #[kernel(max_block = $block, min_blocks = 1)]
        pub unsafe fn $name(parameters: Parameters, arrays: Arrays<$pair>) {
            // SAFETY: passed on to the caller.
            unsafe { chunks::<$number, $tuple, $depth, false>(parameters, arrays) }
        }
    )*};
}

macro_rules! packed {
    ($($name:ident = $tuple:literal, $block:literal;)*) => {$(
        #[doc = concat!(
            "The matrices of chunks of packed letters in `f32`, for tuples of ", $tuple, ": of an ",
            "alphabet of four, in words of four."
        )]
        ///
        /// # Safety
        /// As for the other kernels of chunks, with an operator for each byte.
        #[kernel(max_block = $block, min_blocks = 1)]
        pub unsafe fn $name(parameters: Parameters, arrays: Arrays<Pair32>) {
            // SAFETY: passed on to the caller.
            unsafe { chunks::<f32, $tuple, $tuple, true>(parameters, arrays) }
        }
    )*};
}

packed! {
    chunks_packed_1 = 1, 768;
    chunks_packed_2 = 2, 768;
    chunks_packed_3 = 3, 768;
    chunks_packed_4 = 4, 640;
}

entries! { f32, Pair32, 768:
    chunks_f32_1_1 = 1, 1;
    chunks_f32_2_1 = 2, 1;
    chunks_f32_2_2 = 2, 2;
    chunks_f32_3_1 = 3, 1;
    chunks_f32_3_2 = 3, 2;
    chunks_f32_3_3 = 3, 3;
}
// With more threads, two matrices of four rows do not fit in the registers. (Without a least number
// of blocks, ptxas spills for the sake of a second one, for which there is no shared memory.)
entries! { f32, Pair32, 640:
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
