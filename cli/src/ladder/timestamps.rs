//! Points every five seconds, aggregated into buckets of 35 seconds.

use anyhow::{Result, ensure};
use gridstride::Device;
use gridstride::device::{Buffer, LaunchConfig, Stream};
use gridstride::time_series::{Aggregates, Method, TimeBuckets, reference};
use ladder_kernels::timestamps::{
    count_runs, round_timestamps, sum_neighbours, sum_runs, sum_staged_neighbours,
};
use ndarray::{Array1, ArrayView1};

use super::KERNELS;
use super::climb::{Climb, Defaults, Ladder, Setup};
use crate::common::random::Random;

/// Nanoseconds between points, and of a bucket.
const STEP: i64 = 5_000_000_000;
const GRANULARITY: i64 = 35_000_000_000;

/// Points of a bucket, but perhaps of the last one.
const POINTS: usize = (GRANULARITY / STEP) as usize;

/// The first point, at the start of a bucket: in September 2020.
const START: i64 = 1_600_000_000_000_000_000 / GRANULARITY * GRANULARITY;

/// Streams, and the parts that the points are divided into.
const STREAMS: usize = 4;

/// Threads of a block.
const THREADS: u32 = 256;

/// The size.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Options {
    /// Points; 1024·1024·6 on a GPU.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub points: Option<u32>,
}

/// Runs all versions.
///
/// # Errors
/// If one fails or is wrong.
pub fn climb(options: &Options, setup: &Setup) -> Result<Ladder> {
    let defaults = Defaults {
        gpu: 1024 * 1024 * 6,
        cpu: 1024 * 1024 * 6,
        simulator: 10_000,
    };
    let n = setup.size(options.points, defaults);
    let title = format!("Sums of {n} points, 5 s into 35 s, in f64");
    let mut climb = Climb::new(setup, title);
    climb.say("the points and the reference");
    let mut random = Random::new(setup.seed, 0);
    let values: Array1<f64> = (0..n).map(|_| 2.0 * random.unit() - 1.0).collect();
    let timestamps: Array1<i64> = (0..n as i64).map(|i| START + i * STEP).collect();
    let aggregation = TimeBuckets::every(GRANULARITY).methods(&[Method::COUNT, Method::SUM]);
    let expected = Expected::new(&aggregation, timestamps.view(), values.view());
    let of_values = values.as_slice().expect("a new array");
    let of_timestamps = timestamps.as_slice().expect("a new array");

    climb.cpu(
        "plain",
        "one core, point by point",
        || Ok(plain(of_timestamps, of_values)),
        |sums| expected.check_sums(&sums),
    )?;
    if setup.has_kernels() {
        neighbours(&mut climb, &setup.device, of_values, &expected)?;
        runs(
            &mut climb,
            &setup.device,
            of_timestamps,
            of_values,
            &expected,
        )?;
    }
    let changed =
        "the library's: buckets of any size, which threads share; nothing is rounded in memory";
    let on_host = || Ok(aggregation.aggregate(&setup.device, timestamps.view(), values.view())?);
    if !setup.has_kernels() {
        climb.library("gridstride", changed, on_host, |found| {
            expected.check(&found)
        })?;
        return Ok(climb.finish(None));
    }
    let on_device = (
        setup.device.upload(&timestamps.view())?,
        setup.device.upload(&values.view())?,
    );
    climb.library(
        "gridstride",
        changed,
        || Ok(aggregation.aggregate_device(&on_device.0, &on_device.1)?),
        |found| expected.check(&found.download()?),
    )?;
    climb.with_copies(
        "gridstride, copies",
        "the same with upload and download",
        on_host,
        |found| expected.check(&found),
    )?;
    Ok(climb.finish(None))
}

/// Rounds each timestamp, and begins a new sum where that changes.
fn plain(timestamps: &[i64], values: &[f64]) -> Vec<f64> {
    let (mut sums, mut bucket) = (Vec::new(), None);
    for (&timestamp, value) in timestamps.iter().zip(values) {
        let label = timestamp - timestamp.rem_euclid(GRANULARITY);
        if bucket != Some(label) {
            bucket = Some(label);
            sums.push(0.0);
        }
        *sums.last_mut().expect("one has begun") += value;
    }
    sums
}

/// The kernels that take a fixed number of neighbours.
fn neighbours(
    climb: &mut Climb,
    device: &Device,
    values: &[f64],
    expected: &Expected,
) -> Result<()> {
    let n = values.len();
    let mut sums = vec![0.0; n.div_ceil(POINTS)];
    for (version, is_staged, changed) in [
        (
            "v1",
            false,
            "upload, download, and a thread that sums seven neighbours",
        ),
        (
            "v3",
            true,
            "neighbours through shared memory, read without gaps",
        ),
    ] {
        let mut part = Part::new(device, n)?;
        climb.with_copies(
            version,
            changed,
            || {
                part.values.copy_from(values)?;
                let (kernel, config) = part.kernel(is_staged);
                let arguments = part.arguments();
                // SAFETY: a sum and a thread for each bucket, the shared memory that the config
                // gives, and buffers that live until the sums have been read.
                unsafe { device.launch(&KERNELS, kernel, config, arguments) }?;
                Ok(part.sums.copy_to(&mut sums)?)
            },
            |()| Ok(String::new()),
        )?;
        climb.checked(expected.check_sums(&sums))?;
    }
    // Whole buckets for each stream.
    let length = n.div_ceil(STREAMS).next_multiple_of(POINTS);
    let lengths = (0..n).step_by(length).map(|start| length.min(n - start));
    let mut parts = lengths
        .map(|length| {
            let stream = device.stream()?;
            let part = Part::new(&device.on(&stream)?, length)?;
            Ok((stream, part))
        })
        .collect::<Result<Vec<_>>>()?;
    let (mut pinned, mut sums) = (device.pinned(n)?, device.pinned(sums.len())?);
    pinned.copy_from_slice(values);
    climb.with_copies(
        "v4",
        "copies and kernels on four streams, from page-locked memory",
        || Ok(sum_on_streams(&mut parts, &pinned, &mut sums)?),
        |()| Ok(String::new()),
    )?;
    climb.checked(expected.check_sums(&sums))
}

/// Values in a device's memory, with room for their sums.
struct Part {
    values: Buffer<f64>,
    sums: Buffer<f64>,
}

type SumKernel = cuda_std::host::Kernel<SumArguments>;
type SumArguments = (
    u32,
    cuda_std::DeviceSlice<f64>,
    cuda_std::DeviceSliceMut<f64>,
);

impl Part {
    fn new(device: &Device, length: usize) -> Result<Part> {
        Ok(Part {
            values: device.alloc(length)?,
            sums: device.alloc(length.div_ceil(POINTS))?,
        })
    }

    fn arguments(&mut self) -> SumArguments {
        (POINTS as u32, self.values.slice(), self.sums.slice_mut())
    }

    fn kernel(&self, is_staged: bool) -> (&'static SumKernel, LaunchConfig) {
        let config = LaunchConfig::for_len(self.sums.len(), THREADS);
        let of_block = THREADS * (POINTS * size_of::<f64>()) as u32;
        match is_staged {
            true => (&sum_staged_neighbours, config.with_shared_bytes(of_block)),
            false => (&sum_neighbours, config),
        }
    }
}

/// Gives each stream its work, and waits for all only when the last one has it.
fn sum_on_streams(
    parts: &mut [(Stream, Part)],
    values: &[f64],
    sums: &mut [f64],
) -> gridstride::Result<()> {
    let Some(((stream, part), other_parts)) = parts.split_first_mut() else {
        return Ok(());
    };
    let (values, other_values) = values.split_at(part.values.len());
    let (sums, other_sums) = sums.split_at_mut(part.sums.len());
    stream.scope(|scope| {
        scope.upload(values, &mut part.values)?;
        let (kernel, config) = part.kernel(true);
        let arguments = part.arguments();
        // SAFETY: a sum and a thread for each bucket, the shared memory that the config gives, and
        // the scope waits for the stream before the buffers can go.
        unsafe { scope.stream().launch(&KERNELS, kernel, config, arguments) }?;
        scope.download(&part.sums, sums)?;
        sum_on_streams(other_parts, other_values, other_sums)
    })
}

/// The kernels that find the buckets by rounded timestamps.
fn runs(
    climb: &mut Climb,
    device: &Device,
    timestamps: &[i64],
    values: &[f64],
    expected: &Expected,
) -> Result<()> {
    let n = timestamps.len();
    let config = LaunchConfig::for_len(n, THREADS);
    let mut rounded = device.buffer_from(timestamps)?;
    let to_round = rounded.slice_mut();
    // Of rounded timestamps it changes nothing, so that it can run many times. SAFETY: a thread for
    // each timestamp, none of which is near the limits of i64; the buffer lives through this
    // function, at the end of which the results of all launches have been read.
    let round =
        || unsafe { device.launch(&KERNELS, &round_timestamps, config, (GRANULARITY, to_round)) };
    climb.kernel(
        "round_timestamps",
        "a thread floors a timestamp in place: the kernel alone",
        || Ok(round()?),
        |()| check_rounded(timestamps, &rounded.to_vec()?),
    )?;
    let mut counts = device.alloc::<u32>(n)?;
    let (rounded_slice, counts_slice) = (rounded.slice(), counts.slice_mut());
    climb.kernel(
        "count_uniqs",
        "the thread at the first of a run walks it and counts: the kernel alone",
        || {
            let arguments = (rounded_slice, counts_slice);
            // SAFETY: a count and a thread for each timestamp; buffers as above.
            Ok(unsafe { device.launch(&KERNELS, &count_runs, config, arguments) }?)
        },
        |()| expected.check_counts(&counts.to_vec()?),
    )?;
    let on_device = device.buffer_from(values)?;
    let mut sums = device.alloc::<f64>(n)?;
    let sums_slice = sums.slice_mut();
    climb.kernel(
        "sum_uniqs",
        "rounding, then the walk sums too: no fixed number of neighbours",
        || {
            round()?;
            let arguments = (rounded_slice, on_device.slice(), counts_slice, sums_slice);
            // SAFETY: a value, a count, a sum and a thread for each timestamp; buffers as above.
            Ok(unsafe { device.launch(&KERNELS, &sum_runs, config, arguments) }?)
        },
        |()| {
            let (counts, sums) = (counts.to_vec()?, sums.to_vec()?);
            expected.check_counts(&counts)?;
            let of_runs = counts.iter().zip(&sums).filter(|(count, _)| **count > 0);
            expected.check_sums(&of_runs.map(|(_, sum)| *sum).collect::<Vec<_>>())
        },
    )
}

fn check_rounded(timestamps: &[i64], rounded: &[i64]) -> Result<String> {
    for (timestamp, found) in timestamps.iter().zip(rounded) {
        let expected = timestamp.div_euclid(GRANULARITY) * GRANULARITY;
        ensure!(
            *found == expected,
            "{timestamp} is rounded to {found}, not {expected}"
        );
    }
    Ok(String::new())
}

/// What has to come out.
struct Expected {
    aggregates: Aggregates,
    bounds: Vec<f64>,
}

impl Expected {
    /// A sum of m values in any order is off by (m − 1)·u·Σ|x| at most but for terms of u², the
    /// reference by u·Σ|x|, and Σ|x| itself is computed with a relative error of u: (m + 2)·u·Σ|x|
    /// covers all, u being 2⁻⁵³.
    fn new(
        aggregation: &TimeBuckets,
        timestamps: ArrayView1<i64>,
        values: ArrayView1<f64>,
    ) -> Expected {
        let offsets = [0, values.len()];
        let magnitudes = values.mapv(f64::abs);
        let of = |values| reference::aggregate(aggregation, &offsets, timestamps, values);
        let magnitudes = of(magnitudes.view());
        let roundings = |count: f64| (count + 2.0) * f64::EPSILON / 2.0;
        let bounds = magnitudes.column(0).into_iter().zip(magnitudes.column(1));
        Expected {
            aggregates: of(values),
            bounds: bounds.map(|(count, sum)| roundings(*count) * sum).collect(),
        }
    }

    /// Counts of runs, between which there are zeros.
    fn check_counts(&self, counts: &[u32]) -> Result<String> {
        let found = counts.iter().filter(|count| **count > 0);
        let found: Vec<f64> = found.map(|count| f64::from(*count)).collect();
        ensure!(
            self.aggregates.column(0).as_slice() == Some(&found[..]),
            "the counts are not those of the reference"
        );
        Ok(String::new())
    }

    fn check_sums(&self, sums: &[f64]) -> Result<String> {
        let expected = self.aggregates.column(1);
        ensure!(
            sums.len() == expected.len(),
            "there are {} sums, not {}",
            sums.len(),
            expected.len()
        );
        for (i, ((found, expected), bound)) in
            sums.iter().zip(expected).zip(&self.bounds).enumerate()
        {
            // Not `>`: NaN is wrong too.
            ensure!(
                (found - expected).abs() <= *bound,
                "the sum of bucket {i} is {found}, not {expected}"
            );
        }
        Ok(String::new())
    }

    fn check(&self, found: &Aggregates) -> Result<String> {
        ensure!(
            found.starts() == self.aggregates.starts()
                && found.column(0) == self.aggregates.column(0),
            "the buckets or their counts are not those of the reference"
        );
        self.check_sums(&found.column(1).to_vec())
    }
}
