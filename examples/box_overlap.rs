//! Finds all pairs of boxes that overlap, and compares them with those of two nested loops.
//!
//! ```text
//! cargo run --release --example box_overlap
//! cargo run --release --example box_overlap --features cuda
//! ```

use std::time::Instant;

use gridstride::Device;
use gridstride::box_overlap::{overlaps, reference};
use ndarray::Array2;

const BOXES: usize = 5000;

/// Boxes of up to 3×3×3 in a space of 100×100×100: minX, minY, minZ, maxX, maxY, maxZ.
fn boxes(first: usize) -> Array2<f32> {
    // Multiples of the golden ratio and the like, modulo 1, are spread evenly.
    const STEPS: [f64; 6] = [
        0.618_034, 0.754_878, 0.569_840, 0.819_173, 0.671_044, 0.549_700,
    ];
    let number = |i: usize, axis: usize| ((first + i) as f64 * STEPS[axis]).fract() as f32;
    Array2::from_shape_fn((BOXES, 6), |(i, column)| {
        let low = 97.0 * number(i, column % 3);
        match column {
            0..3 => low,
            _ => low + 3.0 * number(i, column),
        }
    })
}

fn main() -> gridstride::Result<()> {
    let (set1, set2) = (boxes(0), boxes(100_000));

    let device = Device::auto();
    // The first call on a GPU loads the kernels.
    overlaps(&device, set1.view(), set2.view())?;
    let start = Instant::now();
    let found = overlaps(&device, set1.view(), set2.view())?;
    let ours = start.elapsed();

    let start = Instant::now();
    let plain = reference::overlaps(set1.view(), set2.view())?;
    let plains = start.elapsed();

    // The result is exact: the same pairs in the same order.
    assert_eq!(found.pairs()?, plain.pairs()?);
    println!(
        "{} pairs among {BOXES} and {BOXES} boxes, as nested loops find them",
        found.pair_count()
    );
    println!("{device}, with all copies: {ours:.3?}; nested loops: {plains:.3?}");
    Ok(())
}
