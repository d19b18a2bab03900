//! The matrices of texts in one lane, and their products.

use super::number::{Pair32, Pair64};
use super::{Complex, MAX_TUPLE, Number, entries, operator_index};
use cuda_std::prelude::*;

/// The entries above the diagonal; those that the tuple length does not have never come to be.
pub type Matrix<N> = [[Complex<N>; MAX_TUPLE + 1]; MAX_TUPLE];

/// The matrix of the empty text. (Called instead of inlined, it would make copies on the stack.)
#[inline(always)]
pub const fn identity<N: Number>() -> Matrix<N> {
    [[Complex::ZERO; MAX_TUPLE + 1]; MAX_TUPLE]
}

/// Where entry (a, b) of a whole matrix stands in memory.
#[inline(always)]
pub const fn entry_index(tuple: usize, a: usize, b: usize) -> usize {
    operator_index(tuple, tuple, a, b)
}

/// Matrices in memory, in one of two types.
#[derive(Clone, Copy)]
pub struct Stored {
    /// The matrices if they are in `f32`.
    pub singles: DeviceSlice<Pair32>,
    /// The matrices if they are in `f64`.
    pub doubles: DeviceSlice<Pair64>,
    /// Which of both.
    pub are_singles: bool,
    /// Lanes of each.
    pub lanes: usize,
}

impl Stored {
    /// The entry with that index of a matrix, in one lane.
    ///
    /// # Safety
    /// `matrix`, `index` and `lane` are below what there is, for tuples of `T`.
    #[inline(always)]
    pub unsafe fn entry<const T: usize>(
        &self,
        matrix: usize,
        index: usize,
        lane: usize,
    ) -> Complex<f64> {
        let place = (matrix * const { entries(T, T) } + index) * self.lanes + lane;
        // SAFETY: an entry of a matrix that is there.
        unsafe {
            if self.are_singles {
                widened(self.singles.at(place))
            } else {
                f64::unpair(self.doubles.at(place))
            }
        }
    }

    /// All entries of a matrix in `f32`, in one lane; those of tuples of up to four.
    ///
    /// # Safety
    /// As [`entry`](Self::entry), and the matrices are in `f32`.
    #[inline(always)]
    pub unsafe fn singles<const T: usize>(&self, matrix: usize, lane: usize) -> [Pair32; 10] {
        let first = matrix * const { entries(T, T) } * self.lanes + lane;
        let mut all = [Pair32::ZERO; 10];
        unrolled! { index in [0 1 2 3 4 5 6 7 8 9] {
            if index < const { entries(T, T) } {
                // SAFETY: an entry of a matrix that is there.
                all[index] = unsafe { self.singles.at(first + index * self.lanes) };
            }
        }}
        all
    }
}

/// A number of a lane in `f64`.
#[inline(always)]
pub fn widened(single: Pair32) -> Complex<f64> {
    let single = f32::unpair(single);
    Complex {
        x: single.x as f64,
        y: single.y as f64,
    }
}

/// The first `ROWS` rows of S ← S·P, where P has entries up to `D` above its diagonal and `load`
/// gives the one at an [`operator_index`]. Columns are done from the last to the first, since each
/// reads those before it as they were.
#[inline(always)]
pub fn multiply<N: Number, const T: usize, const D: usize, const ROWS: usize>(
    matrix: &mut Matrix<N>,
    load: impl Fn(usize) -> Complex<N>,
    z2: N,
) {
    column::<N, T, D, ROWS, 8>(matrix, &load, z2);
    column::<N, T, D, ROWS, 7>(matrix, &load, z2);
    column::<N, T, D, ROWS, 6>(matrix, &load, z2);
    column::<N, T, D, ROWS, 5>(matrix, &load, z2);
    column::<N, T, D, ROWS, 4>(matrix, &load, z2);
    column::<N, T, D, ROWS, 3>(matrix, &load, z2);
    column::<N, T, D, ROWS, 2>(matrix, &load, z2);
    column::<N, T, D, ROWS, 1>(matrix, &load, z2);
}

/// Column B: S_{a,B} += P_{a,B} + Σ_m S_{a,m}·P_{m,B}.
#[inline(always)]
fn column<N: Number, const T: usize, const D: usize, const ROWS: usize, const B: usize>(
    matrix: &mut Matrix<N>,
    load: &impl Fn(usize) -> Complex<N>,
    z2: N,
) {
    if const { B > T } {
        return;
    }
    entry::<N, T, D, ROWS, B, 0>(matrix, load, z2);
    entry::<N, T, D, ROWS, B, 1>(matrix, load, z2);
    entry::<N, T, D, ROWS, B, 2>(matrix, load, z2);
    entry::<N, T, D, ROWS, B, 3>(matrix, load, z2);
    entry::<N, T, D, ROWS, B, 4>(matrix, load, z2);
    entry::<N, T, D, ROWS, B, 5>(matrix, load, z2);
    entry::<N, T, D, ROWS, B, 6>(matrix, load, z2);
    entry::<N, T, D, ROWS, B, 7>(matrix, load, z2);
}

/// Returns the product that P_{M,B} adds to column B.
#[inline(always)]
fn entry<
    N: Number,
    const T: usize,
    const D: usize,
    const ROWS: usize,
    const B: usize,
    const M: usize,
>(
    matrix: &mut Matrix<N>,
    load: &impl Fn(usize) -> Complex<N>,
    z2: N,
) {
    if const { M >= B || M + D < B } {
        return;
    }
    let p = load(
        const {
            if M >= B || M + D < B {
                0
            } else {
                operator_index(T, D, M, B)
            }
        },
    );
    let y_z2 = N::mul(p.y, z2);
    let mut a = 0;
    while a < const { if M < ROWS { M } else { ROWS } } {
        matrix[a][B] = matrix[a][B].plus_product(matrix[a][M], p, y_z2);
        a += 1;
    }
    if const { M < ROWS } {
        matrix[M][B] = matrix[M][B].plus(p);
    }
}

/// The matrix whose entry with an [`entry_index`] is what `load` gives.
#[inline(always)]
pub fn read<N: Number, const T: usize>(load: impl Fn(usize) -> Complex<N>) -> Matrix<N> {
    let mut matrix = identity();
    read_column::<N, T, 1>(&mut matrix, &load);
    read_column::<N, T, 2>(&mut matrix, &load);
    read_column::<N, T, 3>(&mut matrix, &load);
    read_column::<N, T, 4>(&mut matrix, &load);
    read_column::<N, T, 5>(&mut matrix, &load);
    read_column::<N, T, 6>(&mut matrix, &load);
    read_column::<N, T, 7>(&mut matrix, &load);
    read_column::<N, T, 8>(&mut matrix, &load);
    matrix
}

#[inline(always)]
fn read_column<N: Number, const T: usize, const B: usize>(
    matrix: &mut Matrix<N>,
    load: &impl Fn(usize) -> Complex<N>,
) {
    if const { B > T } {
        return;
    }
    let mut a = 0;
    while a < B {
        matrix[a][B] = load(entry_index(T, a, B));
        a += 1;
    }
}

/// Gives every entry to `store`, with its [`entry_index`].
#[inline(always)]
pub fn store<N: Number, const T: usize>(
    matrix: &Matrix<N>,
    mut store: impl FnMut(usize, Complex<N>),
) {
    store_column::<N, T, 1>(matrix, &mut store);
    store_column::<N, T, 2>(matrix, &mut store);
    store_column::<N, T, 3>(matrix, &mut store);
    store_column::<N, T, 4>(matrix, &mut store);
    store_column::<N, T, 5>(matrix, &mut store);
    store_column::<N, T, 6>(matrix, &mut store);
    store_column::<N, T, 7>(matrix, &mut store);
    store_column::<N, T, 8>(matrix, &mut store);
}

#[inline(always)]
fn store_column<N: Number, const T: usize, const B: usize>(
    matrix: &Matrix<N>,
    store: &mut impl FnMut(usize, Complex<N>),
) {
    if const { B > T } {
        return;
    }
    let mut a = 0;
    while a < B {
        store(entry_index(T, a, B), matrix[a][B]);
        a += 1;
    }
}
