//! The Fourier form on the CPU, chunk by chunk; see [`fourier`](crate::tensor_sketch::fourier).

use std::ops::RangeInclusive;
use std::sync::OnceLock;

use ndarray::{ArrayViewMut1, ArrayViewMut2};
use pulp::Arch;

use super::inverse::Inverse;
use super::leaves::{Leaves, Text};
use super::matrix::Matrix;
use super::operators::{Operators, word_letters};
use super::vector::Vector;
use crate::device::reserve;
use crate::parallel;
use crate::tensor_sketch::fourier::{CHUNK, FAN_IN, Finish, LONGEST_WORD, SEGMENT};
use crate::tensor_sketch::tables::Tables;
use crate::{Error, Result};

/// Letters whose chunks are composed first.
pub const LEAF: usize = CHUNK * FAN_IN;

/// Computes the matrices S of texts in `T`, and rows of sketches from them.
pub struct Fourier<T> {
    tables: Tables,
    arch: Arch,
    /// By the number of letters in a word, less one, each made when it is needed first. No thread
    /// gives up its core while it makes one, so that none waits for itself.
    operators: [OnceLock<Result<Operators<T>>>; LONGEST_WORD],
    inverse: Inverse,
}

impl<T: Vector> Fourier<T> {
    /// For sketches with `tables`.
    pub fn new(tables: &Tables) -> Fourier<T> {
        Fourier::with_arch(Arch::new(), tables)
    }

    /// In a given instruction set.
    fn with_arch(arch: Arch, tables: &Tables) -> Fourier<T> {
        Fourier {
            arch,
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
    /// # Errors
    ///
    /// [`Error::Allocation`], as all that makes matrices.
    ///
    /// # Panics
    ///
    /// May panic when a code is not below the alphabet size of the tables.
    pub fn matrix(&self, codes: &[u8]) -> Result<Matrix> {
        self.matrix_rows(codes, self.tables.tuple_length())
    }

    /// Its first `rows` rows.
    pub fn matrix_rows(&self, codes: &[u8], rows: usize) -> Result<Matrix> {
        let (tuple, dim) = (self.tables.tuple_length(), self.tables.dim());
        let mut segments = codes.chunks(SEGMENT);
        let mut matrix = match segments.next() {
            None => Matrix::identity_rows(self.arch, tuple, dim, rows)?,
            Some(first) => self.tree(first, rows, self.operators_for(first.len())?)?,
        };
        for segment in segments {
            let operators = self.operators_for(segment.len())?;
            matrix.append(&self.tree(segment, tuple, operators)?);
        }
        Ok(matrix)
    }

    /// The matrix of at most [`SEGMENT`] letters: that of a leaf, or of [`FAN_IN`] neighbours.
    fn tree(&self, codes: &[u8], rows: usize, operators: &Operators<T>) -> Result<Matrix> {
        if codes.len() <= LEAF {
            let mut leaves = self.leaves(std::iter::once((codes, rows)), operators)?;
            return Ok(leaves.pop().expect("one matrix for one text"));
        }
        let mut size = LEAF;
        while size * FAN_IN < codes.len() {
            size *= FAN_IN;
        }
        let children = parallel::try_map(codes.chunks(size).enumerate(), |(i, codes)| {
            let whole = self.tables.tuple_length();
            self.tree(codes, if i == 0 { rows } else { whole }, operators)
        })?;
        let mut children = children.into_iter();
        let mut matrix = children.next().expect("there is a child");
        children.for_each(|child| matrix.append(&child));
        Ok(matrix)
    }

    /// The first rows, as many as are asked for, of the matrices of texts of at most [`LEAF`]
    /// letters.
    fn leaves<'a>(
        &self,
        texts: impl ExactSizeIterator<Item = (&'a [u8], usize)>,
        operators: &Operators<T>,
    ) -> Result<Vec<Matrix>> {
        let (tuple, dim) = (self.tables.tuple_length(), self.tables.dim());
        let letters = self.operators(1)?;
        let (mut of_texts, mut matrices) = (Vec::new(), Vec::new());
        reserve(&mut of_texts, texts.len())?;
        reserve(&mut matrices, texts.len())?;
        for (codes, rows) in texts {
            of_texts.push(Text::new(tuple, codes, operators, letters)?);
            matrices.push(Matrix::identity_rows(self.arch, tuple, dim, rows)?);
        }
        self.arch.dispatch(Leaves {
            tuple,
            texts: of_texts,
            operators,
            letters,
            matrices,
        })
    }

    /// The matrices of texts of equal length. Short ones are worked on together, by one thread.
    pub fn matrices<'a>(
        &self,
        texts: impl ExactSizeIterator<Item = &'a [u8]>,
        length: usize,
    ) -> Result<Vec<Matrix>> {
        if length > LEAF {
            return texts.map(|codes| self.matrix(codes)).collect();
        }
        let rows = self.tables.tuple_length();
        self.leaves(
            texts.map(|codes| (codes, rows)),
            self.operators_for(length)?,
        )
    }

    /// Sketches texts of at most [`LEAF`] letters that have words of the same number of letters:
    /// their rows `kept` into their views, (number of rows)×D each.
    pub fn sketch_short(
        &self,
        jobs: Vec<(&[u8], ArrayViewMut2<T>)>,
        kept: RangeInclusive<usize>,
        normalize: bool,
    ) -> Result<()> {
        let operators = self.operators_for(jobs.first().map_or(0, |(codes, _)| codes.len()))?;
        let matrices = self.leaves(jobs.iter().map(|(codes, _)| (*codes, 1)), operators)?;
        for ((codes, out), matrix) in jobs.into_iter().zip(matrices) {
            self.rows(&matrix, codes.len() as u64, kept.clone(), normalize, out);
        }
        Ok(())
    }

    /// The number of letters per word for a text of `length` letters.
    pub fn word_letters(&self, length: usize) -> usize {
        word_letters(&self.tables, length)
    }

    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    fn operators_for(&self, length: usize) -> Result<&Operators<T>> {
        self.operators(word_letters(&self.tables, length))
    }

    fn operators(&self, letters: usize) -> Result<&Operators<T>> {
        let operators = self.operators[letters - 1]
            .get_or_init(|| Operators::new(self.arch, &self.tables, letters));
        operators.as_ref().map_err(Error::same_shortage)
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
        for (k, row) in kept.zip(out.outer_iter_mut()) {
            let finish = Finish::new::<T>(&self.tables, length, k, normalize);
            self.row(matrix, k, finish, row);
        }
    }

    /// Row `k` of it, into `out`, D numbers.
    pub fn row(&self, matrix: &Matrix, k: usize, finish: Finish, mut out: ArrayViewMut1<T>) {
        if k == 0 {
            out.fill(T::from_f64(0.0));
            out[0] = T::from_f64(1.0);
            return;
        }
        let sums = self.inverse.sums(|lane| matrix.first_row(k, lane));
        for (entry, sum) in out.iter_mut().zip(sums) {
            *entry = T::from_f64(finish.apply(sum));
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::tensor_sketch::fourier::error_bound;
    use crate::tensor_sketch::{binomial, reference};

    fn codes(length: usize, alphabet_size: usize) -> Vec<u8> {
        let mut state = 1u64;
        let mut next = || {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            ((state >> 33) % alphabet_size as u64) as u8
        };
        (0..length).map(|_| next()).collect()
    }

    /// Every instruction set that this machine has.
    fn archs() -> Vec<Arch> {
        let mut archs = vec![Arch::new(), Arch::Scalar];
        #[cfg(target_arch = "x86_64")]
        archs.extend(pulp::x86::V3::try_new().map(Arch::V3));
        archs
    }

    fn all_rows<T: Vector>(arch: Arch, tables: &Tables, codes: &[u8]) -> Array2<T> {
        let (tuple, dim) = (tables.tuple_length(), tables.dim());
        let fourier = Fourier::<T>::with_arch(arch, tables);
        let matrix = fourier.matrix(codes).unwrap();
        let first_row = fourier.matrix_rows(codes, 1).unwrap();
        let mut rows = Array2::from_elem((tuple + 1, dim), T::from_f64(0.0));
        let mut again = rows.clone();
        let length = codes.len() as u64;
        fourier.rows(&matrix, length, 0..=tuple, false, rows.view_mut());
        fourier.rows(&first_row, length, 0..=tuple, false, again.view_mut());
        assert_eq!(rows, again);
        rows
    }

    #[test]
    fn every_instruction_set() {
        fn check<T: Vector>(arch: Arch, tables: &Tables, codes: &[u8]) {
            let expected = reference::tensor_sketch(codes.into(), tables);
            let (tuple, dim, length) = (tables.tuple_length(), tables.dim(), codes.len() as u64);
            let bound = error_bound::<T>(dim, tuple, length);
            let rows = all_rows::<T>(arch, tables, codes);
            for (((k, l), made), expected) in rows.indexed_iter().zip(&expected) {
                let rounding = T::UNIT_ROUNDOFF * expected.abs();
                let bound = bound * binomial(length, k as u64) + rounding;
                let error = (made.to_f64() - expected).abs();
                assert!(
                    error <= bound,
                    "{arch:?}, {} of {length} letters, row {k}, entry {l}: {error:e}",
                    T::NAME
                );
            }
        }
        for arch in archs() {
            for tuple in 1..=8 {
                let (alphabet_size, dim) = [(4, 70), (1, 1), (2, 33), (20, 2)][tuple % 4];
                let tables = Tables::from_seed(alphabet_size, tuple, dim, 3).unwrap();
                for length in [0, 1, 9, 70, 300, 513, 4200] {
                    let codes = codes(length, alphabet_size);
                    check::<f32>(arch, &tables, &codes);
                    check::<f64>(arch, &tables, &codes);
                }
            }
        }
    }

    #[test]
    fn pieces_of_segments_are_the_whole() {
        let tables = Tables::from_seed(2, 2, 3, 5).unwrap();
        let codes = codes(SEGMENT + 100_000, 2);
        let fourier = Fourier::<f32>::new(&tables);
        let rows = |matrix: &Matrix| {
            let mut rows = Array2::zeros((3, 3));
            fourier.rows(matrix, codes.len() as u64, 0..=2, true, rows.view_mut());
            rows
        };
        let mut pieces = Matrix::identity(2, 3).unwrap();
        for piece in codes.chunks(SEGMENT) {
            pieces.append(&fourier.matrix(piece).unwrap());
        }
        let whole = fourier.matrix(&codes).unwrap();
        assert_eq!(rows(&pieces), rows(&whole));
        let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let by_one_thread = one_thread.unwrap().install(|| fourier.matrix(&codes));
        let by_one_thread = by_one_thread.unwrap();
        assert_eq!(rows(&by_one_thread), rows(&whole));
    }
}
