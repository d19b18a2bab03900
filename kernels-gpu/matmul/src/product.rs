//! The factors of a product, and how results are written.

use core::ops::{Add, Mul};
use cuda_std::prelude::*;

/// A or B of a product. The index that is not k, a row of A or a column of B, is the *outer* one
/// here.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Factor<T> {
    /// The memory.
    pub elements: DeviceSlice<T>,
    /// Where the first element of the first matrix is.
    pub start: i64,
    /// Stride between outer indices, in elements.
    pub stride: i64,
    /// Stride between k, in elements.
    pub stride_k: i64,
    /// Stride between matrices of the batch, in elements.
    pub stride_batch: i64,
}

/// C = alpha·A·B + beta·C for a batch of matrices, or a part of the sums over k, with sums of type
/// `S` and a C of elements `C`.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceParam)]
pub struct Product<T, S, C = S> {
    /// The left factor.
    pub a: Factor<T>,
    /// The right factor.
    pub b: Factor<T>,
    /// Row-major without gaps, from a multiple of 16 bytes on or whole rows behind one; parts of k
    /// follow each other if there are several, each a whole batch.
    pub c: DeviceSliceMut<C>,
    /// Rows of A and C.
    pub m: u32,
    /// Columns of B and C.
    pub n: u32,
    /// Columns of A, rows of B.
    pub k: u32,
    /// How many of k each part sums, a multiple of what a kernel takes at once. There is a part for
    /// each block in the y direction.
    pub k_part: u32,
    /// Factor of A·B.
    pub alpha: S,
    /// Factor of C, which is not read if it is 0.
    pub beta: S,
}

/// A type of sums.
pub trait Sum: Copy + PartialEq + Add<Output = Self> + Mul<Output = Self> {
    /// 0.
    const ZERO: Self;
    /// a·b + c with one rounding.
    fn multiply_add(a: Self, b: Self, c: Self) -> Self;
}

impl Sum for f32 {
    const ZERO: f32 = 0.0;

    #[inline(always)]
    fn multiply_add(a: f32, b: f32, c: f32) -> f32 {
        float::fma_f32(a, b, c)
    }
}

impl Sum for f64 {
    const ZERO: f64 = 0.0;

    #[inline(always)]
    fn multiply_add(a: f64, b: f64, c: f64) -> f64 {
        float::fma_f64(a, b, c)
    }
}

/// Neighbours that are read or written with one instruction.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
struct Aligned16<V>(V);

/// The same of half the size.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Aligned8<V>(V);

/// Reads `COUNT` neighbours, which together have 8 or 16 bytes.
///
/// # Safety
/// `from` points to `COUNT` initialised elements, aligned to the size of all of them.
#[inline(always)]
pub unsafe fn read<T: Copy, const COUNT: usize>(from: *const T) -> [T; COUNT] {
    // SAFETY: by the contract of this function, `from` points to `COUNT` initialised elements,
    // aligned to the size of all of them, as the two aligned types of 16 and 8 bytes are.
    unsafe {
        match size_of::<[T; COUNT]>() {
            16 => from.cast::<Aligned16<[T; COUNT]>>().read().0,
            8 => from.cast::<Aligned8<[T; COUNT]>>().read().0,
            _ => from.cast::<[T; COUNT]>().read(),
        }
    }
}

/// Where a block writes.
#[derive(Clone, Copy)]
pub struct Target<S> {
    c: DeviceSliceMut<S>,
    /// Where its matrix begins.
    start: usize,
    m: u32,
    n: u32,
    alpha: S,
    beta: S,
}

impl<S: Sum> Target<S> {
    /// The matrix of this block's place in the batch and of its part of k.
    #[inline(always)]
    pub fn of_block<T: Copy>(product: &Product<T, S>) -> Target<S> {
        let matrix = thread::block_idx_y() as usize * thread::grid_dim_z() as usize
            + thread::block_idx_z() as usize;
        let Product {
            m, n, alpha, beta, ..
        } = *product;
        Target::of_matrix(product.c, matrix, [m, n], alpha, beta)
    }

    /// Matrix number `matrix`, of m×n elements, with the factors alpha of sums and beta of C.
    #[inline(always)]
    pub fn of_matrix(
        c: DeviceSliceMut<S>,
        matrix: usize,
        [m, n]: [u32; 2],
        alpha: S,
        beta: S,
    ) -> Target<S> {
        Target {
            c,
            start: matrix * m as usize * n as usize,
            m,
            n,
            alpha,
            beta,
        }
    }

    /// Whether the tile of `rows`×`columns` elements from `row` and `column` on is written as a
    /// whole, in pieces of `width` elements and without reading C.
    ///
    /// Each such tile's writes are few instructions, and that matters: code that is executed once
    /// is slow, since the instructions themselves have to be fetched.
    #[inline(always)]
    pub fn is_plain(&self, row: u32, column: u32, rows: u32, columns: u32, width: u32) -> bool {
        self.beta == S::ZERO
            && self.n.is_multiple_of(width)
            && self.m - row >= rows
            && self.n - column >= columns
    }

    /// Whether C is read, and in pairs that begin at multiples of two elements.
    #[inline(always)]
    pub fn reads_pairs(&self) -> bool {
        self.beta != S::ZERO && self.n.is_multiple_of(2)
    }

    /// Two neighbours of C, of which the first column is even; zeros where there are none.
    ///
    /// # Safety
    /// No other thread writes them, and [`reads_pairs`](Self::reads_pairs) holds.
    #[inline(always)]
    pub unsafe fn read_pair(&self, row: u32, column: u32, offset: usize) -> [S; 2] {
        if row >= self.m || column + offset as u32 >= self.n {
            return [S::ZERO; 2];
        }
        let place = self.start + row as usize * self.n as usize + column as usize + offset;
        // SAFETY: within C, whose rows begin at multiples of two elements.
        unsafe { read(self.c.address(place)) }
    }

    /// Writes two neighbours that [`read_pair`](Self::read_pair) has read, with what is added.
    ///
    /// # Safety
    /// As of `read_pair`.
    #[inline(always)]
    pub unsafe fn add_pair(
        &self,
        row: u32,
        column: u32,
        offset: usize,
        before: [S; 2],
        sums: [S; 2],
    ) {
        if row >= self.m || column + offset as u32 >= self.n {
            return;
        }
        let place = self.start + row as usize * self.n as usize + column as usize + offset;
        let add = |i: usize| S::multiply_add(self.beta, before[i], self.alpha * sums[i]);
        // SAFETY: within C, whose rows begin at multiples of two elements.
        unsafe { write(self.c.address(place), [add(0), add(1)]) };
    }

    /// Writes `COUNT` neighbours, of which the first column is a multiple of `COUNT`.
    ///
    /// # Safety
    /// No other thread writes them; if `PLAIN`, [`is_plain`](Self::is_plain) holds for the tile.
    #[inline(always)]
    pub unsafe fn write<const COUNT: usize, const PLAIN: bool>(
        &self,
        row: u32,
        column: u32,
        offset: usize,
        sums: [S; COUNT],
    ) {
        let column_here = column + offset as u32;
        if !PLAIN && (row >= self.m || column_here >= self.n) {
            return;
        }
        let place = self.start + row as usize * self.n as usize + column as usize + offset;
        // SAFETY: within C, whose memory is aligned to more than that many elements: with a
        // multiple of so many columns every row begins at a multiple, and the row has all of them
        // or none.
        unsafe {
            if PLAIN {
                write(self.c.address(place), sums.map(|sum| self.alpha * sum));
                return;
            }
            unrolled! { index in [0 1 2 3] {
                if index < COUNT && column_here + (index as u32) < self.n {
                    let product = self.alpha * sums[index % COUNT];
                    let result = if self.beta == S::ZERO {
                        product
                    } else {
                        S::multiply_add(self.beta, self.c.at(place + index), product)
                    };
                    self.c.set(place + index, result);
                }
            }}
        }
    }
}

/// Writes `COUNT` neighbours, which together have 8 or 16 bytes.
///
/// # Safety
/// `to` points to `COUNT` elements, aligned to the size of all of them, that no other thread uses.
#[inline(always)]
pub unsafe fn write<T: Copy, const COUNT: usize>(to: *mut T, values: [T; COUNT]) {
    // SAFETY: by the contract of this function, `to` points to `COUNT` elements, aligned to the
    // size of all of them as the two aligned types of 16 and 8 bytes are, and no other thread uses
    // them.
    unsafe {
        match size_of::<[T; COUNT]>() {
            16 => to.cast::<Aligned16<[T; COUNT]>>().write(Aligned16(values)),
            8 => to.cast::<Aligned8<[T; COUNT]>>().write(Aligned8(values)),
            _ => to.cast::<[T; COUNT]>().write(values),
        }
    }
}
