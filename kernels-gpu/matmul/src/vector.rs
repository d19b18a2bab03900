//! Products of a matrix and a vector.
//!
//! What takes time is to read the matrix, once, so all here serves to have many bytes of it on
//! their way at any time. With one column the sums need few registers: a thread reads 256 bytes of
//! the matrix before it multiplies the first, and two blocks fill a multiprocessor: 128 KB. Blocks
//! end soon, after few rows, and the GPU starts the next one where one has ended, so that no
//! multiprocessor is idle while others read, as with blocks that each have their share of all rows.
//!
//! There are two forms:
//! - *along*: the matrix's k are neighbours. A thread reads 16 bytes of four places of k in four
//!   rows, and the sums of a block's threads are added up.
//! - *across*: its rows are neighbours. A thread reads 16 bytes of 16 k, and has the whole sums of
//!   these rows, so that threads need nothing from each other. A block reads 4 KB of each k.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WarpValue, shuffle_xor};

use crate::product::{Sum, read};
use crate::skinny::{Skinny, part_of_k, write_sum};

/// Threads of a block.
pub const VECTOR_THREADS: u32 = 256;
const WARPS: u32 = VECTOR_THREADS / 32;

/// Rows of a block *along*, all of which a thread sums: each piece of the vector is read once for
/// all of them.
const ROWS_ALONG: u32 = 4;
/// Pieces of 16 bytes that a thread *along* reads of each row before it multiplies.
const PIECES: u32 = 4;
/// The k of which a thread *across* reads its rows before it multiplies.
const K_AT_ONCE: u32 = 16;

/// Rows of a block, for elements of `size` bytes.
pub const fn vector_rows(is_across: bool, size: u32) -> u32 {
    if is_across {
        VECTOR_THREADS * 16 / size
    } else {
        ROWS_ALONG
    }
}

/// The rows of this block, which all its threads share.
///
/// # Safety
/// The launch is as [`Skinny`] says, of [`VECTOR_THREADS`] threads and with a block in the x
/// direction for each [`ROWS_ALONG`]; `of_warps` is shared memory for the sums of all warps.
#[inline(always)]
unsafe fn along<T: Sum + WarpValue, const VECTOR: usize>(product: &Skinny<T>, of_warps: *mut T) {
    let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
    let row = thread::block_idx_x() * ROWS_ALONG;
    let thin = &product.thin;
    let first = thin.start + i64::from(thread::block_idx_z()) * thin.stride_batch;
    let first = first + i64::from(part_of_k(product).0) * thin.stride_k;
    // SAFETY: by the contract of this function, the launch is as `Skinny` says, of `VECTOR_THREADS`
    // threads and with a block in the x direction for each `ROWS_ALONG`; `of_warps` is shared memory
    // for the sums of all warps.
    let mut sums = unsafe {
        if thin.stride_k == 1 && first % VECTOR as i64 == 0 {
            sums_along::<T, VECTOR, true>(product, row)
        } else {
            sums_along::<T, VECTOR, false>(product, row)
        }
    };
    unrolled! { i in [0 1 2 3] {
        unrolled! { level in [0 1 2 3 4] {
            sums[i] = sums[i] + shuffle_xor(FULL_MASK, sums[i], 16 >> level);
        }}
        if lane == 0 {
            // SAFETY: the warp's own place.
            unsafe { of_warps.add((warp * ROWS_ALONG) as usize + i).write(sums[i]) };
        }
    }}
    thread::sync_threads();
    let mine = thread::thread_idx_x();
    if mine < ROWS_ALONG {
        let from = of_warps.wrapping_add(mine as usize);
        let mut sum = T::ZERO;
        unrolled! { warp in [0 1 2 3 4 5 6 7] {
            // SAFETY: written before the barrier.
            sum = sum + unsafe { from.wrapping_add(warp * ROWS_ALONG as usize).read() };
        }}
        // SAFETY: one thread has the row.
        unsafe { write_sum(product, row + mine, 0, sum) };
    }
}

/// A thread's sums of the rows from `row` on. The vector is read in pieces of 16 bytes if they are
/// `NEAR`, or element by element.
///
/// # Safety
/// As of [`along`].
#[inline(always)]
unsafe fn sums_along<T: Sum, const VECTOR: usize, const NEAR: bool>(
    product: &Skinny<T>,
    row: u32,
) -> [T; ROWS_ALONG as usize] {
    let (tall, thin) = (&product.tall, &product.thin);
    let (k_first, k_count) = part_of_k(product);
    let (matrix, k_first) = (i64::from(thread::block_idx_z()), i64::from(k_first));
    // Rows that are not there repeat the last one, whose sum is the same.
    let mut starts = [0; ROWS_ALONG as usize];
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
    let mut sums = [T::ZERO; ROWS_ALONG as usize];
    let whole = k_count / VECTOR as u32;
    let mut piece = thread::thread_idx_x();
    while piece + (PIECES - 1) * VECTOR_THREADS < whole {
        let k = |at: usize| (piece + at as u32 * VECTOR_THREADS) * VECTOR as u32;
        let mut values = [[[T::ZERO; VECTOR]; ROWS_ALONG as usize]; PIECES as usize];
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

/// The rows of this thread.
///
/// # Safety
/// The launch is as [`Skinny`] says, of [`VECTOR_THREADS`] threads and with a block in the x
/// direction for each [`vector_rows`].
#[inline(always)]
unsafe fn across<T: Sum, const VECTOR: usize>(product: &Skinny<T>) {
    let thread = thread::block_idx_x() * VECTOR_THREADS + thread::thread_idx_x();
    let row = thread * VECTOR as u32;
    if row >= product.rows {
        return;
    }
    // SAFETY: by the contract of this function, the launch is as `Skinny` says; all of the rows are
    // there, or their number is compared.
    let sums = unsafe {
        if product.rows - row >= VECTOR as u32 {
            sums_across::<T, VECTOR, true>(product, row)
        } else {
            sums_across::<T, VECTOR, false>(product, row)
        }
    };
    unrolled! { element in [0 1 2 3] {
        if element < VECTOR {
            // SAFETY: one thread has the row.
            unsafe { write_sum(product, row + element as u32, 0, sums[element % VECTOR]) };
        }
    }}
}

/// The sums of the rows from `row` on, which are read 16 bytes at a time if `WHOLE`, or else
/// element by element as far as they are there.
///
/// # Safety
/// As of [`across`]; `row` is there, and all of its piece if `WHOLE`.
#[inline(always)]
unsafe fn sums_across<T: Sum, const VECTOR: usize, const WHOLE: bool>(
    product: &Skinny<T>,
    row: u32,
) -> [T; VECTOR] {
    const { assert!(K_AT_ONCE == 16) };
    let (tall, thin) = (&product.tall, &product.thin);
    let (k_first, k_count) = part_of_k(product);
    let (matrix, k_first) = (i64::from(thread::block_idx_z()), i64::from(k_first));
    let start = tall.start + matrix * tall.stride_batch + i64::from(row) + k_first * tall.stride_k;
    let start_of_vector = thin.start + matrix * thin.stride_batch + k_first * thin.stride_k;
    let read_rows = |k: u32| -> [T; VECTOR] {
        let at = (start + i64::from(k) * tall.stride_k) as usize;
        let mut values = [T::ZERO; VECTOR];
        // SAFETY: `k` is there, and so are the rows by the contract of this function or by the
        // comparison; starts and strides are multiples of 16 bytes.
        unsafe {
            if WHOLE {
                tall.elements.address(at + VECTOR - 1);
                return read(tall.elements.address(at));
            }
            unrolled! { element in [0 1 2 3] {
                if element < VECTOR && row + (element as u32) < product.rows {
                    values[element % VECTOR] = tall.elements.at(at + element);
                }
            }}
        }
        values
    };
    let read_vector = |k: u32| {
        let at = (start_of_vector + i64::from(k) * thin.stride_k) as usize;
        // SAFETY: `k` is there.
        unsafe { thin.elements.at(at) }
    };
    let mut sums = [T::ZERO; VECTOR];
    let mut add = |values: [T; VECTOR], of_vector: T| {
        unrolled! { element in [0 1 2 3] {
            if element < VECTOR {
                let element = element % VECTOR;
                sums[element] = T::multiply_add(values[element], of_vector, sums[element]);
            }
        }}
    };
    let mut k = 0;
    while k + K_AT_ONCE <= k_count {
        let mut values = [[T::ZERO; VECTOR]; K_AT_ONCE as usize];
        unrolled! { at in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] {
            values[at] = read_rows(k + at as u32);
        }}
        unrolled! { at in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] {
            add(values[at], read_vector(k + at as u32));
        }}
        k += K_AT_ONCE;
    }
    if k < k_count {
        // The last k. Reads under a condition would wait for each other, so the last one is read
        // again instead, and replaced by zeros.
        let mut values = [[T::ZERO; VECTOR]; K_AT_ONCE as usize];
        unrolled! { at in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14] {
            values[at] = read_rows((k + at as u32).min(k_count - 1));
        }}
        unrolled! { at in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14] {
            let of_vector = read_vector((k + at as u32).min(k_count - 1));
            let or_zero = |value| if k + (at as u32) < k_count { value } else { T::ZERO };
            add(values[at].map(or_zero), or_zero(of_vector));
        }}
    }
    sums
}

macro_rules! kernels {
    ($($along:ident $across:ident: $type:ty, $vector:literal;)*) => {$(
        /// The product of a matrix and a vector, of a matrix whose k are neighbours.
        ///
        /// # Safety
        /// The launch is as [`Skinny`] says, of [`VECTOR_THREADS`] threads and with a block in the x
        /// direction for each [`vector_rows`], without dynamic shared memory.
        #[kernel(max_block = 256, min_blocks = 2)]
        pub unsafe fn $along(product: Skinny<$type>) {
            let of_warps = shared_array![$type; (WARPS * ROWS_ALONG) as usize];
            // SAFETY: by the contract of this function, the launch is as `Skinny` says, of
            // `VECTOR_THREADS` threads and with a block in the x direction for each `vector_rows`,
            // which are `ROWS_ALONG`, without dynamic shared memory.
            unsafe { along::<$type, $vector>(&product, of_warps) }
        }

        /// The product of a matrix and a vector, of a matrix whose rows are neighbours.
        ///
        /// # Safety
        /// The launch is as [`Skinny`] says, of [`VECTOR_THREADS`] threads and with a block in the x
        /// direction for each [`vector_rows`], without dynamic shared memory.
        #[kernel(max_block = 256, min_blocks = 2)]
        pub unsafe fn $across(product: Skinny<$type>) {
            // SAFETY: by the contract of this function, the launch is as `Skinny` says, of
            // `VECTOR_THREADS` threads and with a block in the x direction for each `vector_rows`.
            unsafe { across::<$type, $vector>(&product) }
        }
    )*};
}
kernels! {
    vector_f32_along vector_f32_across: f32, 4;
    vector_f64_along vector_f64_across: f64, 2;
}
