//! The matrices S of pieces of text, in `f64`, and their products.

use pulp::{Arch, Simd, WithSimd};

use super::aligned::Aligned;
use super::kernel::{Words, advance_rows};
use crate::Result;
use crate::tensor_sketch::fourier::{lanes, pairs};

/// Lanes per block: a multiple of what vectors hold.
pub const BLOCK: usize = 16;

/// The matrix S of a piece of text in all lanes: what is above its diagonal of ones, or the first
/// row of that.
///
/// It stands vector of lanes after vector, in each entry after entry, row t − 1 first, in each the
/// real and the imaginary parts: as operators do, so that a product is a step with the right factor
/// as the operator.
#[derive(Debug)]
pub(in crate::tensor_sketch) struct Matrix {
    arch: Arch,
    tuple: usize,
    rows: usize,
    blocks: usize,
    lanes_of_vector: usize,
    values: Aligned<f64>,
}

/// The number of entries of a matrix of which the first `rows` rows are there: one or all.
pub const fn entries(tuple: usize, rows: usize) -> usize {
    if rows == 1 { tuple } else { pairs(tuple) }
}

/// The number of `f64` that a block of lanes takes.
pub const fn block_size(tuple: usize, rows: usize) -> usize {
    entries(tuple, rows) * 2 * BLOCK
}

impl Matrix {
    /// The matrix of the empty text.
    ///
    /// # Errors
    /// [`Error::Allocation`](crate::Error::Allocation), as all that makes a matrix.
    pub fn identity(tuple: usize, dim: usize) -> Result<Matrix> {
        Matrix::identity_rows(Arch::new(), tuple, dim, tuple)
    }

    /// Its first `rows` rows: one or all.
    pub fn identity_rows(arch: Arch, tuple: usize, dim: usize, rows: usize) -> Result<Matrix> {
        let blocks = lanes(dim).div_ceil(BLOCK);
        Ok(Matrix {
            arch,
            tuple,
            rows,
            blocks,
            lanes_of_vector: arch.dispatch(LanesOfVector),
            values: Aligned::zeros(blocks * block_size(tuple, rows))?,
        })
    }

    /// A copy.
    pub fn try_clone(&self) -> Result<Matrix> {
        Ok(Matrix {
            values: self.values.try_clone()?,
            ..*self
        })
    }

    /// Makes the matrix of a text that of the same text followed by another one.
    pub fn append(&mut self, right: &Matrix) {
        assert_eq!(
            (self.tuple, self.blocks, self.lanes_of_vector, right.rows),
            (
                right.tuple,
                right.blocks,
                right.lanes_of_vector,
                right.tuple
            ),
            "only whole matrices of one kind can be appended"
        );
        self.arch.dispatch(Append { left: self, right });
    }

    /// The first row alone.
    pub fn to_first_row(&self) -> Result<Matrix> {
        let entries = entries(self.tuple, self.rows);
        let part = |entries: usize| entries * 2 * self.lanes_of_vector;
        let mut row = Matrix {
            rows: 1,
            values: Aligned::zeros(self.blocks * block_size(self.tuple, 1))?,
            ..*self
        };
        let to = row.values.get_mut().chunks_exact_mut(part(self.tuple));
        for (to, from) in to.zip(self.values.get().chunks_exact(part(entries))) {
            to.copy_from_slice(&from[part(entries - self.tuple)..]);
        }
        Ok(row)
    }

    /// The memory that the matrix of a text takes, in bytes.
    pub fn bytes(tuple: usize, dim: usize) -> usize {
        lanes(dim).div_ceil(BLOCK) * block_size(tuple, tuple) * size_of::<f64>()
    }

    /// The value of S_{0,k} in a lane.
    pub fn first_row(&self, k: usize, lane: usize) -> [f64; 2] {
        let entries = entries(self.tuple, self.rows);
        let (vector, lane) = (lane / self.lanes_of_vector, lane % self.lanes_of_vector);
        let entry = vector * entries + entries - self.tuple + k - 1;
        [0, 1].map(|part| self.values.get()[(2 * entry + part) * self.lanes_of_vector + lane])
    }

    pub fn block(&self, block: usize) -> &[f64] {
        let size = block_size(self.tuple, self.rows);
        &self.values.get()[block * size..][..size]
    }

    pub fn block_mut(&mut self, block: usize) -> &mut [f64] {
        let size = block_size(self.tuple, self.rows);
        &mut self.values.get_mut()[block * size..][..size]
    }

    pub fn blocks(&self) -> usize {
        self.blocks
    }

    pub fn rows(&self) -> usize {
        self.rows
    }
}

struct LanesOfVector;

impl WithSimd for LanesOfVector {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> usize {
        S::F64_LANES
    }
}

struct Append<'a> {
    left: &'a mut Matrix,
    right: &'a Matrix,
}

impl WithSimd for Append<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (tuple, rows) = (self.left.tuple, self.left.rows);
        for block in 0..self.left.blocks {
            let left = self.left.block_mut(block);
            append_block(simd, left, self.right.block(block), tuple, rows, block);
        }
    }
}

/// S(x) ← S(x) · S(y) in the lanes of one block, where the first `rows` rows of S(x) are there.
#[inline(always)]
pub fn append_block<S: Simd>(
    simd: S,
    left: &mut [f64],
    right: &[f64],
    tuple: usize,
    rows: usize,
    block: usize,
) {
    let squares = squares(block);
    let left = left.chunks_exact_mut(entries(tuple, rows) * 2 * S::F64_LANES);
    let right = right.chunks_exact(pairs(tuple) * 2 * S::F64_LANES);
    for (vector, (left, right)) in left.zip(right).enumerate() {
        let words = Words {
            words: &[0],
            operators: right,
            entries: pairs(tuple),
            depth: tuple,
            squares: (block == 0 && vector == 0).then_some(&squares[..]),
        };
        advance_rows(simd, tuple, rows, words, left);
    }
}

/// z² in each lane of a block: 1 in lane 0, −1 in all others.
pub const fn squares(block: usize) -> [f64; BLOCK] {
    let mut squares = [-1.0; BLOCK];
    if block == 0 {
        squares[0] = 1.0;
    }
    squares
}
