//! Nearest rows, on every device: what sorting the matrix of that device's distances gives, bit by
//! bit.

mod calls;
mod results;
mod slide;

use gridstride::Device;
use gridstride::distances::Metric;
use gridstride::distances::{Component, Distances};
use ndarray::{Array2, ArrayView2};

use test_support::Random;
use test_support::rows::sorted;

trait Number: Component + From<f32> {}
impl Number for f32 {}
impl Number for f64 {}

/// Rows of whole numbers in a narrow range, so that many distances are equal.
fn rows<T: Number>(count: usize, dim: usize, seed: u64) -> Array2<T> {
    let mut random = Random(seed);
    Array2::from_shape_simple_fn((count, dim), || T::from(random.within(-3, 4) as f32))
}

/// Numbers with all digits of `f32`.
fn uneven<T: Number>(count: usize, dim: usize, seed: u64) -> Array2<T> {
    let mut random = Random(seed);
    Array2::from_shape_simple_fn((count, dim), || {
        T::from(random.within(-(1 << 23), 1 << 23) as f32)
    })
}

fn with(metric: Metric) -> Distances {
    Distances::new().metric(metric)
}

/// Compares all calls with the sorted matrix of the same device.
#[track_caller]
fn check<T: Number>(
    device: &Device,
    metric: Metric,
    queries: ArrayView2<T>,
    database: ArrayView2<T>,
    k: usize,
) {
    let matrix = with(metric).distances(device, queries, database).unwrap();
    let expected = sorted(&matrix, k);
    let found = with(metric).nearest(device, queries, database, k).unwrap();
    let (n, m) = (queries.nrows(), database.nrows());
    assert_eq!(
        found, expected,
        "{k} of {m} rows for {n} queries on {device}"
    );
    let [queries, database] = [queries, database].map(|rows| device.upload(&rows).unwrap());
    let found = with(metric).nearest_device(&queries, &database, k).unwrap();
    assert_eq!(
        found.download().unwrap(),
        expected,
        "in the memory of {device}"
    );
}
