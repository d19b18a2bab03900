//! Slide distances, on every device, against whole numbers.
//!
//! The numbers are small and whole, so squared distances are exact in every type, on every device
//! and in every order of additions, and their roots are rounded once.

use gridstride::distances::Metric::{L2, SquaredL2};
use gridstride::distances::{
    Component, DeviceWindows, Distances, Windows, distances, reference, slide_distances,
    slide_paired,
};
use gridstride::{Device, Error};
use ndarray::{Array1, Array2, Axis, array, s};

use test_support::in_every_type;
use test_support::{
    NO_DEVICE, Random, assert_error, devices, fails_with, gamma, least_memory, several,
    with_kernels,
};

trait Number: Component + From<f32> + std::fmt::Debug + PartialEq {}
impl Number for f32 {}
impl Number for f64 {}

/// Windows of `dim` whole numbers below 16, for sequences of so many windows.
fn sequences<T: Number>(counts: &[usize], dim: usize, seed: u64) -> (Array2<T>, Vec<usize>) {
    let mut random = Random(seed);
    let offsets: Vec<usize> = [0]
        .into_iter()
        .chain(counts.iter().scan(0, |end, count| {
            *end += count;
            Some(*end)
        }))
        .collect();
    let shape = (offsets[counts.len()], dim);
    let rows = Array2::from_shape_simple_fn(shape, || T::from(random.within(-15, 16) as f32));
    (rows, offsets)
}

/// Numbers of windows that look random, up to `most`.
fn counts(sequences: usize, most: i64, seed: u64) -> Vec<usize> {
    let mut random = Random(seed);
    (0..sequences)
        .map(|_| random.within(0, most + 1) as usize)
        .collect()
}

/// Equal, or both NaN.
fn same(found: &Array2<f64>, expected: &Array2<f64>) -> bool {
    let pairs = found.iter().zip(expected);
    found.dim() == expected.dim()
        && pairs
            .into_iter()
            .all(|(a, b)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan())
}

/// f32's root is rounded to f32 on devices with kernels.
fn is_root(found: &Array2<f64>, squares: &Array2<f64>) -> bool {
    let pairs = found.iter().zip(squares);
    pairs.into_iter().all(|(found, square)| {
        let root = square.sqrt();
        (found - root).abs() <= gamma(2, 2f64.powi(-24)) * root || found.is_nan() && root.is_nan()
    })
}

/// Compares all calls with the reference.
#[track_caller]
fn check<T: Number>(device: &Device, a_counts: &[usize], b_counts: &[usize], dim: usize) {
    let (a, a_offsets) = sequences::<T>(a_counts, dim, 1);
    let (b, b_offsets) = sequences::<T>(b_counts, dim, 2);
    let what = format!(
        "{} and {} sequences of {dim} numbers on {device}",
        a_counts.len(),
        b_counts.len()
    );
    let windows_a = Windows::new(a.view(), &a_offsets).unwrap();
    let windows_b = Windows::new(b.view(), &b_offsets).unwrap();
    let expected = reference::slide_distances(windows_a, windows_b, SquaredL2);
    let squared = Distances::new().metric(SquaredL2);
    let found = squared
        .slide_distances(device, windows_a, windows_b)
        .unwrap();
    assert!(
        same(&found, &expected),
        "{what}: {found} instead of {expected}"
    );
    let roots = slide_distances(device, windows_a, windows_b).unwrap();
    assert!(
        is_root(&roots, &expected),
        "{what}: {roots} instead of the roots of {expected}"
    );

    let rows = [&a, &b].map(|rows| device.upload(rows).unwrap());
    let there_a = DeviceWindows::new(&rows[0], &a_offsets).unwrap();
    let there_b = DeviceWindows::new(&rows[1], &b_offsets).unwrap();
    let there = squared.slide_distances_device(there_a, there_b).unwrap();
    assert!(same(&there.download().unwrap(), &expected), "{what}");

    // A pair of each index that both have.
    let count = a_counts.len().min(b_counts.len());
    let (a_end, b_end) = (a_offsets[count], b_offsets[count]);
    let windows_a = Windows::new(a.slice(s![..a_end, ..]), &a_offsets[..=count]).unwrap();
    let windows_b = Windows::new(b.slice(s![..b_end, ..]), &b_offsets[..=count]).unwrap();
    let expected = expected.diag().to_owned().insert_axis(Axis(1));
    let paired = squared.slide_paired(device, windows_a, windows_b).unwrap();
    let column = |found: Array1<f64>| found.insert_axis(Axis(1));
    assert!(same(&column(paired), &expected), "{what}, paired");
    let paired = slide_paired(device, windows_a, windows_b).unwrap();
    assert!(is_root(&column(paired), &expected), "{what}, paired");
}

fn every_pair_counts_the_windows_of_both<T: Number>() {
    for device in devices() {
        for dim in [1, 3, 4, 8, 13] {
            check::<T>(&device, &[0, 1, 2, 3, 9], &[3, 0, 5, 1], dim);
        }
        // Around the kernels' tiles, and more numbers than a block has threads.
        check::<T>(&device, &counts(130, 4, 3), &counts(66, 4, 4), 5);
        check::<T>(&device, &[40, 71, 70], &[70, 90, 0], 16);
        // All of one length: no chunk has a gap.
        check::<T>(&device, &[4; 5], &[4; 7], 8);
    }
}

fn windows_of_no_numbers_and_no_sequences<T: Number>() {
    for device in devices() {
        check::<T>(&device, &[2, 0, 1], &[1, 0], 0);
        check::<T>(&device, &[], &[1, 2], 3);
        check::<T>(&device, &[0, 2], &[], 3);
        check::<T>(&device, &[0, 0], &[0], 3);
    }
}

/// Sequences of one window are rows, and the error bound is that of rows.
fn one_window_each_is_a_row<T: Number>() {
    let (a, a_offsets) = sequences::<T>(&[1; 131], 9, 5);
    let (b, b_offsets) = sequences::<T>(&[1; 67], 9, 6);
    for device in devices() {
        let windows_a = Windows::new(a.view(), &a_offsets).unwrap();
        let windows_b = Windows::new(b.view(), &b_offsets).unwrap();
        let slide = slide_distances(&device, windows_a, windows_b).unwrap();
        assert_eq!(slide, distances(&device, a.view(), b.view()).unwrap());
    }
}

fn strided_views_and_existing_memory<T: Number>() {
    let (rows, offsets) = sequences::<T>(&[2, 0, 3, 1, 4], 6, 7);
    let turned = rows.t().as_standard_layout().into_owned();
    for device in devices() {
        for set in [vec![device.clone()], several(&device, 3)] {
            let windows = Windows::new(rows.view(), &offsets).unwrap();
            let turned = Windows::new(turned.t(), &offsets).unwrap();
            let squared = Distances::new().metric(SquaredL2);
            let expected = reference::slide_distances(windows, windows, SquaredL2);
            let mut out = Array2::zeros((5, 5));
            let places = out.view_mut().reversed_axes();
            squared
                .slide_distances_into(&set, windows, turned, places)
                .unwrap();
            assert!(same(&out.t().to_owned(), &expected));
            let mut wide = Array1::from_elem(10, -1.0);
            let every_other = wide.slice_mut(s![..;2]);
            squared
                .slide_paired_into(&set, turned, windows, every_other)
                .unwrap();
            // The second sequence has no windows.
            assert!(wide[2].is_nan());
            wide[2] = 0.0;
            let (found, gaps) = (wide.slice(s![..;2]), wide.slice(s![1..;2]));
            assert!(found.iter().all(|&x| x == 0.0) && gaps.iter().all(|&x| x == -1.0));
        }
        let squared = Distances::new().metric(SquaredL2);
        let (others, _) = sequences::<T>(&[2, 0, 3, 1, 4], 6, 8);
        let on_host = [&rows, &others].map(|rows| Windows::new(rows.view(), &offsets).unwrap());
        let expected = reference::slide_distances(on_host[0], on_host[1], SquaredL2);
        let there = [&rows, &others].map(|rows| device.upload(rows).unwrap());
        let [a, b] = there
            .each_ref()
            .map(|rows| DeviceWindows::new(rows, &offsets).unwrap());
        let mut out = device.upload(&Array2::from_elem((5, 5), -1.0)).unwrap();
        squared.slide_distances_device_into(a, b, &mut out).unwrap();
        assert!(same(&out.download().unwrap(), &expected), "{device}");
        let mut each = device.upload(&Array1::from_elem(5, -1.0)).unwrap();
        squared.slide_paired_device_into(a, b, &mut each).unwrap();
        let each = each.download().unwrap().insert_axis(Axis(1));
        let expected = expected.diag().to_owned().insert_axis(Axis(1));
        assert!(same(&each, &expected), "{device}");
    }
}

in_every_type! { in_f32 f32, in_f64 f64: {
    every_pair_counts_the_windows_of_both
    windows_of_no_numbers_and_no_sequences
    one_window_each_is_a_row
    strided_views_and_existing_memory
} }

#[test]
fn over_several_devices_and_within_little_memory() {
    let (a, a_offsets) = sequences::<f64>(&counts(20, 5, 8), 4, 9);
    let (b, b_offsets) = sequences::<f64>(&counts(20, 5, 10), 4, 11);
    let a = Windows::new(a.view(), &a_offsets).unwrap();
    let b = Windows::new(b.view(), &b_offsets).unwrap();
    let squared = Distances::new().metric(SquaredL2);
    let expected = reference::slide_distances(a, b, SquaredL2);
    let each = expected.diag().to_owned().insert_axis(Axis(1));
    let checked = |devices: &[Device]| {
        let found = squared.slide_distances(devices, a, b).unwrap();
        assert!(same(&found, &expected));
        let found = squared.slide_paired(devices, a, b).unwrap();
        assert!(same(&found.insert_axis(Axis(1)), &each));
    };
    for device in devices() {
        for count in [1, 2, 3, 30] {
            checked(&several(&device, count));
        }
    }
    for device in with_kernels() {
        let one = Array2::from_elem((5, 4), 1.0);
        let one = Windows::new(one.view(), &[0, 5]).unwrap();
        let least = least_memory(&device, |limited| {
            squared.slide_distances(limited, one, one)
        });
        for limit in [least, 1000, 3000] {
            checked(&[device.with_memory_limit(limit)]);
        }
    }
}

#[test]
fn whole_ranges_of_numbers() {
    for device in devices() {
        let rows = array![[f32::MAX, 0.0], [f32::MIN, 0.0], [0.0, 0.0]];
        let windows = Windows::new(rows.view(), &[0, 1, 3]).unwrap();
        let found = slide_distances(&device, windows, windows).unwrap();
        assert_eq!(found[[0, 1]], 2.0 * f64::from(f32::MAX));
        let rows = array![[f64::MAX / 4.0], [f64::MIN / 4.0]];
        let windows = Windows::new(rows.view(), &[0, 1, 2]).unwrap();
        let found = slide_distances(&device, windows, windows).unwrap();
        assert_eq!(found[[0, 1]], f64::MAX / 2.0);
    }
}

#[test]
fn the_error_is_within_the_bound() {
    let mut random = Random(12);
    let rows = Array2::from_shape_simple_fn((60, 33), || random.within(-(1 << 24), 1 << 24) as f32);
    let windows = Windows::new(rows.view(), &[0, 30, 60]).unwrap();
    // Squares of 50 bits, and 990 of them, are exact in f64's 53 bits up to γ_{990}.
    let expected = reference::slide_distances(windows, windows, L2)[[0, 1]];
    for device in devices() {
        let all = slide_distances(&device, windows, windows).unwrap()[[0, 1]];
        let (a, b) = (rows.slice(s![..30, ..]), rows.slice(s![30.., ..]));
        let (a, b) = (
            Windows::new(a, &[0, 30]).unwrap(),
            Windows::new(b, &[0, 30]).unwrap(),
        );
        let paired = slide_paired(&device, a, b).unwrap()[0];
        let bound = (gamma(994, 2f64.powi(-24)) + gamma(994, 2f64.powi(-53))) * expected;
        assert!((all - expected).abs() <= bound && (paired - expected).abs() <= bound);
    }
}

#[test]
fn wrong_arguments_are_refused() {
    let rows = Array2::<f32>::zeros((3, 2));
    for (offsets, index, message) in [
        (
            &[][..],
            None,
            "there are no offsets: all rows together have the offsets 0 and 3",
        ),
        (
            &[1, 3],
            Some(0),
            "the offsets go from 1 to 3, and have to go from 0 to the number of rows, 3",
        ),
        (
            &[0, 2, 1, 3],
            Some(2),
            "offset 1 at index 2 is below the one before it, 2",
        ),
        (
            &[0, 2],
            Some(1),
            "the offsets go from 0 to 2, and have to go from 0 to the number of rows, 3",
        ),
    ] {
        let found = Windows::new(rows.view(), offsets);
        assert_error!(&found, Error::InvalidInput { index: found, .. } if *found == index);
        fails_with(found, format!("Windows::new: {message}"));
    }
    let (other, mut bad) = (Array2::<f32>::zeros((3, 4)), rows.clone());
    bad[[2, 1]] = f32::INFINITY;
    let a = Windows::new(rows.view(), &[0, 2, 3]).unwrap();
    let longer = Windows::new(other.view(), &[0, 3]).unwrap();
    let one = Windows::new(rows.view(), &[0, 3]).unwrap();
    let bad = Windows::new(bad.view(), &[0, 2, 3]).unwrap();
    for device in devices() {
        let found = slide_distances(&device, a, longer);
        assert_error!(&found, Error::Shape { .. });
        fails_with(
            found,
            "slide_distances: the windows of a have 2 numbers and those of b 4: they must have the \
             same length",
        );
        fails_with(
            slide_paired(&device, a, one),
            "slide_paired: a has 2 sequences and b 1: pairs need as many of both",
        );
        let message = "row 2 of b has a value that is NaN or infinite: all numbers must be finite";
        for count in [1, 2] {
            let set = several(&device, count);
            fails_with(
                slide_distances(&set, a, bad),
                format!("slide_distances: {message}"),
            );
            fails_with(
                slide_paired(&set, a, bad),
                format!("slide_paired: {message}"),
            );
        }
        let mut out = Array2::zeros((2, 3));
        fails_with(
            Distances::new().slide_distances_into(&device, a, one, out.view_mut()),
            "slide_distances_into: the distances are 2×1, but out is 2×3",
        );
        let mut out = Array1::zeros(3);
        fails_with(
            Distances::new().slide_paired_into(&device, a, a, out.view_mut()),
            "slide_paired_into: the distances are 2, but out is 3",
        );
    }
    let none: [Device; 0] = [];
    fails_with(
        slide_paired(&none, a, a),
        format!("slide_paired: {NO_DEVICE}"),
    );
}
