//! Points aggregated into buckets of time: every five seconds into 35, or as asked for.

use anyhow::{Result, anyhow, ensure};
use gridstride::Device;
use gridstride::device::{Buffer, LaunchConfig, Stream};
use gridstride::time_series::{Aggregates, Method, TimeBuckets, reference};
use ladder_kernels::timestamps::{
    count_runs, round_timestamps, sum_neighbours, sum_runs, sum_staged_neighbours,
};
use ndarray::{Array1, ArrayView1, aview1};

use super::KERNELS;
use super::climb::{Climb, Defaults, Setup};
use super::rows::Ladder;
use crate::common::random::Random;
use crate::time_series::time::{Every, SECOND};

/// The step of points and the length of buckets by default, in nanoseconds.
const STEP: i64 = 5 * SECOND;
const GRANULARITY: i64 = 35 * SECOND;

/// Where points begin: in September 2020.
const START: i64 = 1_600_000_000 * SECOND;

/// With gaps, one step of so many is a gap, of at most so many buckets.
const STEPS_OF_A_GAP: u64 = 1000;
const BUCKETS_OF_A_GAP: u64 = 100;

/// The most steps of a bucket: v3 stages the points of a warp's buckets, 8 bytes each, in 48 KiB.
const MOST_STEPS: i64 = (48 << 10) / (8 * WARP as i64);
const WARP: u32 = 32;

/// Streams, and the parts that the points are divided into.
const STREAMS: usize = 4;

/// Threads of a block.
const THREADS: u32 = 256;

/// Shared memory that every GPU gives to a block.
const SHARED_BYTES: u32 = 48 << 10;

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

/// When points are, and into which buckets they go.
struct Times {
    timestamps: Vec<i64>,
    granularity: i64,
    /// Points of a bucket, if steps are regular: those of v1 to v4.
    points: usize,
    /// Whether each bucket but the last one has so many points.
    is_regular: bool,
}

impl Times {
    /// # Errors
    /// If a bucket has too many steps for v3, or if the times are beyond 64 bits of nanoseconds.
    fn new(options: &Options, n: usize, seed: u64) -> Result<Times> {
        let of = |asked: &Option<Every>, default| asked.as_ref().map_or(default, |e| e.nanoseconds);
        let (granularity, step) = (of(&options.every, GRANULARITY), of(&options.step, STEP));
        ensure!(
            granularity / step < MOST_STEPS,
            "--every is {} times --step, and v3 has shared memory for fewer than {MOST_STEPS} points of a bucket",
            granularity / step
        );
        let mut random = Random::new(seed, 1);
        // At the start of a bucket, from which regular buckets go on.
        let mut next = i128::from(START / granularity * granularity);
        let timestamps = (0..n).map(|_| {
            let now = i64::try_from(next).map_err(|_| {
                anyhow!("points every {step} ns go on beyond 2262, the end of 64 bits of nanoseconds: use fewer")
            });
            next += match options.gaps {
                false => step.into(),
                true if random.below(STEPS_OF_A_GAP) == 0 => {
                    i128::from(random.below(BUCKETS_OF_A_GAP) + 1) * i128::from(granularity)
                }
                true => i128::from(random.below(2 * step as u64 + 1)),
            };
            now
        });
        let timestamps: Vec<i64> = timestamps.collect::<Result<_>>()?;
        let last = timestamps.last().copied().unwrap_or(0);
        ensure!(
            last.checked_add(granularity).is_some(),
            "the last bucket ends beyond 2262, the end of 64 bits of nanoseconds: use fewer points or shorter buckets"
        );
        Ok(Times {
            timestamps,
            granularity,
            // Half up.
            points: ((2 * i128::from(granularity) + i128::from(step)) / (2 * i128::from(step)))
                .max(1) as usize,
            is_regular: granularity % step == 0 && !options.gaps,
        })
    }

    /// What the rows with a fixed number of points have to say about it.
    fn remark(&self, expected: &Expected, sums: &[f64]) -> Result<String> {
        if self.is_regular {
            return expected.check_sums(sums);
        }
        let wrong = expected.count_wrong(sums);
        Ok(format!(
            "the fixed {} points a bucket are wrong here: {wrong} of {} sums are not right",
            self.points,
            expected.bounds.len()
        ))
    }
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
    let title = format!(
        "Sums of {n} points, {}{} into {}, in f64",
        name(&options.step, "5s"),
        if options.gaps {
            " with irregular steps and gaps"
        } else {
            ""
        },
        name(&options.every, "35s")
    );
    let mut climb = Climb::new(setup, title);
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
        neighbours(&mut climb, &setup.device, &times, of_values, &expected)?;
        runs(&mut climb, &setup.device, &times, of_values, &expected)?;
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
    climb.with_copies(
        "gridstride, page-locked",
        "the same from page-locked memory, as v4",
        || {
            let (timestamps, values) = (aview1(&pinned_timestamps), aview1(&pinned_values));
            Ok(aggregation.aggregate(&setup.device, timestamps, values)?)
        },
        |found| expected.check(&found),
    )?;
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

/// The kernels that take a fixed number of neighbours.
fn neighbours(
    climb: &mut Climb,
    device: &Device,
    times: &Times,
    values: &[f64],
    expected: &Expected,
) -> Result<()> {
    let (n, points) = (values.len(), times.points);
    let mut sums = vec![0.0; n.div_ceil(points)];
    for (version, is_staged, changed) in [
        (
            "v1",
            false,
            "upload, download, and a thread that sums the neighbours of a bucket; of values alone",
        ),
        (
            "v3",
            true,
            "neighbours through shared memory, read without gaps",
        ),
    ] {
        let mut part = Part::new(device, n, points)?;
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
        climb.checked(times.remark(expected, &sums))?;
    }
    // Whole buckets for each stream.
    let length = n.div_ceil(STREAMS).next_multiple_of(points);
    let lengths = (0..n).step_by(length).map(|start| length.min(n - start));
    let mut parts = lengths
        .map(|length| {
            let stream = device.stream()?;
            let part = Part::new(&device.on(&stream)?, length, points)?;
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
    climb.checked(times.remark(expected, &sums))
}

/// Values in a device's memory, with room for their sums.
struct Part {
    values: Buffer<f64>,
    sums: Buffer<f64>,
    /// Points of a bucket.
    points: u32,
}

type SumKernel = cuda_std::host::Kernel<SumArguments>;
type SumArguments = (
    u32,
    cuda_std::DeviceSlice<f64>,
    cuda_std::DeviceSliceMut<f64>,
);

impl Part {
    fn new(device: &Device, length: usize, points: usize) -> Result<Part> {
        Ok(Part {
            values: device.alloc(length)?,
            sums: device.alloc(length.div_ceil(points))?,
            points: points as u32,
        })
    }

    fn arguments(&mut self) -> SumArguments {
        (self.points, self.values.slice(), self.sums.slice_mut())
    }

    fn kernel(&self, is_staged: bool) -> (&'static SumKernel, LaunchConfig) {
        let config = |threads| LaunchConfig::for_len(self.sums.len(), threads);
        if !is_staged {
            return (&sum_neighbours, config(THREADS));
        }
        // As many warps as there is shared memory for.
        let of_warp = WARP * self.points * size_of::<f64>() as u32;
        let warps = (SHARED_BYTES / of_warp).clamp(1, THREADS / WARP);
        let config = config(warps * WARP).with_shared_bytes(warps * of_warp);
        (&sum_staged_neighbours, config)
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
    times: &Times,
    values: &[f64],
    expected: &Expected,
) -> Result<()> {
    let (n, granularity) = (values.len(), times.granularity);
    let config = LaunchConfig::for_len(n, THREADS);
    let mut rounded = device.buffer_from(&times.timestamps)?;
    let to_round = rounded.slice_mut();
    // Of rounded timestamps it changes nothing, so that it can run many times. SAFETY: a thread for
    // each timestamp, none of which is near the limits of i64; the buffer lives through this
    // function, at the end of which the results of all launches have been read.
    let round =
        || unsafe { device.launch(&KERNELS, &round_timestamps, config, (granularity, to_round)) };
    climb.kernel(
        "round_timestamps",
        "a thread floors a timestamp in place",
        || Ok(round()?),
        |()| check_rounded(times, &rounded.to_vec()?),
    )?;
    climb.occupancy(&round_timestamps, config)?;
    let mut counts = device.alloc::<u32>(n)?;
    let (rounded_slice, counts_slice) = (rounded.slice(), counts.slice_mut());
    climb.kernel(
        "count_uniqs",
        "the thread at the first of a run walks it and counts",
        || {
            let arguments = (rounded_slice, counts_slice);
            // SAFETY: a count and a thread for each timestamp; buffers as above.
            Ok(unsafe { device.launch(&KERNELS, &count_runs, config, arguments) }?)
        },
        |()| expected.check_counts(&counts.to_vec()?),
    )?;
    climb.occupancy(&count_runs, config)?;
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

fn check_rounded(times: &Times, rounded: &[i64]) -> Result<String> {
    for (timestamp, found) in times.timestamps.iter().zip(rounded) {
        let expected = timestamp.div_euclid(times.granularity) * times.granularity;
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

    /// How many sums are not within the bound, or are not there.
    fn count_wrong(&self, sums: &[f64]) -> usize {
        let expected = self.aggregates.column(1);
        let found = sums.iter().map(Some).chain(std::iter::repeat(None));
        let is_right = |((found, expected), bound): &((Option<&f64>, &f64), &f64)| {
            found.is_some_and(|found| (found - **expected).abs() <= **bound)
        };
        let sums = found.zip(expected).zip(&self.bounds);
        self.bounds.len() - sums.filter(is_right).count()
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
