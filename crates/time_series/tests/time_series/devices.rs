//! Time series over several devices and within little memory, compared with the results of one
//! device with enough memory.

use gridstride::time_series::{
    Aggregates, Duplicates, Fill, Method, Nan, Order, Singletons, TimeBuckets, bucket_counts,
    round_timestamps, round_timestamps_inplace,
};
use gridstride::{Device, Error};
use ndarray::{Array1, ArrayView1, array};

use super::{all_methods, apart, ascending, compare, summarised, values};
use test_support::{
    NO_DEVICE, Random, assert_error, devices, fails, is_slow, several, with_kernels,
};

/// Offsets of series, some of them empty, among this many points.
fn offsets(points: usize) -> Vec<usize> {
    let third = points / 3;
    vec![0, 0, third, third, points.min(third + 1), points, points]
}

/// Options that depend on neighbouring points or buckets.
fn aggregations() -> Vec<TimeBuckets> {
    let plain = TimeBuckets::every(7).origin(3);
    let first = plain.clone().duplicates(Duplicates::First);
    let last = plain.clone().duplicates(Duplicates::Last);
    let several = plain.clone().singletons(Singletons::Drop);
    vec![
        plain,
        first.nan(Nan::Propagate),
        last.fill(Fill::Previous),
        several.fill(Fill::Nan).order(Order::Sort),
    ]
}

/// Points with neighbours at the same time, and some without a value.
fn points(count: usize) -> (Array1<i64>, Array1<f64>) {
    let timestamps = ascending(count, -300, 5);
    let mut values = values::<f64>(count, 9);
    for (index, value) in values.iter_mut().enumerate() {
        if index % 11 < 3 {
            *value = f64::NAN;
        }
    }
    (timestamps, values)
}

#[track_caller]
fn assert_same(found: &Aggregates, expected: &Aggregates, what: &str) {
    assert_eq!(found.offsets(), expected.offsets(), "{what}");
    assert_eq!(found.starts(), expected.starts(), "{what}");
    assert_eq!(found.methods(), expected.methods(), "{what}");
    for (method, (found, expected)) in
        (found.methods().iter()).zip(found.columns().iter().zip(expected.columns()))
    {
        for (bucket, (found, expected)) in found.iter().zip(expected).enumerate() {
            let is_same = found.to_bits() == expected.to_bits()
                || found.is_nan() && expected.is_nan()
                || (found - expected).abs() <= apart(*method, *expected);
            assert!(
                is_same,
                "{what}: {method} of bucket {bucket}: {found:e}, {expected:e}"
            );
        }
    }
}

#[test]
fn several_devices_find_what_one_does() {
    for device in devices() {
        for count in [0, 1, 2, 5, 700] {
            let (timestamps, values) = points(count);
            let offsets = offsets(count);
            for aggregation in aggregations() {
                let with = aggregation.methods(&all_methods());
                let run = |devices: &[Device]| {
                    let found =
                        with.aggregate_series(devices, &offsets, timestamps.view(), values.view());
                    found.unwrap()
                };
                let expected = run(&several(&device, 1));
                compare(&expected, &with, &offsets, &timestamps, &values);
                for parts in [2, 3, 5] {
                    let what = format!("{device}, {parts} parts of {count}, {with:?}");
                    assert_same(&run(&several(&device, parts)), &expected, &what);
                }
            }
        }
    }
}

#[test]
fn little_memory_suffices() {
    for device in with_kernels() {
        let (timestamps, values) = points(900);
        let offsets = offsets(900);
        for aggregation in aggregations() {
            let with = aggregation.methods(&all_methods());
            let run = |device: &Device| {
                with.aggregate_series(device, &offsets, timestamps.view(), values.view())
                    .unwrap()
            };
            let expected = run(&device);
            for bytes in [1 << 14, 1 << 16] {
                let what = format!("{device}, {bytes} bytes, {with:?}");
                assert_same(&run(&device.with_memory_limit(bytes)), &expected, &what);
            }
        }
    }
}

#[test]
fn buckets_larger_than_memory_are_made_of_summaries() {
    let (timestamps, values) = points(3000);
    let offsets = [0, 1000, 3000];
    for device in with_kernels() {
        let limited = device.with_memory_limit(1 << 14);
        for duplicates in [Duplicates::Keep, Duplicates::Last] {
            let with = TimeBuckets::every(1 << 40).duplicates(duplicates);
            let with = with.methods(&summarised());
            let found = with.aggregate_series(&limited, &offsets, timestamps.view(), values.view());
            let found = found.unwrap();
            compare(&found, &with, &offsets, &timestamps, &values);
            let summaries =
                with.summaries_series(&limited, &offsets, timestamps.view(), values.view());
            let columns = summaries.unwrap().columns(&summarised(), 1).unwrap();
            assert_same(&columns, &found, "summaries");
            // Summaries do not give percentiles and rates.
            for method in [Method::MEDIAN, Method::SUM.rate()] {
                let with = with.clone().methods(&[method]);
                let error =
                    with.aggregate_series(&limited, &offsets, timestamps.view(), values.view());
                assert_error!(error, Error::Allocation { .. });
            }
        }
    }
}

#[test]
fn counts_and_rounding() {
    let timestamps = ascending(900, -300, 5);
    for device in devices() {
        let counted = bucket_counts(&device, timestamps.view(), 9, 2).unwrap();
        let rounded = round_timestamps(&device, timestamps.view(), 9, 2).unwrap();
        let limited = vec![device.with_memory_limit(1 << 13)];
        for devices in [several(&device, 2), several(&device, 5), limited] {
            let found = bucket_counts(&devices, timestamps.view(), 9, 2).unwrap();
            assert_eq!(found, counted);
            let found = round_timestamps(&devices, timestamps.view(), 9, 2).unwrap();
            assert_eq!(found, rounded);
            let mut in_place = timestamps.clone();
            round_timestamps_inplace(&devices, in_place.view_mut(), 9, 2).unwrap();
            assert_eq!(in_place, rounded);
        }
    }
}

#[test]
fn mistakes_are_named_with_their_place() {
    for device in devices() {
        for devices in [several(&device, 3), vec![device.with_memory_limit(1 << 14)]] {
            let with = TimeBuckets::every(4).methods(&[Method::MEAN]);
            let run = |with: &TimeBuckets, timestamps: &Array1<i64>| {
                let values = Array1::<f32>::zeros(timestamps.len());
                with.aggregate(&devices, timestamps.view(), values.view())
            };
            for index in [1, 299, 300, 301, 333, 600, 899] {
                let mut timestamps = Array1::from_iter(0..900);
                timestamps[index] = -5;
                timestamps[899] = -9;
                let name = format!("timestamp {} at index {index} is below", timestamps[index]);
                fails(run(&with, &timestamps), &[&name]);
                fails(bucket_counts(&devices, timestamps.view(), 4, 0), &[&name]);
            }
            let mut timestamps = Array1::from_iter(0..900);
            timestamps[700] = i64::MIN;
            let name = format!("{}, at index 700, begins before the first i64", i64::MIN);
            let sorted = with.clone().origin(1).order(Order::Sort);
            fails(run(&sorted, &timestamps), &[&name]);
            let error = round_timestamps(&devices, timestamps.view(), 4, 1);
            fails(error, &[&name]);
            let before = timestamps.clone();
            let error = round_timestamps_inplace(&devices, timestamps.view_mut(), 4, 1);
            fails(error, &[&name]);
            assert_eq!(timestamps, before);
        }
    }
    let empty = ArrayView1::<i64>::from(&[]);
    let one = array![1];
    for device in with_kernels() {
        let with = TimeBuckets::every(4).methods(&[Method::SUM]);
        let full = device.with_memory_limit(0);
        let nothing = with.aggregate(&full, one.view(), array![1.0].view());
        assert_error!(nothing, Error::Allocation { .. });
    }
    let none: [Device; 0] = [];
    let with = TimeBuckets::every(4);
    let (timestamps, values) = (array![1, 2], array![1.0, 2.0]);
    for found in [
        with.aggregate(&none, timestamps.view(), values.view()),
        with.aggregate(&none, empty, ArrayView1::<f64>::from(&[])),
    ] {
        fails(found, &[NO_DEVICE]);
    }
}

#[test]
fn random_points_in_random_parts() {
    let mut random = Random(7);
    for device in devices() {
        for round in 0..if is_slow(&device) { 5 } else { 20 } {
            let count = random.within(1, 400) as usize;
            let (timestamps, values) = points(count);
            let with = TimeBuckets::every(random.within(1, 60)).methods(&all_methods());
            let run = |devices: &[Device]| {
                with.aggregate(devices, timestamps.view(), values.view())
                    .unwrap()
            };
            let expected = run(&several(&device, 1));
            let parts = random.within(2, 9) as usize;
            let what = format!("{device}, round {round}");
            assert_same(&run(&several(&device, parts)), &expected, &what);
        }
    }
}
