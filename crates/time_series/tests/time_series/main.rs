//! Aggregation of time series, on every device, against the reference.

mod accuracy;
mod adversarial;
mod calls;
mod devices;
mod existing;
mod percentiles;
mod properties;
mod rates;
mod tiles;

use gridstride::Device;
use gridstride::time_series::{Aggregates, TimeBuckets, Value};
use ndarray::{Array1, ArrayView1};

use test_support::buckets::{all_methods, apart, compare, percentiles, statistics, summarised};
use test_support::{Random, is_slow};

/// A number of points, or a smaller one where a device is slow.
fn size(device: &Device, fast: usize, slow: usize) -> usize {
    if is_slow(device) { slow } else { fast }
}

/// Whether values have 32 bits.
fn is_single<T: Number>() -> bool {
    size_of::<T>() == 4
}

/// Value types to test.
trait Number: Value {
    fn of(number: f64) -> Self;
}

macro_rules! number {
    ($($type:ident)*) => {$(
        impl Number for $type {
            fn of(number: f64) -> $type {
                number as $type
            }
        }
    )*};
}
number! { f32 f64 }

/// Values of all sizes and both signs, about 1.
fn values<T: Number>(count: usize, seed: u64) -> Array1<T> {
    let mut random = Random(seed);
    Array1::from_shape_simple_fn(count, || {
        let digits = random.within(-(1 << 30), 1 << 30) as f64;
        T::of(digits * f64::powi(2.0, random.within(-40, -20) as i32))
    })
}

/// Timestamps of consecutive buckets from 0 on: `lengths` points each, `granularity` long.
fn timestamps_of(lengths: &[usize], granularity: i64) -> Array1<i64> {
    let buckets = lengths.iter().enumerate();
    let timestamps = buckets.flat_map(|(bucket, &length)| {
        let within =
            move |index: usize| (index as i128 * granularity as i128 / length as i128) as i64;
        (0..length).map(move |index| bucket as i64 * granularity + within(index))
    });
    timestamps.collect()
}

/// Timestamps that do not descend, from `start` on, with gaps and equal ones.
fn ascending(count: usize, start: i64, seed: u64) -> Array1<i64> {
    let mut random = Random(seed);
    let mut time = start;
    Array1::from_shape_simple_fn(count, || {
        time += match random.within(0, 20) {
            0 => random.within(100, 1000),
            1..5 => 0,
            _ => random.within(1, 10),
        };
        time
    })
}

/// Aggregates on a device, and compares with the reference.
#[track_caller]
fn check<'a, T: Value>(
    device: &Device,
    aggregation: &TimeBuckets,
    offsets: &[usize],
    timestamps: impl Into<ArrayView1<'a, i64>>,
    values: impl Into<ArrayView1<'a, T>>,
) -> Aggregates {
    let (timestamps, values) = (timestamps.into(), values.into());
    let found = aggregation.aggregate_series(device, offsets, timestamps, values);
    let found = found.unwrap();
    compare(&found, aggregation, offsets, timestamps, values);
    found
}

/// As [`check`], for a single series.
#[track_caller]
fn check_one<'a, T: Value>(
    device: &Device,
    aggregation: &TimeBuckets,
    timestamps: impl Into<ArrayView1<'a, i64>>,
    values: impl Into<ArrayView1<'a, T>>,
) -> Aggregates {
    let values = values.into();
    check(device, aggregation, &[0, values.len()], timestamps, values)
}
