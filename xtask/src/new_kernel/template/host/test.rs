//! Sums of rows on every device, within their bound of those in `f64`.

use gridstride::Device;
use gridstride::row_sums::{reference, row_sums};
use ndarray::{Array2, s};
use test_support::devices;

fn matrix(rows: usize, columns: usize) -> Array2<f32> {
    let number = |(i, j): (usize, usize)| ((i * 31 + j * 17) % 101) as f32 / 7.0 - 5.0;
    Array2::from_shape_fn((rows, columns), number)
}

#[test]
fn sums_are_within_their_bound() {
    for (rows, columns) in [(0, 3), (3, 0), (1, 1), (3, 255), (2, 256), (5, 1000)] {
        let transposed = matrix(columns, rows).reversed_axes();
        for view in [transposed.view(), transposed.slice(s![..;-1, ..])] {
            for device in devices() {
                let sums = row_sums(&device, view).unwrap();
                assert_eq!(sums.len(), rows);
                // Sums of such numbers have no roundings in `f64`.
                let expected = reference::row_sums(view);
                for ((row, &sum), exact) in view.rows().into_iter().zip(&sums).zip(expected) {
                    let magnitude: f64 = row.iter().map(|&x| f64::from(x).abs()).sum();
                    // In any order, each number takes part in fewer than n additions, each of which
                    // rounds by a factor of up to 1 + 2⁻²⁴.
                    let roundings = columns as f64 * 2f64.powi(-24);
                    let bound = roundings / (1.0 - roundings) * magnitude;
                    let error = (f64::from(sum) - exact).abs();
                    assert!(error <= bound, "{device}: {error} > {bound}");
                }
            }
        }
    }
}

#[test]
fn several_devices_and_little_memory_give_the_same_sums() {
    let matrix = matrix(50, 100);
    for device in devices() {
        let whole = row_sums(&device, matrix.view()).unwrap();
        let two = [device.clone(), device.clone()];
        assert_eq!(row_sums(&two, matrix.view()).unwrap(), whole, "{device}");
        let little = device.with_memory_limit(10_000);
        assert_eq!(row_sums(&little, matrix.view()).unwrap(), whole, "{device}");
    }
}

#[test]
fn no_devices_are_an_error() {
    let none: [Device; 0] = [];
    let error = row_sums(&none, matrix(1, 1).view()).unwrap_err();
    assert!(error.to_string().starts_with("row_sums: "), "{error}");
}
