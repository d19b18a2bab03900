//! Adds two vectors on several streams, from ordinary and from page-locked memory, and checks every
//! sum.
//!
//! ```text
//! gridstride vector-add --streams 1,2,5
//! ```

mod summary;

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use checks::random::Random;
use clap::builder::RangedU64ValueParser;
use files::memory::room_for;
use gridstride::pipeline::{Pipeline, add};
use indicatif::ProgressBar;
use ndarray::{Array1, ArrayView1, Zip};
use program::progress;
use program::report;

use crate::common::device_names::DeviceNames;
use summary::Summary;

/// Adds two vectors of random integers into one of f64, in chunks that go to the device and back on
/// several streams at the same time, and checks every sum.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  gridstride vector-add
  gridstride vector-add --elements 100000000 --streams 1,2,4,8 --device gpus")]
pub struct Args {
    /// Elements of each vector.
    #[arg(
        long,
        // Its first name.
        alias = "n",
        default_value_t = 20_000_000,
        value_name = "N",
        help_heading = "Input"
    )]
    elements: usize,

    /// Numbers of streams to measure.
    #[arg(long, default_value = "1,2,5", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..), help_heading = "Computation")]
    streams: Vec<u16>,

    /// Memory of each device for all streams together, in MiB.
    #[arg(
        long,
        default_value_t = 64,
        value_name = "MIB",
        value_parser = clap::value_parser!(u32).range(1..),
        help_heading = "Computation"
    )]
    memory: u32,

    /// Timed additions, after one that is not timed; the median is printed.
    #[arg(
        long,
        default_value_t = 5,
        value_name = "R",
        value_parser = RangedU64ValueParser::<usize>::new().range(1..=1_000_000),
        help_heading = "Computation"
    )]
    repeat: usize,

    /// Seed of the random numbers.
    #[arg(long, default_value_t = 42, help_heading = "Input")]
    seed: u64,

    /// Where to compute: auto, cpu, cuda, cuda:N, simulator, a list such as cuda:0,cuda:1, or gpus
    /// for all GPUs.
    #[arg(
        long,
        default_value = "auto",
        hide_possible_values = true,
        help_heading = "Computation"
    )]
    device: DeviceNames,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    let repeat = args.repeat;
    let devices = args.device.open(None)?;
    // There is one name at least.
    let device = &devices[0];
    let n = args.elements;
    let no_memory = || format!("there is no memory for vectors of {n} elements: lower --elements");
    let (mut a, mut b, mut sums) = (
        room_for(n).with_context(no_memory)?,
        room_for(n).with_context(no_memory)?,
        room_for(n).with_context(no_memory)?,
    );
    for (stream, vector) in [&mut a, &mut b].into_iter().enumerate() {
        let mut random = Random::new(args.seed, stream as u64);
        vector.extend((0..args.elements).map(|_| random.next() as i32));
    }
    sums.resize(args.elements, 0.0);
    let [a, b] = [a, b].map(Array1::from_vec);
    let mut sums = Array1::from_vec(sums);
    let [locked_a, locked_b] = [&a, &b].map(|vector| -> Result<_> {
        let mut locked = device.pinned::<i32>(args.elements)?;
        locked.copy_from_slice(vector.as_slice().expect("it has no gaps"));
        Ok(locked)
    });
    let (locked_a, locked_b) = (locked_a?, locked_b?);
    let mut locked_sums = device.pinned::<f64>(args.elements)?;

    let mut summary = Summary::new(args.elements, &devices);
    let rounds = args.streams.len() * 2 * (repeat + 1);
    let bar = progress::count("adding", rounds as u64, "additions");
    for &streams in &args.streams {
        let memory = usize::try_from(u64::from(args.memory) << 20).unwrap_or(usize::MAX);
        let pipeline = Pipeline::new(&devices)
            .streams(streams.into())
            .memory(memory);
        sums.fill(f64::NAN);
        let ordinary = times(&bar, repeat, || add(&pipeline, &a, &b, &mut sums))?;
        check(&a, &b, sums.view())?;
        locked_sums.fill(f64::NAN);
        let locked = times(&bar, repeat, || {
            add(&pipeline, &locked_a, &locked_b, &mut locked_sums)
        })?;
        check(&a, &b, ArrayView1::from(&locked_sums[..]))?;
        summary.add(streams, ordinary, locked);
    }
    bar.finish_and_clear();
    report::show(&summary)
}

/// The median time of some calls, after a first one.
fn times(
    bar: &ProgressBar,
    repeat: usize,
    mut call: impl FnMut() -> gridstride::Result<()>,
) -> gridstride::Result<Duration> {
    let mut call = || call().inspect(|()| bar.inc(1));
    call()?;
    let timed = |_| {
        let start = Instant::now();
        call().map(|()| start.elapsed())
    };
    let mut times = (0..repeat)
        .map(timed)
        .collect::<gridstride::Result<Vec<_>>>()?;
    times.sort();
    Ok(times[repeat / 2])
}

/// # Errors
/// An error that names the first wrong sum.
fn check(a: &Array1<i32>, b: &Array1<i32>, sums: ArrayView1<f64>) -> Result<()> {
    let mut wrong = None;
    Zip::indexed(a)
        .and(b)
        .and(sums)
        .for_each(|index, &a, &b, &sum| {
            if wrong.is_none() && sum != f64::from(a) + f64::from(b) {
                wrong = Some((index, a, b, sum));
            }
        });
    match wrong {
        None => Ok(()),
        Some((index, a, b, sum)) => {
            anyhow::bail!("sum {index} is {sum}, but {a} + {b} is another number")
        }
    }
}
