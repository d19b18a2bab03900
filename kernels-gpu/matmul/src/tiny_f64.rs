//! Products of small matrices, and of batches of them, in f64 by the matrix instructions of warps.
//!
//! A tile has 32×32 sums of one warp, so that little is computed in vain where matrices are no larger,
//! and many blocks fit in a multiprocessor: while one waits for its first elements or writes its sums,
//! others multiply.

use cuda_std::mma;
use cuda_std::prelude::*;

use crate::grid::first_element;
use crate::product::{Product, Target};
use crate::stages::{Stages, part_of_k};
use crate::tile::{ELEMENTS, PIECES_ACROSS, PIECES_OF_K};
#[cfg(not(target_arch = "nvptx64"))]
use crate::tile::{Launch, Pattern, Tile};

/// Adds to 16×8 sums the product of 16×4 and 4×8 elements, as in [`mma::m16n8k4_f64`].
#[inline(always)]
fn add_product(sums: &mut [f64; 4], a: [f64; 2], b: f64) {
    #[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
    mma::m16n8k4_f64(sums, a, [b]);
    #[cfg(all(target_arch = "nvptx64", not(target_feature = "sm_90")))]
    {
        // Two smaller ones, whose elements are in the same lanes.
        let (mut upper, mut lower) = ([sums[0], sums[1]], [sums[2], sums[3]]);
        mma::m8n8k4_f64(&mut upper, [a[0]], [b]);
        mma::m8n8k4_f64(&mut lower, [a[1]], [b]);
        *sums = [upper[0], upper[1], lower[0], lower[1]];
    }
}

/// The tile of this block.
///
/// # Safety
/// The launch is as [`Product`] says, with the shared memory of the [`Stages`].
#[inline(always)]
unsafe fn multiply<
    const SIDE: u32,
    const DEPTH: u32,
    const STAGES: u32,
    const THREADS: u32,
    const A: u32,
    const B: u32,
>(
    product: &Product<f64, f64>,
) {
    let (row, column) = first_element(product.m, product.n, SIDE, SIDE);
    // SAFETY: by the contract of this function, the launch is as `Product` says, with the shared
    // memory of the `Stages`.
    let mut stages = unsafe {
        Stages::<f64, SIDE, SIDE, DEPTH, STAGES, THREADS, A, B>::start(product, row, column)
    };
    let strides_a = Stages::<f64, SIDE, SIDE, DEPTH, STAGES, THREADS, A, B>::STRIDES_A;
    let strides_b = Stages::<f64, SIDE, SIDE, DEPTH, STAGES, THREADS, A, B>::STRIDES_B;
    let warps_across = SIDE / 32;
    let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
    let (group, within) = (lane / 4, lane % 4);
    let (my_row, my_column) = (warp / warps_across * 32, warp % warps_across * 32);
    let offset_a = within as usize * strides_a[1] + (my_row + group) as usize * strides_a[0];
    let offset_b = within as usize * strides_b[1] + (my_column + group) as usize * strides_b[0];

    let mut sums = [[[0.0; 4]; 4]; 2];
    let mut left = part_of_k(product).1 as i32;
    while left > 0 {
        // SAFETY: all have been at the barrier since they read from the previous stage.
        unsafe { stages.load() };
        let a = stages.a().wrapping_add(offset_a);
        let b = stages.b().wrapping_add(offset_b);
        unrolled! { step in [0 1 2 3] {
            if 4 * step < DEPTH as usize {
                let a = a.wrapping_add(4 * step * strides_a[1]);
                let b = b.wrapping_add(4 * step * strides_b[1]);
                // SAFETY: the stage has arrived.
                let (a, b) = unsafe {
                    let of_a = |i: usize| a.wrapping_add(8 * i * strides_a[0]).read();
                    let of_b = |j: usize| b.wrapping_add(8 * j * strides_b[0]).read();
                    ([[of_a(0), of_a(1)], [of_a(2), of_a(3)]], [0, 1, 2, 3].map(of_b))
                };
                unrolled! { i in [0 1] {
                    unrolled! { j in [0 1 2 3] {
                        add_product(&mut sums[i][j], a[i], b[j]);
                    }}
                }}
            }
        }}
        left -= DEPTH as i32;
        stages.advance();
    }

    let target = Target::of_block(product);
    let (first_row, first_column) = (row + my_row + group, column + my_column + 2 * within);
    // SAFETY: this lane's own elements.
    unsafe {
        if target.is_plain(row, column, SIDE, SIDE, 2) {
            write::<true>(&target, first_row, first_column, &sums);
        } else {
            write::<false>(&target, first_row, first_column, &sums);
        }
    }
}

/// Writes a lane's sums, of which the first belongs to `row` and `column`.
///
/// # Safety
/// As of [`Target::write`].
#[inline(always)]
unsafe fn write<const PLAIN: bool>(
    target: &Target<f64>,
    row: u32,
    column: u32,
    sums: &[[[f64; 4]; 4]; 2],
) {
    unrolled! { i in [0 1] {
        unrolled! { j in [0 1 2 3] {
            let row = row + 16 * i as u32;
            let [a, b, c, d] = sums[i][j];
            // SAFETY: the caller keeps the contract of `Target::write`, which this function shares.
            unsafe {
                target.write::<2, PLAIN>(row, column, 8 * j, [a, b]);
                target.write::<2, PLAIN>(row + 8, column, 8 * j, [c, d]);
            }
        }}
    }}
}

macro_rules! kernels {
    ($(#[$doc:meta])* $table:ident: $side:literal x $same:literal tile, $depth:literal deep, $stages:literal stages,
        $threads:literal threads, $blocks:literal blocks;
        $($name:ident: $a:ident $a_name:ident, $b:ident $b_name:ident;)*) => {
        $(
            /// A tile of C for each block.
            ///
            /// # Safety
            /// The launch is as [`Product`] says.
            #[kernel(max_block = $threads, min_blocks = $blocks)]
            pub unsafe fn $name(product: Product<f64, f64>) {
                // SAFETY: by the contract of this function, the launch is as `Product` says.
                unsafe { multiply::<$side, $depth, $stages, $threads, $a, $b>(&product) }
            }
        )*
        $(#[$doc])*
        #[cfg(not(target_arch = "nvptx64"))]
        pub static $table: &[Tile<f64, f64>] = &[$(Tile {
            kernel: Launch::Block(&$name),
            a: Pattern::$a_name,
            b: Pattern::$b_name,
            rows: $side,
            columns: $side,
            depth: $depth,
            threads: $threads,
            shared_bytes: Stages::<f64, $side, $side, $depth, $stages, $threads, $a, $b>::BYTES,
        }),*];
    };
}

kernels! {
    /// The smallest tiles in f64.
    TINY_F64: 32 x 32 tile, 8 deep, 4 stages, 32 threads, 10 blocks;
    tiny_f64_along_along: PIECES_OF_K PiecesOfK, PIECES_OF_K PiecesOfK;
    tiny_f64_along_across: PIECES_OF_K PiecesOfK, PIECES_ACROSS PiecesAcross;
    tiny_f64_across_along: PIECES_ACROSS PiecesAcross, PIECES_OF_K PiecesOfK;
    tiny_f64_across_across: PIECES_ACROSS PiecesAcross, PIECES_ACROSS PiecesAcross;
    tiny_f64_any: ELEMENTS Elements, ELEMENTS Elements;
}
