//! Products of f32 in tf32 by the matrix instructions of warp groups, where the k of one factor are
//! neighbours and those of the other are not.
//!
//! In tf32 the instructions read shared memory only along k. The left operand may also be in
//! registers, which a thread can read across k: so that factor becomes the left operand. If it is
//! B, the instructions compute the transposed tile, Cᵀ = Bᵀ·Aᵀ. CUTLASS swaps operands likewise.
//!
//! Blocks compute one tile of C after the other, by a [ring](crate::ring) of stages. Each of the two
//! warp groups that multiply has 64 outer indices of the factor in registers, the *left* one here,
//! and all of the tile's of the *right* one.

use cuda_std::prelude::*;
use cuda_std::shared::{SharedAddress, address, dynamic_shared_mem};
use cuda_std::tensor::{self, MapAddress, TensorMap};
use cuda_std::wgmma;
use cuda_std::{registers, tensor_map};

use crate::persistent::Persistent;
use crate::product::{Target, read};
#[cfg(not(target_arch = "nvptx64"))]
use crate::ring::THREADS;
use crate::ring::{self, Ring, Tiles};
use crate::swizzled::ROW_BYTES;
#[cfg(not(target_arch = "nvptx64"))]
use crate::tile::{Launch, Pattern, Tile};

/// Outer indices of the left factor in a tile.
const LEFT: u32 = 128;
/// k of a stage: 128 bytes.
const DEPTH: u32 = 32;
/// Bytes of a left tile: each row of 128 bytes has 32 outer indices of one k.
const LEFT_BYTES: u32 = LEFT / 32 * DEPTH * ROW_BYTES;

/// A thread's sums of 64 rows and as many columns as instructions take.
trait Multiply {
    /// As [`wgmma::Sums::hold`].
    fn hold(&mut self);

    /// Adds the product of 64×8 elements, of which a thread has `left` as in
    /// [`cuda_std::mma::m16n8k8_tf32`], its warp's 16 rows being those of the same number in the
    /// warp group, and the elements of k from 8·`step` on of the tile at `right`.
    ///
    /// # Safety
    /// As of [`wgmma::m64n256k8_tf32`].
    unsafe fn multiply(&mut self, left: [u32; 4], right: SharedAddress, step: u32);
}

/// Text of an asm template: the operands, separated by commas.
#[cfg(target_arch = "nvptx64")]
macro_rules! list {
    ($first:ident $($rest:ident)*) => {
        concat!("{", stringify!($first), "}", $(", {", stringify!($rest), "}",)*)
    };
}

macro_rules! multiply {
    ($length:literal $columns:literal: $($d:ident $index:literal)*) => {
        impl Multiply for [f32; $length] {
            #[inline(always)]
            fn hold(&mut self) {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: a comment does nothing.
                unsafe {
                    core::arch::asm!(
                        concat!("// ", list!($($d)*)),
                        $($d = inout(reg32) self[$index],)*
                        options(nomem, nostack),
                    );
                }
            }

            #[inline(always)]
            unsafe fn multiply(&mut self, left: [u32; 4], right: SharedAddress, step: u32) {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: by the contract of `Multiply::multiply`, the tile at `right` is
                // initialised shared memory, which no thread writes until the instruction has been
                // waited for.
                unsafe {
                    core::arch::asm!(
                        concat!(
                            "{{ .reg .pred %add; setp.ne.b32 %add, 1, 0; ",
                            "wgmma.mma_async.sync.aligned.m64n", $columns, "k8.f32.tf32.tf32 {{",
                            list!($($d)*), "}}, {{{a0}, {a1}, {a2}, {a3}}}, {right}, %add, 1, 1; }}"
                        ),
                        $($d = inout(reg32) self[$index],)*
                        a0 = in(reg32) left[0], a1 = in(reg32) left[1],
                        a2 = in(reg32) left[2], a3 = in(reg32) left[3],
                        right = in(reg64) wgmma::Operand::along_k(right, crate::swizzled::ATOM).offset(32 * step).bits(),
                    );
                }
                #[cfg(not(target_arch = "nvptx64"))]
                // SAFETY: by the contract of `Multiply::multiply`, the tile at `right` is
                // initialised shared memory, which no thread writes meanwhile.
                unsafe {
                    by_warps(self, left, right, step)
                };
            }
        }
    };
}
multiply! {
    64 "128":
        d0 0 d1 1 d2 2 d3 3 d4 4 d5 5 d6 6 d7 7 d8 8 d9 9 d10 10 d11 11 d12 12 d13 13 d14 14 d15 15
        d16 16 d17 17 d18 18 d19 19 d20 20 d21 21 d22 22 d23 23 d24 24 d25 25 d26 26 d27 27 d28 28
        d29 29 d30 30 d31 31 d32 32 d33 33 d34 34 d35 35 d36 36 d37 37 d38 38 d39 39 d40 40 d41 41
        d42 42 d43 43 d44 44 d45 45 d46 46 d47 47 d48 48 d49 49 d50 50 d51 51 d52 52 d53 53 d54 54
        d55 55 d56 56 d57 57 d58 58 d59 59 d60 60 d61 61 d62 62 d63 63
}
multiply! {
    128 "256":
        d0 0 d1 1 d2 2 d3 3 d4 4 d5 5 d6 6 d7 7 d8 8 d9 9 d10 10 d11 11 d12 12 d13 13 d14 14 d15 15
        d16 16 d17 17 d18 18 d19 19 d20 20 d21 21 d22 22 d23 23 d24 24 d25 25 d26 26 d27 27 d28 28
        d29 29 d30 30 d31 31 d32 32 d33 33 d34 34 d35 35 d36 36 d37 37 d38 38 d39 39 d40 40 d41 41
        d42 42 d43 43 d44 44 d45 45 d46 46 d47 47 d48 48 d49 49 d50 50 d51 51 d52 52 d53 53 d54 54
        d55 55 d56 56 d57 57 d58 58 d59 59 d60 60 d61 61 d62 62 d63 63 d64 64 d65 65 d66 66 d67 67
        d68 68 d69 69 d70 70 d71 71 d72 72 d73 73 d74 74 d75 75 d76 76 d77 77 d78 78 d79 79 d80 80
        d81 81 d82 82 d83 83 d84 84 d85 85 d86 86 d87 87 d88 88 d89 89 d90 90 d91 91 d92 92 d93 93
        d94 94 d95 95 d96 96 d97 97 d98 98 d99 99 d100 100 d101 101 d102 102 d103 103 d104 104
        d105 105 d106 106 d107 107 d108 108 d109 109 d110 110 d111 111 d112 112 d113 113 d114 114
        d115 115 d116 116 d117 117 d118 118 d119 119 d120 120 d121 121 d122 122 d123 123 d124 124
        d125 125 d126 126 d127 127
}

/// The same by the instructions of warps, at once. A warp's part is that of 16 rows.
///
/// # Safety
/// As of [`Multiply::multiply`].
#[cfg(not(target_arch = "nvptx64"))]
unsafe fn by_warps(sums: &mut [f32], left: [u32; 4], right: SharedAddress, step: u32) {
    let memory = dynamic_shared_mem::<u32>();
    let first = (right.bits() - address(memory).bits()) / 4;
    let lane = thread::thread_idx_x() % 32;
    let (group, within) = (lane / 4, lane % 4);
    for (j, of_columns) in sums.chunks_exact_mut(4).enumerate() {
        let row = first + (8 * j as u32 + group) * (ROW_BYTES / 4);
        // SAFETY: the caller keeps the contract of `Multiply::multiply`, which this function
        // shares.
        let b = [2 * step, 2 * step + 1].map(|piece| unsafe {
            memory
                .wrapping_add((row + (piece ^ group) * 4 + within) as usize)
                .read()
        });
        let mut four = [of_columns[0], of_columns[1], of_columns[2], of_columns[3]];
        cuda_std::mma::m16n8k8_tf32(&mut four, left, b);
        of_columns.copy_from_slice(&four);
    }
}

/// Bytes of a right tile, which the left one follows in a stage.
const fn right_bytes(right: u32) -> u32 {
    right * ROW_BYTES
}

const fn stage_bytes(right: u32) -> u32 {
    right_bytes(right) + LEFT_BYTES
}

/// The tiles of this block.
#[inline(always)]
fn tiles<const ROWS: u32, const COLUMNS: u32>(product: &Persistent<f32>) -> Tiles {
    // Tiles that are computed at the same time then cover about a square of C.
    Tiles::of(product, [ROWS, COLUMNS, DEPTH, 2048 / ROWS])
}

/// Copies the stages of all tiles of C that the block has: the work of one thread.
///
/// # Safety
/// The launch is as [`Persistent`] says, and the ring's barriers are initialised.
#[inline(always)]
unsafe fn copy<
    const RIGHT: u32,
    const STAGES: u32,
    const ROWS: u32,
    const COLUMNS: u32,
    const IS_TURNED: bool,
>(
    product: &Persistent<f32>,
    a: MapAddress,
    b: MapAddress,
) {
    a.prefetch();
    b.prefetch();
    let mut ring = Ring::<STAGES>::new(stage_bytes(RIGHT));
    let tiles = tiles::<ROWS, COLUMNS>(product);
    let mut tile = thread::block_idx_x();
    while tile < tiles.count {
        let place = tiles.place(product, tile);
        let of_a = (a, place.row, place.matrix * product.a_step);
        let of_b = (b, place.column, place.matrix * product.b_step);
        let (left, right) = if IS_TURNED {
            (of_b, of_a)
        } else {
            (of_a, of_b)
        };
        let mut stage = 0;
        while stage < place.stages {
            let k = (place.k + stage * DEPTH) as i32;
            let (full, empty) = (ring.full_of(ring.stage), ring.empty_of(ring.stage));
            // SAFETY: the phase before, of which the first one has no reads, is over when all have
            // read the stage. Copies of its bytes follow.
            unsafe {
                empty.wait(ring.parity ^ 1);
                full.arrive_and_expect(ring.bytes);
                let (map, outer, matrix) = right;
                tensor::load(ring.tiles(), map, [k, outer as i32, matrix as i32], full);
                let (map, outer, matrix) = left;
                let to = ring.tiles().offset(right_bytes(RIGHT));
                unrolled! { part in [0 1 2 3] {
                    let to = to.offset(part as u32 * DEPTH * ROW_BYTES);
                    let outer = outer as i32 + 32 * part as i32;
                    tensor::load(to, map, [outer, k, matrix as i32], full);
                }}
            }
            ring.advance();
            stage += 1;
        }
        tile += thread::grid_dim_x();
    }
}

/// The left operands of a stage: a thread's elements for each step of 8 k.
type Operands = [[u32; 4]; 4];

/// This thread's first outer index in the left tile. Rows g and g + 8 of a warp's instruction are
/// this index and the next one, which are read, and whose sums are written, together.
///
/// A row of shared memory has 32 outer indices of one k in eight pieces of 16 bytes, whose places
/// are exclusive or'ed with k. Half a warp reads at four k and two pieces: these differ by 4, so
/// that all are in different banks.
#[inline(always)]
fn my_left() -> u32 {
    let (warp, lane) = (thread::thread_idx_x() / 32 - 4, thread::thread_idx_x() % 32);
    let group = lane / 4;
    let piece = warp % 2 * 2 + group / 4 + group / 2 % 2 * 4;
    warp / 2 * 32 + piece * 4 + group % 2 * 2
}

/// Where in a left tile this thread's first element is, in bytes.
#[inline(always)]
fn place_of_left() -> u32 {
    let (left, k) = (my_left(), thread::thread_idx_x() % 4);
    let piece = left % 32 / 4;
    left / 32 * DEPTH * ROW_BYTES + k * ROW_BYTES + (piece ^ k) * 16 + left % 4 * 4
}

/// Reads the left operands, `place` bytes from the first dynamic shared memory on.
///
/// # Safety
/// The stage has arrived.
#[inline(always)]
unsafe fn read_left(place: u32) -> Operands {
    let memory = dynamic_shared_mem::<u32>();
    let mut operands = [[0; 4]; 4];
    unrolled! { step in [0 1 2 3] {
        // Four k further on, the piece has another place.
        let lower = place + step as u32 * 8 * ROW_BYTES;
        let upper = (place ^ 64) + (step as u32 * 8 + 4) * ROW_BYTES;
        // SAFETY: by the contract of this function, the stage has arrived; each pair begins at a
        // multiple of 8 bytes.
        unsafe {
            let [a, b]: [u32; 2] = read(memory.wrapping_byte_add(lower as usize));
            let [c, d]: [u32; 2] = read(memory.wrapping_byte_add(upper as usize));
            operands[step] = [a, b, c, d];
        }
    }}
    operands
}

/// Multiplies the stages of all tiles of C that the block has, and writes the sums: the work of two
/// warp groups.
///
/// # Safety
/// As of [`copy`].
#[inline(always)]
unsafe fn multiply<
    const RIGHT: u32,
    const SUMS: usize,
    const STAGES: u32,
    const ROWS: u32,
    const COLUMNS: u32,
    const IS_TURNED: bool,
>(
    product: &Persistent<f32>,
) where
    [f32; SUMS]: Multiply,
{
    let mut ring = Ring::<STAGES>::new(stage_bytes(RIGHT));
    let is_first_lane = thread::thread_idx_x().is_multiple_of(32);
    let place_of_left = right_bytes(RIGHT) + place_of_left();
    let tiles = tiles::<ROWS, COLUMNS>(product);
    let mut tile = thread::block_idx_x();
    while tile < tiles.count {
        let place = tiles.place(product, tile);
        let mut sums = [0.0f32; SUMS];
        let mut stage = 0;
        let mut before = STAGES;
        // A warp waits at an instruction with an operand in registers until it begins. So the
        // operands of the next stage are read between the instructions of this one.
        macro_rules! multiply {
            ($operands:ident, reading $next:ident) => {
                let (right, current) = (ring.tiles(), ring.stage);
                wgmma::fence();
                // SAFETY: the stage has arrived, and is copied to again only when these have been
                // waited for; so also below.
                unsafe {
                    sums.multiply($operands[0], right, 0);
                    sums.multiply($operands[1], right, 1);
                }
                // The instructions of the stage before, whose operands' registers are free then.
                wgmma::wait::<0>();
                if before < STAGES && is_first_lane {
                    // SAFETY: the barriers are initialised; so also below.
                    unsafe { ring.empty_of(before).arrive() };
                }
                before = current;
                ring.advance();
                stage += 1;
                if stage < place.stages {
                    // SAFETY: the stage has arrived after the wait.
                    unsafe {
                        ring.full_of(ring.stage).wait(ring.parity);
                        $next = read_left(ring.stage * ring.bytes + place_of_left);
                    }
                }
                // SAFETY: `right` is in the stage before `ring.stage` now. It is copied to again
                // only after this warp has arrived at `empty_of(current)`, which follows the wait
                // for these instructions.
                unsafe {
                    sums.multiply($operands[2], right, 2);
                    sums.multiply($operands[3], right, 3);
                }
                wgmma::commit();
            };
        }
        // SAFETY: the stage has arrived after the wait.
        let mut even = unsafe {
            ring.full_of(ring.stage).wait(ring.parity);
            read_left(ring.stage * ring.bytes + place_of_left)
        };
        // Two sets of operands: those of a stage must not change until its instructions are
        // finished.
        let mut odd = [[0; 4]; 4];
        while stage < place.stages {
            multiply!(even, reading odd);
            if stage == place.stages {
                break;
            }
            multiply!(odd, reading even);
        }
        wgmma::wait::<0>();
        sums.hold();
        let Persistent {
            c,
            m,
            n,
            alpha,
            beta,
            ..
        } = *product;
        let target = Target::of_matrix(c, place.result as usize, [m, n], alpha, beta);
        let (row, column) = (place.row, place.column);
        // SAFETY: a tile has a stage, since k is not 0, so `before` is one, whose barrier is
        // initialised; the instructions that read it have finished. C has the tile's elements,
        // which each lane has its own of.
        unsafe {
            if is_first_lane {
                ring.empty_of(before).arrive();
            }
            match target.is_plain(row, column, ROWS, COLUMNS, 2) {
                true => write::<SUMS, IS_TURNED, true>(&target, row, column, &sums),
                false => write::<SUMS, IS_TURNED, false>(&target, row, column, &sums),
            }
        }
        tile += thread::grid_dim_x();
    }
}

/// Writes a lane's sums of a tile that begins at `row` and `column`.
///
/// # Safety
/// As of [`Target::write`].
#[inline(always)]
unsafe fn write<const SUMS: usize, const IS_TURNED: bool, const PLAIN: bool>(
    target: &Target<f32>,
    row: u32,
    column: u32,
    sums: &[f32; SUMS],
) {
    let (my_left, my_right) = (my_left(), thread::thread_idx_x() % 4 * 2);
    unrolled! { j in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31] {
        if 4 * j < SUMS {
            let place = 4 * j % SUMS;
            let [a, b, c, d] = [sums[place], sums[place + 1], sums[place + 2], sums[place + 3]];
            // SAFETY: the caller keeps the contract of `Target::write`, which this function shares.
            unsafe {
                if IS_TURNED {
                    let row = row + my_right + 8 * j as u32;
                    target.write::<2, PLAIN>(row, column + my_left, 0, [a, c]);
                    target.write::<2, PLAIN>(row + 1, column + my_left, 0, [b, d]);
                } else {
                    let row = row + my_left;
                    target.write::<2, PLAIN>(row, column + my_right, 8 * j, [a, b]);
                    target.write::<2, PLAIN>(row + 1, column + my_right, 8 * j, [c, d]);
                }
            }
        }
    }}
}

/// The tiles of this block, of [`LEFT`]×`RIGHT` sums, with `STAGES` stages. If `IS_TURNED`, B is the
/// left factor.
///
/// # Safety
/// The launch is as [`Persistent`] says, with the shared memory of the [`Ring`].
#[inline(always)]
unsafe fn compute<
    const RIGHT: u32,
    const SUMS: usize,
    const STAGES: u32,
    const ROWS: u32,
    const COLUMNS: u32,
    const IS_TURNED: bool,
>(
    product: &Persistent<f32>,
    a: MapAddress,
    b: MapAddress,
) where
    [f32; SUMS]: Multiply,
{
    let thread = thread::thread_idx_x();
    // 168 registers for each of 384 threads become 40 for 128 and 232 for 256.
    // SAFETY: by the contract of this function, the launch is as `Persistent` says, with the shared
    // memory of the `Ring`; the barriers are initialised.
    // All threads of a warp group give away or take registers, once.
    unsafe {
        ring::start::<STAGES>(stage_bytes(RIGHT));
        if thread < 128 {
            registers::keep::<40>();
            if thread == 0 {
                copy::<RIGHT, STAGES, ROWS, COLUMNS, IS_TURNED>(product, a, b);
            }
        } else {
            registers::take::<232>();
            multiply::<RIGHT, SUMS, STAGES, ROWS, COLUMNS, IS_TURNED>(product);
        }
    }
}

macro_rules! kernels {
    ($(#[$doc:meta])* $table:ident: $right:literal x $sums:literal sums, $stages:literal stages;
        $across_along:ident $along_across:ident;) => {
        kernels! { @ $across_along, $right, $sums, $stages, LEFT, $right, false }
        kernels! { @ $along_across, $right, $sums, $stages, $right, LEFT, true }
        $(#[$doc])*
        #[cfg(not(target_arch = "nvptx64"))]
        pub static $table: &[Tile<f32, f32>] = &[
            Tile {
                kernel: Launch::Persistent { sums: &$across_along, rounded: None },
                a: Pattern::PiecesAcross,
                b: Pattern::PiecesOfK,
                rows: LEFT,
                columns: $right,
                depth: DEPTH,
                threads: THREADS,
                shared_bytes: Ring::<$stages>::shared_bytes(stage_bytes($right)),
            },
            Tile {
                kernel: Launch::Persistent { sums: &$along_across, rounded: None },
                a: Pattern::PiecesOfK,
                b: Pattern::PiecesAcross,
                rows: $right,
                columns: LEFT,
                depth: DEPTH,
                threads: THREADS,
                shared_bytes: Ring::<$stages>::shared_bytes(stage_bytes($right)),
            },
        ];
    };
    (@ $name:ident, $right:literal, $sums:literal, $stages:literal, $rows:expr, $columns:expr, $is_turned:literal) => {
        /// Tiles of C, one after the other for each block.
        ///
        /// # Safety
        /// The launch is as [`Persistent`] says.
        #[kernel(max_block = 384, min_blocks = 1)]
        pub unsafe fn $name(a: TensorMap, b: TensorMap, product: Persistent<f32>) {
            let (a, b) = (tensor_map!($name, 0, a), tensor_map!($name, 1, b));
            // SAFETY: by the contract of this function, the launch is as `Persistent` says.
            unsafe { compute::<$right, $sums, $stages, { $rows }, { $columns }, $is_turned>(&product, a, b) }
        }
    };
}

kernels! {
    /// Large tiles in tf32 with one factor across k.
    MIXED_TF32_LARGE: 256 x 128 sums, 4 stages;
    mixed_tf32_large_across_along mixed_tf32_large_along_across;
}
kernels! {
    /// Tiles in tf32 with one factor across k.
    MIXED_TF32: 128 x 64 sums, 6 stages;
    mixed_tf32_across_along mixed_tf32_along_across;
}
