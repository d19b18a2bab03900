//! The matrices of texts of a few chunks, by section and by block of lanes.

use bytemuck::Zeroable;
use gridstride_runtime::device::reserve;
use gridstride_runtime::{Real, Result};

use super::instructions::{Instructions, Task};
use super::kernel::Advance;
use super::matrix::{AppendBlock, BLOCK, Matrix, block_size, entries};
use super::operators::Operators;
use super::vector::{Aligned, Vector, lanes_of};
use crate::fourier::CHUNK;

/// Computes the matrices of several texts, one block of lanes after the other, so that a block's
/// operators stay in the cache.
pub(super) struct Leaves<'a, T> {
    pub tuple: usize,
    pub texts: Vec<Text>,
    /// The operators of words.
    pub operators: &'a Operators<T>,
    /// The operators of single letters, for letters that do not fill a word.
    pub letters: &'a Operators<T>,
    /// The texts' matrices, initially identities.
    pub matrices: Vec<Matrix>,
}

/// A text as indices of words.
pub(super) struct Text {
    words: Vec<u32>,
    /// For each section the start of its words, and of its words of single letters, in `words`.
    sections: Vec<[usize; 2]>,
    sections_per_chunk: usize,
}

impl Text {
    pub fn new<T: Vector>(
        tuple: usize,
        codes: &[u8],
        operators: &Operators<T>,
        letters: &Operators<T>,
    ) -> Result<Text> {
        // A section has whole words, so only the end of a chunk needs words of single letters.
        let section = section_letters::<T>(tuple, codes.len());
        let section = section.next_multiple_of(operators.letters);
        let mut text = Text {
            words: Vec::new(),
            sections: Vec::new(),
            sections_per_chunk: CHUNK.div_ceil(section),
        };
        let chunks = codes.chunks(CHUNK);
        let sections = codes.len() / section + chunks.len();
        let left_over = chunks.len() * operators.letters;
        reserve(&mut text.words, codes.len() / operators.letters + left_over)?;
        reserve(&mut text.sections, sections + 1)?;
        for section in chunks.flat_map(|chunk| chunk.chunks(section)) {
            let start = text.words.len();
            let left_over = section.len() % operators.letters;
            let (whole, left_over) = section.split_at(section.len() - left_over);
            operators.words(whole, &mut text.words);
            text.sections.push([start, text.words.len()]);
            letters.words(left_over, &mut text.words);
        }
        text.sections.push([text.words.len(); 2]);
        Ok(text)
    }

    /// Returns the words of each section, then its words of single letters, chunk by chunk.
    fn chunks(&self) -> impl Iterator<Item = impl Iterator<Item = [&[u32]; 2]>> {
        let words = |ends: &[[usize; 2]]| {
            let [[start, single], [end, _]] = [ends[0], ends[1]];
            [&self.words[start..single], &self.words[single..end]]
        };
        let count = self.sections.len() - 1;
        let starts = (0..count).step_by(self.sections_per_chunk);
        starts.map(move |start| {
            let end = (start + self.sections_per_chunk).min(count);
            self.sections[start..=end].windows(2).map(words)
        })
    }
}

/// Returns the letters per section of a chunk. Sections are summed in `T` and composed in `f64`
/// like chunks: in `f32`, shorter sections are more accurate. Longer tuples take more work to
/// compose.
fn section_letters<T: Vector>(tuple: usize, length: usize) -> usize {
    let double = T::UNIT_ROUNDOFF == f64::UNIT_ROUNDOFF;
    match (tuple, length) {
        _ if double => CHUNK,
        // Not worth composing.
        (_, 0..=512) => 512,
        (0..=4, _) => 128,
        _ => 256,
    }
}

impl<T: Vector> Task for Leaves<'_, T> {
    type Output = Result<Vec<Matrix>>;

    #[inline(always)]
    fn run<S: Instructions>(mut self, simd: S) -> Result<Vec<Matrix>> {
        let mut matrices = std::mem::take(&mut self.matrices);
        let size = block_size(self.tuple, self.tuple);
        let mut buffers = Buffers {
            chunk: Aligned::zeros(size)?,
            section: Aligned::zeros(size)?,
            state: Aligned::zeros(size)?,
        };
        let [first, all] = [1, self.tuple].map(|rows| Rows::new(simd, &self, rows));
        for block in 0..matrices.first().map_or(0, |matrix| matrix.blocks) {
            for (text, matrix) in self.texts.iter().zip(&mut matrices) {
                let kept = if matrix.rows == 1 { &first } else { &all };
                self.text([kept, &all], text, block, matrix, &mut buffers);
            }
        }
        Ok(matrices)
    }
}

/// Memory for a block of lanes.
struct Buffers<T> {
    chunk: Aligned<f64>,
    section: Aligned<f64>,
    state: Aligned<T>,
}

/// The steps that compute the first row of a matrix, or all rows.
struct Rows<T, S> {
    rows: usize,
    words: Advance<T, S>,
    letters: Advance<T, S>,
    append: AppendBlock<S>,
}

impl<T: Vector, S: Instructions> Rows<T, S> {
    fn new(simd: S, leaves: &Leaves<T>, rows: usize) -> Rows<T, S> {
        let tuple = leaves.tuple;
        Rows {
            rows,
            words: Advance::new(simd, tuple, rows, leaves.operators.depth),
            letters: Advance::new(simd, tuple, rows, leaves.letters.depth),
            append: AppendBlock::new(simd, tuple, rows),
        }
    }
}

impl<T: Vector> Leaves<'_, T> {
    /// Computes the stored rows of a text's matrix in the lanes of a block.
    #[inline(always)]
    fn text<S: Instructions>(
        &self,
        [kept, all]: [&Rows<T, S>; 2],
        text: &Text,
        block: usize,
        matrix: &mut Matrix,
        buffers: &mut Buffers<T>,
    ) {
        let section = buffers.section.get_mut();
        let state = buffers.state.get_mut();
        let made = matrix.block_mut(block);
        for (i, sections) in text.chunks().enumerate() {
            let of_chunk = if i == 0 { kept } else { all };
            let chunk = &mut buffers.chunk.get_mut()[..block_size(self.tuple, of_chunk.rows)];
            for (j, words) in sections.enumerate() {
                if j == 0 {
                    self.section(of_chunk, words, block, chunk, state);
                } else {
                    self.section(all, words, block, section, state);
                    of_chunk.append.run(chunk, section, block);
                }
            }
            if i == 0 {
                made.copy_from_slice(chunk);
            } else {
                kept.append.run(made, chunk, block);
            }
        }
    }

    /// Computes rows of a section's matrix in the lanes of a block.
    #[inline(always)]
    fn section<S: Instructions>(
        &self,
        rows: &Rows<T, S>,
        [words, left_over]: [&[u32]; 2],
        block: usize,
        made: &mut [f64],
        state: &mut [T],
    ) {
        let lanes = lanes_of::<T, S>();
        let entries = entries(self.tuple, rows.rows);
        let state = &mut state[..entries * 2 * lanes];
        let size = state.len();
        for vector in 0..BLOCK / lanes {
            let made = &mut made[vector * size..][..size];
            state.fill(T::from_f64(0.0));
            let with = self.operators.of::<S>(words, block, vector);
            rows.words.run(&with, state);
            if !left_over.is_empty() {
                let with = self.letters.of::<S>(left_over, block, vector);
                rows.letters.run(&with, state);
            }
            // A vector of `f32` becomes two vectors of `f64`, each with all entries.
            let made: &mut [S::F64] = bytemuck::cast_slice_mut(made);
            let parts = entries * 2;
            for part in 0..parts {
                for half in 0..lanes / lanes_of::<f64, S>() {
                    let mut vector = [S::F64::zeroed()];
                    let numbers: &mut [f64] = bytemuck::cast_slice_mut(&mut vector);
                    let start = part * lanes + half * lanes_of::<f64, S>();
                    let values = &state[start..start + lanes_of::<f64, S>()];
                    for (number, value) in numbers.iter_mut().zip(values) {
                        *number = value.to_f64();
                    }
                    made[half * parts + part] = vector[0];
                }
            }
        }
    }
}
