//! Times the aggregation of time series, from points in the device's memory to columns there.
//!
//!     cargo bench -p gridstride_benches --features cuda --bench time_series -- --device cuda
//!
//! `ms` is the median of whole calls by the device's events (by the clock on the CPU), with the least and the most;
//! `GB/s` counts the bytes of the points once, and those of the buckets' starts and columns. `whole` is the clock's time
//! from views of the host to columns there, with all copies. Results are compared with those of the CPU if they are
//! another device's, and the first buckets with the plain reference. With `--sweep` lengths of buckets from 1 to 10⁶
//! points are measured instead, and written as CSV for the plot.

mod common;

use std::time::Instant;

use clap::Parser;
use common::{DeviceName, Random, Times, time, time_whole};
use gridstride::device::{DeviceArray, DeviceKind};
use gridstride::time_series::{
    Aggregates, Fill, Method, TimeBuckets, Value, reference, round_timestamps_device_inplace,
};
use gridstride::{Device, Result};
use ndarray::{Array1, Ix1, s};

#[derive(Parser)]
struct Args {
    /// Where to aggregate.
    #[arg(long, default_value = "cpu")]
    device: DeviceName,
    /// Points; by default 10⁸ on a GPU, 10⁷ on the CPU, 10⁴ in the simulator.
    #[arg(long)]
    points: Option<usize>,
    /// Timed runs, after a first one that is not.
    #[arg(long, default_value_t = 15, value_parser = common::at_least_one)]
    runs: usize,
    /// Measures lengths of buckets, and prints CSV.
    #[arg(long)]
    sweep: bool,
    /// Passed by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

/// Seconds between points, and of a bucket.
const STEP: i64 = 5;
const EVERY: i64 = 35;

const MEAN: [Method; 1] = [Method::MEAN];
const EIGHT: [Method; 8] = [
    Method::COUNT,
    Method::SUM,
    Method::MEAN,
    Method::MIN,
    Method::MAX,
    Method::FIRST,
    Method::LAST,
    Method::STD,
];

fn main() -> Result<()> {
    let args = Args::parse();
    let points = args.points.unwrap_or(match args.device {
        DeviceName::Auto | DeviceName::Cpu => 10_000_000,
        DeviceName::Cuda(_) => 100_000_000,
        DeviceName::Simulator => 10_000,
    });
    let device = args.device.open()?;
    let mut random = Random(1);
    let values: Array1<f64> = (0..points).map(|_| 50.0 + 10.0 * random.normal()).collect();
    let data = Data::new(&device, regular(points), values)?;
    if args.sweep {
        return sweep(&args, &data);
    }
    println!("{}", device.info());
    println!(
        "{:<28} {:>10} {:>22} {:>7}",
        "of points", "buckets", "ms", "GB/s"
    );
    let one = [0, points];
    data.measure(&args, "mean", &one, EVERY, &MEAN)?;
    data.measure(&args, "eight methods", &one, EVERY, &EIGHT)?;
    data.measure(&args, "median", &one, EVERY, &[Method::MEDIAN])?;
    data.measure(&args, "mean of rates", &one, EVERY, &[Method::MEAN.rate()])?;
    for (name, every) in [
        ("kurtosis", EVERY),
        ("kurtosis, buckets of 1000", 1000 * STEP),
    ] {
        data.measure(&args, name, &one, every, &[Method::KURT])?;
    }
    for (name, every) in [
        ("of 1 point", STEP),
        ("of 1000", 1000 * STEP),
        ("of 10⁶", 1_000_000 * STEP),
    ] {
        data.measure(&args, &format!("mean, buckets {name}"), &one, every, &MEAN)?;
        data.measure(
            &args,
            &format!("eight, buckets {name}"),
            &one,
            every,
            &EIGHT,
        )?;
    }
    let thousands: Vec<usize> = (0..points).step_by(1000).chain([points]).collect();
    data.measure(&args, "mean, series of 1000", &thousands, EVERY, &MEAN)?;
    data.measure(&args, "eight, series of 1000", &thousands, EVERY, &EIGHT)?;
    data.round(&args)?;
    data.whole(&args)?;

    let narrow = Data::new(
        &device,
        data.timestamps,
        data.values.mapv(|value| value as f32),
    )?;
    narrow.measure(&args, "mean of f32", &one, EVERY, &MEAN)?;
    let irregular = irregular(points, &mut random);
    let irregular = Data::new(&device, irregular, data.values)?;
    irregular.measure(&args, "mean, random gaps", &one, EVERY, &MEAN)?;
    irregular.measure(&args, "eight, random gaps", &one, EVERY, &EIGHT)?;
    irregular.measure(&args, "median, random gaps", &one, EVERY, &[Method::MEDIAN])?;
    // A third of these buckets have no points, and the deviations of most others are NaN.
    let short = TimeBuckets::every(STEP).methods(&EIGHT);
    for (name, fill) in [
        ("eight, no fill", Fill::None),
        ("eight, fill with NaN", Fill::Nan),
        ("eight, fill with previous", Fill::Previous),
    ] {
        let with = short.clone().fill(fill);
        irregular.measure_with(&args, name, &one, STEP, &with)?;
    }
    Ok(())
}

/// A point each 5 seconds.
fn regular(points: usize) -> Array1<i64> {
    (0..points as i64)
        .map(|index| 1_600_000_000 + STEP * index)
        .collect()
}

/// From 0 to 10 seconds between points.
fn irregular(points: usize, random: &mut Random) -> Array1<i64> {
    let mut timestamp = 1_600_000_000;
    let next = |_| {
        timestamp += random.below(2 * STEP as usize + 1) as i64;
        timestamp
    };
    (0..points).map(next).collect()
}

/// Points on the host and on the device.
struct Data<T: Value> {
    device: Device,
    timestamps: Array1<i64>,
    values: Array1<T>,
    there: (DeviceArray<i64, Ix1>, DeviceArray<T, Ix1>),
}

impl<T: Value> Data<T> {
    fn new(device: &Device, timestamps: Array1<i64>, values: Array1<T>) -> Result<Data<T>> {
        Ok(Data {
            there: (device.upload(&timestamps)?, device.upload(&values)?),
            device: device.clone(),
            timestamps,
            values,
        })
    }

    fn measure(
        &self,
        args: &Args,
        name: &str,
        offsets: &[usize],
        every: i64,
        methods: &[Method],
    ) -> Result<()> {
        let with = TimeBuckets::every(every).methods(methods);
        self.measure_with(args, name, offsets, every, &with)
    }

    fn measure_with(
        &self,
        args: &Args,
        name: &str,
        offsets: &[usize],
        every: i64,
        with: &TimeBuckets,
    ) -> Result<()> {
        let call = || with.aggregate_series_device(offsets, &self.there.0, &self.there.1);
        let (times, found) = time(&self.device, args.runs, &call)?;
        let found = found.download()?;
        self.check(name, offsets, every, with, &found)?;
        let points = self.timestamps.len() * (size_of::<i64>() + size_of::<T>());
        let bytes = points + found.len() * size_of::<f64>() * (1 + found.columns().len());
        println!(
            "{name:<28} {:>10} {:>22} {:>7.0}",
            found.len(),
            times.to_string(),
            bytes as f64 / times.median / 1e6
        );
        Ok(())
    }

    /// Compares all buckets with the CPU's, and the first ones with the reference's.
    fn check(
        &self,
        name: &str,
        offsets: &[usize],
        every: i64,
        with: &TimeBuckets,
        found: &Aggregates,
    ) -> Result<()> {
        let (timestamps, values) = (self.timestamps.view(), self.values.view());
        if self.device.kind() != DeviceKind::Cpu {
            let expected = with.aggregate_series(&Device::cpu(), offsets, timestamps, values)?;
            assert_eq!(found.offsets(), expected.offsets(), "{name}");
            assert_eq!(found.len(), expected.len(), "{name}");
            compare(name, found, &expected, found.len());
        }
        // Without the last bucket, which the end of the sample cuts.
        let sample = values.len().min(CHECKED + 2 * (every / STEP) as usize);
        let mut offsets: Vec<_> = offsets.iter().map(|&offset| offset.min(sample)).collect();
        offsets.dedup();
        let expected = reference::aggregate(with, &offsets, timestamps, values);
        let cut = usize::from(sample < values.len());
        compare(name, found, &expected, expected.len() - cut);
        Ok(())
    }

    fn round(&self, args: &Args) -> Result<()> {
        let mut rounded = self.device.upload(&self.timestamps)?;
        let (start, end) = (self.device.event()?, self.device.event()?);
        let mut times = Vec::new();
        for run in 0..=args.runs {
            rounded = self.device.upload(&self.timestamps)?;
            let begin = Instant::now();
            self.device.record(&start)?;
            round_timestamps_device_inplace(&mut rounded, EVERY, 0)?;
            self.device.record(&end)?;
            let elapsed = match self.device.kind() {
                DeviceKind::Cpu => begin.elapsed(),
                _ => end.elapsed_since(&start)?,
            };
            if run > 0 {
                times.push(elapsed.as_secs_f64() * 1e3);
            }
        }
        let found = rounded.download()?;
        assert!(
            found
                .iter()
                .zip(&self.timestamps)
                .all(|(&found, &t)| found == t - t.rem_euclid(EVERY))
        );
        let times = Times::of(times);
        let bytes = 2 * self.timestamps.len() * size_of::<i64>();
        println!(
            "{:<28} {:>10} {:>22} {:>7.0}",
            "round in place",
            "",
            times.to_string(),
            bytes as f64 / times.median / 1e6
        );
        Ok(())
    }

    fn whole(&self, args: &Args) -> Result<()> {
        let with = TimeBuckets::every(EVERY).methods(&MEAN);
        let call = || with.aggregate(&self.device, self.timestamps.view(), self.values.view());
        let (times, found) = time_whole(args.runs.min(5), call)?;
        let name = "mean, whole";
        self.check(name, &[0, self.values.len()], EVERY, &with, &found)?;
        println!("{name:<28} {:>10} {:>22}", "", times.to_string());
        Ok(())
    }
}

/// The reference computes the buckets of about this many points.
const CHECKED: usize = 100_000;

/// Panics unless the numbers of the first buckets agree but for the last bits of sums.
fn compare(name: &str, found: &Aggregates, expected: &Aggregates, buckets: usize) {
    let first = s![..buckets];
    assert_eq!(
        found.starts().slice(first),
        expected.starts().slice(first),
        "{name}"
    );
    for (found, expected) in found.columns().iter().zip(expected.columns()) {
        let (found, expected) = (found.slice(first), expected.slice(first));
        let is_close = |(a, b): (&f64, &f64)| {
            (a - b).abs() <= 1e-12 * b.abs().max(1.0) || a.is_nan() && b.is_nan()
        };
        assert!(
            found.iter().zip(&expected).all(is_close),
            "{name}: other results"
        );
    }
}

/// Lengths of buckets from a point to a million.
fn sweep(args: &Args, data: &Data<f64>) -> Result<()> {
    println!("method,points_per_bucket,ms,least,most,gigabytes_per_second");
    let lengths = (0..6).flat_map(|power| [1, 2, 5].map(|step| step * 10i64.pow(power)));
    for length in lengths.chain([1_000_000]) {
        for (name, methods) in [
            ("mean", &MEAN[..]),
            ("eight", &EIGHT),
            ("median", &[Method::MEDIAN]),
        ] {
            let with = TimeBuckets::every(STEP * length).methods(methods);
            let call = || with.aggregate_device(&data.there.0, &data.there.1);
            let (times, found) = time(&data.device, args.runs, &call)?;
            let found = found.download()?;
            let offsets = [0, data.values.len()];
            data.check(name, &offsets, STEP * length, &with, &found)?;
            let bytes = 16 * data.timestamps.len() + 8 * found.len() * (1 + methods.len());
            println!(
                "{name},{length},{:.4},{:.4},{:.4},{:.1}",
                times.median,
                times.least,
                times.most,
                bytes as f64 / times.median / 1e6
            );
        }
    }
    Ok(())
}
