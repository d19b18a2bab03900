//! Operators: the matrices S of all words of a few letters.

use gridstride_runtime::Result;
use gridstride_runtime::device::reserve;
use pulp::Arch;

use super::instructions::{Instructions, Task, dispatch};
use super::kernel::{MAX_DEPTH, Words, operator_start};
use super::matrix::{BLOCK, squares};
use super::vector::{Aligned, Vector, lanes_of};
use crate::fourier::{LONGEST_WORD, lanes, letter_value, roots};
use crate::tables::Tables;

/// The most bytes of one vector's operators: a share of the cache of a core.
const MOST_BYTES: usize = 512 << 10;

/// The fewest letters of a text per word of its table of operators, so that making the table takes
/// a small part of the time.
const LETTERS_PER_WORD: usize = 4;

/// Returns the number of letters per word for a text of `length` letters. Longer words take fewer
/// steps, and a step takes longer only until words are as long as tuples.
///
/// The result depends on nothing else, so a sketch does not depend on other sequences.
pub(super) fn word_letters(tables: &Tables, length: usize) -> usize {
    let (alphabet_size, tuple) = (tables.alphabet_size(), tables.tuple_length());
    let longest = if tuple <= MAX_DEPTH {
        LONGEST_WORD
    } else {
        MAX_DEPTH
    };
    let fits = |letters: &usize| {
        let words = alphabet_size.saturating_pow(*letters as u32);
        // A vector has 64 bytes.
        let bytes = operator_start(tuple + 1, tuple.min(*letters)) * 2 * 64;
        words.saturating_mul(bytes) <= MOST_BYTES
            && words.saturating_mul(LETTERS_PER_WORD) <= length
    };
    (2..=longest).rev().find(fits).unwrap_or(1)
}

/// Real and imaginary parts in the lanes of a block.
type Entry = [[f64; BLOCK]; 2];

/// The operators of all words of `letters` letters, in `T`.
pub(super) struct Operators<T> {
    pub letters: usize,
    alphabet_size: usize,
    /// The largest distance from the diagonal of an entry.
    pub depth: usize,
    /// The number of entries of an operator.
    entries: usize,
    /// The number of words.
    words: usize,
    /// By vector of lanes, then by word, then by entry, then real before imaginary parts.
    values: Aligned<T>,
    squares: Aligned<T>,
}

impl<T: Vector> Operators<T> {
    pub fn new(arch: Arch, tables: &Tables, letters: usize) -> Result<Operators<T>> {
        let depth = tables.tuple_length().min(letters);
        let entries = operator_start(tables.tuple_length() + 1, depth);
        let words = tables.alphabet_size().pow(letters as u32);
        let blocks = lanes(tables.dim()).div_ceil(BLOCK);
        let block_size = words * entries * 2 * BLOCK;
        let mut values = Aligned::zeros(blocks * block_size)?;
        let mut squares_of_lanes = Aligned::zeros(BLOCK)?;
        for (target, value) in squares_of_lanes.get_mut().iter_mut().zip(squares(0)) {
            *target = T::from_f64(value);
        }
        let roots = roots(tables.dim());
        let of_blocks = values.get_mut().chunks_exact_mut(block_size);
        for (block, values) in of_blocks.enumerate() {
            dispatch(
                arch,
                Fill {
                    tables,
                    roots: &roots,
                    letters,
                    depth,
                    block,
                    values,
                },
            )?;
        }
        Ok(Operators {
            letters,
            alphabet_size: tables.alphabet_size(),
            depth,
            entries,
            words,
            values,
            squares: squares_of_lanes,
        })
    }

    /// Appends the indices of the words of `codes` to `words`, without the last letters if they do
    /// not fill a word.
    pub fn words(&self, codes: &[u8], words: &mut Vec<u32>) {
        macro_rules! select {
            ($($letters:literal)*) => {
                match self.letters {
                    $($letters => push_words::<$letters>(self.alphabet_size, codes, words),)*
                    letters => unreachable!("no words of {letters} letters"),
                }
            };
        }
        const { assert!(LONGEST_WORD == 8) };
        select! { 1 2 3 4 5 6 7 8 }
    }

    /// Returns the operators of `words` in one vector of a block.
    #[inline(always)]
    pub fn of<'a, S: Instructions>(
        &'a self,
        words: &'a [u32],
        block: usize,
        vector: usize,
    ) -> Words<'a, T> {
        let lanes = lanes_of::<T, S>();
        let size = self.words * self.entries * 2 * lanes;
        Words {
            words,
            operators: &self.values.get()[(block * (BLOCK / lanes) + vector) * size..][..size],
            entries: self.entries,
            depth: self.depth,
            squares: (block == 0 && vector == 0).then(|| self.squares.get()),
        }
    }
}

fn push_words<const LETTERS: usize>(alphabet_size: usize, codes: &[u8], words: &mut Vec<u32>) {
    let (whole, _) = codes.as_chunks::<LETTERS>();
    words.extend(whole.iter().map(|word| {
        let digits = word.iter().map(|&code| u32::from(code));
        digits.fold(0, |number, digit| number * alphabet_size as u32 + digit)
    }));
}

/// Computes the operators of a block in `f64`, and rounds them.
struct Fill<'a, T> {
    tables: &'a Tables,
    roots: &'a [[f64; 2]],
    letters: usize,
    depth: usize,
    block: usize,
    values: &'a mut [T],
}

impl<T: Vector> Task for Fill<'_, T> {
    type Output = Result<()>;

    #[inline(always)]
    fn run<S: Instructions>(self, _: S) -> Result<()> {
        let (tuple, depth) = (self.tables.tuple_length(), self.depth);
        let entries = operator_start(tuple + 1, depth);
        let place = |a: usize, b: usize| operator_start(tuple - a, depth) + b - a - 1;
        let squares = squares(self.block);
        let letter_values = letter_values(self.tables, self.roots, self.block);

        // A pass appends a letter: P_{a,b}(wc) = P_{a,b}(w) + P_{a,b−1}(w) · value of c in row b−1.
        let mut operators = vec![[[0.0; BLOCK]; 2]; entries];
        for _ in 0..self.letters {
            let mut longer = Vec::new();
            let length = operators.len() * self.tables.alphabet_size();
            reserve(&mut longer, length)?;
            for operator in operators.chunks_exact(entries) {
                for values in letter_values.chunks_exact(tuple) {
                    let word = longer.len();
                    longer.extend_from_slice(operator);
                    let word = &mut longer[word..];
                    for a in 0..tuple {
                        for b in (a + 1..=tuple.min(a + depth)).rev() {
                            let before = (b - 1 > a).then(|| &operator[place(a, b - 1)]);
                            let entry = &mut word[place(a, b)];
                            add_step(entry, before, &values[b - 1], &squares);
                        }
                    }
                }
            }
            operators = longer;
        }

        let lanes = lanes_of::<T, S>();
        let of_vectors = self.values.chunks_exact_mut(operators.len() * 2 * lanes);
        for (vector, target) in of_vectors.enumerate() {
            let parts = operators.iter().flatten();
            for (target, part) in target.chunks_exact_mut(lanes).zip(parts) {
                for (target, &value) in target.iter_mut().zip(&part[vector * lanes..]) {
                    *target = T::from_f64(value);
                }
            }
        }
        Ok(())
    }
}

/// Adds a letter's value times the entry `before` it in the row, or times one on the diagonal.
#[inline(always)]
fn add_step(entry: &mut Entry, before: Option<&Entry>, value: &Entry, squares: &[f64; BLOCK]) {
    for lane in 0..BLOCK {
        let [u, v] = value.map(|part| part[lane]);
        let [x, y] = before.map_or([1.0, 0.0], |before| before.map(|part| part[lane]));
        entry[0][lane] += x * u + squares[lane] * y * v;
        entry[1][lane] += x * v + y * u;
    }
}

/// Returns the values of all letters' steps in the lanes of a block, t for each letter; 0 in lanes
/// beyond the last one.
fn letter_values(tables: &Tables, roots: &[[f64; 2]], block: usize) -> Vec<Entry> {
    let mut values = Vec::new();
    for letter in 0..tables.alphabet_size() {
        for k in 0..tables.tuple_length() {
            let mut entry = [[0.0; BLOCK]; 2];
            let lanes = (block * BLOCK..lanes(tables.dim())).take(BLOCK);
            for (place, lane) in lanes.enumerate() {
                let [real, imaginary] = letter_value(tables, roots, letter as u8, k, lane);
                entry[0][place] = real;
                entry[1][place] = imaginary;
            }
            values.push(entry);
        }
    }
    values
}
