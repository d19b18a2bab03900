//! Times `row_sums` on the CPU and on every GPU, and checks the sums.
//!
//! Times are medians of whole calls, with the copies to and from a GPU. GB/s count each element that is read and each
//! sum that is written.

use std::time::{Duration, Instant};

use gridstride::{Device, Result};
use ndarray::{Array1, Array2, Axis};
use row_sums::row_sums;

const SHAPES: [(usize, usize); 3] = [(200_000, 20), (2048, 2048), (20, 200_000)];
const RUNS: usize = 9;

fn main() -> Result<()> {
    for device in [vec![Device::cpu()], Device::gpus()].concat() {
        println!("{}", device.info());
        for (rows, columns) in SHAPES {
            // Numbers in [-1, 1) that look random.
            let number = |(i, j): (usize, usize)| {
                ((i * 8191 + j * 131) as f32 * 0.618_034).fract() * 2.0 - 1.0
            };
            let matrix = Array2::from_shape_fn((rows, columns), number);
            let (sums, time) = median(&device, &matrix)?;
            check(&matrix, &sums);
            let bytes = size_of::<f32>() * (matrix.len() + rows);
            let rate = bytes as f64 / time.as_secs_f64() * 1e-9;
            println!("{rows:>7} × {columns:<7}  {time:>12.3?}  {rate:>7.1} GB/s");
        }
    }
    Ok(())
}

/// Returns the sums and the median time of a call, after a first one: the driver compiles the kernel during that.
fn median(device: &Device, matrix: &Array2<f32>) -> Result<(Array1<f32>, Duration)> {
    let sums = row_sums(device, matrix.view())?;
    let mut times = Vec::new();
    for _ in 0..RUNS {
        let start = Instant::now();
        row_sums(device, matrix.view())?;
        times.push(start.elapsed());
    }
    times.sort();
    Ok((sums, times[RUNS / 2]))
}

/// Panics if a sum is further from the exact one than roundings explain.
fn check(matrix: &Array2<f32>, sums: &Array1<f32>) {
    for (row, &sum) in matrix.axis_iter(Axis(0)).zip(sums) {
        let exact: f64 = row.iter().map(|&x| f64::from(x)).sum();
        let magnitude: f64 = row.iter().map(|&x| f64::from(x).abs()).sum();
        // As in the test: fewer than n additions, each of which rounds by a factor of up to 1 + 2⁻²⁴.
        let roundings = row.len() as f64 * 2f64.powi(-24);
        let bound = roundings / (1.0 - roundings) * magnitude;
        let error = (f64::from(sum) - exact).abs();
        assert!(error <= bound, "{error} > {bound}");
    }
}
