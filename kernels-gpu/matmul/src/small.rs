//! Products of small matrices, and of batches of them, by the matrix instructions of warps: f16,
//! bf16, and f32 in tf32.
//!
//! A tile has 64×64 sums, so that little is computed in vain where matrices are no larger. It asks
//! for few registers and little shared memory: several blocks fit in a multiprocessor, and while
//! one waits for its first elements or writes its sums, others multiply. A warp has 32×16 sums; for
//! 32 bytes of k it reads two fragments of A and one of B, each of 16 outer indices.

use cuda_std::prelude::*;
use cuda_std::shared::{SharedAddress, address, dynamic_shared_mem};
use cuda_std::{async_copy, mma, narrow};

use crate::cast::{f32_of_bf16, f32_of_f16};
use crate::grid::first_element;
use crate::loader;
use crate::product::{Factor, Product, Sum, Target};
use crate::stages::part_of_k;
use crate::swizzled::{ATOM, ROW_BYTES, THREADS};
#[cfg(not(target_arch = "nvptx64"))]
use crate::tile::{Launch, Pattern, Tile};
use crate::tile::{PIECES_ACROSS, PIECES_OF_K};

/// Rows, and columns, of a block's tile.
const SIDE: u32 = 64;
/// Stages, of which all but one are on their way.
const STAGES: u32 = 3;

/// The tiles of a factor: how they are loaded, and read as fragments of 16 outer indices and 32
/// bytes of k.
trait Tiles<T> {
    /// Bytes of a tile.
    const BYTES: u32;

    /// For tiles from outer index `first`, of `extent` in all, and from `k` on.
    fn new(factor: &Factor<T>, first: u32, extent: u32, k: u32) -> Self;

    /// Starts the copies of the next tile, of which the first `k_left` k are there.
    ///
    /// # Safety
    /// As of [`crate::swizzled::Loader::load`].
    unsafe fn load(&mut self, tile: SharedAddress, k_left: u32);

    /// Where in a tile this lane reads its part of the fragments from outer index `outer` on, a
    /// multiple of 16.
    fn place(outer: u32) -> u32;

    /// This lane's words of fragment `number` from `place` on, in step `step` of k, as
    /// [`mma::m16n8k16_f16`] takes those of A.
    ///
    /// # Safety
    /// The tile that begins `tile` bytes behind the first dynamic shared memory has arrived.
    /// `number` is 0 unless the place's outer index is a multiple of 32.
    unsafe fn read(tile: u32, place: u32, number: u32, step: u32) -> [u32; 4];
}

/// Tiles of rows along k, or of 16-bit numbers across k, which instructions read whole.
struct Swizzled<T, const PATTERN: u32>(crate::swizzled::Loader<T, SIDE, PATTERN>);

impl<T: Copy, const PATTERN: u32> Tiles<T> for Swizzled<T, PATTERN> {
    const BYTES: u32 = crate::swizzled::Loader::<T, SIDE, PATTERN>::BYTES;

    #[inline(always)]
    fn new(factor: &Factor<T>, first: u32, extent: u32, k: u32) -> Self {
        const { assert!(PATTERN == PIECES_OF_K || size_of::<T>() == 2) };
        // The stride is 1 here; writing it as a constant saves registers.
        let factor = match PATTERN {
            PIECES_OF_K => Factor {
                stride_k: 1,
                ..*factor
            },
            _ => Factor {
                stride: 1,
                ..*factor
            },
        };
        Swizzled(crate::swizzled::Loader::new(&factor, first, extent, k))
    }

    #[inline(always)]
    unsafe fn load(&mut self, tile: SharedAddress, k_left: u32) {
        // SAFETY: `Tiles::load` has the contract of this loader. That the tile is whole is not
        // claimed.
        unsafe { self.0.load(tile, k_left, false) }
    }

    #[inline(always)]
    fn place(outer: u32) -> u32 {
        let lane = thread::thread_idx_x() % 32;
        // The lane's row of 16 bytes: of the lower or upper 8 outer indices, and of the lower or
        // upper half of k.
        let (row, half, half_k) = (lane % 8, lane / 8 % 2, lane / 16);
        match PATTERN {
            PIECES_OF_K => (outer + 8 * half + row) * ROW_BYTES + (half_k ^ row) * 16,
            _ => half_k * ATOM + row * ROW_BYTES + ((outer / 8 + half) ^ row) * 16,
        }
    }

    #[inline(always)]
    unsafe fn read(tile: u32, place: u32, number: u32, step: u32) -> [u32; 4] {
        let first = address(dynamic_shared_mem::<u128>()).offset(tile);
        // Steps within a row flip upper bits of the 16-byte index by exclusive or; steps to the
        // next atom are added.
        let (within, beyond) = match PATTERN {
            PIECES_OF_K => (step, number),
            _ => (number, step),
        };
        let row = first
            .offset(place ^ (within * 32))
            .offset(beyond * 2 * ATOM);
        // SAFETY: by the contract of `Tiles::read`, the tile has arrived. The lane's row of 16
        // bytes lies in it: `place` is that of an outer index below `SIDE`, and `step` is one of
        // four.
        unsafe {
            match PATTERN {
                PIECES_OF_K => mma::load_tiles::<false>(row),
                _ => mma::load_tiles::<true>(row),
            }
        }
    }
}

/// Elements behind each row of a tile of f32 across k: with these, the lanes of a fragment, of four
/// k and eight outer indices, use different banks.
const PAD: u32 = 8;
/// Tiles of f32 whose rows run across k, which are read element by element.
type Padded = loader::Loader<f32, SIDE, 32, THREADS, PIECES_ACROSS, PAD>;

impl Tiles<f32> for Padded {
    const BYTES: u32 = Padded::BYTES;

    #[inline(always)]
    fn new(factor: &Factor<f32>, first: u32, extent: u32, k: u32) -> Self {
        Padded::new(factor, first, extent, k)
    }

    #[inline(always)]
    unsafe fn load(&mut self, tile: SharedAddress, k_left: u32) {
        // SAFETY: `Tiles::load` has the contract of this loader.
        unsafe { Padded::load(self, tile, k_left) }
    }

    #[inline(always)]
    fn place(outer: u32) -> u32 {
        let lane = thread::thread_idx_x() % 32;
        lane % 4 * Padded::STRIDE_K + outer + lane / 4
    }

    #[inline(always)]
    unsafe fn read(tile: u32, place: u32, number: u32, step: u32) -> [u32; 4] {
        let first = 16 * number + 8 * step * Padded::STRIDE_K;
        let from = dynamic_shared_mem::<u32>().wrapping_add((tile / 4 + place + first) as usize);
        let k = 4 * Padded::STRIDE_K as usize;
        // SAFETY: by the contract of `Tiles::read`, the tile has arrived. Its rows `8 * step` and
        // up have the lane's k and that 4 further on, and elements of the lane's outer index and
        // that 8 further on.
        unsafe {
            [
                from.read(),
                from.wrapping_add(8).read(),
                from.wrapping_add(k).read(),
                from.wrapping_add(k + 8).read(),
            ]
        }
    }
}

/// The instruction for 16×8 sums and 32 bytes of k.
trait Multiply {
    /// Adds the product to the sums.
    fn multiply(sums: &mut [f32; 4], a: [u32; 4], b: [u32; 2]);
}

/// f16.
struct F16;
/// bf16.
struct Bf16;
/// f32 in tf32.
struct Tf32;

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

impl Multiply for Tf32 {
    #[inline(always)]
    fn multiply(sums: &mut [f32; 4], a: [u32; 4], b: [u32; 2]) {
        mma::m16n8k8_tf32(sums, a, b);
    }
}

/// The tile of this block.
///
/// # Safety
/// The launch is as [`Product`] says, with [`STAGES`] stages of dynamic shared memory.
#[inline(always)]
unsafe fn multiply<T: Copy, C: Copy, I: Write<T, C>, A: Tiles<T>, B: Tiles<T>>(
    product: &Product<T, f32, C>,
) {
    let depth = ROW_BYTES / size_of::<T>() as u32;
    let stage_bytes = A::BYTES + B::BYTES;
    let (row, column) = first_element(product.m, product.n, SIDE, SIDE);
    let (k, count) = part_of_k(product);
    let mut load_a = A::new(&product.a, row, product.m, k);
    let mut load_b = B::new(&product.b, column, product.n, k);
    let first = address(dynamic_shared_mem::<u128>());

    let mut to_load = count as i32;
    let (mut free, mut current) = (0, 0);
    macro_rules! load {
        () => {
            if to_load > 0 {
                let to = first.offset(free);
                // SAFETY: a stage that no thread uses. The factors are those of the `Product`,
                // which has `to_load` k from here on.
                unsafe {
                    load_a.load(to, to_load as u32);
                    load_b.load(to.offset(A::BYTES), to_load as u32);
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
    load!();
    load!();

    let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
    let (my_row, my_column) = (warp / 4 * 32, warp % 4 * 16);
    let (place_a, place_b) = (A::place(my_row), B::place(my_column));
    let mut sums = [[[0.0; 4]; 2]; 2];
    let mut left = count as i32;
    while left > 0 {
        async_copy::wait::<1>();
        thread::sync_threads();
        // To the stage before this one: all have been at the barrier since they read from there.
        load!();
        unrolled! { step in [0 1 2 3] {
            // SAFETY: the stage has arrived.
            let (a, b) = unsafe {
                let a = [0, 1].map(|i| A::read(current, place_a, i, step as u32));
                (a, B::read(current + A::BYTES, place_b, 0, step as u32))
            };
            unrolled! { i in [0 1] {
                unrolled! { j in [0 1] {
                    I::multiply(&mut sums[i][j], a[i], [b[j], b[j + 2]]);
                }}
            }}
        }}
        current += stage_bytes;
        if current == STAGES * stage_bytes {
            current = 0;
        }
        left -= depth as i32;
    }

    let (first_row, first_column) = (row + my_row + lane / 4, column + my_column + lane % 4 * 2);
    let is_whole = product.m - row >= SIDE && product.n - column >= SIDE;
    // SAFETY: this lane's own elements.
    unsafe { I::write(product, is_whole, first_row, first_column, &sums) }
}

/// A lane's sums: of rows 16·i and 16·i + 8, and columns 8·j and 8·j + 1, from its first ones on.
type LaneSums = [[[f32; 4]; 2]; 2];

/// How sums become elements of C.
trait Write<T, C>: Multiply {
    /// Writes a lane's sums, of which the first belongs to `row` and `column`, an even number, of a
    /// tile that may lie in C as a whole.
    ///
    /// # Safety
    /// No other thread writes these elements.
    unsafe fn write(
        product: &Product<T, f32, C>,
        is_whole: bool,
        row: u32,
        column: u32,
        sums: &LaneSums,
    );
}

impl<T: Copy, I: Multiply> Write<T, f32> for I {
    #[inline(always)]
    unsafe fn write(
        product: &Product<T, f32>,
        is_whole: bool,
        row: u32,
        column: u32,
        sums: &LaneSums,
    ) {
        let target = Target::of_block(product);
        // SAFETY: by the contract of `Write::write`, no other thread writes these elements. `PLAIN`
        // stands for what `Target::is_plain` asks: a tile that lies in C as a whole, beta 0, and an
        // even n.
        unsafe {
            if is_whole && product.beta == 0.0 && product.n.is_multiple_of(2) {
                write_sums::<true>(&target, row, column, sums);
            } else {
                write_sums::<false>(&target, row, column, sums);
            }
        }
    }
}

/// # Safety
/// As of [`Target::write`].
#[inline(always)]
unsafe fn write_sums<const PLAIN: bool>(
    target: &Target<f32>,
    row: u32,
    column: u32,
    sums: &LaneSums,
) {
    unrolled! { i in [0 1] {
        unrolled! { j in [0 1] {
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

macro_rules! rounded {
    ($($kind:ty: $pair:ident $wide:ident;)*) => {$(
        impl Write<u16, u16> for $kind {
            #[inline(always)]
            unsafe fn write(
                product: &Product<u16, f32, u16>,
                is_whole: bool,
                row: u32,
                column: u32,
                sums: &LaneSums,
            ) {
                // SAFETY: `write_rounded` has the contract of `Write::write`: no other thread
                // writes these elements.
                unsafe { write_rounded(product, is_whole, row, column, sums, narrow::$pair, $wide) }
            }
        }
    )*};
}
rounded! {
    F16: f16_pair f32_of_f16;
    Bf16: bf16_pair f32_of_bf16;
}

/// Rounds and writes: both columns at once if they are there and C is not read.
///
/// # Safety
/// As of [`Write::write`].
#[inline(always)]
unsafe fn write_rounded(
    product: &Product<u16, f32, u16>,
    is_whole: bool,
    row: u32,
    column: u32,
    sums: &LaneSums,
    round: impl Fn(f32, f32) -> u32,
    wide: impl Fn(u16) -> u32,
) {
    let Product {
        c,
        m,
        n,
        alpha,
        beta,
        ..
    } = *product;
    // Rows then begin at even elements.
    let in_pairs = beta == 0.0 && n.is_multiple_of(2);
    let first = (thread::block_idx_z() as usize * m as usize + row as usize) * n as usize;
    unrolled! { half in [0 1 2 3] {
        unrolled! { j in [0 1] {
            let (row, column) = (row + 8 * half as u32, column + 8 * j as u32);
            let place = first + 8 * half * n as usize + column as usize;
            let [of_first, of_second] = [2 * (half % 2), 2 * (half % 2) + 1]
                .map(|element| alpha * sums[half / 2][j][element]);
            // SAFETY: the caller keeps the contract of `Write::write`, which this function shares.
            unsafe {
                if in_pairs {
                    if is_whole || row < m && column < n {
                        c.address(place).cast::<u32>().write(round(of_first, of_second));
                    }
                } else if row < m {
                    let add = |place: usize, product: f32| match beta {
                        0.0 => product,
                        _ => f32::multiply_add(beta, f32::from_bits(wide(c.at(place))), product),
                    };
                    if column < n {
                        c.set(place, round(add(place, of_first), 0.0) as u16);
                    }
                    if column + 1 < n {
                        c.set(place + 1, round(add(place + 1, of_second), 0.0) as u16);
                    }
                }
            }
        }}
    }}
}

macro_rules! kernels {
    ($(#[$doc:meta])* $table:ident: $type:ty as $kind:ty, along: $along:ty, across: $across:ty;
        $($name:ident $($rounded:ident)?: $a:ident $a_name:ident, $b:ident $b_name:ident;)*) => {
        $(
            kernels! { @kernel $name: $type as $kind, f32, kernels!(@$a $along, $across), kernels!(@$b $along, $across) }
            $(kernels! { @kernel $rounded: $type as $kind, u16, kernels!(@$a $along, $across), kernels!(@$b $along, $across) })?
        )*
        $(#[$doc])*
        #[cfg(not(target_arch = "nvptx64"))]
        pub static $table: &[Tile<$type, f32>] = &[$(Tile {
            kernel: kernels!(@launch $name $($rounded)?),
            a: Pattern::$a_name,
            b: Pattern::$b_name,
            rows: SIDE,
            columns: SIDE,
            depth: ROW_BYTES / size_of::<$type>() as u32,
            threads: THREADS,
            shared_bytes: STAGES
                * (<kernels!(@$a $along, $across) as Tiles<$type>>::BYTES
                    + <kernels!(@$b $along, $across) as Tiles<$type>>::BYTES),
        }),*];
    };
    (@PIECES_OF_K $along:ty, $across:ty) => { $along };
    (@PIECES_ACROSS $along:ty, $across:ty) => { $across };
    (@launch $name:ident) => { Launch::Block(&$name) };
    (@launch $name:ident $rounded:ident) => { Launch::Rounding { sums: &$name, rounded: &$rounded } };
    (@kernel $name:ident: $type:ty as $kind:ty, $c:ty, $a:ty, $b:ty) => {
        /// A tile of C for each block.
        ///
        /// # Safety
        /// The launch is as [`Product`] says.
        #[kernel(max_block = 256, min_blocks = 4)]
        pub unsafe fn $name(product: Product<$type, f32, $c>) {
            // SAFETY: by the contract of this function, the launch is as `Product` says.
            unsafe { multiply::<$type, $c, $kind, $a, $b>(&product) }
        }
    };
}

kernels! {
    /// Small tiles of f16.
    SMALL_F16: u16 as F16, along: Swizzled<u16, PIECES_OF_K>, across: Swizzled<u16, PIECES_ACROSS>;
    small_f16_along_along small_f16_along_along_rounded: PIECES_OF_K PiecesOfK, PIECES_OF_K PiecesOfK;
    small_f16_along_across small_f16_along_across_rounded: PIECES_OF_K PiecesOfK, PIECES_ACROSS PiecesAcross;
    small_f16_across_along small_f16_across_along_rounded: PIECES_ACROSS PiecesAcross, PIECES_OF_K PiecesOfK;
    small_f16_across_across small_f16_across_across_rounded: PIECES_ACROSS PiecesAcross, PIECES_ACROSS PiecesAcross;
}
kernels! {
    /// Small tiles of bf16.
    SMALL_BF16: u16 as Bf16, along: Swizzled<u16, PIECES_OF_K>, across: Swizzled<u16, PIECES_ACROSS>;
    small_bf16_along_along small_bf16_along_along_rounded: PIECES_OF_K PiecesOfK, PIECES_OF_K PiecesOfK;
    small_bf16_along_across small_bf16_along_across_rounded: PIECES_OF_K PiecesOfK, PIECES_ACROSS PiecesAcross;
    small_bf16_across_along small_bf16_across_along_rounded: PIECES_ACROSS PiecesAcross, PIECES_OF_K PiecesOfK;
    small_bf16_across_across small_bf16_across_across_rounded: PIECES_ACROSS PiecesAcross, PIECES_ACROSS PiecesAcross;
}
kernels! {
    /// Small tiles of f32 in tf32.
    SMALL_TF32: f32 as Tf32, along: Swizzled<f32, PIECES_OF_K>, across: Padded;
    small_tf32_along_along: PIECES_OF_K PiecesOfK, PIECES_OF_K PiecesOfK;
    small_tf32_along_across: PIECES_OF_K PiecesOfK, PIECES_ACROSS PiecesAcross;
    small_tf32_across_along: PIECES_ACROSS PiecesAcross, PIECES_OF_K PiecesOfK;
    small_tf32_across_across: PIECES_ACROSS PiecesAcross, PIECES_ACROSS PiecesAcross;
}
