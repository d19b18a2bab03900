//! Against sums in `f64`, element by element.
//!
//! The bound: if all sums are of one type with unit roundoff u, each product a·b takes part in at
//! most k + 2 roundings, whatever the order of additions: its own, k − 1 additions, the
//! multiplication by alpha and the addition to beta·C. So |computed − exact| ≤
//! γ_{k+2}·(|alpha|·|A|·|B| + |beta|·|C|), because C takes part in only two roundings and at most k
//! additions (Higham, 'Accuracy and Stability of Numerical Algorithms', section 3.5). The sums in
//! `f64` are a reference of the same kind, with the unit roundoff of `f64`.

use super::*;
use gridstride_runtime::random::random;
use gridstride_runtime::{Number, Real};
use half::{bf16, f16};

/// γ_n = n·u / (1 − n·u).
fn gamma(roundings: usize, u: f64) -> f64 {
    let product = roundings as f64 * u;
    assert!(product < 1.0);
    product / (1.0 - product)
}

/// Returns a number in the type of the sums.
fn sum_of<T: CpuScalar>(value: f64) -> T::Sum {
    <T::Sum as Number>::from_f64(value)
}

fn gemm<T: CpuScalar>(
    alpha: f64,
    a: ArrayView3<T>,
    b: ArrayView3<T>,
    beta: f64,
    c: ArrayViewMut3<T::Sum>,
) {
    let product = Product {
        operation: "test",
        alpha: sum_of::<T>(alpha),
        a,
        b,
        beta: sum_of::<T>(beta),
        c,
    };
    // As the dispatch does.
    match product.sizes().reads_factors(product.alpha) {
        true => super::gemm(product).unwrap(),
        false => super::scale(product.beta, product.c),
    }
}

/// Returns numbers in [-1, 1).
fn numbers<T: Number>(shape: [usize; 3], seed: u64) -> Array3<T> {
    let mut next = random(seed);
    let number = || T::from_f64((next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0);
    Array3::from_shape_simple_fn(shape, number)
}

/// Returns A and B for batch, m, k and n.
fn factors<T: CpuScalar>([batch, m, k, n]: [usize; 4]) -> (Array3<T>, Array3<T>) {
    (numbers([batch, m, k], 1), numbers([batch, k, n], 2))
}

/// Computes C = alpha·A·B + beta·C and compares all elements.
fn check<T: CpuScalar>(
    alpha: f64,
    a: ArrayView3<T>,
    b: ArrayView3<T>,
    beta: f64,
    mut c: ArrayViewMut3<T::Sum>,
) {
    let before = c.to_owned();
    gemm(alpha, a, b, beta, c.view_mut());
    let k = a.dim().2;
    let alpha = Number::to_f64(sum_of::<T>(alpha));
    let beta = Number::to_f64(sum_of::<T>(beta));
    let gamma = gamma(k + 2, T::Sum::UNIT_ROUNDOFF) + gamma(k + 2, f64::UNIT_ROUNDOFF);
    // So that a line of each factor is contiguous.
    let a = a.map(|x| x.to_f64());
    let bt = b.permuted_axes([0, 2, 1]).map(|x| x.to_f64());
    let bt = bt.as_standard_layout();
    for ((g, i, j), &computed) in c.indexed_iter() {
        let (mut exact, mut size) = (0.0, 0.0);
        if alpha != 0.0 {
            for (a, b) in a.slice(s![g, i, ..]).iter().zip(bt.slice(s![g, j, ..])) {
                exact += a * b;
                size += (a * b).abs();
            }
            (exact, size) = (alpha * exact, alpha.abs() * size);
        }
        if beta != 0.0 {
            let c = beta * Number::to_f64(before[[g, i, j]]);
            (exact, size) = (exact + c, size + c.abs());
        }
        let error = (Number::to_f64(computed) - exact).abs();
        let shape = (a.dim(), bt.dim());
        assert!(
            error <= gamma * size,
            "{shape:?} at {:?}: {computed:?}, not {exact}",
            (g, i, j)
        );
    }
}

/// Calls a function for each type of elements.
macro_rules! for_types {
    ($run:ident($($argument:expr),*)) => {
        $run::<f32>($($argument),*);
        $run::<f64>($($argument),*);
        $run::<f16>($($argument),*);
        $run::<bf16>($($argument),*);
    };
}

fn check_shape<T: CpuScalar>(shape: [usize; 4], alpha: f64, beta: f64) {
    let (a, b) = factors::<T>(shape);
    let mut c = numbers([shape[0], shape[1], shape[3]], 3);
    check(alpha, a.view(), b.view(), beta, c.view_mut());
}

#[test]
fn shapes_and_factors() {
    // Every way to cut: whole, rows, columns, depth, with lengths beside the kernels' sizes.
    for shape in [
        [1, 1, 1, 1],
        [1, 2, 3, 4],
        [3, 17, 31, 9],
        [1, 64, 64, 64],
        [2, 65, 66, 67],
        [1, 200, 130, 170],
        [1, 1500, 200, 3],
        [1, 3, 200, 1500],
        [2, 1, 700, 900],
        [2, 900, 700, 1],
        [1, 300, 1, 200],
        [1, 300, 2, 200],
        [1, 1, 300_000, 1],
        [1, 5, 70_000, 7],
        [300, 8, 8, 8],
        [2, 170, 160, 180],
    ] {
        for (alpha, beta) in [(1.0, 0.0), (1.0, 1.0), (-0.7, 0.3), (0.0, 0.5)] {
            for_types!(check_shape(shape, alpha, beta));
        }
    }
}

#[test]
fn strides() {
    fn run<T: CpuScalar>() {
        // (m, k, n): whole, rows, columns, and the depth cut.
        for [m, k, n] in [
            [70, 80, 90],
            [9, 7, 5],
            [1500, 140, 6],
            [6, 140, 1500],
            [5, 9000, 4],
            [1, 90, 70],
        ] {
            let (numbers_of_a, numbers_of_b) = factors::<T>([2, 3 * m, 3 * k, 3 * n]);
            let mut sums = numbers([2, 3 * m, 3 * n], 3);
            for flips in 0..32 {
                let flip = |bit: usize| if flips >> bit & 1 == 1 { -1 } else { 1 };
                let step = 1 + flips as isize % 3;
                let a = numbers_of_a.slice(s![..;flip(0), ..;flip(1) * step, ..;flip(2)]);
                let b = numbers_of_b.slice(s![..;flip(3), ..;flip(2), ..;flip(4) * step]);
                let (a, b) = (a.slice(s![.., ..m, ..k]), b.slice(s![.., ..k, ..n]));
                let c = sums.slice_mut(s![..;flip(1), ..;flip(0) * step, ..;flip(3)]);
                let c = c.slice_move(s![.., ..m, ..n]);
                check(0.9, a, b, 0.8, c);
            }
        }
    }
    for_types!(run());
}

fn broadcast<'a, T>(view: &'a ArrayView3<T>, to: ArrayView3<T>) -> ArrayView3<'a, T> {
    view.broadcast(to.raw_dim()).unwrap()
}

#[test]
fn transposed_and_broadcast() {
    fn run<T: CpuScalar>() {
        for [m, k, n] in [
            [70, 80, 90],
            [7, 5, 9],
            [1500, 140, 6],
            [1, 90, 1300],
            [1300, 90, 1],
            [4, 70_000, 4],
        ] {
            let a = numbers::<T>([2, m, k], 1);
            let at = numbers::<T>([2, k, m], 2);
            let b = numbers::<T>([2, k, n], 3);
            let bt = numbers::<T>([2, n, k], 4);
            let swapped = [0, 2, 1];
            for a in [a.view(), at.view().permuted_axes(swapped)] {
                for b in [b.view(), bt.view().permuted_axes(swapped)] {
                    let mut c = numbers([2, m, n], 5);
                    check(1.0, a, b, 0.0, c.view_mut());
                    let mut ct = numbers([2, n, m], 6);
                    let mut ct = ct.view_mut().permuted_axes(swapped);
                    check(1.0, a, b, 0.7, ct.view_mut());
                    // One matrix for all of the batch, on either side.
                    let one = b.slice(s![..1, .., ..]);
                    check(1.3, a, broadcast(&one, b), 0.7, c.view_mut());
                    check(1.3, a, broadcast(&one, b), 0.7, ct.view_mut());
                    let one = a.slice(s![..1, .., ..]);
                    check(1.3, broadcast(&one, a), b, 0.7, c.view_mut());
                    // One row, and one number, for all of a matrix.
                    let row = b.slice(s![..1, ..1, ..]);
                    check(1.0, a, broadcast(&row, b), 0.0, c.view_mut());
                    let number = a.slice(s![..1, ..1, ..1]);
                    check(1.0, broadcast(&number, a), b, 0.0, c.view_mut());
                }
            }
        }
    }
    for_types!(run());
}

#[test]
fn nothing_to_do() {
    for shape in [
        [0, 3, 4, 5],
        [2, 0, 4, 5],
        [2, 3, 0, 5],
        [2, 3, 4, 0],
        [0, 0, 0, 0],
    ] {
        for beta in [0.0, 1.0, 0.5] {
            for_types!(check_shape(shape, 1.0, beta));
        }
    }
}

/// Shapes for all paths here and in the kernels.
const PATHS: [[usize; 4]; 9] = [
    [1, 3, 2, 5],
    [1, 3, 8, 5],
    [1, 100, 90, 80],
    [1, 1500, 100, 1],
    [1, 1, 100, 1500],
    [1, 1500, 100, 6],
    [1, 4, 70_000, 4],
    [1, 90, 1, 80],
    [3, 9, 9, 9],
];

#[test]
fn c_is_not_read_without_beta() {
    fn run<T: CpuScalar>() {
        for shape in PATHS {
            let (a, b) = factors::<T>(shape);
            let swapped = [0, 2, 1];
            let bt = b.view().permuted_axes(swapped);
            let bt = bt.as_standard_layout();
            let bt = bt.view().permuted_axes(swapped);
            for alpha in [0.0, 1.0, 0.4] {
                for (b, before) in [
                    (b.view(), f64::NAN),
                    (b.view(), f64::INFINITY),
                    (bt, f64::NAN),
                ] {
                    let before = sum_of::<T>(before);
                    let mut c = Array3::from_elem([shape[0], shape[1], shape[3]], before);
                    check(alpha, a.view(), b, 0.0, c.view_mut());
                }
            }
        }
    }
    for_types!(run());
}

#[test]
fn nan_and_infinity_in_a_and_b() {
    fn run<T: CpuScalar>() {
        for shape in PATHS {
            for special in [f64::NAN, f64::INFINITY] {
                let [batch, m, k, n] = shape;
                let (mut a, mut b) = factors::<T>(shape);
                let (row, column) = (m - 1, n / 2);
                // Zero times either is NaN: no zeros are skipped.
                a[[0, row, k - 1]] = T::from_f64(special);
                b.slice_mut(s![0, k - 1, ..]).fill(T::from_f64(0.0));
                let before = numbers::<T::Sum>([batch, m, n], 3);
                let mut c = before.clone();
                gemm(1.0, a.view(), b.view(), 0.5, c.view_mut());
                for ((g, i, _), &c) in c.indexed_iter() {
                    let is_nan = Number::to_f64(c).is_nan();
                    assert_eq!(is_nan, g == 0 && i == row, "{m} {k} {n}");
                }
                // And in B, for its column alone; an infinity stays one.
                a.fill(T::from_f64(0.5));
                b.fill(T::from_f64(0.25));
                b[[0, 0, column]] = T::from_f64(special);
                gemm(1.0, a.view(), b.view(), 0.0, c.view_mut());
                for ((g, _, j), &c) in c.indexed_iter() {
                    let c = Number::to_f64(c);
                    let is_special = c.is_nan() == special.is_nan() && !c.is_finite();
                    match g == 0 && j == column {
                        true => assert!(is_special, "{m} {k} {n}: {c}"),
                        false => assert!(c.is_finite(), "{m} {k} {n}: {c}"),
                    }
                }
                // Without alpha, A and B are not read.
                c.assign(&before);
                gemm(0.0, a.view(), b.view(), 1.0, c.view_mut());
                assert_eq!(c, before);
            }
        }
    }
    for_types!(run());
}

#[test]
fn the_same_on_any_number_of_threads() {
    fn run<T: CpuScalar>() {
        for shape in [
            [1, 300, 310, 290],
            [1, 257, 1200, 259],
            [3, 200, 180, 190],
            [20, 200, 180, 190],
            [1, 3000, 300, 7],
            [1, 1, 3000, 900],
            [1, 100, 300, 1200],
            [1, 900, 3000, 1],
            [1, 5, 100_000, 5],
            [1, 500, 2, 700],
            [40, 12, 13, 14],
        ] {
            let (a, b) = factors::<T>(shape);
            let of_threads = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
                let mut c = numbers([shape[0], shape[1], shape[3]], 3);
                let product = || gemm(0.7, a.view(), b.view(), 0.6, c.view_mut());
                pool.build().unwrap().install(product);
                c
            };
            let by_one = of_threads(1);
            for threads in [2, 3, 7] {
                assert_eq!(of_threads(threads), by_one, "{shape:?}");
            }
        }
    }
    for_types!(run());
}

/// All values of 16 bits are converted exactly, subnormal ones too; NaN stays NaN.
#[test]
fn numbers_of_16_bits_are_converted_exactly() {
    fn run<T: CpuScalar>(of_bits: fn(u16) -> T) {
        let all: Array1<T> = (0..=u16::MAX).map(of_bits).collect();
        for step in [1, -1, 2] {
            let a = all.slice(s![..;step]);
            let a = a.insert_axis(Axis(0)).insert_axis(Axis(2));
            let one = Array3::from_elem([1, 1, 1], T::from_f64(1.0));
            let mut c = Array3::from_elem([1, a.dim().1, 1], sum_of::<T>(0.0));
            gemm(1.0, a, one.view(), 0.0, c.view_mut());
            for (c, a) in c.iter().zip(a) {
                let (c, a) = (Number::to_f64(*c), a.to_f64());
                assert!(c == a || c.is_nan() && a.is_nan(), "{c} of {a}");
            }
        }
    }
    run::<f16>(f16::from_bits);
    run::<bf16>(bf16::from_bits);
}
