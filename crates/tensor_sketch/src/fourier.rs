//! The Fourier form of the tensor sketch, as far as it is the same on all devices.
//!
//! # Lanes
//! A row of the recurrence is an element of R\[z\]/(z^D − 1): entry l is the coefficient of z^l,
//! and a roll by h multiplies by z^h. This ring is a product of fields: the real numbers for z = 1,
//! the real numbers for z = −1 if D is even, and the complex numbers for each root of unity
//! exp(−2πi·j/D) with 0 < j < D/2. The recurrence runs independently in ⌈D/2⌉ *lanes*:
//!
//! - Lane j > 0 has the complex value at frequency j.
//! - Lane 0 has both real values, as a + b·z in R\[z\]/(z² − 1). Products differ from complex
//!   products in one sign, z² = 1 instead of i² = −1. For odd D, b = 0.
//!
//! So D real numbers remain D real numbers.
//!
//! # Matrices
//! Let S_{a,b} be row b after a recurrence that starts with a one in row a. For a concatenation,
//! S_{a,b}(xy) = Σ_m S_{a,m}(x) · S_{m,b}(y) in each lane. So the S of a text are a unipotent upper
//! triangular (t+1)×(t+1) matrix, and the matrix of a concatenation is the product of the matrices.
//! Sequences are cut into chunks of [`CHUNK`] letters. Their matrices are computed in parallel, in
//! the precision of the result, and composed in `f64`: up to [`FAN_IN`] neighbours at a time, from
//! left to right, until one is left. The cuts depend only on the sequence, so a sketch does not
//! depend on the other sequences.
//!
//! Rounding errors of a sum grow with its length: a text has few different letters, and adding the
//! same value is rounded in the same direction again and again, so errors add up instead of
//! cancelling. Therefore chunks consist of blocks of at most [`BLOCK`] letters.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_4, SQRT_2};

use gridstride_runtime::Real;

use super::options::{binomial, divisor};
use super::tables::Tables;

/// Letters per chunk.
pub const CHUNK: usize = 2048;

/// The most letters that a device sums one after the other in the type of the result.
pub const BLOCK: usize = 512;

/// The most neighbours that are composed at a time.
pub const FAN_IN: usize = 16;

/// Letters per segment: [`FAN_IN`]³ chunks, 8 Mi letters. Longer sequences are computed segment by
/// segment.
pub const SEGMENT: usize = CHUNK * FAN_IN * FAN_IN * FAN_IN;

/// The most letters per word, which one step of the recurrence takes.
pub const LONGEST_WORD: usize = 8;

/// Returns the number of lanes for dimension `dim`.
pub const fn lanes(dim: usize) -> usize {
    dim.div_ceil(2)
}

/// Returns the number of entries above the diagonal of a matrix S, t(t+1)/2.
pub const fn pairs(tuple: usize) -> usize {
    tuple * (tuple + 1) / 2
}

/// Returns exp(−2πi·k/D) for k = 0, …, D − 1, as (real, imaginary), correct but for the last bit.
pub fn roots(dim: usize) -> Vec<[f64; 2]> {
    let root = |k: usize| {
        // By symmetry, angles of at most π/4 suffice. They are more accurate than large angles, and
        // make conjugate roots exactly conjugate.
        let eighths = 8 * k;
        let (octant, rest) = (eighths / dim, eighths % dim);
        let angle = |part: usize| FRAC_PI_4 * part as f64 / dim as f64;
        let (sin, cos) = match octant % 2 {
            0 => angle(rest).sin_cos(),
            _ if rest == 0 => (FRAC_1_SQRT_2, FRAC_1_SQRT_2),
            _ => {
                let (sin, cos) = angle(dim - rest).sin_cos();
                (cos, sin)
            }
        };
        // Now (cos, sin) belong to the angle from the last multiple of π/2.
        match octant / 2 {
            0 => [cos, -sin],
            1 => [-sin, -cos],
            2 => [-cos, sin],
            _ => [sin, cos],
        }
    };
    (0..dim).map(root).collect()
}

/// Returns the factor of a letter's step from row `k` in a lane: sign · z^hash.
pub fn letter_value(
    tables: &Tables,
    roots: &[[f64; 2]],
    letter: u8,
    k: usize,
    lane: usize,
) -> [f64; 2] {
    let hash = tables.hash(letter, k) as usize;
    let sign = f64::from(tables.sign(letter, k));
    if lane > 0 {
        let [x, y] = roots[hash * lane % tables.dim()];
        return [sign * x, sign * y];
    }
    match tables.dim().is_multiple_of(2) && hash % 2 == 1 {
        false => [sign, 0.0],
        true => [0.0, sign],
    }
}

/// The conversion of a sum over lanes to an entry of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finish {
    /// The inverse transform's factor, 2/D.
    pub factor: f64,
    /// Whether rounding to a whole number makes the entry exact: its error is below 1/2.
    pub whole: bool,
    /// C(n, k) if the sketch is normalised, else 1.
    pub divisor: f64,
}

impl Finish {
    /// Returns the conversion for row `k` of a sequence of `length` letters, computed in `T`.
    pub fn new<T: Real>(tables: &Tables, length: u64, k: usize, normalize: bool) -> Finish {
        Finish::after::<T>(0, tables, length, k, normalize)
    }

    /// As [`new`](Self::new), with `products` products besides those that compose the chunks.
    pub fn after<T: Real>(
        products: usize,
        tables: &Tables,
        length: u64,
        k: usize,
        normalize: bool,
    ) -> Finish {
        let tuples = binomial(length, k as u64);
        // Each section of a tuple may take part in all products.
        let tuple = tables.tuple_length();
        let more = (tuple * products * (2 * tuple + 2)) as f64;
        let bound = error_bound::<T>(tables.dim(), tuple, length)
            + SQRT_2 * gamma(more, f64::UNIT_ROUNDOFF);
        Finish {
            factor: 2.0 / tables.dim() as f64,
            whole: bound * tuples < 0.5,
            divisor: divisor(normalize, length, k),
        }
    }

    /// Returns the entry.
    pub fn apply(&self, sum: f64) -> f64 {
        let mut entry = sum * self.factor;
        if self.whole {
            // Adding zero makes a negative zero positive.
            entry = entry.round() + 0.0;
        }
        entry / self.divisor
    }
}

/// Returns a bound for the error of each entry of row k before rounding, divided by C(n, k).
///
/// Every tuple adds a number of modulus 1 to a lane: the product of the contributions of its
/// sections to the matrices of blocks. There are at most t sections, in at most t blocks. Within a
/// block a section has at most two roundings per letter, since adding a product to a sum has two in
/// each component; operators of several letters have no more. Each of at most t moves of a tuple
/// has up to two more roundings, of the operator's entry and, without fused operations, of the
/// product. Operators are made in `f64`, with up to three roundings per letter and two for a root
/// of unity. If complex products and sums have relative roundings of at most γ, the error is at
/// most √2·γ times the product of the moduli. A product of matrices has at most 2t + 2 roundings in
/// `f64`; a section takes part in at most [`FAN_IN`] products on each of four levels and in one per
/// segment. The inverse transform has D + 4 roundings as a plain sum, and fewer as a fast
/// transform.
///
/// A GPU has blocks of 32 words of m letters, and composes the 64/m blocks of a chunk in the type
/// of the result, with at most 2t − 1 roundings each. A chunk then has at most
/// 64·m + (64/m − 1)·(2t − 1) roundings, less than the 2·[`BLOCK`] of the bound. A short text has
/// at most two for each letter, and 2t for a last block that is not full.
pub fn error_bound<T: Real>(dim: usize, tuple: usize, length: u64) -> f64 {
    let in_blocks = 2.0 * (length as f64).min((tuple * BLOCK) as f64) + (6 * tuple) as f64;
    let operators = (tuple * (3 * LONGEST_WORD + 2)) as f64;
    let composed = tuple as f64 * (4.0 * FAN_IN as f64 + length as f64 / SEGMENT as f64);
    let in_double = operators + composed * (2 * tuple + 2) as f64 + dim as f64 + 4.0;
    SQRT_2 * (gamma(in_blocks, T::UNIT_ROUNDOFF) + gamma(in_double, f64::UNIT_ROUNDOFF))
}

/// Returns n·u / (1 − n·u), the largest distance from 1 of a product of n factors (1 + δ), |δ| ≤ u.
fn gamma(roundings: f64, unit: f64) -> f64 {
    let product = roundings * unit;
    if product < 0.5 {
        product / (1.0 - product)
    } else {
        f64::INFINITY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_of_unity() {
        for dim in [1, 2, 3, 4, 5, 8, 12, 96, 1000, 4096] {
            let roots = roots(dim);
            for (k, [x, y]) in roots.iter().enumerate() {
                let (sin, cos) = (-2.0 * std::f64::consts::PI * k as f64 / dim as f64).sin_cos();
                let error = (x - cos).abs().max((y - sin).abs());
                assert!(error < 1e-15, "{k} of {dim}");
                let reflected = roots[(dim - k) % dim];
                assert_eq!([*x, -*y], reflected, "{k} of {dim}");
            }
        }
        assert_eq!(roots(4), [[1.0, 0.0], [0.0, -1.0], [-1.0, 0.0], [0.0, 1.0]]);
    }

    #[test]
    fn small_sums_are_whole() {
        let tables = Tables::from_seed(4, 4, 96, 1).unwrap();
        assert!(Finish::new::<f32>(&tables, 10, 4, false).whole);
        assert!(!Finish::new::<f32>(&tables, 1000, 4, false).whole);
        assert!(Finish::new::<f64>(&tables, 1000, 4, false).whole);
        assert_eq!(Finish::new::<f32>(&tables, 3, 4, true).divisor, 1.0);
    }
}
