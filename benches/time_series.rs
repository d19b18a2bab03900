//! Times the aggregation of time series: by events from points in the device's memory to columns there (by the clock on the
//! CPU), and whole calls from views of the host to columns there, with all copies.
//!
//!     cargo bench -p gridstride_benches --features cuda --bench time_series -- --device cuda
//!
//! Bytes are those of the points once, and those of the buckets' starts and columns. Results are compared with those of the
//! CPU if they are another device's, and the first buckets with the plain reference. `--sweep` measures lengths of buckets
//! from 1 to 10⁶ points instead.

mod common;

use std::time::Instant;

use clap::Parser;
use common::{Clock, DeviceName, EIGHT, Measured, Random, show, time, time_whole};
use gridstride::device::{DeviceArray, DeviceKind};
use gridstride::time_series::{
    Aggregates, Fill, Method, TimeBuckets, Value, reference, round_timestamps_device_inplace,
};
use gridstride::{Device, Result};
use ndarray::{Array1, Ix1, s};
use rayon::prelude::*;

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
    /// Measures lengths of buckets.
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

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let points = args.points.unwrap_or(match args.device {
        DeviceName::Auto | DeviceName::Cpu => 10_000_000,
        DeviceName::Cuda(_) => 100_000_000,
        DeviceName::Simulator => 10_000,
    });
    let device = args.device.open()?;
    println!("{}", device.info());
    let data = Data::new(&device, regular(points), random_values(points))?;
    if args.sweep {
        return sweep(&args, &data);
    }
    let one = [0, points];
    let of_seven = |methods: &[Method]| TimeBuckets::every(EVERY).methods(methods);
    for (name, methods) in [
        ("sum", &[Method::SUM][..]),
        ("mean", &MEAN),
        ("eight methods", &EIGHT),
        ("median", &[Method::MEDIAN]),
        ("mean of rates", &[Method::MEAN.rate()]),
        ("kurtosis", &[Method::KURT]),
    ] {
        let case = format!("{name}, buckets of 7");
        data.measure(&args, &case, &one, EVERY, &of_seven(methods))?;
    }
    for (length, name) in [(1, "1"), (1000, "1000"), (1_000_000, "10⁶")] {
        for (method, methods) in [("mean", &MEAN[..]), ("eight methods", &EIGHT)] {
            let case = format!("{method}, buckets of {name}");
            let with = TimeBuckets::every(STEP * length).methods(methods);
            data.measure(&args, &case, &one, STEP * length, &with)?;
        }
    }
    let long = 1000 * STEP;
    let kurtosis = TimeBuckets::every(long).methods(&[Method::KURT]);
    data.measure(&args, "kurtosis, buckets of 1000", &one, long, &kurtosis)?;
    let thousands: Vec<usize> = (0..points).step_by(1000).chain([points]).collect();
    for (case, methods) in [
        ("mean, series of 1000", &MEAN[..]),
        ("eight methods, series of 1000", &EIGHT),
    ] {
        data.measure(&args, case, &thousands, EVERY, &of_seven(methods))?;
    }
    data.round(&args)?;
    data.whole(&args)?;

    let values = data.values.mapv(|value| value as f32);
    let narrow = Data::new(&device, data.timestamps, values)?;
    narrow.measure(
        &args,
        "mean of f32, buckets of 7",
        &one,
        EVERY,
        &of_seven(&MEAN),
    )?;
    drop(narrow);
    let irregular = Data::new(&device, irregular(points), data.values)?;
    for (case, methods) in [
        ("mean, random gaps", &MEAN[..]),
        ("eight methods, random gaps", &EIGHT),
        ("median, random gaps", &[Method::MEDIAN]),
    ] {
        irregular.measure(&args, case, &one, EVERY, &of_seven(methods))?;
    }
    // A third of these buckets have no points, and the deviations of most others are NaN.
    let short = TimeBuckets::every(STEP).methods(&EIGHT);
    for (case, fill) in [
        ("eight methods, a third empty, no fill", Fill::None),
        ("eight methods, a third empty, fill with NaN", Fill::Nan),
        (
            "eight methods, a third empty, fill with previous",
            Fill::Previous,
        ),
    ] {
        let with = short.clone().fill(fill);
        irregular.measure(&args, case, &one, STEP, &with)?;
    }
    Ok(())
}

fn random_values(points: usize) -> Array1<f64> {
    const CHUNK: usize = 1 << 16;
    let mut values = vec![0.0; points];
    let chunks = values.par_chunks_mut(CHUNK).enumerate();
    chunks.for_each(|(seed, chunk)| {
        let mut random = Random(seed as u64);
        chunk.fill_with(|| 50.0 + 10.0 * random.normal());
    });
    values.into()
}

/// A point each 5 seconds.
fn regular(points: usize) -> Array1<i64> {
    (0..points as i64)
        .map(|index| 1_600_000_000 + STEP * index)
        .collect()
}

/// From 0 to 10 seconds between points.
fn irregular(points: usize) -> Array1<i64> {
    let mut random = Random(1);
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
        case: &str,
        offsets: &[usize],
        every: i64,
        with: &TimeBuckets,
    ) -> anyhow::Result<()> {
        let call = || with.aggregate_series_device(offsets, &self.there.0, &self.there.1);
        let (times, found) = time(&self.device, args.runs, &call)?;
        let found = found.download()?;
        let error = self.check(case, offsets, every, with, &found, true)?;
        let row = Measured::new(case, Clock::Device, times);
        show(&row.bytes(self.bytes(&found)).error(error))?;
        Ok(())
    }

    /// Bytes of the points and of the buckets.
    fn bytes(&self, buckets: &Aggregates) -> usize {
        let points = self.timestamps.len() * (size_of::<i64>() + size_of::<T>());
        points + buckets.len() * size_of::<f64>() * (1 + buckets.columns().len())
    }

    /// Compares all buckets with the CPU's, if `with_cpu`, and the first ones with the reference's. Returns the largest
    /// difference.
    fn check(
        &self,
        name: &str,
        offsets: &[usize],
        every: i64,
        with: &TimeBuckets,
        found: &Aggregates,
        with_cpu: bool,
    ) -> Result<f64> {
        let (timestamps, values) = (self.timestamps.view(), self.values.view());
        let mut error = 0.0;
        if with_cpu && self.device.kind() != DeviceKind::Cpu {
            let expected = with.aggregate_series(&Device::cpu(), offsets, timestamps, values)?;
            assert_eq!(found.offsets(), expected.offsets(), "{name}");
            assert_eq!(found.len(), expected.len(), "{name}");
            error = compare(name, found, &expected, found.len());
        }
        // Without the last bucket, which the end of the sample cuts.
        let sample = values.len().min(CHECKED + 2 * (every / STEP) as usize);
        let mut offsets: Vec<_> = offsets.iter().map(|&offset| offset.min(sample)).collect();
        offsets.dedup();
        let expected = reference::aggregate(with, &offsets, timestamps, values);
        let cut = usize::from(sample < values.len());
        Ok(error.max(compare(name, found, &expected, expected.len() - cut)))
    }

    fn round(&self, args: &Args) -> anyhow::Result<()> {
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
        let bytes = 2 * self.timestamps.len() * size_of::<i64>();
        show(&Measured::new("rounded timestamps", Clock::Device, times).bytes(bytes))?;
        Ok(())
    }

    fn whole(&self, args: &Args) -> anyhow::Result<()> {
        let with = TimeBuckets::every(EVERY).methods(&MEAN);
        let call = || with.aggregate(&self.device, self.timestamps.view(), self.values.view());
        let (times, found) = time_whole(args.runs.min(5), call)?;
        let (case, one) = ("mean, buckets of 7", [0, self.values.len()]);
        let error = self.check(case, &one, EVERY, &with, &found, true)?;
        let row = Measured::new(case, Clock::Call, times);
        show(&row.bytes(self.bytes(&found)).error(error))?;
        Ok(())
    }
}

/// The reference computes the buckets of about this many points.
const CHECKED: usize = 100_000;

/// Returns the largest difference in the first buckets, relative to numbers above 1. Panics unless all agree but for the
/// last bits of sums.
fn compare(name: &str, found: &Aggregates, expected: &Aggregates, buckets: usize) -> f64 {
    let first = s![..buckets];
    assert_eq!(
        found.starts().slice(first),
        expected.starts().slice(first),
        "{name}"
    );
    let error = |(&a, &b): (&f64, &f64)| match a == b || a.is_nan() && b.is_nan() {
        true => 0.0,
        // `f64::max` drops NaN.
        false if a.is_nan() || b.is_nan() => f64::INFINITY,
        false => (a - b).abs() / b.abs().max(1.0),
    };
    let columns = found.columns().iter().zip(expected.columns());
    let errors = columns.map(|(found, expected)| {
        let [found, expected] = [found, expected].map(|column| column.as_slice().expect("whole"));
        let pairs = found[..buckets].par_iter().zip(&expected[..buckets]);
        pairs.map(error).reduce(|| 0.0, f64::max)
    });
    let largest = errors.fold(0.0, f64::max);
    assert!(largest <= 1e-12, "{name}: other results");
    largest
}

/// Lengths of buckets from a point to a million, those of powers of ten compared with the CPU.
fn sweep(args: &Args, data: &Data<f64>) -> anyhow::Result<()> {
    let lengths = (0..6).flat_map(|power| [1, 2, 5].map(|step| step * 10i64.pow(power)));
    let offsets = [0, data.values.len()];
    for length in lengths.chain([1_000_000]) {
        for (line, methods) in [
            ("mean", &MEAN[..]),
            ("eight methods", &EIGHT),
            ("median", &[Method::MEDIAN]),
        ] {
            let with = TimeBuckets::every(STEP * length).methods(methods);
            let call = || with.aggregate_device(&data.there.0, &data.there.1);
            let (times, found) = time(&data.device, args.runs, &call)?;
            let found = found.download()?;
            let with_cpu = length.to_string().starts_with('1');
            let error = data.check(line, &offsets, STEP * length, &with, &found, with_cpu)?;
            let row = Measured::at(line, length as u64, Clock::Device, times);
            show(&row.bytes(data.bytes(&found)).error(error))?;
        }
    }
    Ok(())
}
