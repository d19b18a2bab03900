//! Sums the rows of a matrix on the first GPU, or else on the CPU, and prints the time.

use std::time::Instant;

use gridstride::Device;
use ndarray::Array2;
use row_sums::row_sums;

fn main() -> gridstride::Result<()> {
    let device = Device::auto();
    let matrix = Array2::from_shape_fn((4096, 4096), |(i, j)| ((i + j) % 7) as f32);
    // The driver compiles the kernel during the first call.
    row_sums(&device, matrix.view())?;
    let start = Instant::now();
    let sums = row_sums(&device, matrix.view())?;
    let time = start.elapsed();
    println!("{}", device.info());
    println!("{time:?} with all copies; the first sum is {}", sums[0]);
    Ok(())
}
