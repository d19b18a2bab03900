use gridstride::time_series::{
    Method, TimeBuckets, aggregate, bucket_counts, bucket_counts_device, round_timestamps,
    round_timestamps_device, round_timestamps_device_inplace, round_timestamps_device_into,
    round_timestamps_inplace, round_timestamps_into,
};
use ndarray::{Array1, array};

use super::everywhere;

#[test]
fn every_form_of_aggregation_gives_the_same() {
    let (timestamps, values) = (array![0, 5, 35, 36], array![1.0, 2.0, 4.0, 8.0]);
    let sums = array![3.0, 12.0];
    let methods = [Method::SUM];
    everywhere(|device, set| {
        let buckets = TimeBuckets::every(35).methods(&methods);
        let (t, v) = (timestamps.view(), values.view());
        let offsets = [0, 2, 4];
        for found in [
            aggregate(device, t, v, 35, &methods),
            aggregate(set, t, v, 35, &methods),
            buckets.aggregate(device, t, v),
            buckets.aggregate(set, t, v),
            buckets.aggregate_series(device, &offsets, t, v),
            buckets.aggregate_series(set, &offsets, t, v),
        ] {
            assert_eq!(found.unwrap().column(0), sums, "{device}");
        }
        for found in [
            buckets.summaries(device, t, v),
            buckets.summaries(set, t, v),
            buckets.summaries_series(device, &offsets, t, v),
            buckets.summaries_series(set, &offsets, t, v),
            buckets.summaries_of(set, &offsets, t, v),
        ] {
            let found = found.unwrap().columns(&methods, 0).unwrap();
            assert_eq!(found.column(0), sums, "{device}");
        }

        let t = device.upload(&timestamps).unwrap();
        let v = device.upload(&values).unwrap();
        for found in [
            buckets.aggregate_device(&t, &v),
            buckets.aggregate_series_device(&offsets, &t, &v),
        ] {
            let on_device = found.unwrap();
            let found = on_device.download().unwrap();
            assert_eq!(found.column(0), sums, "{device}");
            let series = found.series_count();
            assert_eq!(on_device.series_count(), series);
            assert_eq!(
                on_device.series(series - 1).unwrap(),
                found.series(series - 1)
            );
        }
        for found in [
            buckets.summaries_device(&t, &v),
            buckets.summaries_series_device(&offsets, &t, &v),
            buckets.summaries_of_device(&offsets, &t, &v),
        ] {
            let found = found.unwrap().download().unwrap();
            let found = found.columns(&methods, 0).unwrap();
            assert_eq!(found.column(0), sums, "{device}");
        }
    });
}

#[test]
fn every_form_of_rounding_and_counting_gives_the_same() {
    let timestamps = array![0, 5, 35, 36, 80];
    let rounded = array![0, 0, 35, 35, 70];
    everywhere(|device, set| {
        let is = |found: &Array1<i64>| assert_eq!(found, rounded, "{device}");
        let counts = bucket_counts(device, timestamps.view(), 35, 0).unwrap();
        assert_eq!(counts.counts, array![2, 2, 1], "{device}");
        let found = bucket_counts(set, timestamps.view(), 35, 0).unwrap();
        assert_eq!(found, counts, "{device}");

        is(&round_timestamps(device, timestamps.view(), 35, 0).unwrap());
        is(&round_timestamps(set, timestamps.view(), 35, 0).unwrap());
        let mut out = Array1::from_elem(5, -1);
        round_timestamps_into(device, timestamps.view(), 35, 0, out.view_mut()).unwrap();
        is(&out);
        out.assign(&timestamps);
        round_timestamps_inplace(set, out.view_mut(), 35, 0).unwrap();
        is(&out);

        let mut on_device = device.upload(&timestamps).unwrap();
        let found = bucket_counts_device(&on_device, 35, 0)
            .unwrap()
            .download()
            .unwrap();
        assert_eq!(found, counts, "{device}");
        is(&round_timestamps_device(&on_device, 35, 0)
            .unwrap()
            .download()
            .unwrap());
        let mut out = device.upload(&Array1::from_elem(5, -1)).unwrap();
        round_timestamps_device_into(&on_device, 35, 0, &mut out).unwrap();
        is(&out.download().unwrap());
        round_timestamps_device_inplace(&mut on_device, 35, 0).unwrap();
        is(&on_device.download().unwrap());
    });
}
