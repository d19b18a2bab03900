//! Points aggregated into buckets of time: every five seconds into 35, or as asked for.

mod expected;
mod neighbours;
mod runs;
mod times;

use anyhow::Result;
use checks::random::Random;
use files::time::Every;
use gridstride::time_series::{Method, TimeBuckets};
use ndarray::{Array1, ArrayViewMut1, ArrayViewMut2, aview1};

use super::climb::Climb;
use super::rows::Ladder;
use super::setup::{Defaults, Setup};
use expected::Expected;
use times::Times;

/// Threads of a block.
const THREADS: u32 = 256;

/// The size.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Options {
    /// Points; 1024·1024·6 on a GPU.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub points: Option<u32>,

    /// The length of a bucket, for example 13s, 1m or 200ms. 35s by default.
    #[arg(long, value_name = "DURATION")]
    pub every: Option<Every>,

    /// The time from a point to the next one, 5s by default. v1, v3 and v4 sum the number of steps
    /// in a bucket, rounded, which is right only if a bucket is a multiple of the step.
    #[arg(long, value_name = "DURATION")]
    pub step: Option<Every>,

    /// Let steps vary from nothing to twice the step, and one of a thousand be a gap of up to a
    /// hundred buckets.
    #[arg(long)]
    pub gaps: bool,
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
    let name = |asked: &Option<Every>, default: &str| {
        asked
            .as_ref()
            .map_or(default.to_owned(), |e| e.text.clone())
    };
    let points = format!(
        "{}{} into {}",
        name(&options.step, "5s"),
        if options.gaps {
            " with irregular steps and gaps"
        } else {
            ""
        },
        name(&options.every, "35s")
    );
    let title = format!("Sums of {n} points, {points}, in f64");
    let is_default = options.step.is_none() && options.every.is_none() && !options.gaps;
    let variant = if is_default { String::new() } else { points };
    let mut climb = Climb::new(setup, title).variant(variant);
    climb.say("the points and the reference");
    let mut random = Random::new(setup.seed, 0);
    let values: Array1<f64> = (0..n).map(|_| 2.0 * random.unit() - 1.0).collect();
    let times = Times::new(options, n, setup.seed)?;
    let timestamps = aview1(&times.timestamps);
    let aggregation = TimeBuckets::every(times.granularity).methods(&[Method::COUNT, Method::SUM]);
    let expected = Expected::new(&aggregation, timestamps, values.view());
    let of_values = values.as_slice().expect("a new array");

    climb.cpu(
        "plain",
        "one core, point by point",
        || Ok(plain(&times, of_values)),
        |sums| expected.check_sums(&sums),
    )?;
    if setup.has_kernels() {
        neighbours::climb(&mut climb, &setup.device, &times, of_values, &expected)?;
        runs::climb(&mut climb, &setup.device, &times, of_values, &expected)?;
    }
    let changed =
        "the library's: buckets of any size, which threads share; nothing is rounded in memory";
    let on_host = || Ok(aggregation.aggregate(&setup.device, timestamps, values.view())?);
    if !setup.has_kernels() {
        climb.library("gridstride", changed, on_host, |found| {
            expected.check(&found)
        })?;
        return Ok(climb.finish());
    }
    let on_device = (
        setup.device.upload(&timestamps)?,
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
        "the same with upload and download of timestamps too, from and to ordinary memory",
        on_host,
        |found| expected.check(&found),
    )?;
    let mut pinned_values = setup.device.pinned(n)?;
    pinned_values.copy_from_slice(of_values);
    let mut pinned_timestamps = setup.device.pinned(n)?;
    pinned_timestamps.copy_from_slice(&times.timestamps);
    let (buckets, methods) = (expected.buckets(), 2);
    let mut starts = setup.device.pinned(buckets)?;
    let mut columns = setup.device.pinned(methods * buckets)?;
    climb.with_copies(
        "gridstride, page-locked",
        "the same from and into page-locked memory that exists, as v4",
        || {
            let (timestamps, values) = (aview1(&pinned_timestamps), aview1(&pinned_values));
            let starts = ArrayViewMut1::from(&mut starts[..]);
            let columns = ArrayViewMut2::from_shape((methods, buckets), &mut columns)?;
            Ok(aggregation.aggregate_into(&setup.device, timestamps, values, starts, columns)?)
        },
        |count| expected.check_count(count),
    )?;
    let (counts, sums) = columns.split_at(buckets);
    climb.checked(expected.check_columns(aview1(&starts), aview1(counts), sums))?;
    Ok(climb.finish())
}

/// Rounds each timestamp, and begins a new sum where that changes.
fn plain(times: &Times, values: &[f64]) -> Vec<f64> {
    let (mut sums, mut bucket) = (Vec::new(), None);
    for (&timestamp, value) in times.timestamps.iter().zip(values) {
        let label = timestamp - timestamp.rem_euclid(times.granularity);
        if bucket != Some(label) {
            bucket = Some(label);
            sums.push(0.0);
        }
        *sums.last_mut().expect("one has begun") += value;
    }
    sums
}
