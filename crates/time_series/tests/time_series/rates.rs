//! Rates on every device: GPUs take differences inside the pass if no value is left out, and else
//! prepare all rates first. Both against the reference.

use gridstride::time_series::{Duplicates, Method, Nan, TimeBuckets};
use ndarray::{Array1, s};

use super::{Number, ascending, check, is_single, statistics, timestamps_of, values};
use test_support::in_every_type;
use test_support::{devices, is_slow};

in_every_type! { in_f32 f32, in_f64 f64: {
    around_tiles
    missing_values
    missing_values_of_several_chunks
    infinite_values
} }

/// Statistics of rates, of values and rates, and only some that need less.
fn aggregations(every: i64) -> [TimeBuckets; 3] {
    let of_values = statistics();
    let rates: Vec<_> = of_values.iter().map(|method| method.rate()).collect();
    let all = [&of_values[..], &rates].concat();
    [
        TimeBuckets::every(every).methods(&rates),
        TimeBuckets::every(every).methods(&all),
        TimeBuckets::every(every).methods(&[Method::MEAN.rate()]),
    ]
}

/// Offsets of one series, and of several that begin at and around tiles' boundaries: some without
/// points, and some with one.
fn offsets_of(points: usize) -> [Vec<usize>; 2] {
    let inner = [0, 0, 1, 2, 700, 1023, 1024, 1025, 1025, 2047, 2048];
    let inner = inner.into_iter().filter(|&offset| offset <= points);
    [vec![0, points], inner.chain([points, points]).collect()]
}

fn around_tiles<T: Number>() {
    for device in devices() {
        for points in [1, 2, 7, 8, 9, 1023, 1024, 1025, 2049] {
            let timestamps = ascending(points, -500, 3);
            let values = values::<T>(points, 4);
            for offsets in offsets_of(points) {
                // Buckets of a point, of some, and of more than a tile.
                for every in [1, 35, 1 << 40] {
                    for aggregation in aggregations(every) {
                        check(&device, &aggregation, &offsets, &timestamps, &values);
                    }
                }
            }
        }
    }
}

fn missing_values<T: Number>() {
    let points = 2500;
    for device in devices() {
        for missing in [
            &[0][..],
            &[1023],
            &[1024],
            &[699, 700],
            &[2499],
            &[5, 6, 7, 1500],
        ] {
            let mut values = values::<T>(points, 6);
            for &index in missing {
                values[index] = T::of(f64::NAN);
            }
            let timestamps = timestamps_of(&[7; 358], 100);
            let timestamps = timestamps.slice_move(ndarray::s![..points]);
            for offsets in offsets_of(points) {
                for (i, nan) in [Nan::Skip, Nan::Propagate].into_iter().enumerate() {
                    for (j, aggregation) in [100, 100_000]
                        .map(aggregations)
                        .iter()
                        .flatten()
                        .enumerate()
                    {
                        for (k, duplicates) in
                            [Duplicates::Keep, Duplicates::Last].into_iter().enumerate()
                        {
                            // Slow devices take one with each type, and both types together take both.
                            if is_slow(&device)
                                && (i + j + k + usize::from(is_single::<T>())) % 2 > 0
                            {
                                continue;
                            }
                            let aggregation = aggregation.clone().nan(nan).duplicates(duplicates);
                            check(&device, &aggregation, &offsets, &timestamps, &values);
                        }
                    }
                }
            }
        }
    }
}

/// Runs without values that begin and end around chunks of the CPU, within series and between them:
/// the value before a rate is several chunks away, or in another series and so no such value.
fn missing_values_of_several_chunks<T: Number>() {
    const CHUNK: usize = 8192;
    let points = 3 * CHUNK + 100;
    let timestamps = Array1::from_iter((0..points as i64).map(|index| index / 3));
    let runs = [
        (0, CHUNK),
        (1, 2 * CHUNK),
        (CHUNK - 1, 3 * CHUNK + 1),
        (CHUNK, 2 * CHUNK),
        (2 * CHUNK - 1, 2 * CHUNK + 1),
        (0, points),
    ];
    let several = vec![0, CHUNK - 1, CHUNK, CHUNK, CHUNK + 1, 2 * CHUNK, points];
    for device in devices().into_iter().filter(|device| !is_slow(device)) {
        for (start, end) in runs {
            let mut values = values::<T>(points, 7);
            values.slice_mut(s![start..end]).fill(T::of(f64::NAN));
            for offsets in [vec![0, points], several.clone()] {
                for every in [1, 100, 5000] {
                    let methods = [Method::COUNT, Method::FIRST, Method::LAST, Method::MEDIAN];
                    let aggregation = TimeBuckets::every(every).methods(&methods.map(Method::rate));
                    for duplicates in [Duplicates::Keep, Duplicates::First, Duplicates::Last] {
                        let aggregation = aggregation.clone().duplicates(duplicates);
                        check(&device, &aggregation, &offsets, &timestamps, &values);
                    }
                }
            }
        }
    }
}

/// ∞ − ∞ is NaN though both values are there.
fn infinite_values<T: Number>() {
    let points = 2100;
    for device in devices() {
        for (index, value) in [(3, f64::INFINITY), (1022, f64::NEG_INFINITY), (1023, 1e300)] {
            let mut values = values::<T>(points, 8);
            (values[index], values[index + 1]) = (T::of(value), T::of(value));
            let timestamps = Array1::from_iter(0..points as i64);
            for every in [7, 1000] {
                for aggregation in aggregations(every) {
                    let offsets = [0, points];
                    check(&device, &aggregation, &offsets, &timestamps, &values);
                }
            }
        }
    }
}
