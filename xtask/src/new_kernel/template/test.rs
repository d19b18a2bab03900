//! Sums of rows on every device, within their bound of those in `f64`.

use gridstride::row_sums::row_sums;
use ndarray::{Array2, Axis, s};

use crate::common::devices;

#[test]
fn sums_are_within_their_bound() {
    for (rows, columns) in [(0, 3), (3, 0), (1, 1), (3, 255), (2, 256), (5, 1000)] {
        let number = |(i, j): (usize, usize)| ((i * 31 + j * 17) % 101) as f32 / 7.0 - 5.0;
        let matrix = Array2::from_shape_fn((columns, rows), number);
        let transposed = matrix.t();
        for view in [transposed.view(), transposed.slice(s![..;-1, ..])] {
            for device in devices() {
                let sums = row_sums(&device, view).unwrap();
                assert_eq!(sums.len(), rows);
                for (row, &sum) in view.axis_iter(Axis(0)).zip(&sums) {
                    let exact: f64 = row.iter().map(|&x| f64::from(x)).sum();
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
