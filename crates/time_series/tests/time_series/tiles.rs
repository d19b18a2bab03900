//! Buckets in tiles of points, on GPUs and in the simulator: where buckets without points leave
//! places free, and where tiles with long buckets follow others.

use gridstride::time_series::{Method, Nan, TimeBuckets};
use ndarray::Array1;

use super::{Number, check, check_one, size, statistics, summarised, timestamps_of, values};
use test_support::in_every_type;
use test_support::{Random, devices, fails};

in_every_type! { in_f32 f32, in_f64 f64: {
    lengths_around_tiles
    buckets_without_points
    long_buckets_among_short_ones
    gaps_among_many_points
    short_buckets_of_many_points
    tiles_within_a_bucket
} }

/// One for each state of a bucket, which have their own kernels.
fn aggregations(every: i64) -> [TimeBuckets; 3] {
    let methods = [vec![Method::MEAN], summarised(), statistics()];
    methods.map(|methods| TimeBuckets::every(every).methods(&methods))
}

/// Buckets of 1, 2, 7 and more points, in one tile and in several.
fn lengths_around_tiles<T: Number>() {
    for device in devices() {
        for points in [1, 2, 7, 1023, 1024, 1025, 2048, 2049, 5000] {
            let timestamps = Array1::from_iter((0..points as i64).map(|index| 5 * index - 700));
            let values = values::<T>(points, 1);
            for every in [5, 10, 35, 300, 5000, 1 << 40] {
                for aggregation in aggregations(every) {
                    check_one(&device, &aggregation, &timestamps, &values);
                }
            }
        }
    }
}

/// Gaps in the first tile, at its end, in a later tile, and everywhere.
fn buckets_without_points<T: Number>() {
    let points = 3500;
    for device in devices() {
        for gaps in [
            &[1][..],
            &[1023],
            &[1024],
            &[1025, 1026],
            &[2600],
            &[5, 1024, 2048, 3499],
        ] {
            let mut time = 0;
            let timestamps = Array1::from_iter((0..points).map(|index| {
                time += if gaps.contains(&index) { 1000 } else { 5 };
                time
            }));
            let values = values::<T>(points, 2);
            for every in [5, 35, 800] {
                for aggregation in aggregations(every) {
                    check_one(&device, &aggregation, &timestamps, &values);
                    let offsets = [0, 3, 3, 1024, 1500, 1501, points];
                    check(&device, &aggregation, &offsets, &timestamps, &values);
                }
            }
        }
        let mut random = Random(3);
        let mut time = i64::MIN / 2;
        let timestamps = Array1::from_shape_simple_fn(points, || {
            time += random.within(0, 90);
            time
        });
        let values = values::<T>(points, 4);
        for aggregation in aggregations(35) {
            check_one(&device, &aggregation, &timestamps, &values);
        }
    }
}

/// More points than are aggregated without a look at the average bucket.
const MANY: usize = 70_000;

/// The launch for short buckets and ordinary values leaves out tiles, which follow afterwards.
fn long_buckets_among_short_ones<T: Number>() {
    let mut lengths = vec![7; 5000];
    lengths.extend([3000, 1, 60, 64]);
    lengths.extend([1; 28_000]);
    lengths.push(3000);
    let timestamps = timestamps_of(&lengths, 100);
    assert!(timestamps.len() > 1 << 16 && timestamps.len() < MANY);
    let mut values = values::<T>(timestamps.len(), 5);
    for (index, value) in [
        (0, 1e150),
        (7, f64::NAN),
        (9_000, f64::NAN),
        (50_000, 1e-200),
    ] {
        values[index] = T::of(value);
    }
    for device in devices() {
        for methods in [
            &statistics()[..],
            &summarised(),
            &[Method::MEAN.rate()],
            &[Method::STD.rate()],
        ] {
            for nan in [Nan::Skip, Nan::Propagate] {
                let aggregation = TimeBuckets::every(100).methods(methods).nan(nan);
                check_one(&device, &aggregation, &timestamps, &values);
            }
        }
    }
}

/// Short buckets alone, which one launch joins. The last tile has no point but those of the bucket
/// before, begins a bucket with its first or its last point, or is whole.
fn short_buckets_of_many_points<T: Number>() {
    const TILES: usize = 65 * 1024;
    // Of 7 points, of which the last whole tile leaves three to the next one: 65 · 1024 = 9508 · 7 + 4.
    for points in [TILES + 2, TILES + 3, TILES + 4, TILES + 1024] {
        let timestamps = Array1::from_iter((0..points as i64).map(|index| 5 * index));
        let values = values::<T>(points, 7);
        for device in devices() {
            for aggregation in aggregations(35) {
                check_one(&device, &aggregation, &timestamps, &values);
            }
            let [_, summarised, _] = aggregations(35);
            let offsets = [0, 3, 1024, 1024, 40_000, TILES, points];
            check(&device, &summarised, &offsets, &timestamps, &values);
        }
    }
}

/// As [`buckets_without_points`], with and without long buckets.
fn gaps_among_many_points<T: Number>() {
    let values = values::<T>(MANY, 6);
    for device in devices() {
        for long in [0, 2000] {
            let mut time = 0;
            let timestamps = Array1::from_iter((0..MANY).map(|index| {
                time += match index {
                    40_000 => 1_000_000,
                    _ if index % 30_000 < long => 0,
                    _ => 5,
                };
                time
            }));
            for aggregation in aggregations(35) {
                check_one(&device, &aggregation, &timestamps, &values);
            }
        }
    }
}

/// Tiles without the beginning of a bucket, with values that each need another way to add them.
fn tiles_within_a_bucket<T: Number>() {
    let points = 7000;
    let timestamps = Array1::from_iter(0..points as i64);
    let mut values = values::<T>(points, 9);
    for (index, value) in [
        (1500, f64::NAN),
        (2049, 1e150),
        (2600, -1e200),
        (3071, f64::NAN),
        (4000, 1e-200),
        (5200, f64::INFINITY),
    ] {
        values[index] = T::of(value);
    }
    for device in devices() {
        for methods in [
            &statistics()[..],
            &summarised(),
            &[Method::MEAN],
            &[Method::STD.rate()],
        ] {
            for nan in [Nan::Skip, Nan::Propagate] {
                for every in [5000, 10_000] {
                    let aggregation = TimeBuckets::every(every).methods(methods).nan(nan);
                    check_one(&device, &aggregation, &timestamps, &values);
                }
            }
        }
        // Only one value is special, so that it shows in the result.
        for index in [2049, 2600, 3071] {
            for value in [f64::NAN, 1e150, 1e-200] {
                let mut values = Array1::from_elem(points, T::of(0.5));
                values[index] = T::of(value);
                for (nan, methods) in [
                    (Nan::Skip, statistics()),
                    (Nan::Propagate, statistics()),
                    (Nan::Skip, summarised()),
                    (Nan::Propagate, summarised()),
                ] {
                    let aggregation = TimeBuckets::every(10_000).methods(&methods).nan(nan);
                    check_one(&device, &aggregation, &timestamps, &values);
                }
            }
        }
    }
}

/// One bucket at the lowest timestamp and one at the highest, which are 2⁶⁴ buckets apart, in several
/// tiles: in one series, and in each of many.
#[test]
fn buckets_at_both_ends_of_all_timestamps() {
    for device in devices() {
        let points = size(&device, 70_000, 3000);
        let values = values::<f64>(points, 7);
        let mut timestamps = Array1::from_elem(points, i64::MAX);
        timestamps[0] = i64::MIN;
        let pairs = Array1::from_shape_fn(points, |index| [i64::MIN, i64::MAX][index % 2]);
        let offsets: Vec<usize> = (0..=points).step_by(2).collect();
        for aggregation in aggregations(1) {
            check_one(&device, &aggregation, &timestamps, &values);
            check(&device, &aggregation, &offsets, &pairs, &values);
        }
    }
}

/// Timestamps that descend farther than `i64` holds, at the borders of tiles and within them, and a
/// little within a bucket of several tiles.
#[test]
fn descents_are_errors_in_every_tile() {
    for device in devices() {
        let points = size(&device, 70_000, 3000);
        let values = Array1::<f64>::zeros(points);
        for width in [1, 2, 32, 3600, 1 << 62] {
            for every in [1000, 1024] {
                let timestamps = Array1::from_shape_fn(points, |index| match index % every {
                    last if last + 1 == every => i64::MAX,
                    others => {
                        i64::MIN + 2 * width.min(1 << 40) + width.min(1 << 40) * others as i64
                    }
                });
                for aggregation in aggregations(width) {
                    let error = aggregation.aggregate(&device, timestamps.view(), values.view());
                    fails(error, &[&format!("at index {every} is below")]);
                }
            }
        }
        let timestamps = Array1::from_shape_fn(points, |index| if index < 1024 { 5 } else { 3 });
        for aggregation in aggregations(1 << 40) {
            let error = aggregation.aggregate(&device, timestamps.view(), values.view());
            fails(error, &["timestamp 3 at index 1024 is below"]);
        }
    }
}
