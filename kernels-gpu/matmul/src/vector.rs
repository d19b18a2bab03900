//! Products of a matrix and a vector.
//!
//! The kernels are memory-bound: they read the matrix once, and keep many bytes of it on
//! their way at any time. With one column the sums need few registers: a thread reads 256 bytes of
//! the matrix before it multiplies the first, and two blocks fill a multiprocessor: 128 KB. Blocks
//! end soon, after few rows, and the GPU starts the next one where one has ended. With blocks that
//! each have a fixed share of all rows, multiprocessors that finish early would be idle.
//!
//! There are two forms:
//! - *along*: the matrix's k are neighbours. A thread reads 16 bytes of four places of k in four
//!   rows, and the sums of a block's threads are added up.
//! - *across*: its rows are neighbours. A thread reads 16 bytes of 16 k, and has the whole sums of
//!   these rows, so that threads need nothing from each other. A block reads 4 KB of each k.

use cuda_std::prelude::*;
use cuda_std::warp::{FULL_MASK, WarpValue, shuffle_xor};

use crate::piece::{Bf16s, F16s, Piece};
use crate::product::Sum;
use crate::skinny::{Skinny, part_of_k, write_sum};

/// Threads of a block.
pub const VECTOR_THREADS: u32 = 256;
const WARPS: u32 = VECTOR_THREADS / 32;

/// Rows of a block *along*, all of which a thread sums: each piece of the vector is read once for
/// all of them.
const ROWS_ALONG: u32 = 4;
/// Pieces of 16 bytes that a thread *along* reads of each row before it multiplies.
const PIECES: u32 = 4;
/// The k of which a thread *across* reads its rows before it multiplies. Where it reads rows one by
/// one, the addresses take registers too.
const fn k_at_once(is_whole: bool) -> u32 {
    if is_whole { 16 } else { 8 }
}

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
unsafe fn along<P: Piece<Sum: WarpValue>>(
    product: &Skinny<P::Element, P::Sum>,
    of_warps: *mut P::Sum,
) {
    let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
    let row = thread::block_idx_x() * ROWS_ALONG;
    let thin = &product.thin;
    let first = thin.start + i64::from(thread::block_idx_z()) * thin.stride_batch;
    let first = first + i64::from(part_of_k(product).0) * thin.stride_k;
    // SAFETY: by the contract of this function, the launch is as `Skinny` says, of `VECTOR_THREADS`
    // threads and with a block in the x direction for each `ROWS_ALONG`; `of_warps` is shared memory
    // for the sums of all warps.
    let mut sums = unsafe {
        if thin.stride_k == 1 && first % P::LENGTH as i64 == 0 {
            sums_along::<P, true>(product, row)
        } else {
            sums_along::<P, false>(product, row)
        }
    };
    unrolled! { i in [0 1 2 3] {
        unrolled! { level in [0 1 2 3 4] {
            sums[i] = sums[i] + shuffle_xor(FULL_MASK, sums[i], 16 >> level);
        }}
        if lane == 0 {
            // SAFETY: `of_warps` has a place for each warp and row, and only this lane of the warp
            // writes to the warp's places.
            unsafe { of_warps.add((warp * ROWS_ALONG) as usize + i).write(sums[i]) };
        }
    }}
    thread::sync_threads();
    let mine = thread::thread_idx_x();
    if mine < ROWS_ALONG {
        let from = of_warps.wrapping_add(mine as usize);
        let mut sum = P::Sum::ZERO;
        unrolled! { warp in [0 1 2 3 4 5 6 7] {
            // SAFETY: each warp wrote its part before the barrier.
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
/// As of [`along`]; if `NEAR`, the vector's k of this part are neighbours, and the first is at a
/// multiple of 16 bytes.
#[inline(always)]
unsafe fn sums_along<P: Piece, const NEAR: bool>(
    product: &Skinny<P::Element, P::Sum>,
    row: u32,
) -> [P::Sum; ROWS_ALONG as usize] {
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
    // SAFETY: all k of a piece are there. They begin at a multiple of 16 bytes: by `Skinny`, the
    // elements, the start and the strides of rows and of the batch do, and `k` and the part's first
    // k are multiples of a piece's length.
    let read_row = |i: usize, k: u32| unsafe { P::read(tall.elements, of_row(i, k)) };
    let read_vector = |k: u32| -> P {
        // SAFETY: all k of a piece are there. If they are `NEAR`, they are neighbours by the
        // contract of this function, and begin at a multiple of 16 bytes, `k` being a multiple of a
        // piece's length; else they are read one by one.
        unsafe {
            if NEAR {
                return P::read(thin.elements, of_vector(k));
            }
            P::of(|element| thin.elements.at(of_vector(k + element)))
        }
    };
    let mut sums = [P::Sum::ZERO; ROWS_ALONG as usize];
    let add = |sum: P::Sum, of_row: P, of_vector: P| {
        let mut sum = sum;
        unrolled! { element in [0 1 2 3 4 5 6 7] {
            if element < P::LENGTH {
                sum = P::Sum::multiply_add(of_row.value(element), of_vector.value(element), sum);
            }
        }}
        sum
    };
    let whole = k_count / P::LENGTH as u32;
    let mut piece = thread::thread_idx_x();
    while piece + (PIECES - 1) * VECTOR_THREADS < whole {
        let k = |at: usize| (piece + at as u32 * VECTOR_THREADS) * P::LENGTH as u32;
        let mut values = [[P::ZERO; ROWS_ALONG as usize]; PIECES as usize];
        unrolled! { at in [0 1 2 3] {
            unrolled! { i in [0 1 2 3] {
                values[at][i] = read_row(i, k(at));
            }}
        }}
        unrolled! { at in [0 1 2 3] {
            let of_vector = read_vector(k(at));
            unrolled! { i in [0 1 2 3] {
                sums[i] = add(sums[i], values[at][i], of_vector);
            }}
        }}
        piece += PIECES * VECTOR_THREADS;
    }
    while piece < whole {
        let k = piece * P::LENGTH as u32;
        let of_vector = read_vector(k);
        unrolled! { i in [0 1 2 3] {
            sums[i] = add(sums[i], read_row(i, k), of_vector);
        }}
        piece += VECTOR_THREADS;
    }
    // The last k, which fill no piece.
    let k = whole * P::LENGTH as u32 + thread::thread_idx_x();
    if k < k_count {
        unrolled! { i in [0 1 2 3] {
            // SAFETY: `k` is below the part's number of k, and the row is one of the product's.
            unsafe {
                let value = P::widened(tall.elements.at(of_row(i, k)));
                let of_vector = P::widened(thin.elements.at(of_vector(k)));
                sums[i] = P::Sum::multiply_add(value, of_vector, sums[i]);
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
unsafe fn across<P: Piece>(product: &Skinny<P::Element, P::Sum>) {
    let thread = thread::block_idx_x() * VECTOR_THREADS + thread::thread_idx_x();
    let row = thread * P::LENGTH as u32;
    if row >= product.rows {
        return;
    }
    // SAFETY: by the contract of this function, the launch is as `Skinny` says; `row` is there and a
    // multiple of a piece's length, and so are all rows of the piece where `WHOLE` says so.
    let sums = unsafe {
        if product.rows - row >= P::LENGTH as u32 {
            sums_across::<P, true>(product, row)
        } else {
            sums_across::<P, false>(product, row)
        }
    };
    unrolled! { element in [0 1 2 3 4 5 6 7] {
        if element < P::LENGTH {
            // SAFETY: one thread has the row.
            unsafe { write_sum(product, row + element as u32, 0, sums[element]) };
        }
    }}
}

/// The sums of the rows of a piece from `row` on, which are read together if all are there and
/// `WHOLE` says so, or else one by one.
///
/// # Safety
/// As of [`across`]; `row` is there and a multiple of a piece's length, and all rows of the piece
/// are there if `WHOLE`.
#[inline(always)]
unsafe fn sums_across<P: Piece, const WHOLE: bool>(
    product: &Skinny<P::Element, P::Sum>,
    row: u32,
) -> [P::Sum; 8] {
    let at_once = k_at_once(WHOLE);
    let (tall, thin) = (&product.tall, &product.thin);
    let (k_first, k_count) = part_of_k(product);
    let (matrix, k_first) = (i64::from(thread::block_idx_z()), i64::from(k_first));
    let start = tall.start + matrix * tall.stride_batch + i64::from(row) + k_first * tall.stride_k;
    let start_of_vector = thin.start + matrix * thin.stride_batch + k_first * thin.stride_k;
    let last = product.rows - 1 - row;
    let read_rows = |k: u32| -> P {
        let at = (start + i64::from(k) * tall.stride_k) as usize;
        // SAFETY: `k` is below the part's number of k. If `WHOLE`, all rows are there by the contract
        // of this function, and begin at a multiple of 16 bytes: by `Skinny`, the elements, the start
        // and the strides of k and of the batch do, and `row` is a multiple of a piece's length. Else
        // rows that are not there repeat the last one.
        unsafe {
            if WHOLE {
                return P::read(tall.elements, at);
            }
            P::of(|element| tall.elements.at(at + element.min(last) as usize))
        }
    };
    let read_vector = |k: u32| {
        let at = (start_of_vector + i64::from(k) * thin.stride_k) as usize;
        // SAFETY: `k` is below the part's number of k.
        P::widened(unsafe { thin.elements.at(at) })
    };
    let mut sums = [P::Sum::ZERO; 8];
    let mut k = 0;
    while k + at_once <= k_count {
        let mut values = [P::ZERO; 16];
        unrolled! { at in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] {
            if (at as u32) < at_once {
                values[at] = read_rows(k + at as u32);
            }
        }}
        unrolled! { at in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] {
            if (at as u32) < at_once {
                let of_vector = read_vector(k + at as u32);
                unrolled! { element in [0 1 2 3 4 5 6 7] {
                    if element < P::LENGTH {
                        sums[element] =
                            P::Sum::multiply_add(values[at].value(element), of_vector, sums[element]);
                    }
                }}
            }
        }}
        k += at_once;
    }
    if k < k_count {
        // The last k, fewer than `at_once`. Conditional reads would wait for each other, so reads
        // past the end repeat the last k, and zeros replace both factors.
        let mut values = [P::ZERO; 16];
        unrolled! { at in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14] {
            if (at as u32) < at_once {
                values[at] = read_rows((k + at as u32).min(k_count - 1));
            }
        }}
        unrolled! { at in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14] {
            if (at as u32) < at_once {
                let of_vector = read_vector((k + at as u32).min(k_count - 1));
                let or_zero = |value| if k + (at as u32) < k_count { value } else { P::Sum::ZERO };
                unrolled! { element in [0 1 2 3 4 5 6 7] {
                    if element < P::LENGTH {
                        let value = or_zero(values[at].value(element));
                        sums[element] = P::Sum::multiply_add(value, or_zero(of_vector), sums[element]);
                    }
                }}
            }
        }}
    }
    sums
}

macro_rules! kernels {
    ($($along:ident $across:ident: $piece:ty;)*) => {$(
        /// The product of a matrix and a vector, of a matrix whose k are neighbours.
        ///
        /// # Safety
        /// The launch is as [`Skinny`] says, for one column, of [`VECTOR_THREADS`] threads and with
        /// a block in the x direction for each [`vector_rows`], without dynamic shared memory.
        #[kernel(max_block = 256, min_blocks = 2)]
        pub unsafe fn $along(product: Skinny<<$piece as Piece>::Element, <$piece as Piece>::Sum>) {
            let of_warps =
                shared_array![<$piece as Piece>::Sum; (WARPS * ROWS_ALONG) as usize];
            // SAFETY: by the contract of this function, the launch is as `Skinny` says, of
            // `VECTOR_THREADS` threads and with a block in the x direction for each `vector_rows`,
            // which are `ROWS_ALONG`, without dynamic shared memory.
            unsafe { along::<$piece>(&product, of_warps) }
        }

        /// The product of a matrix and a vector, of a matrix whose rows are neighbours.
        ///
        /// # Safety
        /// The launch is as [`Skinny`] says, for one column, of [`VECTOR_THREADS`] threads and with
        /// a block in the x direction for each [`vector_rows`], without dynamic shared memory.
        #[kernel(max_block = 256, min_blocks = 2)]
        pub unsafe fn $across(product: Skinny<<$piece as Piece>::Element, <$piece as Piece>::Sum>) {
            // SAFETY: by the contract of this function, the launch is as `Skinny` says, of
            // `VECTOR_THREADS` threads and with a block in the x direction for each `vector_rows`.
            unsafe { across::<$piece>(&product) }
        }
    )*};
}
kernels! {
    vector_f32_along vector_f32_across: [f32; 4];
    vector_f64_along vector_f64_across: [f64; 2];
    vector_f16_along vector_f16_across: F16s;
    vector_bf16_along vector_bf16_across: Bf16s;
}
