//! Launches a kernel of your own: on a GPU with the feature `cuda`, or else in the simulator.
//!
//! ```text
//! cargo run --release -p own_kernel
//! cargo run --release -p own_kernel --features cuda
//! ```

use std::time::Instant;

use approx::assert_abs_diff_eq;
use gridstride::Device;
use gridstride::device::{Image, LaunchConfig, Module};
use ndarray::Array1;

/// The PTX that build.rs takes or makes. The simulator does without.
#[cfg(feature = "cuda")]
const IMAGES: &[Image] = &[Image::new(
    "sm_70",
    include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx")),
)];
#[cfg(not(feature = "cuda"))]
const IMAGES: &[Image] = &[];

static KERNELS: Module = Module::new("own_kernel", IMAGES);

const ELEMENTS: usize = 100_000;

/// Returns a·x + y, for vectors of the same length.
fn axpy(
    device: &Device,
    a: f32,
    x: &Array1<f32>,
    y: &Array1<f32>,
) -> gridstride::Result<Array1<f32>> {
    assert_eq!(x.len(), y.len());
    let on_device = [device.upload(x)?, device.upload(y)?];
    let [x_slice, y_slice] = on_device.each_ref().map(|array| array.buffer().slice());
    let mut result = device.alloc::<f32>(x.len())?;
    let config = LaunchConfig::for_len(x.len(), 256);
    let arguments = (a, x_slice, y_slice, result.slice_mut());
    // SAFETY: all have the same length, and are freed, or read, after the kernel has run.
    unsafe { device.launch(&KERNELS, &own_kernel_kernels::axpy, config, arguments)? };
    Ok(Array1::from(result.to_vec()?))
}

fn main() -> gridstride::Result<()> {
    let device = match Device::gpus().into_iter().next() {
        Some(gpu) => gpu,
        None => Device::simulator()?,
    };
    let a = 0.1f32;
    let x: Array1<f32> = (0..ELEMENTS)
        .map(|i| (i as f32 * 0.618_034).fract())
        .collect();
    let y: Array1<f32> = x.mapv(|x| 1.0 - x);

    // The first launch on a GPU loads the kernel.
    axpy(&device, a, &x, &y)?;
    let start = Instant::now();
    let found = axpy(&device, a, &x, &y)?;
    let ours = start.elapsed();

    let start = Instant::now();
    let expected = a * &x + &y;
    let ndarrays = start.elapsed();

    // Each of a·x, below 0.1, and the sum, below 1.1, rounds by at most 2⁻²⁴ of itself, in both
    // results; a GPU rounds once.
    let bound = 2.0 * (0.1 + 1.1) * f32::EPSILON / 2.0;
    for (&found, &expected) in found.iter().zip(&expected) {
        assert_abs_diff_eq!(found, expected, epsilon = bound);
    }
    println!("{ELEMENTS} results are within the error bound of ndarray's");
    println!("{device}, with all copies: {ours:.3?}; ndarray: {ndarrays:.3?}");
    Ok(())
}
