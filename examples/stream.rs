//! Adds two vectors that are larger than the memory that may be used, in chunks on two streams.
//!
//! ```text
//! cargo run --release --example stream
//! cargo run --release --example stream --features cuda
//! ```

use std::time::Instant;

use gridstride::Device;
use gridstride::pipeline::{Pipeline, add};
use ndarray::Array1;

const ELEMENTS: usize = 10_000_000;

fn main() -> gridstride::Result<()> {
    let a: Array1<i32> = (0..ELEMENTS as i32).collect();
    let b: Array1<i32> = a.mapv(|number| number.wrapping_mul(48_271));
    let mut sums = Array1::zeros(ELEMENTS);

    let device = Device::auto();
    // 16 MiB of the device for all chunks in flight; the vectors take 160 MB.
    let pipeline = Pipeline::new(&device).streams(2).memory(16 << 20);
    // The first call on a GPU loads the kernel.
    add(&pipeline, &a, &b, &mut sums)?;
    let start = Instant::now();
    add(&pipeline, &a, &b, &mut sums)?;
    let ours = start.elapsed();

    let start = Instant::now();
    let plain = a.mapv(f64::from) + b.mapv(f64::from);
    let ndarrays = start.elapsed();

    // Sums of 32-bit integers are exact in f64.
    assert_eq!(sums, plain);
    println!("{ELEMENTS} sums, equal to ndarray's");
    println!("{device}, with all copies: {ours:.3?}; ndarray: {ndarrays:.3?}");
    Ok(())
}
