//! Times time-series aggregation on the CPU and checks its results against the plain reference.
//!
//!     cargo bench -p gridstride_benches --bench time_series_cpu
//!
//! Times are medians of whole calls by the clock, with the least and the most, in milliseconds. Points are 5 s apart,
//! in nanoseconds, irregular ones give or take a second and with some gaps, and buckets 35 s long; values are a
//! random walk.
//! GB/s count each timestamp and value as read once, and each start and number as written once.
//! `RAYON_NUM_THREADS` limits the number of cores.

mod common;

use std::time::Instant;

use clap::Parser;
use common::{Random, Times};
use gridstride::Device;
use gridstride::time_series::{
    Aggregates, Duplicates, Method, Order, Summaries, Summary, TimeBuckets, bucket_counts,
    reference, round_timestamps, round_timestamps_inplace,
};
use ndarray::{Array1, ArrayView1, s};

#[derive(Parser)]
struct Args {
    /// Timed runs, after a first one that is not.
    #[arg(long, default_value_t = 9, value_parser = common::at_least_one)]
    runs: usize,
    /// Points.
    #[arg(long, default_value_t = 10_000_000)]
    points: usize,
    /// Only cases whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
    /// Passed by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

const SECOND: i64 = 1_000_000_000;
const START: i64 = 1_500_000_000 * SECOND;

/// Points whose buckets are compared with the reference.
const CHECKED: usize = 100_000;

fn main() -> gridstride::Result<()> {
    let args = Args::parse();
    let mut random = Random(1);
    let regular =
        Array1::from_iter((0..args.points as i64).map(|index| START + 5 * SECOND * index));
    let irregular = irregular(args.points, &mut random);
    let values = values(args.points, &mut random);
    println!(
        "{} threads, {} points",
        rayon::current_num_threads(),
        args.points
    );
    println!("| case | buckets | ms | GB/s |");
    println!("|---|--:|--:|--:|");
    let every = |seconds: i64| TimeBuckets::every(seconds * SECOND);
    let mut all = Method::ALL.to_vec();
    all.retain(|&method| Summaries::<Summary>::has(method));
    let rates = [Method::MEAN.rate()];
    let cases = [
        ("mean", every(35).methods(&[Method::MEAN])),
        ("mean of a day", every(86_400).methods(&[Method::MEAN])),
        ("mean of all", every(1 << 32).methods(&[Method::MEAN])),
        ("all statistics", every(35).methods(&all)),
        ("all statistics of a day", every(86_400).methods(&all)),
        ("median", every(35).methods(&[Method::MEDIAN])),
        ("median of a day", every(86_400).methods(&[Method::MEDIAN])),
        (
            "p5, median, p95",
            every(35).methods(&[
                Method::percentile(5.0),
                Method::MEDIAN,
                Method::percentile(95.0),
            ]),
        ),
        ("rate:mean", every(35).methods(&rates)),
        (
            "mean, first of duplicates",
            every(35)
                .methods(&[Method::MEAN])
                .duplicates(Duplicates::First),
        ),
        (
            "mean, sorting asked for",
            every(35).methods(&[Method::MEAN]).order(Order::Sort),
        ),
    ];
    let is_wanted = |name: &str| name.contains(&args.only);
    for (name, aggregation) in cases.iter().filter(|(name, _)| is_wanted(name)) {
        time(name, args.runs, aggregation, regular.view(), values.view())?;
    }
    let mixed = shuffled(&regular, &mut random);
    let mean = every(35).methods(&[Method::MEAN]);
    let all = every(35).methods(&all);
    for (name, aggregation, timestamps) in [
        ("mean, irregular", &mean, &irregular),
        ("all statistics, irregular", &all, &irregular),
        ("mean, unsorted", &mean.clone().order(Order::Sort), &mixed),
    ] {
        if is_wanted(name) {
            time(
                name,
                args.runs,
                aggregation,
                timestamps.view(),
                values.view(),
            )?;
        }
    }
    let names = ["round", "round in place", "counts"];
    if names.into_iter().any(is_wanted) {
        others(&args, regular)?;
    }
    Ok(())
}

/// Timestamps about 5 s apart, with gaps.
fn irregular(count: usize, random: &mut Random) -> Array1<i64> {
    let mut time = START;
    Array1::from_shape_simple_fn(count, || {
        let gap = if random.below(1000) == 0 { 60 } else { 0 };
        time += (4 + gap) * SECOND + random.below(2 * SECOND as usize) as i64;
        time
    })
}

fn values(count: usize, random: &mut Random) -> Array1<f64> {
    let mut value = 20.0;
    Array1::from_shape_simple_fn(count, || {
        value += random.normal();
        value
    })
}

/// In another order.
fn shuffled(timestamps: &Array1<i64>, random: &mut Random) -> Array1<i64> {
    let mut mixed = timestamps.clone();
    for index in (1..mixed.len()).rev() {
        mixed.swap(index, random.below(index + 1));
    }
    mixed
}

fn time(
    name: &str,
    runs: usize,
    aggregation: &TimeBuckets,
    timestamps: ArrayView1<i64>,
    values: ArrayView1<f64>,
) -> gridstride::Result<()> {
    let device = Device::cpu();
    let ours = || aggregation.aggregate(&device, timestamps, values);
    let checked = s![..CHECKED.min(values.len())];
    let (some, of_some) = (timestamps.slice(checked), values.slice(checked));
    check(
        &aggregation.aggregate(&device, some, of_some)?,
        &reference::aggregate(aggregation, &[0, some.len()], some, of_some),
        of_some,
    );
    let mut times = Vec::new();
    let mut buckets = 0;
    let mut columns = 0;
    for run in 0..=runs {
        let start = Instant::now();
        let found = ours()?;
        if run > 0 {
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
        (buckets, columns) = (found.len(), found.columns().len());
    }
    let bytes = 16 * values.len() + 8 * buckets * (1 + columns);
    print(name, buckets, bytes, times);
    Ok(())
}

fn print(name: &str, buckets: usize, bytes: usize, times: Vec<f64>) {
    let times = Times::of(times);
    let rate = bytes as f64 / times.median * 1e-6;
    println!("| {name} | {buckets} | {times} | {rate:.1} |");
}

/// No number may be farther from the reference than sums of so many values can be, times what dividing by few
/// degrees of freedom and roots make of it: generous, the tests are strict.
fn check(found: &Aggregates, expected: &Aggregates, values: ArrayView1<f64>) {
    assert_eq!(found.starts(), expected.starts());
    let largest = values.fold(0.0, |largest: f64, value| largest.max(value.abs()));
    for (column, expected) in found.columns().iter().zip(expected.columns()) {
        for (&found, &expected) in column.iter().zip(expected) {
            let both_nan = found.is_nan() && expected.is_nan();
            let error = (found - expected).abs();
            let bound = 1e-12 * (expected.abs() + largest);
            assert!(both_nan || error <= bound, "{found} is not {expected}");
        }
    }
}

/// What takes timestamps alone.
fn others(args: &Args, mut timestamps: Array1<i64>) -> gridstride::Result<()> {
    let device = Device::cpu();
    let (mut round, mut inplace, mut counts) = (Vec::new(), Vec::new(), Vec::new());
    let mut buckets = 0;
    for run in 0..=args.runs {
        let start = Instant::now();
        let rounded = round_timestamps(&device, timestamps.view(), 35 * SECOND, 0)?;
        let after_round = Instant::now();
        let found = bucket_counts(&device, timestamps.view(), 35 * SECOND, 0)?;
        let end = Instant::now();
        buckets = found.starts.len();
        assert!(
            rounded
                .iter()
                .zip(&timestamps)
                .take(CHECKED)
                .all(|(rounded, t)| *rounded == t.div_euclid(35 * SECOND) * 35 * SECOND)
        );
        if run > 0 {
            round.push((after_round - start).as_secs_f64() * 1e3);
            counts.push((end - after_round).as_secs_f64() * 1e3);
        }
    }
    for _ in 0..args.runs {
        let start = Instant::now();
        round_timestamps_inplace(&device, timestamps.view_mut(), 35 * SECOND, 0)?;
        inplace.push(start.elapsed().as_secs_f64() * 1e3);
    }
    let points = args.points;
    for (name, buckets, bytes, times) in [
        ("round", 0, 16 * points, round),
        ("round in place", 0, 16 * points, inplace),
        ("counts", buckets, 8 * points + 12 * buckets, counts),
    ] {
        if name.contains(&args.only) {
            print(name, buckets, bytes, times);
        }
    }
    Ok(())
}
