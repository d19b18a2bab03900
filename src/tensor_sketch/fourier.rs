//! The Fourier form of the tensor sketch: what all devices have in common.
//!
//! # Lanes
//! A row of the recurrence is an element of R\[z\]/(z^D − 1): entry l is the coefficient of z^l, a
//! roll by h the product with z^h. That ring is a product of fields: the real numbers for z = 1, the
//! real numbers for z = −1 if D is even, and the complex numbers for each root of unity
//! exp(−2πi·j/D) with 0 < j < D/2. In each of them the recurrence runs by itself, which makes a
//! *lane*; there are ⌈D/2⌉:
//!
//! - lane j > 0 holds the complex value at frequency j;
//! - lane 0 holds the two real ones together, as a + b·z in R\[z\]/(z² − 1). The product of two such
//!   numbers differs from that of complex ones in one sign, z² = 1 instead of i² = −1. For odd D it
//!   has only the value at frequency 0, and b = 0.
//!
//! So no lane idles, and D real numbers stay D real numbers.
//!
//! # Pieces
//! Let S_{a,b} be the sketch from row a to row b: what the recurrence makes of row b when it starts
//! with a one in row a. For a concatenation, S_{a,b}(xy) = Σ_m S_{a,m}(x) · S_{m,b}(y) in each lane,
//! so the S of a piece of text form a unipotent upper triangular (t+1)×(t+1) matrix, and pieces are
//! composed by multiplying their matrices. Sequences are cut into chunks of [`CHUNK`] letters, whose
//! matrices are computed side by side, in the precision of the result, and composed in `f64`: up to
//! [`FAN_IN`] neighbours at a time, from left to right, until one is left. Where the cuts lie depends
//! on the sequence alone, so a sketch does not depend on what else is sketched with it.
//!
//! Short chunks also keep rounding errors small, in proportion to their length: a sum lies on the
//! grid of its last bit, where adding the same value is always off by the same. A text has few
//! different letters, so that errors add up instead of cancelling, within a chunk and from chunk to
//! chunk. So chunks are made of blocks of at most [`BLOCK`] letters.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_4, SQRT_2};

use super::options::{binomial, divisor};
use super::tables::Tables;
use crate::Real;

/// Letters per chunk.
pub const CHUNK: usize = 2048;

/// The most letters that are summed up one after the other in the type of the result: devices cut
/// chunks into blocks of at most so many.
pub const BLOCK: usize = 512;

/// Neighbours that are composed at a time.
pub const FAN_IN: usize = 16;

/// Letters per segment: [`FAN_IN`]³ chunks, 8 Mi letters. Longer sequences are worked on segment by
/// segment, each composed with the ones before it.
pub const SEGMENT: usize = CHUNK * FAN_IN * FAN_IN * FAN_IN;

/// The most letters that a step of a recurrence takes at once.
pub const LONGEST_WORD: usize = 8;

/// The number of lanes for dimension `dim`.
pub const fn lanes(dim: usize) -> usize {
    dim.div_ceil(2)
}

/// The number of entries above the diagonal of a matrix S, t(t+1)/2.
pub const fn pairs(tuple: usize) -> usize {
    tuple * (tuple + 1) / 2
}

/// exp(−2πi·k/D) for k = 0, …, D − 1, as (real, imaginary), each correctly rounded but for the last
/// bit.
pub fn roots(dim: usize) -> Vec<[f64; 2]> {
    let root = |k: usize| {
        // By symmetry an angle of at most π/4 is enough: nothing is lost in large angles, and roots
        // that are each other's reflections are so exactly.
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
        // Now (cos, sin) is the angle from the last multiple of π/2.
        match octant / 2 {
            0 => [cos, -sin],
            1 => [-sin, -cos],
            2 => [-cos, sin],
            _ => [sin, cos],
        }
    };
    (0..dim).map(root).collect()
}

/// The value of one letter's step from row `k` in a lane: sign · z^hash.
pub fn letter_value(
    tables: &Tables,
    roots: &[[f64; 2]],
    letter: u8,
    k: usize,
    lane: usize,
) -> [f64; 2] {
    let (hash, sign) = (
        tables.hash(letter, k) as usize,
        f64::from(tables.sign(letter, k)),
    );
    if lane > 0 {
        let [x, y] = roots[hash * lane % tables.dim()];
        return [sign * x, sign * y];
    }
    match tables.dim().is_multiple_of(2) && hash % 2 == 1 {
        false => [sign, 0.0],
        true => [0.0, sign],
    }
}

/// How to turn the sum over lanes into an entry of a row; see [`Finish::apply`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finish {
    /// The inverse transform's factor, 2/D.
    pub factor: f64,
    /// Whether the entry is known to be a whole number.
    pub whole: bool,
    /// C(n, k) if it is to be normalised, else 1.
    pub divisor: f64,
}

impl Finish {
    /// For row `k` of a sequence of `length` letters whose chunks were computed in `T`.
    pub fn new<T: Real>(tables: &Tables, length: u64, k: usize, normalize: bool) -> Finish {
        Finish::after::<T>(0, tables, length, k, normalize)
    }

    /// The same after `products` more products of matrices than it takes to compose the chunks.
    pub fn after<T: Real>(
        products: usize,
        tables: &Tables,
        length: u64,
        k: usize,
        normalize: bool,
    ) -> Finish {
        let tuples = binomial(length, k as u64);
        // Each part of a tuple may go through all of them.
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

    /// The entry. Its sums are whole numbers: where the error is below 1/2 for certain, rounding
    /// makes them exact.
    pub fn apply(&self, sum: f64) -> f64 {
        let entry = sum * self.factor;
        // Adding zero makes a negative zero positive.
        let entry = if self.whole {
            entry.round() + 0.0
        } else {
            entry
        };
        entry / self.divisor
    }
}

/// A bound for the error of each entry of row k before rounding, divided by C(n, k).
///
/// Every tuple adds a number of modulus 1 to a lane, the product of what its parts add to the matrices
/// of blocks: there are at most t parts, in at most t blocks. On its way through a block a part goes
/// through at most two roundings a letter, since adding a product to a sum takes two in each component,
/// and operators of several letters take no more. With each of its at most t moves a tuple meets up to
/// two more, of the operator's own entry and, without fused operations, of the product. Operators are
/// made in `f64`, with up to three roundings a letter and two for a root of unity. A
/// product of complex numbers, and a sum, made with roundings of at most γ, is off by at most √2·γ
/// times the product of the moduli. Composing chunks takes at most 2t + 2 roundings in `f64` each,
/// of which a part meets at most [`FAN_IN`] in each of four levels and one in each segment, and the
/// inverse transform D + 4, if it is made as the sum that it is; a fast transform, whose error grows
/// with the logarithm of D, stays below that.
///
/// A GPU has blocks of 32 words of m letters, and composes the 64/m of a chunk in the type of the
/// result. That takes at most 2t − 1 roundings each, in all at most 64·m + (64/m − 1)·(2t − 1) in a
/// chunk, which is less than the 2·[`BLOCK`] that are counted; in a short text no more than two for each
/// letter, and 2t for a last block that is not full.
pub fn error_bound<T: Real>(dim: usize, tuple: usize, length: u64) -> f64 {
    let in_blocks = 2.0 * (length as f64).min((tuple * BLOCK) as f64) + (6 * tuple) as f64;
    let operators = (tuple * (3 * LONGEST_WORD + 2)) as f64;
    let composed = tuple as f64 * (4.0 * FAN_IN as f64 + length as f64 / SEGMENT as f64);
    let in_double = operators + composed * (2 * tuple + 2) as f64 + dim as f64 + 4.0;
    SQRT_2 * (gamma(in_blocks, T::UNIT_ROUNDOFF) + gamma(in_double, f64::UNIT_ROUNDOFF))
}

/// n·u / (1 − n·u): no product of n factors (1 + δ) with |δ| ≤ u is farther from 1.
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
                assert!(
                    (x - cos).abs() < 1e-15 && (y - sin).abs() < 1e-15,
                    "{k} of {dim}"
                );
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
