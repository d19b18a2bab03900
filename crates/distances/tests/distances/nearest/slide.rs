//! Nearest sequences by slide distances: what sorting the matrix of slide distances gives.

use gridstride::distances::Metric::{self, L2, SquaredL2};
use gridstride::distances::{DeviceWindows, Distances, Nearest, Windows, slide_nearest};
use gridstride::{Device, Error};
use ndarray::{Array2, s};

use super::{Number, rows, sorted, uneven, with};
use test_support::in_every_type;
use test_support::{
    NO_DEVICE, Random, assert_error, devices, fails_with, least_memory, several, with_kernels,
};

/// Offsets of sequences of 0 to `most` windows each.
fn offsets(sequences: usize, most: i64, seed: u64) -> Vec<usize> {
    let mut random = Random(seed);
    let mut offsets = vec![0];
    for _ in 0..sequences {
        let end = offsets[offsets.len() - 1];
        offsets.push(end + random.within(0, most + 1) as usize);
    }
    offsets
}

fn last(offsets: &[usize]) -> usize {
    offsets[offsets.len() - 1]
}

/// Distances may be NaN, so the bits are compared.
#[track_caller]
fn assert_same(found: &Nearest, expected: &Nearest, what: &str) {
    assert_eq!(found.indices, expected.indices, "{what}");
    let bits = |found: &Nearest| found.distances.mapv(f64::to_bits);
    assert_eq!(bits(found), bits(expected), "{what}");
}

/// Compares the calls with the sorted matrix of the same device.
#[track_caller]
fn check<T: Number>(
    device: &Device,
    metric: Metric,
    queries: Windows<T>,
    database: Windows<T>,
    k: usize,
) -> Nearest {
    let matrix = with(metric).slide_distances(device, queries, database);
    // Any NaN is as good as this one, which comes after all numbers.
    let matrix = matrix
        .unwrap()
        .mapv(|x| if x.is_nan() { f64::NAN } else { x });
    let expected = sorted(&matrix, k);
    let found = with(metric).slide_nearest(device, queries, database, k);
    let (n, m) = (queries.len(), database.len());
    let what = format!("{k} of {m} sequences for {n} queries on {device}");
    assert_same(&found.unwrap(), &expected, &what);
    expected
}

fn sizes_around_tiles<T: Number>() {
    for device in devices() {
        for (n, m) in [
            (1, 1),
            (1, 64),
            (2, 65),
            (3, 127),
            (2, 128),
            (3, 129),
            (129, 130),
        ] {
            let (query_offsets, offsets) = (offsets(n, 4, 1), offsets(m, 4, 2));
            let queries = rows::<T>(last(&query_offsets), 3, 3);
            let database = rows::<T>(last(&offsets), 3, 4);
            let queries = Windows::new(queries.view(), &query_offsets).unwrap();
            let database = Windows::new(database.view(), &offsets).unwrap();
            for k in [1, m.div_ceil(2), m] {
                check(&device, L2, queries, database, k);
            }
        }
    }
}

/// Far more sequences than a block of threads reads at a time, and lists that are shortened.
fn many_sequences<T: Number>() {
    let (query_offsets, offsets) = (offsets(3, 3, 5), offsets(3500, 2, 6));
    let queries = uneven::<T>(last(&query_offsets), 2, 7);
    let database = uneven::<T>(last(&offsets), 2, 8);
    let queries = Windows::new(queries.view(), &query_offsets).unwrap();
    let database = Windows::new(database.view(), &offsets).unwrap();
    // The nearest come last, so that all candidates pass.
    let singles: Vec<usize> = (0..=3500).collect();
    let farther = Array2::from_shape_fn((3500, 1), |(i, _)| T::from((3500 - i) as f32));
    let zero = Array2::from_elem((2, 1), T::from(0.0));
    let zero = Windows::new(zero.view(), &singles[..3]).unwrap();
    let farther = Windows::new(farther.view(), &singles).unwrap();
    for device in devices() {
        for k in [1, 10, 1024] {
            check(&device, SquaredL2, queries, database, k);
        }
        let found = check(&device, L2, zero, farther, 300);
        assert_eq!(found.indices[[1, 0]], 3499);
    }
}

fn equal_and_empty_sequences<T: Number>() {
    let offsets: Vec<usize> = (0..1301).map(|i| i / 2 * 2).collect();
    let database = Array2::from_elem((1300, 2), T::from(1.5));
    let database = Windows::new(database.view(), &offsets).unwrap();
    let one = Array2::from_elem((1, 2), T::from(1.0));
    let queries = Windows::new(one.view(), &[0, 1, 1]).unwrap();
    for device in devices() {
        for k in [5, 1000] {
            let found = check(&device, L2, queries, database, k);
            // Every other sequence has no windows; those come last, and the query without windows
            // has no nearer sequences.
            for (place, &index) in found.indices.row(0).iter().enumerate() {
                let expected = if place < 650 {
                    2 * place + 1
                } else {
                    2 * (place - 650)
                };
                assert_eq!(index, expected as u64);
            }
            assert!(found.indices.row(1).iter().copied().eq(0..k as u64));
            assert!(
                found
                    .distances
                    .row(1)
                    .iter()
                    .all(|distance| distance.is_nan())
            );
        }
        let none = Windows::new(one.slice(s![..0, ..]), &[0]).unwrap();
        assert_eq!(check(&device, L2, none, database, 7).indices.dim(), (0, 7));
        assert_eq!(check(&device, L2, queries, none, 0).indices.dim(), (2, 0));
    }
}

fn strided_views_and_existing_memory<T: Number>() {
    let (query_offsets, offsets) = (offsets(6, 3, 11), offsets(90, 3, 12));
    let queries = uneven::<T>(last(&query_offsets), 9, 13);
    let database = uneven::<T>(last(&offsets), 9, 14);
    for device in devices() {
        let every_other = s![.., ..;-2];
        check(
            &device,
            L2,
            Windows::new(queries.slice(every_other), &query_offsets).unwrap(),
            Windows::new(database.slice(every_other), &offsets).unwrap(),
            11,
        );
        let windows = Windows::new(queries.view(), &query_offsets).unwrap();
        let others = Windows::new(database.view(), &offsets).unwrap();
        let expected = check(&device, L2, windows, others, 3);
        let (mut indices, mut distances) = (Array2::zeros((3, 6)), Array2::zeros((8, 6)));
        let places = (
            indices.view_mut().reversed_axes(),
            distances.slice_mut(s![1..7, ..;2]),
        );
        let set = several(&device, 3);
        Distances::new()
            .slide_nearest_into(&set, windows, others, places.0, places.1)
            .unwrap();
        let found = Nearest {
            indices: indices.t().to_owned(),
            distances: distances.slice(s![1..7, ..;2]).to_owned(),
        };
        assert_same(&found, &expected, "into existing arrays");

        let [queries, database] = [&queries, &database].map(|rows| device.upload(rows).unwrap());
        let windows = DeviceWindows::new(&queries, &query_offsets).unwrap();
        let others = DeviceWindows::new(&database, &offsets).unwrap();
        let found = Distances::new().slide_nearest_device(windows, others, 3);
        assert_same(&found.unwrap().download().unwrap(), &expected, "resident");
        let mut indices = device.upload(&Array2::zeros((6, 3))).unwrap();
        let mut distances = device.upload(&Array2::zeros((6, 3))).unwrap();
        Distances::new()
            .slide_nearest_device_into(windows, others, &mut indices, &mut distances)
            .unwrap();
        let found = Nearest {
            indices: indices.download().unwrap(),
            distances: distances.download().unwrap(),
        };
        assert_same(&found, &expected, "into existing resident arrays");
    }
}

in_every_type! { in_f32 f32, in_f64 f64: {
    sizes_around_tiles
    many_sequences
    equal_and_empty_sequences
    strided_views_and_existing_memory
} }

#[test]
fn over_several_devices_and_within_little_memory() {
    let (few_offsets, many_offsets) = (offsets(7, 3, 15), offsets(1100, 3, 16));
    let few = rows::<f64>(last(&few_offsets), 2, 17);
    let many = rows::<f64>(last(&many_offsets), 2, 18);
    let few = Windows::new(few.view(), &few_offsets).unwrap();
    let many = Windows::new(many.view(), &many_offsets).unwrap();
    for device in devices() {
        for (queries, database, k) in [(few, many, 60), (many, few, 7)] {
            let expected = slide_nearest(&device, queries, database, k).unwrap();
            for count in [2, 5] {
                let found = slide_nearest(&several(&device, count), queries, database, k);
                assert_same(
                    &found.unwrap(),
                    &expected,
                    &format!("{count} times {device}"),
                );
            }
        }
    }
    let some_offsets = offsets(130, 3, 19);
    let some = rows::<f64>(last(&some_offsets), 2, 20);
    let some = Windows::new(some.view(), &some_offsets).unwrap();
    let row = Array2::<f64>::zeros((1, 2));
    let one = Windows::new(row.view(), &[0, 1]).unwrap();
    for device in with_kernels() {
        let least = least_memory(&device, |limited| slide_nearest(limited, one, one, 1));
        // With the larger one, blocks of columns append to the lists of those before. The smaller one
        // has room for few windows at a time.
        for (limit, many) in [(least + 500, some), (60_000, many)] {
            let limited = device.with_memory_limit(limit);
            for (queries, database) in [(few, many), (many, few)] {
                let expected = slide_nearest(&device, queries, database, 6).unwrap();
                let found = slide_nearest(&limited, queries, database, 6).unwrap();
                assert_same(&found, &expected, &format!("{limit} bytes of {device}"));
            }
        }
        let error = slide_nearest(&device.with_memory_limit(8), few, many, 1);
        assert_error!(error, Error::Allocation { .. });
    }
}

#[test]
fn wrong_arguments_are_refused() {
    let good = Array2::<f32>::zeros((1200, 2));
    let (mut bad, longer) = (good.clone(), Array2::zeros((3, 4)));
    bad[[1100, 1]] = f32::NAN;
    let singles: Vec<usize> = (0..=1200).collect();
    let three = Windows::new(good.slice(s![..3, ..]), &singles[..4]).unwrap();
    let all = Windows::new(good.view(), &singles).unwrap();
    let bad = Windows::new(bad.view(), &singles).unwrap();
    let longer = Windows::new(longer.view(), &singles[..4]).unwrap();
    for device in devices() {
        let found = slide_nearest(&device, three, longer, 1);
        assert_error!(&found, Error::Shape { .. });
        fails_with(
            found,
            "slide_nearest: the windows of queries have 2 numbers and those of database 4: they must \
             have the same length",
        );
        let found = slide_nearest(&device, all, three, 4);
        assert_error!(&found, Error::InvalidInput { .. });
        fails_with(
            found,
            "slide_nearest: k is 4, but the database has 3 sequences: ask for at most as many",
        );
        let message = "has a value that is NaN or infinite: all numbers must be finite";
        for count in [1, 3] {
            let set = several(&device, count);
            fails_with(
                slide_nearest(&set, three, bad, 2),
                format!("slide_nearest: row 1100 of database {message}"),
            );
            fails_with(
                slide_nearest(&set, bad, three, 0),
                format!("slide_nearest: row 1100 of queries {message}"),
            );
        }
        let (mut indices, mut distances) = (Array2::zeros((3, 2)), Array2::zeros((3, 1)));
        let places = (indices.view_mut(), distances.view_mut());
        fails_with(
            Distances::new().slide_nearest_into(&device, three, three, places.0, places.1),
            "slide_nearest_into: there are 3 queries, but indices is 3×2 and distances is 3×1: both \
             need a row for each query and a column for each of its nearest rows",
        );
    }
    let many = slide_nearest(&Device::cpu(), three, all, 1100).unwrap();
    assert_eq!(many.indices[[2, 1099]], 1099);
    for device in with_kernels() {
        fails_with(
            slide_nearest(&device, three, all, 1100),
            "slide_nearest: k is 1100, more than the 1024 that kernels select: take the device cpu, \
             or sort the rows of distances",
        );
        let [here, there] =
            [&Device::cpu(), &device].map(|device| device.upload(&three_rows()).unwrap());
        let [here, there] =
            [&here, &there].map(|rows| DeviceWindows::new(rows, &singles[..4]).unwrap());
        let error = Distances::new().slide_nearest_device(here, there, 1);
        assert_error!(error, Error::DifferentDevices { .. });
    }
    let none: [Device; 0] = [];
    fails_with(
        slide_nearest(&none, three, three, 1),
        format!("slide_nearest: {NO_DEVICE}"),
    );
}

fn three_rows() -> Array2<f32> {
    Array2::zeros((3, 2))
}
