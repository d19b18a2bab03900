//! The matrices S of texts, in `f64`, and their products.

use gridstride_runtime::Result;
use pulp::Arch;

use super::instructions::{Instructions, Task, dispatch};
use super::kernel::{Advance, Words};
use super::vector::{Aligned, lanes_of};
use crate::fourier::{lanes, pairs};

/// Lanes per block: a multiple of the lanes of a vector.
pub const BLOCK: usize = 16;

/// The matrix S of a text in all lanes: the entries above its diagonal of ones, or only the first
/// row of them.
///
/// The order is by vector of lanes, then by entry, row t − 1 first, then real before imaginary
/// parts. Operators have the same order, so that a product is a step whose operator is the right
/// factor.
pub(crate) struct Matrix {
    arch: Arch,
    tuple: usize,
    /// The number of rows that are stored: one or all.
    pub rows: usize,
    pub blocks: usize,
    lanes_of_vector: usize,
    values: Aligned<f64>,
}

/// Returns the number of entries of a matrix's first `rows` rows: one or all.
pub const fn entries(tuple: usize, rows: usize) -> usize {
    if rows == 1 { tuple } else { pairs(tuple) }
}

/// Returns the number of `f64` in a block of lanes.
pub const fn block_size(tuple: usize, rows: usize) -> usize {
    entries(tuple, rows) * 2 * BLOCK
}

impl Matrix {
    /// Returns the matrix of the empty text.
    pub fn identity(tuple: usize, dim: usize) -> Result<Matrix> {
        Matrix::identity_rows(Arch::new(), tuple, dim, tuple)
    }

    /// Returns the first `rows` rows of the matrix of the empty text: one or all.
    pub fn identity_rows(arch: Arch, tuple: usize, dim: usize, rows: usize) -> Result<Matrix> {
        let blocks = lanes(dim).div_ceil(BLOCK);
        Ok(Matrix {
            arch,
            tuple,
            rows,
            blocks,
            lanes_of_vector: dispatch(arch, LanesOfVector),
            values: Aligned::zeros(blocks * block_size(tuple, rows))?,
        })
    }

    /// Clones the matrix, or returns an error if memory runs out.
    pub fn try_clone(&self) -> Result<Matrix> {
        Ok(Matrix {
            values: self.values.try_clone()?,
            ..*self
        })
    }

    /// Multiplies by the matrix `right`: the product is the matrix of the concatenated texts.
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
        dispatch(self.arch, Append { left: self, right });
    }

    /// Returns the first row alone.
    pub fn to_first_row(&self) -> Result<Matrix> {
        let entries = entries(self.tuple, self.rows);
        let size = |entries: usize| entries * 2 * self.lanes_of_vector;
        let mut row = Matrix {
            rows: 1,
            values: Aligned::zeros(self.blocks * block_size(self.tuple, 1))?,
            ..*self
        };
        let to = row.values.get_mut().chunks_exact_mut(size(self.tuple));
        for (to, from) in to.zip(self.values.get().chunks_exact(size(entries))) {
            to.copy_from_slice(&from[size(entries - self.tuple)..]);
        }
        Ok(row)
    }

    /// Returns the bytes of a whole matrix.
    pub fn bytes(tuple: usize, dim: usize) -> usize {
        lanes(dim).div_ceil(BLOCK) * block_size(tuple, tuple) * size_of::<f64>()
    }

    /// Returns S_{0,k} in a lane.
    pub fn first_row(&self, k: usize, lane: usize) -> [f64; 2] {
        let entries = entries(self.tuple, self.rows);
        let (vector, lane) = (lane / self.lanes_of_vector, lane % self.lanes_of_vector);
        let entry = vector * entries + entries - self.tuple + k - 1;
        [0, 1].map(|part| self.values.get()[(2 * entry + part) * self.lanes_of_vector + lane])
    }

    pub fn block_mut(&mut self, block: usize) -> &mut [f64] {
        let size = block_size(self.tuple, self.rows);
        &mut self.values.get_mut()[block * size..][..size]
    }
}

struct LanesOfVector;

impl Task for LanesOfVector {
    type Output = usize;

    #[inline(always)]
    fn run<S: Instructions>(self, _: S) -> usize {
        lanes_of::<f64, S>()
    }
}

struct Append<'a> {
    left: &'a mut Matrix,
    right: &'a Matrix,
}

impl Task for Append<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Instructions>(self, simd: S) {
        let (tuple, rows) = (self.left.tuple, self.left.rows);
        let append = AppendBlock::new(simd, tuple, rows);
        let right = self.right.values.get();
        let right = right.chunks_exact(block_size(tuple, tuple));
        for (block, right) in right.enumerate() {
            append.run(self.left.block_mut(block), right, block);
        }
    }
}

/// Computes S(x) ← S(x) · S(y) in the lanes of one block, for the first row of S(x) or all rows.
pub struct AppendBlock<S> {
    advance: Advance<f64, S>,
    tuple: usize,
    rows: usize,
}

impl<S: Instructions> AppendBlock<S> {
    pub fn new(simd: S, tuple: usize, rows: usize) -> AppendBlock<S> {
        AppendBlock {
            advance: Advance::new(simd, tuple, rows, tuple),
            tuple,
            rows,
        }
    }

    #[inline(always)]
    pub fn run(&self, left: &mut [f64], right: &[f64], block: usize) {
        let size = entries(self.tuple, self.rows) * 2 * lanes_of::<f64, S>();
        let right_size = pairs(self.tuple) * 2 * lanes_of::<f64, S>();
        // Zipped chunks take two divisions per block, which cost 5% of a sketch.
        for vector in 0..BLOCK / lanes_of::<f64, S>() {
            let left = &mut left[vector * size..][..size];
            let words = Words {
                words: &[0],
                operators: &right[vector * right_size..][..right_size],
                entries: pairs(self.tuple),
                depth: self.tuple,
                squares: (block == 0 && vector == 0).then_some(const { &squares(0) }),
            };
            self.advance.run(&words, left);
        }
    }
}

/// Returns z² in each lane of a block: 1 in lane 0, −1 in all other lanes.
pub const fn squares(block: usize) -> [f64; BLOCK] {
    let mut squares = [-1.0; BLOCK];
    if block == 0 {
        squares[0] = 1.0;
    }
    squares
}
