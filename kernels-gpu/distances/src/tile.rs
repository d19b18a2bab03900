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
//!
//! For two columns of `f32` a thread reads 128 bytes of shared memory and executes 256
//! instructions: arithmetic is the bottleneck. Registers end at 128 so that two blocks fit on a
//! multiprocessor: one computes while the other writes its tile.
//!
//! A thread's entries are squares of 2 × 2, 8 rows and 16 columns apart. A thread stores 16 bytes
//! at a time, and a warp whole sectors of 32 bytes: 128 contiguous bytes in each of four rows, or,
//! mirrored at the diagonal, 64 bytes in each of eight rows.

use cuda_std::prelude::*;

use crate::number::Number;

/// Threads of a block that computes distances.
pub const THREADS: u32 = 256;

/// Rows of `a` in a tile of distances.
pub const TILE_ROWS: u32 = 128;

/// Rows of `b` in a tile of distances of `f32`.
pub const TILE_COLUMNS_F32: u32 = tile_columns(8);

/// Rows of `b` in a tile of distances of `f64`.
pub const TILE_COLUMNS_F64: u32 = tile_columns(4);

/// Columns that are in shared memory at a time.
pub const CHUNK: u32 = 8;

const fn tile_columns(per_thread: u32) -> u32 {
    // Two warps side by side, each of eight lanes.
    2 * 8 * per_thread
}

/// What is the same for all pairs.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Parameters {
    /// Rows of `a`, and of the result; at least 1.
    pub rows: u64,
    /// Rows of `b`, columns of the result; at least 1.
    pub columns: u64,
    /// Columns of `a` and `b`; at most 2³¹ − 1.
    pub dim: u32,
    /// 1 for the square roots of the sums of squares, 0 for the sums themselves.
    pub root: u32,
    /// What each number is multiplied with: a power of two that the type has.
    pub scale: f64,
    /// What takes the scale back at the end: a power of two.
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

/// Two neighbours that are read or written with one instruction.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
struct Two<T>([T; 2]);

/// Words between the columns of a chunk of `rows` rows. What is added keeps the lanes that write
/// `LOAD` words each of the same row off each other's banks.
const fn stride<T: Number>(rows: u32) -> u32 {
    rows + 2 * T::PACK
}

/// Words of shared memory for two chunks of both operands.
pub const fn shared_words<T: Number>(tile_columns: u32) -> usize {
    let groups = CHUNK / T::PACK;
    (2 * groups * (stride::<T>(TILE_ROWS) + stride::<T>(tile_columns))) as usize
}

/// One thread's part in bringing the rows of an operand to shared memory: `LOAD` words of one row
/// in each chunk.
struct Loader<T, const LOAD: usize> {
    /// Where its first number of the next chunk is in global memory, if there is one.
    next: *const T,
    /// How many columns of the row are left from there on, if positive.
    left: i32,
    /// The place of its first word in a chunk.
    place: u32,
    stride: u32,
}

impl<T: Number, const LOAD: usize> Loader<T, LOAD> {
    /// # Safety
    /// `values` are `rows` rows of `dim` numbers, `rows` at least 1.
    #[inline(always)]
    unsafe fn new(
        values: DeviceSlice<T>,
        first_row: u64,
        rows: u64,
        tile_rows: u32,
        dim: u32,
    ) -> Self {
        let threads_per_row = CHUNK / T::PACK / LOAD as u32;
        let tid = thread::thread_idx_x();
        let (row, group) = (tid / threads_per_row, tid % threads_per_row * LOAD as u32);
        let column = group * T::PACK;
        // Past the last row the last one stands in: its distances are not written.
        let source = (first_row + row as u64).min(rows - 1) as usize * dim as usize;
        let stride = stride::<T>(tile_rows);
        Loader {
            next: values.as_ptr().wrapping_add(source + column as usize),
            left: dim as i32 - column as i32,
            place: group * stride + row,
            stride,
        }
    }

    /// This thread's words of the next chunk. Columns past the last one are zero in both operands,
    /// and add nothing.
    ///
    /// # Safety
    /// `aligned` only if the dimension is a multiple of 4.
    #[inline(always)]
    unsafe fn fetch(&mut self, aligned: bool) -> [u64; LOAD] {
        let mut words = [0; LOAD];
        if aligned {
            // With one of these columns all are in the row.
            if self.left > 0 {
                let mut i = 0;
                while i < LOAD {
                    // SAFETY: within the row, which begins, like every fourth number, at a multiple
                    // of 16 bytes.
                    let two = unsafe { self.next.cast::<Two<u64>>().add(i / 2).read() };
                    words[i] = two.0[0];
                    words[i + 1] = two.0[1];
                    i += 2;
                }
            }
        } else {
            let mut i = 0;
            while i < LOAD {
                words[i] = T::pack(|index| {
                    let column = i as u32 * T::PACK + index;
                    if (column as i32) < self.left {
                        // SAFETY: within the row.
                        unsafe { self.next.add(column as usize).read() }
                    } else {
                        T::ZERO
                    }
                });
                i += 1;
            }
        }
        self.next = self.next.wrapping_add(CHUNK as usize);
        self.left -= CHUNK as i32;
        words
    }

    /// # Safety
    /// `chunk` has room for the operand's part of a chunk.
    #[inline(always)]
    unsafe fn put(&self, chunk: *mut u64, words: [u64; LOAD], scale: T) {
        let mut i = 0;
        while i < LOAD {
            let scaled = T::pack(|index| T::unpack(words[i], index) * scale);
            let place = self.place + i as u32 * self.stride;
            // SAFETY: within the chunk.
            unsafe { chunk.add(place as usize).write(scaled) };
            i += 1;
        }
    }
}

/// The tile of distances whose first row and column are given; with `MIRROR` a tile on or below the
/// diagonal, and its mirror image.
///
/// # Safety
/// - the block has [`THREADS`] threads; `LOAD_A` and `LOAD_B` are even, and with so many words for
///   each thread a chunk of the operand is loaded.
/// - `a` has rows × dim numbers, `b` columns × dim; both are aligned to 16 bytes.
/// - `out` has rows × columns elements, and is aligned to 16 bytes.
/// - `chunks` points to [`shared_words`] of shared memory.
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
    let groups = CHUNK / T::PACK;
    let tile_columns = tile_columns(PER_THREAD as u32);
    let (stride_a, stride_b) = (stride::<T>(TILE_ROWS), stride::<T>(tile_columns));
    let size_a = groups * stride_a;
    let size = size_a + groups * stride_b;

    // Four warps down, two across; in a warp four lanes down, eight across.
    let tid = thread::thread_idx_x();
    let (warp, lane) = (tid / 32, tid % 32);
    let row_in_tile = warp / 2 * 32 + lane / 8 * 2;
    let column_in_tile = warp % 2 * (tile_columns / 2) + lane % 8 * 2;

    // SAFETY: as the caller says.
    let (mut from_a, mut from_b) = unsafe {
        (
            Loader::<T, LOAD_A>::new(a, first_row, rows, TILE_ROWS, dim),
            Loader::<T, LOAD_B>::new(b, first_column, columns, tile_columns, dim),
        )
    };
    let aligned = dim % 4 == 0;
    let scale = T::of(parameters.scale);
    // SAFETY: `aligned` is as asked for, here and below.
    let (mut words_a, mut words_b) = unsafe { (from_a.fetch(aligned), from_b.fetch(aligned)) };

    let mut sums = [[T::ZERO; PER_THREAD]; 8];
    let mut current = 0;
    let mut chunk = 0;
    while chunk < dim.div_ceil(CHUNK) {
        // SAFETY: two chunks of `size` words. Whoever still reads this one has not been at the
        // barrier of the previous round, without which nobody gets here.
        let chunk_a = unsafe { chunks.add(current as usize) };
        // SAFETY: as above.
        let chunk_b = unsafe { chunk_a.add(size_a as usize) };
        // SAFETY: as above.
        unsafe {
            from_a.put(chunk_a, words_a, scale);
            from_b.put(chunk_b, words_b, scale);
        }
        thread::sync_threads();
        // SAFETY: as above. The last round fetches zeros.
        (words_a, words_b) = unsafe { (from_a.fetch(aligned), from_b.fetch(aligned)) };

        let mut group = 0;
        while group < groups {
            let read = |chunk: *mut u64, place: u32| {
                // SAFETY: within the chunk, at an even word.
                unsafe { chunk.add(place as usize).cast::<Two<u64>>().read().0 }
            };
            let (mut a, mut b) = ([[0; 2]; 4], [[0; 2]; 4]);
            unrolled! { i in [0 1 2 3] {
                a[i] = read(chunk_a, group * stride_a + row_in_tile + 8 * i as u32);
                if 2 * i < PER_THREAD {
                    b[i] = read(chunk_b, group * stride_b + column_in_tile + 16 * i as u32);
                }
            }}
            let mut index = 0;
            while index < T::PACK {
                unrolled! { i in [0 1 2 3 4 5 6 7] {
                    let a = T::unpack(a[i / 2][i % 2], index);
                    unrolled! { j in [0 1 2 3 4 5 6 7] {
                        if j < PER_THREAD {
                            let difference = a - T::unpack(b[j / 2][j % 2], index);
                            sums[i][j] = T::square_plus(difference, sums[i][j]);
                        }
                    }}
                }}
                index += 1;
            }
            group += 1;
        }
        current = size - current;
        chunk += 1;
    }

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
