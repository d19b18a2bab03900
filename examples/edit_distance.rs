//! Computes exact edit distances of pairs of sequences, compares them with the definition, and
//! prints how well the distances of tensor sketches rank the pairs.
//!
//! ```text
//! cargo run --release --example edit_distance
//! cargo run --release --example edit_distance --features cuda
//! ```

use std::time::Instant;

use gridstride::distances::{Windows, slide_paired};
use gridstride::edit_distance::{edit_distances, reference};
use gridstride::sequences::Sequences;
use gridstride::tensor_sketch::{Tables, TensorSketch};
use gridstride::{Device, Result};
use ndarray::Array1;

fn main() -> Result<()> {
    const PAIRS: u64 = 100;
    // Sequence i of b is sequence i of a after edits of a share i / PAIRS of its letters.
    let mut state = 1u64;
    let mut below = |bound: u64| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        ((state >> 33) % bound) as u8
    };
    let (mut a, mut b) = (Sequences::new(), Sequences::new());
    for pair in 0..PAIRS {
        let letters: Vec<u8> = (0..1000).map(|_| below(4)).collect();
        let edit = |&own: &u8| match (u64::from(below(PAIRS)) < pair, below(3)) {
            (false, _) => vec![own],
            (true, 0) => vec![],
            (true, 1) => vec![below(4), own],
            (true, _) => vec![(own + 1 + below(3)) % 4],
        };
        b.push(letters.iter().flat_map(edit).collect::<Vec<_>>())?;
        a.push(letters)?;
    }
    let device = Device::auto();
    // The first call on a GPU loads the kernels.
    edit_distances(&device, &a, &b)?;
    let start = Instant::now();
    let exact = edit_distances(&device, &a, &b)?;
    println!("{PAIRS} distances on {device}: {:.3?}", start.elapsed());
    let pairs = (0..a.len()).filter_map(|i| a.get(i).zip(b.get(i)));
    let start = Instant::now();
    let defined: Array1<u32> = pairs.map(|(a, b)| reference::edit_distance(a, b)).collect();
    println!("by the definition: {:.3?}", start.elapsed());
    assert_eq!(exact, defined);

    let sketcher = TensorSketch::new(Tables::from_seed(4, 2, 64, 1)?).normalize(true);
    let window_sketches = |sequences: &Sequences, width: usize, stride: usize| -> Result<_> {
        let (mut windows, mut offsets) = (Sequences::new(), vec![0]);
        for codes in (0..sequences.len()).filter_map(|i| sequences.get(i)) {
            let own = codes.windows(width.min(codes.len()));
            windows.try_extend(own.into_iter().step_by(stride))?;
            offsets.push(windows.len());
        }
        Ok((sketcher.sketch(&device, &windows)?, offsets))
    };
    for (name, width, stride) in [("sequences", usize::MAX, 1), ("windows", 100, 10)] {
        let (x, offsets_x) = window_sketches(&a, width, stride)?;
        let (y, offsets_y) = window_sketches(&b, width, stride)?;
        let x = Windows::new(x.view(), &offsets_x)?;
        let y = Windows::new(y.view(), &offsets_y)?;
        let correlation = spearman(&exact.mapv(f64::from), &slide_paired(&device, x, y)?);
        println!("rank correlation with the edit distance, sketches of {name}: {correlation:.3}");
    }
    Ok(())
}

/// Spearman's rank correlation. Equal numbers share the mean of their ranks.
fn spearman(x: &Array1<f64>, y: &Array1<f64>) -> f64 {
    // Twice the difference to the mean rank: how many numbers are less, minus how many are greater.
    let centred_ranks = |numbers: &Array1<f64>| {
        let sign = |own, other| f64::from(i8::from(other < own) - i8::from(other > own));
        numbers.mapv(|own| numbers.mapv(|other: f64| sign(own, other)).sum())
    };
    let (x, y) = (centred_ranks(x), centred_ranks(y));
    x.dot(&y) / (x.dot(&x) * y.dot(&y)).sqrt()
}
