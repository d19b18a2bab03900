//! Nearest rows, on every device: what sorting the matrix of that device's distances gives, bit by
//! bit.

use gridstride::distances::Metric::{self, L2, SquaredL2};
use gridstride::distances::{Component, Distances, Nearest, nearest, reference};
use gridstride::{Device, Error};
use ndarray::{Array2, ArrayView2, array, s};

use crate::common::{
    NO_DEVICE, Random, assert_error, devices, fails_with, gamma, least_memory, several, small,
    with_kernels,
};
use crate::in_every_type;

trait Number: Component + From<f32> {}
impl Number for f32 {}
impl Number for f64 {}

/// Rows of whole numbers in a narrow range, so that many distances are equal.
fn rows<T: Number>(count: usize, dim: usize, seed: u64) -> Array2<T> {
    let mut random = Random(seed);
    Array2::from_shape_simple_fn((count, dim), || T::from(random.within(-3, 4) as f32))
}

/// Numbers with all digits of `f32`.
fn uneven<T: Number>(count: usize, dim: usize, seed: u64) -> Array2<T> {
    let mut random = Random(seed);
    Array2::from_shape_simple_fn((count, dim), || {
        T::from(random.within(-(1 << 23), 1 << 23) as f32)
    })
}

/// Sorts each row of a matrix by distance, then by index.
fn sorted(matrix: &Array2<f64>, k: usize) -> Nearest {
    let shape = (matrix.nrows(), k);
    let mut found = Nearest {
        indices: Array2::zeros(shape),
        distances: Array2::zeros(shape),
    };
    for (i, row) in matrix.outer_iter().enumerate() {
        let mut order: Vec<usize> = (0..row.len()).collect();
        order.sort_by(|&a, &b| row[a].total_cmp(&row[b]).then(a.cmp(&b)));
        for (j, &index) in order[..k].iter().enumerate() {
            found.indices[[i, j]] = index as u64;
            found.distances[[i, j]] = row[index];
        }
    }
    found
}

fn with(metric: Metric) -> Distances {
    Distances::new().metric(metric)
}

/// Compares all calls with the sorted matrix of the same device.
#[track_caller]
fn check<T: Number>(
    device: &Device,
    metric: Metric,
    queries: ArrayView2<T>,
    database: ArrayView2<T>,
    k: usize,
) {
    let matrix = with(metric).distances(device, queries, database).unwrap();
    let expected = sorted(&matrix, k);
    let found = with(metric).nearest(device, queries, database, k).unwrap();
    let (n, m) = (queries.nrows(), database.nrows());
    assert_eq!(
        found, expected,
        "{k} of {m} rows for {n} queries on {device}"
    );
    let [queries, database] = [queries, database].map(|rows| device.upload(&rows).unwrap());
    let found = with(metric).nearest_device(&queries, &database, k).unwrap();
    assert_eq!(
        found.download().unwrap(),
        expected,
        "in the memory of {device}"
    );
}

fn sizes_around_tiles<T: Number>() {
    for device in devices() {
        let sizes = [
            (1, 1),
            (1, 63),
            (2, 64),
            (1, 65),
            (3, 127),
            (2, 128),
            (3, 129),
            (127, 3),
            (128, 65),
            (129, 129),
        ];
        for (n, m) in sizes {
            for k in [1, m] {
                let (queries, database) = (rows::<T>(n, 3, 1), rows::<T>(m, 3, 2));
                check(&device, SquaredL2, queries.view(), database.view(), k);
            }
        }
    }
}

fn lists_are_shortened<T: Number>() {
    for device in devices() {
        let database = uneven::<T>(if small() { 700 } else { 3000 }, 5, 3);
        let queries = uneven::<T>(3, 5, 4);
        for k in [1, 10, 300] {
            for metric in [L2, SquaredL2] {
                check(&device, metric, queries.view(), database.view(), k);
            }
        }
        // The nearest come last, so that all candidates pass.
        let order: Vec<f32> = (0..2000).rev().map(|i| i as f32).collect();
        let farther = Array2::from_shape_fn((2000, 1), |(i, _)| T::from(order[i]));
        let zero = Array2::from_elem((2, 1), T::from(0.0));
        check(&device, L2, zero.view(), farther.view(), 7);
    }
}

/// A list of the most rows has little room beyond them, and is sorted again and again.
fn the_most_rows<T: Number>() {
    let count = if small() { 2500 } else { 6000 };
    let farthest_first: Vec<usize> = (0..count).rev().collect();
    let (mut shuffled, mut random) = (farthest_first.clone(), Random(18));
    for i in (1..count).rev() {
        shuffled.swap(i, random.within(0, i as i64 + 1) as usize);
    }
    let zero = Array2::from_elem((1, 1), T::from(0.0));
    for device in devices() {
        for order in [&farthest_first, &shuffled] {
            let database = Array2::from_shape_fn((count, 1), |(i, _)| T::from(order[i] as f32));
            check(&device, L2, zero.view(), database.view(), 1024);
        }
    }
}

fn equal_rows_come_by_index<T: Number>() {
    for device in devices() {
        let database = Array2::from_elem((1300, 2), T::from(1.5));
        let queries = Array2::from_elem((2, 2), T::from(1.0));
        // The sum of squares is exact, and the root is rounded once, to `f32` or `f64`.
        let (expected, bound) = (0.5f64.sqrt(), gamma(1, 2f64.powi(-24)) * 0.5f64.sqrt());
        let found = nearest(&device, queries.view(), database.view(), 5).unwrap();
        for query in 0..2 {
            assert_eq!(found.indices.row(query), array![0, 1, 2, 3, 4]);
            let distances = found.distances.row(query);
            assert!(
                distances
                    .iter()
                    .all(|&distance| (distance - expected).abs() <= bound)
            );
        }
        check(&device, L2, queries.view(), database.view(), 600);
        // Rows that are queries too, each of them twice.
        let some = rows::<T>(40, 3, 5);
        let twice = ndarray::concatenate![ndarray::Axis(0), some, some];
        check(&device, L2, some.view(), twice.view(), 9);
        let found = nearest(&device, some.view(), twice.view(), 1).unwrap();
        assert!(found.distances.iter().all(|&distance| distance == 0.0));
    }
}

/// Roots of different sums may be equal.
fn ties_of_roots<T: Number>() {
    let step = |i: usize| T::from((1 << 23) as f32 + i as f32);
    let database = Array2::from_shape_fn((900, 2), |(i, j)| {
        step(if j == 0 { i * 7 % 900 } else { 3 })
    });
    let queries = Array2::from_elem((1, 2), T::from(0.0));
    for device in devices() {
        for k in [1, 50, 900] {
            check(&device, L2, queries.view(), database.view(), k);
        }
    }
}

fn lengths_of_rows<T: Number>() {
    for device in devices() {
        for dim in [0, 1, 4, 7, 8, 9, 17] {
            let (queries, database) = (uneven::<T>(4, dim, 6), uneven::<T>(300, dim, 7));
            check(&device, L2, queries.view(), database.view(), 20);
        }
    }
}

fn nothing_to_find<T: Number>() {
    let (some, none) = (rows::<T>(3, 2, 8), rows::<T>(0, 2, 9));
    for device in devices() {
        for (queries, database, k) in [
            (&none, &some, 2),
            (&some, &none, 0),
            (&some, &some, 0),
            (&none, &none, 0),
        ] {
            check(&device, L2, queries.view(), database.view(), k);
        }
    }
}

fn strided_views_and_existing_memory<T: Number>() {
    let (queries, database) = (uneven::<T>(6, 4, 10), uneven::<T>(90, 4, 11));
    let wide = uneven::<T>(40, 20, 12);
    for device in devices() {
        let columns = wide.slice(s![..;-3, 1..17;4]);
        check(&device, L2, queries.slice(s![..;2, ..;-1]), columns, 5);
        let turned = database.t().as_standard_layout().into_owned();
        check(&device, SquaredL2, queries.view(), turned.t(), 5);

        let expected = nearest(&device, queries.view(), database.view(), 3).unwrap();
        let (mut indices, mut distances) = (Array2::zeros((3, 6)), Array2::zeros((8, 6)));
        Distances::new()
            .nearest_into(
                &several(&device, 3),
                queries.view(),
                database.view(),
                indices.view_mut().reversed_axes(),
                distances.slice_mut(s![1..7, ..;2]),
            )
            .unwrap();
        assert_eq!(indices.t(), expected.indices);
        assert_eq!(distances.slice(s![1..7, ..;2]), expected.distances);
        let [queries, database] = [&queries, &database].map(|rows| device.upload(rows).unwrap());
        let mut indices = device.upload(&Array2::zeros((6, 3))).unwrap();
        let mut distances = device.upload(&Array2::zeros((6, 3))).unwrap();
        Distances::new()
            .nearest_device_into(&queries, &database, &mut indices, &mut distances)
            .unwrap();
        assert_eq!(indices.download().unwrap(), expected.indices);
        assert_eq!(distances.download().unwrap(), expected.distances);
    }
}

in_every_type! { in_f32 f32, in_f64 f64: {
    sizes_around_tiles
    lists_are_shortened
    the_most_rows
    equal_rows_come_by_index
    ties_of_roots
    lengths_of_rows
    nothing_to_find
    strided_views_and_existing_memory
} }

#[test]
fn as_the_reference_finds() {
    // Whole numbers, whose squared distances are exact everywhere.
    let (queries, database) = (rows::<f32>(9, 6, 13), rows::<f32>(500, 6, 14));
    let matrix = reference::distances(queries.view(), database.view(), SquaredL2);
    for device in devices() {
        let found = with(SquaredL2).nearest(&device, queries.view(), database.view(), 30);
        assert_eq!(found.unwrap(), sorted(&matrix, 30));
    }
}

#[test]
fn over_several_devices_and_within_little_memory() {
    let (few, many) = (rows::<f64>(7, 5, 15), rows::<f64>(140, 5, 16));
    for device in devices() {
        for (queries, database, k) in [(&few, &many, 60), (&many, &few, 7), (&many, &many, 3)] {
            let expected = nearest(&device, queries.view(), database.view(), k).unwrap();
            for count in [2, 3, 5] {
                let set = several(&device, count);
                let found = nearest(&set, queries.view(), database.view(), k).unwrap();
                assert_eq!(found, expected, "on {count} times {device}");
            }
        }
    }
    let one = many.slice(s![..1, ..]);
    for device in with_kernels() {
        let least = least_memory(&device, |limited| nearest(limited, one, one, 1));
        for limit in [least + 500, 20_000] {
            let limited = device.with_memory_limit(limit);
            for (queries, database) in [(&few, &many), (&many, &few)] {
                let expected = nearest(&device, queries.view(), database.view(), 6).unwrap();
                let found = nearest(&limited, queries.view(), database.view(), 6).unwrap();
                assert_eq!(found, expected, "{limit} bytes of {device}");
            }
        }
        let error = nearest(&device.with_memory_limit(8), few.view(), many.view(), 1);
        assert_error!(error, Error::Allocation { .. });
    }
}

#[test]
fn the_whole_range_of_numbers() {
    let mut database = Array2::from_shape_fn((400, 1), |(i, _)| f64::from_bits(i as u64 % 97));
    database[[7, 0]] = f64::MAX / 4.0;
    database[[8, 0]] = f64::MIN / 4.0;
    let queries = array![[0.0], [f64::from_bits(5)], [f64::MAX / 4.0]];
    let singles = array![[f32::MAX], [f32::MIN], [f32::from_bits(1)], [0.0], [1e-30]];
    for device in devices() {
        for metric in [L2, SquaredL2] {
            for k in [1, 5, 400] {
                check(&device, metric, queries.view(), database.view(), k);
                // Without the largest: subnormal distances.
                check(
                    &device,
                    metric,
                    queries.slice(s![..2, ..]),
                    database.slice(s![9.., ..]),
                    k.min(391),
                );
            }
            check(&device, metric, singles.view(), singles.view(), 5);
        }
    }
}

#[test]
fn wrong_arguments_are_refused() {
    let good = Array2::<f32>::zeros((1200, 2));
    let (mut bad, longer) = (good.clone(), Array2::zeros((3, 4)));
    bad[[1100, 1]] = f32::NAN;
    let queries = good.slice(s![..3, ..]);
    for device in devices() {
        let found = nearest(&device, queries, longer.view(), 1);
        assert_error!(&found, Error::Shape { .. });
        fails_with(
            found,
            "nearest: queries is 3×2 and database is 3×4: their rows must have the same length",
        );
        let found = nearest(&device, queries, queries, 4);
        assert_error!(&found, Error::InvalidInput { .. });
        fails_with(
            found,
            "nearest: k is 4, but the database has 3 rows: ask for at most as many",
        );
        let message = "has a value that is NaN or infinite: all numbers must be finite";
        for count in [1, 3] {
            let set = several(&device, count);
            fails_with(
                nearest(&set, queries, bad.view(), 2),
                format!("nearest: row 1100 of database {message}"),
            );
            fails_with(
                nearest(&set, bad.view(), queries, 0),
                format!("nearest: row 1100 of queries {message}"),
            );
        }
        let (mut indices, mut distances) = (Array2::zeros((3, 2)), Array2::zeros((3, 1)));
        fails_with(
            Distances::new().nearest_into(
                &device,
                queries,
                queries,
                indices.view_mut(),
                distances.view_mut(),
            ),
            "nearest_into: there are 3 queries, but indices is 3×2 and distances is 3×1: both need \
             a row for each query and a column for each of its nearest rows",
        );
    }
    let many = nearest(&Device::cpu(), queries, good.view(), 1100).unwrap();
    assert_eq!(many.indices[[2, 1099]], 1099);
    for device in with_kernels() {
        fails_with(
            nearest(&device, queries, good.view(), 1100),
            "nearest: k is 1100, more than the 1024 that kernels select: take the device cpu, or \
             sort the rows of distances",
        );
        let [here, there] =
            [&Device::cpu(), &device].map(|device| device.upload(&queries).unwrap());
        let error = Distances::new().nearest_device(&here, &there, 1);
        assert_error!(error, Error::DifferentDevices { .. });
    }
    let none: [Device; 0] = [];
    fails_with(
        nearest(&none, queries, queries, 1),
        format!("nearest: {NO_DEVICE}"),
    );
}

/// Any sizes and values, against the sorted matrix.
#[test]
fn properties() {
    let mut random = Random(17);
    for _ in 0..if small() { 5 } else { 40 } {
        let size = |random: &mut Random, most| random.within(1, most) as usize;
        let (n, m, dim) = (
            size(&mut random, 12),
            size(&mut random, 900),
            size(&mut random, 12),
        );
        let k = random.within(0, m as i64 + 1) as usize;
        let seed = random.bits();
        let (queries, database) = match random.within(0, 2) {
            0 => (rows::<f32>(n, dim, seed), rows::<f32>(m, dim, seed + 1)),
            _ => (uneven::<f32>(n, dim, seed), uneven::<f32>(m, dim, seed + 1)),
        };
        for device in devices() {
            check(&device, L2, queries.view(), database.view(), k);
        }
    }
}
