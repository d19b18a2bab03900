//! Products of a tall factor and a thin one, of 5 to 16 columns, in f64 by the matrix instructions
//! of warps.
//!
//! Like [`skinny`](crate::skinny), which multiplies and adds, it reads the tall factor once, by
//! asynchronous copies that run ahead through a ring in shared memory and over the ends of tiles.
//! With ten columns the multiply-adds and their reads of the thin factor take a third of the time
//! that the memory takes, and do not hide behind it whole. The matrix instructions take an eighth.
//!
//! A warp reads 256 bytes of 16 rows (*along*) or 512 of 8 k (*across*) in each step. Its lanes copy
//! neighbouring pieces of 16 bytes, so that a copy reads one or two places in memory, and read
//! others: a matrix instruction wants 8 rows and 4 k at a time. Pieces are moved within their line
//! such that these reads use all banks. What a warp reads it copied itself, so that it waits for no
//! other warp.

use cuda_std::async_copy;
use cuda_std::mma;
use cuda_std::prelude::*;
use cuda_std::shared::{SharedAddress, address, dynamic_shared_mem};
use cuda_std::warp::{FULL_MASK, sync_warp};

use crate::loader::start;
use crate::product::read;
use crate::skinny::{SKINNY_THREADS, Skinny, load_thin, part_of_k, write_sum};
use crate::stages::unknown;

const WARPS: u32 = SKINNY_THREADS / 32;

/// Bytes of a warp's copy: a piece of 16 bytes for each lane.
const COPY: u32 = 512;
/// Copies of a step.
const COPIES: u32 = 8;
/// k of a matrix instruction.
const BLOCK: u32 = 8;
/// Bytes of a block of k of a column of the thin factor.
const COLUMN_BYTES: u32 = BLOCK * 8;
const STAGE_BYTES: u32 = WARPS * COPIES * COPY;
/// Stages of the ring, of which all but one are on their way.
const STAGES: u32 = 4;
const RING_BYTES: u32 = STAGES * STAGE_BYTES;

/// Parts of k are multiples of this.
pub const THIN_K_STEP: u32 = 32;

/// Rows of a warp's tile.
pub const fn thin_rows(is_across: bool) -> u32 {
    if is_across { 64 } else { 16 }
}

/// The dynamic shared memory of a block, for a thin factor of `columns` columns and all k of parts
/// of `k_part`.
pub const fn thin_shared_bytes(columns: u32, k_part: u32) -> u32 {
    let blocks = k_part.div_ceil(THIN_K_STEP) * (THIN_K_STEP / BLOCK);
    RING_BYTES.saturating_add(blocks.saturating_mul(columns * COLUMN_BYTES))
}

/// A warp's position in the tall factor.
struct Tall<const ACROSS: bool> {
    elements: DeviceSlice<f64>,
    /// The lane's first element of the next step.
    next: *const u8,
    /// Strides in bytes: from copy to copy, from step to step, and from the last step of a tile to
    /// the first of the warp's next tile.
    copy_step: isize,
    step: isize,
    tile_step: isize,
    /// The first row of that tile, the rows to the next, and all rows.
    row: u32,
    row_step: u32,
    rows: u32,
    /// The first k of that step, and all k of the part.
    k: u32,
    k_count: u32,
    /// The warp's memory in the ring, and the offsets in bytes of the step to fill next and of the
    /// step to multiply next.
    memory: *const f64,
    place: SharedAddress,
    free: u32,
    current: u32,
}

impl<const ACROSS: bool> Tall<ACROSS> {
    /// Bytes of a line, which is a row or a k.
    const LINE: u32 = if ACROSS { COPY } else { COPY / 2 };
    /// k of a step.
    const STEP: u32 = if ACROSS { BLOCK } else { Self::LINE / 8 };

    /// For the tiles from `row` on, with `row_step` rows from one to the next.
    #[inline(always)]
    fn new(product: &Skinny<f64>, memory: *const f64, row: u32, row_step: u32) -> Self {
        let tall = &product.tall;
        let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
        let (k_first, k_count) = part_of_k(product);
        let (stride, stride_k) = (tall.stride as isize, tall.stride_k as isize);
        let (of_lane, of_line) = if ACROSS {
            (stride, stride_k)
        } else {
            (stride_k, stride)
        };
        let (line, piece) = Self::of_copy(0, lane);
        let first = tall.start as isize
            + thread::block_idx_z() as isize * tall.stride_batch as isize
            + row as isize * stride
            + k_first as isize * stride_k
            + line as isize * of_line
            + 2 * piece as isize * of_lane;
        let k_of_tile = k_count.next_multiple_of(Self::STEP) as isize;
        let memory = memory.wrapping_byte_add((warp * COPIES * COPY) as usize);
        Tall {
            elements: tall.elements,
            next: tall.elements.as_ptr().wrapping_offset(first).cast(),
            copy_step: (8 * COPY / Self::LINE) as isize * of_line,
            step: 8 * Self::STEP as isize * stride_k,
            tile_step: 8 * (row_step as isize * stride - k_of_tile * stride_k),
            row,
            row_step,
            // Without k there is nothing to read.
            rows: if k_count == 0 { 0 } else { product.rows },
            k: 0,
            k_count,
            memory,
            place: address(memory),
            free: 0,
            current: 0,
        }
    }

    /// The line of a lane's piece in a copy, and which of the line's pieces it is.
    #[inline(always)]
    fn of_copy(copy: u32, lane: u32) -> (u32, u32) {
        let place = copy * COPY + 16 * lane;
        (place / Self::LINE, place % Self::LINE / 16)
    }

    /// Where piece number `piece` of a line is in the stage, in bytes.
    #[inline(always)]
    fn place(line: u32, piece: u32) -> u32 {
        // Eight lanes together read 128 bytes of all banks: of 4 lines or of 2.
        let by = if ACROSS { line % 4 * 2 } else { line % 2 * 4 };
        line * Self::LINE + 16 * (piece ^ by)
    }

    /// Starts the copies of the next step, if there is one.
    ///
    /// # Safety
    /// The warp has read what was in the stage before the current one.
    #[inline(always)]
    unsafe fn load(&mut self) {
        if self.row < self.rows {
            let lane = thread::thread_idx_x() % 32;
            let piece = Self::of_copy(0, lane).1;
            let (at, end) = if ACROSS {
                (self.row + 2 * piece, self.rows)
            } else {
                (self.k + 2 * piece, self.k_count)
            };
            // SAFETY: by the contract of this function, the warp has read what was in the stage
            // before the current one.
            unsafe {
                if end == at + 1 {
                    self.copy::<true>(lane);
                } else {
                    self.copy::<false>(lane);
                }
            }
            self.k += Self::STEP;
            self.next = self.next.wrapping_offset(self.step);
            if self.k >= self.k_count {
                self.k = 0;
                self.row = self.row.saturating_add(self.row_step);
                self.next = self.next.wrapping_offset(self.tile_step);
            }
            self.free = (self.free + STAGE_BYTES) % RING_BYTES;
        }
        async_copy::commit();
    }

    /// Starts the copies of a step; `HALF` if only the first element of the pieces is there.
    ///
    /// # Safety
    /// As of [`load`](Self::load).
    #[inline(always)]
    unsafe fn copy<const HALF: bool>(&self, lane: u32) {
        let stage = self.place.offset(self.free);
        unrolled! { copy in [0 1 2 3 4 5 6 7] {
            const { assert!(COPIES == 8) };
            let from = self.next.wrapping_offset(copy as isize * self.copy_step);
            let (line, piece) = Self::of_copy(copy as u32, lane);
            let to = stage.offset(Self::place(line, piece));
            let is_there = if ACROSS {
                self.row + 2 * piece < self.rows && self.k + line < self.k_count
            } else {
                self.row + line < self.rows && self.k + 2 * piece < self.k_count
            };
            // SAFETY: the warp's stage; in the matrix if it is there, whose start and strides are
            // multiples of 16 bytes.
            unsafe {
                if HALF {
                    start(self.elements, 1, from, to, is_there);
                    start(self.elements, 1, from, to.offset(8), false);
                } else {
                    start(self.elements, 2, from, to, is_there);
                }
            }
        }}
    }

    /// Starts the copies of the first steps, in a loop: instructions that run once take the time in
    /// which they are fetched.
    ///
    /// # Safety
    /// Nothing has been in the ring yet.
    #[inline(always)]
    unsafe fn load_first(&mut self) {
        let mut left = unknown(STAGES - 1);
        while left > 0 {
            // SAFETY: by the contract of this function, nothing has been in the ring yet.
            unsafe { self.load() };
            left -= 1;
        }
    }

    /// Memory of a stage that nothing uses until the next [`take`](Self::take): the one that was
    /// current in the last one.
    #[inline(always)]
    fn spare(&self) -> *mut f64 {
        let before = (self.current + RING_BYTES - STAGE_BYTES) % RING_BYTES;
        self.memory.wrapping_byte_add(before as usize).cast_mut()
    }

    /// The lane's pieces of the current step, and starts the copies of the last one that there is
    /// room for. For each of four matrix instructions there is one piece of the first half of the
    /// lines and one of the second.
    ///
    /// # Safety
    /// There is a step, and the warp is here together.
    #[inline(always)]
    unsafe fn take(&mut self) -> [[[f64; 2]; 2]; 4] {
        async_copy::wait::<{ STAGES - 2 }>();
        // All lanes' copies have arrived, and all have read from the stage before.
        sync_warp(FULL_MASK);
        let lane = thread::thread_idx_x() % 32;
        let (group, within) = (lane / 4, lane % 4);
        let from = self.memory.wrapping_byte_add(self.current as usize);
        let mut pieces = [[[0.0; 2]; 2]; 4];
        unrolled! { at in [0 1 2 3] {
            unrolled! { half in [0 1] {
                let (at, half) = (at as u32, half as u32);
                let (line, piece) = if ACROSS {
                    (within + 4 * half, 8 * at + group)
                } else {
                    (group + 8 * half, 4 * at + within)
                };
                let place = Self::place(line, piece) as usize;
                // SAFETY: it has arrived.
                pieces[at as usize][half as usize] = unsafe { read(from.wrapping_byte_add(place)) };
            }}
        }}
        self.current = (self.current + STAGE_BYTES) % RING_BYTES;
        // SAFETY: the stage that was current before.
        unsafe { self.load() };
        pieces
    }
}

/// Starts to copy the thin factor to `memory`: for each block of 8 k and each column four pieces of 16
/// bytes, each with the two k that a lane multiplies at once.
///
/// # Safety
/// As of [`load_thin`].
#[inline(always)]
unsafe fn load_all<const ACROSS: bool>(product: &Skinny<f64>, memory: *const f64, count: u32) {
    let columns = product.columns;
    let place = |k: u32, column: u32| {
        let within = k % BLOCK;
        // Of the tall factor, pieces along k have neighbours, and pieces across are 4 k apart.
        let (piece, element) = if ACROSS {
            (within % 4, within / 4)
        } else {
            (within / 2, within % 2)
        };
        (k / BLOCK * columns + column) * COLUMN_BYTES + 16 * piece + 8 * element
    };
    // SAFETY: the caller keeps the contract of `load_thin`, which this function shares.
    unsafe { load_thin(product, memory, 0, count, columns, place) };
}

/// The tiles of this block, of which each warp takes its own.
///
/// # Safety
/// The launch is as [`Skinny`] says, with [`thin_shared_bytes`].
#[inline(always)]
unsafe fn multiply<const ACROSS: bool, const TILES: usize>(product: &Skinny<f64>) {
    let memory = dynamic_shared_mem::<f64>();
    let thin = memory.wrapping_byte_add(RING_BYTES as usize);
    let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
    let (group, within) = (lane / 4, lane % 4);
    let height = thin_rows(ACROSS);
    // Neighbouring tiles are of neighbouring blocks, so that all blocks have as many.
    let mut row = (thread::block_idx_x() + warp * thread::grid_dim_x()) * height;
    let row_step = WARPS * thread::grid_dim_x() * height;
    let mut tall = Tall::<ACROSS>::new(product, memory, row, row_step);
    let k_count = tall.k_count;
    let mut columns = [thin; TILES];
    unrolled! { tile in [0 1] {
        if tile < TILES {
            // Columns that are not there repeat the last one.
            let column = (8 * tile as u32 + group).min(product.columns - 1);
            let place = column * COLUMN_BYTES + 16 * within;
            columns[tile % TILES] = thin.wrapping_byte_add(place as usize);
        }
    }}
    let block_bytes = (product.columns * COLUMN_BYTES) as usize;
    // The tall factor's copies start first: they come from memory, which takes longest.
    // SAFETY: the memory is new.
    unsafe {
        tall.load_first();
        load_all::<ACROSS>(product, thin, k_count.next_multiple_of(THIN_K_STEP));
    }
    async_copy::commit();
    async_copy::wait::<0>();
    thread::sync_threads();

    while row < product.rows {
        let mut sums = [[[0.0; 4]; TILES]; 4];
        let mut at = 0;
        let mut left = k_count as i32;
        while left > 0 {
            // SAFETY: the loader has as many steps as this loop, which is the same for the warp.
            let pieces = unsafe { tall.take() };
            unrolled! { i in [0 1 2 3] {
                unrolled! { tile in [0 1] {
                    if tile < TILES {
                        let of_step = if ACROSS { 0 } else { i * block_bytes };
                        let from = columns[tile % TILES].wrapping_byte_add(at + of_step);
                        // SAFETY: all of k are there.
                        let b = unsafe { read(from) };
                        let [[a, c], [e, f]] = pieces[i];
                        if ACROSS {
                            mma::m16n8k8_f64(&mut sums[i][tile % TILES], [a, c, e, f], b);
                        } else {
                            mma::m16n8k8_f64(&mut sums[0][tile % TILES], [a, e, c, f], b);
                        }
                    }
                }}
            }}
            at += (Tall::<ACROSS>::STEP / BLOCK) as usize * block_bytes;
            left -= Tall::<ACROSS>::STEP as i32;
        }
        // SAFETY: the warp is here together, and the tile is its own.
        unsafe { write_sums::<ACROSS, TILES>(product, tall.spare(), row, &sums) };
        row = row.saturating_add(row_step);
    }
}

/// Writes a warp's sums of the tile from `row` on.
///
/// They go through shared memory, so that neighbouring lanes write neighbours, in a loop of few
/// instructions: if each lane wrote the sums that it has, from registers, there would be 32 places
/// with all checks, and instructions that run once take the time in which they are fetched.
///
/// # Safety
/// The warp is here together, and no other one writes these sums; `memory` is one stage of the
/// warp's, which nothing else uses.
#[inline(always)]
unsafe fn write_sums<const ACROSS: bool, const TILES: usize>(
    product: &Skinny<f64>,
    memory: *mut f64,
    row: u32,
    sums: &[[[f64; 4]; TILES]; 4],
) {
    let lane = thread::thread_idx_x() % 32;
    let (group, within) = (lane / 4, lane % 4);
    let height = thin_rows(ACROSS);
    // Moved within 128 bytes, so that lanes with different columns use different banks.
    let place = |down: u32, column: u32| column * height + (down ^ (column / 2 % 4 * 4));
    unrolled! { pass in [0 1] {
        // A stage has room for 8 columns *across*, for all *along*.
        if pass < TILES && (ACROSS || pass == 0) {
            // All lanes have read what was there.
            sync_warp(FULL_MASK);
            unrolled! { tile in [0 1] {
                unrolled! { i in [0 1 2 3] {
                    unrolled! { element in [0 1 2 3] {
                        if tile < TILES && (tile == pass || !ACROSS) && (ACROSS || i == 0) {
                            let lower = element as u32 / 2;
                            let down = if ACROSS { 16 * i as u32 + 2 * group + lower } else { group + 8 * lower };
                            let column = 8 * (tile - pass) as u32 + 2 * within + element as u32 % 2;
                            // SAFETY: in the stage: each sum has a place of its own.
                            unsafe { memory.add(place(down, column) as usize).write(sums[i][tile % TILES][element]) };
                        }
                    }}
                }}
            }}
            sync_warp(FULL_MASK);
            let first = 8 * pass as u32;
            let most = if ACROSS { 8 } else { 8 * TILES as u32 };
            let columns = product.columns.saturating_sub(first).min(most);
            let write = |down, column| {
                // SAFETY: written before; each sum is written to C by one lane.
                unsafe {
                    let sum = memory.add(place(down, column) as usize).read();
                    write_sum(product, row.saturating_add(down), first + column, sum);
                }
            };
            if ACROSS {
                // Each lane has two rows, so that little of a place is computed for each column.
                let mut column = 0;
                while column < columns {
                    write(lane, column);
                    write(lane + 32, column);
                    column += 1;
                }
            } else {
                let mut index = lane;
                while index < columns * height {
                    let (down, column) = if product.c_stride_thin == 1 {
                        (index / columns, index % columns)
                    } else {
                        (index % height, index / height)
                    };
                    write(down, column);
                    index += 32;
                }
            }
        }
    }}
}

macro_rules! kernels {
    ($($name:ident: $across:literal, $tiles:literal;)*) => {$(
        /// Computes the tiles of C of a block.
        ///
        /// # Safety
        /// The launch is as [`Skinny`] says, of [`SKINNY_THREADS`] threads, with
        /// [`thin_shared_bytes`].
        #[kernel(block = 256)]
        pub unsafe fn $name(product: Skinny<f64>) {
            // SAFETY: by the contract of this function, the launch is as `Skinny` says, of
            // `SKINNY_THREADS` threads, with `thin_shared_bytes`.
            unsafe { multiply::<$across, $tiles>(&product) }
        }
    )*};
}
kernels! {
    thin_f64_along_8: false, 1;
    thin_f64_along_16: false, 2;
    thin_f64_across_8: true, 1;
    thin_f64_across_16: true, 2;
}
