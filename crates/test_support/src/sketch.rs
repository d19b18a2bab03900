//! The reference of a tensor sketch, and how far a device may be from it.
//!
//! # The bound of the direct form
//!
//! An entry of row k is a sum over tuples, each contributing ±1. Take the recurrence in numbers
//! with unit roundoff u, 2⁻²⁴ for `f32` and 2⁻⁵³ for `f64`: T\[k+1\] += ±roll(T\[k\]). A
//! contribution stands in one row at a time: with each letter it either stays where it is or goes
//! on to the next row, and goes through the one addition that is made there. Signs and rolls are
//! exact. So it passes at most n roundings for n letters, then at most three more: the rounding of
//! C(n, k), the division by it, and the conversion of the result. What the device computes is
//! therefore Σ ±(1 + θ) with |θ| ≤ γ_{n+3}(u), and differs from the exact value by at most
//! γ_{n+3}(u)·A, where A = Σ |±1| is the same sketch with all signs +1.
//!
//! The reference makes the same roundings with 2⁻⁵³, which gives γ' = γ_{n+3}(2⁻⁵³), both in the
//! value compared with and in A, computed as Ã ≥ (1 − γ')·A. Together:
//!
//! |device − reference| ≤ (γ + γ')·A ≤ (γ + γ') / (1 − γ') · Ã.
//!
//! Without normalisation there is nothing to round while all partial sums are whole numbers below
//! 1/u, that is while C(n, j) < 1/u for all rows j up to k: then the result is exact.
//!
//! # The bound of the Fourier form
//!
//! In each lane every one of the C(n, k) tuples contributes a number of modulus 1, the product of
//! what its letters contribute to the chunks that they lie in, at most t. In a chunk of m ≤
//! [`CHUNK`] letters that passes
//!
//! - where it stays in its row for a letter, at most two roundings, from adding a product;
//! - where it moves, two more: of the operator's entry, and of the product if it is not fused. A
//!   tuple moves t times at most;
//! - where blocks are composed in the same type, 2t more, and so many fewer in the block, but for a
//!   last block that is not full.
//!
//! Together r = 2·min(n, t·[`CHUNK`]) + 6t. A sum of products of complex numbers whose terms pass
//! at most r roundings in each component is off by at most √2·γ_r times the sum of the products of
//! moduli: by √2·γ_r(u)·C(n, k) here. The rest is done in `f64`: operators of up to 8 letters, with
//! 3 roundings a letter and 2 for a root of unity; products of matrices, 2t + 2 roundings each, of
//! which each part of a tuple meets 16 in each of four levels and one for each 16³ chunks; and the
//! inverse transform, D + 4 for D terms. With r' of those, and since the inverse transform's D
//! lanes of modulus 1 are divided by D, an entry of the sum is off by at most
//!
//! E = √2·(γ_r(u) + γ_{r'}(2⁻⁵³))·C(n, k).
//!
//! If E < 1/2 it is rounded to the whole number that it is. Else, or if it is divided by C(n, k),
//! it passes the same three roundings as above. The reference's own error is the one above.

use gridstride::Real;
use gridstride::tensor_sketch::{Form, Tables, binomial, reference};
use ndarray::{Array2, ArrayView1};

use super::{Random, gamma};

/// Codes below `alphabet_size` that look random, different for each `seed`.
pub fn codes(length: usize, alphabet_size: usize, seed: u64) -> Vec<u8> {
    let mut random = Random(seed);
    let code = || ((random.state() >> 33) % alphabet_size as u64) as u8;
    std::iter::repeat_with(code).take(length).collect()
}

/// Letters per chunk of the Fourier form.
pub const CHUNK: usize = 2048;

/// The expected sketch of a sequence.
pub struct Reference<'a> {
    tables: &'a Tables,
    length: usize,
    rows: Array2<f64>,
    /// The expected sketch with all signs +1.
    magnitudes: Array2<f64>,
    /// Products of matrices in `f64` beyond the chunks'.
    products: usize,
}

impl<'a> Reference<'a> {
    pub fn new(tables: &'a Tables, codes: ArrayView1<u8>) -> Reference<'a> {
        let all_positive = Tables::new(
            tables.hashes().mapv(i64::from).view(),
            Array2::ones(tables.signs().dim()).view(),
            tables.dim(),
        )
        .unwrap();
        Reference {
            tables,
            length: codes.len(),
            rows: reference::tensor_sketch(codes, tables),
            magnitudes: reference::tensor_sketch(codes, &all_positive),
            products: 0,
        }
    }

    /// As [`Reference::new`], for a sketch with `products` products of matrices beyond the chunks'.
    pub fn after_products(self, products: usize) -> Reference<'a> {
        Reference { products, ..self }
    }

    /// Compares a sketch in this form with the reference.
    pub fn check_last_row<T: Real>(&self, row: ArrayView1<T>, normalize: bool, form: Form) {
        self.check_row(row, self.tables.tuple_length(), normalize, form);
    }

    /// Compares row k of a sketch in this form with the reference.
    pub fn check_row<T: Real>(&self, row: ArrayView1<T>, k: usize, normalize: bool, form: Form) {
        let (n, t, dim) = (self.length, self.tables.tuple_length(), self.tables.dim());
        let divisor = match normalize {
            true => binomial(n as u64, k as u64).max(1.0),
            false => 1.0,
        };
        for (j, &value) in row.iter().enumerate() {
            let (expected, bound) = self.expected::<T>([k, j], divisor, form);
            let value = value.to_f64();
            let error = (value - expected).abs();
            assert!(
                error <= bound,
                "row {k}, entry {j} of {n} letters, A={} t={t} D={dim}, {form:?} in {}, \
                 normalised: {normalize}: {value} differs from {expected} by {error:e}, \
                 more than {bound:e}",
                self.tables.alphabet_size(),
                T::NAME,
            );
        }
    }

    /// Returns an entry and the bound of the difference of an entry computed in `T`.
    fn expected<T: Real>(&self, place: [usize; 2], divisor: f64, form: Form) -> (f64, f64) {
        let (n, u) = (self.length, T::UNIT_ROUNDOFF);
        let [k, _] = place;
        let expected = self.rows[place] / divisor;
        let magnitude = self.magnitudes[place] / divisor;
        let of_reference = gamma(n + 3, 2f64.powi(-53));
        let of_reference_up = of_reference / (1.0 - of_reference) * magnitude;
        let tuples = |j: usize| binomial(n as u64, j as u64);
        let bound = match form {
            Form::Direct => {
                if divisor == 1.0 && (0..=k).all(|j| tuples(j) < 1.0 / u) {
                    return (expected, 0.0);
                }
                gamma(n + 3, u) / (1.0 - of_reference) * magnitude
            }
            _ => {
                let in_sum = self.fourier_bound::<T>() * tuples(k);
                let in_sum = if in_sum < 0.5 { 0.0 } else { in_sum / divisor };
                if in_sum == 0.0 && divisor == 1.0 {
                    return (expected, 0.0);
                }
                let last = gamma(3, u);
                in_sum * (1.0 + last) + last * (expected.abs() + of_reference_up)
            }
        };
        (expected, bound + of_reference_up)
    }

    /// E / C(n, k).
    fn fourier_bound<T: Real>(&self) -> f64 {
        let (n, t, dim) = (self.length, self.tables.tuple_length(), self.tables.dim());
        let in_chunks = 2 * n.min(t * CHUNK) + 6 * t;
        let products = t * (self.products + 4 * 16 + n.div_ceil(CHUNK * 16usize.pow(3)));
        let in_double = t * (3 * 8 + 2) + products * (2 * t + 2) + dim + 4;
        2f64.sqrt() * (gamma(in_chunks, T::UNIT_ROUNDOFF) + gamma(in_double, 2f64.powi(-53)))
    }
}
