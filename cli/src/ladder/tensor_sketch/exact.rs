//! The CPU's versions, in integers of 64 bits, and what all others have to agree with.

use anyhow::{Result, ensure};
use gridstride::tensor_sketch::{Tables, binomial};
use ladder_kernels::tensor_sketch::{DIM, LETTERS, TUPLE};
use rayon::prelude::*;

use super::letters::Letters;

/// T\[0\] to T\[t\].
type Rows = [[i64; DIM]; TUPLE + 1];

/// The tables, with the entries of a letter side by side.
#[derive(Clone)]
pub struct Entries {
    pub hashes: [[usize; TUPLE]; LETTERS],
    pub signs: [[i64; TUPLE]; LETTERS],
}

impl Entries {
    pub fn new(tables: &Tables) -> Entries {
        let of = |letter: usize, k| (tables.hash(letter as u8, k), tables.sign(letter as u8, k));
        Entries {
            hashes: std::array::from_fn(|c| std::array::from_fn(|k| of(c, k).0 as usize)),
            signs: std::array::from_fn(|c| std::array::from_fn(|k| of(c, k).1.into())),
        }
    }
}

fn start() -> Rows {
    let mut rows = [[0; DIM]; TUPLE + 1];
    rows[0][0] = 1;
    rows
}

/// V0: as the definition reads.
pub fn modulo(letters: &Letters, entries: &Entries) -> Vec<i64> {
    let sketch = |sequence: &[u8]| {
        let mut rows = start();
        for &letter in sequence {
            let letter = usize::from(letter);
            for k in (0..TUPLE).rev() {
                let (hash, sign) = (entries.hashes[letter][k], entries.signs[letter][k]);
                for l in 0..DIM {
                    rows[k + 1][(l + hash) % DIM] += sign * rows[k][l];
                }
            }
        }
        rows[TUPLE]
    };
    letters.iter().flat_map(sketch).collect()
}

/// V1.
pub fn subtracting(letters: &Letters, entries: &Entries) -> Vec<i64> {
    let sketches = letters
        .iter()
        .flat_map(|sequence| sketch(sequence, entries));
    sketches.collect()
}

/// V2.
pub fn on_all_cores(letters: &Letters, entries: &Entries) -> Vec<i64> {
    let sequences = (0..letters.count()).into_par_iter();
    let sketches = sequences.flat_map_iter(|index| sketch(letters.sequence(index), entries));
    sketches.collect()
}

fn sketch(sequence: &[u8], entries: &Entries) -> [i64; DIM] {
    let mut rows = start();
    for &letter in sequence {
        let letter = usize::from(letter);
        for k in (0..TUPLE).rev() {
            let (hash, sign) = (entries.hashes[letter][k], entries.signs[letter][k]);
            for l in 0..DIM {
                let mut to = l + hash;
                if to >= DIM {
                    to -= DIM;
                }
                rows[k + 1][to] += sign * rows[k][l];
            }
        }
    }
    rows[TUPLE]
}

/// What the sketches have to be.
pub struct Expected {
    sketches: Vec<i64>,
    /// The sums of the magnitudes of what each number sums up: the sketches with all signs 1.
    magnitudes: Vec<i64>,
    lengths: Vec<usize>,
}

impl Expected {
    pub fn new(letters: &Letters, entries: &Entries) -> Expected {
        let unsigned = Entries {
            signs: [[1; TUPLE]; LETTERS],
            ..entries.clone()
        };
        Expected {
            sketches: on_all_cores(letters, entries),
            magnitudes: on_all_cores(letters, &unsigned),
            lengths: letters.iter().map(<[u8]>::len).collect(),
        }
    }

    /// Integers have to be the same.
    pub fn check_exact(&self, found: &[i64]) -> Result<String> {
        self.check(found.len(), |i| found[i] == self.sketches[i])
    }

    /// Letter by letter in `f32`: what a tuple adds goes through one rounding a letter at most,
    /// whatever rows it passes through, and one more for each row: γ(n + t)·Σ|terms|,
    /// γ(m) = m·u / (1 − m·u), u = 2⁻²⁴.
    pub fn check_rounded(&self, found: &[f32]) -> Result<String> {
        self.check(found.len(), |i| {
            let gamma = gamma(self.lengths[i / DIM] + TUPLE);
            self.error(found, i) <= gamma * self.magnitudes[i] as f64
        })
    }

    /// In the Fourier domain what a tuple adds goes through at most three roundings a letter, those
    /// of complex products and sums, and fewer than a thousand where pieces are composed and
    /// transformed back, which spreads errors over the sketch: γ(3n + 1000)·C(n, t), twice for the
    /// two parts of complex numbers.
    pub fn check_transformed(&self, found: &[f32]) -> Result<String> {
        self.check(found.len(), |i| {
            let length = self.lengths[i / DIM];
            let tuples = binomial(length as u64, TUPLE as u64);
            self.error(found, i) <= 2.0 * gamma(3 * length + 1000) * tuples
        })
    }

    fn error(&self, found: &[f32], i: usize) -> f64 {
        // As integers of 128 bits: the expected number need not be one of f64.
        match found[i].is_finite() {
            true => {
                (found[i] as i128 - i128::from(self.sketches[i])).unsigned_abs() as f64
                    + f64::from(found[i].fract().abs())
            }
            false => f64::NAN,
        }
    }

    fn check(&self, found: usize, is_right: impl Fn(usize) -> bool) -> Result<String> {
        let numbers = self.sketches.len();
        ensure!(found == numbers, "there are {found} numbers, not {numbers}");
        for i in 0..numbers {
            ensure!(
                is_right(i),
                "number {} of sketch {} is not {}, nor near enough",
                i % DIM,
                i / DIM,
                self.sketches[i]
            );
        }
        Ok(String::new())
    }
}

fn gamma(roundings: usize) -> f64 {
    let sum = roundings as f64 * f64::from(f32::EPSILON) / 2.0;
    match sum < 1.0 {
        true => sum / (1.0 - sum),
        false => f64::INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use gridstride::tensor_sketch::reference;
    use ndarray::ArrayView1;

    use super::*;

    #[test]
    fn integers_give_what_the_reference_of_the_library_gives() {
        let tables = Tables::from_seed(LETTERS, TUPLE, DIM, 5).unwrap();
        let entries = Entries::new(&tables);
        let letters = Letters::random(7, 300, false, 5);
        let expected: Vec<i64> = letters
            .iter()
            .flat_map(|sequence| {
                let rows = reference::tensor_sketch(ArrayView1::from(sequence), &tables);
                let sketch: Vec<i64> = rows
                    .row(TUPLE)
                    .iter()
                    .map(|number| *number as i64)
                    .collect();
                sketch
            })
            .collect();
        assert_eq!(modulo(&letters, &entries), expected);
        assert_eq!(subtracting(&letters, &entries), expected);
        assert_eq!(on_all_cores(&letters, &entries), expected);
    }
}
