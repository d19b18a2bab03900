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
use gridstride::tensor_sketch::{Sequences, Tables, TensorSketch, reference};
use ndarray::aview1;

const LETTERS: usize = 5000;
const TUPLE: usize = 4;
const DIM: usize = 96;

fn main() -> gridstride::Result<()> {
    // A sequence, the same with every 20th letter changed, and one that has nothing to do with it;
    // letters are codes from 0 to 3, as `Alphabet::dna().encode` makes them of text.
    let letter =
        |i: usize, seed: usize| ((i * i + seed * i) as f64 * 0.618_033_988_7 % 1.0 * 4.0) as u8;
    let original: Vec<u8> = (0..LETTERS).map(|i| letter(i, 1)).collect();
    let mut changed = original.clone();
    changed
        .iter_mut()
        .step_by(20)
        .for_each(|code| *code = (*code + 1) % 4);
    let other: Vec<u8> = (0..LETTERS).map(|i| letter(i, 2)).collect();
    let mut sequences = Sequences::new();
    for codes in [&original, &changed, &other] {
        sequences.push(codes)?;
    }
    let tables = Tables::from_seed(4, TUPLE, DIM, 42)?;
    let sketcher = TensorSketch::new(tables.clone()).normalize(true).double();

    let device = Device::auto();
    // The first call on a GPU loads the kernels.
    sketcher.sketch(&device, &sequences)?;
    let start = Instant::now();
    let sketches = sketcher.sketch(&device, &sequences)?;
    let ours = start.elapsed();

    let start = Instant::now();
    // The documented bound, and that of the reference: a rounding a letter.
    let bound = (3000 * TUPLE + 2 * DIM + LETTERS) as f64 * f64::EPSILON / 2.0;
    for (codes, sketch) in [&original, &changed, &other]
        .into_iter()
        .zip(sketches.rows())
    {
        let mut rows = reference::tensor_sketch(aview1(codes), &tables);
        reference::normalize(&mut rows, LETTERS as u64);
        for (&ours, &exact) in sketch.iter().zip(rows.row(TUPLE)) {
            assert_abs_diff_eq!(ours, exact, epsilon = bound);
        }
    }
    let plain = start.elapsed();
    println!(
        "sketches of 3 sequences of {LETTERS} letters, within the error bound of the definition"
    );
    println!("{device}, with all copies: {ours:.3?}; the definition on one core: {plain:.3?}");
    println!("distances: {:.4}", pairwise(&device, sketches.view())?);
    Ok(())
}
