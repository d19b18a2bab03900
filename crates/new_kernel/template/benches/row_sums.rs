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
            // Whole numbers from -8 to 8 that look random. All sums are exact in f32, in any order.
            let number = |(i, j): (usize, usize)| {
                let n = i * 8191 + j * 131;
                (n * n % 1_000_003 % 17) as f32 - 8.0
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
    let mut sums = row_sums(device, matrix.view())?;
    let mut times = Vec::new();
    for _ in 0..RUNS {
        let start = Instant::now();
        let found = row_sums(device, matrix.view())?;
        times.push(start.elapsed());
        sums = found;
    }
    times.sort();
    Ok((sums, times[RUNS / 2]))
}

/// Panics if a sum is wrong.
fn check(matrix: &Array2<f32>, sums: &Array1<f32>) {
    let exact = matrix.mapv(f64::from).sum_axis(Axis(1));
    assert_eq!(sums.mapv(f64::from), exact);
}
