//! Times calls over arrays of the host on one GPU, on several, and within little memory.
//!
//!     cargo bench -p gridstride_benches --features cuda --bench devices -- --device cuda
//!
//! Milliseconds of whole calls by the clock, copies among them, medians with the least and the most. Results of each set
//! of devices are compared with the result of one device, and sums with the host's.

mod common;

use clap::Parser;
use common::boxes::pipes;
use common::{DeviceName, Random, time_whole};
use gridstride::box_overlap::{Algorithm, BoxOverlap};
use gridstride::matmul::matmul;
use gridstride::pipeline::{Pipeline, add};
use gridstride::tensor_sketch::{Sequences, Tables, TensorSketch};
use gridstride::time_series::{Method, aggregate};
use gridstride::{Device, Result};
use ndarray::{Array1, Array2, Zip};

#[derive(Parser)]
struct Args {
    /// The kind of device.
    #[arg(long, default_value = "cpu")]
    device: DeviceName,
    /// Timed calls, after a first one that is not.
    #[arg(long, default_value_t = 7, value_parser = common::at_least_one)]
    runs: usize,
    /// MiB of a device's memory in the last column.
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
    let mut sets = vec![("one".to_string(), vec![one.clone()])];
    for count in 2..=all.len() {
        sets.push((count.to_string(), all[..count].to_vec()));
    }
    sets.push((format!("one, {} MiB", args.memory), few.to_vec()));
    let heads: Vec<_> = sets.iter().map(|(head, _)| head.as_str()).collect();
    println!("| ms on | {} |", heads.join(" | "));
    println!("|---|{}", "--:|".repeat(sets.len()));
    let table = Table {
        sets: &sets,
        runs: args.runs,
    };
    products(&table, 16_384 / args.divisor)?;
    sketches(&table, 100_000_000 / args.divisor)?;
    pairs(&table, 500_000 / args.divisor)?;
    means(&table, 100_000_000 / args.divisor)?;
    sums(&table, 100_000_000 / args.divisor)
}

struct Table<'a> {
    sets: &'a [(String, Vec<Device>)],
    runs: usize,
}

impl Table<'_> {
    /// A row: the call's times on each set of devices.
    fn row<R: PartialEq>(&self, what: &str, call: impl Fn(&[Device]) -> Result<R>) -> Result<()> {
        let expected = call(&self.sets[0].1)?;
        let mut cells = Vec::new();
        for (head, devices) in self.sets {
            let (times, found) = time_whole(self.runs, || call(devices))?;
            assert!(found == expected, "{what}, {head}: other results");
            cells.push(times.to_string());
        }
        println!("| {what} | {} |", cells.join(" | "));
        Ok(())
    }
}

fn products(table: &Table, size: usize) -> Result<()> {
    let mut random = Random(1);
    let mut matrix =
        || Array2::from_shape_simple_fn((size, size), || random.uniform() as f32 - 0.5);
    let (a, b) = (matrix(), matrix());
    let what = format!("product of {size}×{size} matrices of `f32`");
    table.row(&what, |devices| matmul(devices, a.view(), b.view()))
}

fn sketches(table: &Table, letters: usize) -> Result<()> {
    let mut random = Random(2);
    let sequence = letters / 1000;
    let sequences: Sequences = (0..1000)
        .map(|_| Array1::from_shape_simple_fn(sequence, || random.below(4) as u8))
        .collect::<Vec<_>>()
        .iter()
        .map(|codes| codes.view())
        .collect();
    let sketcher = TensorSketch::new(Tables::from_seed(4, 4, 96, 1)?).normalize(true);
    let what = format!("sketches of {} letters in 1000 sequences", 1000 * sequence);
    table.row(&what, |devices| sketcher.sketch(devices, &sequences))
}

fn pairs(table: &Table, rows: usize) -> Result<()> {
    let [welds, pipes] = pipes(rows);
    let search = BoxOverlap::new().algorithm(Algorithm::BruteForce);
    let what = format!("all pairs of {rows} and {rows} boxes tested");
    table.row(&what, |devices| {
        search.overlaps(devices, welds.view(), pipes.view())
    })
}

fn means(table: &Table, points: usize) -> Result<()> {
    let mut random = Random(3);
    let timestamps = Array1::from_iter((0..points as i64).map(|i| 5 * i));
    let values = Array1::from_shape_simple_fn(points, || random.uniform());
    let what = format!("means of {points} points in buckets of 7");
    table.row(&what, |devices| {
        aggregate(
            devices,
            timestamps.view(),
            values.view(),
            35,
            &[Method::MEAN],
        )
    })
}

fn sums(table: &Table, count: usize) -> Result<()> {
    let mut random = Random(4);
    let mut vector = || Array1::from_shape_simple_fn(count, || random.next() as i32);
    let (a, b) = (vector(), vector());
    let mut sums = Array1::zeros(count);
    let what = format!("{count} sums of two vectors, chunk by chunk");
    let mut cells = Vec::new();
    for (head, devices) in table.sets {
        let pipeline = Pipeline::new(&devices[..]).streams(3).memory(256 << 20);
        // No sum of integers is NaN: each has to be written.
        sums.fill(f64::NAN);
        let (times, ()) = time_whole(table.runs, || add(&pipeline, &a, &b, &mut sums))?;
        let is_sum = |&sum: &f64, &a: &i32, &b: &i32| sum == f64::from(a) + f64::from(b);
        let are_sums = Zip::from(&sums).and(&a).and(&b).all(is_sum);
        assert!(are_sums, "{what}, {head}: other results");
        cells.push(times.to_string());
    }
    println!("| {what} | {} |", cells.join(" | "));
    Ok(())
}
