//! Sketches DNA sequences, compares the sketches with the definition, and prints their distances.
//!
//! ```text
//! cargo run --release --example tensor_sketch
//! cargo run --release --example tensor_sketch --features cuda
//! ```

use std::time::Instant;

use approx::assert_abs_diff_eq;
use gridstride::Device;
use gridstride::distances::pairwise;
use gridstride::tensor_sketch::{Alphabet, Sequences, Tables, TensorSketch, Unknown, reference};
use ndarray::Array2;

const LETTERS: usize = 5000;
const TUPLE: usize = 4;
const DIM: usize = 96;

fn main() -> gridstride::Result<()> {
    // A sequence, the same with every 20th letter replaced by A, and an unrelated one.
    let letter = |i: usize, seed: usize| {
        let number = (i * i + seed * i) as f64 * 0.618_033_988_7 % 1.0;
        b"ACGT"[(number * 4.0) as usize]
    };
    let original: Vec<u8> = (0..LETTERS).map(|i| letter(i, 1)).collect();
    let mut changed = original.clone();
    changed.iter_mut().step_by(20).for_each(|base| *base = b'A');
    let other: Vec<u8> = (0..LETTERS).map(|i| letter(i, 2)).collect();

    let dna = Alphabet::dna();
    let mut sequences = Sequences::new();
    for text in [&original, &changed, &other] {
        sequences.push(dna.encode(text, Unknown::Error)?.codes)?;
    }
    let tables = Tables::from_seed(dna.size(), TUPLE, DIM, 42)?;
    let sketcher = TensorSketch::new(tables.clone()).normalize(true).double();

    let device = Device::auto();
    // The first call on a GPU loads the kernels.
    sketcher.sketch(&device, &sequences)?;
    let start = Instant::now();
    let sketches = sketcher.sketch(&device, &sequences)?;
    let ours = start.elapsed();

    let start = Instant::now();
    let mut plain = Array2::zeros((3, DIM));
    for (i, mut sketch) in plain.rows_mut().into_iter().enumerate() {
        let codes = sequences.get(i).expect("there are three");
        let mut rows = reference::tensor_sketch(codes, &tables);
        reference::normalize(&mut rows, LETTERS as u64);
        sketch.assign(&rows.row(TUPLE));
    }
    let plains = start.elapsed();

    // The documented bound, and that of the reference: a rounding a letter.
    let bound = (3000 * TUPLE + 2 * DIM + LETTERS) as f64 * f64::EPSILON / 2.0;
    for (&ours, &exact) in sketches.iter().zip(&plain) {
        assert_abs_diff_eq!(ours, exact, epsilon = bound);
    }
    println!(
        "sketches of 3 sequences of {LETTERS} letters, within the error bound of the definition"
    );
    println!("{device}, with all copies: {ours:.3?}; the definition on one core: {plains:.3?}");
    println!("distances: {:.4}", pairwise(&device, sketches.view())?);
    Ok(())
}
