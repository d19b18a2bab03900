//! Adds two vectors on several streams, from ordinary and from page-locked memory, and checks every
//! sum.
//!
//! ```text
//! gridstride vector-add --streams 1,2,5
//! ```

use std::fmt::Write;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use gridstride::pipeline::{Pipeline, add};
use ndarray::{Array1, ArrayView1, Zip};

use crate::common::device_names::DeviceNames;
use crate::common::random::Random;
use crate::common::report::{milliseconds, print};

/// Adds two vectors of random integers into one of f64, in chunks that go to the device and back on
/// several streams at the same time, and checks every sum.
#[derive(clap::Args)]
#[command(name = "vector_add")]
pub struct Args {
    /// Elements of each vector.
    #[arg(long, default_value_t = 20_000_000, value_name = "N")]
    n: usize,

    /// Numbers of streams to measure.
    #[arg(long, default_value = "1,2,5", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..))]
    streams: Vec<u16>,

    /// Memory of each device for all streams together, in MiB.
    #[arg(long, default_value_t = 64, value_name = "MIB")]
    memory: usize,

    /// Timed additions, after one that is not timed; the median is printed.
    #[arg(long, default_value_t = 5, value_name = "R")]
    repeat: usize,

    /// Seed of the random numbers.
    #[arg(long, default_value_t = 42)]
    seed: u64,

    /// Where to compute: auto, cpu, cuda, cuda:N, simulator, a list such as cuda:0,cuda:1, or gpus
    /// for all GPUs.
    #[arg(long, default_value = "auto")]
    device: DeviceNames,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    ensure!(args.repeat > 0, "--repeat has to be at least 1");
    let devices = args.device.open(None)?;
    // There is one name at least.
    let device = &devices[0];
    let vector = |stream| {
        let mut random = Random::new(args.seed, stream);
        Array1::from_shape_simple_fn(args.n, || random.next() as i32)
    };
    let (a, b) = (vector(0), vector(1));
    let mut sums = Array1::zeros(args.n);
    let [locked_a, locked_b] = [&a, &b].map(|vector| -> Result<_> {
        let mut locked = device.pinned::<i32>(args.n)?;
        locked.copy_from_slice(vector.as_slice().expect("it has no gaps"));
        Ok(locked)
    });
    let (locked_a, locked_b) = (locked_a?, locked_b?);
    let mut locked_sums = device.pinned::<f64>(args.n)?;

    let mut text = format!(
        "{} sums of i32 as f64, on {}\n{:>7}  {:>24}  {:>24}\n",
        args.n,
        devices
            .iter()
            .map(|device| device.info().to_string())
            .collect::<Vec<_>>()
            .join(" and "),
        "streams",
        "ordinary memory",
        "page-locked memory",
    );
    for &streams in &args.streams {
        let memory = args.memory << 20;
        let pipeline = Pipeline::new(&devices)
            .streams(streams.into())
            .memory(memory);
        sums.fill(f64::NAN);
        let ordinary = times(args.repeat, || add(&pipeline, &a, &b, &mut sums))?;
        check(&a, &b, sums.view())?;
        locked_sums.fill(f64::NAN);
        let locked = times(args.repeat, || {
            add(&pipeline, &locked_a, &locked_b, &mut locked_sums)
        })?;
        check(&a, &b, ArrayView1::from(&locked_sums[..]))?;
        writeln!(
            text,
            "{streams:>7}  {:>24}  {:>24}",
            shown(args.n, ordinary),
            shown(args.n, locked)
        )?;
    }
    text += "every sum is right\n";
    print(&text)
}

/// The median time of some calls, after a first one.
fn times(
    repeat: usize,
    mut call: impl FnMut() -> gridstride::Result<()>,
) -> gridstride::Result<Duration> {
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

fn shown(count: usize, time: Duration) -> String {
    let gigabytes = (16 * count) as f64 * 1e-9;
    format!(
        "{:.3} ms, {:.1} GB/s",
        milliseconds(time),
        gigabytes / time.as_secs_f64()
    )
}

/// # Errors
/// That of the first sum that is wrong.
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
