//! Compares every device with sums in `f64`.

use gridstride::Device;
use ndarray::{Array1, Array2, ArrayView2, Axis, s};
use row_sums::row_sums;
use simt::Simulator;

/// Returns a simulator whose schedule is drawn from `seed`.
fn simulator(seed: u64) -> Device {
    Device::simulator_with(Simulator::default().seed(seed))
}

/// Returns every device to test. The feature `cuda` requires a GPU.
fn devices() -> Vec<Device> {
    let seed = std::env::var("GRIDSTRIDE_SIMULATOR_SEED").map_or(1, |seed| {
        seed.parse().expect("GRIDSTRIDE_SIMULATOR_SEED is a number")
    });
    let mut devices = vec![Device::cpu(), simulator(seed)];
    if cfg!(feature = "cuda") {
        devices.push(Device::cuda(0).expect("a GPU"));
    }
    devices
}

fn matrix(rows: usize, columns: usize) -> Array2<f32> {
    Array2::from_shape_fn((rows, columns), |(i, j)| {
        ((i * 31 + j * 17) % 101) as f32 / 7.0 - 5.0
    })
}

/// Returns the sums, or fails with the error's message.
fn sums_on(device: &Device, matrix: ArrayView2<f32>) -> Array1<f32> {
    row_sums(device, matrix).unwrap_or_else(|error| panic!("{device}: {error}"))
}

#[test]
fn sums_are_within_their_bound() {
    for (rows, columns) in [(0, 3), (3, 0), (1, 1), (3, 255), (2, 256), (5, 1000)] {
        let matrix = matrix(rows, columns);
        for view in [matrix.view(), matrix.slice(s![..;-1, ..])] {
            for device in devices() {
                let sums = sums_on(&device, view);
                assert_eq!(sums.len(), rows);
                for (row, &sum) in view.axis_iter(Axis(0)).zip(&sums) {
                    let exact: f64 = row.iter().map(|&x| f64::from(x)).sum();
                    let magnitude: f64 = row.iter().map(|&x| f64::from(x).abs()).sum();
                    // In any order, each number takes part in fewer than n additions, each of which rounds by a factor
                    // of up to 1 + 2⁻²⁴.
                    let roundings = columns as f64 * 2f64.powi(-24);
                    let bound = roundings / (1.0 - roundings) * magnitude;
                    let error = (f64::from(sum) - exact).abs();
                    assert!(
                        error <= bound,
                        "{device}, {rows}×{columns}: {error} > {bound}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_order_of_threads_does_not_matter() {
    let matrix = matrix(3, 700);
    let expected = sums_on(&simulator(0), matrix.view());
    for seed in 1..20 {
        let sums = sums_on(&simulator(seed), matrix.view());
        assert_eq!(sums, expected, "seed {seed}");
    }
}
