use gridstride::matmul::{MatMul, gemm, matmul};
use ndarray::Array2;

use super::everywhere;

/// Whole numbers, whose products are exact.
#[test]
fn every_form_gives_the_same() {
    let a = Array2::from_shape_fn((5, 4), |(row, column)| (4 * row + column) as f64 - 9.0);
    let b = Array2::from_shape_fn((4, 3), |(row, column)| 5.0 - (3 * row + column) as f64);
    let (expected, unset) = (a.dot(&b), Array2::from_elem((5, 3), f64::NAN));
    everywhere(|device, set| {
        let is = |found: &Array2<f64>| assert_eq!(found, expected, "{device}");
        let options = MatMul::new();

        is(&matmul(device, a.view(), b.view()).unwrap());
        is(&options.matmul(device, a.view(), b.view()).unwrap());
        is(&options.matmul(set, a.view(), b.view()).unwrap());

        let mut c = unset.clone();
        options
            .matmul_into(device, a.view(), b.view(), c.view_mut())
            .unwrap();
        is(&c);
        let mut c = unset.clone();
        options
            .matmul_into(set, a.view(), b.view(), c.view_mut())
            .unwrap();
        is(&c);
        let mut c = 2.0 * &expected;
        gemm(device, 2.0, a.view(), b.view(), -0.5, c.view_mut()).unwrap();
        is(&c);
        options
            .gemm(set, 2.0, a.view(), b.view(), -1.0, c.view_mut())
            .unwrap();
        is(&c);

        let [a, b, mut c] = [&a, &b, &unset].map(|matrix| device.upload(matrix).unwrap());
        is(&options.matmul_device(&a, &b).unwrap().download().unwrap());
        options.matmul_device_into(&a, &b, &mut c).unwrap();
        is(&c.download().unwrap());
        options.gemm_device(2.0, &a, &b, -1.0, &mut c).unwrap();
        is(&c.download().unwrap());
    });
}
