//! Products of f32 in tf32 by the matrix instructions of warp groups, which read both factors from
//! shared memory.
//!
//! Each of the block's warp groups has 64 rows and all columns of its tile. While the instructions
//! for one stage run, the threads bring tiles for a later one; instructions of two stages are on
//! their way at a time.

use cuda_std::async_copy;
use cuda_std::prelude::*;
use cuda_std::shared::{SharedAddress, address, dynamic_shared_mem};
use cuda_std::wgmma::{self, Operand, Sums};

use crate::grid::first_element;
use crate::product::{Product, Target};
use crate::stages::part_of_k;
use crate::swizzled::{ATOM, Loader, ROW_BYTES};
#[cfg(not(target_arch = "nvptx64"))]
use crate::tile::{Launch, Pattern, Tile};
use crate::tile::{PIECES_ACROSS, PIECES_OF_K};

/// Rows of a tile.
const ROWS: u32 = 128;

impl<T: Copy, const OUTER: u32, const PATTERN: u32> Loader<T, OUTER, PATTERN> {
    /// The part of a tile that begins at outer index `outer`, a multiple of 64.
    #[inline(always)]
    fn operand(tile: SharedAddress, outer: u32) -> Operand {
        let start = tile.offset(outer * ROW_BYTES);
        if PATTERN == PIECES_ACROSS {
            Operand::across_k(start, Self::DEPTH / 8 * ATOM, ATOM)
        } else {
            Operand::along_k(start, ATOM)
        }
    }

    /// Bytes between the parts that follow each other in k, of which a stage has four.
    const NEXT: u32 = if PATTERN == PIECES_ACROSS {
        2 * ATOM
    } else {
        32
    };
}

/// The instruction for 64×`N` sums.
pub(crate) trait Multiply<const N: usize> {
    /// Adds to the sums.
    ///
    /// # Safety
    /// As of [`wgmma::m64n256k16_f16`].
    unsafe fn multiply<const A: bool, const B: bool>(sums: &mut [f32; N], a: Operand, b: Operand);
}

/// f16.
pub(crate) struct F16;
/// bf16.
pub(crate) struct Bf16;
/// tf32.
struct Tf32;

macro_rules! multiply {
    ($($type:ty, $sums:literal, $function:ident $(::<$a:ident, $b:ident>)?;)*) => {$(
        impl Multiply<$sums> for $type {
            #[inline(always)]
            unsafe fn multiply<const A: bool, const B: bool>(sums: &mut [f32; $sums], a: Operand, b: Operand) {
                // SAFETY: by the contract of `Multiply::multiply`, the operands are initialised
                // dynamic shared memory that no thread writes until the instruction has been waited
                // for.
                unsafe { wgmma::$function$(::<$a, $b>)?(sums, a, b) }
            }
        }
    )*};
}
multiply! {
    F16, 32, m64n64k16_f16::<A, B>;
    F16, 128, m64n256k16_f16::<A, B>;
    Bf16, 32, m64n64k16_bf16::<A, B>;
    Bf16, 128, m64n256k16_bf16::<A, B>;
    Tf32, 128, m64n256k8_tf32;
}

/// The tile of this block, of [`ROWS`]×`COLUMNS` sums.
///
/// # Safety
/// The launch is as [`Product`] says, with the shared memory of `STAGES` stages.
#[inline(always)]
unsafe fn multiply<
    T: Copy,
    I: Multiply<SUMS>,
    const COLUMNS: u32,
    const SUMS: usize,
    const STAGES: u32,
    const PATTERN_A: u32,
    const PATTERN_B: u32,
    const A: bool,
    const B: bool,
>(
    product: &Product<T, f32>,
) where
    [f32; SUMS]: Sums,
{
    let (row, column) = first_element(product.m, product.n, ROWS, COLUMNS);
    let (k, count) = part_of_k(product);
    let mut load_a = Loader::<T, ROWS, PATTERN_A>::new(&product.a, row, product.m, k);
    let mut load_b = Loader::<T, COLUMNS, PATTERN_B>::new(&product.b, column, product.n, k);
    let depth = Loader::<T, ROWS, PATTERN_A>::DEPTH;
    let bytes_a = Loader::<T, ROWS, PATTERN_A>::BYTES;
    let stage_bytes = bytes_a + Loader::<T, COLUMNS, PATTERN_B>::BYTES;
    let first = address(dynamic_shared_mem::<u128>());

    let mut to_load = count as i32;
    let (mut free, mut current) = (0, 0);
    macro_rules! load {
        () => {
            if to_load > 0 {
                let to = first.offset(free);
                let is_whole = to_load as u32 >= depth;
                // SAFETY: a stage that no thread uses. The factors are those of the `Product`,
                // which has `to_load` k from here on, a whole stage if it `is_whole`.
                unsafe {
                    load_a.load(to, to_load as u32, is_whole);
                    load_b.load(to.offset(bytes_a), to_load as u32, is_whole);
                }
            }
            to_load -= depth as i32;
            free += stage_bytes;
            if free == STAGES * stage_bytes {
                free = 0;
            }
            async_copy::commit();
        };
    }
    let mut stage = 2;
    while stage < STAGES {
        load!();
        stage += 1;
    }

    let group = thread::thread_idx_x() / 128;
    let mut sums = [0.0f32; SUMS];
    let mut left = count as i32;
    while left > 0 {
        match STAGES {
            3 => async_copy::wait::<0>(),
            4 => async_copy::wait::<1>(),
            5 => async_copy::wait::<2>(),
            _ => async_copy::wait::<3>(),
        }
        wgmma::publish();
        thread::sync_threads();
        let tile = first.offset(current);
        let a = Loader::<T, ROWS, PATTERN_A>::operand(tile, 64 * group);
        let b = Loader::<T, COLUMNS, PATTERN_B>::operand(tile.offset(bytes_a), 0);
        wgmma::fence();
        unrolled! { part in [0 1 2 3] {
            let a = a.offset(part as u32 * Loader::<T, ROWS, PATTERN_A>::NEXT);
            let b = b.offset(part as u32 * Loader::<T, COLUMNS, PATTERN_B>::NEXT);
            // SAFETY: the stage has arrived, and is loaded again two rounds later only.
            unsafe { I::multiply::<A, B>(&mut sums, a, b) };
        }}
        wgmma::commit();
        // Two stages back: all have been at this round's barrier since they waited for its
        // instructions.
        load!();
        wgmma::wait::<1>();
        current += stage_bytes;
        if current == STAGES * stage_bytes {
            current = 0;
        }
        left -= depth as i32;
    }
    wgmma::wait::<0>();
    sums.hold();

    let target = Target::of_block(product);
    let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
    let my_row = row + 16 * warp + lane / 4;
    let my_column = column + lane % 4 * 2;
    // SAFETY: this lane's own elements.
    unsafe {
        if target.is_plain(row, column, ROWS, COLUMNS, 2) {
            write::<SUMS, true>(&target, my_row, my_column, &sums);
        } else {
            write::<SUMS, false>(&target, my_row, my_column, &sums);
        }
    }
}

/// Writes a lane's sums, of which the first belongs to `row` and `column`.
///
/// # Safety
/// As of [`Target::write`].
#[inline(always)]
pub(crate) unsafe fn write<const SUMS: usize, const PLAIN: bool>(
    target: &Target<f32>,
    row: u32,
    column: u32,
    sums: &[f32; SUMS],
) {
    unrolled! { half in [0 1] {
        unrolled! { j in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31] {
            if 4 * j < SUMS {
                let place = (4 * j + 2 * half) % SUMS;
                let pair = [sums[place], sums[place + 1]];
                // SAFETY: the caller keeps the contract of `Target::write`, which this function
                // shares.
                unsafe { target.write::<2, PLAIN>(row + 8 * half as u32, column, 8 * j, pair) };
            }
        }}
    }}
}

macro_rules! kernels {
    ($(#[$doc:meta])* $table:ident: $type:ty as $kind:ty, $columns:literal columns, $sums:literal sums,
        $stages:literal stages; $($name:ident: $a:ident $a_name:ident, $b:ident $b_name:ident;)*) => {
        $(
            /// A tile of C for each block.
            ///
            /// # Safety
            /// The launch is as [`Product`] says.
            #[kernel(block = 256)]
            pub unsafe fn $name(product: Product<$type, f32>) {
                const A: bool = $a == PIECES_ACROSS;
                const B: bool = $b == PIECES_ACROSS;
                // SAFETY: by the contract of this function, the launch is as `Product` says.
                unsafe { multiply::<$type, $kind, $columns, $sums, $stages, $a, $b, A, B>(&product) }
            }
        )*
        $(#[$doc])*
        #[cfg(not(target_arch = "nvptx64"))]
        pub static $table: &[Tile<$type, f32>] = &[$(Tile {
            kernel: Launch::Block(&$name),
            a: Pattern::$a_name,
            b: Pattern::$b_name,
            rows: ROWS,
            columns: $columns,
            depth: Loader::<$type, ROWS, $a>::DEPTH,
            threads: crate::swizzled::THREADS,
            shared_bytes: $stages
                * (Loader::<$type, ROWS, $a>::BYTES + Loader::<$type, $columns, $b>::BYTES),
        }),*];
    };
}

// The instructions read rows of k alone: what is across has to be packed first.
kernels! {
    /// Tiles in tf32.
    WGMMA_TF32: f32 as Tf32, 256 columns, 128 sums, 4 stages;
    wgmma_tf32_along_along: PIECES_OF_K PiecesOfK, PIECES_OF_K PiecesOfK;
}
