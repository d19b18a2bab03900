//! Comparing tensor sketches with the reference.
//!
//! # The bound
//!
//! An entry of row k is a sum over tuples, each contributing ±1. Take the `f32` recurrence
//! T\[k+1\] += ±roll(T\[k\]). A contribution stands in one row at a time: with each letter it either
//! stays where it is or goes on to the next row, and goes through the one addition that is made
//! there. Signs and rolls are exact. So it passes at most n roundings for n letters, then at most
//! three more: the rounding of C(n, k), the division by it, and the conversion of the result. What
//! the device computes is therefore Σ ±(1 + θ) with |θ| ≤ γ_{n+3}(2⁻²⁴), and differs from the exact
//! value by at most γ_{n+3}(2⁻²⁴)·A, where A = Σ |±1| is the same sketch with all signs +1.
//!
//! The reference makes the same roundings with 2⁻⁵³, which gives γ' = γ_{n+3}(2⁻⁵³), both in the
//! value compared with and in A, computed as Ã ≥ (1 − γ')·A. Together:
//!
//! |device − reference| ≤ (γ + γ')·A ≤ (γ + γ') / (1 − γ') · Ã.
//!
//! Without normalisation there is nothing to round while all partial sums are whole numbers that an
//! `f32` holds, that is while C(n, j) < 2²⁴ for all rows j up to k: then the result is exact.

use gridstride::Device;
use gridstride::tensor_sketch::{Sequences, Tables, TensorSketch, binomial, reference};
use ndarray::{Array2, ArrayView1, ArrayView2, Axis, Slice};

use super::gamma;

/// Tables with the columns from `first` on: they make the sketches S_{first, b}.
pub fn columns_from(tables: &Tables, first: usize) -> Tables {
    let columns = Slice::from(first..);
    let hashes = tables.hashes().mapv(i64::from);
    let signs = tables.signs().mapv(i64::from);
    let (hashes, signs) = (
        hashes.slice_axis(Axis(1), columns),
        signs.slice_axis(Axis(1), columns),
    );
    Tables::new(hashes, signs, tables.dim()).unwrap()
}

/// Codes below `alphabet_size` that look random, different for each `seed`.
pub fn codes(length: usize, alphabet_size: usize, seed: u64) -> Vec<u8> {
    // The multiplier and increment of Knuth's MMIX generator.
    let step = |state: &u64| {
        Some(
            state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407),
        )
    };
    std::iter::successors(step(&seed), step)
        .map(|state| ((state >> 33) % alphabet_size as u64) as u8)
        .take(length)
        .collect()
}

/// Sketches `sequences` in every way that there is, and compares each entry with the reference.
pub fn check(device: &Device, tables: &Tables, sequences: &Sequences) {
    let t = tables.tuple_length();
    for normalize in [false, true] {
        let sketcher = TensorSketch::new(tables.clone()).normalize(normalize);
        let rows = sketcher.sketch_rows(device, sequences).unwrap();
        assert_eq!(rows.dim(), (sequences.len(), t + 1, tables.dim()));
        for (i, rows) in rows.outer_iter().enumerate() {
            check_rows(rows, 0, tables, sequences.get(i).unwrap(), normalize);
        }
    }
    let last = TensorSketch::new(tables.clone())
        .sketch(device, sequences)
        .unwrap();
    assert_eq!(last.dim(), (sequences.len(), tables.dim()));
    for (i, row) in last.axis_chunks_iter(Axis(0), 1).enumerate() {
        check_rows(row, t, tables, sequences.get(i).unwrap(), false);
    }
}

/// Compares rows `first`, `first` + 1, … of one sequence.
fn check_rows(
    rows: ArrayView2<f32>,
    first: usize,
    tables: &Tables,
    codes: ArrayView1<u8>,
    normalize: bool,
) {
    let n = codes.len();
    let all_positive = Tables::new(
        tables.hashes().mapv(i64::from).view(),
        Array2::ones(tables.signs().dim()).view(),
        tables.dim(),
    )
    .unwrap();
    let mut expected = reference::tensor_sketch(codes, tables);
    let mut magnitudes = reference::tensor_sketch(codes, &all_positive);
    if normalize {
        reference::normalize(&mut expected, n as u64);
        reference::normalize(&mut magnitudes, n as u64);
    }
    let (gamma_32, gamma_64) = (gamma(n + 3, 2f64.powi(-24)), gamma(n + 3, 2f64.powi(-53)));
    let relative = (gamma_32 + gamma_64) / (1.0 - gamma_64);
    for (k, row) in (first..).zip(rows.outer_iter()) {
        let exact = !normalize && (0..=k).all(|j| binomial(n as u64, j as u64) < 2f64.powi(24));
        for (j, &value) in row.iter().enumerate() {
            let (expected, magnitude) = (expected[[k, j]], magnitudes[[k, j]]);
            let bound = if exact { 0.0 } else { relative * magnitude };
            let error = (f64::from(value) - expected).abs();
            assert!(
                error <= bound,
                "row {k}, entry {j} of {n} letters, A={} t={} D={}, normalised: {normalize}: \
                 {value} differs from {expected} by {error:e}, more than {bound:e}",
                tables.alphabet_size(),
                tables.tuple_length(),
                tables.dim(),
            );
        }
    }
}
