//! Views and existing memory, several devices, little memory, and wrong arguments.

use gridstride::distances::Metric::{L2, SquaredL2};
use gridstride::distances::{Distances, nearest};
use gridstride::{Device, Error};
use ndarray::{Array2, s};

use super::{Number, check, rows, uneven};
use test_support::in_every_type;
use test_support::{
    NO_DEVICE, assert_error, devices, fails_with, least_memory, several, with_kernels,
};

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

in_every_type! { in_f32 f32, in_f64 f64: { strided_views_and_existing_memory } }

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
