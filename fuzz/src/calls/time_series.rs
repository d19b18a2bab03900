//! Aggregates of time series, and rounded timestamps.

use arbitrary::{Result, Unstructured};
use gridstride::Device;
use gridstride::time_series::{
    Duplicates, Fill, Method, Nan, Order, Singletons, TimeBuckets, Value, bucket_counts,
    bucket_counts_device, round_timestamps, round_timestamps_device,
};
use ndarray::{Array1, ArrayView1, s};

use super::most;
use crate::inputs::size;
use test_support::buckets::{all_methods, compare, label};

/// The most buckets of a result, with those that are filled in.
const MOST_BUCKETS: i128 = 1000;

/// Aggregates values of either type.
pub fn time_series(device: &Device, u: &mut Unstructured) -> Result<()> {
    match u.arbitrary()? {
        true => aggregate::<f64>(device, u, |number| number),
        false => aggregate::<f32>(device, u, |number| number as f32),
    }
}

/// Draws a whole number, or a number of another size. `is_special`: also NaN, infinities and -0.0.
fn value(u: &mut Unstructured, is_special: bool) -> Result<f64> {
    Ok(match u.int_in_range(0..=15)? {
        0 if is_special => f64::NAN,
        1 if is_special => *u.choose(&[f64::INFINITY, f64::NEG_INFINITY, -0.0])?,
        2..=4 => f64::from(u.arbitrary::<i32>()?) * f64::from(u.int_in_range(-60..=30i8)?).exp2(),
        _ => f64::from(u.arbitrary::<i8>()?),
    })
}

fn options(u: &mut Unstructured) -> Result<(TimeBuckets, i64, i64)> {
    let granularity = match u.int_in_range(0..=7)? {
        0 => u.arbitrary()?,
        1 => *u.choose(&[i64::MAX, 1, 0, -1, i64::MIN, 1 << 32, (1 << 32) + 1])?,
        _ => u.int_in_range(1..=40)?,
    };
    let origin = match u.int_in_range(0..=7)? {
        0 => u.arbitrary()?,
        1 => *u.choose(&[i64::MAX, i64::MIN, i64::MIN + 1])?,
        _ => u.int_in_range(-50..=50)?,
    };
    let all = all_methods();
    let mut methods = Vec::new();
    for _ in 0..u.int_in_range(0..=5)? {
        methods.push(*u.choose(&all)?);
    }
    if u.ratio(1, 4)? {
        methods.push(Method::percentile(
            f64::from(u.arbitrary::<u16>()?) / 655.35,
        ));
    }
    let duplicates = [Duplicates::Keep, Duplicates::First, Duplicates::Last];
    let fills = [Fill::None, Fill::Nan, Fill::Value(0.5), Fill::Previous];
    let buckets = TimeBuckets::every(granularity)
        .origin(origin)
        .methods(&methods)
        .nan(*u.choose(&[Nan::Skip, Nan::Propagate])?)
        .ddof(u.int_in_range(0..=3)?)
        .singletons(*u.choose(&[Singletons::Nan, Singletons::Drop])?)
        .duplicates(*u.choose(&duplicates)?)
        .order(*u.choose(&[Order::Required, Order::Sort])?)
        .fill(*u.choose(&fills)?);
    Ok((buckets, granularity, origin))
}

/// Draws timestamps that mostly ascend by little, from anywhere.
fn timestamps(u: &mut Unstructured, count: usize) -> Result<Array1<i64>> {
    let mut time: i64 = match u.int_in_range(0..=5)? {
        0 => u.arbitrary()?,
        1 => *u.choose(&[i64::MAX - 20, i64::MIN, i64::MIN + 20])?,
        _ => u.int_in_range(-100..=100)?,
    };
    let mut times = Array1::zeros(count);
    for place in &mut times {
        *place = time;
        let step = match u.int_in_range(0..=31)? {
            0 => -i64::from(u.arbitrary::<u8>()?),
            1 => u.arbitrary::<i64>()? >> 1,
            2..=5 => i64::from(u.arbitrary::<u8>()?),
            6..=15 => 0,
            _ => u.int_in_range(1..=5)?,
        };
        time = time.saturating_add(step);
    }
    Ok(times)
}

fn aggregate<T: Value>(device: &Device, u: &mut Unstructured, of: impl Fn(f64) -> T) -> Result<()> {
    let (buckets, granularity, origin) = options(u)?;
    let count = size(u, most(device, 200, 70))?;
    let times = timestamps(u, count)?;
    let is_special = u.ratio(1, 4)?;
    let mut values = Vec::new();
    for _ in 0..count {
        values.push(of(value(u, is_special)?));
    }
    let values = Array1::from(values);
    let mut offsets = vec![
        0,
        u.int_in_range(0..=count)?,
        u.int_in_range(0..=count)?,
        count,
    ];
    if !u.ratio(1, 16)? {
        offsets.sort_unstable();
    }

    // Views with gaps, in reverse order of memory.
    let gaps = |times: &Array1<i64>| {
        let mut apart = Array1::from_elem(2 * times.len(), i64::MIN);
        apart.slice_mut(s![..;-2]).assign(times);
        apart
    };
    let apart = gaps(&times);
    let view: ArrayView1<i64> = match u.arbitrary()? {
        true => times.view(),
        false => apart.slice(s![..;-2]),
    };

    let labels: Option<Vec<i64>> = match granularity {
        1.. => times
            .iter()
            .map(|&time| label(time, granularity, origin))
            .collect(),
        _ => None,
    };
    let rounded = round_timestamps(device, view, granularity, origin);
    let there = device.upload(&view).unwrap();
    let rounded_there = round_timestamps_device(&there, granularity, origin);
    match &labels {
        Some(labels) => {
            let rounded = rounded.unwrap();
            assert_eq!(rounded.as_slice().unwrap(), labels);
            assert_eq!(rounded_there.unwrap().download().unwrap(), rounded);
        }
        None => assert!(rounded.is_err() && rounded_there.is_err()),
    }
    let counted = bucket_counts(device, view, granularity, origin);
    let counted_there = bucket_counts_device(&there, granularity, origin);
    let is_sorted = times.iter().is_sorted();
    match &labels {
        Some(labels) if is_sorted => {
            let counted = counted.unwrap();
            let mut starts = labels.clone();
            starts.dedup();
            assert_eq!(counted.starts.to_vec(), starts);
            assert_eq!(counted_there.unwrap().download().unwrap(), counted);
            let total: u64 = counted.counts.iter().map(|&count| u64::from(count)).sum();
            assert_eq!(total, count as u64);
        }
        _ => assert!(counted.is_err() && counted_there.is_err()),
    }

    let series = offsets.windows(2);
    let is_ordered = offsets.is_sorted();
    let needs_order = buckets == buckets.clone().order(Order::Required);
    let is_right = labels.is_some()
        && is_ordered
        && (!needs_order
            || series
                .clone()
                .all(|range| times.slice(s![range[0]..range[1]]).iter().is_sorted()));
    if let Some(labels) = &labels
        && is_ordered
        && buckets != buckets.clone().fill(Fill::None)
    {
        // Gaps of centuries have more buckets than memory has bytes.
        let extents = series.filter(|range| range[0] < range[1]).map(|range| {
            let labels = &labels[range[0]..range[1]];
            let (first, last) = (labels.iter().min().unwrap(), labels.iter().max().unwrap());
            (i128::from(*last) - i128::from(*first)) / i128::from(granularity)
        });
        if extents.sum::<i128>() > MOST_BUCKETS {
            return Ok(());
        }
    }
    let found = buckets.aggregate_series(device, &offsets, view, values.view());
    let values_there = device.upload(&values).unwrap();
    let found_there = buckets.aggregate_series_device(&offsets, &there, &values_there);
    if !is_right {
        assert!(found.is_err(), "{buckets:?}, offsets {offsets:?}");
        assert!(found_there.is_err(), "{buckets:?}, offsets {offsets:?}");
        return Ok(());
    }
    let found_there = found_there.unwrap().download();
    for found in [found, found_there] {
        compare(&found.unwrap(), &buckets, &offsets, &times, &values);
    }
    if count > 0 {
        let shorter = values.slice(s![1..]);
        assert!(
            buckets
                .aggregate_series(device, &offsets, view, shorter)
                .is_err()
        );
    }
    Ok(())
}
