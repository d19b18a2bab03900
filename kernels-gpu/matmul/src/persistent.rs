//! Products of f16 and bf16 on compute capability 9.0: by the matrix instructions of warp groups,
//! of tiles that one thread copies, in blocks that compute one tile of C after the other by a
//! [ring](crate::ring) of stages. Each of the two warp groups that multiply has 64 rows and all
//! columns of the tile.

use cuda_std::mbarrier::Barrier;
use cuda_std::prelude::*;
use cuda_std::shared::SharedAddress;
use cuda_std::tensor::{self, MapAddress, TensorMap};
use cuda_std::wgmma::{self, Operand, Sums};
use cuda_std::{registers, tensor_map};

use crate::results::Results;
#[cfg(not(target_arch = "nvptx64"))]
use crate::ring::THREADS;
use crate::ring::{self, Ring, Tiles};
use crate::swizzled::{ATOM, ROW_BYTES};
#[cfg(not(target_arch = "nvptx64"))]
use crate::tile::{Launch, Pattern, Tile};
use crate::tile::{PIECES_ACROSS, PIECES_OF_K};
use crate::wgmma::{Bf16, F16, Multiply};

/// Rows of a tile.
pub const ROWS: u32 = 128;
/// k of a stage: 128 bytes.
const DEPTH: u32 = 64;
/// Bytes of a tile of A, which that of B follows in a stage.
const BYTES_A: u32 = ROWS * ROW_BYTES;

const fn stage_bytes(columns: u32) -> u32 {
    BYTES_A + columns * ROW_BYTES
}

/// The product of a launch: C = alpha·A·B + beta·C for a batch of matrices, or parts of the sums over
/// k, which is not 0. Blocks share the tiles of all matrices and parts, whatever the number of blocks.
///
/// A and B are tensor maps with the axes k, outer index and matrix, or outer index, k and matrix if
/// they are read across.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Persistent<C, S = f32> {
    /// Row-major without gaps, from a multiple of 16 bytes on or whole rows behind one; parts of k
    /// follow each other if there are several, each a whole batch.
    pub c: DeviceSliceMut<C>,
    /// Rows of A and C.
    pub m: u32,
    /// Columns of B and C.
    pub n: u32,
    /// Columns of A, rows of B; with [`section`](Self::section), the length of the sums.
    pub k: u32,
    /// How many of k each part sums, a multiple of 64.
    pub k_part: u32,
    /// Parts of k.
    pub parts: u32,
    /// Matrices.
    pub batch: u32,
    /// The length of a section, a multiple of 64, if A and B are copies in sections, as
    /// [`Splitting`](crate::Splitting) makes them, and k counts the products of all sections, the
    /// smallest first. Else 0. Only the kernels for 16 bits compute such products.
    pub section: u32,
    /// 1 if A has a matrix for each of the batch, 0 if they share one.
    pub a_step: u32,
    /// The same for B.
    pub b_step: u32,
    /// Factor of A·B.
    pub alpha: S,
    /// Factor of C, which is not read if it is 0.
    pub beta: S,
}

impl<C, S> Persistent<C, S> {
    /// Returns the k in A and the k in B of the products with index `k` of the sum.
    ///
    /// A's sections are in reverse, so that the pairs of sections to multiply follow each other in
    /// both. The smallest come first: third by first terms, second by second, first by third; then
    /// second by first, first by second; then first by first.
    #[inline(always)]
    fn k_of(&self, k: u32) -> [u32; 2] {
        let section = self.section;
        if k < 3 * section {
            [k, k + section]
        } else if k < 5 * section {
            [k - 2 * section, k - 2 * section]
        } else {
            [k - 2 * section, k - 5 * section]
        }
    }
}

/// The tiles of this block.
#[inline(always)]
fn tiles<C: Copy, const COLUMNS: u32>(product: &Persistent<C>) -> Tiles {
    // Wide tiles that are computed at the same time then cover about a square of C, and of very
    // large results they share what the cache keeps of a whole row of tiles. Measured on an H100.
    let group = match COLUMNS {
        ..256 => 2,
        _ if product.m <= 127 * ROWS => 16,
        _ => 32,
    };
    Tiles::of(product, [ROWS, COLUMNS, DEPTH, group])
}

/// Starts the copies of a tile of `OUTER` outer indices, from an outer index, a k and a matrix on.
///
/// # Safety
/// As of [`tensor::load`].
#[inline(always)]
unsafe fn load<const OUTER: u32, const ACROSS: bool>(
    to: SharedAddress,
    map: MapAddress,
    [outer, k, matrix]: [i32; 3],
    full: Barrier,
) {
    // SAFETY: the caller keeps the contract of `tensor::load`, which this function shares.
    unsafe {
        if !ACROSS {
            tensor::load(to, map, [k, outer, matrix], full);
            return;
        }
        // A row of shared memory has 64 outer indices.
        unrolled! { part in [0 1 2 3] {
            let part = part as u32;
            if part * 64 < OUTER {
                let to = to.offset(part * 64 * ROW_BYTES);
                tensor::load(to, map, [outer + 64 * part as i32, k, matrix], full);
            }
        }}
    }
}

/// A tile of A or B from an outer index on, a multiple of 64.
#[inline(always)]
fn operand<const ACROSS: bool>(tile: SharedAddress, outer: u32) -> Operand {
    let start = tile.offset(outer * ROW_BYTES);
    match ACROSS {
        true => Operand::across_k(start, DEPTH / 8 * ATOM, ATOM),
        false => Operand::along_k(start, ATOM),
    }
}

/// Bytes between the parts of a tile that follow each other in k, of which a stage has four.
const fn next(across: bool) -> u32 {
    if across { 2 * ATOM } else { 32 }
}

/// Copies the stages of all tiles of C that the block has: the work of one thread.
///
/// # Safety
/// The launch is as [`Persistent`] says, and the ring's barriers are initialised.
#[inline(always)]
unsafe fn copy<C: Copy, const COLUMNS: u32, const STAGES: u32, const A: bool, const B: bool>(
    product: &Persistent<C>,
    a: MapAddress,
    b: MapAddress,
) {
    a.prefetch();
    b.prefetch();
    let mut ring = Ring::<STAGES>::new(stage_bytes(COLUMNS));
    let tiles = tiles::<C, COLUMNS>(product);
    let mut tile = thread::block_idx_x();
    while tile < tiles.count {
        let place = tiles.place(product, tile);
        let (row, column) = (place.row as i32, place.column as i32);
        let of_batch = |step| (place.matrix * step) as i32;
        let mut stage = 0;
        while stage < place.stages {
            let [k_of_a, k_of_b] = product.k_of(place.k + stage * DEPTH).map(|k| k as i32);
            let (full, empty) = (ring.full_of(ring.stage), ring.empty_of(ring.stage));
            // SAFETY: the phase before, of which the first one has no reads, is over when all have
            // read the stage. Copies of its bytes follow.
            unsafe {
                empty.wait(ring.parity ^ 1);
                full.arrive_and_expect(ring.bytes);
                let of_a = [row, k_of_a, of_batch(product.a_step)];
                load::<ROWS, A>(ring.tiles(), a, of_a, full);
                let of_b = [column, k_of_b, of_batch(product.b_step)];
                load::<COLUMNS, B>(ring.tiles().offset(BYTES_A), b, of_b, full);
            }
            ring.advance();
            stage += 1;
        }
        tile += thread::grid_dim_x();
    }
}

/// Multiplies the stages of all tiles of C that the block has, and writes the sums: the work of two
/// warp groups.
///
/// # Safety
/// As of [`copy`].
#[inline(always)]
unsafe fn multiply<
    C: Copy,
    I: Multiply<SUMS> + Results<C>,
    const COLUMNS: u32,
    const SUMS: usize,
    const STAGES: u32,
    const A: bool,
    const B: bool,
>(
    product: &Persistent<C>,
) where
    [f32; SUMS]: Sums,
{
    let mut ring = Ring::<STAGES>::new(stage_bytes(COLUMNS));
    let (warp, lane) = (thread::thread_idx_x() / 32 - 4, thread::thread_idx_x() % 32);
    let tiles = tiles::<C, COLUMNS>(product);
    let mut tile = thread::block_idx_x();
    while tile < tiles.count {
        let place = tiles.place(product, tile);
        let mut sums = [0.0f32; SUMS];
        let mut before = ring.stage;
        let mut stage = 0;
        // A tile has a stage at least. A loop that could be left before would set sums to zero where
        // instructions might still add to them, for which the assembler performs them one by one.
        loop {
            // SAFETY: the barriers are initialised. The stage is full, and is not copied to before
            // this warp says below that it has been read, when the instructions have finished.
            unsafe {
                ring.full_of(ring.stage).wait(ring.parity);
                let a = operand::<A>(ring.tiles(), 64 * (warp / 4));
                let b = operand::<B>(ring.tiles().offset(BYTES_A), 0);
                wgmma::fence();
                unrolled! { part in [0 1 2 3] {
                    let (a, b) = (a.offset(part as u32 * next(A)), b.offset(part as u32 * next(B)));
                    I::multiply::<A, B>(&mut sums, a, b);
                }}
                wgmma::commit();
                // The multiplications of the stage before have finished then.
                wgmma::wait::<1>();
                if stage > 0 && lane == 0 {
                    ring.empty_of(before).arrive();
                }
            }
            before = ring.stage;
            ring.advance();
            stage += 1;
            if stage >= place.stages {
                break;
            }
        }
        wgmma::wait::<0>();
        sums.hold();
        // SAFETY: the barrier of the last stage is initialised, and the instructions that read it
        // have finished. C has the matrix `result`, and no other warp has these 16 rows of the
        // tile.
        unsafe {
            if lane == 0 {
                ring.empty_of(before).arrive();
            }
            let row = place.row + 16 * warp;
            I::write::<SUMS>(product, place.result, row, place.column, &sums);
        }
        tile += thread::grid_dim_x();
    }
}

/// The tiles of this block.
///
/// # Safety
/// The launch is as [`Persistent`] says, with the shared memory of `STAGES` stages.
#[inline(always)]
unsafe fn compute<
    C: Copy,
    I: Multiply<SUMS> + Results<C>,
    const COLUMNS: u32,
    const SUMS: usize,
    const STAGES: u32,
    const A: bool,
    const B: bool,
>(
    product: &Persistent<C>,
    a: MapAddress,
    b: MapAddress,
) where
    [f32; SUMS]: Sums,
{
    let thread = thread::thread_idx_x();
    // 168 registers for each of 384 threads become 40 for 128 and 232 for 256.
    // SAFETY: by the contract of this function, the launch is as `Persistent` says, with the shared
    // memory of `STAGES` stages; the barriers are initialised.
    // All threads of a warp group give away or take registers, once.
    unsafe {
        ring::start::<STAGES>(stage_bytes(COLUMNS));
        if thread < 128 {
            registers::keep::<40>();
            if thread == 0 {
                copy::<C, COLUMNS, STAGES, A, B>(product, a, b);
            }
        } else {
            registers::take::<232>();
            multiply::<C, I, COLUMNS, SUMS, STAGES, A, B>(product);
        }
    }
}

macro_rules! kernels {
    ($(#[$doc:meta])* $table:ident: $kind:ty, $columns:literal columns, $sums:literal sums, $stages:literal stages;
        $($name:ident $rounded:ident: $a:ident $a_name:ident, $b:ident $b_name:ident;)*) => {
        $(
            kernels! { @ $name f32, $kind, $columns, $sums, $stages, $a, $b }
            kernels! { @ $rounded u16, $kind, $columns, $sums, $stages, $a, $b }
        )*
        $(#[$doc])*
        #[cfg(not(target_arch = "nvptx64"))]
        pub static $table: &[Tile<u16, f32>] = &[$(Tile {
            kernel: Launch::Persistent { sums: &$name, rounded: Some(&$rounded) },
            a: Pattern::$a_name,
            b: Pattern::$b_name,
            rows: ROWS,
            columns: $columns,
            depth: DEPTH,
            threads: THREADS,
            shared_bytes: Ring::<$stages>::shared_bytes(stage_bytes($columns)),
        }),*];
    };
    (@ $name:ident $c:ty, $kind:ty, $columns:literal, $sums:literal, $stages:literal, $a:ident, $b:ident) => {
        /// Tiles of C, one after the other for each block.
        ///
        /// # Safety
        /// The launch is as [`Persistent`] says, in blocks of 384 threads.
        #[kernel(max_block = 384, min_blocks = 1)]
        pub unsafe fn $name(a: TensorMap, b: TensorMap, product: Persistent<$c>) {
            const A: bool = $a == PIECES_ACROSS;
            const B: bool = $b == PIECES_ACROSS;
            let (a, b) = (tensor_map!($name, 0, a), tensor_map!($name, 1, b));
            // SAFETY: by the contract of this function, the launch is as `Persistent` says, in
            // blocks of 384 threads.
            unsafe { compute::<$c, $kind, $columns, $sums, $stages, A, B>(&product, a, b) }
        }
    };
}

kernels! {
    /// Tiles of f16 with 256 columns.
    PERSISTENT_F16: F16, 256 columns, 128 sums, 4 stages;
    persistent_f16_along_along persistent_f16_along_along_rounded: PIECES_OF_K PiecesOfK, PIECES_OF_K PiecesOfK;
    persistent_f16_along_across persistent_f16_along_across_rounded: PIECES_OF_K PiecesOfK, PIECES_ACROSS PiecesAcross;
    persistent_f16_across_along persistent_f16_across_along_rounded: PIECES_ACROSS PiecesAcross, PIECES_OF_K PiecesOfK;
    persistent_f16_across_across persistent_f16_across_across_rounded: PIECES_ACROSS PiecesAcross, PIECES_ACROSS PiecesAcross;
}
kernels! {
    /// Tiles of bf16 with 256 columns.
    PERSISTENT_BF16: Bf16, 256 columns, 128 sums, 4 stages;
    persistent_bf16_along_along persistent_bf16_along_along_rounded: PIECES_OF_K PiecesOfK, PIECES_OF_K PiecesOfK;
    persistent_bf16_along_across persistent_bf16_along_across_rounded: PIECES_OF_K PiecesOfK, PIECES_ACROSS PiecesAcross;
    persistent_bf16_across_along persistent_bf16_across_along_rounded: PIECES_ACROSS PiecesAcross, PIECES_OF_K PiecesOfK;
    persistent_bf16_across_across persistent_bf16_across_across_rounded: PIECES_ACROSS PiecesAcross, PIECES_ACROSS PiecesAcross;
}
// For results with few tiles.
kernels! {
    /// Tiles of f16 with 64 columns.
    PERSISTENT_F16_NARROW: F16, 64 columns, 32 sums, 8 stages;
    persistent_f16_narrow_along_along persistent_f16_narrow_along_along_rounded: PIECES_OF_K PiecesOfK, PIECES_OF_K PiecesOfK;
    persistent_f16_narrow_along_across persistent_f16_narrow_along_across_rounded: PIECES_OF_K PiecesOfK, PIECES_ACROSS PiecesAcross;
    persistent_f16_narrow_across_along persistent_f16_narrow_across_along_rounded: PIECES_ACROSS PiecesAcross, PIECES_OF_K PiecesOfK;
    persistent_f16_narrow_across_across persistent_f16_narrow_across_across_rounded: PIECES_ACROSS PiecesAcross, PIECES_ACROSS PiecesAcross;
}
kernels! {
    /// Tiles of bf16 with 64 columns.
    PERSISTENT_BF16_NARROW: Bf16, 64 columns, 32 sums, 8 stages;
    persistent_bf16_narrow_along_along persistent_bf16_narrow_along_along_rounded: PIECES_OF_K PiecesOfK, PIECES_OF_K PiecesOfK;
    persistent_bf16_narrow_along_across persistent_bf16_narrow_along_across_rounded: PIECES_OF_K PiecesOfK, PIECES_ACROSS PiecesAcross;
    persistent_bf16_narrow_across_along persistent_bf16_narrow_across_along_rounded: PIECES_ACROSS PiecesAcross, PIECES_OF_K PiecesOfK;
    persistent_bf16_narrow_across_across persistent_bf16_narrow_across_across_rounded: PIECES_ACROSS PiecesAcross, PIECES_ACROSS PiecesAcross;
}
