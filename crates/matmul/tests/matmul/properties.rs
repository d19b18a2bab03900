//! Properties of products of whole numbers, on every device. The numbers are so small that products
//! are exact in each type and with each precision, whatever the order of additions.

use gridstride::matmul::{MatMul, Scalar};
use gridstride::{Device, Number};
use ndarray::{Array2, s};
use proptest::collection::vec;
use proptest::prelude::*;

use super::for_types;
use test_support::cases;
use test_support::{devices, several};

/// A matrix of whole numbers from -4 to 4, with more columns than are used.
fn matrix(rows: usize, columns: usize) -> impl Strategy<Value = Array2<i64>> {
    vec(-4i64..5, rows * columns)
        .prop_map(move |numbers| Array2::from_shape_vec((rows, columns), numbers).unwrap())
}

#[derive(Clone, Debug)]
struct Case {
    a: Array2<i64>,
    b: Array2<i64>,
    c: Array2<i64>,
    scales: [i64; 2],
    is_transposed: [bool; 3],
}

prop_compose! {
    fn case()(m in 0..40usize, k in 0..90usize, n in 0..40usize)(
        a in matrix(m, k),
        b in matrix(k, n),
        c in matrix(m, n),
        scales in any::<bool>().prop_map(|is_plain| if is_plain { [1, 0] } else { [-2, 3] }),
        is_transposed in any::<[bool; 3]>(),
    ) -> Case {
        Case { a, b, c, scales, is_transposed }
    }
}

/// Returns the matrix in row-major or column-major order.
fn laid_out<T: Number>(matrix: &Array2<i64>, is_transposed: bool) -> Array2<T> {
    let numbers = matrix.mapv(|number| T::from_f64(number as f64));
    match is_transposed {
        false => numbers,
        true => numbers
            .t()
            .as_standard_layout()
            .into_owned()
            .reversed_axes(),
    }
}

fn is_product<T: Scalar>(with: MatMul, case: &Case, sets: &[Vec<Device>]) {
    let [alpha, beta] = case.scales;
    let expected = case.a.dot(&case.b) * alpha + &case.c * beta;
    let [a, b] = [(&case.a, 0), (&case.b, 1)]
        .map(|(matrix, index)| laid_out::<T>(matrix, case.is_transposed[index]));
    for set in sets {
        let mut c = laid_out::<T::Sum>(&case.c, case.is_transposed[2]);
        let [alpha, beta] = [alpha, beta].map(|scale| T::Sum::from_f64(scale as f64));
        with.gemm(set, alpha, a.view(), b.view(), beta, c.view_mut())
            .unwrap();
        assert_eq!(
            c.mapv(|c| c.to_f64() as i64),
            expected,
            "{set:?} {with:?} {}",
            T::NAME
        );
        // Every other row of A, so that strides have gaps.
        let c = with.matmul(set, a.slice(s![..;2, ..]), b.view()).unwrap();
        let expected = case.a.slice(s![..;2, ..]).dot(&case.b);
        assert_eq!(
            c.mapv(|c| c.to_f64() as i64),
            expected,
            "{set:?} {with:?} {}",
            T::NAME
        );
    }
}

proptest! {
    #![proptest_config(cases(12, 4))]

    #[test]
    fn products_of_whole_numbers_are_exact(case in case(), count in 1..4usize) {
        let sets: Vec<_> = devices().iter().map(|device| several(device, count)).collect();
        for_types!(is_product(&case, &sets));
    }
}
