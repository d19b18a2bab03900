//! From which sizes on a GPU takes less time than the CPU, with all copies.
//!
//!     cargo bench -p gridstride_benches --features cuda --bench crossover -- --device cuda
//!
//! Whole calls from host arrays to host arrays by the clock, on the CPU with all its cores and on another device. Sizes are
//! powers of two. The results of both devices are compared, within twice the documented bound of each kernel.

mod common;

use clap::Parser;
use common::{Clock, DeviceName, Measured, Random, random, show, time_whole};
use gridstride::box_overlap::overlaps;
use gridstride::distances::pairwise;
use gridstride::edit_distance::edit_distances;
use gridstride::matmul::{MatMul, matmul};
use gridstride::tensor_sketch::{Sequences, Tables, TensorSketch};
use gridstride::time_series::{Method, aggregate};
use gridstride::{Device, Result};
use ndarray::{Array1, Array2};

#[derive(Parser)]
struct Args {
    /// What is compared with the CPU.
    #[arg(long, default_value = "cuda")]
    device: DeviceName,
    /// Timed calls, after a first one that is not.
    #[arg(long, default_value_t = 7, value_parser = common::at_least_one)]
    runs: usize,
    /// The exponent of the largest size, to try it on a slow device; by default that of each kernel.
    #[arg(long)]
    largest: Option<u32>,
    /// A kernel ends at the size at which either device takes so many ms.
    #[arg(long, default_value_t = 500.0)]
    limit: f64,
    /// Passed by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

/// Sizes are 2⁶, 2⁸ and so on.
const FIRST: u32 = 6;
const STEP: usize = 2;

/// The numbers of a row, the length of tuples, and the letters of a sequence.
const DIM: usize = 96;
const TUPLE: usize = 4;
const SEQUENCE: usize = 1024;

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let devices = [Device::cpu(), args.device.open()?];
    for device in &devices {
        println!("{}", device.info());
    }
    let bench = Bench {
        devices: &devices,
        runs: args.runs,
    };
    let kernels: [(&str, u32, Kernel); 6] = [
        ("matmul, N×N in f32", 12, products),
        ("tensor sketch, letters", 26, sketches),
        ("edit distance, pairs of 1024 letters", 16, edits),
        ("distances, N×N rows of 96", 14, distances),
        ("box overlap, boxes of each set", 22, boxes),
        ("time series, points", 26, means),
    ];
    for (name, largest, kernel) in kernels {
        for exponent in (FIRST..=args.largest.unwrap_or(largest).min(largest)).step_by(STEP) {
            let times = kernel(&bench, 1 << exponent)?;
            let row = |times| Measured::at(name, 1 << exponent, Clock::Call, times);
            let [cpu, gpu] = times.map(row);
            let slower = cpu.median_ms.max(gpu.median_ms);
            show(&cpu.program("gridstride (CPU)"))?;
            show(&gpu)?;
            if slower > args.limit {
                break;
            }
        }
    }
    Ok(())
}

/// Times a kernel of a size on both devices.
type Kernel = fn(&Bench, usize) -> Result<[Vec<f64>; 2]>;

struct Bench<'a> {
    devices: &'a [Device; 2],
    runs: usize,
}

impl Bench<'_> {
    /// The times of a call on both devices, whose results have to agree.
    fn times<R>(
        &self,
        call: impl Fn(&Device) -> Result<R>,
        agree: impl Fn(&R, &R) -> bool,
    ) -> Result<[Vec<f64>; 2]> {
        let [cpu, gpu] = self.devices;
        let (on_cpu, expected) = time_whole(self.runs, || call(cpu))?;
        let (on_gpu, found) = time_whole(self.runs, || call(gpu))?;
        assert!(agree(&expected, &found), "the results differ");
        Ok([on_cpu, on_gpu])
    }
}

/// Whether all numbers are as close as their bounds say.
fn are_close<T: Copy + Into<f64>>(
    a: impl IntoIterator<Item = T>,
    b: impl IntoIterator<Item = T>,
    bound: impl Fn(f64) -> f64,
) -> bool {
    // Not `>`: NaN is wrong too.
    let close = |(a, b): (T, T)| {
        let (a, b) = (a.into(), b.into());
        (a - b).abs() <= bound(a)
    };
    a.into_iter().zip(b).all(close)
}

fn matrix(seed: u64, shape: (usize, usize), of: fn(f32) -> f32) -> Array2<f32> {
    let numbers = random(
        seed,
        shape.0 * shape.1,
        |random| of(random.uniform() as f32),
    );
    Array2::from_shape_vec(shape, numbers).expect("whole rows")
}

/// Letters of an alphabet of four.
fn letters(seed: u64, count: usize) -> Vec<u8> {
    random(seed, count, |random| random.below(4) as u8)
}

fn products(bench: &Bench, size: usize) -> Result<[Vec<f64>; 2]> {
    let [a, b] = [1, 2].map(|seed| matrix(seed, (size, size), |number| 2.0 * number - 1.0));
    // Σ|a|·|b| is at most k.
    let bound = 2.0 * MatMul::new().error_factor::<f32>(size) * size as f64;
    bench.times(
        |device| matmul(device, a.view(), b.view()),
        |a, b| are_close(a.iter().copied(), b.iter().copied(), |_| bound),
    )
}

fn sketches(bench: &Bench, count: usize) -> Result<[Vec<f64>; 2]> {
    let length = SEQUENCE.min(count);
    let offsets = (0..=count / length).map(|i| i * length).collect();
    let sequences = Sequences::from_concatenated(letters(2, count), offsets)?;
    let sketcher = TensorSketch::new(Tables::from_seed(4, TUPLE, DIM, 1)?).normalize(true);
    // The documented bound of normalized sketches.
    let bound = (3000 * TUPLE + 2 * DIM) as f64 * f64::from(f32::EPSILON);
    bench.times(
        |device| sketcher.sketch(device, &sequences),
        |a, b| are_close(a.iter().copied(), b.iter().copied(), |_| bound),
    )
}

/// Pairs of sequences, the second of which has every tenth letter at random.
fn edits(bench: &Bench, pairs: usize) -> Result<[Vec<f64>; 2]> {
    let a = letters(5, pairs * SEQUENCE);
    let mut b = a.clone();
    let others = letters(6, a.len().div_ceil(10));
    for (letter, other) in b.iter_mut().step_by(10).zip(others) {
        *letter = other;
    }
    let offsets: Vec<_> = (0..=pairs).map(|i| i * SEQUENCE).collect();
    let a = Sequences::from_concatenated(a, offsets.clone())?;
    let b = Sequences::from_concatenated(b, offsets)?;
    bench.times(|device| edit_distances(device, &a, &b), |a, b| a == b)
}

fn distances(bench: &Bench, size: usize) -> Result<[Vec<f64>; 2]> {
    let rows = matrix(3, (size, DIM), |number| number);
    let roundings = (DIM + 5) as f64 * f64::from(f32::EPSILON / 2.0);
    let factor = 2.0 * roundings / (1.0 - roundings);
    bench.times(
        |device| pairwise(device, rows.view()),
        |a, b| are_close(a.iter().copied(), b.iter().copied(), |a| factor * a),
    )
}

fn boxes(bench: &Bench, size: usize) -> Result<[Vec<f64>; 2]> {
    let [welds, segments] = common::boxes::pipes(size);
    bench.times(
        |device| overlaps(device, welds.view(), segments.view()),
        |a, b| a == b,
    )
}

fn means(bench: &Bench, points: usize) -> Result<[Vec<f64>; 2]> {
    let timestamps = Array1::from_iter((0..points as i64).map(|i| 5 * i));
    let values = Array1::from(random(4, points, Random::uniform));
    // Values up to 1, seven of a bucket: a rounding for each addition, and one for the division.
    let bound = 2.0 * 8.0 * f64::EPSILON;
    bench.times(
        |device| {
            aggregate(
                device,
                timestamps.view(),
                values.view(),
                35,
                &[Method::MEAN],
            )
        },
        |a, b| {
            a.starts() == b.starts()
                && are_close(
                    a.column(0).iter().copied(),
                    b.column(0).iter().copied(),
                    |_| bound,
                )
        },
    )
}
