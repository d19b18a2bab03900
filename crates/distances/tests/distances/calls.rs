//! Distances of all pairs of rows, on every device, against whole numbers.

use gridstride::distances::Metric::{L2, SquaredL2};
use gridstride::distances::{Distances, Metric, reference};
use gridstride::{Device, Error, Result};
use ndarray::{Array2, array, s};

use test_support::in_every_type;
use test_support::rows::{Number, check, expected, numbers};
use test_support::{
    Random, assert_error, devices, fails, fails_with, gamma, several, with_kernels,
};

fn with(metric: Metric) -> Distances {
    Distances::new().metric(metric)
}

const METRICS: [Metric; 2] = [L2, SquaredL2];

/// Sizes around the kernels' tiles: 128 rows, and 128 or 64 columns.
const SIZES: [usize; 8] = [0, 1, 63, 64, 65, 127, 128, 129];

/// Lengths of rows around the kernels' chunks and vector loads.
const DIMS: [usize; 13] = [0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 96];

/// Whole numbers of up to `digits` binary digits and a sign that look random.
fn whole_numbers(shape: (usize, usize), digits: u32, seed: u64) -> Array2<i64> {
    let mut random = Random(seed);
    Array2::from_shape_simple_fn(shape, || {
        let state = random.state();
        let magnitude = (state >> (64 - digits)) as i64;
        let sign = if state & (1 << 8) == 0 { 1 } else { -1 };
        sign * magnitude
    })
}

/// Compares the distances of these numbers by all calls.
#[track_caller]
fn check_all<T: Number>(device: &Device, a: &Array2<i64>, b: &Array2<i64>, exponent: i32) {
    let (rows_a, rows_b) = (numbers::<T>(a, exponent), numbers::<T>(b, exponent));
    let [a_there, b_there] = [&rows_a, &rows_b].map(|rows| device.upload(rows).unwrap());
    for metric in METRICS {
        let result = with(metric)
            .distances(device, rows_a.view(), rows_b.view())
            .unwrap();
        let expected = expected(a, b, exponent, metric);
        check::<T>(device, a.ncols(), &result, &expected);
        let there = with(metric).distances_device(&a_there, &b_there).unwrap();
        assert_eq!(there.download().unwrap(), result);
    }
}

fn every_tile_edge<T: Number>() {
    for device in devices() {
        for n in SIZES {
            for m in SIZES {
                let a = whole_numbers((n, 5), T::DIGITS, 1);
                let b = whole_numbers((m, 5), T::DIGITS, 2);
                let (rows_a, rows_b) = (numbers::<T>(&a, 0), numbers::<T>(&b, 0));
                let result = with(L2)
                    .distances(&device, rows_a.view(), rows_b.view())
                    .unwrap();
                check::<T>(&device, 5, &result, &expected(&a, &b, 0, L2));
            }
        }
    }
}

fn every_chunk_edge<T: Number>() {
    for device in devices() {
        for dim in DIMS {
            let a = whole_numbers((9, dim), T::DIGITS, 3);
            check_all::<T>(&device, &a, &whole_numbers((6, dim), T::DIGITS, 4), 0);
            check_all::<T>(&device, &a, &whole_numbers((7, dim), T::DIGITS, 4), -7);
        }
        let long = whole_numbers((2, 4096), T::DIGITS, 5);
        check_all::<T>(&device, &long, &whole_numbers((3, 4096), T::DIGITS, 6), 0);
    }
}

/// Blocks look for the largest magnitude in up to 8192 numbers themselves.
fn few_and_many_numbers_have_the_same_bits<T: Number>() {
    let many = numbers::<T>(&whole_numbers((129, 64), T::DIGITS, 20), -5);
    let few = many.slice(s![..64, ..]);
    let more = many.slice(s![..65, ..]);
    for device in with_kernels() {
        for metric in METRICS {
            let search = with(metric);
            let result = search.distances(&device, few, few).unwrap();
            let larger = search.distances(&device, few, more).unwrap();
            assert_eq!(result, larger.slice(s![.., ..64]));
            let result = search.pairwise(&device, many.slice(s![..128, ..])).unwrap();
            let larger = search.pairwise(&device, many.view()).unwrap();
            assert_eq!(result, larger.slice(s![..128, ..128]));
        }
    }
}

/// The first bad row, behind as many numbers as there can be on each way.
fn late_bad_rows_are_named<T: Number>() {
    for device in with_kernels() {
        for rows in [64, 65, 128, 129, 600] {
            let good = numbers::<T>(&whole_numbers((rows, 64), T::DIGITS, 21), 0);
            let mut bad = good.clone();
            bad[[rows - 1, 63]] = T::NAN;
            let row = format!("row {}", rows - 1);
            let result = with(L2).distances(&device, good.slice(s![..64, ..]), bad.view());
            fails(result, &[&row, "b"]);
            fails(with(L2).pairwise(&device, bad.view()), &[&row, "a"]);
            bad[[1, 0]] = T::INFINITY;
            fails(with(L2).pairwise(&device, bad.view()), &["row 1", "a"]);
        }
    }
}

in_every_type! { in_f32 f32, in_f64 f64: {
    every_tile_edge
    every_chunk_edge
    few_and_many_numbers_have_the_same_bits
    late_bad_rows_are_named
    pairwise_is_distances
    other_numbers_are_refused
    into_existing_memory
} }

#[test]
fn small_whole_numbers_are_exact() {
    let [a, b] = [(20, 7), (30, 8)].map(|(rows, seed)| whole_numbers((rows, 100), 5, seed));
    let expected = expected(&a, &b, 0, SquaredL2);
    let (a, b) = (numbers::<f32>(&a, 0), numbers::<f32>(&b, 0));
    for device in devices() {
        let result = with(SquaredL2)
            .distances(&device, a.view(), b.view())
            .unwrap();
        assert_eq!(result, expected);
    }
}

fn pairwise_is_distances<T: Number>() {
    for device in devices() {
        // The last have few numbers, but more distances than one launch computes for few.
        for n in SIZES.into_iter().chain([2, 257, 385, 520]) {
            let a = numbers::<T>(&whole_numbers((n, 9), T::DIGITS, 9), 3);
            for metric in METRICS {
                let result = with(metric).pairwise(&device, a.view()).unwrap();
                let all = with(metric).distances(&device, a.view(), a.view()).unwrap();
                assert_eq!(result, all);
                assert_eq!(result, result.t());
                assert!(result.diag().iter().all(|&distance| distance == 0.0));
                let on_device = device.upload(&a).unwrap();
                let there = with(metric).pairwise_device(&on_device).unwrap();
                assert_eq!(there.download().unwrap(), result);
                let twice = with(metric)
                    .distances_device(&on_device, &on_device)
                    .unwrap();
                assert_eq!(twice.download().unwrap(), result);
            }
        }
    }
}

#[test]
fn the_whole_range_of_numbers() {
    let rows = |digits| [(5, 10), (4, 11)].map(|(n, seed)| whole_numbers((n, 33), digits, seed));
    let ([a, b], [c, d]) = (rows(24), rows(53));
    for device in devices() {
        // From subnormal numbers to the largest ones.
        for exponent in (-149..=104).step_by(11) {
            check_all::<f32>(&device, &a, &b, exponent);
        }
        for exponent in [-1074, -1073, -1022, -800, -500, 300, 600, 960, 967] {
            check_all::<f64>(&device, &c, &d, exponent);
        }
    }
}

#[test]
fn the_largest_numbers() {
    let far = array![[f32::MAX], [f32::MIN]];
    let farther = array![[f64::MAX / 4.0], [0.0], [f64::MIN / 4.0]];
    for device in devices() {
        let result = with(SquaredL2).pairwise(&device, far.view()).unwrap();
        let expected = array![[0.0, (2.0 * f64::from(f32::MAX)).powi(2)]];
        check::<f32>(&device, 1, &result.slice(s![..1, ..]).to_owned(), &expected);
        let result = with(L2).pairwise(&device, farther.view()).unwrap();
        assert_eq!(result[[0, 2]], f64::MAX / 2.0);
        let result = with(SquaredL2).pairwise(&device, farther.view()).unwrap();
        assert_eq!(result[[0, 2]], f64::INFINITY);
        assert_eq!(result[[1, 1]], 0.0);
    }
}

#[test]
fn rows_of_very_different_magnitudes() {
    let a = array![[1e30f32, 0.0], [1.0, 0.0], [3.0, 1e-3], [3.0, 0.0]];
    for device in devices() {
        let result = with(L2).pairwise(&device, a.view()).unwrap();
        let bound = |expected: f64| gamma(6, 2f64.powi(-24)) * expected + 1e-35 * 1e30;
        let expected = [
            ((0, 1), f64::from(1e30f32)),
            ((1, 3), 2.0),
            ((2, 3), 1e-3f32.into()),
        ];
        for (place, expected) in expected {
            let error = (result[place] - expected).abs();
            assert!(error <= bound(expected), "{device}: {place:?}");
        }
    }
}

#[test]
fn rows_close_to_each_other_are_as_accurate() {
    // ‖a‖² + ‖b‖² − 2ab would have no digit right.
    let a = whole_numbers((10, 96), 24, 12) / 2 + (1 << 23);
    let mut b = a.clone();
    b += &whole_numbers((1, 96), 3, 13);
    for device in devices() {
        check_all::<f32>(&device, &a, &b, -10);
    }
}

#[test]
fn views_with_any_strides() {
    let a = numbers::<f32>(&whole_numbers((6, 9), 20, 14), 0);
    let wide = numbers::<f32>(&whole_numbers((12, 30), 20, 15), 0);
    let part = wide.slice(s![2..;3, 1..28;3]);
    for device in devices() {
        let direct = with(L2).pairwise(&device, a.view()).unwrap();
        let turned = a.t().as_standard_layout().into_owned();
        assert_eq!(with(L2).pairwise(&device, turned.t()).unwrap(), direct);
        let backwards = with(SquaredL2)
            .pairwise(&device, a.slice(s![..;-1, ..;-1]))
            .unwrap();
        let squared = with(SquaredL2).pairwise(&device, a.view()).unwrap();
        // Another order of the sums, of whole numbers too large to be exact.
        let expected = squared.slice(s![..;-1, ..;-1]).to_owned();
        check::<f32>(&device, 2 * 9, &backwards, &expected);
        let result = with(L2).distances(&device, part, turned.t()).unwrap();
        let packed = part.as_standard_layout();
        let expected = with(L2)
            .distances(&device, packed.view(), a.view())
            .unwrap();
        assert_eq!(result, expected);
    }
}

#[test]
fn the_same_from_run_to_run() {
    let a = numbers::<f32>(&whole_numbers((140, 50), 24, 16), 0);
    for device in devices() {
        let first = with(L2).pairwise(&device, a.view()).unwrap();
        for _ in 0..3 {
            assert_eq!(with(L2).pairwise(&device, a.view()).unwrap(), first);
        }
    }
}

#[test]
fn other_lengths_are_refused() {
    for device in devices() {
        let (a, b) = (Array2::<f64>::zeros((2, 3)), Array2::zeros((4, 5)));
        let there = (device.upload(&a).unwrap(), device.upload(&b).unwrap());
        for result in [
            with(L2).distances(&device, a.view(), b.view()).map(drop),
            with(L2).distances_device(&there.0, &there.1).map(drop),
        ] {
            assert_error!(&result, Error::Shape { .. });
            fails(result, &["2×3", "4×5"]);
        }
    }
}

fn other_numbers_are_refused<T: Number>() {
    let good = numbers::<T>(&whole_numbers((50, 21), T::DIGITS, 17), 0);
    for device in devices() {
        for number in [T::NAN, T::INFINITY] {
            let mut bad = good.clone();
            (bad[[31, 20]], bad[[32, 0]], bad[[49, 3]]) = (number, T::NAN, T::INFINITY);
            let (good, bad) = (good.view(), bad.view());
            let [good_there, bad_there] = [&good, &bad].map(|rows| device.upload(rows).unwrap());
            for (name, result) in [
                ("a", with(L2).distances(&device, bad, good).map(drop)),
                ("b", with(L2).distances(&device, good, bad).map(drop)),
                ("a", with(L2).distances(&device, bad, bad).map(drop)),
                (
                    "b",
                    with(L2).distances_device(&good_there, &bad_there).map(drop),
                ),
                ("a", with(L2).pairwise(&device, bad).map(drop)),
                ("a", with(L2).pairwise_device(&bad_there).map(drop)),
            ] {
                assert_error!(&result, Error::InvalidInput { .. });
                fails(result, &[&format!("row 31 of {name}")]);
            }
            // Also where there is nothing to compute.
            let none = good.slice(s![..0, ..]);
            fails(with(L2).distances(&device, none, bad), &["row 31 of b"]);
        }
    }
}

#[test]
fn two_devices_are_refused() {
    let a = Array2::<f32>::zeros((2, 3));
    for device in with_kernels() {
        let [here, there] = [&Device::cpu(), &device].map(|device| device.upload(&a).unwrap());
        let error = with(L2).distances_device(&here, &there);
        assert_error!(error, Error::DifferentDevices { .. });
    }
}

#[test]
fn the_plain_calls_are_euclidean() {
    let [a, b] = [(5, 18), (4, 19)].map(|(rows, seed)| whole_numbers((rows, 9), 20, seed));
    let (a, b) = (numbers::<f32>(&a, 0), numbers::<f32>(&b, 0));
    let (a, b) = (a.view(), b.view());
    for device in devices() {
        let plain = gridstride::distances::distances(&device, a, b).unwrap();
        assert_eq!(plain, with(L2).distances(&device, a, b).unwrap());
        let plain = gridstride::distances::pairwise(&device, a).unwrap();
        assert_eq!(plain, with(L2).pairwise(&device, a).unwrap());
    }
}

/// Squared distances below 2⁵³, and their roots, are rounded once in `f64`.
#[test]
fn the_reference_is_exact() {
    let [a, b] = [(7, 20), (3, 21)].map(|(rows, seed)| whole_numbers((rows, 10), 20, seed));
    let (rows_a, rows_b) = (numbers::<f32>(&a, 3), numbers::<f32>(&b, 3));
    for metric in METRICS {
        let found = reference::distances(rows_a.view(), rows_b.view(), metric);
        assert_eq!(found, expected(&a, &b, 3, metric));
    }
}

fn into_existing_memory<T: Number>() {
    for (n, m) in [(0, 3), (3, 0), (1, 1), (20, 130), (130, 20)] {
        let a = numbers::<T>(&whole_numbers((n, 17), T::DIGITS, 22), 0);
        let b = numbers::<T>(&whole_numbers((m, 17), T::DIGITS, 23), 0);
        let (a, b) = (a.view(), b.view());
        for device in devices() {
            for with in METRICS.map(with) {
                let expected = with.distances(&device, a, b).unwrap();
                let of_a = with.pairwise(&device, a).unwrap();
                let what = format!("{n} and {m} rows on {device}, {with:?}");

                // On the host: without gaps, by columns, and backwards within a larger array, whose
                // other elements stay.
                let mut out = Array2::from_elem((n, m), f64::NAN);
                with.distances_into(&device, a, b, out.view_mut()).unwrap();
                assert_eq!(out, expected, "{what}");
                let mut out = Array2::from_elem((m, n), f64::NAN);
                let turned = out.view_mut().reversed_axes();
                with.distances_into(&device, a, b, turned).unwrap();
                assert_eq!(out.t(), expected, "{what}");
                let mut out = Array2::from_elem((2 * n + 1, n + 2), -1.0);
                let part = out.slice_mut(s![1..;-2, 1..n + 1]);
                with.pairwise_into(&device, a, part).unwrap();
                assert_eq!(out.slice(s![1..;-2, 1..n + 1]), of_a, "{what}");
                let untouched = out.iter().filter(|&&x| x == -1.0).count();
                assert_eq!(untouched, out.len() - n * n);

                // On the device, over other results.
                let (a, b) = (device.upload(&a).unwrap(), device.upload(&b).unwrap());
                let mut out = device.upload(&Array2::from_elem((n, m), f64::NAN)).unwrap();
                with.distances_device_into(&a, &b, &mut out).unwrap();
                assert_eq!(out.download().unwrap(), expected, "{what}");
                let mut out = device.upload(&Array2::from_elem((n, n), f64::NAN)).unwrap();
                with.pairwise_device_into(&a, &mut out).unwrap();
                assert_eq!(out.download().unwrap(), of_a, "{what}");
                assert_eq!(with.pairwise_device(&a).unwrap().download().unwrap(), of_a);
            }
        }
    }
}

#[test]
fn into_existing_memory_over_several_devices() {
    let a = numbers::<f32>(&whole_numbers((40, 6), 5, 24), 0);
    let b = numbers::<f32>(&whole_numbers((9, 6), 5, 25), 0);
    for device in devices() {
        let set = several(&device, 3);
        let expected = with(SquaredL2)
            .distances(&device, a.view(), b.view())
            .unwrap();
        let mut out = Array2::zeros((9, 40));
        let turned = out.view_mut().reversed_axes();
        with(SquaredL2)
            .distances_into(&set, a.view(), b.view(), turned)
            .unwrap();
        assert_eq!(out.t(), expected);
    }
}

#[test]
fn results_of_another_shape_are_refused() {
    let with = Distances::new();
    let (a, b) = (Array2::<f32>::zeros((2, 3)), Array2::zeros((4, 3)));
    for device in devices() {
        let mut out = Array2::zeros((4, 2));
        let there = (device.upload(&a).unwrap(), device.upload(&b).unwrap());
        let mut out_there = device.upload(&out).unwrap();
        let (a, b) = (a.view(), b.view());
        let refused = |found: [Result<()>; 2], name: &str, text: &str| {
            for (found, form) in found.into_iter().zip(["into", "device_into"]) {
                assert_error!(&found, Error::Shape { .. });
                fails_with(found, format!("{name}_{form}: {text}"));
            }
        };
        let on_host = with.distances_into(&device, a, b, out.view_mut());
        let on_device = with.distances_device_into(&there.0, &there.1, &mut out_there);
        let text = "the distances are 2×4, but out is 4×2";
        refused([on_host, on_device], "distances", text);
        let on_host = with.pairwise_into(&device, a, out.view_mut());
        let on_device = with.pairwise_device_into(&there.0, &mut out_there);
        let text = "the distances are 2×2, but out is 4×2";
        refused([on_host, on_device], "pairwise", text);
    }
}

#[test]
fn results_on_another_device_are_refused() {
    let a = Array2::<f32>::zeros((2, 3));
    for device in with_kernels() {
        let here = device.upload(&a).unwrap();
        let mut out = Device::cpu().upload(&Array2::zeros((2, 2))).unwrap();
        for error in [
            Distances::new().distances_device_into(&here, &here, &mut out),
            Distances::new().pairwise_device_into(&here, &mut out),
        ] {
            assert_error!(error, Error::DifferentDevices { .. });
        }
    }
}
