//! Aggregates a time series in buckets of 35 seconds, and compares with exact arithmetic.
//!
//! ```text
//! cargo run --release --example time_series
//! cargo run --release --example time_series --features cuda
//! ```

use std::time::Instant;

use approx::assert_relative_eq;
use gridstride::Device;
use gridstride::time_series::{Method, TimeBuckets, reference};
use ndarray::Array1;

const POINTS: usize = 100_000;
const SECOND: i64 = 1_000_000_000;

fn main() -> gridstride::Result<()> {
    // A point every second or two, and temperatures around 20 °C.
    let timestamps: Array1<i64> = (0..POINTS as i64).map(|i| (i + i / 3) * SECOND).collect();
    let values: Array1<f64> = (0..POINTS)
        .map(|i| 20.0 + 3.0 * (i as f64 * 7e-4).sin() + (i as f64 * 0.618_034).fract())
        .collect();
    let methods = [Method::MEAN, Method::STD, Method::MAX];
    let buckets = TimeBuckets::every(35 * SECOND).methods(&methods);

    let device = Device::auto();
    // The first call on a GPU loads the kernels.
    buckets.aggregate(&device, timestamps.view(), values.view())?;
    let start = Instant::now();
    let found = buckets.aggregate(&device, timestamps.view(), values.view())?;
    let ours = start.elapsed();

    let start = Instant::now();
    let exact = reference::aggregate(&buckets, &[0, POINTS], timestamps.view(), values.view());
    let plain = start.elapsed();

    assert_eq!(found.starts(), exact.starts());
    // The documented bound for buckets of up to 35 values far from 0, and the three roundings of
    // the reference.
    let u = f64::EPSILON / 2.0;
    let (n, k) = (35.0, 35.0 + 64.0);
    let bounds = [
        3.0 * u + n * n * u * u + 3.0 * u,
        (3.0 + 25.0 * n * k * k * u) * u + 3.0 * u,
        0.0,
    ];
    for (column, bound) in bounds.into_iter().enumerate() {
        for (found, exact) in found.column(column).iter().zip(exact.column(column)) {
            assert_relative_eq!(found, exact, max_relative = bound, epsilon = 0.0);
        }
    }
    println!(
        "mean, deviation and maximum of {POINTS} points in {} buckets, within the error bounds",
        found.starts().len()
    );
    println!("{device}, with all copies: {ours:.3?}; exact arithmetic on one core: {plain:.3?}");
    Ok(())
}
