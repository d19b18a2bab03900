//! A tile of the distances of all pairs of rows, by differences, which do not cancel however close
//! two rows are.
//!
//! A block of 256 threads computes a tile of the result, 128 rows of `a` by 128 rows of `b` (64 for
//! `f64`). Each thread keeps 8 × 8 (8 × 4) entries in registers. The rows come in chunks of
//! [`CHUNK`] columns through shared memory and are scaled by a power of two on the way, so that no
//! square leaves the range. Shared memory holds two chunks: the block reads one while the next one
//! arrives from global memory, so that one barrier per chunk is enough.
//!
//! Shared memory is laid out in words of 64 bits: an `f64`, or two neighbouring columns of a row of
//! `f32`. A chunk is an array \[columns of words\]\[rows\]: a thread reads two neighbouring rows
//! with one instruction of 128 bits, and the lanes of a warp read distinct banks or the same word.
//! The two columns in a word of `b` change places, for the register file: see `sums.rs`.
//!
//! For two columns of `f32` a thread reads 128 bytes of shared memory and executes 256
//! instructions: arithmetic is the bottleneck. Registers end at 128 so that two blocks fit on a
//! multiprocessor: one computes while the other writes its tile.
//!
//! A thread's entries are squares of 2 × 2, 8 rows and 16 columns apart. A thread stores 16 bytes
//! at a time, and a warp whole sectors of 32 bytes: 128 contiguous bytes in each of four rows, or,
//! mirrored at the diagonal, 64 bytes in each of eight rows.

use cuda_std::prelude::*;

use crate::loader::{CHUNK, Loader, Two};
use crate::number::Number;
use crate::sums::{Operands, place_in_tile};

/// Threads of a block that computes distances.
pub const THREADS: u32 = 256;

/// Rows of `a` in a tile of distances.
pub const TILE_ROWS: u32 = 128;

/// Rows of `b` in a tile of distances of `f32`.
pub const TILE_COLUMNS_F32: u32 = tile_columns(8);

/// Rows of `b` in a tile of distances of `f64`.
pub const TILE_COLUMNS_F64: u32 = tile_columns(4);

pub const fn tile_columns(per_thread: u32) -> u32 {
    // Two warps side by side, each of eight lanes.
    2 * 8 * per_thread
}

/// The arguments that all pairs share.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Parameters {
    /// Rows of `a`, and of the result; at least 1.
    pub rows: u64,
    /// Rows of `b`, columns of the result; at least 1.
    pub columns: u64,
    /// Columns of `a` and `b`; at most [`MAX_DIM`](crate::MAX_DIM).
    pub dim: u32,
    /// 1 for the square roots of the sums of squares, 0 for the sums themselves.
    pub root: u32,
    /// The factor of each number: a power of two that the type has.
    pub scale: f64,
    /// The factor that takes the scale back at the end: a power of two.
    pub unscale: f64,
}

/// The matrices whose rows are compared, row-major without gaps.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Matrices<T> {
    /// Rows of the result.
    pub a: DeviceSlice<T>,
    /// Columns of the result.
    pub b: DeviceSlice<T>,
}

/// The distance of a sum of squares of scaled differences.
#[inline(always)]
pub fn distance<T: Number>(sum: T, parameters: Parameters) -> f64 {
    let scaled = if parameters.root != 0 {
        sum.root()
    } else {
        sum
    };
    scaled.widened() * parameters.unscale
}

/// The tile of distances whose first row and column are given; with `MIRROR` a tile on or below the
/// diagonal, and its mirror image.
///
/// # Safety
/// - the block has [`THREADS`] threads; `LOAD_A` and `LOAD_B` are as [`Operands::sums`] says.
/// - `a` has rows × dim numbers, `b` columns × dim; both are aligned to 16 bytes.
/// - `out` has rows × columns elements, and is aligned to 16 bytes.
/// - `chunks` points to [`shared_words`](crate::sums::shared_words) of shared memory.
/// - no other block has the tile or, with `MIRROR`, its mirror image.
#[inline(always)]
pub unsafe fn tile<
    T: Number,
    const PER_THREAD: usize,
    const LOAD_A: usize,
    const LOAD_B: usize,
    const MIRROR: bool,
>(
    parameters: Parameters,
    a: DeviceSlice<T>,
    b: DeviceSlice<T>,
    out: DeviceSliceMut<f64>,
    chunks: *mut u64,
    (first_row, first_column): (u64, u64),
) {
    let Parameters {
        rows, columns, dim, ..
    } = parameters;
    // Past the last row the last one stands in: its distances are not written.
    let row_of = |values: DeviceSlice<T>, row: u64, rows: u64| {
        let row = row.min(rows - 1) as usize;
        values.as_ptr().wrapping_add(row * dim as usize)
    };
    let row_a = first_row + Loader::<T, LOAD_A, false>::row() as u64;
    let row_b = first_column + Loader::<T, LOAD_B, false>::row() as u64;
    let from_a = Loader::new(row_of(a, row_a, rows), dim as i32, TILE_ROWS);
    let from_b = Loader::new(
        row_of(b, row_b, columns),
        dim as i32,
        tile_columns(PER_THREAD as u32),
    );
    let scale = T::of(parameters.scale);
    // SAFETY: the rows exist, and begin at multiples of 16 bytes if `dim` is a multiple of 4. The
    // block has `THREADS` threads, the loads are as `sums` asks and `chunks` has room, by the
    // contract of this function.
    let sums = unsafe {
        Operands::<T, LOAD_A, LOAD_B, false>::new(from_a, from_b, dim % 4 == 0, scale).sums(
            chunks,
            dim.div_ceil(CHUNK),
            |_| {},
        )
    };
    // SAFETY: by the contract of this function, `out` has rows × columns elements, aligned to 16
    // bytes, and no other block has this tile.
    unsafe {
        write::<T, PER_THREAD, MIRROR>(parameters, out, (first_row, first_column), sums);
    }
}

/// Writes the distances of a tile, from the sums of each thread.
///
/// # Safety
/// As of [`tile`].
#[inline(always)]
pub unsafe fn write<T: Number, const PER_THREAD: usize, const MIRROR: bool>(
    parameters: Parameters,
    out: DeviceSliceMut<f64>,
    (first_row, first_column): (u64, u64),
    mut sums: [[T; PER_THREAD]; 8],
) {
    let Parameters { rows, columns, .. } = parameters;
    let (row_in_tile, column_in_tile) = place_in_tile(tile_columns(PER_THREAD as u32));
    if parameters.root != 0 {
        unrolled! { i in [0 1 2 3 4 5 6 7] {
            unrolled! { j in [0 1 2 3 4 5 6 7] {
                if j < PER_THREAD {
                    sums[i][j] = sums[i][j].root();
                }
            }}
        }}
    }
    let result = Result {
        out,
        columns,
        place: (
            first_row + row_in_tile as u64,
            first_column + column_in_tile as u64,
        ),
        unscale: parameters.unscale,
        // Only those of this tile matter.
        rows_left: rows
            .saturating_sub(first_row + row_in_tile as u64)
            .min(TILE_ROWS as u64) as u32,
        columns_left: columns
            .saturating_sub(first_column + column_in_tile as u64)
            .min(TILE_ROWS as u64) as u32,
    };
    // SAFETY: no other thread writes these entries. A thread's columns begin at an even one, so
    // where there is an even number of columns, every pair of them is within the result as a whole,
    // or not at all, and is aligned to 16 bytes.
    unsafe {
        if columns % 2 == 0 {
            result.write::<T, PER_THREAD, MIRROR, true>(&sums);
        } else {
            result.write::<T, PER_THREAD, MIRROR, false>(&sums);
        }
    }
}

/// A thread's part of the result.
struct Result {
    out: DeviceSliceMut<f64>,
    columns: u64,
    /// Row and column of its first entry, both even.
    place: (u64, u64),
    unscale: f64,
    /// Rows and columns from there to the end, at most a tile's.
    rows_left: u32,
    columns_left: u32,
}

impl Result {
    /// Writes a thread's entries, as far as they are within the result; with `MIRROR` those of its
    /// squares on or below the diagonal, and of the latter the mirror images.
    ///
    /// # Safety
    /// No other thread writes or reads these entries. With `PAIRS` the number of columns is even.
    #[inline(always)]
    unsafe fn write<T: Number, const PER_THREAD: usize, const MIRROR: bool, const PAIRS: bool>(
        &self,
        sums: &[[T; PER_THREAD]; 8],
    ) {
        let (row, column) = self.place;
        let entry = |i: usize, j: usize| sums[i][j].widened() * self.unscale;
        // A square of 2 × 2 begins at an even row and an even column: it is below the diagonal as a
        // whole, or on it, with its own mirror image in it.
        let below = (row as i64 - column as i64).min(TILE_ROWS as i64) as i32;
        let columns = self.columns as usize;
        let first = row as usize * columns + column as usize;
        let mirrored = column as usize * columns + row as usize;
        unrolled! { i in [0 1 2 3] {
            unrolled! { j in [0 1 2 3] {
                if 2 * j < PER_THREAD {
                    let (down, across) = (8 * i, 16 * j);
                    let height = self.rows_left.saturating_sub(down as u32);
                    let width = self.columns_left.saturating_sub(across as u32);
                    let square = [
                        [entry(2 * i, 2 * j), entry(2 * i, 2 * j + 1)],
                        [entry(2 * i + 1, 2 * j), entry(2 * i + 1, 2 * j + 1)],
                    ];
                    unrolled! { k in [0 1] {
                        if k < height as usize && (!MIRROR || across as i32 <= below + down as i32) {
                            let index = first + (down + k) * columns + across;
                            // SAFETY: so many are within this row of the result.
                            unsafe { self.put::<PAIRS>(index, square[k], width) };
                        }
                    }}
                    unrolled! { k in [0 1] {
                        if MIRROR && k < width as usize && (across as i32) < below + down as i32 {
                            let index = mirrored + (across + k) * columns + down;
                            // SAFETY: so many are within this row of the result.
                            unsafe { self.put::<PAIRS>(index, [square[0][k], square[1][k]], height) };
                        }
                    }}
                }
            }}
        }}
    }

    /// Writes two neighbours, but at most `count`.
    ///
    /// # Safety
    /// Those are within the result, and no other thread writes or reads them. With `PAIRS` both are
    /// or none, and the index of the first is even.
    #[inline(always)]
    unsafe fn put<const PAIRS: bool>(&self, index: usize, values: [f64; 2], count: u32) {
        if PAIRS {
            if count > 0 {
                // SAFETY: both are within the result, and the first is aligned to 16 bytes.
                unsafe {
                    self.out
                        .address(index)
                        .cast::<Two<f64>>()
                        .write(Two(values))
                };
            }
            return;
        }
        if count > 0 {
            // SAFETY: within the result.
            unsafe { self.out.set(index, values[0]) };
        }
        if count > 1 {
            // SAFETY: within the result.
            unsafe { self.out.set(index + 1, values[1]) };
        }
    }
}

/// The first row and column of tile number `tile`, where tiles are counted row by row.
#[inline(always)]
pub fn place(tile: u32, columns: u64, tile_columns: u32) -> (u64, u64) {
    let across = columns.div_ceil(tile_columns as u64) as u32;
    let (down, across) = (tile / across, tile % across);
    (
        down as u64 * TILE_ROWS as u64,
        across as u64 * tile_columns as u64,
    )
}

/// The same among the tiles that reach the diagonal or lie below it.
#[inline(always)]
pub fn place_below(tile: u32, tile_columns: u32) -> (u64, u64) {
    let per_square = TILE_ROWS / tile_columns;
    // Squares above row d of squares: d (d + 1) / 2. The root is far enough from the next whole
    // number, unless it is one: then it is exact.
    let square = tile / per_square;
    let down = ((float::sqrt_f64(8.0 * square as f64 + 1.0) - 1.0) / 2.0) as u32;
    let before = (down as u64 * (down as u64 + 1) / 2) as u32 * per_square;
    (
        down as u64 * TILE_ROWS as u64,
        (tile - before) as u64 * tile_columns as u64,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_below_the_diagonal_are_those_of_their_tiles() {
        for tile_columns in [TILE_COLUMNS_F32, TILE_COLUMNS_F64] {
            let per_square = (TILE_ROWS / tile_columns) as u64;
            let mut first = 0u64;
            for down in 0u64.. {
                let last = first + (down + 1) * per_square - 1;
                if last > i32::MAX as u64 {
                    break;
                }
                let row = down * TILE_ROWS as u64;
                assert_eq!(place_below(first as u32, tile_columns), (row, 0));
                let column = (last - first) * tile_columns as u64;
                assert_eq!(place_below(last as u32, tile_columns), (row, column));
                first = last + 1;
            }
        }
    }

    #[test]
    fn places_are_those_of_their_tiles() {
        assert_eq!(place(0, 129, 128), (0, 0));
        assert_eq!(place(1, 129, 128), (0, 128));
        assert_eq!(place(2, 129, 128), (128, 0));
        let last = i32::MAX as u32;
        assert_eq!(place(last, 1, 64), (last as u64 * 128, 0));
        assert_eq!(place(last, u64::from(last) * 64, 64), (128, 0));
    }
}
