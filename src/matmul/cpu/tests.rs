//! Against sums in `f64`, element by element.
//!
//! The bound: where all sums are of one type with unit roundoff u, each product a·b takes part in at most
//! k + 2 roundings, in whatever order it is added: its own, k − 1 additions, the multiplication by
//! `alpha` and the addition to `beta · c`; so |computed − exact| ≤ γ_{k+2} · (|alpha| · |a| · |b| + |beta| · |c|),
//! for `c` has but two of its own and at most k additions (Higham, 'Accuracy and Stability of Numerical
//! Algorithms', section 3.5). The sums in `f64` are a reference of the same kind, with its own u.

use super::*;
use crate::{Number, Real};
use half::{bf16, f16};

/// γ_n = n·u / (1 − n·u).
fn gamma(roundings: usize, u: f64) -> f64 {
    let product = roundings as f64 * u;
    assert!(product < 1.0);
    product / (1.0 - product)
}

/// Computes C = alpha·A·B + beta·C.
fn gemm<T: CpuScalar>(
    alpha: T::Sum,
    a: ArrayView3<T>,
    b: ArrayView3<T>,
    beta: T::Sum,
    c: ArrayViewMut3<T::Sum>,
) -> Result<()> {
    super::gemm(Product {
        operation: "test",
        alpha,
        a,
        b,
        beta,
        c,
    })
}

/// In [-1, 1).
fn random(state: &mut u64) -> f64 {
    *state = state
        .wrapping_mul(6364136223846793005)
        .wrapping_add(1442695040888963407);
    (*state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

fn numbers<T: CpuScalar>(shape: [usize; 3], seed: u64) -> Array3<T> {
    let mut state = seed;
    Array3::from_shape_simple_fn(shape, || T::from_f64(random(&mut state)))
}

fn sums<T: CpuScalar>(shape: [usize; 3], seed: u64) -> Array3<T::Sum> {
    let mut state = seed;
    Array3::from_shape_simple_fn(shape, || <T::Sum as Number>::from_f64(random(&mut state)))
}

/// Computes it and compares all of it.
fn check<T: CpuScalar>(
    alpha: f64,
    a: ArrayView3<T>,
    b: ArrayView3<T>,
    beta: f64,
    mut c: ArrayViewMut3<T::Sum>,
) {
    let before = c.to_owned();
    gemm(
        <T::Sum as Number>::from_f64(alpha),
        a,
        b,
        <T::Sum as Number>::from_f64(beta),
        c.view_mut(),
    )
    .unwrap();
    compare(alpha, a, b, beta, before.view(), c.view());
}

fn compare<T: CpuScalar>(
    alpha: f64,
    a: ArrayView3<T>,
    b: ArrayView3<T>,
    beta: f64,
    before: ArrayView3<T::Sum>,
    c: ArrayView3<T::Sum>,
) {
    let k = a.dim().2;
    let alpha = Number::to_f64(<T::Sum as Number>::from_f64(alpha));
    let beta = Number::to_f64(<T::Sum as Number>::from_f64(beta));
    let gamma = gamma(k + 2, T::Sum::UNIT_ROUNDOFF) + gamma(k + 2, f64::UNIT_ROUNDOFF);
    // So that a line of each is contiguous.
    let a = a.map(|x| x.to_f64());
    let bt = b
        .permuted_axes([0, 2, 1])
        .map(|x| x.to_f64())
        .as_standard_layout()
        .into_owned();
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

fn for_all_types(test: impl Fn(&dyn Fn([usize; 4], f64, f64))) {
    fn plain<T: CpuScalar>([batch, m, k, n]: [usize; 4], alpha: f64, beta: f64) {
        let (a, b) = (
            numbers::<T>([batch, m, k], 1),
            numbers::<T>([batch, k, n], 2),
        );
        let mut c = sums::<T>([batch, m, n], 3);
        check(alpha, a.view(), b.view(), beta, c.view_mut());
    }
    test(&plain::<f32>);
    test(&plain::<f64>);
    test(&plain::<f16>);
    test(&plain::<bf16>);
}

#[test]
fn shapes_and_factors() {
    // Every way to cut: whole, rows, columns, depth, with lengths beside the kernels' sizes.
    let shapes = [
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
    ];
    for_all_types(|run| {
        for shape in shapes {
            for (alpha, beta) in [(1.0, 0.0), (1.0, 1.0), (-0.7, 0.3), (0.0, 0.5)] {
                run(shape, alpha, beta);
            }
        }
    });
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
            let numbers_of_a = numbers::<T>([2, 3 * m, 3 * k], 1);
            let numbers_of_b = numbers::<T>([2, 3 * k, 3 * n], 2);
            let mut sums = sums::<T>([2, 3 * m, 3 * n], 3);
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
    run::<f32>();
    run::<f64>();
    run::<f16>();
    run::<bf16>();
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
                    let mut c = sums::<T>([2, m, n], 5);
                    check(1.0, a, b, 0.0, c.view_mut());
                    let mut ct = sums::<T>([2, n, m], 6);
                    check(1.0, a, b, 0.7, ct.view_mut().permuted_axes(swapped));
                    // One matrix for all of the batch, on either side.
                    let one = b.slice(s![..1, .., ..]);
                    check(
                        1.3,
                        a,
                        one.broadcast(b.raw_dim()).unwrap(),
                        0.7,
                        c.view_mut(),
                    );
                    check(
                        1.3,
                        a,
                        one.broadcast(b.raw_dim()).unwrap(),
                        0.7,
                        ct.view_mut().permuted_axes(swapped),
                    );
                    let one = a.slice(s![..1, .., ..]);
                    check(
                        1.3,
                        one.broadcast(a.raw_dim()).unwrap(),
                        b,
                        0.7,
                        c.view_mut(),
                    );
                    // One row, and one number, for all of a matrix.
                    let row = b.slice(s![..1, ..1, ..]);
                    check(
                        1.0,
                        a,
                        row.broadcast(b.raw_dim()).unwrap(),
                        0.0,
                        c.view_mut(),
                    );
                    let number = a.slice(s![..1, ..1, ..1]);
                    check(
                        1.0,
                        number.broadcast(a.raw_dim()).unwrap(),
                        b,
                        0.0,
                        c.view_mut(),
                    );
                }
            }
        }
    }
    run::<f32>();
    run::<f64>();
    run::<f16>();
    run::<bf16>();
}

#[test]
fn nothing_to_do() {
    for_all_types(|run| {
        for shape in [
            [0, 3, 4, 5],
            [2, 0, 4, 5],
            [2, 3, 0, 5],
            [2, 3, 4, 0],
            [0, 0, 0, 0],
        ] {
            for beta in [0.0, 1.0, 0.5] {
                run(shape, 1.0, beta);
            }
        }
    });
}

/// Shapes that go by every path here and in the kernels.
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
fn what_c_held_is_not_read_without_beta() {
    fn run<T: CpuScalar>() {
        for [batch, m, k, n] in PATHS {
            for alpha in [0.0, 1.0, 0.4] {
                let (a, b) = (
                    numbers::<T>([batch, m, k], 1),
                    numbers::<T>([batch, k, n], 2),
                );
                for before in [f64::NAN, f64::INFINITY] {
                    let mut c =
                        Array3::from_elem([batch, m, n], <T::Sum as Number>::from_f64(before));
                    check(alpha, a.view(), b.view(), 0.0, c.view_mut());
                }
                let bt = b.permuted_axes([0, 2, 1]).as_standard_layout().into_owned();
                let mut c =
                    Array3::from_elem([batch, m, n], <T::Sum as Number>::from_f64(f64::NAN));
                check(
                    alpha,
                    a.view(),
                    bt.view().permuted_axes([0, 2, 1]),
                    0.0,
                    c.view_mut(),
                );
            }
        }
    }
    run::<f32>();
    run::<f64>();
    run::<f16>();
    run::<bf16>();
}

#[test]
fn nan_and_infinity_in_what_is_read() {
    fn run<T: CpuScalar>() {
        for [batch, m, k, n] in PATHS {
            for special in [f64::NAN, f64::INFINITY] {
                let mut a = numbers::<T>([batch, m, k], 1);
                let mut b = numbers::<T>([batch, k, n], 2);
                let (row, column) = (m - 1, n / 2);
                // Zero times either is NaN: no zeros are skipped.
                a[[0, row, k - 1]] = T::from_f64(special);
                b.slice_mut(s![0, k - 1, ..]).fill(T::from_f64(0.0));
                let mut c = sums::<T>([batch, m, n], 3);
                gemm(
                    <T::Sum as Number>::from_f64(1.0),
                    a.view(),
                    b.view(),
                    <T::Sum as Number>::from_f64(0.5),
                    c.view_mut(),
                )
                .unwrap();
                for ((g, i, _), &c) in c.indexed_iter() {
                    assert_eq!(
                        Number::to_f64(c).is_nan(),
                        g == 0 && i == row,
                        "{m} {k} {n}"
                    );
                }
                // And in `b`, for its column alone; an infinity stays one.
                a.fill(T::from_f64(0.5));
                b.fill(T::from_f64(0.25));
                b[[0, 0, column]] = T::from_f64(special);
                gemm(
                    <T::Sum as Number>::from_f64(1.0),
                    a.view(),
                    b.view(),
                    <T::Sum as Number>::from_f64(0.0),
                    c.view_mut(),
                )
                .unwrap();
                for ((g, _, j), &c) in c.indexed_iter() {
                    let c = Number::to_f64(c);
                    match g == 0 && j == column {
                        true => assert!(
                            c.is_nan() == special.is_nan() && !c.is_finite(),
                            "{m} {k} {n}: {c}"
                        ),
                        false => assert!(c.is_finite(), "{m} {k} {n}: {c}"),
                    }
                }
                // Without `alpha` neither is read.
                let before = sums::<T>([batch, m, n], 3);
                c.assign(&before);
                gemm(
                    <T::Sum as Number>::from_f64(0.0),
                    a.view(),
                    b.view(),
                    <T::Sum as Number>::from_f64(1.0),
                    c.view_mut(),
                )
                .unwrap();
                assert_eq!(c, before);
            }
        }
    }
    run::<f32>();
    run::<f64>();
    run::<f16>();
    run::<bf16>();
}

#[test]
fn the_same_on_any_number_of_threads() {
    fn run<T: CpuScalar>() {
        let shapes = [
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
        ];
        for [batch, m, k, n] in shapes {
            let (a, b) = (
                numbers::<T>([batch, m, k], 1),
                numbers::<T>([batch, k, n], 2),
            );
            let of_threads = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new()
                    .num_threads(threads)
                    .build()
                    .unwrap();
                let mut c = sums::<T>([batch, m, n], 3);
                pool.install(|| {
                    gemm(
                        <T::Sum as Number>::from_f64(0.7),
                        a.view(),
                        b.view(),
                        <T::Sum as Number>::from_f64(0.6),
                        c.view_mut(),
                    )
                })
                .unwrap();
                c
            };
            let by_one = of_threads(1);
            for threads in [2, 3, 7] {
                assert_eq!(of_threads(threads), by_one, "{batch} {m} {k} {n}");
            }
        }
    }
    run::<f32>();
    run::<f64>();
    run::<f16>();
    run::<bf16>();
}

/// All values of 16 bits go through unchanged, subnormal ones too; an NaN stays one.
#[test]
fn numbers_of_16_bits_are_converted_exactly() {
    fn run<T: CpuScalar>(of_bits: fn(u16) -> T) {
        let all: Array1<T> = (0..=u16::MAX).map(of_bits).collect();
        for step in [1, -1, 2] {
            let a = all
                .slice(s![..;step])
                .insert_axis(Axis(0))
                .insert_axis(Axis(2));
            let one = Array3::from_elem([1, 1, 1], T::from_f64(1.0));
            let mut c = Array3::from_elem([1, a.dim().1, 1], <T::Sum as Number>::from_f64(0.0));
            gemm(
                <T::Sum as Number>::from_f64(1.0),
                a,
                one.view(),
                <T::Sum as Number>::from_f64(0.0),
                c.view_mut(),
            )
            .unwrap();
            for (c, a) in c.iter().zip(a) {
                let (c, a) = (Number::to_f64(*c), a.to_f64());
                assert!(c == a || c.is_nan() && a.is_nan(), "{c} of {a}");
            }
        }
    }
    run::<f16>(f16::from_bits);
    run::<bf16>(bf16::from_bits);
}
