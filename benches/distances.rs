//! Times the distances of all pairs of rows, from rows in the device's memory to distances there,
//! and checks sampled ones.
//!
//!     cargo bench -p gridstride_benches --features cuda --bench distances -- --device cuda
//!
//! `ms` is the median of whole calls by the device's events, with the least and the most, the look
//! at the rows for their largest magnitude included. `limit` is what the device needs at least: for
//! a difference and a fused multiplication and addition for each pair of numbers, or for reading the
//! rows and writing the distances once, whichever is longer. It takes the clock and the bandwidth
//! from the options, those of an H100 SXM by default. `slide` and `paired` take the rows as windows,
//! ten of each sequence: all pairs of sequences, and each with the one that has its index; and
//! `nearest` finds the ten nearest sequences of each. `error` is the largest relative error of the
//! sampled distances, and `bound` the one that is promised.

mod common;

use clap::Parser;
use common::{DeviceName, Random, Times, largest, time};
use gridstride::device::DeviceKind;
use gridstride::distances::{Component, DeviceWindows, Distances, Metric};
use gridstride::{Device, Result};
use ndarray::{Array2, ArrayView1, s};

#[derive(Parser)]
struct Args {
    /// Where to compute.
    #[arg(long, default_value = "cpu")]
    device: DeviceName,
    /// Rows of each operand; by default 10000 on a GPU, 2000 on the CPU, 200 in the simulator.
    #[arg(long)]
    rows: Option<usize>,
    /// Numbers in a row, D.
    #[arg(long, default_value_t = 96)]
    dim: usize,
    /// Timed runs, after a first one that is not.
    #[arg(long, default_value_t = 15, value_parser = common::at_least_one)]
    runs: usize,
    /// Clock of the GPU in GHz, for the limit.
    #[arg(long, default_value_t = 1.98)]
    clock: f64,
    /// Additions or fused multiplications in `f32` that a multiprocessor begins in a cycle.
    #[arg(long, default_value_t = 128.0)]
    singles: f64,
    /// The same in `f64`.
    #[arg(long, default_value_t = 64.0)]
    doubles: f64,
    /// Bandwidth of the memory in TB/s, for the limit.
    #[arg(long, default_value_t = 3.35)]
    bandwidth: f64,
    /// Passed by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

/// A type of numbers, and what the limits for it are.
struct Type {
    name: &'static str,
    roundoff: f64,
    per_cycle: f64,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let device = args.device.open()?;
    let rows = args.rows.unwrap_or(match args.device {
        DeviceName::Auto | DeviceName::Cpu => 2000,
        DeviceName::Cuda(_) => 10_000,
        DeviceName::Simulator => 200,
    });
    println!("{}", device.info());
    println!(
        "{rows} rows of {} numbers; limits for {} GHz and {} TB/s",
        args.dim, args.clock, args.bandwidth
    );
    println!(
        "{:<9} {:>4} {:>9}  {:>22} {:>9} {:>6} {:>10} {:>9} {:>9}",
        "", "type", "metric", "ms", "limit", "share", "pairs/s", "error", "bound"
    );
    let single = Type {
        name: "f32",
        roundoff: 2f64.powi(-24),
        per_cycle: args.singles,
    };
    let double = Type {
        name: "f64",
        roundoff: 2f64.powi(-53),
        per_cycle: args.doubles,
    };
    let matrices = (random(rows, args.dim, 1), random(rows, args.dim, 2));
    measure::<f64>(&args, &device, &double, &matrices.0, &matrices.1)?;
    measure_slides::<f64>(&args, &device, &double, &matrices.0, &matrices.1)?;
    let matrices = (matrices.0.mapv(|x| x as f32), matrices.1.mapv(|x| x as f32));
    measure::<f32>(&args, &device, &single, &matrices.0, &matrices.1)?;
    measure_slides::<f32>(&args, &device, &single, &matrices.0, &matrices.1)
}

/// Windows of each sequence whose slide distances are timed.
const WINDOWS: usize = 10;

/// Sequences that are found for each.
const NEAREST: usize = 10;

/// Times the slide distances of sequences whose windows are the rows: of all pairs, of each sequence
/// with the one that has its index, and of the nearest sequences of each.
fn measure_slides<T: Component>(
    args: &Args,
    device: &Device,
    numbers: &Type,
    a: &Array2<T>,
    b: &Array2<T>,
) -> Result<()> {
    let sequences = a.nrows() / WINDOWS;
    let rows = sequences * WINDOWS;
    let offsets: Vec<usize> = (0..=rows).step_by(WINDOWS).collect();
    let (a, b) = (a.slice(s![..rows, ..]), b.slice(s![..rows, ..]));
    let (a_there, b_there) = (device.upload(&a)?, device.upload(&b)?);
    let a_windows = DeviceWindows::new(&a_there, &offsets)?;
    let b_windows = DeviceWindows::new(&b_there, &offsets)?;
    let with = Distances::new();
    let (all, all_found) = time(device, args.runs, &|| {
        with.slide_distances_device(a_windows, b_windows)
    })?;
    let (each, each_found) = time(device, args.runs, &|| {
        with.slide_paired_device(a_windows, b_windows)
    })?;
    let k = NEAREST.min(sequences);
    let (nearest, nearest_found) = time(device, args.runs, &|| {
        with.slide_nearest_device(a_windows, b_windows, k)
    })?;
    let (all_found, each_found) = (all_found.download()?, each_found.download()?);
    let nearest_found = nearest_found.download()?;
    for (i, found) in nearest_found.distances.outer_iter().enumerate() {
        let mut row = all_found.row(i).to_vec();
        row.sort_unstable_by(f64::total_cmp);
        assert!(
            found.iter().eq(&row[..k]),
            "the nearest sequences are wrong"
        );
    }
    let error_of = |found: f64, i: usize, j: usize| {
        let sequence = |i: usize| s![i * WINDOWS..(i + 1) * WINDOWS, ..];
        let pairs = (a.slice(sequence(i)).into_iter()).zip(b.slice(sequence(j)));
        let sum: f64 = pairs
            .map(|(&a, &b)| (a.to_f64() - b.to_f64()).powi(2))
            .sum();
        (found - sum.sqrt()).abs() / sum.sqrt()
    };
    let sampled =
        |j: fn(usize, usize) -> usize| (0..sequences.min(100)).map(move |i| (i, j(i, sequences)));
    let all_errors = sampled(|i, sequences| (i * 7 + 3) % sequences)
        .map(|(i, j)| error_of(all_found[[i, j]], i, j));
    let each_errors = sampled(|i, _| i).map(|(i, j)| error_of(each_found[i], i, j));
    let (all_error, each_error) = (largest(all_errors), largest(each_errors));
    let roundings = (WINDOWS * args.dim + 4) as f64;
    let bound = roundings * (numbers.roundoff * 1.01 + 2f64.powi(-53));
    for (name, times, pairs, error) in [
        ("slide", all, sequences * sequences, all_error),
        ("paired", each, sequences, each_error),
        ("nearest", nearest, sequences * sequences, all_error),
    ] {
        println!(
            "{name:<9} {:>4} {:>9}  {:>22} {:>9} {:>6} {:>10.2e} {error:>9.1e} {bound:>9.1e}",
            numbers.name,
            "L2",
            times.to_string(),
            "-",
            "-",
            pairs as f64 / times.median * 1e3,
        );
        assert!(error <= bound, "the distances are wrong");
    }
    Ok(())
}

fn measure<T: Component>(
    args: &Args,
    device: &Device,
    numbers: &Type,
    a: &Array2<T>,
    b: &Array2<T>,
) -> Result<()> {
    let (a_there, b_there) = (device.upload(a)?, device.upload(b)?);
    for metric in [Metric::L2, Metric::SquaredL2] {
        let with = Distances::new().metric(metric);
        let calls: [(&str, f64, &dyn Fn() -> Result<_>); 2] = [
            ("distances", 1.0, &|| {
                with.distances_device(&a_there, &b_there)
            }),
            // Half of the arithmetic, but all of the writing.
            ("pairwise", 0.5, &|| with.pairwise_device(&a_there)),
        ];
        for (name, share_of_pairs, call) in calls {
            let mut times = Vec::new();
            let (start, end) = (device.event()?, device.event()?);
            let mut result = call()?;
            for _ in 0..args.runs {
                drop(result);
                device.record(&start)?;
                result = call()?;
                device.record(&end)?;
                times.push(end.elapsed_since(&start)?.as_secs_f64() * 1e3);
            }
            let times = Times::of(times);
            let ms = times.median;
            let others = if name == "pairwise" { a } else { b };
            let error = largest_error(a, others, metric, &result.download()?);
            let limit = limit(
                args,
                device,
                numbers,
                a.nrows(),
                share_of_pairs,
                size_of::<T>(),
            );
            // γ of D + 4, as the documentation says; on the CPU with the roundoff of f64.
            let roundoff = match device.kind() {
                DeviceKind::Cpu => 2f64.powi(-53),
                _ => numbers.roundoff,
            };
            let roundings = (args.dim + 4) as f64 * roundoff;
            // The reference has the error that f64 has.
            let bound = roundings / (1.0 - roundings) + (args.dim + 4) as f64 * 2f64.powi(-53);
            println!(
                "{name:<9} {:>4} {:>9}  {:>22} {:>9} {:>6} {:>10.2e} {error:>9.1e} {bound:>9.1e}",
                numbers.name,
                format!("{metric:?}"),
                times.to_string(),
                limit.map_or("-".into(), |limit| format!("{limit:.3}")),
                limit.map_or("-".into(), |limit| format!("{:.0}%", 100.0 * limit / ms)),
                (a.nrows() * a.nrows()) as f64 / ms * 1e3,
            );
            assert!(error <= bound, "the distances are wrong");
        }
    }
    Ok(())
}

/// The least time in ms that a GPU needs.
fn limit(
    args: &Args,
    device: &Device,
    numbers: &Type,
    rows: usize,
    share_of_pairs: f64,
    size: usize,
) -> Option<f64> {
    if !matches!(device.kind(), DeviceKind::Cuda { .. }) {
        return None;
    }
    let pairs = (rows * rows) as f64;
    let operations = 2.0 * pairs * share_of_pairs * args.dim as f64;
    let per_second = numbers.per_cycle * device.info().processors as f64 * args.clock * 1e9;
    let bytes = 8.0 * pairs + (2 * rows * args.dim * size) as f64;
    Some(1e3 * (operations / per_second).max(bytes / (args.bandwidth * 1e12)))
}

/// The largest relative error of a thousand distances and of the corners.
fn largest_error<T: Component>(
    a: &Array2<T>,
    b: &Array2<T>,
    metric: Metric,
    result: &Array2<f64>,
) -> f64 {
    let mut random = Random(3);
    let last = (a.nrows() - 1, b.nrows() - 1);
    let corners = [(0, 0), (0, last.1), (last.0, 0), last];
    let sampled = (0..1000).map(|_| (random.below(a.nrows()), random.below(b.nrows())));
    let errors = sampled.chain(corners).map(|(i, j)| {
        let exact = distance(a.row(i), b.row(j), metric);
        (result[[i, j]] - exact).abs() / exact.max(f64::MIN_POSITIVE)
    });
    largest(errors)
}

fn distance<T: Component>(a: ArrayView1<T>, b: ArrayView1<T>, metric: Metric) -> f64 {
    let pairs = a.iter().zip(b);
    let sum: f64 = pairs
        .map(|(&a, &b)| (a.to_f64() - b.to_f64()).powi(2))
        .sum();
    match metric {
        Metric::L2 => sum.sqrt(),
        Metric::SquaredL2 => sum,
    }
}

fn random(rows: usize, dim: usize, seed: u64) -> Array2<f64> {
    let mut random = Random(seed);
    Array2::from_shape_simple_fn((rows, dim), || random.uniform() - 0.5)
}
