//! Times calls over arrays of the host on one GPU, on several, and within little memory.
//!
//!     cargo bench -p gridstride_benches --features cuda --bench devices -- --device cuda
//!
//! Whole calls by the clock, copies among them. Results of each set of devices are compared with the result of one device,
//! and sums with the host's.

mod common;

use anyhow::Result;
use clap::Parser;
use common::boxes::pipes;
use common::{Clock, DeviceName, Measured, Random, grouped, random, show, time_whole};
use gridstride::Device;
use gridstride::box_overlap::{Algorithm, BoxOverlap};
use gridstride::matmul::matmul;
use gridstride::pipeline::{Pipeline, add};
use gridstride::tensor_sketch::{Sequences, Tables, TensorSketch};
use gridstride::time_series::{Method, aggregate};
use ndarray::{Array1, Array2, Zip};

#[derive(Parser)]
struct Args {
    /// The kind of device.
    #[arg(long, default_value = "cpu")]
    device: DeviceName,
    /// Timed calls, after a first one that is not.
    #[arg(long, default_value_t = 7, value_parser = common::at_least_one)]
    runs: usize,
    /// MiB of the memory of one device, which may use no more.
    #[arg(long, default_value_t = 256)]
    memory: u64,
    /// By what sizes are divided, to try it on a slow device.
    #[arg(long, default_value_t = 1)]
    divisor: usize,
    /// Passed by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let one = args.device.open()?;
    let all = match args.device {
        DeviceName::Cuda(_) => Device::gpus(),
        _ => vec![one.clone(), args.device.open()?],
    };
    for device in &all {
        println!("{}", device.info());
    }
    let few = [one.with_memory_limit(args.memory << 20)];
    let mut sets = vec![("gridstride".to_owned(), vec![one.clone()])];
    for count in 2..=all.len() {
        sets.push((format!("gridstride ({count} GPUs)"), all[..count].to_vec()));
    }
    sets.push((format!("gridstride ({} MiB)", args.memory), few.to_vec()));
    let bench = Bench {
        sets: &sets,
        runs: args.runs,
    };
    products(&bench, 16_384 / args.divisor)?;
    sketches(&bench, 100_000_000 / args.divisor)?;
    pairs(&bench, 500_000 / args.divisor)?;
    means(&bench, 100_000_000 / args.divisor)?;
    sums(&bench, 100_000_000 / args.divisor)
}

struct Bench<'a> {
    sets: &'a [(String, Vec<Device>)],
    runs: usize,
}

impl Bench<'_> {
    /// Times a call on each set of devices. `bytes` are those that have to be copied.
    fn measure<R: PartialEq>(
        &self,
        case: &str,
        bytes: usize,
        call: impl Fn(&[Device]) -> gridstride::Result<R>,
    ) -> Result<()> {
        let expected = call(&self.sets[0].1)?;
        for (program, devices) in self.sets {
            let (times, found) = time_whole(self.runs, || call(devices))?;
            assert!(found == expected, "{case}, {program}: other results");
            self.show(case, program, times, (devices, bytes))?;
        }
        Ok(())
    }

    fn show(
        &self,
        case: &str,
        program: &str,
        times: Vec<f64>,
        (devices, bytes): (&[Device], usize),
    ) -> Result<()> {
        let row = Measured::new(case, Clock::Call, times).program(program);
        // Several devices have several buses.
        Ok(show(&match devices {
            [_] => row.bytes(bytes),
            _ => row,
        })?)
    }
}

fn vector<T: Send>(
    seed: u64,
    count: usize,
    element: impl Fn(&mut Random) -> T + Sync,
) -> Array1<T> {
    random(seed, count, element).into()
}

fn products(bench: &Bench, size: usize) -> Result<()> {
    let matrix = |seed| {
        let numbers = random(seed, size * size, |random| random.uniform() as f32 - 0.5);
        Array2::from_shape_vec((size, size), numbers).expect("whole rows")
    };
    let (a, b) = (matrix(1), matrix(2));
    let case = format!("product of {size}³, f32");
    let bytes = 3 * 4 * size * size;
    bench.measure(&case, bytes, |devices| matmul(devices, a.view(), b.view()))
}

fn sketches(bench: &Bench, letters: usize) -> Result<()> {
    const COUNT: usize = 1000;
    let length = letters / COUNT;
    let codes = random(2, COUNT * length, |random| random.below(4) as u8);
    let offsets = (0..=COUNT).map(|i| i * length).collect();
    let sequences = Sequences::from_concatenated(codes, offsets)?;
    let sketcher = TensorSketch::new(Tables::from_seed(4, 4, 96, 1)?).normalize(true);
    let case = format!(
        "sketches of {COUNT} sequences of {} letters",
        grouped(length)
    );
    // Letters of 2 bits.
    let bytes = COUNT * (length / 4 + 4 * 96);
    bench.measure(&case, bytes, |devices| sketcher.sketch(devices, &sequences))
}

fn pairs(bench: &Bench, rows: usize) -> Result<()> {
    let [welds, pipes] = pipes(rows);
    let search = BoxOverlap::new().algorithm(Algorithm::BruteForce);
    let rows_text = grouped(rows);
    bench.measure(
        &format!("all pairs of {rows_text} × {rows_text} boxes tested"),
        2 * 24 * rows,
        |devices| search.overlaps(devices, welds.view(), pipes.view()),
    )
}

fn means(bench: &Bench, points: usize) -> Result<()> {
    let timestamps = Array1::from_iter((0..points as i64).map(|i| 5 * i));
    let values = vector(3, points, Random::uniform);
    bench.measure(
        &format!("means of {} points, buckets of 7", grouped(points)),
        16 * (points + points.div_ceil(7)),
        |devices| {
            let (times, values) = (timestamps.view(), values.view());
            aggregate(devices, times, values, 35, &[Method::MEAN])
        },
    )
}

fn sums(bench: &Bench, count: usize) -> Result<()> {
    let [a, b] = [4, 5].map(|seed| vector(seed, count, |random| random.next() as i32));
    let mut sums = Array1::zeros(count);
    let case = format!("sums of two vectors of {}, chunk by chunk", grouped(count));
    for (program, devices) in bench.sets {
        let pipeline = Pipeline::new(&devices[..]).streams(3).memory(256 << 20);
        // No sum of integers is NaN: each has to be written.
        sums.fill(f64::NAN);
        let (times, ()) = time_whole(bench.runs, || add(&pipeline, &a, &b, &mut sums))?;
        let is_sum = |&sum: &f64, &a: &i32, &b: &i32| sum == f64::from(a) + f64::from(b);
        let are_sums = Zip::from(&sums).and(&a).and(&b).all(is_sum);
        assert!(are_sums, "{case}, {program}: other results");
        bench.show(&case, program, times, (devices, 16 * count))?;
    }
    Ok(())
}
