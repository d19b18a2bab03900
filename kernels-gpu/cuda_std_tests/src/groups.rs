//! Matrix instructions of warp groups, for compute capability 9.0.

use cuda_std::prelude::*;
use cuda_std::shared;
use cuda_std::wgmma::{self, Operand, Sums};

/// Threads in a block of these kernels: two warp groups.
pub const BLOCK: u32 = 256;

/// Rows of A.
pub const ROWS: usize = 128;

/// Bytes of a row of A or column of B: two atoms.
pub const K_BYTES: usize = 256;

const ATOM: usize = 1024;

/// Writes a matrix of `count` rows of A or columns of B into shared memory, which begins at `to`.
///
/// Atoms whose k follow each other are neighbours: their others are apart by the atoms of all k.
///
/// # Safety
/// `matrix` has the elements of all k for each row or column; there is as much memory from `to` on,
/// which nobody else uses before the next barrier.
#[inline(always)]
unsafe fn place<T: Copy>(matrix: DeviceSlice<T>, count: usize, across: bool, to: *mut u8) {
    let size = size_of::<T>();
    let length = K_BYTES / size;
    let mut index = thread::thread_idx_x() as usize;
    while index < count * length {
        let (i, k) = (index / length, index % length);
        let byte = if across {
            (i / 64 * (length / 8) + k / 8) * ATOM + k % 8 * 128 + i % 64 * size
        } else {
            (i / 8 * 2 + k * size / 128) * ATOM + i % 8 * 128 + k * size % 128
        };
        let swizzled = byte ^ (byte / 128 % 8 * 16);
        // SAFETY: by the contract of this function, `matrix` has the elements of all k for each row
        // or column; there is as much memory from `to` on, which nobody else uses before the next
        // barrier; each element has a place of its own.
        unsafe { to.add(swizzled).cast::<T>().write(matrix.at(index)) };
        index += BLOCK as usize;
    }
}

/// The operand of the instruction number `step`, from row or column `first`, a multiple of 64, on.
#[inline(always)]
fn operand(matrix: *mut u8, first: usize, step: usize, across: bool, size: usize) -> Operand {
    let start = shared::address(matrix);
    let of_all_k = (K_BYTES / size / 8 * ATOM) as u32;
    if across {
        let first = start.offset(first as u32 / 64 * of_all_k);
        Operand::across_k(first, of_all_k, ATOM as u32).offset((2 * step * ATOM) as u32)
    } else {
        // Rows of two atoms.
        let first = start.offset((first / 8 * 2 * ATOM + step / 4 * ATOM) as u32);
        Operand::along_k(first, 2 * ATOM as u32).offset(step as u32 % 4 * 32)
    }
}

macro_rules! products {
    ($($kernel:ident $function:ident $numbers:ty, $columns:literal [$($high:literal)*], [$($across:literal)*] $a:literal $b:literal;)*) => {$(
        #[doc = concat!("D = A·B + D of [`", stringify!($function), "`](wgmma::", stringify!($function),
            "); A across k: ", stringify!($a), ", B across k: ", stringify!($b), ".")]
        ///
        /// # Safety
        /// `a` has `ROWS` rows of `K_BYTES` bytes, `b` as long columns, one after the other, and
        /// `d` a row for each of A; dynamic shared memory has room for `a` and `b`.
        #[kernel(block = 256)]
        pub unsafe fn $kernel(
            a: DeviceSlice<$numbers>,
            b: DeviceSlice<$numbers>,
            d: DeviceSliceMut<f32>,
        ) {
            let (index, group) = (thread::thread_idx_x() as usize, thread::thread_idx_x() as usize / 128);
            let size = size_of::<$numbers>();
            let of_a = shared::dynamic_shared_mem::<u8>();
            let (g, t) = (index % 32 / 4, index % 4);
            // SAFETY: the matrices lie behind each other; the barrier separates the writes from the
            // instructions, and each thread has its elements of D.
            unsafe {
                let of_b = of_a.add(ROWS * K_BYTES);
                place(a, ROWS, $a, of_a);
                place(b, $columns, $b, of_b);
                let first = (index / 32 * 16 + g) * $columns + 2 * t;
                let element = |i: usize| first + i / 4 * 8 + i / 2 % 2 * 8 * $columns + i % 2;
                let mut sums = [0.0; $columns / 2];
                unrolled! { high in [$($high)*] {
                    unrolled! { low in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] {
                        sums[16 * high + low] = d.at(element(16 * high + low));
                    }}
                }}
                wgmma::publish();
                thread::sync_threads();
                sums.hold();
                wgmma::fence();
                // Two groups of four.
                unrolled! { step in [0 1 2 3] {
                    let a = operand(of_a, 64 * group, step, $a, size);
                    wgmma::$function::<$($across),*>(&mut sums, a, operand(of_b, 0, step, $b, size));
                }}
                wgmma::commit();
                unrolled! { step in [4 5 6 7] {
                    let a = operand(of_a, 64 * group, step, $a, size);
                    wgmma::$function::<$($across),*>(&mut sums, a, operand(of_b, 0, step, $b, size));
                }}
                wgmma::commit();
                wgmma::wait::<1>();
                wgmma::wait::<0>();
                sums.hold();
                unrolled! { high in [$($high)*] {
                    unrolled! { low in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] {
                        d.set(element(16 * high + low), sums[16 * high + low]);
                    }}
                }}
            }
        }
    )*};
}

products! {
    wide_64_f16_rows_rows m64n64k16_f16 u16, 64 [0 1], [false false] false false;
    wide_64_bf16_across_across m64n64k16_bf16 u16, 64 [0 1], [true true] true true;
    wide_64_tf32 m64n64k8_tf32 u32, 64 [0 1], [] false false;
    wide_128_f16_rows_rows m64n128k16_f16 u16, 128 [0 1 2 3], [false false] false false;
    wide_128_f16_rows_across m64n128k16_f16 u16, 128 [0 1 2 3], [false true] false true;
    wide_128_f16_across_rows m64n128k16_f16 u16, 128 [0 1 2 3], [true false] true false;
    wide_128_f16_across_across m64n128k16_f16 u16, 128 [0 1 2 3], [true true] true true;
    wide_128_bf16_rows_rows m64n128k16_bf16 u16, 128 [0 1 2 3], [false false] false false;
    wide_128_bf16_across_across m64n128k16_bf16 u16, 128 [0 1 2 3], [true true] true true;
    wide_128_tf32 m64n128k8_tf32 u32, 128 [0 1 2 3], [] false false;
    wide_256_f16_rows_rows m64n256k16_f16 u16, 256 [0 1 2 3 4 5 6 7], [false false] false false;
    wide_256_f16_across_across m64n256k16_f16 u16, 256 [0 1 2 3 4 5 6 7], [true true] true true;
    wide_256_bf16_rows_rows m64n256k16_bf16 u16, 256 [0 1 2 3 4 5 6 7], [false false] false false;
    wide_256_bf16_rows_across m64n256k16_bf16 u16, 256 [0 1 2 3 4 5 6 7], [false true] false true;
    wide_256_bf16_across_rows m64n256k16_bf16 u16, 256 [0 1 2 3 4 5 6 7], [true false] true false;
    wide_256_bf16_across_across m64n256k16_bf16 u16, 256 [0 1 2 3 4 5 6 7], [true true] true true;
    wide_256_tf32 m64n256k8_tf32 u32, 256 [0 1 2 3 4 5 6 7], [] false false;
}
