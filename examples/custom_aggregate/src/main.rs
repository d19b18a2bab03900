//! Aggregates a time series by a user-defined aggregate, the geometric mean: on the CPU, in the
//! simulator, and, with the feature `cuda`, on a GPU.
//!
//! ```text
//! cargo run --release -p custom_aggregate
//! cargo run --release -p custom_aggregate --features cuda
//! ```
//!
//! The aggregate and its kernels are in the separate crate `kernels`, which is compiled for GPUs too.

use std::process::ExitCode;

use custom_aggregate_kernels::{GEOMETRIC_MEAN, GeometricMean, Mean};
use gridstride::device::{Image, Module};
use gridstride::time_series::{Custom, TimeBuckets};
use gridstride::{Device, Result};
use ndarray::Array1;

/// What build.rs made of the kernels. The simulator and the CPU do without.
#[cfg(feature = "cuda")]
const IMAGES: &[Image] = &[Image::new(
    "sm_70",
    include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx")),
)];
#[cfg(not(feature = "cuda"))]
const IMAGES: &[Image] = &[];

static KERNELS: Module = Module::new("custom_aggregate", IMAGES);

/// Points, and the points of a bucket.
const POINTS: usize = 100_000;
const EVERY: i64 = 20_000;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    // Growth by some per mill up and down, and now and then a gap in the data.
    let timestamps: Array1<i64> = (0..POINTS as i64).collect();
    let factor = |index: usize| match index % 1000 {
        999 => 0.0,
        step => 1.0 + (step as f64 * 0.7).sin() * 1e-2 + index as f64 * 1e-8,
    };
    let values: Array1<f64> = (0..POINTS).map(factor).collect();

    let aggregate = GeometricMean { least: 1e-300 };
    let custom = Custom::with_kernels(aggregate, &KERNELS, &GEOMETRIC_MEAN);
    let with = TimeBuckets::every(EVERY);
    let gpu = match cfg!(feature = "cuda") {
        true => Some(Device::cuda(0)?),
        false => None,
    };
    for device in [Device::cpu(), Device::simulator()?].into_iter().chain(gpu) {
        let found = with.custom(&device, &custom, timestamps.view(), values.view())?;
        println!("{device}");
        for (start, &Mean { mean, count }) in found.starts().iter().zip(found.results()) {
            println!("  from {start:>6}: {mean:.12} of {count} values");
            let expected = expected(&values, *start as usize);
            assert!((mean - expected).abs() < 1e-12, "{expected} was expected");
        }
    }
    Ok(())
}

/// The geometric mean of a bucket, without the library.
fn expected(values: &Array1<f64>, start: usize) -> f64 {
    let values = values.iter().skip(start).take(EVERY as usize);
    let logarithms: Vec<f64> = values
        .filter(|&&value| value > 0.0)
        .map(|value| value.ln())
        .collect();
    (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp()
}
