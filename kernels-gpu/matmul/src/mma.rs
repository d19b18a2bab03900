//! Products by the matrix instructions of warps, of elements that are read from shared memory one
//! by one: f64, and f32 in tf32.
//!
//! A warp has 4×4 or 2×4 tiles of 16×8 sums. For a step of 8 k it reads as many tiles of A and of
//! B, the next ones while it multiplies these, across the barrier between stages too.

use cuda_std::mma;
use cuda_std::prelude::*;

use crate::grid::first_element;
use crate::product::{Product, Sum, Target};
use crate::stages::{Stages, keep_reads, part_of_k};
use crate::tile::{ELEMENTS, PIECES_ACROSS, PIECES_OF_K};
#[cfg(not(target_arch = "nvptx64"))]
use crate::tile::{Launch, Pattern, Tile};

/// The most tiles of a warp down, and its tiles across.
const TILES: usize = 4;

/// k of a step, in fours.
const FOURS: usize = 2;

/// A type that the instructions take.
trait Number: Sum {
    /// 16×8 sums plus the product of 16×8 elements of A and 8×8 of B, as in
    /// [`mma::m16n8k8_tf32`]. The first index of `a` and that of `b` are of fours of k.
    fn multiply(sums: &mut [Self; 4], a: [[Self; 2]; 2], b: [Self; 2]);
}

impl Number for f64 {
    #[inline(always)]
    fn multiply(sums: &mut [f64; 4], a: [[f64; 2]; 2], b: [f64; 2]) {
        #[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
        mma::m16n8k8_f64(sums, [a[0][0], a[0][1], a[1][0], a[1][1]], b);
        #[cfg(all(target_arch = "nvptx64", not(target_feature = "sm_90")))]
        {
            // Four smaller ones, whose elements are in the same lanes.
            let (mut upper, mut lower) = ([sums[0], sums[1]], [sums[2], sums[3]]);
            mma::m8n8k4_f64(&mut upper, [a[0][0]], [b[0]]);
            mma::m8n8k4_f64(&mut lower, [a[0][1]], [b[0]]);
            mma::m8n8k4_f64(&mut upper, [a[1][0]], [b[1]]);
            mma::m8n8k4_f64(&mut lower, [a[1][1]], [b[1]]);
            *sums = [upper[0], upper[1], lower[0], lower[1]];
        }
    }
}

impl Number for f32 {
    #[inline(always)]
    fn multiply(sums: &mut [f32; 4], [[a0, a1], [a2, a3]]: [[f32; 2]; 2], b: [f32; 2]) {
        let a = [a0, a1, a2, a3].map(f32::to_bits);
        mma::m16n8k8_tf32(sums, a, b.map(f32::to_bits));
    }
}

/// A lane's elements of A and B for a step of k.
#[derive(Clone, Copy)]
struct Fragment<T> {
    a: [[[T; 2]; FOURS]; TILES],
    b: [[T; FOURS]; TILES],
}

impl<T: Number> Fragment<T> {
    /// The elements of `DOWN` tiles of A and all of B whose first ones are `a` and `b`, with their
    /// strides in shared memory.
    ///
    /// # Safety
    /// They have arrived.
    #[inline(always)]
    unsafe fn read<const DOWN: usize>(
        a: *const T,
        b: *const T,
        strides_a: [usize; 2],
        strides_b: [usize; 2],
    ) -> Self {
        let mut fragment = Fragment {
            a: [[[T::ZERO; 2]; FOURS]; TILES],
            b: [[T::ZERO; FOURS]; TILES],
        };
        unrolled! { four in [0 1] {
            let a = a.wrapping_add(4 * four * strides_a[1]);
            let b = b.wrapping_add(4 * four * strides_b[1]);
            unrolled! { i in [0 1 2 3] {
                // SAFETY: by the contract of this function, the elements of `DOWN` tiles of A and
                // of all tiles of B have arrived.
                unsafe {
                    if i < DOWN {
                        fragment.a[i][four] = [
                            a.wrapping_add(16 * i * strides_a[0]).read(),
                            a.wrapping_add((16 * i + 8) * strides_a[0]).read(),
                        ];
                    }
                    fragment.b[i][four] = b.wrapping_add(8 * i * strides_b[0]).read();
                }
            }}
        }}
        fragment
    }
}

/// The tile of this block, of warps with 16·`DOWN`×32 sums.
///
/// # Safety
/// The launch is as [`Product`] says, with the shared memory of the [`Stages`].
#[inline(always)]
unsafe fn multiply<
    T: Number,
    const DOWN: usize,
    const ROWS: u32,
    const COLUMNS: u32,
    const DEPTH: u32,
    const STAGES: u32,
    const THREADS: u32,
    const PATTERN_A: u32,
    const PATTERN_B: u32,
>(
    product: &Product<T, T>,
) {
    let (row, column) = first_element(product.m, product.n, ROWS, COLUMNS);
    // SAFETY: by the contract of this function, the launch is as `Product` says, with the shared
    // memory of the `Stages`.
    let mut stages = unsafe {
        Stages::<T, ROWS, COLUMNS, DEPTH, STAGES, THREADS, PATTERN_A, PATTERN_B>::start(
            product, row, column,
        )
    };
    let strides_a =
        Stages::<T, ROWS, COLUMNS, DEPTH, STAGES, THREADS, PATTERN_A, PATTERN_B>::STRIDES_A;
    let strides_b =
        Stages::<T, ROWS, COLUMNS, DEPTH, STAGES, THREADS, PATTERN_A, PATTERN_B>::STRIDES_B;
    let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
    let warps_across = COLUMNS / (8 * TILES as u32);
    let (group, within) = (lane / 4, lane % 4);
    let my_row = warp / warps_across * (16 * DOWN as u32) + group;
    let my_column = warp % warps_across * (8 * TILES as u32);
    let offset_a = within as usize * strides_a[1] + my_row as usize * strides_a[0];
    let offset_b = within as usize * strides_b[1] + (my_column + group) as usize * strides_b[0];

    let mut sums = [[[T::ZERO; 4]; TILES]; TILES];
    let mut a = stages.a().wrapping_add(offset_a);
    let mut b = stages.b().wrapping_add(offset_b);
    // SAFETY: the stage has arrived; so have those below.
    let mut now = unsafe { Fragment::read::<DOWN>(a, b, strides_a, strides_b) };
    let mut left = part_of_k(product).1 as i32;
    while left > 0 {
        unrolled! { step in [0 1 2 3] {
            if 4 * FOURS * step < DEPTH as usize {
                let mut next_k = 4 * FOURS * (step + 1);
                if next_k == DEPTH as usize {
                    next_k = 0;
                    stages.advance();
                    a = stages.a().wrapping_add(offset_a);
                    b = stages.b().wrapping_add(offset_b);
                }
                // SAFETY: the current stage has arrived: `start` has waited for the first one,
                // `advance` for each of the others.
                let next = unsafe {
                    let (a, b) = (a.wrapping_add(next_k * strides_a[1]), b.wrapping_add(next_k * strides_b[1]));
                    Fragment::read::<DOWN>(a, b, strides_a, strides_b)
                };
                keep_reads();
                if step == 0 {
                    // SAFETY: all have been at the barrier since they read from the previous stage.
                    unsafe { stages.load() };
                }
                unrolled! { i in [0 1 2 3] {
                    if i < DOWN {
                        unrolled! { j in [0 1 2 3] {
                            T::multiply(&mut sums[i][j], now.a[i], now.b[j]);
                        }}
                    }
                }}
                now = next;
            }
        }}
        left -= DEPTH as i32;
    }

    let target = Target::of_block(product);
    let (first_row, first_column) = (row + my_row, column + my_column + 2 * within);
    // SAFETY: this lane's own elements.
    unsafe {
        if target.is_plain(row, column, ROWS, COLUMNS, 2) {
            write::<T, DOWN, true>(&target, first_row, first_column, &sums);
        } else {
            write::<T, DOWN, false>(&target, first_row, first_column, &sums);
        }
    }
}

/// Writes a lane's sums, of which the first belongs to `row` and `column`.
///
/// # Safety
/// As of [`Target::write`].
#[inline(always)]
unsafe fn write<T: Number, const DOWN: usize, const PLAIN: bool>(
    target: &Target<T>,
    row: u32,
    column: u32,
    sums: &[[[T; 4]; TILES]; TILES],
) {
    unrolled! { i in [0 1 2 3] {
        if i < DOWN {
            unrolled! { j in [0 1 2 3] {
                let row = row + 16 * i as u32;
                let [a, b, c, d] = sums[i][j];
                // SAFETY: the caller keeps the contract of `Target::write`, which this function
                // shares.
                unsafe {
                    target.write::<2, PLAIN>(row, column, 8 * j, [a, b]);
                    target.write::<2, PLAIN>(row + 8, column, 8 * j, [c, d]);
                }
            }}
        }
    }}
}

macro_rules! kernels {
    ($(#[$doc:meta])* $table:ident: $type:ty, $down:literal tiles down, $rows:literal x $columns:literal tile, $depth:literal deep,
        $stages:literal stages, $threads:literal threads, $blocks:literal blocks;
        $($name:ident: $a:ident $a_name:ident, $b:ident $b_name:ident;)*) => {
        $(
            /// A tile of C for each block.
            ///
            /// # Safety
            /// The launch is as [`Product`] says.
            #[kernel(max_block = $threads, min_blocks = $blocks)]
            pub unsafe fn $name(product: Product<$type, $type>) {
                // SAFETY: by the contract of this function, the launch is as `Product` says.
                unsafe { multiply::<$type, $down, $rows, $columns, $depth, $stages, $threads, $a, $b>(&product) }
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

// One block for a multiprocessor: a tile of 128×128 reads a third less for each sum than one of
// 128×64, and next to the multiplications, reading costs the most time and power.
kernels! {
    /// Tiles in f64.
    MMA_F64: f64, 4 tiles down, 128 x 128 tile, 16 deep, 3 stages, 256 threads, 1 blocks;
    mma_f64_along_along: PIECES_OF_K PiecesOfK, PIECES_OF_K PiecesOfK;
    mma_f64_along_across: PIECES_OF_K PiecesOfK, PIECES_ACROSS PiecesAcross;
    mma_f64_across_along: PIECES_ACROSS PiecesAcross, PIECES_OF_K PiecesOfK;
    mma_f64_across_across: PIECES_ACROSS PiecesAcross, PIECES_ACROSS PiecesAcross;
    mma_f64_any: ELEMENTS Elements, ELEMENTS Elements;
}
// Two blocks for a multiprocessor, for batches: while one waits for its first elements or writes its
// sums, the other multiplies.
kernels! {
    /// Medium tiles in f64.
    MMA_F64_MEDIUM: f64, 4 tiles down, 128 x 64 tile, 16 deep, 3 stages, 128 threads, 2 blocks;
    mma_f64_medium_along_along: PIECES_OF_K PiecesOfK, PIECES_OF_K PiecesOfK;
    mma_f64_medium_along_across: PIECES_OF_K PiecesOfK, PIECES_ACROSS PiecesAcross;
    mma_f64_medium_across_along: PIECES_ACROSS PiecesAcross, PIECES_OF_K PiecesOfK;
    mma_f64_medium_across_across: PIECES_ACROSS PiecesAcross, PIECES_ACROSS PiecesAcross;
}
// Three blocks for a multiprocessor, for results that have fewer large tiles than there are
// multiprocessors, and for batches of small matrices.
kernels! {
    /// Small tiles in f64.
    MMA_F64_SMALL: f64, 2 tiles down, 64 x 64 tile, 16 deep, 3 stages, 128 threads, 3 blocks;
    mma_f64_small_along_along: PIECES_OF_K PiecesOfK, PIECES_OF_K PiecesOfK;
    mma_f64_small_along_across: PIECES_OF_K PiecesOfK, PIECES_ACROSS PiecesAcross;
    mma_f64_small_across_along: PIECES_ACROSS PiecesAcross, PIECES_OF_K PiecesOfK;
    mma_f64_small_across_across: PIECES_ACROSS PiecesAcross, PIECES_ACROSS PiecesAcross;
    mma_f64_small_any: ELEMENTS Elements, ELEMENTS Elements;
}
// Two blocks fit in a multiprocessor: while one waits at a barrier or writes its tile, the other
// multiplies.
kernels! {
    /// Tiles in tf32.
    MMA_TF32: f32, 4 tiles down, 128 x 64 tile, 32 deep, 3 stages, 128 threads, 2 blocks;
    mma_tf32_along_along: PIECES_OF_K PiecesOfK, PIECES_OF_K PiecesOfK;
    mma_tf32_along_across: PIECES_OF_K PiecesOfK, PIECES_ACROSS PiecesAcross;
    mma_tf32_across_along: PIECES_ACROSS PiecesAcross, PIECES_OF_K PiecesOfK;
    mma_tf32_across_across: PIECES_ACROSS PiecesAcross, PIECES_ACROSS PiecesAcross;
    mma_tf32_any: ELEMENTS Elements, ELEMENTS Elements;
}
