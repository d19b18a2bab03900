//! Times calls over arrays of the host on one GPU, on several, and within little memory.
//!
//!     cargo bench -p gridstride_benches --features cuda --bench devices -- --device cuda
//!
//! Milliseconds of whole calls by the clock, copies among them, medians with the least and the most. Every result is
//! compared with that of one device.

mod common;

use std::time::Instant;

use clap::Parser;
use common::boxes::pipes;
use common::{Random, Times, Where};
use gridstride::box_overlap::{Algorithm, BoxOverlap};
use gridstride::matmul::matmul;
use gridstride::pipeline::{Pipeline, add};
use gridstride::tensor_sketch::{Sequences, Tables, TensorSketch};
use gridstride::time_series::{Method, aggregate};
use gridstride::{Device, Result};
use ndarray::{Array1, Array2};

#[derive(Parser)]
struct Args {
    /// The kind of device.
    #[arg(long, value_enum, default_value = "cpu")]
    device: Where,
    /// Timed calls, after a first one that is not.
    #[arg(long, default_value_t = 7)]
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
        Where::Cuda => Device::gpus(),
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
    fn row<R: PartialEq>(
        &self,
        what: &str,
        mut call: impl FnMut(&[Device]) -> Result<R>,
    ) -> Result<()> {
        let mut cells = Vec::new();
        let mut expected = None;
        for (_, devices) in self.sets {
            let found = call(devices)?;
            assert!(*expected.get_or_insert_with(|| call(&self.sets[0].1).ok()) == Some(found));
            let timed = |_| {
                let start = Instant::now();
                let found = call(devices)?;
                let elapsed = start.elapsed();
                drop(found);
                Ok(elapsed.as_secs_f64() * 1e3)
            };
            let times = (0..self.runs).map(timed).collect::<Result<Vec<f64>>>()?;
            cells.push(Times::of(times).to_string());
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
    let pipelines: Vec<_> = (table.sets.iter())
        .map(|(_, devices)| Pipeline::new(&devices[..]).streams(3).memory(256 << 20))
        .collect();
    let what = format!("{count} sums of two vectors, chunk by chunk");
    table.row(&what, |devices| {
        let of_as_many = |pipeline: &&Pipeline| pipeline.devices().len() == devices.len();
        let pipeline = (pipelines.iter().find(of_as_many)).expect("one for each set");
        add(pipeline, &a, &b, &mut sums)?;
        Ok(sums[count / 2])
    })
}
