//! Products of small matrices, and of batches of them, in f64 by the matrix instructions of warps.
//!
//! A tile has 64×64 sums, so that little is computed in vain where matrices are no larger, and four
//! blocks fit in a multiprocessor: while one waits for its first elements or writes its sums,
//! others multiply. Each of the four warps has 32×32 sums.

use cuda_std::mma;
use cuda_std::prelude::*;

use crate::grid::first_element;
use crate::product::{Product, Target};
use crate::stages::{Stages, part_of_k};
use crate::tile::{ELEMENTS, PIECES_ACROSS, PIECES_OF_K};
#[cfg(not(target_arch = "nvptx64"))]
use crate::tile::{Launch, Pattern, Tile};

/// Rows, and columns, of a block's tile.
const SIDE: u32 = 64;
/// k of a stage.
const DEPTH: u32 = 16;
/// Threads of a block.
const THREADS: u32 = 128;

/// The stages of a kernel.
type Stages64<const A: u32, const B: u32> = Stages<f64, SIDE, SIDE, DEPTH, 3, THREADS, A, B>;

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
/// The launch is as [`Product`] says, with the shared memory of the [`Stages64`].
#[inline(always)]
unsafe fn multiply<const A: u32, const B: u32>(product: &Product<f64, f64>) {
    let (row, column) = first_element(product.m, product.n, SIDE, SIDE);
    // SAFETY: as the caller says.
    let mut stages = unsafe { Stages64::<A, B>::start(product, row, column) };
    let (strides_a, strides_b) = (Stages64::<A, B>::STRIDES_A, Stages64::<A, B>::STRIDES_B);
    let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
    let (group, within) = (lane / 4, lane % 4);
    let (my_row, my_column) = (warp / 2 * 32, warp % 2 * 32);
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
            // SAFETY: passed on to the caller.
            unsafe {
                target.write::<2, PLAIN>(row, column, 8 * j, [a, b]);
                target.write::<2, PLAIN>(row + 8, column, 8 * j, [c, d]);
            }
        }}
    }}
}

macro_rules! kernels {
    ($($name:ident: $a:ident $a_name:ident, $b:ident $b_name:ident;)*) => {
        $(
            /// A tile of C for each block.
            ///
            /// # Safety
            /// The launch is as [`Product`] says.
            #[kernel(max_block = 128, min_blocks = 4)]
            pub unsafe fn $name(product: Product<f64, f64>) {
                // SAFETY: passed on to the caller.
                unsafe { multiply::<$a, $b>(&product) }
            }
        )*
        /// Small tiles in f64.
        #[cfg(not(target_arch = "nvptx64"))]
        pub static SMALL_F64: &[Tile<f64, f64>] = &[$(Tile {
            kernel: Launch::Block(&$name),
            a: Pattern::$a_name,
            b: Pattern::$b_name,
            rows: SIDE,
            columns: SIDE,
            depth: DEPTH,
            threads: THREADS,
            shared_bytes: Stages64::<$a, $b>::BYTES,
        }),*];
    };
}

kernels! {
    small_f64_along_along: PIECES_OF_K PiecesOfK, PIECES_OF_K PiecesOfK;
    small_f64_along_across: PIECES_OF_K PiecesOfK, PIECES_ACROSS PiecesAcross;
    small_f64_across_along: PIECES_ACROSS PiecesAcross, PIECES_OF_K PiecesOfK;
    small_f64_across_across: PIECES_ACROSS PiecesAcross, PIECES_ACROSS PiecesAcross;
    small_f64_any: ELEMENTS Elements, ELEMENTS Elements;
}
