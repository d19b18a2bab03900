//! Multiplies two matrices on the best device there is, and compares the product with ndarray's.
//!
//! ```text
//! cargo run --release --example matmul
//! cargo run --release --example matmul --features cuda
//! ```

use std::time::Instant;

use approx::assert_abs_diff_eq;
use gridstride::Device;
use gridstride::matmul::{MatMul, matmul, reference};
use ndarray::{Array2, Zip};

const M: usize = 1000;
const K: usize = 700;
const N: usize = 500;

fn main() -> gridstride::Result<()> {
    // Numbers in [-1, 1) that look random.
    let number = |(i, j): (usize, usize)| {
        ((i * 8191 + j * 131) as f64 * 0.618_034).fract() as f32 * 2.0 - 1.0
    };
    let a = Array2::from_shape_fn((M, K), number);
    // Stored as N×K: the product reads its transpose in place.
    let b = Array2::from_shape_fn((N, K), number);

    let device = Device::auto();
    // The first call on a GPU loads the kernel.
    matmul(&device, a.view(), b.t())?;
    let start = Instant::now();
    let c = matmul(&device, a.view(), b.t())?;
    let ours = start.elapsed();

    let start = Instant::now();
    let plain = a.dot(&b.t());
    let ndarrays = start.elapsed();

    // |error| ≤ γ·Σ|a·b|, with another γ for the sums of ndarray in the same type.
    let gamma = f64::from(K as u32) * f64::from(f32::EPSILON / 2.0);
    let factor = MatMul::new().error_factor::<f32>(K) + gamma / (1.0 - gamma);
    let magnitudes = reference::magnitudes(a.view(), b.t());
    Zip::from(&c)
        .and(&plain)
        .and(&magnitudes)
        .for_each(|&c, &plain, &magnitude| {
            assert_abs_diff_eq!(f64::from(c), f64::from(plain), epsilon = factor * magnitude);
        });
    println!("{M}×{K} times {K}×{N} in f32, within the error bound of ndarray's product");
    println!("{device}, with all copies: {ours:.3?}; ndarray's dot: {ndarrays:.3?}");
    Ok(())
}
