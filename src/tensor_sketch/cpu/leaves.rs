//! The matrices of texts of a few chunks, part by part and block by block of lanes.

use pulp::{Simd, WithSimd};

use super::aligned::Aligned;
use super::kernel::advance_rows;
use super::matrix::{Matrix, append_block, block_size, entries};
use super::operators::Operators;
use super::vector::{Vector, lanes_of};
use crate::device::reserve;
use crate::tensor_sketch::fourier::CHUNK;
use crate::{Real, Result};

/// Letters per part of a chunk, which are summed in `f32`, for tuples of up to four letters; parts
/// are composed like chunks, in `f64`.
const PART: usize = 128;

/// Letters of a text that is a single part.
const SHORT: usize = 512;

/// Computes the matrices of several texts block by block of lanes, so that a block's operators stay
/// in the cache.
pub(super) struct Leaves<'a, T> {
    pub tuple: usize,
    pub texts: Vec<Text>,
    /// Of words, and of single letters for those left over.
    pub operators: &'a Operators<T>,
    pub letters: &'a Operators<T>,
    /// The texts' matrices, of ones and zeros.
    pub matrices: Vec<Matrix>,
}

/// A text, word by word.
pub(super) struct Text {
    words: Vec<u32>,
    /// Where each part begins among them, and where its words of single letters do.
    parts: Vec<[usize; 2]>,
    parts_of_chunk: usize,
}

impl Text {
    pub fn new<T: Vector>(
        tuple: usize,
        codes: &[u8],
        operators: &Operators<T>,
        letters: &Operators<T>,
    ) -> Result<Text> {
        // Whole words: letters are left over at the end of a chunk alone.
        let part_letters = part_letters::<T>(tuple, codes.len());
        let part_letters = part_letters.next_multiple_of(operators.letters);
        let mut text = Text {
            words: Vec::new(),
            parts: Vec::new(),
            parts_of_chunk: CHUNK.div_ceil(part_letters),
        };
        let chunks = codes.chunks(CHUNK);
        let parts = codes.len() / part_letters + chunks.len();
        let left_over = chunks.len() * operators.letters;
        reserve(&mut text.words, codes.len() / operators.letters + left_over)?;
        reserve(&mut text.parts, parts + 1)?;
        for part in chunks.flat_map(|chunk| chunk.chunks(part_letters)) {
            let start = text.words.len();
            let (whole, left_over) = part.split_at(part.len() - part.len() % operators.letters);
            operators.words(whole, &mut text.words);
            text.parts.push([start, text.words.len()]);
            letters.words(left_over, &mut text.words);
        }
        text.parts.push([text.words.len(); 2]);
        Ok(text)
    }

    /// The words of each part, those of several letters and those of one, chunk by chunk.
    fn chunks(&self) -> impl Iterator<Item = impl Iterator<Item = [&[u32]; 2]>> {
        let words = |part: usize| {
            let [start, single] = self.parts[part];
            let [end, _] = self.parts[part + 1];
            [&self.words[start..single], &self.words[single..end]]
        };
        let parts = self.parts.len() - 1;
        let ends = move |start: usize| (start + self.parts_of_chunk).min(parts);
        let starts = (0..parts).step_by(self.parts_of_chunk);
        starts.map(move |start| (start..ends(start)).map(words))
    }
}

/// The number of letters that are summed in `T`: shorter than a chunk where that is what limits the
/// accuracy. The longer the tuples, the more work it is to compose.
fn part_letters<T: Vector>(tuple: usize, length: usize) -> usize {
    let double = T::UNIT_ROUNDOFF == f64::UNIT_ROUNDOFF;
    match (tuple, length) {
        _ if double => CHUNK,
        (_, 0..=SHORT) => SHORT,
        (0..=4, _) => PART,
        _ => 2 * PART,
    }
}

impl<T: Vector> WithSimd for Leaves<'_, T> {
    type Output = Result<Vec<Matrix>>;

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) -> Result<Vec<Matrix>> {
        let mut matrices = std::mem::take(&mut self.matrices);
        let mut buffers = Buffers::new(self.tuple)?;
        for block in 0..matrices.first().map_or(0, Matrix::blocks) {
            for (text, matrix) in self.texts.iter().zip(&mut matrices) {
                let rows = matrix.rows();
                self.text(
                    simd,
                    text,
                    block,
                    rows,
                    matrix.block_mut(block),
                    &mut buffers,
                );
            }
        }
        Ok(matrices)
    }
}

/// Memory for a block of lanes.
struct Buffers<T> {
    chunk: Aligned<f64>,
    part: Aligned<f64>,
    state: Aligned<T>,
    wide: Aligned<f64>,
}

impl<T: Vector> Buffers<T> {
    fn new(tuple: usize) -> Result<Buffers<T>> {
        Ok(Buffers {
            chunk: Aligned::zeros(block_size(tuple, tuple))?,
            part: Aligned::zeros(block_size(tuple, tuple))?,
            state: Aligned::zeros(block_size(tuple, tuple))?,
            wide: Aligned::zeros(block_size(tuple, tuple))?,
        })
    }
}

impl<T: Vector> Leaves<'_, T> {
    /// The first `rows` rows of a text's matrix in the lanes of a block.
    #[inline(always)]
    fn text<S: Simd>(
        &self,
        simd: S,
        text: &Text,
        block: usize,
        rows: usize,
        made: &mut [f64],
        buffers: &mut Buffers<T>,
    ) {
        let (part, state, wide) = (
            buffers.part.get_mut(),
            buffers.state.get_mut(),
            buffers.wide.get_mut(),
        );
        let tuple = self.tuple;
        for (i, parts) in text.chunks().enumerate() {
            let chunk_rows = if i == 0 { rows } else { tuple };
            let chunk = &mut buffers.chunk.get_mut()[..block_size(tuple, chunk_rows)];
            for (j, words) in parts.enumerate() {
                if j == 0 {
                    self.part(simd, words, block, chunk_rows, chunk, (state, wide));
                } else {
                    self.part(simd, words, block, tuple, part, (state, wide));
                    append_block(simd, chunk, part, tuple, chunk_rows, block);
                }
            }
            if i == 0 {
                made.copy_from_slice(chunk);
            } else {
                append_block(simd, made, chunk, tuple, rows, block);
            }
        }
    }

    /// The first `rows` rows of a part's matrix in the lanes of a block.
    #[inline(always)]
    fn part<S: Simd>(
        &self,
        simd: S,
        [words, left_over]: [&[u32]; 2],
        block: usize,
        rows: usize,
        made: &mut [f64],
        (state, wide): (&mut [T], &mut [f64]),
    ) {
        let lanes = lanes_of::<T, S>();
        let entries = entries(self.tuple, rows);
        let state = &mut state[..entries * 2 * lanes];
        let made = made.chunks_exact_mut(entries * 2 * lanes);
        for (vector, made) in made.enumerate() {
            state.fill(T::from_f64(0.0));
            let with = self.operators.of::<S>(words, block, vector);
            advance_rows(simd, self.tuple, rows, with, state);
            if !left_over.is_empty() {
                let with = self.letters.of::<S>(left_over, block, vector);
                advance_rows(simd, self.tuple, rows, with, state);
            }
            for (wide, value) in wide.iter_mut().zip(&*state) {
                *wide = value.to_f64();
            }
            // A vector of `f32` is two of `f64`.
            let wide: &[S::f64s] = bytemuck::cast_slice(&wide[..state.len()]);
            let made: &mut [S::f64s] = bytemuck::cast_slice_mut(made);
            let vectors = made.len() / (entries * 2);
            for (i, made) in made.chunks_exact_mut(entries * 2).enumerate() {
                for (made, wide) in made.iter_mut().zip(wide.chunks_exact(vectors)) {
                    *made = wide[i];
                }
            }
        }
    }
}
