//! The plain ndarray version, as a reference for tests.

use std::cell::LazyCell;
use std::collections::BTreeMap;

use ndarray::ArrayView1;
use time_series_kernels::Statistic;

use super::element::Value;
use super::fill::Fill;
use super::method::{Kind, Method};
use super::options::{Duplicates, Nan, Order, Singletons, TimeBuckets};
use super::output::Aggregates;

/// As [`TimeBuckets::aggregate_series`], but on one core, step by step: labels by division of
/// 128-bit integers, the values of each bucket in a list, sums and variances from exact arithmetic.
///
/// For finite values, and unless results overflow or underflow, sums are exact sums rounded once,
/// and means, variances and deviations are off by at most three roundings, skewness and kurtosis by
/// at most twelve; all other results are exact.
///
/// # Panics
/// May panic on arguments for which [`TimeBuckets::aggregate_series`] returns an error.
///
/// ```
/// use gridstride::time_series::{TimeBuckets, Method, reference};
/// use ndarray::array;
///
/// let (timestamps, values) = (array![-1, 0, 1], array![5.0, 1e100, -1e100]);
/// let sums = TimeBuckets::every(2).methods(&[Method::SUM, Method::LAST.rate()]);
/// let found = reference::aggregate(&sums, &[0, 3], timestamps.view(), values.view());
/// assert_eq!(found.starts(), array![-2, 0]);
/// assert_eq!(found.column(0), array![5.0, 0.0]);
/// assert!(found.column(1)[0].is_nan() && found.column(1)[1] == -2e100);
/// ```
pub fn aggregate<T: Value>(
    aggregation: &TimeBuckets,
    offsets: &[usize],
    timestamps: ArrayView1<i64>,
    values: ArrayView1<T>,
) -> Aggregates {
    let methods = aggregation.methods.clone();
    let (mut starts, mut columns) = (Vec::new(), vec![Vec::new(); methods.len()]);
    let mut offsets_of_buckets = vec![0];
    for series in offsets.windows(2) {
        let points = (series[0]..series[1])
            .map(|index| (timestamps[index], values[index].to_f64()))
            .collect();
        for (start, row) in rows(aggregation, buckets(aggregation, points)) {
            starts.push(start);
            for (column, number) in columns.iter_mut().zip(row) {
                column.push(number);
            }
        }
        offsets_of_buckets.push(starts.len());
    }
    Aggregates {
        offsets: offsets_of_buckets,
        starts: starts.into(),
        methods,
        columns: columns.into_iter().map(Into::into).collect(),
    }
}

/// The values and rates of a bucket.
#[derive(Default)]
struct Bucket {
    values: Vec<f64>,
    rates: Vec<f64>,
}

/// Returns the buckets of a series by their labels.
fn buckets(aggregation: &TimeBuckets, mut points: Vec<(i64, f64)>) -> BTreeMap<i64, Bucket> {
    if aggregation.order == Order::Sort {
        points.sort_by_key(|(timestamp, _)| *timestamp);
    }
    match aggregation.duplicates {
        Duplicates::Keep => {}
        Duplicates::First => points.dedup_by_key(|(timestamp, _)| *timestamp),
        Duplicates::Last => {
            points.reverse();
            points.dedup_by_key(|(timestamp, _)| *timestamp);
            points.reverse();
        }
    }
    let mut buckets = BTreeMap::<i64, Bucket>::new();
    let mut before = None;
    for (timestamp, value) in points {
        let bucket = buckets.entry(label(aggregation, timestamp)).or_default();
        if value.is_nan() && aggregation.nan == Nan::Skip {
            continue;
        }
        bucket.values.push(value);
        bucket.rates.extend(before.map(|before| value - before));
        before = Some(value);
    }
    buckets
}

fn label(aggregation: &TimeBuckets, timestamp: i64) -> i64 {
    let origin = i128::from(aggregation.origin);
    let every = i128::from(aggregation.every);
    let label = origin + (i128::from(timestamp) - origin).div_euclid(every) * every;
    label.try_into().expect("a timestamp with a label")
}

/// Returns the start and the results of each bucket of a series.
fn rows(aggregation: &TimeBuckets, buckets: BTreeMap<i64, Bucket>) -> Vec<(i64, Vec<f64>)> {
    let ddof = aggregation.ddof as usize;
    let mut rows: Vec<(i64, Vec<f64>)> = Vec::new();
    // The last result of each method that is not NaN.
    let mut last = vec![f64::NAN; aggregation.methods.len()];
    for (start, bucket) in buckets {
        let numbers_of = |method: &Method| match method.is_rate() {
            true => &bucket.rates,
            false => &bucket.values,
        };
        let is_undefined =
            |method: &Method| method.needs_degrees_of_freedom() && numbers_of(method).len() <= ddof;
        let drops = aggregation.singletons == Singletons::Drop;
        if drops && aggregation.methods.iter().any(is_undefined) {
            continue;
        }
        let methods = aggregation.methods.iter();
        // Four statistics take it, and it is the most work.
        let shapes = [&bucket.values, &bucket.rates];
        let shapes = shapes.map(|numbers| LazyCell::new(move || shape(numbers)));
        let numbers = methods.map(|method| {
            let shape = &shapes[usize::from(method.is_rate())];
            number(method.kind(), numbers_of(method), ddof, || **shape)
        });
        let row: Vec<f64> = numbers.collect();
        while let Some((before, _)) = rows.last()
            && !aggregation.fill.is_none()
            && start.abs_diff(*before) > aggregation.every as u64
        {
            let methods = aggregation.methods.iter().zip(&last);
            let empty = methods.map(|(method, &last)| match aggregation.fill.of(method) {
                Fill::None | Fill::Nan => f64::NAN,
                Fill::Value(number) => number,
                Fill::Previous => last,
            });
            rows.push((before + aggregation.every, empty.collect()));
        }
        for (last, &number) in last.iter_mut().zip(&row) {
            if !number.is_nan() {
                *last = number;
            }
        }
        rows.push((start, row));
    }
    rows
}

/// Returns the result of a method, given how to find the [`shape`] of the values.
fn number(kind: Kind, values: &[f64], ddof: usize, shape: impl Fn() -> (f64, f64)) -> f64 {
    let count = values.len() as f64;
    let has_nan = values.iter().any(|value| value.is_nan());
    let statistic = match kind {
        Kind::Median => return percentile(values, 50.0),
        Kind::Percentile(percent) => return percentile(values, percent.get()),
        Kind::Statistic(statistic) => statistic,
    };
    match statistic {
        Statistic::Count => count,
        Statistic::Sum => sum_over(values, 1.0),
        Statistic::Mean => sum_over(values, count),
        Statistic::First => values.first().copied().unwrap_or(f64::NAN),
        Statistic::Last => values.last().copied().unwrap_or(f64::NAN),
        _ if has_nan || values.is_empty() => f64::NAN,
        Statistic::Min => values.iter().copied().fold(f64::INFINITY, f64::min),
        Statistic::Max => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        Statistic::Std => {
            let (variance, power) = scaled_variance(values, ddof);
            variance.sqrt() * power
        }
        Statistic::Var => {
            let (variance, power) = scaled_variance(values, ddof);
            variance * power * power
        }
        Statistic::SkewPop => shape().0,
        Statistic::KurtPop => shape().1 - 3.0,
        Statistic::Skew | Statistic::Kurt if values.len() < 3 => f64::NAN,
        Statistic::Skew => shape().0 * (count * (count - 1.0)).sqrt() / (count - 2.0),
        Statistic::Kurt if values.len() < 4 => f64::NAN,
        Statistic::Kurt => {
            let factor = (count - 1.0) / ((count - 2.0) * (count - 3.0));
            factor * ((count + 1.0) * shape().1 - 3.0 * (count - 1.0))
        }
    }
}

fn percentile(values: &[f64], percent: f64) -> f64 {
    if values.is_empty() || values.iter().any(|value| value.is_nan()) {
        return f64::NAN;
    }
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let place = (values.len() - 1) as f64 * percent / 100.0;
    let [low, high] = [place.floor(), place.ceil()].map(|index| values[index as usize]);
    if low == high {
        return low;
    }
    let difference = high - low;
    if difference.is_infinite() && low.is_finite() && high.is_finite() {
        return low * (1.0 - place.fract()) + high * place.fract();
    }
    low + place.fract() * difference
}

/// Returns the sum divided by a number.
fn sum_over(values: &[f64], divisor: f64) -> f64 {
    if values.iter().all(|value| value.is_finite()) {
        let (scaled, power) = scaled(values);
        return exact_sum(&scaled).rounded() / divisor * power;
    }
    values.iter().sum::<f64>() / divisor
}

/// Returns the variance of the values divided by a power of two, and the power. The difference in
/// (n·Σx² − (Σx)²) / (n·(n − ddof)) is exact.
fn scaled_variance(values: &[f64], ddof: usize) -> (f64, f64) {
    let n = values.len();
    if n <= ddof || values.iter().any(|value| !value.is_finite()) {
        return (f64::NAN, 1.0);
    }
    let (values, power) = scaled(values);
    let sum = exact_sum(&values);
    let mut difference = Exact::default();
    for value in values {
        let (square, rest) = two_product(value, value);
        difference.add_product(n as f64, square);
        difference.add_product(n as f64, rest);
    }
    for &a in &sum.parts {
        for &b in &sum.parts {
            difference.add_product(-a, b);
        }
    }
    let variance = difference.rounded() / (n as f64 * (n - ddof) as f64);
    (variance, power)
}

/// Returns g₁ and g₂ + 3 of the population, NaN if values are not finite or all are equal. With the
/// sums Sₚ = Σxᵖ the central moments are mₚ = Nₚ/nᵖ, of the exact N₂ = n·S₂ − S₁²,
/// N₃ = n²·S₃ − 3n·S₁·S₂ + 2·S₁³ and N₄ = n³·S₄ − 4n²·S₁·S₃ + 6n·S₁²·S₂ − 3·S₁⁴.
fn shape(values: &[f64]) -> (f64, f64) {
    let largest = values.iter().map(|value| value.abs()).fold(0.0, f64::max);
    let is_undefined = values.iter().all(|value| *value == values[0]);
    if is_undefined || values.iter().any(|value| !value.is_finite()) {
        return (f64::NAN, f64::NAN);
    }
    // About 1, so that fourth powers neither overflow nor lose bits that matter.
    let exponent = (largest.to_bits() >> 52) as i32 - 1023;
    let mut sums: [Exact; 5] = Default::default();
    for &value in values {
        let one = Exact::of(value * 2f64.powi(-exponent));
        let square = one.times(&one);
        for (sum, power) in
            sums[1..]
                .iter_mut()
                .zip([&one, &square, &square.times(&one), &square.times(&square)])
        {
            power.parts.iter().for_each(|&part| sum.add(part));
        }
    }
    let [_, one, two, three, four] = sums;
    let n = Exact::of(values.len() as f64);
    let square = one.times(&one);
    let total = |terms: &[(f64, Exact)]| {
        let mut total = Exact::default();
        for (factor, term) in terms {
            let term = term.times(&Exact::of(*factor));
            term.parts.iter().for_each(|&part| total.add(part));
        }
        total.rounded()
    };
    let second = total(&[(1.0, n.times(&two)), (-1.0, square.clone())]);
    let third = total(&[
        (1.0, n.times(&n).times(&three)),
        (-3.0, n.times(&one).times(&two)),
        (2.0, square.times(&one)),
    ]);
    let fourth = total(&[
        (1.0, n.times(&n).times(&n).times(&four)),
        (-4.0, n.times(&n).times(&one).times(&three)),
        (6.0, n.times(&square).times(&two)),
        (-3.0, square.times(&square)),
    ]);
    (third / (second * second.sqrt()), fourth / (second * second))
}

fn exact_sum(values: &[f64]) -> Exact {
    let mut sum = Exact::default();
    values.iter().for_each(|&value| sum.add(value));
    sum
}

/// Returns finite values divided by 1, 2⁷⁰⁰ or 2⁻⁷⁰⁰, so that squares of the largest neither
/// overflow nor underflow, and the divisor.
fn scaled(values: &[f64]) -> (Vec<f64>, f64) {
    let largest = values.iter().map(|value| value.abs()).fold(0.0, f64::max);
    let power = if largest > 1e100 {
        2f64.powi(700)
    } else if largest < 1e-100 {
        2f64.powi(-700)
    } else {
        1.0
    };
    let inverse = 1.0 / power;
    (values.iter().map(|value| value * inverse).collect(), power)
}

/// Returns a·b rounded, and the rounding error.
fn two_product(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    (product, a.mul_add(b, -product))
}

/// Returns a + b rounded, and the rounding error.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_in_sum = sum - a;
    (sum, (a - (sum - b_in_sum)) + (b - b_in_sum))
}

/// An exact sum, as numbers of ascending size that do not overlap.
///
/// J. Shewchuk, 'Adaptive Precision Floating-Point Arithmetic and Fast Robust Geometric Predicates'
/// (1997), figure 6.
#[derive(Clone, Default)]
struct Exact {
    parts: Vec<f64>,
}

impl Exact {
    fn of(number: f64) -> Exact {
        Exact {
            parts: vec![number],
        }
    }

    fn times(&self, other: &Exact) -> Exact {
        let mut product = Exact::default();
        for &a in &self.parts {
            for &b in &other.parts {
                product.add_product(a, b);
            }
        }
        product
    }

    fn add(&mut self, mut term: f64) {
        for part in &mut self.parts {
            (term, *part) = two_sum(term, *part);
        }
        self.parts.push(term);
        self.parts.retain(|part| *part != 0.0);
    }

    fn add_product(&mut self, a: f64, b: f64) {
        let (product, rest) = two_product(a, b);
        self.add(rest);
        self.add(product);
    }

    /// Returns the nearest `f64`, or rarely its neighbour, if the exact sum is almost halfway
    /// between.
    fn rounded(&self) -> f64 {
        // From the smallest part up.
        self.parts.iter().fold(0.0, |sum, part| sum + part)
    }
}
