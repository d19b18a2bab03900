//! Deviations far from zero and values of extreme magnitude on every device, compared with the
//! reference within the bounds of `super::compare`, which do not depend on the mean.

use gridstride::Device;
use gridstride::device::DeviceKind;
use gridstride::time_series::{Method, Moments, Nan, Summaries, TimeBuckets};
use ndarray::{Array1, ArrayView1, array, s};

use super::{Number, check_one, compare, size, statistics, timestamps_of, values};
use test_support::{Random, devices, scaled, several, with_kernels};

const METHODS: [Method; 6] = [
    Method::COUNT,
    Method::SUM,
    Method::MEAN,
    Method::FIRST,
    Method::VAR,
    Method::STD,
];

/// Aggregates values as one bucket, compares with the reference, and returns the deviation.
#[track_caller]
fn deviation<T: Number>(device: &Device, values: &Array1<T>) -> f64 {
    let timestamps = Array1::from_iter(0..values.len() as i64);
    let one = TimeBuckets::every(values.len().max(1) as i64).methods(&METHODS);
    let found = check_one(device, &one, &timestamps, values);
    found.column_of(Method::STD).unwrap()[0]
}

/// `count` values `mean + step·(index mod 8)`.
fn steps<T: Number>(count: usize, mean: f64, step: f64) -> Array1<T> {
    Array1::from_iter((0..count).map(|index| T::of(mean + step * (index % 8) as f64)))
}

#[test]
fn deviations_far_from_zero_are_those_near_it() {
    for device in devices() {
        let count = size(&device, 10_000, 4096);
        let near = deviation(&device, &steps::<f64>(count, 0.0, 1.0));
        for mean in [1e6, 1e9, 1e13, 1e14, 1e15, -1e15] {
            let far = deviation(&device, &steps::<f64>(count, mean, 1.0));
            assert!(
                (far - near).abs() <= 4.0 * f64::EPSILON * near,
                "at {mean:e} on {device}: {far}, and near zero {near}"
            );
        }
        let near = deviation(&device, &steps::<f32>(count, 0.0, 1.0));
        let far = deviation(&device, &steps::<f32>(count, 8e6, 1.0));
        assert!((far - near).abs() <= 4.0 * f64::EPSILON * near);
    }
}

#[test]
fn the_figures_of_a_column_of_large_numbers() {
    for device in devices() {
        let one = deviation(&device, &steps::<f64>(10_000, 1e14, 1.0));
        let expected = (5.25f64 * 10_000.0 / 9_999.0).sqrt();
        assert!((one - expected).abs() < 1e-15, "{one}");
        // Many chunks of 8192 values, one after the other.
        let values = steps::<f64>(size(&device, 10_000_000, 5000), 1e13, 1.0);
        let count = values.len();
        let timestamps = Array1::from_iter(0..count as i64);
        let std = TimeBuckets::every(count as i64).methods(&[Method::STD]);
        let found = std
            .aggregate(&device, timestamps.view(), values.view())
            .unwrap();
        let expected = (5.25 * count as f64 / (count - 1) as f64).sqrt();
        assert!((found.column(0)[0] / expected - 1.0).abs() < 1e-15);
        // Epoch microseconds: -3e12, give or take 1 or 2.
        let around =
            Array1::from_iter((0..100_000).map(|index| -3e12 + f64::from(index % 5) - 2.0));
        let deviation = deviation(&device, &around);
        assert!((deviation - 2f64.sqrt()).abs() < 1e-5, "{deviation}");
    }
}

/// Lengths for every path of a bucket: within a thread, and across threads, warps, blocks and
/// launches.
#[test]
fn deviations_of_buckets_of_any_length_far_from_zero() {
    for device in devices() {
        let lengths = [1, 2, 3, 16, 17, 40, 63, 64, 65, 500, 2047, 2048, 2049, 5000];
        let lengths = [&lengths[..], &[size(&device, 300_000, 20_000)]].concat();
        let timestamps = timestamps_of(&lengths, 1 << 40);
        let mut random = Random(5);
        for mean in [1e3, 1e12, -1e15] {
            let value = |_| mean + random.within(-1000, 1000) as f64 / 8.0;
            let values = Array1::from_iter((0..timestamps.len()).map(value));
            let aggregation = TimeBuckets::every(1 << 40).methods(&METHODS);
            check_one(&device, &aggregation, &timestamps, &values);
            let mut gaps = values.clone();
            for gap in gaps.iter_mut().step_by(7) {
                *gap = f64::NAN;
            }
            for nan in [Nan::Skip, Nan::Propagate] {
                let aggregation = aggregation.clone().nan(nan);
                check_one(&device, &aggregation, &timestamps, &gaps);
            }
        }
    }
}

/// The first value, from which deviations are computed, is the worst possible one.
#[test]
fn deviations_where_the_first_value_is_an_outlier() {
    for device in devices() {
        for first in [1e15, -1e9, 1e100, 1e-100, 0.0] {
            for count in [2, 100, size(&device, 100_000, 5000)] {
                let mut values = steps::<f64>(count, 3.0, 0.1);
                values[0] = first;
                deviation(&device, &values);
                let mut values = steps::<f64>(count, 1e15, 1.0);
                values[0] = first;
                deviation(&device, &values);
            }
        }
    }
}

#[test]
fn deviations_of_rates_far_from_zero() {
    for device in devices() {
        let rates = TimeBuckets::every(100).methods(&METHODS.map(Method::rate));
        let timestamps = Array1::from_iter(0..800);
        // Rates of 10¹³ and 0 to 3, and the same from numbers that are too large for steps of 1.
        for step in [1e13, 1e17] {
            let values = timestamps.map(|&t| t as f64 * step + (t * t % 4) as f64 * step / 1e13);
            check_one(&device, &rates, &timestamps, &values);
        }
    }
}

#[test]
fn deviations_far_from_zero_of_merged_summaries() {
    for device in devices() {
        for (mean, step) in [(1e15, 1.0), (1e250, 1e235), (1e-250, 1e-265)] {
            let values = steps::<f64>(size(&device, 9000, 3000), mean, step);
            let timestamps = Array1::from_iter(0..values.len() as i64);
            let minutes = TimeBuckets::every(60);
            let minutes = minutes.summaries(&device, timestamps.view(), values.view());
            let hours = minutes.unwrap().resample(1800).unwrap();
            let found = hours.columns(&METHODS, 1).unwrap();
            let expected = TimeBuckets::every(1800).methods(&METHODS);
            compare(&found, &expected, &[0, values.len()], &timestamps, &values);
        }
    }
}

/// If a bucket does not fit in memory, the device merges summaries of its points.
#[test]
fn deviations_far_from_zero_over_devices_and_within_little_memory() {
    for device in with_kernels() {
        let values = steps::<f64>(10_000, 1e14, 1.0);
        let timestamps = Array1::from_iter(0..10_000);
        let aggregation = TimeBuckets::every(10_000).methods(&METHODS);
        let little = device.with_memory_limit(20_000);
        let others = several(&device, 3).into_iter();
        let all: Vec<Device> = others
            .map(|device| device.with_memory_limit(60_000))
            .collect();
        for devices in [vec![little], all] {
            let found = aggregation.aggregate(&devices[..], timestamps.view(), values.view());
            let found = found.unwrap();
            compare(&found, &aggregation, &[0, 10_000], &timestamps, &values);
        }
    }
}

#[test]
fn extreme_magnitudes_neither_overflow_nor_underflow() {
    for device in devices() {
        let one = |values: Array1<f64>| deviation(&device, &values);
        assert_eq!(one(array![1e308, 1e308]), 0.0);
        assert_eq!(one(Array1::from_elem(5000, f64::MAX)), 0.0);
        for power in [1e200, 1e305, 1e-200, 1e-300] {
            let found = one(array![1.0 * power, 2.0 * power, 4.0 * power]);
            let expected = power * (7.0f64 / 3.0).sqrt();
            assert!((found / expected - 1.0).abs() < 1e-15, "{found:e}");
        }
        // All orders of magnitudes that change the scale during the sum, with zeros between them.
        let sizes = [0.0, 1e-310, 1e-200, 1.0, -1e200, f64::MAX, -f64::MAX];
        let count = sizes.len();
        let triples =
            (0..count.pow(3)).flat_map(|n| [n / count / count, n / count % count, n % count]);
        let values: Array1<f64> = triples.map(|n| sizes[n]).collect();
        let timestamps = Array1::from_iter(0..values.len() as i64);
        for granularity in [1, 2, 3, 9, 50, 2000] {
            let aggregation = TimeBuckets::every(granularity).methods(&METHODS);
            check_one(&device, &aggregation, &timestamps, &values);
        }
        for power in [1e180, 1e-180] {
            let mut random = Random(3);
            let value = |_| random.within(-1 << 40, 1 << 40) as f64 * power;
            let values: Array1<f64> = (0..size(&device, 50_000, 5000)).map(value).collect();
            deviation(&device, &values);
            deviation(&device, &values.map(|value| value + 1e14 * power));
        }
    }
}

#[test]
fn a_mean_is_finite_where_the_sum_overflows() {
    for device in devices() {
        let values = Array1::from_elem(5000, 1.5e308);
        let timestamps = Array1::from_iter(0..5000);
        let statistics = |methods: &[Method]| {
            let aggregation = TimeBuckets::every(5000).methods(methods);
            let found = aggregation.aggregate(&device, timestamps.view(), values.view());
            let columns = found.unwrap().columns().to_vec();
            columns.iter().map(|column| column[0]).collect::<Vec<_>>()
        };
        // By the smaller state, and by the one of all statistics.
        for methods in [[Method::SUM, Method::MEAN], [Method::MAX, Method::MEAN]] {
            let mean = statistics(&methods)[1];
            assert!(
                (mean / 1.5e308 - 1.0).abs() <= 2.0 * f64::EPSILON,
                "{mean:e}"
            );
        }
        assert_eq!(statistics(&[Method::SUM]), [f64::INFINITY]);
    }
}

#[test]
fn percentiles_between_extremes_and_infinities() {
    for device in devices() {
        let median = |values: ArrayView1<f64>| {
            let timestamps = Array1::from_iter(0..values.len() as i64);
            let median = TimeBuckets::every(1 << 40).methods(&[Method::MEDIAN]);
            check_one(&device, &median, &timestamps, values).column(0)[0]
        };
        let infinity = f64::INFINITY;
        for copies in [1, 30, 2000] {
            let repeated =
                |values: &[f64]| values.repeat(copies).into_iter().collect::<Array1<_>>();
            assert_eq!(median(repeated(&[-f64::MAX, f64::MAX]).view()), 0.0);
            assert_eq!(median(repeated(&[5.0, infinity]).view()), infinity);
            assert_eq!(median(repeated(&[infinity, infinity]).view()), infinity);
            assert!(median(repeated(&[-infinity, 5.0]).view()).is_nan());
        }
        assert_eq!(median(array![5.0, 5.0, infinity].view()), 5.0);
    }
}

#[test]
fn one_series_needs_no_offsets() {
    let (timestamps, values) = (array![0, 1, 9], array![1.0, 2.0, 4.0]);
    for device in devices() {
        let aggregation = TimeBuckets::every(5);
        let of_one = aggregation.summaries(&device, timestamps.view(), values.view());
        let of_many =
            aggregation.summaries_series(&device, &[0, 3], timestamps.view(), values.view());
        assert_eq!(of_one.unwrap(), of_many.unwrap());
        let timestamps = device.upload(&timestamps).unwrap();
        let values = device.upload(&values).unwrap();
        let aggregation = aggregation.methods(&[Method::MAX, Method::MEAN]);
        let found = aggregation.aggregate_device(&timestamps, &values).unwrap();
        let mean = found.column_of(Method::MEAN).unwrap();
        assert_eq!(mean.download().unwrap(), array![1.5, 4.0]);
        assert!(found.column_of(Method::SUM).is_none());
    }
}

/// The CPU goes through neighbouring buckets together. Each has the bits of a call with its points
/// alone, whatever the lengths and the values of its neighbours.
#[test]
fn a_bucket_on_the_cpu_does_not_know_of_its_neighbours() {
    const WIDTH: i64 = 1_000_000;
    let lengths = [
        7, 7, 7, 7, 7, 6, 8, 1, 3, 9000, 2, 5, 8192, 8193, 1, 1, 20, 30, 7,
    ];
    let timestamps = timestamps_of(&lengths, WIDTH);
    let mut ends = lengths.to_vec();
    for bucket in 1..ends.len() {
        ends[bucket] += ends[bucket - 1];
    }
    let buckets = TimeBuckets::every(WIDTH).methods(&statistics());
    for special in [f64::NAN, f64::INFINITY, 1e300, 1e-300] {
        for place in 0..lengths.len() {
            let mut values = values::<f64>(timestamps.len(), 1);
            values[ends[place] - 1] = special;
            let aggregate = |start: usize, end: usize| {
                let range = s![start..end];
                let (timestamps, values) = (timestamps.slice(range), values.slice(range));
                buckets
                    .aggregate(&Device::cpu(), timestamps, values)
                    .unwrap()
            };
            let together = aggregate(0, values.len());
            assert_eq!(together.len(), lengths.len());
            for (bucket, &end) in ends.iter().enumerate() {
                let alone = aggregate(end - lengths[bucket], end);
                for (column, alone) in together.columns().iter().zip(alone.columns()) {
                    assert_eq!(
                        column[bucket].to_bits(),
                        alone[0].to_bits(),
                        "{special} {bucket}"
                    );
                }
            }
        }
    }
}

const SHAPE: [Method; 4] = [
    Method::SKEW,
    Method::KURT,
    Method::SKEW_POP,
    Method::KURT_POP,
];

/// Aggregates values as one bucket by all of [`SHAPE`], and compares with the reference.
#[track_caller]
fn shape<T: Number>(device: &Device, values: &Array1<T>) -> [f64; 4] {
    let timestamps = Array1::from_iter(0..values.len() as i64);
    let one = TimeBuckets::every(values.len().max(1) as i64).methods(&SHAPE);
    let found = check_one(device, &one, &timestamps, values);
    [0, 1, 2, 3].map(|column| found.column(column)[0])
}

/// Of scipy's documentation and of pandas, whose `skew` and `kurt` are those of a sample.
#[test]
fn skewness_and_kurtosis_of_known_values() {
    for device in devices() {
        let of = |values: &[f64]| shape(&device, &Array1::from(values.to_vec()));
        let [_, _, skewness, _] = of(&[2.0, 8.0, 0.0, 4.0, 1.0, 9.0, 9.0, 0.0]);
        assert!((skewness - 0.2650554122698573).abs() < 1e-15);
        assert_eq!(of(&[1.0, 2.0, 2.0, 3.0]), [0.0, 1.5, 0.0, -1.0]);
        let [sample, kurtosis, population, _] = of(&[1.0, 2.0, 9.0]);
        assert!(
            (population - 0.6654688661238353).abs() < 1e-12,
            "{population}"
        );
        assert!((sample - population * 6f64.sqrt()).abs() < 1e-15 && kurtosis.is_nan());
        for few in [
            &[f64::NAN][..],
            &[5.0],
            &[-0.0, 0.0],
            &[1e300; 40],
            &[0.1; 3000],
        ] {
            assert!(of(few).iter().all(|number| number.is_nan()), "{few:?}");
        }
        let [sample, _, population, kurtosis] = of(&[1.0, 4.0]);
        assert!(sample.is_nan() && population == 0.0 && kurtosis == -2.0);
        for special in [f64::INFINITY, f64::NEG_INFINITY] {
            assert!(
                of(&[1.0, 2.0, special, 4.0, 5.0])
                    .iter()
                    .all(|number| number.is_nan())
            );
        }
    }
}

#[test]
fn skewness_and_kurtosis_far_from_zero_are_those_near_it() {
    for device in devices() {
        let count = size(&device, 10_000, 4096);
        let mut random = Random(8);
        let steps: Vec<f64> = (0..count)
            .map(|_| (random.within(0, 9) * random.within(0, 9)) as f64)
            .collect();
        let at = |mean: f64| Array1::from_iter(steps.iter().map(|step| mean + step));
        let near = shape(&device, &at(0.0));
        for mean in [1e9, -1e13, 1e15] {
            for (found, near) in shape(&device, &at(mean)).iter().zip(near) {
                let error = (found - near).abs();
                assert!(
                    error <= 1e-14 * near.abs(),
                    "at {mean:e} on {device}: {found}, {near}"
                );
            }
        }
        shape(&device, &at(8e6).mapv(|value| value as f32));
        // The shift, the first value, is far from all others.
        for first in [1e15, -1e9, 1e100, 1e-100] {
            let mut values = at(3.0);
            values[0] = first;
            shape(&device, &values);
        }
    }
}

#[test]
fn skewness_and_kurtosis_of_buckets_of_any_length() {
    for device in devices() {
        let lengths = [
            1, 2, 3, 4, 5, 16, 17, 40, 63, 64, 65, 500, 2047, 2048, 2049, 5000,
        ];
        let lengths = [&lengths[..], &[size(&device, 100_000, 9000)]].concat();
        let timestamps = timestamps_of(&lengths, 1 << 40);
        for mean in [0.0, 1e12] {
            let mut random = Random(6);
            let mut values = Array1::from_shape_simple_fn(timestamps.len(), || {
                mean + (random.within(0, 1000) * random.within(0, 1000)) as f64 / 64.0
            });
            let aggregation = TimeBuckets::every(1 << 40);
            let both = [SHAPE, SHAPE.map(Method::rate)].concat();
            let narrow = values.mapv(|value| value as f32);
            for methods in [&SHAPE[..], &both] {
                let aggregation = aggregation.clone().methods(methods);
                check_one(&device, &aggregation, &timestamps, &values);
                check_one(&device, &aggregation, &timestamps, &narrow);
            }
            values.slice_mut(s![..;7]).fill(f64::NAN);
            for nan in [Nan::Skip, Nan::Propagate] {
                let aggregation = aggregation.clone().methods(&both).nan(nan);
                check_one(&device, &aggregation, &timestamps, &values);
            }
        }
    }
}

#[test]
fn skewness_and_kurtosis_of_extreme_magnitudes() {
    for device in devices() {
        let count = size(&device, 5000, 3000);
        let mut random = Random(4);
        let digits = Array1::from_shape_simple_fn(count, || {
            (random.within(-1 << 20, 1 << 20) * random.within(0, 1 << 20)) as f64
        });
        let near = shape(&device, &digits);
        for power in [
            -1060, -800, -500, -200, -171, 89, 90, 131, 300, 500, 900, 980,
        ] {
            let scaled = digits.mapv(|value| scaled(value, power));
            let found = shape(&device, &scaled);
            for (found, near) in found.iter().zip(near).filter(|_| power >= -1022) {
                assert!(
                    (found - near).abs() <= 1e-14 * near.abs(),
                    "2^{power} on {device}"
                );
            }
        }
        // One very large or very small value among others, first, last, or between.
        for special in [1e300, -1e120, 1e-300, 5e-324, 0.0] {
            for place in [0, 1, count / 2, count - 1] {
                let mut values = digits.clone();
                values[place] = special;
                shape(&device, &values);
                let mut values = digits.mapv(|value| value * 1e-250);
                values[place] = special;
                shape(&device, &values);
            }
        }
    }
}

/// States merge: those of fine buckets into coarse ones, and those of partitions.
#[test]
fn states_of_moments_merge() {
    let lengths = [1, 2, 3, 40, 700, 1, 1900];
    let timestamps = timestamps_of(&lengths, 100);
    let mut random = Random(9);
    let values = Array1::from_shape_simple_fn(timestamps.len(), || {
        1e9 + (random.within(0, 100) * random.within(0, 100)) as f64
    });
    let methods = statistics();
    let offsets = [0, values.len()];
    assert!(
        methods
            .iter()
            .all(|&method| Summaries::<Moments>::has(method))
    );
    for device in devices() {
        let fine = TimeBuckets::every(100).methods(&methods);
        let coarse = TimeBuckets::every(700 << 30).methods(&methods);
        let (t, v) = (timestamps.view(), values.view());
        let states = fine.summaries_of::<Moments, _>(&device, &offsets, t, v);
        let states = states.unwrap();
        compare(&states.columns(&methods, 1).unwrap(), &fine, &offsets, t, v);
        let merged = states.resample(700).unwrap().resample(700 << 30).unwrap();
        compare(
            &merged.columns(&methods, 1).unwrap(),
            &coarse,
            &offsets,
            t,
            v,
        );
        let on_device = (
            device.upload(&timestamps).unwrap(),
            device.upload(&values).unwrap(),
        );
        let there = fine.summaries_of_device::<Moments, _>(&offsets, &on_device.0, &on_device.1);
        assert_eq!(there.unwrap().download().unwrap().starts(), states.starts());
        // A plain summary does not have them.
        let summaries = fine.summaries(&device, t, v).unwrap();
        let error = summaries.columns(&[Method::SKEW], 1).unwrap_err();
        assert!(
            error.to_string().contains("summaries do not tell skew"),
            "{error}"
        );
        if device.kind() == DeviceKind::Cpu {
            continue;
        }
        let limited = device.with_memory_limit(1 << 15);
        check_one(&limited, &coarse, t, v);
    }
}
