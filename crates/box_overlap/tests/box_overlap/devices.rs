//! Box overlap over several devices and within little memory: the same pairs in the same order.

use gridstride::box_overlap::{Algorithm, BoxOverlap, OverlapSlices, overlaps, reference};
use gridstride::{Device, DeviceSet, Error};
use ndarray::{Array2, s};

use super::{Number, assert_same, is_slow, numbers, pipes, set, uniform};
use test_support::{
    NO_DEVICE, assert_error, cuda, devices, fails_with, several, simulator, with_kernels,
};

/// Boxes that overlap in part.
fn some(count: usize, seed: u64) -> Array2<i64> {
    uniform(count, 100, 40, seed)
}

/// Boxes that all overlap.
fn all(count: usize) -> Array2<i64> {
    set(count, |i| ([-(i as i64); 3], [i as i64; 3]))
}

/// Calls every function, and compares with the reference.
#[track_caller]
fn check<T: Number>(
    devices: &(impl DeviceSet + ?Sized),
    set1: &Array2<T>,
    set2: &Array2<T>,
    what: &str,
) {
    for algorithm in [Algorithm::BruteForce, Algorithm::Indexed] {
        check_with(devices, algorithm, set1, set2, what);
    }
}

#[track_caller]
fn check_with<T: Number>(
    devices: &(impl DeviceSet + ?Sized),
    algorithm: Algorithm,
    set1: &Array2<T>,
    set2: &Array2<T>,
    what: &str,
) {
    let search = BoxOverlap::new().algorithm(algorithm);
    let what = format!("{what}, {} × {}, {algorithm:?}", set1.nrows(), set2.nrows());
    let (set1, set2) = (set1.view(), set2.view());
    let expected = reference::overlaps(set1, set2).unwrap();
    let found = search.overlaps(devices, set1, set2).unwrap();
    assert_same::<T>(&found, &expected, &what);
    let counts = search.counts(devices, set1, set2).unwrap();
    assert_eq!(counts, expected.counts(), "{what}");
    let of_one = reference::self_overlaps(set2).unwrap();
    let found = search.self_overlaps(devices, set2).unwrap();
    assert_same::<T>(&found, &of_one, &format!("{what}, the second with itself"));
    let counts = search.self_counts(devices, set2).unwrap();
    assert_eq!(counts, of_one.counts(), "{what}, the second with itself");
}

#[track_caller]
fn check_slices<T: Number>(
    devices: &(impl DeviceSet + ?Sized),
    set1: &Array2<T>,
    set2: &Array2<T>,
) {
    let (search, set1, set2) = (BoxOverlap::new(), set1.view(), set2.view());
    let compare = |slices: OverlapSlices, expected: &gridstride::box_overlap::Overlaps| {
        let mut next = 0;
        for slice in slices {
            let slice = slice.unwrap();
            assert_eq!(slice.rows.start, next);
            next = slice.rows.end;
            for (i, row) in slice.rows.enumerate() {
                assert_eq!(slice.overlaps.row(i), expected.row(row), "row {row}");
            }
        }
        assert_eq!(next, expected.len());
    };
    let expected = reference::overlaps(set1, set2).unwrap();
    let most = expected.pair_count() / 3 + 1;
    compare(search.slices(devices, set1, set2, most).unwrap(), &expected);
    let expected = reference::self_overlaps(set2).unwrap();
    let most = expected.pair_count() / 2 + 1;
    compare(search.self_slices(devices, set2, most).unwrap(), &expected);
}

#[test]
fn several_devices() {
    for device in devices() {
        for count in [1, 2, 3, 5] {
            let devices = several(&device, count);
            let what = format!("{count} times {device}");
            let algorithms = [Algorithm::BruteForce, Algorithm::Indexed];
            let sizes = [(0, 3), (3, 0), (1, 1), (2, 7), (25, 17)];
            for ((rows1, rows2), i) in sizes.into_iter().zip(count..) {
                let (set1, set2) = (numbers(&some(rows1, 1)), numbers(&some(rows2, 2)));
                check_with::<f32>(&devices, algorithms[i % 2], &set1, &set2, &what);
            }
            let (set1, set2) = (numbers::<i32>(&some(33, 3)), numbers(&some(20, 4)));
            check_slices(&devices, &set1, &set2);
            let expected = BoxOverlap::new().matrix(&device, set1.view(), set2.view(), 3);
            let found = BoxOverlap::new().matrix(&devices, set1.view(), set2.view(), 3);
            assert_eq!(found.unwrap(), expected.unwrap(), "{what}");
        }
    }
}

#[test]
fn devices_of_different_kinds() {
    let [welds, segments] = pipes(700, 5).map(|set| numbers::<f64>(&set));
    let mut devices = vec![Device::cpu(), Device::cpu()];
    devices.extend(cuda());
    check(&devices, &welds, &segments, "of all kinds");
    let [welds, segments] = pipes(60, 5).map(|set| numbers::<f64>(&set));
    devices.push(simulator());
    check(&devices[..], &welds, &segments, "of all kinds");
}

#[test]
fn little_memory() {
    for device in with_kernels() {
        let (rows1, rows2, scale) = match is_slow(&device) {
            true => (60, 40, 1),
            false => (9000, 7000, 60),
        };
        let (set1, set2) = (numbers(&some(rows1, 6)), numbers(&some(rows2, 7)));
        for limit in [7_000, 11_000] {
            let limited = device.with_memory_limit(limit * scale);
            let what = format!("{} bytes of {device}", limit * scale);
            check::<f32>(&limited, &set1, &set2, &what);
        }
        // One side is much longer than the other.
        let limited = device.with_memory_limit(10_000);
        let (long, short) = (numbers::<i32>(&some(150, 8)), numbers(&some(3, 9)));
        check(&limited, &long, &short, "a long first set");
        let first = |set: &Array2<f32>, rows| set.slice(s![..rows, ..]).to_owned();
        let long = long.slice(s![..100, ..]).to_owned();
        check(&limited, &short, &long, "a long second set");
        check_slices(&limited, &first(&set1, 60), &first(&set2, 30));
    }
}

#[test]
fn room_for_the_search_but_not_for_its_pairs() {
    for device in with_kernels() {
        let set = numbers::<f32>(&all(if is_slow(&device) { 40 } else { 900 }));
        let boxes = set.nrows() as u64;
        for bytes_a_pair in [1, 3] {
            let limited =
                device.with_memory_limit(5_000 + 400 * boxes + bytes_a_pair * boxes * boxes);
            let what = format!("{bytes_a_pair} bytes a pair on {device}");
            check(&limited, &set, &set, &what);
            check_slices(&limited, &set, &set);
        }
    }
}

#[test]
fn several_devices_with_little_memory() {
    for device in with_kernels() {
        let limited: Vec<Device> = (several(&device, 3).iter())
            .zip([8_000, 30_000, 1 << 30])
            .map(|(device, limit)| device.with_memory_limit(limit))
            .collect();
        let (set1, set2) = (numbers(&some(60, 10)), numbers(&some(30, 11)));
        check::<f64>(&limited, &set1, &set2, &format!("three times {device}"));
    }
}

#[test]
fn too_little_memory_is_an_error() {
    let set = numbers::<f32>(&some(5, 1));
    for device in with_kernels() {
        for limit in [0, 1, 80] {
            let limited = device.with_memory_limit(limit);
            for devices in [1, 2].map(|count| vec![limited.clone(); count]) {
                let (search, set) = (BoxOverlap::new(), set.view());
                let found = search.overlaps(&devices, set, set);
                assert_error!(found, Error::Allocation { .. });
                let found = search.self_overlaps(&devices, set);
                assert_error!(found, Error::Allocation { .. });
                let found = search.counts(&devices, set, set);
                assert_error!(found, Error::Allocation { .. });
                let found = search.slices(&devices, set, set, 9);
                assert_error!(found, Error::Allocation { .. });
            }
        }
    }
}

#[test]
fn rows_that_are_no_boxes_are_counted_in_the_whole_set() {
    let good = numbers::<f32>(&some(40, 12));
    let mut bad = good.clone();
    bad[[38, 1]] = f32::NAN;
    bad[[33, 5]] = -1e9;
    for device in with_kernels().chain([Device::cpu()]) {
        let limited = vec![device.with_memory_limit(9_000)];
        let several = [1, 2, 5].map(|count| several(&device, count));
        for devices in several.into_iter().chain([limited]) {
            let search = BoxOverlap::new();
            let (good, bad) = (good.view(), bad.view());
            let of = |name: &str, function: &str| {
                format!(
                    "{function}: row 33 of {name} is no box: along z the minimum {:?} is above the maximum {:?} (the \
                     columns are minX, minY, minZ, maxX, maxY, maxZ)",
                    bad[[33, 2]],
                    bad[[33, 5]]
                )
            };
            let none = good.slice(s![..0, ..]);
            fails_with(search.overlaps(&devices, bad, bad), of("set1", "overlaps"));
            fails_with(search.counts(&devices, good, bad), of("set2", "counts"));
            fails_with(search.overlaps(&devices, none, bad), of("set2", "overlaps"));
            let error = search.self_overlaps(&devices, bad);
            fails_with(error, of("set", "self_overlaps"));
            let error = search.self_slices(&devices, bad, 9);
            fails_with(error, of("set", "self_slices"));
        }
    }
}

#[test]
fn a_set_of_no_devices() {
    let set = numbers::<f32>(&some(5, 1));
    let none: [Device; 0] = [];
    let found = overlaps(&none, set.view(), set.view());
    fails_with(found, format!("overlaps: {NO_DEVICE}"));
}
