//! Distances over several devices, and within little memory: the same bits as on one device.

use gridstride::distances::{Distances, Metric, distances, pairwise};
use gridstride::{Device, Error};
use ndarray::{Array2, ArrayView2, s};

use test_support::sketch::codes;
use test_support::{
    NO_DEVICE, assert_error, devices, fails_with, least_memory, several, with_kernels,
};

/// Rows of small whole numbers, whose distances are exact.
fn rows(count: usize, seed: u64) -> Array2<f64> {
    let numbers = codes(count * 5, 200, seed);
    Array2::from_shape_vec((count, 5), numbers)
        .unwrap()
        .mapv(f64::from)
}

#[test]
fn distances_over_several_devices() {
    for device in devices() {
        for count in [1, 2, 3, 5, 9] {
            let set = several(&device, count);
            for (n, m) in [(0, 0), (0, 3), (3, 0), (1, 1), (2, 7), (140, 3), (70, 131)] {
                let (a, b) = (rows(n, 1), rows(m, 2));
                let what = format!("{n} and {m} rows on {count} times {device}");
                let squared = Distances::new().metric(Metric::SquaredL2);
                let of = |devices: &[Device], a: ArrayView2<f64>| {
                    let distances = distances(devices, a, b.view()).unwrap();
                    (distances, squared.pairwise(devices, a).unwrap())
                };
                let expected = of(std::slice::from_ref(&device), a.view());
                assert_eq!(of(&set, a.view()), expected, "{what}");
                let turned = a.t().as_standard_layout().into_owned();
                assert_eq!(of(&set, turned.t()), expected, "{what}");
            }
        }
    }
}

#[test]
fn distances_within_little_memory() {
    let (a, b) = (rows(7, 1), rows(40, 2));
    let (few, one) = (a.slice(s![..2, ..]), b.slice(s![..1, ..]));
    for device in with_kernels() {
        let between = |device: &Device, a, b| distances(device, a, b);
        let least = least_memory(&device, |limited| between(limited, one, one));
        let of_two = least_memory(&device, |limited| pairwise(limited, few));
        eprintln!("{least} bytes for a distance, {of_two} for two rows, on {device}");
        for limit in [least.max(of_two), 1000, 3000] {
            let limited = device.with_memory_limit(limit);
            for (a, b) in [(a.view(), b.view()), (b.view(), a.view()), (b.view(), one)] {
                let expected = between(&device, a, b).unwrap();
                assert_eq!(between(&limited, a, b).unwrap(), expected, "{limit} bytes");
                let expected = pairwise(&device, a).unwrap();
                let found = pairwise(&limited, a).unwrap();
                assert_eq!(found, expected, "{limit} bytes of {device}");
            }
        }
        let error = between(&device.with_memory_limit(8), a.view(), b.view());
        assert_error!(error, Error::Allocation { .. });
    }
}

#[test]
fn errors_of_distances_count_all_rows() {
    let good = rows(9, 1);
    let mut bad = rows(9, 2);
    bad[[7, 3]] = f64::NAN;
    for device in devices() {
        for count in [1, 2, 3, 5] {
            let set = several(&device, count);
            let (good, bad) = (good.view(), bad.view());
            let error = distances(&set, good, bad);
            fails_with(
                error,
                "distances: row 7 of b has a value that is NaN or infinite: all numbers must be finite",
            );
            let error = pairwise(&set, bad);
            fails_with(
                error,
                "pairwise: row 7 of a has a value that is NaN or infinite: all numbers must be finite",
            );
        }
    }
    let none: [Device; 0] = [];
    let error = pairwise(&none, good.view());
    fails_with(error, format!("pairwise: {NO_DEVICE}"));
}
