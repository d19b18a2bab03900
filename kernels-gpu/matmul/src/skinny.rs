//! Products of a tall factor, of many rows, with a thin one, of at most 16 columns.
//!
//! The kernels are memory-bound: they read the tall factor once, and 2·N operations per element are
//! fewer than a GPU performs while it reads one. They keep about 40 KB in flight per multiprocessor,
//! and do the rest beside that:
//!
//! - Registers cannot hold so many bytes beside the sums (4 rows × 16 columns in f64 are 128
//!   registers). So the elements come by asynchronous copies to a ring in shared memory of
//!   [`STAGES`] stages. Each thread copies what it alone reads, so it waits for its own copies and
//!   never for other threads.
//! - Blocks stay: each takes the next tile of rows until there are none, and the copies run ahead
//!   over the ends of tiles. The thin factor, or as much of its k as the launch has shared memory
//!   for, is brought there once per block if that is all of k.
//! - A value of the thin factor is used for each piece of 16 bytes that a thread takes at once, and
//!   the same 16 bytes go to four lanes of a warp or to all of them, so that reading them costs
//!   less than the tall factor's own way through shared memory.
//!
//! There are two forms:
//! - *along*: the tall factor's k are neighbours. A warp reads 512 bytes of a row at once, of 4
//!   rows in turn: with 128 bytes of each row, memory gave 1.75 TB/s, with 512 it gives all it has.
//!   Each lane has sums of its own k; at the end these are added up among the lanes.
//! - *across*: its rows are neighbours. A warp reads 512 bytes of a k, and the warps of a block
//!   take turns in k; at the end their sums are added up through shared memory.
//!
//! Both read pieces of 16 bytes, or (`_any_`) element by element with any strides: *along* with
//! neighbouring lanes at neighbouring k, *across* at neighbouring rows.

use cuda_std::async_copy;
use cuda_std::prelude::*;
use cuda_std::shared::{SharedAddress, address, dynamic_shared_mem};
use cuda_std::warp::{FULL_MASK, WarpValue, shuffle_xor};

use crate::loader::start;
use crate::product::{Factor, Sum, read, write};

/// C(i, j) = alpha·Σ tall(i, k)·thin(j, k) + beta·C(i, j) for a batch of matrices, or a part of the
/// sums over k, with sums of type `S`.
///
/// A launch has any number of blocks in the x direction, which share the tiles of [`skinny_rows`]
/// rows, unless the kernel says otherwise, one in the y direction for each part of k, and one in
/// the z direction for each matrix of the batch.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Skinny<T, S = T> {
    /// The factor of many rows. Except for the kernels `_any_`, its neighbours are *along* k or
    /// *across* the rows, and the address of its elements, its start and its other strides are
    /// multiples of 16 bytes.
    pub tall: Factor<T>,
    /// The factor of few columns, which are its outer index, with any strides. For the kernels
    /// `vector_…_along`, the address of its elements is a multiple of 16 bytes.
    pub thin: Factor<T>,
    /// The results.
    pub c: DeviceSliceMut<S>,
    /// Where the first element of the first C is.
    pub c_start: i64,
    /// Stride of C between rows i, in elements.
    pub c_stride: i64,
    /// Stride of C between columns j, in elements.
    pub c_stride_thin: i64,
    /// Stride of C between matrices of the batch, in elements.
    pub c_stride_batch: i64,
    /// Stride of C between parts of k, in elements.
    pub c_stride_part: i64,
    /// Factor of the product.
    pub alpha: S,
    /// Factor of C, which is not read if it is 0.
    pub beta: S,
    /// Number of rows i, below 2³¹.
    pub rows: u32,
    /// Number of columns j: at most the number in the kernel's name, or 1 if there is none.
    pub columns: u32,
    /// Number of k.
    pub k: u32,
    /// How many of k each part sums, a multiple of [`skinny_k_step`] for the size of `T`, and of
    /// `THIN_K_STEP` for the kernels `thin_`.
    pub k_part: u32,
    /// How many k of the thin factor are in shared memory at a time, a multiple of
    /// [`skinny_k_step`]. The kernels `thin_` and `vector_` do not use it.
    pub k_chunk: u32,
}
/// Threads of a block.
pub const SKINNY_THREADS: u32 = 256;
const WARPS: u32 = SKINNY_THREADS / 32;

/// Pieces of 16 bytes that a thread takes at once: of so many rows (*along*) or k (*across*).
const PIECES: u32 = 4;
/// Bytes between a thread's pieces in shared memory: neighbouring threads have neighbouring ones.
const PIECE_STEP: u32 = 16 * SKINNY_THREADS;
const STAGE_BYTES: u32 = PIECES * PIECE_STEP;
/// Stages of the ring, of which all but one are on their way: 48 KB for a block.
const STAGES: u32 = 4;
const RING_BYTES: u32 = STAGES * STAGE_BYTES;

/// Lanes that share rows (*along*): all of a warp.
const LANES_OF_K: u32 = 32;
/// Bytes between columns of the thin factor (*along*): those of all lanes' pieces, and 16 that move
/// the next column's to other banks, for the threads that write all columns of a k.
const COLUMN_BYTES: u32 = 16 * LANES_OF_K + 16;

/// Columns whose sums go through shared memory together (*across*).
const COLUMNS_ADDED: usize = 4;

/// Rows of a tile, for elements of `size` bytes.
pub const fn skinny_rows(is_across: bool, size: u32) -> u32 {
    if is_across {
        32 * 16 / size
    } else {
        WARPS * PIECES
    }
}

/// Returns the number of which the parts and chunks of k are multiples, for elements of `size` bytes.
pub const fn skinny_k_step(is_across: bool, size: u32) -> u32 {
    if is_across {
        WARPS * PIECES
    } else {
        LANES_OF_K * 16 / size
    }
}

/// The dynamic shared memory of a block, for a kernel of `columns` columns of `size` bytes and a
/// chunk of `k_chunk`.
pub const fn skinny_shared_bytes(is_across: bool, size: u32, columns: u32, k_chunk: u32) -> u32 {
    let steps = k_chunk / skinny_k_step(is_across, size);
    thin_offset(is_across, columns) + steps * thin_step_bytes(is_across, size, columns)
}

/// The largest chunk that `k` can make use of and `bytes` of shared memory have room for; 0 if
/// there is none.
pub const fn skinny_k_chunk(is_across: bool, size: u32, columns: u32, k: u32, bytes: u32) -> u32 {
    let step = skinny_k_step(is_across, size);
    let room = bytes.saturating_sub(thin_offset(is_across, columns));
    let steps_in = room / thin_step_bytes(is_across, size, columns);
    let steps_of_k = if k == 0 { 1 } else { k.div_ceil(step) };
    step * if steps_in < steps_of_k {
        steps_in
    } else {
        steps_of_k
    }
}

/// Bytes of shared memory before the thin factor.
const fn thin_offset(is_across: bool, columns: u32) -> u32 {
    let added = if columns < COLUMNS_ADDED as u32 {
        columns
    } else {
        COLUMNS_ADDED as u32
    };
    RING_BYTES
        + if is_across {
            WARPS * added * 32 * 16
        } else {
            0
        }
}

/// Bytes of a step of k of the thin factor in shared memory.
const fn thin_step_bytes(is_across: bool, size: u32, columns: u32) -> u32 {
    columns
        * if is_across {
            skinny_k_step(true, size) * size
        } else {
            COLUMN_BYTES
        }
}

/// The first of k that this block sums, and how many.
#[inline(always)]
pub fn part_of_k<T: Copy, S: Copy>(product: &Skinny<T, S>) -> (u32, u32) {
    let first = thread::block_idx_y() * product.k_part;
    (first, product.k_part.min(product.k - first))
}

/// A thread's way through the tall factor, in pieces of `VECTOR` elements.
struct Tall<T, const VECTOR: usize, const ACROSS: bool, const ANY: bool> {
    elements: DeviceSlice<T>,
    /// The first element of the thread's first piece of the next step.
    next: *const u8,
    /// The first row of that tile, and the first of the part's k in that step.
    row: u32,
    k: u32,
    /// Number of rows, and of the part's k.
    rows: u32,
    k_count: u32,
    /// The steps of `next` in bytes: from piece to piece, from element to element of a piece,
    /// from step to step, and from the last step of a tile to the first of this block's next tile.
    piece_step: isize,
    element_step: isize,
    step: isize,
    tile_step: isize,
    /// The thread's place in the ring.
    memory: *const T,
    place: SharedAddress,
    /// Where the next step goes there, and where the one is that is multiplied next, in bytes.
    free: u32,
    current: u32,
}

impl<T: Sum, const VECTOR: usize, const ACROSS: bool, const ANY: bool>
    Tall<T, VECTOR, ACROSS, ANY>
{
    const SIZE: u32 = size_of::<T>() as u32;
    const TILE: u32 = skinny_rows(ACROSS, Self::SIZE);
    const STEP: u32 = skinny_k_step(ACROSS, Self::SIZE);
    /// Distance between the elements of a piece in the matrix. Where they are copied one by one,
    /// neighbouring lanes have neighbours instead.
    const DISTANCE: u32 = match (ANY, ACROSS) {
        (false, _) => 1,
        (true, false) => LANES_OF_K,
        (true, true) => 32,
    };
    /// Rows or k from piece to piece.
    const PIECE_DISTANCE: u32 = 1;

    /// The thread's first row and k in a tile.
    #[inline(always)]
    fn first_of_thread() -> (u32, u32) {
        let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
        let width = if ANY { 1 } else { VECTOR as u32 };
        if ACROSS {
            (lane * width, warp * PIECES)
        } else {
            (warp * PIECES, lane * width)
        }
    }

    /// For this block's tiles and part of k; `memory` has [`RING_BYTES`].
    #[inline(always)]
    fn new(product: &Skinny<T>, memory: *const T) -> Self {
        let tall = &product.tall;
        let (my_row, my_k) = Self::first_of_thread();
        let (k_first, k_count) = part_of_k(product);
        let row = thread::block_idx_x() * Self::TILE;
        let (stride, stride_k) = (tall.stride as isize, tall.stride_k as isize);
        let first = tall.start as isize
            + thread::block_idx_z() as isize * tall.stride_batch as isize
            + (row + my_row) as isize * stride
            + (k_first + my_k) as isize * stride_k;
        let size = Self::SIZE as isize;
        let (of_pieces, of_elements) = if ACROSS {
            (stride_k, stride)
        } else {
            (stride, stride_k)
        };
        let rows_of_grid = thread::grid_dim_x() as isize * Self::TILE as isize;
        let k_of_tile = k_count.next_multiple_of(Self::STEP) as isize;
        let memory = memory.wrapping_byte_add(16 * thread::thread_idx_x() as usize);
        Tall {
            elements: tall.elements,
            next: tall.elements.as_ptr().wrapping_offset(first).cast(),
            row,
            k: 0,
            // Without k there is nothing to read.
            rows: if k_count == 0 { 0 } else { product.rows },
            k_count,
            piece_step: Self::PIECE_DISTANCE as isize * of_pieces * size,
            element_step: Self::DISTANCE as isize * of_elements * size,
            step: Self::STEP as isize * stride_k * size,
            tile_step: (rows_of_grid * stride - k_of_tile * stride_k) * size,
            memory,
            place: address(memory),
            free: 0,
            current: 0,
        }
    }

    /// Starts the copies of the next step, if there is one.
    ///
    /// # Safety
    /// The thread has read what was in the stage before the current one.
    #[inline(always)]
    unsafe fn load(&mut self) {
        if self.row < self.rows {
            let (my_row, my_k) = Self::first_of_thread();
            let (row, k) = (self.row + my_row, self.k + my_k);
            // In the direction in which the elements of a piece follow each other.
            let (at, end) = if ACROSS {
                (row, self.rows)
            } else {
                (k, self.k_count)
            };
            // SAFETY: by the contract of this function, the thread has read what was in the stage
            // before the current one.
            unsafe {
                // A piece that ends beyond the matrix is copied element by element, only as far as
                // the matrix reaches.
                if ANY || at < end && end - at < VECTOR as u32 {
                    self.copy::<true>(row, k);
                } else {
                    self.copy::<false>(row, k);
                }
            }
            self.k += Self::STEP;
            self.next = self.next.wrapping_offset(self.step);
            if self.k >= self.k_count {
                self.k = 0;
                self.row += thread::grid_dim_x() * Self::TILE;
                self.next = self.next.wrapping_offset(self.tile_step);
            }
            self.free = (self.free + STAGE_BYTES) % RING_BYTES;
        }
        async_copy::commit();
    }

    /// Starts the copies of the pieces from `row` and `k` on, element by element if `SINGLE`.
    ///
    /// # Safety
    /// As of [`load`](Self::load); pieces that are not copied element by element are there as a
    /// whole or not at all.
    #[inline(always)]
    unsafe fn copy<const SINGLE: bool>(&self, row: u32, k: u32) {
        let stage = self.place.offset(self.free);
        unrolled! { piece in [0 1 2 3] {
            let from = self.next.wrapping_offset(piece as isize * self.piece_step);
            let to = stage.offset(piece as u32 * PIECE_STEP);
            let further = piece as u32 * Self::PIECE_DISTANCE;
            let (row, k) = if ACROSS { (row, k + further) } else { (row + further, k) };
            if SINGLE {
                unrolled! { element in [0 1 2 3] {
                    if element < VECTOR {
                        let from = from.wrapping_offset(element as isize * self.element_step);
                        let to = to.offset(element as u32 * Self::SIZE);
                        let further = element as u32 * Self::DISTANCE;
                        let (row, k) = if ACROSS { (row + further, k) } else { (row, k + further) };
                        let is_there = row < self.rows && k < self.k_count;
                        // SAFETY: the thread's place in the stage; in the matrix if it is there.
                        unsafe { start(self.elements, 1, from, to, is_there) };
                    }
                }}
            } else {
                let is_there = row < self.rows && k < self.k_count;
                // SAFETY: by the contract of this function, the piece is in the matrix as a whole
                // if it is there. It has 16 bytes, of which start and strides are multiples by the
                // contract of `Skinny`, and so is the thread's place in the stage.
                unsafe { start(self.elements, VECTOR as u32, from, to, is_there) };
            }
        }}
    }

    /// Starts the copies of the first steps.
    ///
    /// # Safety
    /// Nothing has been in the ring yet.
    #[inline(always)]
    unsafe fn load_first(&mut self) {
        unrolled! { stage in [0 1 2] {
            const { assert!(STAGES == 4) };
            let _ = stage;
            // SAFETY: by the contract of this function, nothing has been in the ring yet.
            unsafe { self.load() };
        }}
    }

    /// The thread's pieces of the current step, and starts the copies of the last one that there is
    /// room for.
    ///
    /// # Safety
    /// There is a step.
    #[inline(always)]
    unsafe fn take(&mut self) -> [[T; VECTOR]; PIECES as usize] {
        async_copy::wait::<{ STAGES - 2 }>();
        let from = self.memory.wrapping_byte_add(self.current as usize);
        let mut pieces = [[T::ZERO; VECTOR]; PIECES as usize];
        unrolled! { piece in [0 1 2 3] {
            // SAFETY: they have arrived, and this thread copied them.
            pieces[piece] = unsafe { read(from.wrapping_byte_add(piece * PIECE_STEP as usize)) };
        }}
        self.current = (self.current + STAGE_BYTES) % RING_BYTES;
        // SAFETY: the stage that was current before, whose pieces have been multiplied.
        unsafe { self.load() };
        pieces
    }
}

/// Starts to copy `count` of the part's k, from `first` on, of `columns` columns of the thin factor
/// to shared memory, with zeros for columns and k that are not there; `place` says how many bytes
/// behind `memory` a k and column go.
///
/// # Safety
/// `memory` has room for `count` k of `columns` columns, and all threads have read what it held
/// before.
#[inline(always)]
pub unsafe fn load_thin<T: Sum>(
    product: &Skinny<T>,
    memory: *const T,
    first: u32,
    count: u32,
    columns: u32,
    place: impl Fn(u32, u32) -> u32,
) {
    let thin = &product.thin;
    let (k_first, k_count) = part_of_k(product);
    let matrix = thin.start as isize + thread::block_idx_z() as isize * thin.stride_batch as isize;
    let to = address(memory);
    // Neighbouring threads read what is neighbouring in memory. Either way a thread has many copies
    // on their way: that is what makes this short.
    let is_along_k = thin.stride_k == 1 && thin.stride != 1;
    let (width, me) = if is_along_k {
        (32, thread::thread_idx_x() % 32)
    } else {
        (1, 0)
    };
    // Blocks of `width` k: all columns of one, then of the next. Divided once, since dividing takes
    // longer than the rest.
    let (index, step) = (thread::thread_idx_x() / width, SKINNY_THREADS / width);
    let (mut block, mut column) = (index / columns, index % columns);
    let (blocks_on, columns_on) = (step / columns, step % columns);
    while block * width < count {
        let k = block * width + me;
        if k < count {
            let is_there = first + k < k_count && column < product.columns;
            let from = matrix
                + column as isize * thin.stride as isize
                + (k_first + first + k) as isize * thin.stride_k as isize;
            let from = thin.elements.as_ptr().wrapping_offset(from).cast();
            let to = to.offset(place(k, column));
            // SAFETY: by the contract of this function, `memory` has room for them, and all have
            // read what was there; in the matrix if it is there.
            unsafe { start(thin.elements, 1, from, to, is_there) };
        }
        block += blocks_on;
        column += columns_on;
        if column >= columns {
            column -= columns;
            block += 1;
        }
    }
}

/// Writes a result.
///
/// # Safety
/// No other thread writes it.
#[inline(always)]
pub unsafe fn write_sum<T: Copy, S: Sum>(product: &Skinny<T, S>, row: u32, column: u32, sum: S) {
    if row >= product.rows || column >= product.columns {
        return;
    }
    let place = product.c_start
        + thread::block_idx_y() as i64 * product.c_stride_part
        + thread::block_idx_z() as i64 * product.c_stride_batch
        + row as i64 * product.c_stride
        + column as i64 * product.c_stride_thin;
    let mut result = product.alpha * sum;
    // SAFETY: within C.
    unsafe {
        if product.beta != S::ZERO {
            result = S::multiply_add(product.beta, product.c.at(place as usize), result);
        }
        product.c.set(place as usize, result);
    }
}

/// The tiles of this block, with a tall factor *along*.
///
/// # Safety
/// The launch is as [`Skinny`] says, with [`skinny_shared_bytes`].
#[inline(always)]
unsafe fn along<T: Sum + WarpValue, const VECTOR: usize, const COLUMNS: usize, const ANY: bool>(
    product: &Skinny<T>,
) {
    let size = size_of::<T>() as u32;
    let (tile_rows, step) = (skinny_rows(false, size), skinny_k_step(false, size));
    let step_bytes = thin_step_bytes(false, size, COLUMNS as u32);
    let memory = dynamic_shared_mem::<T>();
    let mut tall = Tall::<T, VECTOR, false, ANY>::new(product, memory);
    let my_row = Tall::<T, VECTOR, false, ANY>::first_of_thread().0;
    let lane = thread::thread_idx_x() % 32;
    let thin = memory.wrapping_byte_add(thin_offset(false, COLUMNS as u32) as usize);
    let k_count = part_of_k(product).1;
    // SAFETY: the ring is new.
    unsafe { tall.load_first() };

    let mut row = thread::block_idx_x() * tile_rows;
    let mut is_thin_there = false;
    while row < product.rows {
        let mut sums = [[T::ZERO; 16]; PIECES as usize];
        let mut k = 0;
        while k < k_count {
            let count = product.k_chunk.min(k_count - k).next_multiple_of(step);
            if !is_thin_there {
                thread::sync_threads();
                let place = |k, column| {
                    let within = k % step;
                    let (piece, element) = if ANY {
                        (within % LANES_OF_K, within / LANES_OF_K)
                    } else {
                        (within / VECTOR as u32, within % VECTOR as u32)
                    };
                    k / step * step_bytes + column * COLUMN_BYTES + 16 * piece + size * element
                };
                // SAFETY: all have read what was there, as the barrier says.
                unsafe { load_thin(product, thin, k, count, COLUMNS as u32, place) };
                async_copy::commit();
                async_copy::wait::<0>();
                thread::sync_threads();
                is_thin_there = product.k_chunk >= k_count;
            }
            let mut at = thin.wrapping_byte_add(16 * lane as usize);
            k += count;
            let mut left = count;
            while left > 0 {
                // SAFETY: the loader has as many steps as this loop.
                let pieces = unsafe { tall.take() };
                unrolled! { j in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] {
                    if j < COLUMNS {
                        // SAFETY: the chunk is there.
                        let column: [T; VECTOR] =
                            unsafe { read(at.wrapping_byte_add(j * COLUMN_BYTES as usize)) };
                        unrolled! { element in [0 1 2 3] {
                            unrolled! { i in [0 1 2 3] {
                                if element < VECTOR {
                                    let element = element % VECTOR;
                                    sums[i][j] =
                                        T::multiply_add(pieces[i][element], column[element], sums[i][j]);
                                }
                            }}
                        }}
                    }
                }}
                at = at.wrapping_byte_add(step_bytes as usize);
                left -= step;
            }
        }
        // SAFETY: the rows are this warp's.
        unsafe { add_lanes::<T, COLUMNS>(product, row + my_row, lane, &sums) };
        row += thread::grid_dim_x() * tile_rows;
    }
}

/// Adds the sums of a warp's lanes, and writes them. `row` is the warp's first one.
///
/// Each of five steps halves the sums that a lane has: it gives away those of one half and gets
/// those of the other. That takes not even one shuffle per sum, where five for each would bring all
/// to every lane.
///
/// # Safety
/// All lanes of the warp call it, with rows of their own.
#[inline(always)]
unsafe fn add_lanes<T: Sum + WarpValue, const COLUMNS: usize>(
    product: &Skinny<T>,
    row: u32,
    lane: u32,
    sums: &[[T; 16]; PIECES as usize],
) {
    let mut values = [T::ZERO; 64];
    unrolled! { i in [0 1 2 3] {
        unrolled! { j in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] {
            if j < COLUMNS {
                values[(i * COLUMNS + j) % 64] = sums[i][j];
            }
        }}
    }}
    let count = PIECES as usize * COLUMNS;
    let padded = count.next_power_of_two();
    // Which sum the lane's first one is; lanes that differ in the bits of `same` have the same
    // ones.
    let (mut first, mut same) = (0, 0);
    unrolled! { level in [0 1 2 3 4] {
        let half = padded >> (level + 1);
        let distance = 16 >> level;
        let is_upper = lane & distance != 0;
        unrolled! { i in [
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
        ] {
            if i < half {
                let (lower, upper) = (values[i], values[(i + half) % 64]);
                let (mine, other) = if is_upper { (upper, lower) } else { (lower, upper) };
                values[i] = mine + shuffle_xor(FULL_MASK, other, distance);
            }
        }}
        if half == 0 {
            values[0] = values[0] + shuffle_xor(FULL_MASK, values[0], distance);
            same |= distance;
        } else if is_upper {
            first += half as u32;
        }
    }}
    unrolled! { i in [0 1] {
        if i == 0 || i < padded / 32 {
            let place = first + i as u32;
            let (down, column) = (place / COLUMNS as u32, place % COLUMNS as u32);
            if lane & same == 0 && place < count as u32 {
                // SAFETY: by the contract of this function, all lanes of the warp call it, with
                // rows of their own; each sum is written by one lane.
                unsafe { write_sum(product, row + down, column, values[i]) };
            }
        }
    }}
}

/// The tiles of this block, with a tall factor *across*.
///
/// # Safety
/// The launch is as [`Skinny`] says, with [`skinny_shared_bytes`].
#[inline(always)]
unsafe fn across<T: Sum, const VECTOR: usize, const COLUMNS: usize, const ANY: bool>(
    product: &Skinny<T>,
) {
    let size = size_of::<T>() as u32;
    let (tile_rows, step) = (skinny_rows(true, size), skinny_k_step(true, size));
    let memory = dynamic_shared_mem::<T>();
    let mut tall = Tall::<T, VECTOR, true, ANY>::new(product, memory);
    let my_k = Tall::<T, VECTOR, true, ANY>::first_of_thread().1;
    let added = memory.wrapping_byte_add(RING_BYTES as usize);
    let thin = memory.wrapping_byte_add(thin_offset(true, COLUMNS as u32) as usize);
    let k_count = part_of_k(product).1;
    // SAFETY: the ring is new.
    unsafe { tall.load_first() };

    let mut row = thread::block_idx_x() * tile_rows;
    let mut is_thin_there = false;
    while row < product.rows {
        let mut sums = [[T::ZERO; VECTOR]; 16];
        let mut k = 0;
        while k < k_count {
            let count = product.k_chunk.min(k_count - k).next_multiple_of(step);
            if !is_thin_there {
                thread::sync_threads();
                let place = |k, column| (k * COLUMNS as u32 + column) * size;
                // SAFETY: all have read what was there, as the barrier says.
                unsafe { load_thin(product, thin, k, count, COLUMNS as u32, place) };
                async_copy::commit();
                async_copy::wait::<0>();
                thread::sync_threads();
                is_thin_there = product.k_chunk >= k_count;
            }
            let mut at = thin.wrapping_add(my_k as usize * COLUMNS);
            k += count;
            let mut left = count;
            while left > 0 {
                // SAFETY: the loader has as many steps as this loop.
                let pieces = unsafe { tall.take() };
                unrolled! { piece in [0 1 2 3] {
                    // SAFETY: the chunk is there. It begins at a multiple of 16 bytes, behind the
                    // ring and the sums, and so does each of its k if `COLUMNS` is a multiple of
                    // `VECTOR`.
                    let columns = unsafe { read_columns::<T, VECTOR, COLUMNS>(at.wrapping_add(piece * COLUMNS)) };
                    unrolled! { j in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] {
                        unrolled! { element in [0 1 2 3] {
                            if j < COLUMNS && element < VECTOR {
                                let element = element % VECTOR;
                                sums[j][element] =
                                    T::multiply_add(pieces[piece][element], columns[j], sums[j][element]);
                            }
                        }}
                    }}
                }}
                at = at.wrapping_add(step as usize * COLUMNS);
                left -= step;
            }
        }
        // SAFETY: the tile is this block's, all of whose threads are here.
        unsafe { add_warps::<T, VECTOR, COLUMNS, ANY>(product, row, added, &sums) };
        row += thread::grid_dim_x() * tile_rows;
    }
}

/// All columns of one k of the thin factor, in pieces of 16 bytes where that comes out even.
///
/// # Safety
/// `from` points to `COLUMNS` elements, from a multiple of 16 bytes on if `COLUMNS` is a multiple
/// of `VECTOR`.
#[inline(always)]
unsafe fn read_columns<T: Sum, const VECTOR: usize, const COLUMNS: usize>(
    from: *const T,
) -> [T; 16] {
    let mut columns = [T::ZERO; 16];
    unrolled! { j in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] {
        // SAFETY: by the contract of this function, the columns are there; where they come in
        // pieces of `VECTOR`, `from` is a multiple of 16 bytes, and each piece has so many.
        unsafe {
            if j < COLUMNS && !COLUMNS.is_multiple_of(VECTOR) {
                columns[j] = from.wrapping_add(j).read();
            } else if j < COLUMNS && j.is_multiple_of(VECTOR) {
                let part: [T; VECTOR] = read(from.wrapping_add(j));
                unrolled! { i in [0 1 2 3] {
                    if i < VECTOR {
                        columns[(j + i) % 16] = part[i % VECTOR];
                    }
                }}
            }
        }
    }}
    columns
}

/// Adds the sums of the warps, in their order, and writes them; `row` is the tile's first one.
///
/// # Safety
/// All threads call it; `memory` has room for [`COLUMNS_ADDED`] columns of all warps, and nothing
/// else uses it.
#[inline(always)]
unsafe fn add_warps<T: Sum, const VECTOR: usize, const COLUMNS: usize, const ANY: bool>(
    product: &Skinny<T>,
    row: u32,
    memory: *mut T,
    sums: &[[T; VECTOR]; 16],
) {
    let tile_rows = 32 * VECTOR;
    let (warp, lane) = (
        thread::thread_idx_x() as usize / 32,
        thread::thread_idx_x() as usize % 32,
    );
    let at_once = if COLUMNS < COLUMNS_ADDED {
        COLUMNS
    } else {
        COLUMNS_ADDED
    };
    unrolled! { first in [0 4 8 12] {
        if first < COLUMNS {
            // All have read what was there before.
            thread::sync_threads();
            unrolled! { j in [0 1 2 3] {
                if j < at_once {
                    let to = memory.wrapping_add((warp * at_once + j) * tile_rows + lane * VECTOR);
                    // SAFETY: the thread's own place.
                    unsafe { write(to, sums[(first + j) % 16]) };
                }
            }}
            thread::sync_threads();
            let mut place = thread::thread_idx_x() as usize;
            while place < at_once * tile_rows {
                let mut sum = T::ZERO;
                unrolled! { warp in [0 1 2 3 4 5 6 7] {
                    // SAFETY: each warp wrote its part before the barrier.
                    let part = unsafe { memory.wrapping_add(warp * at_once * tile_rows + place).read() };
                    sum = if warp == 0 { part } else { sum + part };
                }}
                let within = place % tile_rows;
                let my_row = if ANY { within % VECTOR * 32 + within / VECTOR } else { within };
                let column = (first + place / tile_rows) as u32;
                // SAFETY: one thread has the place.
                unsafe { write_sum(product, row + my_row as u32, column, sum) };
                place += SKINNY_THREADS as usize;
            }
        }
    }}
}

macro_rules! kernels {
    ($($name:ident: $form:ident, $type:ty, $vector:literal, $columns:literal, $any:literal, $blocks:literal;)*) => {$(
        /// Its tiles of C for each block.
        ///
        /// # Safety
        /// The launch is as [`Skinny`] says, of [`SKINNY_THREADS`] threads.
        #[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
        #[kernel(max_block = 256, min_blocks = $blocks)]
        pub unsafe fn $name(product: Skinny<$type>) {
            // SAFETY: by the contract of this function, the launch is as `Skinny` says, of
            // `SKINNY_THREADS` threads.
            unsafe { $form::<$type, $vector, $columns, $any>(&product) }
        }

        /// Its tiles of C for each block. The shared memory of older GPUs has room for one.
        ///
        /// # Safety
        /// The launch is as [`Skinny`] says, of [`SKINNY_THREADS`] threads.
        #[cfg(all(target_arch = "nvptx64", not(target_feature = "sm_80")))]
        #[kernel(max_block = 256, min_blocks = 1)]
        pub unsafe fn $name(product: Skinny<$type>) {
            // SAFETY: by the contract of this function, the launch is as `Skinny` says, of
            // `SKINNY_THREADS` threads.
            unsafe { $form::<$type, $vector, $columns, $any>(&product) }
        }
    )*};
}

// The last number is of blocks that the registers of a multiprocessor suffice for.
kernels! {
    skinny_f32_along_1: along, f32, 4, 1, false, 2;
    skinny_f32_along_2: along, f32, 4, 2, false, 2;
    skinny_f32_along_4: along, f32, 4, 4, false, 2;
    skinny_f32_along_8: along, f32, 4, 8, false, 2;
    skinny_f32_along_12: along, f32, 4, 12, false, 2;
    skinny_f32_along_16: along, f32, 4, 16, false, 2;
    skinny_f32_along_any_1: along, f32, 4, 1, true, 2;
    skinny_f32_along_any_4: along, f32, 4, 4, true, 2;
    skinny_f32_along_any_16: along, f32, 4, 16, true, 2;
    skinny_f32_across_1: across, f32, 4, 1, false, 2;
    skinny_f32_across_2: across, f32, 4, 2, false, 2;
    skinny_f32_across_4: across, f32, 4, 4, false, 2;
    skinny_f32_across_8: across, f32, 4, 8, false, 2;
    skinny_f32_across_12: across, f32, 4, 12, false, 2;
    skinny_f32_across_16: across, f32, 4, 16, false, 2;
    skinny_f32_across_any_1: across, f32, 4, 1, true, 2;
    skinny_f32_across_any_4: across, f32, 4, 4, true, 2;
    skinny_f32_across_any_16: across, f32, 4, 16, true, 2;
    skinny_f64_along_1: along, f64, 2, 1, false, 2;
    skinny_f64_along_2: along, f64, 2, 2, false, 2;
    skinny_f64_along_4: along, f64, 2, 4, false, 2;
    skinny_f64_along_8: along, f64, 2, 8, false, 2;
    skinny_f64_along_12: along, f64, 2, 12, false, 1;
    skinny_f64_along_16: along, f64, 2, 16, false, 1;
    skinny_f64_along_any_1: along, f64, 2, 1, true, 2;
    skinny_f64_along_any_4: along, f64, 2, 4, true, 2;
    skinny_f64_along_any_16: along, f64, 2, 16, true, 1;
    skinny_f64_across_1: across, f64, 2, 1, false, 2;
    skinny_f64_across_2: across, f64, 2, 2, false, 2;
    skinny_f64_across_4: across, f64, 2, 4, false, 2;
    skinny_f64_across_8: across, f64, 2, 8, false, 2;
    skinny_f64_across_12: across, f64, 2, 12, false, 2;
    skinny_f64_across_16: across, f64, 2, 16, false, 2;
    skinny_f64_across_any_1: across, f64, 2, 1, true, 2;
    skinny_f64_across_any_4: across, f64, 2, 4, true, 2;
    skinny_f64_across_any_16: across, f64, 2, 16, true, 2;
}
