//! Results in existing arrays, compared with those in new ones.

use gridstride::time_series::{Aggregates, Fill, Method, Order, Singletons, TimeBuckets};
use gridstride::{Device, Error};
use ndarray::{Array1, Array2, ArrayView1, ArrayViewMut1, ArrayViewMut2, array, s};

use super::{Number, all_methods, ascending, size, values};
use test_support::in_every_type;
use test_support::{assert_error, devices, fails, several, with_kernels};

in_every_type! { in_f32 f32, in_f64 f64: {
    as_in_new_arrays
    any_strides
} }

/// Fill the arrays, so that changes show.
const START: i64 = -77;
const NUMBER: f64 = 1e300;

/// Calls `aggregate_series_into`, and expects `expected` and, behind it, unchanged elements.
#[track_caller]
fn check<T: Number>(
    devices: &[Device],
    aggregation: &TimeBuckets,
    offsets: &[usize],
    (timestamps, values): (ArrayView1<i64>, ArrayView1<T>),
    expected: &Aggregates,
    mut starts: ArrayViewMut1<i64>,
    mut columns: ArrayViewMut2<f64>,
) {
    starts.fill(START);
    columns.fill(NUMBER);
    let (there, room) = (starts.view_mut(), columns.view_mut());
    let found =
        aggregation.aggregate_series_into(devices, offsets, timestamps, values, there, room);
    assert_eq!(found.unwrap(), expected.offsets());
    let count = expected.len();
    assert_eq!(starts.slice(s![..count]), expected.starts());
    assert!(
        starts
            .slice(s![count..])
            .iter()
            .all(|&start| start == START)
    );
    for (row, column) in columns.rows().into_iter().zip(expected.columns()) {
        let (found, behind) = row.split_at(ndarray::Axis(0), count);
        // NaN equals NaN here.
        let bits = |numbers: ArrayView1<f64>| numbers.mapv(f64::to_bits);
        assert_eq!(bits(found), bits(column.view()));
        assert!(behind.iter().all(|&number| number == NUMBER));
    }
}

/// With no room to spare, and with more, for numbers of points around tiles.
fn as_in_new_arrays<T: Number>() {
    for device in devices() {
        // More than two chunks of the CPU, and more than two tiles.
        let most = size(&device, 18_000, 2100);
        for count in [0, 1, 2, 255, 256, 257, 1024, 1025, most] {
            let (timestamps, values) = (ascending(count, -300, 5), values::<T>(count, 9));
            let points = (timestamps.view(), values.view());
            let offsets = [0, count / 3, count / 3, count];
            let plain = TimeBuckets::every(35);
            for aggregation in [
                plain.clone(),
                plain.clone().methods(&all_methods()),
                plain.clone().methods(&[Method::MEAN]).fill(Fill::Previous),
                plain
                    .methods(&[Method::STD, Method::MEDIAN])
                    .singletons(Singletons::Drop)
                    .order(Order::Sort),
            ] {
                let devices = [device.clone()];
                let expected = aggregation.aggregate_series(&devices, &offsets, points.0, points.1);
                let expected = expected.unwrap();
                let methods = expected.methods().len();
                for room in [expected.len(), expected.len() + 13] {
                    let mut starts = Array1::zeros(room);
                    let mut columns = Array2::zeros((methods, room));
                    check(
                        &devices,
                        &aggregation,
                        &offsets,
                        points,
                        &expected,
                        starts.view_mut(),
                        columns.view_mut(),
                    );
                }
                // The form for one series.
                let expected = aggregation.aggregate(&device, points.0, points.1).unwrap();
                let mut starts = Array1::zeros(expected.len());
                let mut columns = Array2::zeros((methods, expected.len()));
                let (there, room) = (starts.view_mut(), columns.view_mut());
                let found = aggregation.aggregate_into(&device, points.0, points.1, there, room);
                assert_eq!(found.unwrap(), expected.len());
                assert_eq!(starts, expected.starts());
                assert_eq!(columns.nrows(), expected.columns().len());
                for (row, column) in columns.rows().into_iter().zip(expected.columns()) {
                    assert_eq!(row.mapv(f64::to_bits), column.mapv(f64::to_bits));
                }
            }
        }
    }
}

/// Arrays with gaps, in the other order of axes, and backwards.
fn any_strides<T: Number>() {
    for device in devices() {
        let (timestamps, values) = (ascending(500, -300, 5), values::<T>(500, 9));
        let points = (timestamps.view(), values.view());
        let aggregation = TimeBuckets::every(35).methods(&[Method::COUNT, Method::SUM]);
        let devices = [device];
        let expected = aggregation.aggregate_series(&devices, &[0, 500], points.0, points.1);
        let expected = expected.unwrap();
        let room = expected.len() + 1;
        let mut starts = Array1::zeros(2 * room);
        let mut transposed = Array2::zeros((room, 2));
        let mut wide = Array2::zeros((4, 3 * room));
        let same = |starts: ArrayViewMut1<i64>, columns: ArrayViewMut2<f64>| {
            let offsets = [0, 500];
            check(
                &devices,
                &aggregation,
                &offsets,
                points,
                &expected,
                starts,
                columns,
            );
        };
        same(
            starts.slice_mut(s![..;2]),
            transposed.view_mut().reversed_axes(),
        );
        same(
            starts.slice_mut(s![..room;-1]),
            wide.slice_mut(s![..;2, ..;3]),
        );
        same(
            starts.slice_mut(s![1..=room]),
            wide.slice_mut(s![1..3;-1, ..room]),
        );
    }
}

/// Several devices, and a device that has memory only for a part of the points.
#[test]
fn divided_points() {
    for device in with_kernels() {
        let count = size(&device, 50_000, 5000);
        let (timestamps, values) = (ascending(count, 0, 3), values::<f64>(count, 4));
        let points = (timestamps.view(), values.view());
        // Exact in whatever partitions.
        let aggregation = TimeBuckets::every(50).methods(&[Method::COUNT, Method::MAX]);
        let expected = aggregation.aggregate(&device, points.0, points.1).unwrap();
        // The points alone take more.
        let little = device.with_memory_limit(1 << 14);
        for devices in [several(&device, 3), vec![little]] {
            let mut starts = Array1::zeros(expected.len());
            let mut columns = Array2::zeros((2, expected.len()));
            check(
                &devices,
                &aggregation,
                &[0, count],
                points,
                &expected,
                starts.view_mut(),
                columns.view_mut(),
            );
            let room = expected.len() - 1;
            let found = aggregation.aggregate_series_into(
                &devices,
                &[0, count],
                points.0,
                points.1,
                starts.slice_mut(s![..room]),
                columns.slice_mut(s![.., ..room]),
            );
            assert_error!(found, Error::Shape { .. });
            let said = format!(
                "aggregate_series_into: there are {} buckets, but starts and columns have room for \
                 {room}: make them longer",
                expected.len()
            );
            fails(found, &[&said]);
        }
    }
}

#[test]
fn arrays_that_do_not_fit_are_refused() {
    let (timestamps, values) = (array![0, 5, 35, 80], array![1.0, 2.0, 4.0, 8.0]);
    let aggregation = TimeBuckets::every(35).methods(&[Method::COUNT, Method::MEAN]);
    for device in devices() {
        let refuse = |room: usize, shape: (usize, usize), message: &str| {
            let (mut starts, mut columns) = (Array1::zeros(room), Array2::zeros(shape));
            let found = aggregation.aggregate_into(
                &device,
                timestamps.view(),
                values.view(),
                starts.view_mut(),
                columns.view_mut(),
            );
            assert_error!(found, Error::Shape { .. });
            fails(found, &[message]);
        };
        let said = "aggregate_into: there are 3 buckets, but starts and columns have room for 2: \
                    make them longer";
        refuse(2, (2, 2), said);
        let said = "aggregate_into: columns has the shape [1, 4] and starts 4 elements: columns \
                    needs a row for each of the 2 methods, each as long as starts";
        refuse(4, (1, 4), said);
        refuse(4, (2, 3), "[2, 3] and starts 4 elements");
    }
}
