//! Distances of sequences of windows, over the windows that both sequences have.
//!
//! A sequence's windows lie one behind the other, so they are one long row, and rows differ in
//! length: a pair of rows counts the columns that both have. A tile loads NaN for columns past the
//! end of a row, and where a chunk has any, leaves out the differences that are NaN. All other
//! chunks take the same instructions as rows of one length.

use cuda_std::prelude::*;

use crate::loader::{CHUNK, Loader};
use crate::number::Number;
use crate::sums::{Operands, place_in_tile};
use crate::tile::{Parameters, THREADS, TILE_ROWS, distance, tile_columns, write};

/// The windows of several sequences, row-major without gaps. Sequence `i` has the windows from
/// `offsets[i]` up to and without `offsets[i + 1]`.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Windows<T> {
    /// The numbers of all windows.
    pub values: DeviceSlice<T>,
    /// An element more than there are sequences.
    pub offsets: DeviceSlice<u64>,
}

impl<T: Number> Windows<T> {
    /// Where a sequence begins, and how many numbers it has.
    ///
    /// # Safety
    /// The sequence exists, and has at most [`MAX_DIM`](crate::MAX_DIM) numbers.
    #[inline(always)]
    unsafe fn sequence(&self, index: u64, dim: u32) -> (*const T, i32) {
        // SAFETY: there is an offset behind each sequence.
        let [start, end] = [0, 1].map(|i| unsafe { self.offsets.at(index as usize + i) });
        let start_of_row = start as usize * dim as usize;
        let length = (end - start) as usize * dim as usize;
        (
            self.values.as_ptr().wrapping_add(start_of_row),
            length as i32,
        )
    }

    /// # Safety
    /// The sequence exists.
    #[inline(always)]
    unsafe fn has_windows(&self, index: u64) -> bool {
        // SAFETY: there is an offset behind each sequence.
        let [start, end] = [0, 1].map(|i| unsafe { self.offsets.at(index as usize + i) });
        start < end
    }
}

/// The tile of slide distances whose first row and column are given.
///
/// # Safety
/// - the block has [`THREADS`] threads; `LOAD_A` and `LOAD_B` are as [`Operands::sums`] says.
/// - `a` has rows sequences, `b` columns, of windows of dim numbers, of at most
///   [`MAX_DIM`](crate::MAX_DIM) numbers each; their values are aligned to 16 bytes.
/// - `out` has rows × columns elements, and is aligned to 16 bytes.
/// - `chunks` points to [`shared_words`](crate::sums::shared_words) of shared memory, `longest` to
///   two more words.
/// - no other block has the tile.
#[inline(always)]
pub unsafe fn tile<T: Number, const PER_THREAD: usize, const LOAD_A: usize, const LOAD_B: usize>(
    parameters: Parameters,
    a: Windows<T>,
    b: Windows<T>,
    out: DeviceSliceMut<f64>,
    (chunks, longest): (*mut u64, *mut u32),
    (first_row, first_column): (u64, u64),
) {
    let Parameters {
        rows, columns, dim, ..
    } = parameters;
    let tile_columns = tile_columns(PER_THREAD as u32);
    // Past the last sequence the last one stands in: its distances are not written.
    let row_a = first_row + Loader::<T, LOAD_A, true>::row() as u64;
    let row_b = first_column + Loader::<T, LOAD_B, true>::row() as u64;
    // SAFETY: the sequences exist.
    let ((start_a, length_a), (start_b, length_b)) = unsafe {
        (
            a.sequence(row_a.min(rows - 1), dim),
            b.sequence(row_b.min(columns - 1), dim),
        )
    };

    // No pair of the tile has more columns than the longest row of either operand.
    if thread::thread_idx_x() < 2 {
        // SAFETY: the first two threads write an element each.
        unsafe { longest.add(thread::thread_idx_x() as usize).write(0) };
    }
    thread::sync_threads();
    // SAFETY: between the barriers the elements are accessed atomically alone.
    unsafe {
        atomic::max(longest, length_a as u32);
        atomic::max(longest.add(1), length_b as u32);
    }
    thread::sync_threads();
    // SAFETY: no thread writes them any more.
    let count = unsafe { longest.read().min(longest.add(1).read()) }.div_ceil(CHUNK);

    let from_a = Loader::new(start_a, length_a, TILE_ROWS);
    let from_b = Loader::new(start_b, length_b, tile_columns);
    let scale = T::of(parameters.scale);
    // SAFETY: the rows exist; if `dim` is a multiple of 4, so are their starts and lengths, and the
    // values are aligned to 16 bytes. The block has `THREADS` threads, which all have the same
    // `count`; the loads are as `sums` asks and `chunks` has room, by the contract of this
    // function.
    let mut sums = unsafe {
        Operands::<T, LOAD_A, LOAD_B, true>::new(from_a, from_b, dim % 4 == 0, scale)
            .sums::<PER_THREAD>(chunks, count, |_| {})
    };

    // Sequences without windows have no distance.
    let (row_in_tile, column_in_tile) = place_in_tile(tile_columns);
    unrolled! { j in [0 1 2 3 4 5 6 7] {
        if j < PER_THREAD {
            let column = first_column + (column_in_tile + 16 * (j as u32 / 2) + j as u32 % 2) as u64;
            // SAFETY: the sequence exists.
            let is_there = unsafe { b.has_windows(column.min(columns - 1)) };
            unrolled! { i in [0 1 2 3 4 5 6 7] {
                sums[i][j] = if is_there { sums[i][j] } else { T::NAN };
            }}
        }
    }}
    unrolled! { i in [0 1 2 3 4 5 6 7] {
        let row = first_row + (row_in_tile + 8 * (i as u32 / 2) + i as u32 % 2) as u64;
        // SAFETY: the sequence exists.
        let is_there = unsafe { a.has_windows(row.min(rows - 1)) };
        unrolled! { j in [0 1 2 3 4 5 6 7] {
            if j < PER_THREAD {
                sums[i][j] = if is_there { sums[i][j] } else { T::NAN };
            }
        }}
    }}
    // SAFETY: by the contract of this function, `out` has rows × columns elements, aligned to 16
    // bytes, and no other block has this tile.
    unsafe { write::<T, PER_THREAD, false>(parameters, out, (first_row, first_column), sums) };
}

/// The distance of a sequence of `a` to the sequence of `b` with the same index, which is that of
/// the block.
///
/// # Safety
/// - the block has [`THREADS`] threads, and its index is below the rows.
/// - `a` and `b` have rows sequences each, of windows of dim numbers, of at most
///   [`MAX_DIM`](crate::MAX_DIM) numbers each; `out` has rows elements.
/// - `of_warps` points to an element of shared memory for each warp.
#[inline(always)]
pub unsafe fn pair<T: Number>(
    parameters: Parameters,
    a: Windows<T>,
    b: Windows<T>,
    out: DeviceSliceMut<f64>,
    of_warps: *mut T,
) {
    let index = thread::block_idx_x() as u64;
    // SAFETY: by the contract of this function, the block's index is below the rows, and both have
    // so many sequences, of at most `MAX_DIM` numbers.
    let ((start_a, length_a), (start_b, length_b)) = unsafe {
        (
            a.sequence(index, parameters.dim),
            b.sequence(index, parameters.dim),
        )
    };
    let length = length_a.min(length_b) as u32;
    let scale = T::of(parameters.scale);
    let tid = thread::thread_idx_x();
    let mut sum = T::ZERO;
    let mut i = tid;
    while i < length {
        // SAFETY: within both sequences.
        let (a, b) = unsafe {
            (
                start_a.add(i as usize).read(),
                start_b.add(i as usize).read(),
            )
        };
        sum = T::square_plus(a * scale - b * scale, sum);
        i += THREADS;
    }
    let sum = T::sum_of_warp(sum);
    if warp::lane_id() == 0 {
        // SAFETY: this warp's element.
        unsafe { of_warps.add((tid / 32) as usize).write(sum) };
    }
    thread::sync_threads();
    if tid == 0 {
        let mut sum = T::ZERO;
        let mut warp = 0;
        while warp < THREADS / 32 {
            // SAFETY: behind the barrier all are written.
            sum = sum + unsafe { of_warps.add(warp as usize).read() };
            warp += 1;
        }
        // SAFETY: the sequences exist; no other thread writes this element.
        unsafe {
            let is_there = a.has_windows(index) && b.has_windows(index);
            let distance = if is_there {
                distance(sum, parameters)
            } else {
                f64::NAN
            };
            out.set(index as usize, distance);
        }
    }
}
