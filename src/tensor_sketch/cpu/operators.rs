//! Operators: the matrices S of all words of a few letters.

use pulp::{Arch, Simd, WithSimd};

use super::aligned::Aligned;
use super::kernel::{MAX_DEPTH, Words, operator_start};
use super::matrix::{BLOCK, squares};
use super::vector::{Vector, lanes_of};
use crate::Result;
use crate::device::reserve;
use crate::tensor_sketch::fourier::{LONGEST_WORD, lanes, letter_value, roots};
use crate::tensor_sketch::tables::Tables;

/// What the operators of one vector may take of the cache that belongs to a core, in bytes.
const MOST_BYTES: usize = 512 << 10;

/// A table of operators must not take more work than this part of the text that it is for.
const SHARE: usize = 4;

/// The number of letters per word for a text of `length` letters: the more, the fewer steps, each of
/// which has more to do only until words are as long as tuples.
///
/// It depends on nothing else, so that a sketch does not depend on what else is sketched with it.
pub(super) fn word_letters(tables: &Tables, length: usize) -> usize {
    let (alphabet_size, tuple) = (tables.alphabet_size(), tables.tuple_length());
    let longest = if tuple <= MAX_DEPTH {
        LONGEST_WORD
    } else {
        MAX_DEPTH
    };
    let fits = |letters: usize| {
        let words = alphabet_size.saturating_pow(letters as u32);
        let bytes = words.saturating_mul(operator_bytes(tuple, letters));
        bytes <= MOST_BYTES && words.saturating_mul(SHARE) <= length
    };
    (2..=longest)
        .rev()
        .find(|&letters| fits(letters))
        .unwrap_or(1)
}

/// Bytes of an operator in a vector of 64 bytes.
fn operator_bytes(tuple: usize, letters: usize) -> usize {
    operator_start(tuple + 1, depth(tuple, letters)) * 2 * 64
}

/// The largest distance from the diagonal at which operators of words have entries.
fn depth(tuple: usize, letters: usize) -> usize {
    tuple.min(letters)
}

/// Real and imaginary parts in the lanes of a block.
type Entry = [[f64; BLOCK]; 2];

/// The operators of all words of `letters` letters, in `T`.
pub(super) struct Operators<T> {
    pub letters: usize,
    alphabet_size: usize,
    depth: usize,
    entries: usize,
    /// Vector of lanes after vector, in each word after word, in each entry after entry, in each
    /// the real and the imaginary parts.
    values: Aligned<T>,
    squares: Aligned<T>,
}

impl<T: Vector> Operators<T> {
    /// # Errors
    /// [`Error::Allocation`](crate::Error::Allocation).
    pub fn new(arch: Arch, tables: &Tables, letters: usize) -> Result<Operators<T>> {
        let depth = depth(tables.tuple_length(), letters);
        let entries = operator_start(tables.tuple_length() + 1, depth);
        let words = tables.alphabet_size().pow(letters as u32);
        let blocks = lanes(tables.dim()).div_ceil(BLOCK);
        let mut operators = Operators {
            letters,
            alphabet_size: tables.alphabet_size(),
            depth,
            entries,
            values: Aligned::zeros(blocks * words * entries * 2 * BLOCK)?,
            squares: Aligned::zeros(BLOCK)?,
        };
        for (target, value) in operators.squares.get_mut().iter_mut().zip(squares(0)) {
            *target = T::from_f64(value);
        }
        let roots = roots(tables.dim());
        for (block, values) in operators
            .values
            .get_mut()
            .chunks_exact_mut(words * entries * 2 * BLOCK)
            .enumerate()
        {
            arch.dispatch(Fill {
                tables,
                roots: &roots,
                letters,
                depth,
                block,
                values,
            })?;
        }
        Ok(operators)
    }

    /// The numbers of the words that `codes` consist of, without the letters left over at the end.
    pub fn words(&self, codes: &[u8], words: &mut Vec<u32>) {
        words.extend(codes.chunks_exact(self.letters).map(|word| {
            let digits = word.iter().map(|&code| u32::from(code));
            digits.fold(0, |number, digit| {
                number * self.alphabet_size as u32 + digit
            })
        }));
    }

    /// What multiplies with the operators of `words` in vector number `vector` of block `block`.
    #[inline(always)]
    pub fn of<'a, S: Simd>(
        &'a self,
        words: &'a [u32],
        block: usize,
        vector: usize,
    ) -> Words<'a, T> {
        let vectors = BLOCK / lanes_of::<T, S>();
        let values = self.values.get();
        let size = values.len() / (vectors * self.blocks());
        Words {
            words,
            operators: &values[(block * vectors + vector) * size..][..size],
            entries: self.entries,
            depth: self.depth,
            squares: (block == 0 && vector == 0).then(|| self.squares.get()),
        }
    }

    fn blocks(&self) -> usize {
        let words = self.alphabet_size.pow(self.letters as u32);
        self.values.get().len() / (words * self.entries * 2 * BLOCK)
    }
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

impl<T: Vector> WithSimd for Fill<'_, T> {
    type Output = Result<()>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Result<()> {
        let (tuple, depth) = (self.tables.tuple_length(), self.depth);
        let entries = operator_start(tuple + 1, depth);
        let place = |a: usize, b: usize| operator_start(tuple - a, depth) + b - a - 1;
        let squares = squares(self.block);
        let letter_values = letter_values(self.tables, self.roots, self.block);

        // One letter more at a time: P_{a,b}(wc) = P_{a,b}(w) + P_{a,b−1}(w) · value of c in row b−1.
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
        let vectors = BLOCK / lanes;
        let of_vectors = self.values.chunks_exact_mut(operators.len() * 2 * lanes);
        for (vector, target) in of_vectors.enumerate() {
            debug_assert!(vector < vectors);
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

/// Adds a letter's value times what there is in the row before; one if that is nothing.
#[inline(always)]
fn add_step(entry: &mut Entry, before: Option<&Entry>, value: &Entry, squares: &[f64; BLOCK]) {
    for lane in 0..BLOCK {
        let [u, v] = value.map(|part| part[lane]);
        let [x, y] = before.map_or([1.0, 0.0], |before| before.map(|part| part[lane]));
        entry[0][lane] += x * u + squares[lane] * y * v;
        entry[1][lane] += x * v + y * u;
    }
}

/// The values of all letters' steps in the lanes of a block, t for each letter; 0 in lanes that
/// there are not.
fn letter_values(tables: &Tables, roots: &[[f64; 2]], block: usize) -> Vec<Entry> {
    let mut values = Vec::new();
    for letter in 0..tables.alphabet_size() {
        for k in 0..tables.tuple_length() {
            let mut entry = [[0.0; BLOCK]; 2];
            let there_are = (block * BLOCK..lanes(tables.dim())).take(BLOCK);
            for (place, lane) in there_are.enumerate() {
                let [real, imaginary] = letter_value(tables, roots, letter as u8, k, lane);
                entry[0][place] = real;
                entry[1][place] = imaginary;
            }
            values.push(entry);
        }
    }
    values
}
