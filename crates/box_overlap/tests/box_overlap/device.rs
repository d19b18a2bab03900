//! Box overlap of sets in device memory, with results that stay there, compared with the reference.

use gridstride::box_overlap::{BoxOverlap, Coordinate, DeviceOverlaps, Overlaps, reference};
use gridstride::device::DeviceArray;
use gridstride::{Device, Error};
use ndarray::{Array1, Array2, Ix2, s};

use super::{
    ALGORITHMS, Number, algorithms, assert_same, flat, is_slow, numbers, pipes, set, uniform,
};
use test_support::in_every_type;
use test_support::{assert_error, cuda, devices, message, small, with_kernels};

/// Compares every part of a result.
#[track_caller]
fn check_result<T: Number>(
    device: &Device,
    found: &DeviceOverlaps,
    expected: &Overlaps,
    what: &str,
) {
    let what = format!("{what} on {device}");
    assert_same::<T>(&found.download().unwrap(), expected, &what);
    assert_eq!(found.len(), expected.len(), "{what}");
    assert_eq!(found.is_empty(), expected.is_empty(), "{what}");
    assert_eq!(found.pair_count(), expected.pair_count(), "{what}");
    for array in [found.offsets().device(), found.indices().device()] {
        assert_eq!(array.kind(), device.kind(), "{what}");
    }
    let offsets = found.offsets().download().unwrap();
    let offsets: Vec<_> = offsets.into_iter().map(|offset| offset as usize).collect();
    assert_eq!(offsets, expected.offsets(), "{what}");
    let indices = found.indices().download().unwrap();
    assert_eq!(indices, expected.indices(), "{what}");

    let pairs = found.pairs().unwrap();
    assert_eq!(pairs.device().kind(), device.kind(), "{what}");
    let pairs = pairs.download().unwrap();
    assert_eq!(pairs, expected.pairs().unwrap(), "{what}");
    let longest = expected.counts().iter().copied().max().unwrap_or(0) as usize;
    for limit in [0, 1, 6, longest, longest + 3] {
        let matrix = found.matrix(limit).unwrap();
        assert_eq!(matrix.device().kind(), device.kind(), "{what}");
        let expected = expected.to_matrix(limit).unwrap().indices;
        let matrix = matrix.download().unwrap();
        assert_eq!(matrix, expected, "{limit} columns, {what}");
    }
    assert_error!(found.matrix(1 << 31), Error::InvalidInput { .. });
}

/// Finds the pairs of two sets, and of the first set with itself, by all calls.
#[track_caller]
fn check<T: Number>(device: &Device, set1: &Array2<T>, set2: &Array2<T>, what: &str) {
    let of_two = reference::overlaps(set1.view(), set2.view()).unwrap();
    let of_one = reference::self_overlaps(set1.view()).unwrap();
    let (there1, there2) = (device.upload(set1).unwrap(), device.upload(set2).unwrap());
    for &algorithm in algorithms(device, set1.nrows().max(set2.nrows())) {
        let search = BoxOverlap::new().algorithm(algorithm);
        let what = format!("{what}, {algorithm:?}");
        let found = search.overlaps_device(&there1, &there2).unwrap();
        check_result::<T>(device, &found, &of_two, &what);
        let found = search.self_overlaps_device(&there1).unwrap();
        check_result::<T>(device, &found, &of_one, &format!("{what} with itself"));

        // The previous content of the output does not matter.
        let mut out = device.upload(&Array1::from_elem(set1.nrows(), 7)).unwrap();
        let what = format!("{what} on {device}");
        search
            .counts_device_into(&there1, &there2, &mut out)
            .unwrap();
        let found = search.counts_device(&there1, &there2).unwrap();
        for counts in [&found, &out] {
            assert_eq!(counts.device().kind(), device.kind(), "{what}");
            assert_eq!(counts.download().unwrap(), of_two.counts(), "{what}");
        }
        search.self_counts_device_into(&there1, &mut out).unwrap();
        let found = search.self_counts_device(&there1).unwrap();
        for counts in [&found, &out] {
            assert_eq!(counts.download().unwrap(), of_one.counts(), "{what}");
        }
        let found = search.matrix_device(&there1, &there2, 3).unwrap();
        let expected = of_two.to_matrix(3).unwrap();
        assert_eq!(found.counts.download().unwrap(), expected.counts, "{what}");
        let indices = found.indices.download().unwrap();
        assert_eq!(indices, expected.indices, "{what}");
    }
    // The sets are what they were.
    assert_eq!(there1.download().unwrap(), set1);
    assert_eq!(there2.download().unwrap(), set2);
}

fn sets_of_all_sizes<T: Number>() {
    for device in devices() {
        let sizes: &[usize] = match is_slow(&device) {
            true => &[0, 1, 2, 17, 33, 130],
            false => &[
                0, 1, 2, 15, 16, 17, 31, 32, 33, 63, 65, 255, 257, 1023, 1025, 2049,
            ],
        };
        for &size in sizes {
            let [welds, _] = pipes(size, 1).map(|set| numbers::<T>(&set));
            let [_, segments] = pipes(60, 1).map(|set| numbers::<T>(&set));
            check(&device, &welds, &segments, &format!("{size} welds"));
            let what = format!("{size} welds in two dimensions");
            check(&device, &flat(&segments), &flat(&welds), &what);
        }
    }
}

/// Rows with no pairs, with some, and with enough pairs for another algorithm.
fn rows_of_all_lengths<T: Number>() {
    for device in devices() {
        let count = if is_slow(&device) { 300 } else { 4200 };
        let mixed = set(40, |i| match i % 4 {
            0 => ([-1; 3], [1 << 20; 3]),
            1 => ([-9; 3], [-8; 3]),
            2 => ([0; 3], [40; 3]),
            _ => ([i as i64; 3], [i as i64 + 50; 3]),
        });
        let sets = [mixed, uniform(count, 300, 30, 2)].map(|set| numbers::<T>(&set));
        check(&device, &sets[0], &sets[1], "long and short rows");
        let few = sets[0].slice(s![..9, ..]).to_owned();
        check(&device, &few, &sets[1], "few long rows");
        let none = numbers::<T>(&set(30, |_| ([-9; 3], [-8; 3])));
        check(&device, &none, &sets[1], "no pairs");
    }
}

/// With these sets, `Auto` begins with the index, finds many pairs in each row, and estimates the
/// pairs by a sample of the rows.
fn rows_with_many_pairs_are_sampled<T: Number>() {
    for device in with_kernels() {
        let sets = [1, 2].map(|seed| numbers::<T>(&uniform(2100, 1000, 250, seed)));
        let expected = reference::overlaps(sets[0].view(), sets[1].view()).unwrap();
        let [there1, there2] = sets.each_ref().map(|set| device.upload(set).unwrap());
        let found = BoxOverlap::new().overlaps_device(&there1, &there2).unwrap();
        assert_same::<T>(&found.download().unwrap(), &expected, "sampled");
    }
}

in_every_type! { in_f32 f32, in_f64 f64, in_i32 i32: {
    sets_of_all_sizes
    rows_of_all_lengths
    rows_with_many_pairs_are_sampled
} }

/// A search leaves nothing behind that changes the next one, or an earlier result.
#[test]
fn results_are_independent() {
    for device in devices() {
        let sets = [3, 4].map(|seed| numbers::<f32>(&uniform(120, 100, 20, seed)));
        let there = sets.each_ref().map(|set| device.upload(set).unwrap());
        let search = BoxOverlap::new();
        let first = search.overlaps_device(&there[0], &there[1]).unwrap();
        let second = search.overlaps_device(&there[1], &there[0]).unwrap();
        let same = search.overlaps_device(&there[0], &there[0]).unwrap();
        drop(there);
        let found = [&first, &second, &same].map(|found| found.download().unwrap());
        for (found, [i, j]) in found.iter().zip([[0, 1], [1, 0], [0, 0]]) {
            let expected = reference::overlaps(sets[i].view(), sets[j].view()).unwrap();
            assert_same::<f32>(found, &expected, &format!("sets {i} and {j} on {device}"));
        }
        let pairs = first.pairs().unwrap();
        drop(first);
        assert_eq!(pairs.download().unwrap(), found[0].pairs().unwrap());
    }
}

/// The same messages as for sets on the host, with the name of the call.
#[track_caller]
fn refuse<T: Coordinate>(device: &Device, set1: &Array2<T>, set2: &Array2<T>) {
    let (there1, there2) = (device.upload(set1).unwrap(), device.upload(set2).unwrap());
    let expected = [
        message(reference::overlaps(set1.view(), set2.view())),
        message(reference::self_overlaps(set1.view())),
    ];
    assert!(expected[0].is_some());
    // Boxes are checked before an algorithm is chosen.
    let tried = if is_slow(device) { 1 } else { ALGORITHMS.len() };
    for algorithm in ALGORITHMS.into_iter().take(tried) {
        let search = BoxOverlap::new().algorithm(algorithm);
        // Each call names itself.
        let named = |found: Option<String>, call: &str, expected: &Option<String>| {
            let expected = expected.as_ref().map(|message| {
                let (_, message) = message.split_once(": ").unwrap();
                format!("{call}: {message}")
            });
            assert_eq!(found, expected, "{algorithm:?} on {device}");
        };
        let overlaps = message(search.overlaps_device(&there1, &there2));
        named(overlaps, "overlaps_device", &expected[0]);
        let overlaps = message(search.self_overlaps_device(&there1));
        named(overlaps, "self_overlaps_device", &expected[1]);
        let counts = message(search.counts_device(&there1, &there2));
        named(counts, "counts_device", &expected[0]);
        let counts = message(search.self_counts_device(&there1));
        named(counts, "self_counts_device", &expected[1]);
        let matrix = message(search.matrix_device(&there1, &there2, 3));
        named(matrix, "matrix_device", &expected[0]);
    }
}

#[test]
fn the_first_bad_row_is_named() {
    for device in devices() {
        let n = if is_slow(&device) { 300 } else { 20_000 };
        let (good, one) = (Array2::<f64>::zeros((n, 6)), Array2::zeros((1, 6)));
        for axis in 0..3 {
            let (nan, infinity) = (f64::NAN, f64::INFINITY);
            for bad_numbers in [[2.0, 1.0], [nan, 1.0], [0.0, nan], [infinity, 0.0]] {
                let mut bad = good.clone();
                for row in [n / 3, n / 2, n - 1] {
                    [bad[[row, axis]], bad[[row, axis + 3]]] = bad_numbers;
                }
                let mut earlier = good.clone();
                earlier[[1, 2]] = 1.0;
                refuse(&device, &one, &bad);
                refuse(&device, &bad, &earlier);
                refuse(&device, &earlier, &bad);
            }
            let mut bad = flat(&good);
            bad[[n / 2, axis % 2]] = 1.0;
            refuse(&device, &bad, &flat(&one));
        }
        let mut whole = Array2::<i32>::zeros((n, 4));
        whole[[n - 1, 1]] = i32::MAX;
        refuse(&device, &whole, &whole);
    }
}

#[test]
fn shapes_that_do_not_fit() {
    for device in devices() {
        for columns in [0, 1, 3, 5, 7, 8] {
            let (bad, good) = (Array2::<i32>::zeros((2, columns)), Array2::zeros((3, 6)));
            refuse(&device, &bad, &good);
            refuse(&device, &good, &bad);
        }
        for (shape1, shape2) in [((2, 4), (3, 6)), ((0, 6), (0, 4))] {
            refuse(
                &device,
                &Array2::<f32>::zeros(shape1),
                &Array2::zeros(shape2),
            );
        }
    }
}

#[test]
fn two_devices_are_refused() {
    let set = Array2::<f32>::zeros((2, 6));
    let here: DeviceArray<f32, Ix2> = Device::cpu().upload(&set).unwrap();
    for device in with_kernels() {
        let there = device.upload(&set).unwrap();
        for (set1, set2) in [(&here, &there), (&there, &here)] {
            let found = BoxOverlap::new().overlaps_device(set1, set2);
            assert_error!(found, Error::DifferentDevices { .. });
            let found = BoxOverlap::new().counts_device(set1, set2);
            assert_error!(found, Error::DifferentDevices { .. });
        }
        let mut out = Device::cpu().upload(&Array1::zeros(2)).unwrap();
        let found = BoxOverlap::new().self_counts_device_into(&there, &mut out);
        assert_error!(found, Error::DifferentDevices { .. });
        let mut out = device.upload(&Array1::zeros(3)).unwrap();
        let found = BoxOverlap::new().self_counts_device_into(&there, &mut out);
        assert_error!(found, Error::Shape { .. });
    }
}

/// Errors name the call whatever the device.
#[test]
fn errors_name_the_call() {
    let set = Array2::<f32>::zeros((50, 6));
    for device in devices() {
        let there = device.upload(&set).unwrap();
        let search = BoxOverlap::new();
        let found = search.matrix_device(&there, &there, 1 << 31);
        assert_error!(
            found,
            Error::InvalidInput {
                operation: "matrix_device",
                ..
            }
        );
        let found = search.overlaps_device(&there, &there).unwrap();
        assert_error!(
            found.matrix(1 << 31),
            Error::InvalidInput {
                operation: "matrix",
                ..
            }
        );

        // Room for the sets and the pairs, but neither for a list of pairs nor for a matrix.
        let limited = device.with_memory_limit(60_000);
        let there = limited.upload(&set).unwrap();
        let found = search.overlaps_device(&there, &there).unwrap();
        let _rest = limited.alloc::<u8>(60_000 - limited.memory_used().unwrap() as usize);
        assert_error!(
            found.pairs(),
            Error::Allocation {
                operation: "pairs",
                ..
            }
        );
        assert_error!(
            found.matrix(1),
            Error::Allocation {
                operation: "matrix",
                ..
            }
        );
    }
}

/// Sets and a result of handles on other streams.
#[test]
fn streams_of_the_arguments_are_ordered() {
    for device in devices() {
        let sets = [5, 6].map(|seed| numbers::<f32>(&uniform(100, 100, 20, seed)));
        let streams = [(); 2].map(|()| device.stream().unwrap());
        let handles = streams.each_ref().map(|stream| device.on(stream).unwrap());
        let set1 = device.upload(&sets[0]).unwrap();
        let set2 = handles[0].upload(&sets[1]).unwrap();
        let mut out = handles[1].upload(&Array1::zeros(100)).unwrap();
        let search = BoxOverlap::new();
        let expected = reference::overlaps(sets[0].view(), sets[1].view()).unwrap();
        search.counts_device_into(&set1, &set2, &mut out).unwrap();
        assert_eq!(out.download().unwrap(), expected.counts());
        let found = search.overlaps_device(&set1, &set2).unwrap();
        drop((set1, set2));
        assert_same::<f32>(&found.download().unwrap(), &expected, "two streams");
    }
}

/// With these sets, `Auto` begins with the index, finds many pairs in most rows, and estimates the
/// pairs by a sample. Testing every pair is faster for one of the two edges only. Both results are
/// compared with those of the CPU.
#[test]
fn many_pairs_are_estimated() {
    let Some(device) = cuda() else {
        return;
    };
    let rows = if small() { 23_500 } else { 30_000 };
    for edge in [250, 420] {
        let sets = [1, 2].map(|seed| numbers::<f32>(&uniform(rows, 1000, edge, seed)));
        let there = sets.each_ref().map(|set| device.upload(set).unwrap());
        let search = BoxOverlap::new();
        let found = search.overlaps_device(&there[0], &there[1]).unwrap();
        let expected = search.overlaps(&Device::cpu(), sets[0].view(), sets[1].view());
        let expected = expected.unwrap();
        let share = expected.pair_count() as f64 / (rows * rows) as f64;
        assert_eq!(share > 1.0 / 28.0, edge == 420, "{share}");
        assert_same::<f32>(&found.download().unwrap(), &expected, "estimated");
    }
}
