//! The matrices S of pieces of text, in `f64`, and their products.

use pulp::{Arch, Simd, WithSimd};

use crate::tensor_sketch::fourier::{lanes, pairs};

/// Lanes per block: a multiple of what vectors hold.
pub(super) const BLOCK: usize = 16;

/// An entry of S in the lanes of a block: real parts, then imaginary parts.
pub(super) type Entry = [[f64; BLOCK]; 2];

/// The matrix S of a piece of text in all lanes: what is above its diagonal of ones, or the first
/// row of that.
///
/// Entries stand block of lanes after block, in each row after row.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::tensor_sketch) struct Matrix {
    tuple: usize,
    rows: usize,
    blocks: usize,
    entries: Vec<Entry>,
}

/// Where row `a` begins among the entries of a block.
pub(super) const fn row_start(tuple: usize, a: usize) -> usize {
    // The rows before it have t, t − 1, …, t − a + 1 entries.
    pairs(tuple) - pairs(tuple - a)
}

impl Matrix {
    /// The matrix of the empty text.
    pub fn identity(tuple: usize, dim: usize) -> Matrix {
        Matrix::identity_rows(tuple, dim, tuple)
    }

    /// Its first `rows` rows.
    pub(super) fn identity_rows(tuple: usize, dim: usize, rows: usize) -> Matrix {
        let blocks = lanes(dim).div_ceil(BLOCK);
        Matrix {
            tuple,
            rows,
            blocks,
            entries: vec![[[0.0; BLOCK]; 2]; blocks * row_start(tuple, rows)],
        }
    }

    /// Makes the matrix of a text that of the same text followed by another one.
    pub fn append(&mut self, right: &Matrix) {
        assert_eq!(
            (self.tuple, self.blocks, right.rows),
            (right.tuple, right.blocks, right.tuple),
            "only whole matrices of one kind can be appended"
        );
        Arch::new().dispatch(Append { left: self, right });
    }

    /// The entries of block `block`.
    pub(super) fn block(&self, block: usize) -> &[Entry] {
        let size = row_start(self.tuple, self.rows);
        &self.entries[block * size..][..size]
    }

    pub(super) fn block_mut(&mut self, block: usize) -> &mut [Entry] {
        let size = row_start(self.tuple, self.rows);
        &mut self.entries[block * size..][..size]
    }

    pub(super) fn blocks(&self) -> usize {
        self.blocks
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }
}

struct Append<'a> {
    left: &'a mut Matrix,
    right: &'a Matrix,
}

impl WithSimd for Append<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let (tuple, rows) = (self.left.tuple, self.left.rows);
        for block in 0..self.left.blocks {
            let left = self.left.block_mut(block);
            append_block(left, self.right.block(block), tuple, rows, block);
        }
    }
}

/// S(x) ← S(x) · S(y) in the lanes of one block, for the first `rows` rows of S(x).
#[inline(always)]
pub(super) fn append_block(
    left: &mut [Entry],
    right: &[Entry],
    tuple: usize,
    rows: usize,
    block: usize,
) {
    let squares = squares(block);
    for a in 0..rows {
        let row = &mut left[row_start(tuple, a)..][..tuple - a];
        // From the last entry to the first: each reads those before it as they were.
        for b in (a + 1..=tuple).rev() {
            let mut sum = right[row_start(tuple, a) + b - a - 1];
            for m in a + 1..b {
                let factor = &right[row_start(tuple, m) + b - m - 1];
                add_product(&mut sum, &row[m - a - 1], factor, &squares);
            }
            let entry = &mut row[b - a - 1];
            for part in 0..2 {
                for lane in 0..BLOCK {
                    entry[part][lane] += sum[part][lane];
                }
            }
        }
    }
}

/// Adds (x + yz)(u + vz) = xu + yvz² + (xv + yu)z.
#[inline(always)]
pub(super) fn add_product(sum: &mut Entry, left: &Entry, right: &Entry, squares: &[f64; BLOCK]) {
    for lane in 0..BLOCK {
        let (x, y) = (left[0][lane], left[1][lane]);
        let (u, v) = (right[0][lane], right[1][lane]);
        sum[0][lane] = sum[0][lane] + x * u + squares[lane] * y * v;
        sum[1][lane] = sum[1][lane] + x * v + y * u;
    }
}

/// z² in each lane of a block: 1 in lane 0, −1 in all others.
pub(super) const fn squares(block: usize) -> [f64; BLOCK] {
    let mut squares = [-1.0; BLOCK];
    if block == 0 {
        squares[0] = 1.0;
    }
    squares
}
