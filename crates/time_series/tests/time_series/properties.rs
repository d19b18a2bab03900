//! Properties of time-series aggregation, on random short series, on every device.
//!
//! Most values are whole numbers, whose sums are exact: all results except variances are compared
//! bit for bit.

use gridstride::Device;
use gridstride::device::DeviceKind;
use gridstride::time_series::{
    Aggregates, Duplicates, Fill, Method, Nan, Order, Singletons, TimeBuckets,
};
use ndarray::{Array1, ArrayView1, s};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::{all_methods, compare, statistics, summarised};
use test_support::cases;
use test_support::{devices, scaled};

/// Points in order: gaps of 0 and more, and whole numbers or NaN.
fn points() -> impl Strategy<Value = (Array1<i64>, Array1<f64>)> {
    let gap = prop_oneof![2 => Just(0), 5 => 1..=6i64, 1 => 20..=60i64];
    let value = prop_oneof![9 => (-50..=50i64).prop_map(|whole| whole as f64), 1 => Just(f64::NAN)];
    (-100..=100i64, vec((gap, value), 0..=120)).prop_map(|(start, points)| {
        let times = points.iter().scan(start, |time, (gap, _)| {
            *time += gap;
            Some(*time)
        });
        (
            times.collect(),
            points.iter().map(|point| point.1).collect(),
        )
    })
}

fn aggregations() -> impl Strategy<Value = TimeBuckets> {
    let duplicates = select(vec![Duplicates::Keep, Duplicates::First, Duplicates::Last]);
    let nan = select(vec![Nan::Skip, Nan::Propagate]);
    let singletons = select(vec![Singletons::Nan, Singletons::Drop]);
    let fill = select(vec![
        Fill::None,
        Fill::Nan,
        Fill::Value(0.5),
        Fill::Previous,
    ]);
    let choices = (duplicates, nan, singletons, fill);
    (1..=30i64, -40..=40i64, choices, 0..=2u32).prop_map(
        |(granularity, origin, (duplicates, nan, singletons, fill), ddof)| {
            TimeBuckets::every(granularity)
                .origin(origin)
                .methods(&all_methods())
                .duplicates(duplicates)
                .nan(nan)
                .singletons(singletons)
                .fill(fill)
                .ddof(ddof)
        },
    )
}

fn run(
    device: &Device,
    aggregation: &TimeBuckets,
    timestamps: ArrayView1<i64>,
    values: ArrayView1<f64>,
) -> Aggregates {
    aggregation.aggregate(device, timestamps, values).unwrap()
}

/// Bits of all columns: NaN equals NaN.
fn bits(found: &Aggregates) -> Vec<Vec<u64>> {
    let columns = found.columns().iter();
    columns
        .map(|column| column.iter().map(|number| number.to_bits()).collect())
        .collect()
}

/// Values near one number, or of any size, from subnormal numbers to the largest.
fn values_of_any_size() -> impl Strategy<Value = Array1<f64>> {
    let near = (-1000..=1000i64, 0..=52i32, -1020..=960i32).prop_flat_map(|(mean, far, scale)| {
        let value = (0..=1000i64).prop_map(move |step| {
            let sum = mean as f64 * f64::powi(2.0, far) + step as f64;
            scaled(sum, scale)
        });
        vec(value, 1..=100)
    });
    let any = vec(
        proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL,
        1..=40,
    );
    prop_oneof![3 => near, 1 => any].prop_map(Array1::from)
}

/// The devices of a case: the simulator, by far the slowest, in one case of three, unless it is the
/// only device.
fn some_devices() -> impl Strategy<Value = Vec<Device>> {
    let all = devices();
    let is_fast = |device: &&Device| device.kind() != DeviceKind::Simulator;
    let fast: Vec<_> = all.iter().filter(is_fast).cloned().collect();
    let most = if fast.is_empty() { all.clone() } else { fast };
    prop_oneof![2 => Just(most), 1 => Just(all)]
}

proptest! {
    #![proptest_config(cases(64, 8))]

    /// To bounds that depend neither on the mean nor on the size of the values.
    #[test]
    fn statistics_of_values_of_any_size_are_those_of_the_reference(
        values in values_of_any_size(),
        granularity in 1..=100i64,
        devices in some_devices(),
    ) {
        let timestamps = Array1::from_iter(0..values.len() as i64);
        // Both of the states that have deviations.
        let methods = if granularity % 2 == 0 { statistics() } else { summarised() };
        let aggregation = TimeBuckets::every(granularity).methods(&methods);
        for device in devices {
            let found = aggregation.aggregate(&device, timestamps.view(), values.view());
            compare(&found.unwrap(), &aggregation, &[0, values.len()], &timestamps, &values);
        }
    }

    #[test]
    fn what_is_found_is_that_of_the_reference(
        (timestamps, values) in points(),
        aggregation in aggregations(),
        cut in 0.0..=1.0,
        devices in some_devices(),
    ) {
        let cut = (values.len() as f64 * cut) as usize;
        let offsets = [0, cut, cut, values.len()];
        for device in devices {
            let found = aggregation.aggregate_series(&device, &offsets, timestamps.view(), values.view());
            compare(&found.unwrap(), &aggregation, &offsets, &timestamps, &values);
        }
    }

    /// Each series is aggregated as if it were alone.
    #[test]
    fn series_do_not_know_of_each_other(
        (timestamps, values) in points(),
        aggregation in aggregations(),
        cut in 0.0..=1.0,
        devices in some_devices(),
    ) {
        let cut = (values.len() as f64 * cut) as usize;
        let offsets = [0, cut, values.len()];
        for device in devices {
            let both = aggregation.aggregate_series(&device, &offsets, timestamps.view(), values.view()).unwrap();
            for series in 0..2 {
                let points = s![offsets[series]..offsets[series + 1]];
                let alone = run(&device, &aggregation, timestamps.slice(points), values.slice(points));
                let buckets = both.series(series);
                let starts = both.starts();
                prop_assert_eq!(alone.starts(), starts.slice(s![buckets.clone()]));
                for (column, alone) in bits(&both).iter().zip(bits(&alone)) {
                    prop_assert_eq!(&column[buckets.clone()], &alone[..]);
                }
            }
        }
    }

    #[test]
    fn shifting_by_whole_buckets_changes_labels_alone(
        (timestamps, values) in points(),
        (granularity, buckets) in (1..=30i64, -1_000_000_000_000..=1_000_000_000_000i64),
        devices in some_devices(),
    ) {
        let aggregation = TimeBuckets::every(granularity)
            .methods(&all_methods())
            .fill(Fill::Previous);
        let by = granularity * buckets;
        for device in devices {
            let found = run(&device, &aggregation, timestamps.view(), values.view());
            let shifted = run(&device, &aggregation, (&timestamps + by).view(), values.view());
            let labels = &found.starts() + by;
            prop_assert_eq!(labels.view(), shifted.starts());
            prop_assert_eq!(bits(&found), bits(&shifted));
        }
    }

    #[test]
    fn shifting_the_origin_too_changes_labels_alone(
        (timestamps, values) in points(),
        granularity in 1..=30i64,
        by in -1_000_000_000_000..=1_000_000_000_000i64,
        devices in some_devices(),
    ) {
        let aggregation = TimeBuckets::every(granularity).methods(&all_methods());
        for device in devices {
            let found = run(&device, &aggregation, timestamps.view(), values.view());
            let shifted = aggregation.clone().origin(by);
            let shifted = run(&device, &shifted, (&timestamps + by).view(), values.view());
            let labels = &found.starts() + by;
            prop_assert_eq!(labels.view(), shifted.starts());
            prop_assert_eq!(bits(&found), bits(&shifted));
        }
    }

    /// Cut between buckets, halves give what the whole gives, but for the rate across the cut.
    #[test]
    fn halves_are_the_whole((timestamps, values) in points(), granularity in 1..=30i64, cut in 0.0..=1.0, devices in some_devices()) {
        let methods = if granularity % 2 == 0 { statistics() } else { summarised() };
        let aggregation = TimeBuckets::every(granularity).methods(&methods);
        let label = |index: usize| timestamps[index].div_euclid(granularity);
        let mut cut = (values.len() as f64 * cut) as usize;
        while cut > 0 && cut < values.len() && label(cut) == label(cut - 1) {
            cut += 1;
        }
        for device in devices {
            let whole = run(&device, &aggregation, timestamps.view(), values.view());
            let halves = [s![..cut], s![cut..]]
                .map(|half| run(&device, &aggregation, timestamps.slice(half), values.slice(half)));
            let starts: Vec<_> = halves.iter().flat_map(|half| half.starts().to_vec()).collect();
            prop_assert_eq!(whole.starts().to_vec(), starts);
            for (index, column) in bits(&whole).iter().enumerate() {
                let both = halves.each_ref().map(|half| bits(half).swap_remove(index)).concat();
                prop_assert_eq!(column, &both);
            }
        }
    }

    /// Summaries of fine buckets merge into the same coarse buckets in one step or in two.
    #[test]
    fn resampling_in_steps_is_resampling_at_once(
        (timestamps, values) in points(),
        (granularity, first, second) in (1..=5i64, 1..=5i64, 1..=5i64),
        nan in select(vec![Nan::Skip, Nan::Propagate]),
        devices in some_devices(),
    ) {
        let offsets = [0, values.len()];
        for device in devices {
            let aggregation = TimeBuckets::every(granularity).nan(nan).methods(&summarised());
            let summaries = aggregation.summaries_series(&device, &offsets, timestamps.view(), values.view());
            let steps = summaries.unwrap().resample(granularity * first).unwrap();
            let steps = steps.resample(granularity * first * second).unwrap();
            let coarse = TimeBuckets::every(granularity * first * second).nan(nan).methods(&summarised());
            let columns = steps.columns(&summarised(), 1).unwrap();
            compare(&columns, &coarse, &offsets, &timestamps, &values);
        }
    }

    #[test]
    fn sorted_points_are_those_in_any_order(
        (timestamps, order, values) in points().prop_flat_map(|(timestamps, values)| {
            let order: Vec<_> = (0..values.len()).collect();
            (Just(timestamps), Just(order).prop_shuffle(), Just(values))
        }),
        granularity in 1..=30i64,
        devices in some_devices(),
    ) {
        // Without duplicates, which keep the order of the input.
        let timestamps = Array1::from_iter(timestamps.iter().zip(0..).map(|(time, index)| time + index));
        let sorted = TimeBuckets::every(granularity).methods(&all_methods());
        let any_order = sorted.clone().order(Order::Sort);
        let mixed_values: Array1<_> = order.iter().map(|&index| values[index]).collect();
        let mixed_timestamps: Array1<_> = order.iter().map(|&index| timestamps[index]).collect();
        for device in devices {
            let expected = run(&device, &sorted, timestamps.view(), values.view());
            let found = run(&device, &any_order, mixed_timestamps.view(), mixed_values.view());
            prop_assert_eq!(found.starts(), expected.starts());
            prop_assert_eq!(bits(&found), bits(&expected));
        }
    }

    /// From the definition: a share of the values is below, the rest above.
    #[test]
    fn percentiles_are_between_the_values((timestamps, values) in points(), percent in 0.0..=100.0, devices in some_devices()) {
        let methods = [Method::percentile(percent), Method::MIN, Method::MAX, Method::COUNT];
        let aggregation = TimeBuckets::every(1 << 40).origin(-1000).methods(&methods);
        for device in devices {
            let found = run(&device, &aggregation, timestamps.view(), values.view());
            let Some(&percentile) = found.column(0).first() else { continue };
            let count = found.column(3)[0];
            if count == 0.0 {
                prop_assert!(percentile.is_nan());
                continue;
            }
            prop_assert!(found.column(1)[0] <= percentile && percentile <= found.column(2)[0]);
            let below = values.iter().filter(|value| **value < percentile).count() as f64;
            let up_to = values.iter().filter(|value| **value <= percentile).count() as f64;
            let place = (count - 1.0) * percent / 100.0;
            prop_assert!(below <= place.ceil() && up_to >= place.floor() + 1.0);
        }
    }
}
