//! The Fourier form on the CPU, chunk by chunk; see [`fourier`](crate::fourier).

use std::ops::RangeInclusive;
use std::sync::{Arc, OnceLock};

use fft::{Complex, ComplexToReal};
use gridstride_runtime::device::reserve;
use gridstride_runtime::parallel;
use gridstride_runtime::{Error, Result};
use ndarray::{ArrayViewMut1, ArrayViewMut2};
use pulp::Arch;

use super::instructions::dispatch;
use super::leaves::{Leaves, Text};
use super::matrix::Matrix;
use super::operators::{Operators, word_letters};
use super::vector::{Jobs, Vector};
use crate::fourier::{CHUNK, FAN_IN, Finish, LONGEST_WORD, SEGMENT, lanes};
use crate::tables::Tables;

/// Letters per leaf: chunks of a leaf are composed first.
pub const LEAF: usize = CHUNK * FAN_IN;

/// Computes the matrices S of texts in `T`, and rows of sketches from them.
pub struct Fourier<T> {
    tables: Tables,
    arch: Arch,
    /// The operators of words of 1, 2, … letters, each made at its first use. No thread runs other
    /// tasks while it makes operators, so no thread waits for itself.
    operators: [OnceLock<Result<Operators<T>>>; LONGEST_WORD],
    inverse: Arc<dyn ComplexToReal<f64>>,
}

impl<T: Vector> Fourier<T> {
    pub fn new(tables: &Tables) -> Fourier<T> {
        Fourier::with_arch(Arch::new(), tables)
    }

    fn with_arch(arch: Arch, tables: &Tables) -> Fourier<T> {
        Fourier {
            arch,
            operators: [const { OnceLock::new() }; LONGEST_WORD],
            inverse: fft::inverse(tables.dim()),
            tables: tables.clone(),
        }
    }

    /// Computes the matrix of a text of any length on all cores.
    ///
    /// The matrices of a text's segments of [`SEGMENT`] letters, of which the last may be shorter,
    /// appended in order, give the same matrix bit by bit.
    ///
    /// # Panics
    /// May panic if a code is not below the alphabet size of the tables.
    pub fn matrix(&self, codes: &[u8]) -> Result<Matrix> {
        self.matrix_rows(codes, self.tables.tuple_length())
    }

    /// As [`matrix`](Self::matrix), but computes only the first `rows` rows: one or all.
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

    /// Computes the matrix of at most [`SEGMENT`] letters from up to [`FAN_IN`] shorter chunks.
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

    /// Computes matrices of texts of at most [`LEAF`] letters, each with the given number of rows.
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
        let leaves = Leaves {
            tuple,
            texts: of_texts,
            operators,
            letters,
            matrices,
        };
        dispatch(self.arch, leaves)
    }

    /// Computes the matrices of texts of equal length; those of short texts on one thread.
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

    /// Writes the rows `kept` of texts of at most [`LEAF`] letters and words of the same length.
    pub fn sketch_short(
        &self,
        jobs: Jobs<T>,
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

    /// Writes the rows `kept` of the sketch of a text of `length` letters, from its matrix.
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

    /// Writes row `k` of a sketch, D numbers.
    pub fn row(&self, matrix: &Matrix, k: usize, finish: Finish, mut out: ArrayViewMut1<T>) {
        if k == 0 {
            out.fill(T::from_f64(0.0));
            out[0] = T::from_f64(1.0);
            return;
        }
        // The transform adds each lane and its conjugate: twice the real part.
        let halved = |[x, y]: [f64; 2]| Complex::new(0.5 * x, 0.5 * y);
        let dim = self.tables.dim();
        let mut spectrum = self.inverse.make_input_vec();
        for (lane, value) in spectrum.iter_mut().enumerate().take(lanes(dim)) {
            *value = halved(matrix.first_row(k, lane));
        }
        let [a, b] = matrix.first_row(k, 0);
        spectrum[0] = halved([a + b, 0.0]);
        if dim.is_multiple_of(2) {
            spectrum[dim / 2] = halved([a - b, 0.0]);
        }
        let mut sums = self.inverse.make_output_vec();
        let transformed = self.inverse.process(&mut spectrum, &mut sums);
        transformed.expect("real values at frequencies 0 and D/2");
        for (entry, sum) in out.iter_mut().zip(sums) {
            *entry = T::from_f64(finish.apply(sum));
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::fourier::error_bound;
    use crate::{binomial, reference};
    use gridstride_runtime::random::random;

    fn codes(length: usize, alphabet_size: usize) -> Vec<u8> {
        let mut next = random(1);
        let code = |_| ((next() >> 33) % alphabet_size as u64) as u8;
        (0..length).map(code).collect()
    }

    /// Every instruction set that this machine has.
    fn archs() -> Vec<Arch> {
        let mut archs = vec![Arch::new(), Arch::Scalar];
        #[cfg(target_arch = "x86_64")]
        archs.extend(pulp::x86::V3::try_new().map(Arch::V3));
        archs
    }

    #[test]
    fn every_instruction_set() {
        fn check<T: Vector>(arch: Arch, tables: &Tables, codes: &[u8]) {
            let expected = reference::tensor_sketch(codes.into(), tables);
            let (tuple, dim, length) = (tables.tuple_length(), tables.dim(), codes.len() as u64);
            let bound = error_bound::<T>(dim, tuple, length);
            let fourier = Fourier::<T>::with_arch(arch, tables);
            let rows_of = |matrix: Result<Matrix>| {
                let mut rows = Array2::from_elem((tuple + 1, dim), T::from_f64(0.0));
                fourier.rows(&matrix.unwrap(), length, 0..=tuple, false, rows.view_mut());
                rows
            };
            let rows = rows_of(fourier.matrix(codes));
            assert_eq!(rows, rows_of(fourier.matrix_rows(codes, 1)));
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
    fn segments_compose_to_the_whole() {
        let tables = Tables::from_seed(2, 2, 3, 5).unwrap();
        let codes = codes(SEGMENT + 100_000, 2);
        let fourier = Fourier::<f32>::new(&tables);
        let rows = |matrix: &Matrix| {
            let mut rows = Array2::zeros((3, 3));
            fourier.rows(matrix, codes.len() as u64, 0..=2, true, rows.view_mut());
            rows
        };
        let mut segments = Matrix::identity(2, 3).unwrap();
        for segment in codes.chunks(SEGMENT) {
            segments.append(&fourier.matrix(segment).unwrap());
        }
        let whole = fourier.matrix(&codes).unwrap();
        assert_eq!(rows(&segments), rows(&whole));
        let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let by_one_thread = one_thread.unwrap().install(|| fourier.matrix(&codes));
        assert_eq!(rows(&by_one_thread.unwrap()), rows(&whole));
    }
}
