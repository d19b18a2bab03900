//! The CPU's versions, in integers of 64 bits, and what all others have to agree with.

use anyhow::{Result, ensure};
use gridstride::tensor_sketch::{Tables, binomial};
use ladder_kernels::tensor_sketch::{DIM, LETTERS, TUPLE};
use num_traits::{WrappingAdd, WrappingMul};
use rayon::prelude::*;

use super::letters::Letters;

/// The longest sequence of which all numbers are below 2⁶³: C(121977, 4).
const LONGEST_OF_64_BITS: usize = 121_977;

/// The longest one of which all are below 2¹²⁷: its letters take 7 GiB.
const LONGEST: usize = 7_993_834_872;

/// T\[0\] to T\[t\].
type Rows<T> = [[T; DIM]; TUPLE + 1];

/// The integers of sketches, which wrap around.
pub trait Integer: Copy + Send + From<i64> + WrappingAdd + WrappingMul {}
impl Integer for i64 {}
impl Integer for i128 {}

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

fn start<T: Integer>() -> Rows<T> {
    let mut rows = [[0.into(); DIM]; TUPLE + 1];
    rows[0][0] = 1.into();
    rows
}

/// V0: as the definition reads.
pub fn modulo(letters: &Letters, entries: &Entries) -> Vec<i64> {
    let sketch = |sequence: &[u8]| {
        let mut rows = start::<i64>();
        for &letter in sequence {
            let letter = usize::from(letter);
            for k in (0..TUPLE).rev() {
                let (hash, sign) = (entries.hashes[letter][k], entries.signs[letter][k]);
                for l in 0..DIM {
                    let to = (l + hash) % DIM;
                    rows[k + 1][to] = sum(rows[k + 1][to], sign, rows[k][l]);
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
pub fn on_all_cores<T: Integer>(letters: &Letters, entries: &Entries) -> Vec<T> {
    let sequences = (0..letters.count()).into_par_iter();
    let sketches = sequences.flat_map_iter(|index| sketch(letters.sequence(index), entries));
    sketches.collect()
}

fn sketch<T: Integer>(sequence: &[u8], entries: &Entries) -> [T; DIM] {
    let mut rows = start::<T>();
    for &letter in sequence {
        let letter = usize::from(letter);
        for k in (0..TUPLE).rev() {
            let (hash, sign) = (entries.hashes[letter][k], entries.signs[letter][k]);
            let sign = T::from(sign);
            for l in 0..DIM {
                let mut to = l + hash;
                if to >= DIM {
                    to -= DIM;
                }
                rows[k + 1][to] = sum(rows[k + 1][to], sign, rows[k][l]);
            }
        }
    }
    rows[TUPLE]
}

/// Beyond 121 977 letters numbers of 64 bits wrap around, as numpy's do: modulo 2⁶⁴ they are right.
#[inline(always)]
fn sum<T: Integer>(sum: T, sign: T, number: T) -> T {
    sum.wrapping_add(&sign.wrapping_mul(&number))
}

/// The expected sketches.
pub struct Expected {
    sketches: Vec<i128>,
    /// The sums of the magnitudes of what each number sums up: the sketches with all signs 1.
    magnitudes: Vec<i128>,
    lengths: Vec<usize>,
}

impl Expected {
    /// # Errors
    /// If a sequence is so long that its numbers need not be within 128 bits.
    pub fn new(letters: &Letters, entries: &Entries) -> Result<Expected> {
        let longest = letters.longest();
        ensure!(
            longest <= LONGEST,
            "the longest sequence has {longest} letters: beyond {LONGEST} its sketch is not within 128 bits, which it is compared with"
        );
        let exact = |entries: &Entries| match longest <= LONGEST_OF_64_BITS {
            true => {
                let numbers = on_all_cores::<i64>(letters, entries).into_iter();
                numbers.map(i128::from).collect()
            }
            false => on_all_cores::<i128>(letters, entries),
        };
        let unsigned = Entries {
            signs: [[1; TUPLE]; LETTERS],
            ..entries.clone()
        };
        Ok(Expected {
            sketches: exact(entries),
            magnitudes: exact(&unsigned),
            lengths: letters.iter().map(<[u8]>::len).collect(),
        })
    }

    /// Integers have to be the same, modulo 2⁶⁴.
    pub fn check_exact(&self, found: &[i64]) -> Result<String> {
        self.check(found.len(), |i| found[i] == self.sketches[i] as i64)?;
        let wrapped = (self.lengths.iter()).filter(|length| **length > LONGEST_OF_64_BITS);
        Ok(match wrapped.count() {
            0 => String::new(),
            count => format!("{count} sequences are right modulo 2⁶⁴: i64 wraps around"),
        })
    }

    /// Letter by letter in `f32`: what a tuple adds goes through one rounding a letter at most,
    /// whatever rows it passes through, and one more for each row: γ(n + t)·Σ|terms|,
    /// γ(m) = m·u / (1 − m·u), u = 2⁻²⁴.
    ///
    /// V3 to V5 add in `f64` and round the sum to `f32`: another rounding of 2⁻⁵³ a letter, which
    /// the t·u cover up to 2³⁰ letters.
    pub fn check_rounded(&self, found: &[f32]) -> Result<String> {
        self.check_within(found, |i, length| {
            gamma(length + TUPLE) * self.magnitudes[i] as f64
        })
    }

    /// In the Fourier domain what a tuple adds goes through at most three roundings a letter, those
    /// of complex products and sums, and fewer than a thousand where pieces are composed and
    /// transformed back, which spreads errors over the sketch: γ(3n + 1000)·C(n, t), twice for the
    /// two parts of complex numbers.
    pub fn check_transformed(&self, found: &[f32]) -> Result<String> {
        self.check_within(found, |_, length| {
            let tuples = binomial(length as u64, TUPLE as u64);
            2.0 * gamma(3 * length + 1000) * tuples
        })
    }

    /// Numbers may be off by a bound, given by their index and the length of their sequence.
    fn check_within(&self, found: &[f32], bound: impl Fn(usize, usize) -> f64) -> Result<String> {
        let bound = |i: usize| bound(i, self.lengths[i / DIM]);
        self.check(found.len(), |i| self.error(found, i) <= bound(i))?;
        // A bound that everything keeps to says nothing.
        let is_open = |sequence: &usize| bound(sequence * DIM) == f64::INFINITY;
        Ok(match (0..self.lengths.len()).filter(is_open).count() {
            0 => String::new(),
            1 => "1 sequence is too long for a bound of its errors".to_owned(),
            count => format!("{count} sequences are too long for a bound of their errors"),
        })
    }

    fn error(&self, found: &[f32], i: usize) -> f64 {
        // As integers of 128 bits: the expected number need not be one of f64.
        match found[i].is_finite() {
            true => {
                let difference = (found[i] as i128).checked_sub(self.sketches[i]);
                let difference = difference.map_or(f64::INFINITY, |d| d.unsigned_abs() as f64);
                difference + f64::from(found[i].fract().abs())
            }
            false => f64::NAN,
        }
    }

    fn check(&self, found: usize, is_right: impl Fn(usize) -> bool) -> Result<()> {
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
        Ok(())
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
        let letters = Letters::random(7, 300, false, 5).unwrap();
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
        let wide: Vec<i128> = on_all_cores(&letters, &entries);
        assert!(
            wide.iter()
                .zip(&expected)
                .all(|(a, b)| *a == i128::from(*b))
        );
        assert_eq!(on_all_cores::<i64>(&letters, &entries), expected);
    }
}
