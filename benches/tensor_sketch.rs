//! Times the tensor sketch on random DNA and checks every result.
//!
//!     cargo bench --features cuda --bench tensor_sketch -- --device cuda
//!
//! `device ms` is from sequences in the device's memory to sketches there, by the device's events;
//! `call ms` is the whole call, from and to the host's memory, by the clock. Both are medians.
//! `error` is the largest ‖sketch − exact‖ / ‖exact‖ of any sequence, where the exact sketch is
//! computed in `f64`.

use std::time::Instant;

use clap::{Parser, ValueEnum};
use gridstride::Device;
use gridstride::tensor_sketch::{Form, Sequences, Tables, TensorSketch};
use ndarray::{Array2, Axis};

#[derive(Parser)]
struct Args {
    /// Where to sketch.
    #[arg(long, value_enum, default_value = "cpu")]
    device: Where,
    /// Number of sequences.
    #[arg(long, default_value_t = 1410)]
    sequences: usize,
    /// Letters in all; by default 100 million on a GPU, 10 million on the CPU.
    #[arg(long)]
    letters: Option<usize>,
    /// Dimension D.
    #[arg(long, default_value_t = 96)]
    dim: usize,
    /// Tuple length t.
    #[arg(long, default_value_t = 4)]
    tuple: usize,
    /// Timed runs, after a first one that is not.
    #[arg(long, default_value_t = 7)]
    runs: usize,
    /// Passed by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Where {
    Cpu,
    Cuda,
    Simulator,
}

#[derive(Clone, Copy, Debug)]
enum Lengths {
    Equal,
    LogNormal,
}

fn main() -> gridstride::Result<()> {
    let args = Args::parse();
    let device = match args.device {
        Where::Cpu => Device::cpu(),
        Where::Cuda => Device::cuda(0)?,
        Where::Simulator => Device::simulator()?,
    };
    let letters = args.letters.unwrap_or(match args.device {
        Where::Cpu => 10_000_000,
        Where::Cuda => 100_000_000,
        Where::Simulator => 100_000,
    });
    println!("{}", device.info());
    println!(
        "{:<10} {:>9} {:>10} {:>8} {:>2} {:>5} {:>10} {:>10} {:>9}",
        "lengths", "sequences", "letters", "longest", "t", "D", "device ms", "call ms", "error"
    );
    for lengths in [Lengths::Equal, Lengths::LogNormal] {
        let sequences = random_sequences(lengths, args.sequences, letters);
        let sketcher = TensorSketch::new(Tables::from_seed(4, args.tuple, args.dim, 1)?);
        let (device_ms, sketches) = time_on_device(&device, &sketcher, &sequences, args.runs)?;
        let call_ms = time_calls(&device, &sketcher, &sequences, args.runs)?;
        let direct = sketcher.clone().form(Form::Direct).double();
        let exact = direct.sketch(&Device::cpu(), &sequences)?;
        println!(
            "{:<10} {:>9} {:>10} {:>8} {:>2} {:>5} {:>10.3} {:>10.3} {:>9.1e}",
            format!("{lengths:?}"),
            sequences.len(),
            sequences.total_length(),
            sequences.longest(),
            args.tuple,
            args.dim,
            device_ms,
            call_ms,
            largest_error(&sketches, &exact),
        );
    }
    Ok(())
}

/// The median time from sequences on the device to sketches there, and the sketches.
fn time_on_device(
    device: &Device,
    sketcher: &TensorSketch,
    sequences: &Sequences,
    runs: usize,
) -> gridstride::Result<(f64, Array2<f32>)> {
    let uploaded = sequences.upload(device)?;
    let (start, end) = (device.event()?, device.event()?);
    let mut sketches = sketcher.sketch_device(&uploaded)?;
    let mut times = Vec::new();
    for _ in 0..runs {
        device.record(&start)?;
        sketches = sketcher.sketch_device(&uploaded)?;
        device.record(&end)?;
        times.push(end.elapsed_since(&start)?.as_secs_f64() * 1e3);
    }
    Ok((median(times), sketches.download()?))
}

fn time_calls(
    device: &Device,
    sketcher: &TensorSketch,
    sequences: &Sequences,
    runs: usize,
) -> gridstride::Result<f64> {
    let mut times = Vec::new();
    for _ in 0..runs {
        let start = Instant::now();
        sketcher.sketch(device, sequences)?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok(median(times))
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn largest_error(sketches: &Array2<f32>, exact: &Array2<f64>) -> f64 {
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|x| x * x).sum::<f64>().sqrt();
    let rows = sketches.axis_iter(Axis(0)).zip(exact.axis_iter(Axis(0)));
    rows.map(|(sketch, exact)| {
        let pairs = sketch.iter().zip(&exact);
        let error = norm(&mut pairs.map(|(&a, &b)| f64::from(a) - b));
        error / norm(&mut exact.iter().copied()).max(f64::MIN_POSITIVE)
    })
    .fold(0.0, f64::max)
}

/// Random DNA: `count` sequences that have about `letters` letters together.
fn random_sequences(lengths: Lengths, count: usize, letters: usize) -> Sequences {
    let mut random = Random(1);
    let weights: Vec<f64> = (0..count)
        .map(|_| match lengths {
            Lengths::Equal => 1.0,
            // The spread of the contigs of a genome assembly.
            Lengths::LogNormal => (1.2 * random.normal()).exp(),
        })
        .collect();
    let sum: f64 = weights.iter().sum();
    let mut sequences = Sequences::new();
    for weight in weights {
        let length = (weight / sum * letters as f64) as usize;
        let codes: Vec<u8> = (0..length).map(|_| (random.next() >> 62) as u8).collect();
        sequences.push(&codes);
    }
    sequences
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// In (0, 1].
    fn uniform(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// By the method of Box and Muller.
    fn normal(&mut self) -> f64 {
        let angle = std::f64::consts::TAU * self.uniform();
        (-2.0 * self.uniform().ln()).sqrt() * angle.cos()
    }
}
