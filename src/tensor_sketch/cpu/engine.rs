//! The Fourier form on the CPU, chunk by chunk; see [`fourier`](crate::tensor_sketch::fourier).

use std::ops::RangeInclusive;
use std::sync::OnceLock;

use ndarray::ArrayViewMut2;
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::inverse::Inverse;
use super::kernel::{advance, group_rows};
use super::matrix::{BLOCK, Entry, Matrix, append_block, row_start};
use super::operators::{Operators, word_letters};
use super::vector::lanes_of;
use crate::tensor_sketch::fourier::{CHUNK, FAN_IN, Finish, LONGEST_WORD, SEGMENT, pairs};
use crate::tensor_sketch::{Real, Tables};

/// Letters whose chunks are composed first.
pub(super) const LEAF: usize = CHUNK * FAN_IN;

/// Leaves that a thread works on together.
const TOGETHER: usize = 4;

/// Computes the matrices S of texts in `T`, and rows of sketches from them.
pub(in crate::tensor_sketch) struct Fourier<T> {
    tables: Tables,
    arch: Arch,
    /// By the number of letters in a word, less one, each made when it is needed first. No thread
    /// gives up its core while it makes one, so that none waits for itself.
    operators: [OnceLock<Operators<T>>; LONGEST_WORD],
    inverse: Inverse,
}

impl<T: Real> Fourier<T> {
    pub fn new(tables: &Tables) -> Fourier<T> {
        Fourier {
            arch: Arch::new(),
            operators: [const { OnceLock::new() }; LONGEST_WORD],
            inverse: Inverse::new(tables.dim()),
            tables: tables.clone(),
        }
    }

    /// The matrix of a text of any length, worked on by all cores.
    ///
    /// A text that is given in pieces of [`SEGMENT`] letters, and a last one that may be shorter,
    /// has the same matrix to the last bit when the pieces' matrices are appended in order.
    ///
    /// # Panics
    ///
    /// May panic when a code is not below the alphabet size of the tables.
    pub fn matrix(&self, codes: &[u8]) -> Matrix {
        self.matrix_rows(codes, self.tables.tuple_length())
    }

    /// Its first `rows` rows.
    pub(super) fn matrix_rows(&self, codes: &[u8], rows: usize) -> Matrix {
        let (tuple, dim) = (self.tables.tuple_length(), self.tables.dim());
        let mut segments = codes.chunks(SEGMENT);
        let mut matrix = match segments.next() {
            None => Matrix::identity_rows(tuple, dim, rows),
            Some(first) => self.tree(first, rows, self.operators_for(first.len())),
        };
        for segment in segments {
            let operators = self.operators_for(segment.len());
            matrix.append(&self.tree(segment, tuple, operators));
        }
        matrix
    }

    /// The matrix of at most [`SEGMENT`] letters: of [`FAN_IN`] neighbours that are trees as well,
    /// or chunks.
    fn tree(&self, codes: &[u8], rows: usize, operators: &Operators<T>) -> Matrix {
        let mut size = LEAF;
        while size * FAN_IN < codes.len() {
            size *= FAN_IN;
        }
        let rows_of = |child: usize| {
            if child == 0 {
                rows
            } else {
                self.tables.tuple_length()
            }
        };
        let children: Vec<Matrix> = if size > LEAF {
            let children = codes.par_chunks(size).enumerate();
            children
                .map(|(i, codes)| self.tree(codes, rows_of(i), operators))
                .collect()
        } else {
            let together = codes.par_chunks(LEAF * TOGETHER).enumerate();
            together
                .flat_map_iter(|(i, codes)| {
                    let leaves = codes.chunks(LEAF).zip(i * TOGETHER..);
                    self.leaves(leaves.map(|(codes, i)| (codes, rows_of(i))), operators)
                })
                .collect()
        };
        let mut children = children.into_iter();
        let mut matrix = children.next().expect("there is a child");
        children.for_each(|child| matrix.append(&child));
        matrix
    }

    /// The first rows, as many as are asked for, of the matrices of texts of at most [`LEAF`]
    /// letters.
    fn leaves<'a>(
        &self,
        texts: impl Iterator<Item = (&'a [u8], usize)>,
        operators: &Operators<T>,
    ) -> Vec<Matrix> {
        let (tuple, dim) = (self.tables.tuple_length(), self.tables.dim());
        let (texts, matrices) = texts
            .map(|(codes, rows)| (codes, Matrix::identity_rows(tuple, dim, rows)))
            .unzip();
        self.arch.dispatch(Leaves {
            tuple,
            texts,
            operators,
            letters: self.operators(1),
            matrices,
        })
    }

    /// Sketches texts of at most [`LEAF`] letters that have words of the same number of letters:
    /// their rows `kept` into their views, (number of rows)×D each.
    pub(super) fn sketch_short(
        &self,
        jobs: Vec<(&[u8], ArrayViewMut2<T>)>,
        kept: RangeInclusive<usize>,
        normalize: bool,
    ) {
        let operators = self.operators_for(jobs.first().map_or(0, |(codes, _)| codes.len()));
        let matrices = self.leaves(jobs.iter().map(|(codes, _)| (*codes, 1)), operators);
        for ((codes, out), matrix) in jobs.into_iter().zip(matrices) {
            self.rows(&matrix, codes.len() as u64, kept.clone(), normalize, out);
        }
    }

    /// The number of letters per word for a text of `length` letters.
    pub(super) fn word_letters(&self, length: usize) -> usize {
        word_letters(&self.tables, length)
    }

    fn operators_for(&self, length: usize) -> &Operators<T> {
        self.operators(word_letters(&self.tables, length))
    }

    fn operators(&self, letters: usize) -> &Operators<T> {
        self.operators[letters - 1].get_or_init(|| Operators::new(self.arch, &self.tables, letters))
    }

    /// The rows `kept` of the sketch of a text of `length` letters with that matrix, into `out`,
    /// (number of rows)×D.
    pub fn rows(
        &self,
        matrix: &Matrix,
        length: u64,
        kept: RangeInclusive<usize>,
        normalize: bool,
        mut out: ArrayViewMut2<T>,
    ) {
        for (k, mut row) in kept.zip(out.outer_iter_mut()) {
            if k == 0 {
                row.fill(T::from_f64(0.0));
                row[0] = T::from_f64(1.0);
                continue;
            }
            let finish = Finish::new::<T>(&self.tables, length, k, normalize);
            let sums = self.inverse.sums(|block| &matrix.block(block)[k - 1]);
            for (entry, sum) in row.iter_mut().zip(sums) {
                *entry = T::from_f64(finish.apply(sum));
            }
        }
    }
}

/// Computes the matrices of the chunks of several texts and appends each text's to each other,
/// block by block of lanes, so that a block's operators stay in the cache.
struct Leaves<'a, T> {
    tuple: usize,
    texts: Vec<&'a [u8]>,
    /// Of words, and of single letters for those left over.
    operators: &'a Operators<T>,
    letters: &'a Operators<T>,
    /// The texts' matrices, of ones and zeros.
    matrices: Vec<Matrix>,
}

impl<T: Real> WithSimd for Leaves<'_, T> {
    type Output = Vec<Matrix>;

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) -> Vec<Matrix> {
        let mut matrices = std::mem::take(&mut self.matrices);
        let (words, ends) = self.words();
        // The matrix of a chunk in the lanes of a vector, and in those of a block.
        let mut state = [T::from_f64(0.0); pairs(8) * 2 * BLOCK];
        let mut made = [[[0.0; BLOCK]; 2]; pairs(8)];
        let blocks = matrices.first().map_or(0, Matrix::blocks);
        for block in 0..blocks {
            let mut ends = ends.iter();
            let mut start = 0;
            for (text, matrix) in self.texts.iter().zip(&mut matrices) {
                let rows = matrix.rows();
                let target = matrix.block_mut(block);
                for chunk in 0..text.len().div_ceil(CHUNK) {
                    let &[whole, all] = ends.next().expect("an end for each chunk");
                    let words = [&words[start..whole], &words[whole..all]];
                    start = all;
                    let rows_here = if chunk == 0 { rows } else { self.tuple };
                    let made = &mut made[..row_start(self.tuple, rows_here)];
                    for vector in 0..BLOCK / lanes_of::<T, S>() {
                        self.chunk(simd, words, [block, vector], rows_here, &mut state, made);
                    }
                    if chunk == 0 {
                        target.copy_from_slice(made);
                    } else {
                        append_block(target, made, self.tuple, rows, block);
                    }
                }
            }
        }
        matrices
    }
}

impl<T: Real> Leaves<'_, T> {
    /// The words of all chunks, and where they end among them: those of several letters, then those
    /// of one.
    fn words(&self) -> (Vec<u32>, Vec<[usize; 2]>) {
        let mut words = Vec::new();
        let mut ends = Vec::new();
        for chunk in self.texts.iter().flat_map(|text| text.chunks(CHUNK)) {
            let left_over = chunk.len() % self.operators.letters;
            self.operators.words(chunk, &mut words);
            let whole = words.len();
            self.letters
                .words(&chunk[chunk.len() - left_over..], &mut words);
            ends.push([whole, words.len()]);
        }
        (words, ends)
    }

    /// The first `rows` rows of a chunk's matrix in one vector of lanes.
    #[inline(always)]
    fn chunk<S: Simd>(
        &self,
        simd: S,
        [words, left_over]: [&[u32]; 2],
        [block, vector]: [usize; 2],
        rows: usize,
        state: &mut [T],
        made: &mut [Entry],
    ) {
        let lanes = lanes_of::<T, S>();
        let start = |row| row_start(self.tuple, row) * 2 * lanes;
        let state = &mut state[..start(rows)];
        state.fill(T::from_f64(0.0));
        let mut row = 0;
        while row < rows {
            let width = self.tuple - row;
            let group = if rows == 1 {
                1
            } else {
                group_rows(width, S::REGISTER_COUNT)
            };
            let state = &mut state[start(row)..start(row + group)];
            let with = self.operators.of::<S>(words, block, vector);
            advance(simd, width, group, with, state);
            let with = self.letters.of::<S>(left_over, block, vector);
            advance(simd, width, group, with, state);
            row += group;
        }
        let parts = made.iter_mut().flatten();
        for (part, values) in parts.zip(state.chunks_exact(lanes)) {
            for (target, value) in part[vector * lanes..].iter_mut().zip(values) {
                *target = value.to_f64();
            }
        }
    }
}
