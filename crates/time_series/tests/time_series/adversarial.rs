//! Values whose sums and deviations lose the most to rounding, on every device, against exact
//! arithmetic within the bounds of the documentation's table; zeros of both signs, NaN and
//! infinities; the limits of `i64`; and sums of many values.
//!
//! `GRIDSTRIDE_TEST_VALUES` sets the number of values of one bucket that is aggregated at once.

use gridstride::time_series::{
    Aggregates, Fill, Method, Nan, Order, TimeBuckets, Value, bucket_counts, round_timestamps,
};
use gridstride::{Device, Error};
use ndarray::{Array1, ArrayView1, array};
use time_series_kernels::Statistics;

use super::{Number, timestamps_of};
use test_support::buckets::label;
use test_support::exact::{Exact, U, is_root_within, is_within};
use test_support::in_every_type;
use test_support::{Random, assert_error, devices, is_slow, scaled};

/// The exact Σx, Σ|x| and Σx² of n values.
#[derive(Clone)]
struct Sums {
    count: u64,
    sum: Exact,
    magnitude: Exact,
    squares: Exact,
}

impl Sums {
    fn of<'a, T: Value>(values: impl IntoIterator<Item = &'a T>) -> Sums {
        let zero = Exact::whole(0);
        let (sum, magnitude) = (zero.clone(), zero.clone());
        let empty = Sums {
            count: 0,
            sum,
            magnitude,
            squares: zero,
        };
        values.into_iter().fold(empty, |sums, value| {
            let value = Exact::from(value.to_f64());
            Sums {
                count: sums.count + 1,
                sum: &sums.sum + &value,
                magnitude: &sums.magnitude + &value.abs(),
                squares: &sums.squares + &value.squared(),
            }
        })
    }

    /// Returns those of so many times the same values.
    fn repeated(&self, times: u64) -> Sums {
        let by = |number: &Exact| number * &Exact::whole(times);
        Sums {
            count: self.count * times,
            sum: by(&self.sum),
            magnitude: by(&self.magnitude),
            squares: by(&self.squares),
        }
    }

    /// Checks a result; `merged` is the number of merged buckets.
    #[track_caller]
    fn check(&self, method: Method, ddof: u64, merged: u64, found: f64, what: &str) {
        let n = self.count;
        let u = Exact::from(U);
        let count = Exact::whole(n);
        // 2u·|S| + n²u²·Σ|x|.
        let in_sum = &(&Exact::from(2.0 * U) * &self.sum.abs())
            + &(&(&count * &u).squared() * &self.magnitude);
        let largest = Exact::from(f64::MAX);
        let smallest = Exact::power(-1074);
        let two_units = &Exact::whole(2) * &smallest;
        let additions = n.min(8192) + n / 8192 + 64 + merged;
        // 25·n·k²·u², of a deviation.
        let in_squares =
            Exact::whole(25) * count.clone() * Exact::whole(additions).squared() * u.squared();
        let three = Exact::whole(3) * u.clone();
        // n·(n − d), and that times the variance.
        let divisor = Exact::whole(n * n.saturating_sub(ddof));
        let dividend = &count * &self.squares - self.sum.squared();
        let is_right = match method {
            Method::SUM if found.is_infinite() => self.sum.abs() + in_sum > largest,
            Method::SUM => is_within(found, &self.sum, &in_sum),
            // The other results times their divisors.
            Method::MEAN => {
                let rounding = &u * &(self.sum.abs() + in_sum.clone());
                let bound = in_sum + rounding + &count * &two_units;
                found.is_finite() && (Exact::from(found) * count - self.sum.clone()).abs() <= bound
            }
            _ if n <= ddof => found.is_nan(),
            Method::VAR if found.is_infinite() => {
                let factor = Exact::whole(1) + three + in_squares.clone() + in_squares;
                factor * dividend > largest * divisor
            }
            Method::VAR => {
                let relative = three + in_squares.clone() + in_squares;
                let bound = &relative * &dividend + &two_units * &divisor;
                found.is_finite() && (Exact::from(found) * divisor - dividend).abs() <= bound
            }
            Method::STD => {
                let (square, absolute) = (&dividend * &divisor, &two_units * &divisor);
                let found = Exact::from(found) * divisor;
                is_root_within(&found, &square, &(three + in_squares), &absolute)
            }
            _ => unreachable!("no test of {method}"),
        };
        assert!(
            is_right,
            "{what}: {method} of {n} values is {found:e}, beyond the bound"
        );
    }
}

const METHODS: [Method; 4] = [Method::SUM, Method::MEAN, Method::VAR, Method::STD];

/// Values of each kind of difficulty, with its name.
fn hard_values<T: Number>(count: usize) -> Vec<(Array1<T>, &'static str)> {
    // Normal exponents of the type.
    let (low, high, digits) = match size_of::<T>() {
        8 => (-1022, 1023, 53),
        _ => (-126, 127, 24),
    };
    let mut random = Random(count as u64);
    let mut number = |low: i32, high: i32| {
        let exponent = random.within(low.into(), i64::from(high) + 1) as i32;
        let mantissa = random.within(-1 << 53, 1 << 53) as f64;
        scaled(mantissa / 2f64.powi(53), exponent)
    };
    let mut all = vec![];
    let mut add = |name, value: &mut dyn FnMut(usize) -> f64| {
        all.push((Array1::from_iter((0..count).map(|i| T::of(value(i)))), name));
    };
    add("all exponents", &mut |_| number(low - digits, high));
    add("subnormal", &mut |_| number(low - digits, low - 1));
    // Each value comes back with the other sign, after a few others.
    let pairs: Vec<f64> = (0..count).map(|_| number(low / 2, high - 1)).collect();
    add("cancelling", &mut |i| match (i / 5) % 2 {
        0 => pairs[i],
        _ => -pairs[i - 5],
    });
    add("the largest", &mut |i| match i % 3 {
        0 => 2f64.powi(high),
        1 => -2f64.powi(high),
        _ => 1.0,
    });
    add("one sign, overflowing", &mut |i| {
        2f64.powi(high) * (1.0 + i as f64 / (1 << 20) as f64)
    });
    add("swallowed", &mut |i| {
        if i == 0 { 1.0 } else { 2f64.powi(-digits) }
    });
    add("far from zero", &mut |i| {
        2f64.powi(digits - 4) + (i * 7 % 5) as f64 / 8.0
    });
    add("an outlier", &mut |i| {
        if i == 0 {
            2f64.powi(digits + 20)
        } else {
            (i % 3) as f64
        }
    });
    add("neighbours", &mut |i| {
        1.0 + (i % 2) as f64 * 2f64.powi(1 - digits)
    });
    // The scales of states, with zeros between them.
    let (above, below) = (2f64.powi(high.min(481)), 2f64.powi(low.max(-401)));
    let smallest = 2f64.powi(low) * 2f64.powi(1 - digits);
    let sizes = [above, 0.0, below, -1.0, smallest, -above / 2.0];
    add("changing scales", &mut |i| sizes[i * i % sizes.len()]);
    all
}

/// Lengths of buckets for every path: within a thread, and across threads, warps and blocks.
fn lengths(device: &Device) -> Vec<usize> {
    let lengths = [1, 2, 3, 16, 17, 64, 65, 300];
    let longer = if is_slow(device) {
        &[2100][..]
    } else {
        &[2049, 9000, 20_000]
    };
    [&lengths, longer].concat()
}

fn check_all(found: &Aggregates, expected: &[Sums], (ddof, merged): (u64, u64), what: &str) {
    for (column, &method) in found.columns().iter().zip(found.methods()) {
        for (sums, &found) in expected.iter().zip(column) {
            sums.check(method, ddof, merged, found, what);
        }
    }
}

fn hard_values_are_within_the_bounds<T: Number>() {
    for device in devices() {
        let lengths = lengths(&device);
        let width = 1 << 40;
        let timestamps = timestamps_of(&lengths, width);
        for (values, name) in hard_values::<T>(timestamps.len()) {
            let mut rest = values.view();
            let expected: Vec<Sums> = lengths
                .iter()
                .map(|&length| {
                    let (bucket, behind) = rest.split_at(ndarray::Axis(0), length);
                    rest = behind;
                    Sums::of(bucket)
                })
                .collect();
            let what = format!("{device}, {name}");
            // The smaller state, and the one of all statistics.
            for (methods, ddof) in [(&METHODS[..2], 1), (&METHODS, 1), (&METHODS, 0)] {
                let buckets = TimeBuckets::every(width).methods(methods).ddof(ddof);
                let found = buckets.aggregate(&device, timestamps.view(), values.view());
                check_all(&found.unwrap(), &expected, (ddof.into(), 0), &what);
            }
            let summaries = TimeBuckets::every(width);
            let summaries = summaries.summaries(&device, timestamps.view(), values.view());
            let merged = summaries.unwrap().resample(width << 10).unwrap();
            let (all, merges) = ([Sums::of(&values)], lengths.len() as u64);
            check_all(
                &merged.columns(&METHODS, 1).unwrap(),
                &all,
                (1, merges),
                &what,
            );
        }
    }
}

in_every_type! { in_f32 f32, in_f64 f64: {
    hard_values_are_within_the_bounds
    nan_of_any_bits_is_nan
} }

/// Of zeros the first is the smallest and the largest. In the order of percentiles −0 is below 0.
#[test]
fn zeros_of_both_signs() {
    let methods = [
        Method::MIN,
        Method::MAX,
        Method::FIRST,
        Method::LAST,
        Method::SUM,
        Method::MEAN,
        Method::percentile(0.0),
        Method::percentile(100.0),
        Method::VAR,
    ];
    for device in devices() {
        for length in [1, 2, 3, 40, 300, 2500] {
            for (first, period) in [(0.0, 2), (-0.0, 2), (0.0, length), (-0.0, length)] {
                let value = |i: usize| {
                    if i.is_multiple_of(period) {
                        first
                    } else {
                        -first
                    }
                };
                let values = Array1::from_iter((0..length).map(value));
                let timestamps = Array1::from_iter(0..length as i64);
                let buckets = TimeBuckets::every(1 << 20).methods(&methods).ddof(0);
                let found = buckets.aggregate(&device, timestamps.view(), values.view());
                let columns = found.unwrap();
                let bits = |index: usize| columns.column(index)[0].to_bits();
                let last = value(length - 1);
                let least = if length == 1 { first } else { -0.0 };
                let most = if length == 1 { first } else { 0.0 };
                let expected = [first, first, first, last, 0.0, 0.0, least, most, 0.0];
                for (index, (method, expected)) in methods.iter().zip(expected).enumerate() {
                    let what = format!("{device}, {method} of {length}: {values}");
                    assert_eq!(bits(index), f64::to_bits(expected), "{what}");
                }
            }
        }
    }
}

/// NaN with either sign and any payload, in `f64` also signalling: for `f32` the conversion makes all
/// of them quiet.
fn nans<T: Number>() -> Vec<T> {
    let bits = [
        0x7ff8_0000_0000_0000u64,
        0xfff8_0000_0000_0000,
        0x7ff0_0000_2000_0001,
        0xffff_ffff_ffff_ffff,
        0x7fff_0123_4567_89ab,
    ];
    bits.map(|bits| T::of(f64::from_bits(bits))).to_vec()
}

fn nan_of_any_bits_is_nan<T: Number>() {
    let methods = [
        Method::COUNT,
        Method::SUM,
        Method::MIN,
        Method::MAX,
        Method::FIRST,
        Method::LAST,
        Method::STD,
        Method::MEDIAN,
        Method::LAST.rate(),
    ];
    for device in devices() {
        for nan in nans::<T>() {
            for length in [3, 70, 2500] {
                for place in [0, length / 2, length - 1] {
                    let mut values = Array1::from_elem(length, T::of(2.0));
                    values[place] = nan;
                    let timestamps = Array1::from_iter(0..length as i64);
                    let run = |treatment: Nan| {
                        let buckets = TimeBuckets::every(1 << 20).methods(&methods).nan(treatment);
                        let found = buckets.aggregate(&device, timestamps.view(), values.view());
                        let (_, columns) = found.unwrap().into_parts();
                        columns.iter().map(|column| column[0]).collect::<Vec<_>>()
                    };
                    let what = format!("{device}, {length} values, NaN at {place}");
                    let others = (length - 1) as f64;
                    let expected = [others, 2.0 * others, 2.0, 2.0, 2.0, 2.0, 0.0, 2.0, 0.0];
                    assert_eq!(run(Nan::Skip), expected, "{what}");
                    let found = run(Nan::Propagate);
                    assert_eq!(found[0], length as f64, "{what}");
                    let is_at = |end: usize| place == end;
                    // The last rate is NaN beside a NaN.
                    let is_last = is_at(length - 1) || is_at(length - 2);
                    let is_nan = [
                        true,
                        true,
                        true,
                        is_at(0),
                        is_at(length - 1),
                        true,
                        true,
                        is_last,
                    ];
                    let found: Vec<bool> = found[1..].iter().map(|x| x.is_nan()).collect();
                    assert_eq!(found, is_nan, "{what}");
                }
            }
        }
    }
}

/// One infinity is the sum and the mean; both are NaN. Deviations are NaN.
#[test]
fn infinities() {
    let inf = f64::INFINITY;
    let methods = [
        Method::SUM,
        Method::MEAN,
        Method::MIN,
        Method::MAX,
        Method::VAR,
        Method::STD,
        Method::COUNT,
    ];
    for device in devices() {
        for length in [2, 3, 70, 2500] {
            for others in [1.0, f64::MAX, -f64::MAX, 5e-324] {
                for [first, last] in [[inf, others], [others, -inf], [inf, inf], [inf, -inf]] {
                    let mut values = Array1::from_elem(length, others);
                    (values[0], values[length - 1]) = (first, last);
                    let timestamps = Array1::from_iter(0..length as i64);
                    let run = |methods: &[Method]| {
                        let buckets = TimeBuckets::every(1 << 20).methods(methods);
                        let found = buckets.aggregate(&device, timestamps.view(), values.view());
                        let (_, columns) = found.unwrap().into_parts();
                        columns.iter().map(|column| column[0]).collect::<Vec<_>>()
                    };
                    let what = format!("{device}, {length} values, {first} … {others} … {last}");
                    let sum = match [first, last].map(f64::is_infinite) {
                        [true, false] => first,
                        [false, true] => last,
                        _ => first + last,
                    };
                    let same = |found: f64, expected: f64| {
                        found == expected || found.is_nan() && expected.is_nan()
                    };
                    let (min, max) = (first.min(last).min(others), first.max(last).max(others));
                    let (nan, count) = (f64::NAN, length as f64);
                    let (min, max) = match length {
                        2 => (first.min(last), first.max(last)),
                        _ => (min, max),
                    };
                    let expected = [sum, sum, min, max, nan, nan, count];
                    for found in [run(&methods), run(&methods[..2])] {
                        let mut pairs = found.iter().zip(expected);
                        assert!(pairs.all(|(&a, b)| same(a, b)), "{what}: {found:?}");
                    }
                }
            }
        }
    }
}

/// Differences of timestamps and origins, ends of buckets, and sums of labels beyond `i64`.
#[test]
fn the_limits_of_timestamps() {
    let (first, last) = (i64::MIN, i64::MAX);
    let unsorted = array![last, 0, first, last - 1, -1, first + 1, last, first, 1];
    let values = Array1::from_iter((0..unsorted.len()).map(|i| i as f64));
    for device in devices() {
        for granularity in [1, 2, 3, (1 << 62) + 1, last - 1, last] {
            for origin in [first, first + 1, -1, 0, 1, last - 1, last] {
                let labels: Vec<_> = unsorted
                    .iter()
                    .map(|&timestamp| label(timestamp, granularity, origin))
                    .collect();
                let what = format!("{device}, granularity {granularity}, origin {origin}");
                let rounded = round_timestamps(&device, unsorted.view(), granularity, origin);
                let buckets = TimeBuckets::every(granularity).origin(origin);
                let buckets = buckets
                    .methods(&[Method::COUNT, Method::SUM])
                    .order(Order::Sort);
                let found = buckets.aggregate(&device, unsorted.view(), values.view());
                if labels.contains(&None) {
                    assert!(rounded.is_err() && found.is_err(), "{what}");
                    continue;
                }
                let labels: Vec<i64> = labels.into_iter().flatten().collect();
                assert_eq!(rounded.unwrap().to_vec(), labels, "{what}");
                let mut sums = std::collections::BTreeMap::new();
                for (&label, value) in labels.iter().zip(&values) {
                    let (count, sum) = sums.entry(label).or_insert((0.0, 0.0));
                    *count += 1.0;
                    *sum += value;
                }
                let found = found.unwrap();
                let starts: Vec<i64> = sums.keys().copied().collect();
                assert_eq!(found.starts().to_vec(), starts, "{what}");
                let expected: Vec<(f64, f64)> = sums.into_values().collect();
                let columns = found.column(0).into_iter().zip(found.column(1));
                let columns: Vec<(f64, f64)> = columns.map(|(&a, &b)| (a, b)).collect();
                assert_eq!(columns, expected, "{what}");
                let mut sorted = unsorted.to_vec();
                sorted.sort_unstable();
                let sorted = ArrayView1::from(&sorted);
                let counts = bucket_counts(&device, sorted, granularity, origin).unwrap();
                assert_eq!(counts.starts.to_vec(), starts, "{what}");
            }
        }
    }
}

/// Buckets between the limits, as many as fit in memory or not.
#[test]
fn the_limits_of_filled_buckets() {
    let timestamps = array![i64::MIN, i64::MAX];
    let values = array![1.0, 2.0];
    for device in devices() {
        let fill = |granularity: i64| {
            let buckets = TimeBuckets::every(granularity).methods(&[Method::SUM]);
            let buckets = buckets.origin(i64::MIN).fill(Fill::Value(-1.0));
            buckets.aggregate(&device, timestamps.view(), values.view())
        };
        let found = fill(1 << 60).unwrap();
        let starts: Vec<i64> = (-8..8).map(|bucket| bucket << 60).collect();
        assert_eq!(found.starts().to_vec(), starts, "{device}");
        assert_eq!(found.column(0)[0], 1.0);
        assert_eq!(found.column(0)[15], 2.0);
        assert!(
            found
                .column(0)
                .iter()
                .skip(1)
                .take(14)
                .all(|&sum| sum == -1.0)
        );
        // The last bucket begins at i64::MAX − 1.
        let found = fill(i64::MAX).unwrap();
        assert_eq!(
            found.starts(),
            array![i64::MIN, -1, i64::MAX - 1],
            "{device}"
        );
        for granularity in [1, 2, 1 << 20] {
            assert_error!(fill(granularity), Error::Allocation { .. });
        }
    }
}

/// Eight values again and again, so that the exact sums of any number of them are known.
const CYCLE: [f64; 8] = [0.1, -3e5, 1e-9, 7.25, 3e5, 1.0 / 3.0, -1e-3, 1e9];

#[test]
fn sums_of_many_values() {
    let expected = Sums::of(&CYCLE);
    for device in devices() {
        let count = std::env::var("GRIDSTRIDE_TEST_VALUES");
        let count = count.map_or(2_000_000, |count| count.parse().unwrap());
        let count = if is_slow(&device) { 16_000 } else { count };
        let values = Array1::from_iter((0..count).map(|i| CYCLE[i % 8]));
        let timestamps = Array1::from_elem(count, 5);
        let expected = expected.repeated(count as u64 / 8);
        for methods in [&METHODS[..2], &METHODS] {
            let buckets = TimeBuckets::every(10).methods(methods);
            let found = buckets.aggregate(&device, timestamps.view(), values.view());
            check_all(
                &found.unwrap(),
                std::slice::from_ref(&expected),
                (1, 0),
                &device.to_string(),
            );
        }
        eprintln!("{count} values on {device}");
    }
}

/// 10⁹ values as 125 000 states of 8000 values, which are merged one after the other.
#[test]
fn a_billion_values_as_merged_states() {
    const COUNT: usize = 8000;
    const STATES: u64 = 125_000;
    let values = Array1::from_iter((0..COUNT).map(|i| CYCLE[i % 8]));
    let timestamps = Array1::from_elem(COUNT, 5);
    let expected = Sums::of(&CYCLE).repeated(COUNT as u64 / 8 * STATES);
    for device in devices() {
        let buckets = TimeBuckets::every(10);
        let found = buckets
            .summaries(&device, timestamps.view(), values.view())
            .unwrap();
        let state = found.summaries()[0];
        let merged = (1..STATES).fold(state, |all, _| all.merge(state));
        assert_eq!(merged.count, 1_000_000_000);
        use gridstride::time_series::Statistic::{Mean, Std, Sum, Var};
        for (method, statistic) in METHODS.into_iter().zip([Sum, Mean, Var, Std]) {
            let found = merged.statistic(statistic, 1.0);
            expected.check(method, 1, STATES, found, &device.to_string());
        }
    }
}

/// 3·2³⁰ values of a magnitude whose squares, and sums of deviations, are the largest that a state
/// adds as they are.
#[test]
fn billions_of_large_values_as_merged_states() {
    for magnitude in [scaled(1.0, 479), scaled(1.0, 480)].map(f64::next_down) {
        let values = array![-magnitude, magnitude, magnitude, magnitude];
        let timestamps = Array1::from_elem(4, 5);
        let expected = Sums::of(&values).repeated(3 << 28);
        let buckets = TimeBuckets::every(10);
        let found = buckets
            .summaries(&Device::cpu(), timestamps.view(), values.view())
            .unwrap();
        let doubled = |times| (0..times).fold(found.summaries()[0], |all, _| all.merge(all));
        let merged = doubled(29).merge(doubled(28));
        assert_eq!(merged.count, 3 << 30);
        use gridstride::time_series::Statistic::{Mean, Std, Sum, Var};
        for (method, statistic) in METHODS.into_iter().zip([Sum, Mean, Var, Std]) {
            let found = merged.statistic(statistic, 1.0);
            expected.check(method, 1, 30, found, &format!("{magnitude:e}"));
        }
    }
}

/// The median of two values is exact or rounded once, whatever their magnitudes.
#[test]
fn medians_of_extremes() {
    let (max, tiny) = (f64::MAX, 5e-324);
    let pairs = [
        ([-max, max], 0.0),
        ([max, max], max),
        ([tiny, tiny], tiny),
        ([-tiny, tiny], 0.0),
        ([1.0, 1.0 + f64::EPSILON], 1.0),
        ([-max, 0.0], -max / 2.0),
    ];
    for device in devices() {
        for (values, expected) in pairs {
            let values = Array1::from(values.to_vec());
            let median = TimeBuckets::every(10).methods(&[Method::MEDIAN]);
            let found = median
                .aggregate(&device, array![1, 2].view(), values.view())
                .unwrap();
            assert_eq!(found.column(0)[0], expected, "{device}, {values}");
        }
    }
}
