//! How the matrix of a block of words comes to the matrix of its chunk.

use super::matrix::{Matrix, entry_index, identity, store};
use super::{Complex, MAX_TUPLE, Number};
use cuda_std::prelude::*;

/// Brings the matrix of a block of words to the chunk's, from the right, and starts the next block
/// with the identity.
#[inline(always)]
pub fn append<N: Number, const T: usize>(product: &mut Matrix<N>, matrix: &mut Matrix<N>, z2: N) {
    append_to_row::<N, T, 0>(product, matrix, z2);
    append_to_row::<N, T, 1>(product, matrix, z2);
    append_to_row::<N, T, 2>(product, matrix, z2);
    append_to_row::<N, T, 3>(product, matrix, z2);
    *matrix = identity();
}

/// Row A of `product` times `matrix`.
#[inline(always)]
fn append_to_row<N: Number, const T: usize, const A: usize>(
    product: &mut Matrix<N>,
    matrix: &Matrix<N>,
    z2: N,
) {
    if const { A >= T } {
        return;
    }
    let row = product[A];
    let mut store = |b: usize, value| product[A][b] = value;
    append_entry::<N, T, A, 4>(&row, matrix, &mut store, z2);
    append_entry::<N, T, A, 3>(&row, matrix, &mut store, z2);
    append_entry::<N, T, A, 2>(&row, matrix, &mut store, z2);
    append_entry::<N, T, A, 1>(&row, matrix, &mut store, z2);
}

/// Brings the matrix of a block of words to the chunk's in memory, from the right, and starts the
/// next block with the identity. The first one is stored as it is.
///
/// # Safety
/// Entry (a, b) of the chunk's matrix is element `result + entry_index(a, b) · lanes` of `out`, was
/// written before if `flushed`, and no other thread uses it.
#[inline(always)]
pub unsafe fn flush<N: Number, const T: usize>(
    matrix: &mut Matrix<N>,
    out: DeviceSliceMut<N::Pair>,
    result: usize,
    lanes: usize,
    flushed: bool,
    z2: N,
) {
    if flushed {
        // SAFETY: by the contract of this function, entry (a, b) of the chunk's matrix is element
        // `result + entry_index(a, b) · lanes` of `out`, was written before if `flushed`, and no
        // other thread uses it.
        unsafe {
            append_row::<N, T, 0>(matrix, out, result, lanes, z2);
            append_row::<N, T, 1>(matrix, out, result, lanes, z2);
            append_row::<N, T, 2>(matrix, out, result, lanes, z2);
            append_row::<N, T, 3>(matrix, out, result, lanes, z2);
            append_row::<N, T, 4>(matrix, out, result, lanes, z2);
            append_row::<N, T, 5>(matrix, out, result, lanes, z2);
            append_row::<N, T, 6>(matrix, out, result, lanes, z2);
            append_row::<N, T, 7>(matrix, out, result, lanes, z2);
        }
    } else {
        store::<N, T>(matrix, |index, value| {
            // SAFETY: by the contract of this function, entry (a, b) of the chunk's matrix is
            // element `result + entry_index(a, b) · lanes` of `out`, was written before if
            // `flushed`, and no other thread uses it.
            unsafe { out.set(result + index * lanes, N::pair(value)) };
        });
    }
    *matrix = identity();
}

/// Row A of the matrix in memory times `matrix`.
///
/// # Safety
/// As [`flush`].
#[inline(always)]
unsafe fn append_row<N: Number, const T: usize, const A: usize>(
    matrix: &Matrix<N>,
    out: DeviceSliceMut<N::Pair>,
    result: usize,
    lanes: usize,
    z2: N,
) {
    if const { A >= T } {
        return;
    }
    let place = |b: usize| result + entry_index(T, A, b) * lanes;
    let mut row = [Complex::<N>::ZERO; MAX_TUPLE + 1];
    let mut b = A + 1;
    while b <= T {
        // SAFETY: the caller keeps the contract of `flush`, which this function shares.
        row[b] = N::unpair(unsafe { out.at(place(b)) });
        b += 1;
    }
    // SAFETY: the caller keeps the contract of `flush`, which this function shares.
    let mut store = |b: usize, value| unsafe { out.set(place(b), N::pair(value)) };
    append_entry::<N, T, A, 8>(&row, matrix, &mut store, z2);
    append_entry::<N, T, A, 7>(&row, matrix, &mut store, z2);
    append_entry::<N, T, A, 6>(&row, matrix, &mut store, z2);
    append_entry::<N, T, A, 5>(&row, matrix, &mut store, z2);
    append_entry::<N, T, A, 4>(&row, matrix, &mut store, z2);
    append_entry::<N, T, A, 3>(&row, matrix, &mut store, z2);
    append_entry::<N, T, A, 2>(&row, matrix, &mut store, z2);
    append_entry::<N, T, A, 1>(&row, matrix, &mut store, z2);
}

/// Entry (A, B) of the product.
#[inline(always)]
fn append_entry<N: Number, const T: usize, const A: usize, const B: usize>(
    row: &[Complex<N>; MAX_TUPLE + 1],
    matrix: &Matrix<N>,
    store: &mut impl FnMut(usize, Complex<N>),
    z2: N,
) {
    if const { B > T || B <= A } {
        return;
    }
    let mut sum = row[B];
    let mut m = A + 1;
    while m < B {
        let p = matrix[m][B];
        sum = sum.plus_product(row[m], p, N::mul(p.y, z2));
        m += 1;
    }
    store(B, sum.plus(matrix[A][B]));
}
