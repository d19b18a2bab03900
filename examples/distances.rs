//! Computes the distances of all rows to each other, and compares them with plain loops.
//!
//! ```text
//! cargo run --release --example distances
//! cargo run --release --example distances --features cuda
//! ```

use std::time::Instant;

use approx::assert_relative_eq;
use gridstride::Device;
use gridstride::distances::{Metric, pairwise, reference};
use ndarray::{Array2, Zip};

const ROWS: usize = 1000;
const DIM: usize = 96;

fn main() -> gridstride::Result<()> {
    let rows = Array2::from_shape_fn((ROWS, DIM), |(i, j)| {
        ((i * 8191 + j * 131) as f64 * 0.618_034).fract() as f32
    });

    let device = Device::auto();
    // The first call on a GPU loads the kernel.
    pairwise(&device, rows.view())?;
    let start = Instant::now();
    let distances = pairwise(&device, rows.view())?;
    let ours = start.elapsed();

    let start = Instant::now();
    let plain = reference::distances(rows.view(), rows.view(), Metric::L2);
    let plains = start.elapsed();

    // The relative error is at most γ_{D+4} in f32; that of the reference, in f64, is far below.
    let roundings = (DIM + 5) as f64 * f64::from(f32::EPSILON / 2.0);
    let bound = roundings / (1.0 - roundings);
    Zip::from(&distances).and(&plain).for_each(|&ours, &plain| {
        assert_relative_eq!(ours, plain, max_relative = bound, epsilon = 0.0);
    });
    println!(
        "all distances of {ROWS} rows of {DIM} numbers, within the error bound of the plain ones"
    );
    println!("{device}, with all copies: {ours:.3?}; plain loops: {plains:.3?}");
    Ok(())
}
