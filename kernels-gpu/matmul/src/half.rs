//! Products of f16 and bf16 by the matrix instructions of warps, for compute capability 8.0 and
//! later, where those of warp groups do not exist.
//!
//! A warp has 64×32 sums. For a step of 16 k it reads tiles of 16 outer indices, 4 of A and 2 of B,
//! each with one instruction. A tile of the next step takes the registers of one of this step as
//! soon as those have been multiplied: the other tiles' instructions take longer than reading, and
//! the registers suffice for two blocks at a time on a multiprocessor.

use cuda_std::prelude::*;
use cuda_std::shared::{SharedAddress, address, dynamic_shared_mem};
use cuda_std::{async_copy, mma};

use crate::grid::first_element;
use crate::product::{Factor, Product, Target};
use crate::stages::part_of_k;
use crate::swizzled::{ATOM, Loader, ROW_BYTES};
#[cfg(not(target_arch = "nvptx64"))]
use crate::tile::{Launch, Pattern, Tile};
use crate::tile::{PIECES_ACROSS, PIECES_OF_K};

/// Rows, and columns, of a block's tile.
const SIDE: u32 = 128;
/// k of a stage.
const DEPTH: u32 = Tiles::<PIECES_OF_K>::DEPTH;
/// Bytes of a tile of A or B.
const TILE: u32 = Tiles::<PIECES_OF_K>::BYTES;
/// Bytes of a stage.
const STAGE: u32 = 2 * TILE;
/// Bytes of all three stages.
const STAGES: u32 = 3 * STAGE;

/// Loads the tiles of a factor.
type Tiles<const PATTERN: u32> = Loader<u16, SIDE, PATTERN>;

/// A factor whose elements along the pattern are said to be neighbours, which spares registers.
#[inline(always)]
fn with_neighbours<const PATTERN: u32>(factor: &Factor<u16>) -> Factor<u16> {
    match PATTERN {
        PIECES_OF_K => Factor {
            stride_k: 1,
            ..*factor
        },
        _ => Factor {
            stride: 1,
            ..*factor
        },
    }
}

/// Where in a tile this lane's row of 16 bytes is, of the 16×16 elements from outer index `outer`
/// on, a multiple of 32: in the half `half` of their outer indices and the half `half_k` of their
/// k.
#[inline(always)]
fn place<const PATTERN: u32>(outer: u32, half: u32, half_k: u32) -> u32 {
    let row = thread::thread_idx_x() % 8;
    match PATTERN {
        PIECES_OF_K => (outer + 8 * half + row) * ROW_BYTES + (half_k ^ row) * 16,
        _ => {
            let piece = outer / 8 % 8 + half;
            (outer / 64 * (DEPTH / 8) + half_k) * ATOM + row * ROW_BYTES + (piece ^ row) * 16
        }
    }
}

/// The words of this lane, whose row is at `place`, of the 16×16 elements `number` from there on in
/// step `step` of k: one of each of their quarters, in the order of the lanes that have the
/// quarter's rows.
///
/// # Safety
/// `tile` has arrived.
#[inline(always)]
unsafe fn read<const PATTERN: u32>(
    tile: SharedAddress,
    place: u32,
    number: u32,
    step: u32,
) -> [u32; 4] {
    // Steps within a row flip upper bits of the 16-byte index by exclusive or; steps to the next
    // atom are added.
    let (within, beyond) = match PATTERN {
        PIECES_OF_K => (step, number),
        _ => (number, step),
    };
    let row = tile.offset(place ^ (within * 32)).offset(beyond * 2 * ATOM);
    // SAFETY: by the contract of this function, `tile` has arrived.
    unsafe {
        match PATTERN {
            PIECES_OF_K => mma::load_tiles::<false>(row),
            _ => mma::load_tiles::<true>(row),
        }
    }
}

/// The instruction for 16×8 sums.
trait Multiply {
    /// Adds the product to the sums, with elements as in [`mma::m16n8k16_f16`].
    fn multiply(sums: &mut [f32; 4], a: [u32; 4], b: [u32; 2]);
}

/// f16.
struct F16;
/// bf16.
struct Bf16;

impl Multiply for F16 {
    #[inline(always)]
    fn multiply(sums: &mut [f32; 4], a: [u32; 4], b: [u32; 2]) {
        mma::m16n8k16_f16(sums, a, b);
    }
}

impl Multiply for Bf16 {
    #[inline(always)]
    fn multiply(sums: &mut [f32; 4], a: [u32; 4], b: [u32; 2]) {
        mma::m16n8k16_bf16(sums, a, b);
    }
}

/// The tile of this block.
///
/// # Safety
/// The launch is as [`Product`] says, with [`STAGES`] bytes of dynamic shared memory.
#[inline(always)]
unsafe fn multiply<I: Multiply, const A: u32, const B: u32>(product: &Product<u16, f32>) {
    let (row, column) = first_element(product.m, product.n, SIDE, SIDE);
    let (k, count) = part_of_k(product);
    let mut load_a = Tiles::<A>::new(&with_neighbours::<A>(&product.a), row, product.m, k);
    let mut load_b = Tiles::<B>::new(&with_neighbours::<B>(&product.b), column, product.n, k);
    let first = address(dynamic_shared_mem::<u128>());

    let mut left = count as i32;
    let (mut free, mut current) = (0, 0);
    // Starts to load the stage that is `$ahead` stages before the one whose first k is the first of
    // `left`.
    macro_rules! load {
        ($ahead:literal) => {
            let to_load = left - ($ahead * DEPTH) as i32;
            if to_load > 0 {
                let to = first.offset(free);
                // Not to ask whether the stage is whole spares instructions and registers.
                // SAFETY: a stage that no thread uses. The factors are those of the `Product`,
                // which has `to_load` k from here on.
                unsafe {
                    load_a.load(to, to_load as u32, false);
                    load_b.load(to.offset(TILE), to_load as u32, false);
                }
            }
            free = next(free);
            async_copy::commit();
        };
    }
    load!(0);
    load!(1);
    async_copy::wait::<1>();
    thread::sync_threads();

    let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
    let (my_row, my_column) = (warp / 4 * 64, warp % 4 * 32);
    // The instructions take what is in neighbouring registers: four quarters of A, those of the
    // same k first, and two of B, of the same columns.
    let (upper, lower) = (lane / 16, lane / 8 % 2);
    let places = [
        place::<A>(my_row, lower, upper),
        place::<B>(my_column, upper, lower),
    ];
    let mut sums = [[[0.0; 4]; 4]; 4];
    let read_a = |stage: u32, i: usize, step: u32| {
        // SAFETY: the stage has arrived; if there is no k, nothing is done with what is read.
        unsafe { read::<A>(first.offset(stage), places[0], i as u32, step) }
    };
    let read_b = |stage: u32, j: usize, step: u32| {
        // SAFETY: the tile of B has arrived with its stage; if there is no k, nothing is done with
        // what is read.
        unsafe { read::<B>(first.offset(stage + TILE), places[1], j as u32, step) }
    };
    let (mut a, mut b) = ([[0; 4]; 4], [[0; 4]; 2]);
    unrolled! { i in [0 1 2 3] {
        a[i] = read_a(0, i, 0);
    }}
    unrolled! { j in [0 1] {
        b[j] = read_b(0, j, 0);
    }}
    while left > 0 {
        unrolled! { step in [0 1 2 3] {
            let mut next_step = step as u32 + 1;
            if next_step == 4 {
                next_step = 0;
                async_copy::wait::<1>();
                thread::sync_threads();
                // After the last stage, which is followed by nothing that has arrived, it is read
                // once more.
                if left > DEPTH as i32 {
                    current = next(current);
                }
            }
            // Registers that are multiplied for the last time in this step are free for the next
            // step's.
            unrolled! { j in [0 1] {
                unrolled! { i in [0 1 2 3] {
                    let [b0, b1, b2, b3] = b[j];
                    I::multiply(&mut sums[i][2 * j], a[i], [b0, b1]);
                    I::multiply(&mut sums[i][2 * j + 1], a[i], [b2, b3]);
                    if j == 1 {
                        a[i] = read_a(current, i, next_step);
                    }
                }}
                b[j] = read_b(current, j, next_step);
            }}
            if step == 0 {
                // To the stage before this one: all have been at the barrier since they read from
                // there.
                load!(2);
            }
        }}
        left -= DEPTH as i32;
    }

    let target = Target::of_block(product);
    let (first_row, first_column) = (row + my_row + lane / 4, column + my_column + lane % 4 * 2);
    // SAFETY: this lane's own elements.
    unsafe {
        if target.is_plain(row, column, SIDE, SIDE, 2) {
            write::<true>(&target, first_row, first_column, &sums);
        } else {
            write::<false>(&target, first_row, first_column, &sums);
        }
    }
}

/// The stage behind that at `stage`, both as bytes from the first one.
#[inline(always)]
fn next(stage: u32) -> u32 {
    let next = stage + STAGE;
    if next == STAGES { 0 } else { next }
}

/// Writes a lane's sums, of which the first belongs to `row` and `column`.
///
/// # Safety
/// As of [`Target::write`].
#[inline(always)]
unsafe fn write<const PLAIN: bool>(
    target: &Target<f32>,
    row: u32,
    column: u32,
    sums: &[[[f32; 4]; 4]; 4],
) {
    unrolled! { i in [0 1 2 3] {
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
    ($(#[$doc:meta])* $table:ident: $kind:ty;
        $($name:ident: $a:ident $a_name:ident, $b:ident $b_name:ident;)*) => {
        $(
            /// A tile of C for each block.
            ///
            /// # Safety
            /// The launch is as [`Product`] says.
            #[kernel(max_block = 256, min_blocks = 2)]
            pub unsafe fn $name(product: Product<u16, f32>) {
                // SAFETY: by the contract of this function, the launch is as `Product` says.
                unsafe { multiply::<$kind, $a, $b>(&product) }
            }
        )*
        $(#[$doc])*
        #[cfg(not(target_arch = "nvptx64"))]
        pub static $table: &[Tile<u16, f32>] = &[$(Tile {
            kernel: Launch::Block(&$name),
            a: Pattern::$a_name,
            b: Pattern::$b_name,
            rows: SIDE,
            columns: SIDE,
            depth: DEPTH,
            threads: crate::swizzled::THREADS,
            shared_bytes: STAGES,
        }),*];
    };
}

kernels! {
    /// Tiles of f16.
    HALF_F16: F16;
    half_f16_along_along: PIECES_OF_K PiecesOfK, PIECES_OF_K PiecesOfK;
    half_f16_along_across: PIECES_OF_K PiecesOfK, PIECES_ACROSS PiecesAcross;
    half_f16_across_along: PIECES_ACROSS PiecesAcross, PIECES_OF_K PiecesOfK;
    half_f16_across_across: PIECES_ACROSS PiecesAcross, PIECES_ACROSS PiecesAcross;
}
kernels! {
    /// Tiles of bf16.
    HALF_BF16: Bf16;
    half_bf16_along_along: PIECES_OF_K PiecesOfK, PIECES_OF_K PiecesOfK;
    half_bf16_along_across: PIECES_OF_K PiecesOfK, PIECES_ACROSS PiecesAcross;
    half_bf16_across_along: PIECES_ACROSS PiecesAcross, PIECES_OF_K PiecesOfK;
    half_bf16_across_across: PIECES_ACROSS PiecesAcross, PIECES_ACROSS PiecesAcross;
}
