//! Products that lose the most to rounding, on every device, against exact arithmetic within the
//! bound of [`MatMul::error_factor`]; products that underflow; and NaN, infinities and zeros.

use gridstride::Device;
use gridstride::matmul::{MatMul, Precision, Scalar};
use gridstride::{Number, Real};
use ndarray::{Array2, array};

use super::for_types;
use test_support::exact::{Exact, is_within};
use test_support::{Random, devices, scaled, small};

fn exact<T: Number>(number: T) -> Exact {
    Exact::from(number.to_f64())
}

/// A·B and |A|·|B|, element by element.
struct Sums([Array2<Exact>; 2]);

impl Sums {
    fn new<T: Scalar>(a: &Array2<T>, b: &Array2<T>) -> Sums {
        let (a, b) = (a.mapv(exact), b.mapv(exact));
        let make = |of: fn(&Exact) -> Exact| {
            let (a, b) = (a.map(of), b.map(of));
            Array2::from_shape_fn((a.nrows(), b.ncols()), |(i, j)| {
                let pairs = a.row(i).into_iter().zip(b.column(j));
                pairs.map(|(a, b)| a * b).sum()
            })
        };
        Sums([make(Exact::clone), make(Exact::abs)])
    }
}

/// α·A·B + β·C₀ and |α|·|A|·|B| + |β|·|C₀|, element by element.
struct Expected {
    values: Array2<Exact>,
    sizes: Array2<Exact>,
}

impl Expected {
    fn new<S: Number>(
        [alpha, beta]: [f64; 2],
        Sums([values, sizes]): &Sums,
        c: &Array2<S>,
    ) -> Expected {
        let scales = [alpha, beta].map(Exact::from);
        let make = |sums: &Array2<Exact>, of: fn(&Exact) -> Exact| {
            let [alpha, beta] = scales.each_ref().map(of);
            Array2::from_shape_fn(c.dim(), |place| {
                &alpha * &sums[place] + &beta * &of(&exact(c[place]))
            })
        };
        Expected {
            values: make(values, Exact::clone),
            sizes: make(sizes, Exact::abs),
        }
    }

    /// Checks that C is within `factor` times the sizes and `more`.
    #[track_caller]
    fn check<C: Number>(&self, c: &Array2<C>, factor: f64, more: &Exact, what: &str) {
        assert_eq!(c.dim(), self.values.dim(), "{what}");
        let factor = Exact::from(factor);
        for ((place, &found), expected) in c.indexed_iter().zip(&self.values) {
            let bound = &factor * &self.sizes[place] + more.clone();
            let is_right = is_within(found.to_f64(), expected, &bound);
            assert!(
                is_right,
                "{what}: {found:?} at {place:?} is beyond the bound"
            );
        }
    }
}

/// Random numbers with all digits of the type, from 2^`-range` to 2^`range` in magnitude.
fn wide<T: Scalar>(shape: (usize, usize), range: i64, random: &mut Random) -> Array2<T> {
    Array2::from_shape_simple_fn(shape, || {
        let exponent = random.within(-range, range) as i32;
        let digits = random.within(1 << 52, 1 << 53) as f64 * 2f64.powi(exponent - 52);
        T::from_f64(if random.bits() >> 63 == 0 {
            digits
        } else {
            -digits
        })
    })
}

/// Returns the exponents at which no product of two numbers and no sum of products leaves the range.
fn range<T: Scalar>() -> i64 {
    match (size_of::<T>(), T::NAME) {
        (8, _) => 300,
        (_, "f16") => 6,
        _ => 30,
    }
}

/// Terms that cancel pairwise, except for the last bits of some: C is far below |A|·|B|.
fn cancelling<T: Scalar>((m, k, n): (usize, usize, usize)) -> (Array2<T>, Array2<T>) {
    let mut random = Random((m + k + n) as u64);
    let mut a = wide::<T>((m, k), range::<T>(), &mut random);
    let mut b = wide::<T>((k, n), range::<T>(), &mut random);
    for l in 0..k / 2 {
        let opposite = k - 1 - l;
        for i in 0..m {
            a[(i, opposite)] = a[(i, l)];
        }
        for j in 0..n {
            // Every third pair leaves a rounding of T behind.
            let rest = if (l + j) % 3 == 0 { 1.0 + 3e-3 } else { 1.0 };
            b[(opposite, j)] = T::from_f64(-b[(l, j)].to_f64() * rest);
        }
    }
    (a, b)
}

/// Equal terms, whose roundings all go in the same direction.
fn drifting<T: Scalar>((m, k, n): (usize, usize, usize)) -> (Array2<T>, Array2<T>) {
    let number = |index: usize| T::from_f64(0.1 + index as f64 / 64.0);
    (
        Array2::from_shape_fn((m, k), |(i, _)| number(i)),
        Array2::from_shape_fn((k, n), |(_, j)| number(j + 3)),
    )
}

/// A large term and many that are half a unit of its last place.
fn swallowed<T: Scalar>((m, k, n): (usize, usize, usize)) -> (Array2<T>, Array2<T>) {
    let tiny = T::Sum::UNIT_ROUNDOFF.max(2f64.powi(-14));
    let first = |index: usize| if index == 0 { 1.0 } else { tiny };
    let ones = if T::Sum::UNIT_ROUNDOFF < tiny {
        T::Sum::UNIT_ROUNDOFF / tiny
    } else {
        1.0
    };
    (
        Array2::from_shape_fn((m, k), |(_, l)| T::from_f64(first(l))),
        Array2::from_shape_fn((k, n), |(l, _)| {
            T::from_f64(if l == 0 { 1.0 } else { ones })
        }),
    )
}

/// Hilbert's matrix and its inverse, whose product in exact arithmetic would be the identity, with
/// terms up to 10⁹ times as large.
fn hilbert<T: Scalar>() -> (Array2<T>, Array2<T>) {
    const N: usize = 7;
    let inverse = |i: usize, j: usize| {
        let (i, j) = (i + 1, j + 1);
        let sign = if (i + j) % 2 == 0 { 1.0 } else { -1.0 };
        let squared = choose(i + j - 2, i - 1).powi(2);
        let others = choose(N + i - 1, N - j) * choose(N + j - 1, N - i);
        sign * (i + j - 1) as f64 * others * squared
    };
    (
        Array2::from_shape_fn((N, N), |(i, j)| T::from_f64(1.0 / (i + j + 1) as f64)),
        Array2::from_shape_fn((N, N), |(i, j)| T::from_f64(inverse(i, j))),
    )
}

/// The binomial coefficient.
fn choose(n: usize, k: usize) -> f64 {
    (0..k).fold(1.0, |product, i| product * (n - i) as f64 / (i + 1) as f64)
}

fn within_the_bound<T: Scalar>(with: MatMul) {
    let k = if small() { 70 } else { 1100 };
    let mut products = vec![];
    for sizes in [(3, 2, 5), (4, 17, 3), (1, k, 1), (3, k, 5), (2, k, 33)] {
        products.push((cancelling::<T>(sizes), "cancelling"));
        products.push((drifting::<T>(sizes), "drifting"));
        products.push((swallowed::<T>(sizes), "swallowed"));
    }
    if T::NAME != "f16" {
        products.push((hilbert::<T>(), "Hilbert"));
    }
    let devices = devices();
    for ((a, b), name) in products {
        let sums = Sums::new(&a, &b);
        let before = Array2::from_elem((a.nrows(), b.ncols()), T::Sum::from_f64(-0.3));
        for scales in [[1.0, 0.0], [0.75, -1.25]] {
            let expected = Expected::new(scales, &sums, &before);
            let factor = with.error_factor::<T>(a.ncols());
            for device in &devices {
                let [alpha, beta] = scales.map(T::Sum::from_f64);
                let mut c = before.clone();
                with.gemm(device, alpha, a.view(), b.view(), beta, c.view_mut())
                    .unwrap();
                let (t, sizes) = (T::NAME, (a.dim(), b.dim()));
                let what = format!("{device}, {with:?}, {t}, {name}, {sizes:?}, {scales:?}");
                expected.check(&c, factor, &Exact::whole(0), &what);
            }
        }
    }
}

#[test]
fn ill_conditioned_products_are_within_the_bound() {
    for_types!(within_the_bound());
}

/// Terms of `f32` for tensor cores: elements below 2⁻¹¹⁰ lose up to 2⁻¹³⁴.
#[test]
fn small_elements_of_emulated_products_are_within_the_bound() {
    let with = MatMul::new().precision(Precision::F32ByBf16x6);
    let mut random = Random(3);
    let k = 70;
    for exponent in [-149, -140, -134, -128, -126, -112, -100] {
        let small = Array2::from_shape_simple_fn((4, k), || {
            let digits = random.within(-1 << 24, 1 << 24) as f64;
            (digits * 2f64.powi(exponent - 23)) as f32
        });
        let large = wide::<f32>((k, 5), 40, &mut random).mapv(|x| x * 2f32.powi(60));
        let before = Array2::<f32>::zeros((4, 5));
        let expected = Expected::new([1.0, 0.0], &Sums::new(&small, &large), &before);
        // 2⁻¹³⁴ times the largest column of |B|.
        let columns = large.columns();
        let sums = columns
            .into_iter()
            .map(|column| column.iter().map(|b| exact(b.abs())).sum());
        let largest: Exact = sums.fold(Exact::whole(0), |a: Exact, b| if a > b { a } else { b });
        let more = Exact::power(-134) * largest;
        for device in devices() {
            let c = with.matmul(&device, small.view(), large.view()).unwrap();
            let what = format!("{device}, elements of 2^{exponent}");
            expected.check(&c, with.error_factor::<f32>(k), &more, &what);
        }
    }
}

/// Returns half the smallest number of `T::Sum` times the roundings that may underflow: k products,
/// each multiplied by α, and the products with α and β.
fn underflow<T: Scalar>(alpha: f64, k: usize) -> Exact {
    let smallest = if size_of::<T::Sum>() == 8 {
        -1074
    } else {
        -149
    };
    let roundings = Exact::whole(k as u64) * Exact::from(alpha.abs()) + Exact::whole(2);
    Exact::power(smallest - 1) * roundings
}

fn underflowing<T: Scalar>() {
    let with = MatMul::new();
    let lowest = if size_of::<T>() == 8 { -1074 } else { -149 };
    let k = 90;
    let mut random = Random(17);
    // Products around the smallest number, and of the smallest numbers themselves.
    for (low, high) in [(lowest / 2, lowest / 2), (lowest, 0), (lowest + 40, -30)] {
        let mut factor = |shape, exponent: i32| {
            Array2::from_shape_simple_fn(shape, || {
                let exponent = exponent + random.within(-12, 12) as i32;
                let number = random.within(1, 1 << 12) as f64 / 4096.0;
                let sign = if random.bits() >> 63 == 0 { 1.0 } else { -1.0 };
                T::from_f64(scaled(sign * number, exponent))
            })
        };
        let (a, b) = (factor((6, k), low), factor((k, 7), high));
        let before = Array2::from_elem((6, 7), T::Sum::from_f64(2f64.powi(lowest / 2) / 3.0));
        let sums = Sums::new(&a, &b);
        for scales in [[1.0, 0.0], [0.75, 1.5], [-3.0, 2f64.powi(lowest / 2)]] {
            let expected = Expected::new(scales, &sums, &before);
            let more = underflow::<T>(scales[0], k);
            for device in devices() {
                let [alpha, beta] = scales.map(T::Sum::from_f64);
                let mut c = before.clone();
                with.gemm(&device, alpha, a.view(), b.view(), beta, c.view_mut())
                    .unwrap();
                let what = format!("{device}, {}, 2^{low}·2^{high}, {scales:?}", T::NAME);
                expected.check(&c, with.error_factor::<T>(k), &more, &what);
            }
        }
    }
}

#[test]
fn products_that_underflow_lose_half_the_smallest_number_each() {
    underflowing::<f32>();
    underflowing::<f64>();
}

/// 0·∞ and ∞ − ∞ are NaN, and NaN stays, in every row and column; the others are finite.
fn special<T: Scalar>(with: MatMul) {
    let number = |x: f64| T::from_f64(x);
    let infinity = number(f64::INFINITY);
    // A NaN with a sign and a payload.
    let nan = number(f64::from_bits(0xfff8_0123_0000_0000));
    let [zero, one] = [0.0, 1.0].map(number);
    let a = array![
        [one, one, zero, one],
        [infinity, one, zero, one],
        [one, nan, zero, one],
        [zero, one, infinity, one],
    ];
    let b = array![
        [one, zero, number(-1.0)],
        [one, zero, one],
        [one, one, one],
        [one, one, infinity],
    ];
    // Row 1: ∞ + 1 + 0 + 1; ∞·0; −∞ + ∞. Row 3: ∞ + 1.
    let (inf, not) = (f64::INFINITY, f64::NAN);
    let expected = array![
        [3.0, 1.0, inf],
        [inf, not, not],
        [not, not, not],
        [inf, inf, inf],
    ];
    for device in devices() {
        let c = with.matmul(&device, a.view(), b.view()).unwrap();
        for ((place, c), &expected) in c.indexed_iter().zip(&expected) {
            let c = c.to_f64();
            let is_same = c == expected || c.is_nan() && expected.is_nan();
            assert!(is_same, "{device}, {with:?}, {}, {place:?}: {c}", T::NAME);
        }
    }
}

#[test]
fn infinities_and_nan_propagate() {
    for_types!(special());
}

fn zeros<T: Scalar>(with: MatMul) {
    let [zero, minus] = [0.0, -0.0].map(T::from_f64);
    let a = array![[zero, minus], [minus, minus]];
    for device in devices() {
        let c = with.matmul(&device, a.view(), a.view()).unwrap();
        let before = Array2::from_elem((2, 2), T::Sum::from_f64(-0.0));
        let mut sum = before.clone();
        let one = T::Sum::from_f64(1.0);
        with.gemm(&device, one, a.view(), a.view(), one, sum.view_mut())
            .unwrap();
        for c in c.iter().chain(&sum) {
            assert_eq!(c.to_f64(), 0.0, "{device}, {with:?}");
        }
    }
}

#[test]
fn zeros_of_both_signs_give_zero() {
    for_types!(zeros());
}

/// The sum of 2²⁴ and ones stays where it is if it is summed from the first to the last: the bound
/// allows it, and nothing more.
#[test]
fn long_sums_are_within_the_bound() {
    let k = if small() { 1 << 10 } else { 1 << 16 };
    let with = MatMul::new();
    let mut a = Array2::from_elem((1, k), 1f32);
    a[(0, 0)] = 16_777_216.0;
    let b = Array2::from_elem((k, 1), 1f32);
    let expected = Expected::new(
        [1.0, 0.0],
        &Sums::new(&a, &b),
        &Array2::<f32>::zeros((1, 1)),
    );
    let check = |device: &Device| {
        let c = with.matmul(device, a.view(), b.view()).unwrap();
        let what = device.to_string();
        expected.check(&c, with.error_factor::<f32>(k), &Exact::whole(0), &what);
    };
    devices().iter().for_each(check);
}
