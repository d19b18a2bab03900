//! Products by fused multiply-adds.
//!
//! A multiprocessor can start one instruction of a warp per clock and quarter, and a multiply-add
//! of a warp takes just that: what else is executed is lost. So a thread has as many sums as
//! registers allow, 8×16 in f32, which for each k need 6 reads of 16 bytes and 128 multiply-adds.
//! The elements of the next k are read while those of this k are multiplied, across the barrier
//! between tiles too.
//!
//! The loop over a stage is unrolled, so large tiles are 8 deep: of 16 k, its 37 KB of instructions
//! did not stay in the nearest cache. The multiply-adds of one column follow each other: they read
//! the same element of B, which stays in the operand cache, so that the other two registers come
//! from the two banks of the register file in one clock. By rows, the same loop took 5% longer.
//! Large tiles take every other column backwards, so that the first multiply-add of a column also
//! finds its element of A in that cache. Small tiles, of which a multiprocessor has several at a
//! time, gained nothing by that.
//!
//! ptxas moves reads of shared memory up, but not past copies to it, so the steps in which copies
//! start also keep the reads of later steps back. When all copies started in the fourth step, the
//! reads of four steps came in one heap and their elements took all registers: the loop took 9%
//! longer, and it spilled where B is copied element by element. The steps named for each kernel
//! were the fastest of those measured on an H200.

use cuda_std::prelude::*;

use crate::grid::first_element;
use crate::loader::PAD;
use crate::product::{Product, Sum, Target, read};
use crate::stages::{Stages, keep_reads, part_of_k};
use crate::tile::{ELEMENTS, ELEMENTS_OF_K, PIECES_ACROSS};
#[cfg(not(target_arch = "nvptx64"))]
use crate::tile::{Launch, Pattern, Tile};

/// Lanes of a warp in each direction.
const LANES_DOWN: u32 = 8;
const LANES_ACROSS: u32 = 4;

/// A thread's elements of A and B for one k.
#[derive(Clone, Copy)]
struct Fragment<T> {
    a: [T; 8],
    b: [T; 16],
}

impl<T: Sum> Fragment<T> {
    /// The elements that follow each other in pieces of `VECTOR` for each lane, from the thread's
    /// first ones.
    ///
    /// # Safety
    /// They have arrived, at multiples of 16 bytes.
    #[inline(always)]
    unsafe fn read<const VECTOR: usize, const DOWN: usize, const ACROSS: usize>(
        a: *const T,
        b: *const T,
    ) -> Fragment<T> {
        let mut fragment = Fragment {
            a: [T::ZERO; 8],
            b: [T::ZERO; 16],
        };
        unrolled! { i in [0 1 2 3 4 5 6 7] {
            if i < DOWN && i.is_multiple_of(VECTOR) {
                // SAFETY: by the contract of this function, the elements of A have arrived. `a` is
                // at a multiple of 16 bytes, which is `VECTOR` elements, and so is each `VECTOR`th
                // of the lanes' pieces from there on.
                let part: [T; VECTOR] = unsafe { read(a.wrapping_add(i * LANES_DOWN as usize)) };
                unrolled! { j in [0 1 2 3] {
                    if j < VECTOR {
                        fragment.a[(i + j) % 8] = part[j];
                    }
                }}
            }
        }}
        unrolled! { i in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] {
            if i < ACROSS && i.is_multiple_of(VECTOR) {
                // SAFETY: by the contract of this function, the elements of B have arrived. `b` is
                // at a multiple of 16 bytes, which is `VECTOR` elements, and so is each `VECTOR`th
                // of the lanes' pieces from there on.
                let part: [T; VECTOR] = unsafe { read(b.wrapping_add(i * LANES_ACROSS as usize)) };
                unrolled! { j in [0 1 2 3] {
                    if j < VECTOR {
                        fragment.b[(i + j) % 16] = part[j];
                    }
                }}
            }
        }}
        fragment
    }
}

/// The tile of this block: `WARPS_DOWN`×`WARPS_ACROSS` warps of 8×4 lanes, each with
/// `DOWN`×`ACROSS` sums. Copies of a later stage start in the steps `COPYING_A` and `COPYING_B` of
/// a stage, that of A not after that of B.
///
/// # Safety
/// The launch is as [`Product`] says, with the shared memory of [`shared_bytes`].
#[inline(always)]
unsafe fn multiply<
    T: Sum,
    const VECTOR: usize,
    const DOWN: usize,
    const ACROSS: usize,
    const WARPS_ACROSS: u32,
    const ROWS: u32,
    const COLUMNS: u32,
    const DEPTH: u32,
    const STAGES: u32,
    const THREADS: u32,
    const PATTERN_A: u32,
    const PATTERN_B: u32,
    const COPYING_A: usize,
    const COPYING_B: usize,
>(
    product: &Product<T, T>,
) {
    // The last step waits for the next stage, and counts the copies of this one as started.
    const { assert!(COPYING_A <= COPYING_B && COPYING_B + 1 < DEPTH as usize) };
    let (row, column) = first_element(product.m, product.n, ROWS, COLUMNS);
    // SAFETY: by the contract of this function, the launch is as `Product` says, with the shared
    // memory of `shared_bytes`.
    let mut stages = unsafe {
        Stages::<T, ROWS, COLUMNS, DEPTH, STAGES, THREADS, PATTERN_A, PATTERN_B>::start(
            product, row, column,
        )
    };
    let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
    let (warp_down, warp_across) = (warp / WARPS_ACROSS, warp % WARPS_ACROSS);
    let (lane_down, lane_across) = (lane / LANES_ACROSS, lane % LANES_ACROSS);
    let my_row = warp_down * LANES_DOWN * DOWN as u32 + lane_down * VECTOR as u32;
    let my_column = warp_across * LANES_ACROSS * ACROSS as u32 + lane_across * VECTOR as u32;
    let (offset_a, offset_b) = (my_row as usize, my_column as usize);

    let mut sums = [[T::ZERO; 16]; 8];
    let mut a = stages.a().wrapping_add(offset_a);
    let mut b = stages.b().wrapping_add(offset_b);
    // SAFETY: the stage has arrived; so have those below.
    let mut now = unsafe { Fragment::read::<VECTOR, DOWN, ACROSS>(a, b) };
    let mut left = part_of_k(product).1 as i32;
    while left > 0 {
        unrolled! { step in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] {
            if (step as u32) < DEPTH {
                let mut next_k = step + 1;
                if next_k == DEPTH as usize {
                    next_k = 0;
                    stages.advance();
                    a = stages.a().wrapping_add(offset_a);
                    b = stages.b().wrapping_add(offset_b);
                }
                // SAFETY: the current stage has arrived: `start` has waited for the first one,
                // `advance` for each of the others. Rows of a stage and this thread's offsets in
                // them are multiples of 16 bytes.
                let next = unsafe {
                    Fragment::read::<VECTOR, DOWN, ACROSS>(
                        a.wrapping_add(next_k * (ROWS + PAD) as usize),
                        b.wrapping_add(next_k * (COLUMNS + PAD) as usize),
                    )
                };
                keep_reads();
                // SAFETY: all have been at the barrier since they read from the previous stage.
                unsafe {
                    if step == COPYING_A {
                        stages.load_a();
                    }
                    if step == COPYING_B {
                        stages.load_b();
                    }
                }
                unrolled! { j in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] {
                    unrolled! { position in [0 1 2 3 4 5 6 7] {
                        // Every other column of large tiles backwards.
                        let is_backwards = DOWN * ACROSS == 128 && j % 2 == 1;
                        let i = if is_backwards { 7 - position } else { position };
                        if i < DOWN && j < ACROSS {
                            sums[i][j] = T::multiply_add(now.a[i], now.b[j], sums[i][j]);
                        }
                    }}
                }}
                now = next;
            }
        }}
        left -= DEPTH as i32;
    }

    let target = Target::of_block(product);
    // SAFETY: this thread's own elements.
    unsafe {
        if target.is_plain(row, column, ROWS, COLUMNS, VECTOR as u32) {
            write::<T, VECTOR, DOWN, ACROSS, true>(
                &target,
                row + my_row,
                column + my_column,
                &sums,
            );
        } else {
            write::<T, VECTOR, DOWN, ACROSS, false>(
                &target,
                row + my_row,
                column + my_column,
                &sums,
            );
        }
    }
}

/// Writes a thread's sums, of which the first belongs to `row` and `column`.
///
/// # Safety
/// As of [`Target::write`].
#[inline(always)]
unsafe fn write<
    T: Sum,
    const VECTOR: usize,
    const DOWN: usize,
    const ACROSS: usize,
    const PLAIN: bool,
>(
    target: &Target<T>,
    row: u32,
    column: u32,
    sums: &[[T; 16]; 8],
) {
    unrolled! { i in [0 1 2 3 4 5 6 7] {
        if i < DOWN {
            let row = row + (i / VECTOR * VECTOR) as u32 * LANES_DOWN + (i % VECTOR) as u32;
            unrolled! { j in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] {
                if j < ACROSS && j.is_multiple_of(VECTOR) {
                    let mut part = [T::ZERO; VECTOR];
                    unrolled! { l in [0 1 2 3] {
                        if l < VECTOR {
                            part[l] = sums[i][(j + l) % 16];
                        }
                    }}
                    // SAFETY: the caller keeps the contract of `Target::write`, which this function
                    // shares.
                    unsafe { target.write::<VECTOR, PLAIN>(row, column, j * LANES_ACROSS as usize, part) };
                }
            }}
        }
    }}
}

macro_rules! kernels {
    ($(#[$doc:meta])* $table:ident: $type:ty, $vector:literal at once, $down:literal x $across:literal sums,
        $warps:literal warps across, $rows:literal x $columns:literal tile, $depth:literal deep,
        $stages:literal stages, $threads:literal threads;
        $($name:ident: $a:ident $a_name:ident, $b:ident $b_name:ident, copies at $copying_a:literal and $copying_b:literal;)*) => {
        $(
            /// A tile of C for each block.
            ///
            /// # Safety
            /// The launch is as [`Product`] says.
            #[kernel(block = $threads)]
            pub unsafe fn $name(product: Product<$type, $type>) {
                // SAFETY: by the contract of this function, the launch is as `Product` says.
                unsafe {
                    multiply::<$type, $vector, $down, $across, $warps, $rows, $columns, $depth, $stages, $threads, $a, $b, $copying_a, $copying_b>(
                        &product,
                    )
                }
            }
        )*
        $(#[$doc])*
        #[cfg(not(target_arch = "nvptx64"))]
        pub static $table: &[Tile<$type, $type>] = &[$(Tile {
            kernel: Launch::Block(&$name),
            a: Pattern::$a_name,
            b: Pattern::$b_name,
            rows: $rows,
            columns: $columns,
            depth: $depth,
            threads: $threads,
            shared_bytes: Stages::<$type, $rows, $columns, $depth, $stages, $threads, $a, $b>::BYTES,
        }),*];
    };
}

kernels! {
    /// Large tiles in f32.
    FMA_F32_LARGE: f32, 4 at once, 8 x 16 sums, 4 warps across, 128 x 256 tile, 8 deep, 6 stages, 256 threads;
    fma_f32_large_along_along: ELEMENTS_OF_K ElementsOfK, ELEMENTS_OF_K ElementsOfK, copies at 1 and 3;
    fma_f32_large_along_across: ELEMENTS_OF_K ElementsOfK, PIECES_ACROSS PiecesAcross, copies at 1 and 5;
    fma_f32_large_across_along: PIECES_ACROSS PiecesAcross, ELEMENTS_OF_K ElementsOfK, copies at 0 and 0;
    fma_f32_large_across_across: PIECES_ACROSS PiecesAcross, PIECES_ACROSS PiecesAcross, copies at 1 and 3;
    fma_f32_large_any: ELEMENTS Elements, ELEMENTS Elements, copies at 0 and 1;
}
kernels! {
    /// Small tiles in f32.
    FMA_F32_SMALL: f32, 4 at once, 4 x 8 sums, 2 warps across, 64 x 64 tile, 16 deep, 4 stages, 128 threads;
    fma_f32_small_along_across: ELEMENTS_OF_K ElementsOfK, PIECES_ACROSS PiecesAcross, copies at 3 and 3;
    fma_f32_small_any: ELEMENTS Elements, ELEMENTS Elements, copies at 3 and 3;
}
kernels! {
    /// The smallest tiles in f32.
    FMA_F32_TINY: f32, 4 at once, 4 x 8 sums, 1 warps across, 32 x 32 tile, 16 deep, 3 stages, 32 threads;
    fma_f32_tiny_along_across: ELEMENTS_OF_K ElementsOfK, PIECES_ACROSS PiecesAcross, copies at 3 and 3;
    fma_f32_tiny_any: ELEMENTS Elements, ELEMENTS Elements, copies at 3 and 3;
}
kernels! {
    /// Tiles in f64.
    FMA_F64: f64, 2 at once, 8 x 8 sums, 2 warps across, 128 x 64 tile, 8 deep, 3 stages, 128 threads;
    fma_f64_any: ELEMENTS Elements, ELEMENTS Elements, copies at 3 and 3;
}
