//! Time-series aggregation on every device against the reference.
//!
//! Counts, extremes, first and last values and percentiles are compared exactly, sums and the
//! statistics made of sums up to the bounds beside `super::compare`.

use std::collections::HashMap;
use std::ops::AddAssign;
use std::panic::{AssertUnwindSafe, catch_unwind};

use cuda_std::warp::WarpValue;
use gridstride::device::DeviceKind;
use gridstride::time_series::{
    Aggregate, Custom, Duplicates, Fill, Fills, Method, Nan, Order, Point, Singletons, TimeBuckets,
    aggregate, bucket_counts, bucket_counts_device, round_timestamps, round_timestamps_device,
    round_timestamps_device_inplace, round_timestamps_device_into, round_timestamps_inplace,
    round_timestamps_into,
};
use gridstride::{Device, Error};
use ndarray::{Array1, ArrayView1, array, s};

use super::{
    Number, all_methods, ascending, check, check_one, compare, is_single, percentiles, size,
    summarised, timestamps_of, values,
};
use test_support::in_every_type;
use test_support::{Random, assert_error, devices, fails, is_slow};

in_every_type! { in_f32 f32, in_f64 f64: {
    every_length_of_buckets
    bursts
    every_number_of_points
    long_buckets
    many_series
    any_strides
    special_values
    every_choice_together
    arrays_on_the_device
    sorting
} }

fn everything(granularity: i64) -> TimeBuckets {
    TimeBuckets::every(granularity).methods(&all_methods())
}

/// Lengths around a thread's number of points, tiles, and chunks of the CPU.
fn every_length_of_buckets<T: Number>() {
    for device in devices() {
        let lengths = [1, 2, 7, 8, 9, 255, 256, 257, 2047, 2048, 2049];
        for length in lengths {
            let count = size(&device, 10_000, 2500).div_ceil(length).max(3);
            let timestamps = timestamps_of(&vec![length; count], 1_000_000);
            let values = values::<T>(timestamps.len(), 1);
            check_one(&device, &everything(1_000_000), &timestamps, &values);
        }
        let mixed = [&lengths[..], &[1, 1, 1, 8191, 8192, 8193, 5]].concat();
        let mut random = Random(2);
        let gaps: Vec<usize> = mixed
            .iter()
            .flat_map(|&length| [length, 0].repeat(random.within(1, 3) as usize))
            .collect();
        let timestamps = timestamps_of(&gaps, 1_000_000);
        let values = values::<T>(timestamps.len(), 3);
        check_one(&device, &everything(1_000_000), &timestamps, &values);
    }
}

/// Points that come in bursts, with many more empty buckets between them than points.
fn bursts<T: Number>() {
    for device in devices() {
        let mut random = Random(5);
        let mut timestamp = -1_000_000;
        let count = size(&device, 40_000, 5000);
        let timestamps = Array1::from_shape_simple_fn(count, || {
            timestamp += match random.within(0, 9) {
                0 => random.within(0, 1 << 40),
                _ => random.within(0, 9),
            };
            timestamp
        });
        let values = values::<T>(count, 6);
        check_one(&device, &everything(35), &timestamps, &values);
    }
}

/// Numbers of points around multiples of the points of a thread, a warp and a tile.
fn every_number_of_points<T: Number>() {
    for device in devices() {
        let most = size(&device, 1 << 20, 1 << 12);
        let sizes = [0usize, 1, 2, 8, 32, 256, 2048, 4096, 8192, 24_576, 524_288];
        for size in sizes.into_iter().filter(|&size| size <= most) {
            for size in size.saturating_sub(1)..=size + 1 {
                let timestamps = ascending(size, -5000, size as u64);
                let values = values::<T>(size, 4);
                let methods = match size {
                    0..10_000 => all_methods(),
                    _ => vec![Method::COUNT, Method::SUM, Method::LAST, Method::STD.rate()],
                };
                let aggregation = TimeBuckets::every(35).methods(&methods);
                check_one(&device, &aggregation, &timestamps, &values);
            }
        }
    }
}

/// All points in one or two buckets, which several threads share and merge in order.
fn long_buckets<T: Number>() {
    for device in devices() {
        let count = size(&device, 40_000, 5000);
        let values = values::<T>(count, 5);
        for first in [0, 1, count / 3, count - 1] {
            let timestamps = timestamps_of(&[first, count - first], 1 << 40);
            check_one(&device, &everything(1 << 40), &timestamps, &values);
        }
    }
}

/// Series that end within a bucket, and empty series at both ends and in a row.
fn many_series<T: Number>() {
    for device in devices() {
        let count = size(&device, 18_000, 3000);
        let mut random = Random(6);
        let longest = [1, 3, 30, 3000, 9000].into_iter();
        for longest in longest.filter(|&longest| longest <= count as i64) {
            let mut offsets = vec![0, 0];
            while offsets[offsets.len() - 1] < count {
                let length = match random.within(0, 3) {
                    0 => 0,
                    _ => random.within(0, longest + 1) as usize,
                };
                offsets.push((offsets[offsets.len() - 1] + length).min(count));
            }
            offsets.extend([count; 3]);
            let mut timestamps = Array1::zeros(count);
            for (series, points) in offsets.windows(2).enumerate() {
                let ascending = ascending(points[1] - points[0], 0, series as u64);
                timestamps
                    .slice_mut(s![points[0]..points[1]])
                    .assign(&ascending);
            }
            let mut values = values::<T>(count, 7);
            values.slice_mut(s![..;7]).fill(T::of(f64::NAN));
            for granularity in [1, 10, 1 << 40] {
                let aggregation = everything(granularity).duplicates(Duplicates::Last);
                check(&device, &aggregation, &offsets, &timestamps, &values);
            }
            let drops = everything(10).singletons(Singletons::Drop).fill(Fill::Nan);
            check(&device, &drops, &offsets, &timestamps, &values);
        }
    }
}

#[test]
fn series_without_points() {
    for device in devices() {
        let (timestamps, values) = (Array1::zeros(0), Array1::<f64>::zeros(0));
        for offsets in [&[0][..], &[0, 0], &[0, 0, 0]] {
            let aggregation = everything(5).fill(Fill::Previous);
            let found = check(&device, &aggregation, offsets, &timestamps, &values);
            assert_eq!(found.series_count(), offsets.len() - 1);
            assert!(found.is_empty());
        }
        let found = bucket_counts(&device, timestamps.view(), 5, 0).unwrap();
        assert!(found.starts.is_empty() && found.counts.is_empty());
        let rounded = round_timestamps(&device, timestamps.view(), 5, 0).unwrap();
        assert!(rounded.is_empty());
    }
}

fn any_strides<T: Number>() {
    for device in devices() {
        let count = 3000;
        let timestamps = ascending(count, 0, 8);
        let values = values::<T>(2 * count, 9);
        let every_other = values.slice(s![..;2]);
        // The last timestamp comes first in memory, or other numbers are between the timestamps.
        let stored = Array1::from_iter(timestamps.iter().rev().copied());
        let backwards = stored.slice(s![..;-1]);
        let mut wide = Array1::from_elem(3 * count, i64::MIN);
        wide.slice_mut(s![1..;3]).assign(&timestamps);
        let apart = wide.slice(s![1..;3]);
        assert_eq!([backwards.strides(), apart.strides()], [[-1], [3]]);
        let reversed = values.slice(s![..count;-1]);
        for values in [every_other, reversed] {
            for timestamps in [backwards, apart, timestamps.view()] {
                check_one(&device, &everything(35), timestamps, values);
            }
        }
        let one = array![T::of(1.5)];
        let repeated = one.broadcast(count).unwrap();
        check_one(&device, &everything(35), &timestamps, repeated);
    }
}

/// Infinities, NaN, zeros of both signs, nearly equal numbers, and numbers with all digits.
fn special_values<T: Number>() {
    let (inf, nan, next) = (f64::INFINITY, f64::NAN, 1.0 + f64::from(f32::EPSILON));
    let hard = [inf, -inf, nan, 0.0, -0.0, 1.0, next, 1e15, -1e15, 0.1];
    for device in devices() {
        for nan in [Nan::Skip, Nan::Propagate] {
            // Every triple as a bucket, then buckets of equal numbers, whose variance must be 0.
            let numbers = hard.len();
            let triples = (0..numbers.pow(3))
                .flat_map(|n| [n / numbers / numbers, n / numbers % numbers, n % numbers])
                .map(|n| T::of(hard[n]));
            let equal = (0..200).map(|n| T::of(0.1 * f64::from(n / 10)));
            let values: Array1<T> = triples.chain(equal).collect();
            let timestamps = Array1::from_iter(0..values.len() as i64);
            for granularity in [1, 3, 10] {
                let aggregation = everything(granularity).nan(nan);
                check_one(&device, &aggregation, &timestamps, &values);
            }
        }
        let equal = Array1::from_elem(5000, T::of(0.1));
        let timestamps = Array1::from_iter(0..5000);
        let deviations = TimeBuckets::every(2500).methods(&[Method::VAR, Method::STD]);
        let found = check_one(&device, &deviations, &timestamps, &equal);
        assert_eq!(found.columns(), [array![0.0, 0.0], array![0.0, 0.0]]);
    }
}

/// Every combination of choices, on short series of few different timestamps and values. Slow
/// devices take every other combination for each type, so that the two types together have all.
fn every_choice_together<T: Number>() {
    for device in devices() {
        let mut random = Random(10);
        for round in 0..size(&device, 12, 1) {
            let count = random.within(1, 40) as usize;
            let mut timestamps = Array1::from_shape_simple_fn(count, || random.within(-9, 30));
            let numbers = [f64::NAN, f64::NAN, 1.0, 2.5, -3.0, 1e9];
            let values = Array1::from_shape_simple_fn(count, || {
                T::of(numbers[random.within(0, 6) as usize])
            });
            let middle = random.within(0, count as i64 + 1) as usize;
            let offsets = [0, middle, middle, count];
            for order in [Order::Sort, Order::Required] {
                let is_sorted = order == Order::Required;
                if is_sorted {
                    for series in offsets.windows(2) {
                        let timestamps = timestamps.as_slice_mut().unwrap();
                        timestamps[series[0]..series[1]].sort_unstable();
                    }
                }
                let ddof = (round + usize::from(is_sorted)) % 4;
                let parity = usize::from(is_sorted ^ is_single::<T>());
                for (sum, aggregation) in choices(everything(4).order(order), ddof as u32) {
                    if !is_slow(&device) || sum % 2 == parity {
                        check(&device, &aggregation, &offsets, &timestamps, &values);
                    }
                }
            }
        }
    }
}

/// All combinations of options except the order, each with the sum of its options' indices. Every
/// pair of options occurs with even and with odd sums.
fn choices(aggregation: TimeBuckets, ddof: u32) -> Vec<(usize, TimeBuckets)> {
    let duplicates = [Duplicates::Keep, Duplicates::First, Duplicates::Last];
    let fills = [Fill::None, Fill::Nan, Fill::Value(-7.5), Fill::Previous];
    let mut all = Vec::new();
    for (a, duplicates) in duplicates.into_iter().enumerate() {
        for (b, nan) in [Nan::Skip, Nan::Propagate].into_iter().enumerate() {
            for (c, singletons) in [Singletons::Nan, Singletons::Drop].into_iter().enumerate() {
                for (d, fill) in fills.into_iter().enumerate() {
                    let with = aggregation.clone().duplicates(duplicates).nan(nan);
                    let with = with.singletons(singletons).fill(fill).ddof(ddof);
                    all.push((a + b + c + d, with));
                }
            }
        }
    }
    all
}

#[test]
fn dropping_depends_on_what_is_asked_for() {
    for device in devices() {
        let timestamps = array![0, 1, 10, 20, 21, 30, 40];
        let values = array![1.0, 2.0, 3.0, 4.0, f64::NAN, 5.0, 6.0];
        let starts = |methods: &[Method], fill| {
            let aggregation = TimeBuckets::every(10).methods(methods);
            let aggregation = aggregation.singletons(Singletons::Drop).fill(fill);
            let found = aggregation.aggregate(&device, timestamps.view(), values.view());
            found.unwrap().starts().to_vec()
        };
        assert_eq!(starts(&[Method::MEAN], Fill::None), [0, 10, 20, 30, 40]);
        assert_eq!(starts(&[Method::MEAN, Method::STD], Fill::None), [0]);
        assert_eq!(starts(&[Method::VAR.rate()], Fill::Nan), [0i64; 0]);
        let values = array![1.0, 2.0, 3.0, 4.0, 4.5, 5.0, 6.0];
        let with_std = TimeBuckets::every(10).methods(&[Method::STD]);
        let found = with_std
            .singletons(Singletons::Drop)
            .fill(Fill::Previous)
            .aggregate(&device, timestamps.view(), values.view())
            .unwrap();
        // Dropped buckets are treated as empty: filled between other buckets, but not at the ends.
        assert_eq!(found.starts(), array![0, 10, 20]);
        assert_eq!(found.column(0)[0], found.column(0)[1]);
    }
}

/// Each method has its own result of empty buckets. `previous` passes over results that are NaN, and
/// does not leave the series.
#[test]
fn methods_are_filled_apart() {
    for device in devices() {
        let timestamps = array![0, 1, 10, 40, 0, 40, 10, 11, 60];
        let values = array![1.0, 3.0, 5.0, 8.0, 9.0, f64::NAN, 2.0, f64::INFINITY, -1.0];
        let offsets = [0, 4, 6, 6, 9];
        for fill in [
            "count=0",
            "previous",
            "previous count=0 mean=-1",
            "null max=previous std=previous",
            "7 rate:last=previous",
        ] {
            let fill: Fills = fill.parse().unwrap();
            for nan in [Nan::Skip, Nan::Propagate] {
                let aggregation = everything(10).nan(nan).fill(fill.clone());
                check(&device, &aggregation, &offsets, &timestamps, &values);
            }
        }
        let std = TimeBuckets::every(10).methods(&[Method::STD]);
        let found = std
            .clone()
            .fill(Fill::Previous)
            .aggregate_series(&device, &offsets, timestamps.view(), values.view())
            .unwrap();
        let first: Vec<_> = found.column(0).iter().take(5).map(|x| x.is_nan()).collect();
        assert_eq!(first, [false, true, false, false, true]);
        let other = std.fill(Fills::default().with(Method::COUNT, Fill::Value(0.0)));
        let error = other.aggregate(&device, timestamps.view(), values.view());
        let message = error.unwrap_err().to_string();
        assert!(
            message.contains("fill has a result of count, which is no method"),
            "{message}"
        );
    }
}

/// Runs of NaN of all lengths, at the beginning and the end of series, between gaps and over whole
/// series. A repeated result comes from before the run, however long it is, and from the same series.
#[test]
fn runs_of_nan_are_passed_over() {
    for device in devices() {
        // More than two chunks of the CPU, and more than two tiles.
        let count = size(&device, 18_000, 3000);
        let mut random = Random(21);
        // Most buckets have one point, and after every eighth point there is a gap.
        let gap = |index: usize| if index % 8 == 7 { 100 } else { 10 };
        let timestamps = Array1::from_iter((0..count).scan(0, |time, index| {
            *time += gap(index) - random.within(0, 10);
            Some(*time)
        }));
        for (round, longest) in [1, 3, 40, 2000].into_iter().enumerate() {
            let mut values = values::<f64>(count, 22);
            let mut start = 0;
            while start < count {
                let end = count.min(start + 1 + random.within(0, longest) as usize);
                values.slice_mut(s![start..end]).fill(f64::NAN);
                start = end + 1 + random.within(0, longest.min(20)) as usize;
            }
            // Series of all lengths, and empty ones.
            let mut offsets: Vec<_> = (0..30)
                .map(|_| random.within(0, count as i64 + 1) as usize)
                .chain([0, count / 2, count / 2, count])
                .collect();
            offsets.sort_unstable();
            // In turn, so that each fill has both.
            let mut of_nan = [Nan::Skip, Nan::Propagate];
            of_nan.rotate_left(round % 2);
            let fills = ["previous", "previous count=0 mean=null"];
            for (fill, nan) in fills.into_iter().zip(of_nan) {
                let fill: Fills = fill.parse().unwrap();
                let aggregation = everything(10).nan(nan).fill(fill);
                check(&device, &aggregation, &offsets, &timestamps, &values);
            }
        }
    }
}

/// Moves the timestamps before an index to a later time.
fn later_before(mut timestamps: Array1<i64>, index: usize) -> Array1<i64> {
    timestamps.slice_mut(s![..index]).add_assign(1_000_000);
    timestamps
}

fn arrays_on_the_device<T: Number>() {
    for device in devices() {
        let count = size(&device, 20_000, 3000);
        let (timestamps, values) = (ascending(count, -70, 11), values::<T>(count, 12));
        let offsets = [0, 1, count / 2, count / 2, count];
        // The second half begins earlier than the first one ends.
        let timestamps = later_before(timestamps, count / 2);
        let on_device = device.upload(&timestamps).unwrap();
        let values_on_device = device.upload(&values).unwrap();
        let other = everything(35).singletons(Singletons::Drop);
        let other = other.fill(Fill::Value(3.0)).duplicates(Duplicates::First);
        for aggregation in [everything(35), other] {
            let found =
                aggregation.aggregate_series_device(&offsets, &on_device, &values_on_device);
            let found = found.unwrap();
            assert_eq!(found.len(), found.starts().len());
            let found = found.download().unwrap();
            compare(&found, &aggregation, &offsets, &timestamps, &values);
        }
        let every = TimeBuckets::every(35).methods(&summarised());
        let found = every.summaries_series_device(&offsets, &on_device, &values_on_device);
        let found = found.unwrap();
        assert_eq!(found.starts().len(), found.summaries().len());
        let host = every.summaries_series(&device, &offsets, timestamps.view(), values.view());
        let found = found.download().unwrap();
        assert_eq!(found.starts(), host.unwrap().starts());
        let columns = found.columns(&summarised(), 1).unwrap();
        compare(&columns, &every, &offsets, &timestamps, &values);
        let other = Device::cpu();
        if !other.same_as(&device) {
            let elsewhere = other.upload(&values).unwrap();
            let error = every.aggregate_series_device(&offsets, &on_device, &elsewhere);
            assert_error!(error, Error::DifferentDevices { operation: of, .. } if *of == "aggregate_series_device");
        }
    }
}

/// Points with equal timestamps keep their order, which the first and last values show.
fn sorting<T: Number>() {
    for device in devices() {
        let count = size(&device, 100_000, 3000);
        let mut random = Random(13);
        let timestamps = Array1::from_shape_simple_fn(count, || random.within(-500, 20_000));
        let values = Array1::from_iter((0..count).map(|index| T::of(index as f64)));
        let offsets = [0, count / 5, count / 5, count - 1, count];
        for duplicates in [Duplicates::Keep, Duplicates::First, Duplicates::Last] {
            let [first, last, count] = [Method::FIRST, Method::LAST, Method::COUNT];
            let methods = [first, last, count, last.rate(), Method::MEDIAN];
            let aggregation = TimeBuckets::every(3).methods(&methods);
            let aggregation = aggregation.order(Order::Sort).duplicates(duplicates);
            check(&device, &aggregation, &offsets, &timestamps, &values);
        }
    }
}

/// Timestamps and origins at the limits of `i64`, negative ones, and the smallest and largest
/// granularities.
#[test]
fn extreme_timestamps() {
    let (first, last, far) = (i64::MIN, i64::MAX, 1 << 62);
    let ends = [first, first + 1, first + 2, -far, far, last - 1, last];
    let mut timestamps = [&ends[..], &[-36, -35, -1, 0, 1, 34, 35]].concat();
    timestamps.sort_unstable();
    let timestamps = Array1::from(timestamps);
    let values = values::<f64>(timestamps.len(), 14);
    for device in devices() {
        for granularity in [1, 2, 3, 7, 35, 1 << 40, 1 << 62, i64::MAX - 1, i64::MAX] {
            for origin in [0, 1, -1, 17, i64::MIN, i64::MIN + 1, i64::MAX] {
                let label = |&t: &i64| {
                    let (t, o, g) = (t as i128, origin as i128, granularity as i128);
                    i64::try_from(o + (t - o).div_euclid(g) * g).ok()
                };
                let without = timestamps.iter().filter(|t| label(t).is_none()).count();
                let some = timestamps.slice(s![without..]);
                let aggregation = everything(granularity).origin(origin);
                check_one(&device, &aggregation, some, values.slice(s![without..]));
                let rounded = round_timestamps(&device, some, granularity, origin).unwrap();
                let expected: Vec<_> = some.iter().filter_map(label).collect();
                assert_eq!(rounded.to_vec(), expected, "{granularity} {origin}");
                if without == 0 {
                    continue;
                }
                let name = format!("of timestamp {}, at index 0, begins", i64::MIN);
                let error = aggregation.aggregate(&device, timestamps.view(), values.view());
                fails(error, &["aggregate", &name]);
                let error = round_timestamps(&device, timestamps.view(), granularity, origin);
                fails(error, &["round_timestamps", &name]);
                let error = bucket_counts(&device, timestamps.view(), granularity, origin);
                fails(error, &["bucket_counts", &name]);
            }
        }
    }
}

#[test]
fn counts_and_rounding() {
    for device in devices() {
        for count in [1, 9, 2049, size(&device, 100_000, 5000)] {
            let timestamps = ascending(2 * count, -300, 15);
            for timestamps in [timestamps.slice(s![..;2]), timestamps.slice(s![..count])] {
                let expected = timestamps.map(|t| (t - 3).div_euclid(35) * 35 + 3);
                let found = bucket_counts(&device, timestamps, 35, 3).unwrap();
                let runs = expected.as_slice().unwrap().chunk_by(|a, b| a == b);
                let runs: Vec<_> = runs.collect();
                let starts = Array1::from_iter(runs.iter().map(|run| run[0]));
                let counts = Array1::from_iter(runs.iter().map(|run| run.len() as u32));
                let there = device.upload(&timestamps).unwrap();
                let resident = bucket_counts_device(&there, 35, 3).unwrap();
                assert_eq!(resident.download().unwrap(), found);
                assert_eq!((found.starts, found.counts), (starts, counts));
                // In any order.
                let [descending, expected] =
                    [timestamps, expected.view()].map(|t| t.slice_move(s![..;-1]));
                let rounded = round_timestamps(&device, descending, 35, 3).unwrap();
                assert_eq!(rounded, expected);
                let mut inplace = timestamps.to_owned();
                round_timestamps_inplace(&device, inplace.slice_mut(s![..;-1]), 35, 3).unwrap();
                assert_eq!(inplace.slice(s![..;-1]), expected);
                let mut written = Array1::zeros(2 * count);
                let out = written.slice_mut(s![..descending.len();-1]);
                round_timestamps_into(&device, descending, 35, 3, out).unwrap();
                assert_eq!(written.slice(s![..descending.len();-1]), expected);
                let mut on_device = device.upload(&descending).unwrap();
                let rounded = round_timestamps_device(&on_device, 35, 3).unwrap();
                assert_eq!(rounded.download().unwrap(), expected);
                assert_eq!(on_device.download().unwrap(), descending);
                let mut written = device.upload(&timestamps).unwrap();
                round_timestamps_device_into(&on_device, 35, 3, &mut written).unwrap();
                assert_eq!(written.download().unwrap(), expected);
                round_timestamps_device_inplace(&mut on_device, 35, 3).unwrap();
                assert_eq!(on_device.download().unwrap(), expected);
            }
        }
        // After an error nothing has changed.
        let mut timestamps = array![100, i64::MIN, 3];
        let error = round_timestamps_inplace(&device, timestamps.view_mut(), 35, 0);
        fails(error, &["round_timestamps_inplace", "at index 1"]);
        assert_eq!(timestamps, array![100, i64::MIN, 3]);
        let mut out = Array1::zeros(2);
        let error = round_timestamps_into(&device, timestamps.view(), 35, 0, out.view_mut());
        let parts = ["round_timestamps_into: ", "3 timestamps", "2 elements"];
        fails(error, &parts);
        let mut out = Array1::zeros(3);
        let error = round_timestamps_into(&device, timestamps.view(), 35, 0, out.view_mut());
        fails(error, &["round_timestamps_into: ", "at index 1"]);
        let mut on_device = device.upload(&timestamps).unwrap();
        let error = round_timestamps_device_inplace(&mut on_device, 35, 0);
        fails(error, &["round_timestamps_device_inplace: ", "at index 1"]);
        let unchanged = device.upload(&timestamps).unwrap();
        let error = round_timestamps_device(&unchanged, 35, 0);
        fails(error, &["round_timestamps_device: ", "at index 1"]);
        let mut short = device.upload(&array![1i64]).unwrap();
        let error = round_timestamps_device_into(&unchanged, 35, 0, &mut short);
        fails(error, &["round_timestamps_device_into: ", "1 elements"]);
        let error = bucket_counts_device(&unchanged, 35, 0);
        fails(error, &["bucket_counts_device: ", "at index 1"]);
        // A timestamp without a label is kept.
        assert_eq!(on_device.download().unwrap()[1], i64::MIN);
    }
}

#[test]
fn resampled_summaries_are_aggregates_of_points() {
    for device in devices() {
        let count = size(&device, 50_000, 3000);
        let (timestamps, mut values) = (ascending(count, -10_000, 16), values::<f64>(count, 17));
        values.slice_mut(s![..;5]).fill(f64::NAN);
        let middle = count / 3;
        let timestamps = later_before(timestamps, middle);
        let offsets = [0, 0, middle, count];
        for nan in [Nan::Skip, Nan::Propagate] {
            let every = |granularity| {
                let aggregation = TimeBuckets::every(granularity).origin(-4).nan(nan);
                aggregation.methods(&summarised())
            };
            let summaries =
                every(7).summaries_series(&device, &offsets, timestamps.view(), values.view());
            let summaries = summaries.unwrap();
            for factor in [1, 2, 30, 1_000_000] {
                let found = summaries.resample(7 * factor).unwrap();
                let again = summaries.resample(7).unwrap().resample(7 * factor).unwrap();
                assert_eq!(found.starts(), again.starts());
                let columns = found.columns(&summarised(), 1).unwrap();
                compare(&columns, &every(7 * factor), &offsets, &timestamps, &values);
            }
        }
        let summaries = |granularity, timestamp| {
            let (timestamps, values) = (array![timestamp], array![1.0]);
            let every = TimeBuckets::every(granularity);
            let found = every.summaries(&device, timestamps.view(), values.view());
            found.unwrap()
        };
        let sevens = summaries(7, 0);
        for granularity in [0, -7, 1, 6, 8, 20] {
            let name = format!("every is {granularity}, which is not a multiple of that");
            fails(sevens.resample(granularity), &["resample", &name]);
        }
        let columns = sevens.columns(&[Method::MEAN, Method::percentile(74.5)], 1);
        fails(columns, &["do not tell p74.5"]);
        fails(sevens.columns(&[Method::MEAN.rate()], 1), &["rate:mean"]);
        let parts = ["resample", "at index 0", "first i64"];
        fails(summaries(1, i64::MIN).resample(3), &parts);
    }
}

/// The time from the first to the last point, which depends on the timestamps and on the order of
/// merging.
#[derive(Clone, Copy)]
struct Span;

/// The first and the last time, NaN without points.
#[derive(Clone, Copy)]
struct Ends {
    first: f64,
    last: f64,
}

impl WarpValue for Ends {
    fn map_words(self, mut f: impl FnMut(u32) -> u32) -> Ends {
        Ends {
            first: self.first.map_words(&mut f),
            last: self.last.map_words(f),
        }
    }
}

impl Aggregate for Span {
    type State = Ends;
    type Output = f64;

    fn empty(&self) -> Ends {
        let [first, last] = [f64::NAN; 2];
        Ends { first, last }
    }

    fn push(&self, ends: Ends, point: Point) -> Ends {
        let [first, last] = [point.timestamp as f64; 2];
        self.merge(ends, Ends { first, last })
    }

    fn merge(&self, earlier: Ends, later: Ends) -> Ends {
        if earlier.first.is_nan() {
            return later;
        }
        if later.first.is_nan() {
            return earlier;
        }
        assert!(earlier.last <= later.first, "merged in the wrong order");
        Ends {
            last: later.last,
            ..earlier
        }
    }

    fn finish(&self, ends: Ends) -> f64 {
        ends.last - ends.first
    }
}

#[test]
fn aggregates_of_ones_own() {
    // A custom aggregate without kernels runs on the CPU only.
    let device = Device::cpu();
    let lengths = [1, 2, 9, 5000, 30_000, 1];
    let timestamps = timestamps_of(&lengths, 1 << 20);
    let mut values = values::<f32>(timestamps.len(), 18);
    values[0] = f32::NAN;
    let span = |nan| {
        let (custom, offsets) = (Custom::new(Span), [0, timestamps.len()]);
        let aggregation = TimeBuckets::every(1 << 20).nan(nan);
        let found =
            aggregation.custom_series(&device, &custom, &offsets, timestamps.view(), values.view());
        found.unwrap()
    };
    let upload = (device.upload(&timestamps), device.upload(&values));
    let (timestamps_there, values_there) = (upload.0.unwrap(), upload.1.unwrap());
    let resident = TimeBuckets::every(1 << 20).nan(Nan::Propagate);
    let resident = resident.custom_device(&Custom::new(Span), &timestamps_there, &values_there);
    let resident = resident.unwrap().download().unwrap();
    assert_eq!(resident, span(Nan::Propagate));
    // Of several series, one of them empty.
    let (custom, offsets) = (Custom::new(Span), [0, 3, 3, timestamps.len()]);
    let plain = TimeBuckets::every(1 << 20).nan(Nan::Propagate);
    let points = (timestamps.view(), values.view());
    let found = plain
        .custom_series(&device, &custom, &offsets, points.0, points.1)
        .unwrap();
    let there = |offsets: &[usize]| {
        plain.custom_series_device(&custom, offsets, &timestamps_there, &values_there)
    };
    assert_eq!(there(&offsets).unwrap().download().unwrap(), found);
    fails(there(&[0, 3, 2]), &["custom_series_device: "]);
    let of_one = plain.custom(&device, &custom, points.0, points.1);
    assert_eq!(of_one.unwrap(), span(Nan::Propagate));
    let expected = lengths.map(|length| ((length as i64 - 1) << 20) / length as i64);
    let expected = Array1::from_iter(expected.map(|span| span as f64));
    let found = span(Nan::Propagate);
    assert_eq!(found.results(), expected);
    assert_eq!(found.offsets(), [0, lengths.len()]);
    // NaN is no point to it.
    let skipped = span(Nan::Skip);
    assert!(skipped.results()[0].is_nan());
    assert_eq!(skipped.results().slice(s![1..]), expected.slice(s![1..]));
}

#[test]
fn aggregates_without_kernels_are_refused_before_points_are_read() {
    for device in devices()
        .iter()
        .filter(|device| device.kind() != DeviceKind::Cpu)
    {
        let (timestamps, values) = (array![2i64, 1], array![0.0, 0.0]);
        let devices = [Device::cpu(), device.clone()];
        let found = TimeBuckets::every(1).custom(
            &devices[..],
            &Custom::new(Span),
            timestamps.view(),
            values.view(),
        );
        assert_error!(found, Error::Unavailable { reason, .. } if reason.contains("Custom::with_kernels"));
    }
}

#[test]
fn results_do_not_depend_on_threads() {
    let count = 200_000;
    let (timestamps, values) = (ascending(count, 0, 19), values::<f64>(count, 20));
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| {
            let found = [35, 1 << 40].map(|granularity| {
                let aggregation = everything(granularity);
                let found = aggregation.aggregate(&Device::cpu(), timestamps.view(), values.view());
                found.unwrap().into_parts()
            });
            let bits = |column: Array1<f64>| column.mapv(f64::to_bits);
            found.map(|(starts, columns)| {
                (starts, columns.into_iter().map(bits).collect::<Vec<_>>())
            })
        })
    };
    assert_eq!(run(1), run(3));
}

/// Checks known mistakes of published kernels with numbers that can be checked by hand.
#[test]
fn nothing_is_lost() {
    for device in devices() {
        // The first value of the first bucket, fractions, and the last points.
        let count = size(&device, 100_003, 4099);
        let timestamps = Array1::from_iter(0..count as i64);
        let values = Array1::from_elem(count, 0.75);
        let methods = [Method::SUM, Method::COUNT];
        let found = aggregate(&device, timestamps.view(), values.view(), 1000, &methods).unwrap();
        assert_eq!(found.column(0)[0], 750.0);
        assert_eq!(found.column(1).sum(), count as f64);
        assert_eq!(found.column(0).sum(), 0.75 * count as f64);
    }
}

#[test]
fn percentiles_by_hand() {
    for device in devices() {
        let values = array![4.0, 1.0, 3.0, 2.0];
        let timestamps = array![0, 1, 2, 3];
        let methods = percentiles();
        let found = aggregate(&device, timestamps.view(), values.view(), 10, &methods).unwrap();
        let found: Vec<_> = found.columns().iter().map(|column| column[0]).collect();
        let [odd, high] = [74.5, 95.0].map(|percent| 3.0 + (3.0 * percent / 100.0 - 2.0));
        assert_eq!(found, [2.5, 1.0, 1.75, odd, high, 4.0]);
        assert_eq!(Method::percentile(-0.0).to_string(), "p0");
    }
}

#[test]
fn mistakes_are_named_with_their_place() {
    for device in devices() {
        let run = |aggregation: TimeBuckets, offsets: &[usize], timestamps: &[i64]| {
            let timestamps = ArrayView1::from(timestamps);
            let values = Array1::<f32>::zeros(timestamps.len());
            aggregation.aggregate_series(&device, offsets, timestamps, values.view())
        };
        let plain = || TimeBuckets::every(5).methods(&[Method::MEAN]);
        for granularity in [0, -1, i64::MIN] {
            let name = format!("every is {granularity}, and has to be 1 at least");
            let found = run(TimeBuckets::every(granularity), &[0, 0], &[]);
            fails(found, &["aggregate_series: ", &name]);
            let none = Array1::zeros(0);
            let found = round_timestamps(&device, none.view(), granularity, 0);
            fails(found, &["round_timestamps: ", &name]);
            let found = bucket_counts(&device, none.view(), granularity, 0);
            fails(found, &["bucket_counts: ", &name]);
        }
        for percent in [-0.5, 100.5, f64::NAN, f64::INFINITY] {
            let name = format!("percentile {percent} is not from 0 to 100");
            let methods = [Method::percentile(percent)];
            fails(run(plain().methods(&methods), &[0, 0], &[]), &[&name]);
        }
        let (timestamps, values) = (array![0, 1], array![0.0]);
        let found = plain().aggregate(&device, timestamps.view(), values.view());
        let lengths = "the number of timestamps is 2, the number of values 1: they must be equal";
        fails(found, &["aggregate: ", lengths]);
        // The index is a field, too.
        for (offsets, expected) in [
            (&[0, 2, 1, 3][..], Some(2)),
            (&[0, 2, 1, 4], Some(2)),
            (&[1, 3], Some(0)),
            (&[0, 1, 2], Some(2)),
            (&[], None),
        ] {
            let error = run(plain(), offsets, &[1, 2, 3]);
            assert_error!(&error, Error::InvalidInput { index, .. } if *index == expected);
            assert_error!(error, Error::InvalidInput { operation: of, .. } if *of == "aggregate_series");
        }
        // Errors name what was called.
        let (points, zeros) = (array![3i64, 1], array![0.0, 0.0]);
        let error = plain().summaries(&device, points.view(), zeros.view());
        fails(error, &["summaries: ", "at index 1"]);
        let points = device.upload(&points).unwrap();
        let zeros = device.upload(&zeros).unwrap();
        let error = plain().summaries_device(&points, &zeros);
        fails(error, &["summaries_device: ", "at index 1"]);
        for (offsets, timestamps, parts) in [
            (&[][..], &[][..], &["there are no offsets"][..]),
            (&[0, 1], &[], &["from 0 to 1", "points, 0"]),
            (&[1, 1], &[1], &["from 1 to 1", "points, 1"]),
            (
                &[0, 2, 1, 3],
                &[1, 2, 3],
                &["offset 1 at index 2 is below the one before it, 2"],
            ),
            (
                &[0, 4],
                &[0, 3, 2, 1],
                &[
                    "timestamp 2 at index 2 is below the one before it, 3",
                    "sort them, or use TimeBuckets::order(Order::Sort)",
                ],
            ),
            (
                &[0, 0, 2, 2, 5],
                &[0, 3, 2, 1, 0],
                &["timestamp 1 at index 3 of series 3 is below the one before it, 2"],
            ),
        ] {
            fails(run(plain(), offsets, timestamps), parts);
        }
        let found = bucket_counts(&device, array![5, 7, 6].view(), 5, 0);
        let place = "timestamp 6 at index 2 is below the one before it, 7";
        let advice = "in the order of time: sort them first";
        fails(found, &["bucket_counts: ", place, advice]);
        let found = bucket_counts_device(&points, 5, 0);
        fails(found, &["bucket_counts_device: ", advice]);
        // A column that is not there.
        let (points, zeros) = (array![0, 1], array![0.0, 0.0]);
        let none = TimeBuckets::every(5).aggregate(&device, points.view(), zeros.view());
        let points = device.upload(&points).unwrap();
        let zeros = device.upload(&zeros).unwrap();
        let (none, one) = (
            none.unwrap(),
            plain().aggregate_device(&points, &zeros).unwrap(),
        );
        let panics = |column: &dyn Fn() -> usize, text: &str| {
            let panic = catch_unwind(AssertUnwindSafe(column)).unwrap_err();
            let advice = "one for each method: set methods with TimeBuckets::methods";
            assert_eq!(
                *panic.downcast::<String>().unwrap(),
                format!("{text}, {advice}")
            );
        };
        panics(&|| none.column(0).len(), "no column 0: there are 0");
        panics(&|| one.column(1).shape()[0], "no column 1: there are 1");
        // The first mistake is named, at each border between the points of two threads or tiles.
        let count = size(&device, 40_000, 5000);
        for index in [1, 7, 8, 255, 256, 2047, 2048, 2049, 4096, count - 1] {
            let mut timestamps = Array1::from_iter(0..count as i64);
            timestamps[index] -= 2;
            timestamps[count - 1] = -10;
            let name = format!("timestamp {} at index {index} is", timestamps[index]);
            let timestamps = timestamps.as_slice().unwrap();
            fails(run(plain(), &[0, count], timestamps), &[&name]);
            let duplicates = plain().duplicates(Duplicates::Last);
            fails(run(duplicates, &[0, count], timestamps), &[&name]);
        }
        // Also where sorting moves the point.
        let unsorted = [7, 3, i64::MIN, 5];
        let name = format!("of timestamp {}, at index 2, begins", i64::MIN);
        let sorted = plain().order(Order::Sort);
        fails(run(sorted, &[0, 4], &unsorted), &[&name]);
        // More buckets than there is memory, or than there are numbers for.
        for granularity in [1, 2, 1 << 20] {
            let ends = [i64::MIN + (1 << 20), i64::MAX];
            let fill = TimeBuckets::every(granularity).methods(&[Method::SUM]);
            let error = run(fill.fill(Fill::Nan), &[0, 2], &ends);
            assert_error!(error, Error::Allocation { .. });
        }
    }
}

/// Names, documentation and messages come from `Method::ALL`, and methods can be keys of maps.
#[test]
fn methods_are_listed_once() {
    let message = "average".parse::<Method>().unwrap_err().to_string();
    let mut columns = HashMap::new();
    for (column, &method) in Method::ALL.iter().enumerate() {
        let name = method.to_string();
        assert_eq!(name.parse::<Method>().unwrap(), method);
        let rate = format!("rate:{name}").parse::<Method>().unwrap();
        assert_eq!(rate, method.rate());
        assert!(rate.unit() == method.unit() && rate.accuracy() == method.accuracy());
        assert!(method.documentation().ends_with('.'), "{name}");
        assert!(message.contains(&format!("{name}, ")), "{message}");
        assert_eq!(columns.insert(method, column), None, "{name}");
    }
    columns.insert(Method::percentile(-0.0), 100);
    columns.insert(Method::MEAN.rate(), 101);
    assert_eq!(columns[&"p0".parse::<Method>().unwrap()], 100);
    assert_eq!(columns[&"rate:mean".parse::<Method>().unwrap()], 101);
    assert!(
        !columns.contains_key(&Method::percentile(50.0)) && columns.contains_key(&Method::MEDIAN)
    );
}
