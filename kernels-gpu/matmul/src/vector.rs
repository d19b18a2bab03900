//! Products of a matrix and a vector, of a matrix whose k are neighbours.
//!
//! What takes time is to read the matrix, once, so all here serves to have many bytes of it on
//! their way at any time. With one column the sums need few registers: a thread reads 16 bytes of
//! four places of k in four rows, 256 bytes together, before it multiplies the first, and two
//! blocks fill a multiprocessor: 128 KB. Blocks end soon, after few rows, and the GPU starts the
//! next one where one has ended, so that no multiprocessor is idle while others read, as with
//! blocks that each have their share of all rows.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WarpValue, shuffle_xor};

use crate::product::{Sum, read};
use crate::skinny::{Skinny, part_of_k, write_sum};

/// Threads of a block.
pub const VECTOR_THREADS: u32 = 256;
const WARPS: u32 = VECTOR_THREADS / 32;

/// Rows of a block, all of which a thread sums: each piece of the vector is read once for all
/// of them.
pub const VECTOR_ROWS: u32 = 4;
/// Pieces of 16 bytes that a thread reads of each row before it multiplies.
const PIECES: u32 = 4;

/// The rows of this block, which all its threads share.
///
/// # Safety
/// The launch is as [`Skinny`] says, of [`VECTOR_THREADS`] threads and with a block in the x
/// direction for each [`VECTOR_ROWS`]; `of_warps` is shared memory for the sums of all warps.
#[inline(always)]
unsafe fn rows<T: Sum + WarpValue, const VECTOR: usize>(product: &Skinny<T>, of_warps: *mut T) {
    let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
    let row = thread::block_idx_x() * VECTOR_ROWS;
    let thin = &product.thin;
    let first = thin.start + i64::from(thread::block_idx_z()) * thin.stride_batch;
    let first = first + i64::from(part_of_k(product).0) * thin.stride_k;
    // SAFETY: by the contract of this function, the launch is as `Skinny` says, of `VECTOR_THREADS`
    // threads and with a block in the x direction for each `VECTOR_ROWS`; `of_warps` is shared
    // memory for the sums of all warps.
    let mut sums = unsafe {
        if thin.stride_k == 1 && first % VECTOR as i64 == 0 {
            sums::<T, VECTOR, true>(product, row)
        } else {
            sums::<T, VECTOR, false>(product, row)
        }
    };
    unrolled! { i in [0 1 2 3] {
        unrolled! { level in [0 1 2 3 4] {
            sums[i] = sums[i] + shuffle_xor(FULL_MASK, sums[i], 16 >> level);
        }}
        if lane == 0 {
            // SAFETY: the warp's own place.
            unsafe { of_warps.add((warp * VECTOR_ROWS) as usize + i).write(sums[i]) };
        }
    }}
    thread::sync_threads();
    let mine = thread::thread_idx_x();
    if mine < VECTOR_ROWS {
        let from = of_warps.wrapping_add(mine as usize);
        let mut sum = T::ZERO;
        unrolled! { warp in [0 1 2 3 4 5 6 7] {
            // SAFETY: written before the barrier.
            sum = sum + unsafe { from.wrapping_add(warp * VECTOR_ROWS as usize).read() };
        }}
        // SAFETY: one thread has the row.
        unsafe { write_sum(product, row + mine, 0, sum) };
    }
}

/// A thread's sums of the rows from `row` on. The vector is read in pieces of 16 bytes if they are
/// `NEAR`, or element by element.
///
/// # Safety
/// As of [`rows`].
#[inline(always)]
unsafe fn sums<T: Sum, const VECTOR: usize, const NEAR: bool>(
    product: &Skinny<T>,
    row: u32,
) -> [T; VECTOR_ROWS as usize] {
    let (tall, thin) = (&product.tall, &product.thin);
    let (k_first, k_count) = part_of_k(product);
    let (matrix, k_first) = (i64::from(thread::block_idx_z()), i64::from(k_first));
    // Rows that are not there repeat the last one, whose sum is the same.
    let mut starts = [0; VECTOR_ROWS as usize];
    unrolled! { i in [0 1 2 3] {
        let row = i64::from((row + i as u32).min(product.rows - 1));
        starts[i] = tall.start + matrix * tall.stride_batch + row * tall.stride + k_first;
    }}
    let start = thin.start + matrix * thin.stride_batch + k_first * thin.stride_k;
    let of_row = |i: usize, k: u32| (starts[i] + i64::from(k)) as usize;
    let of_vector = |k: u32| (start + i64::from(k) * thin.stride_k) as usize;
    let read_row = |i: usize, k: u32| -> [T; VECTOR] {
        // SAFETY: all k of a piece are there; starts and strides are multiples of 16 bytes.
        unsafe {
            tall.elements.address(of_row(i, k) + VECTOR - 1);
            read(tall.elements.address(of_row(i, k)))
        }
    };
    let read_vector = |k: u32| -> [T; VECTOR] {
        let mut values = [T::ZERO; VECTOR];
        // SAFETY: all k of a piece are there. If they are `NEAR`, the caller has compared that they
        // are neighbours and that the first is at a multiple of 16 bytes, `k` being a multiple of
        // `VECTOR`; else they are read one by one.
        unsafe {
            if NEAR {
                thin.elements.address(of_vector(k) + VECTOR - 1);
                return read(thin.elements.address(of_vector(k)));
            }
            unrolled! { element in [0 1 2 3] {
                if element < VECTOR {
                    values[element % VECTOR] = thin.elements.at(of_vector(k + element as u32));
                }
            }}
        }
        values
    };
    let mut sums = [T::ZERO; VECTOR_ROWS as usize];
    let whole = k_count / VECTOR as u32;
    let mut piece = thread::thread_idx_x();
    while piece + (PIECES - 1) * VECTOR_THREADS < whole {
        let k = |at: usize| (piece + at as u32 * VECTOR_THREADS) * VECTOR as u32;
        let mut values = [[[T::ZERO; VECTOR]; VECTOR_ROWS as usize]; PIECES as usize];
        unrolled! { at in [0 1 2 3] {
            unrolled! { i in [0 1 2 3] {
                values[at][i] = read_row(i, k(at));
            }}
        }}
        unrolled! { at in [0 1 2 3] {
            let of_vector = read_vector(k(at));
            unrolled! { i in [0 1 2 3] {
                unrolled! { element in [0 1 2 3] {
                    if element < VECTOR {
                        let element = element % VECTOR;
                        sums[i] = T::multiply_add(values[at][i][element], of_vector[element], sums[i]);
                    }
                }}
            }}
        }}
        piece += PIECES * VECTOR_THREADS;
    }
    while piece < whole {
        let k = piece * VECTOR as u32;
        let of_vector = read_vector(k);
        unrolled! { i in [0 1 2 3] {
            let values = read_row(i, k);
            unrolled! { element in [0 1 2 3] {
                if element < VECTOR {
                    let element = element % VECTOR;
                    sums[i] = T::multiply_add(values[element], of_vector[element], sums[i]);
                }
            }}
        }}
        piece += VECTOR_THREADS;
    }
    // The last k, which fill no piece.
    let k = whole * VECTOR as u32 + thread::thread_idx_x();
    if k < k_count {
        unrolled! { i in [0 1 2 3] {
            // SAFETY: they are there.
            unsafe {
                let (value, of_vector) = (tall.elements.at(of_row(i, k)), thin.elements.at(of_vector(k)));
                sums[i] = T::multiply_add(value, of_vector, sums[i]);
            }
        }}
    }
    sums
}

macro_rules! kernels {
    ($($name:ident: $type:ty, $vector:literal;)*) => {$(
        /// The product of a matrix and a vector, of a matrix whose k are neighbours.
        ///
        /// # Safety
        /// The launch is as [`Skinny`] says, of [`VECTOR_THREADS`] threads and with a block in the x
        /// direction for each [`VECTOR_ROWS`], without dynamic shared memory.
        #[kernel(max_block = 256, min_blocks = 2)]
        pub unsafe fn $name(product: Skinny<$type>) {
            let of_warps = shared_array![$type; (WARPS * VECTOR_ROWS) as usize];
            // SAFETY: by the contract of this function, the launch is as `Skinny` says, of
            // `VECTOR_THREADS` threads and with a block in the x direction for each `VECTOR_ROWS`,
            // without dynamic shared memory.
            unsafe { rows::<$type, $vector>(&product, of_warps) }
        }
    )*};
}
kernels! {
    vector_f32_along: f32, 4;
    vector_f64_along: f64, 2;
}
