//! Times the distances of all pairs of rows, from rows in the device's memory to distances there,
//! and checks sampled ones.
//!
//!     cargo bench -p gridstride_benches --features cuda --bench distances -- --device cuda
//!
//! By the device's events, the look at the rows for their largest magnitude included. `slide` and `paired` take the rows as
//! windows, ten of each sequence: all pairs of sequences, and each with the one that has its index; and `nearest` finds
//! the ten nearest sequences of each. The error is the largest relative error of the sampled distances, which has to be
//! within the bound that is promised.

mod common;

use anyhow::Result;
use clap::Parser;
use common::{Clock, DeviceName, Measured, Random, grouped, largest, random, show, time, unit};
use gridstride::Device;
use gridstride::device::DeviceKind;
use gridstride::distances::{Component, DeviceWindows, Distances, Metric};
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
    /// Passed by cargo.
    #[arg(long, hide = true)]
    bench: bool,
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
    let matrix = |seed| {
        let numbers = random(seed, rows * args.dim, |random| random.uniform() - 0.5);
        Array2::from_shape_vec((rows, args.dim), numbers).expect("whole rows")
    };
    let (a, b) = (matrix(1), matrix(2));
    all(&args, &device, &a, &b)?;
    let [a, b] = [a, b].map(|matrix| matrix.mapv(|x| x as f32));
    all(&args, &device, &a, &b)
}

fn all<T: Component>(args: &Args, device: &Device, a: &Array2<T>, b: &Array2<T>) -> Result<()> {
    measure(args, device, a, b)?;
    measure_slides(args, device, a, b)
}

/// The unit roundoff of a type.
fn roundoff<T: Component>() -> f64 {
    match T::NAME {
        "f32" => 2f64.powi(-24),
        _ => 2f64.powi(-53),
    }
}

/// A difference, a multiplication and an addition for each pair of numbers: two instructions, each of which takes the place
/// of a multiply-add.
const OPERATIONS: usize = 4;

/// Windows of each sequence whose slide distances are timed.
const WINDOWS: usize = 10;

/// Sequences that are found for each.
const NEAREST: usize = 10;

/// Times the slide distances of sequences whose windows are the rows: of all pairs, of each sequence
/// with the one that has its index, and of the nearest sequences of each.
fn measure_slides<T: Component>(
    args: &Args,
    device: &Device,
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
    let bound = roundings * (roundoff::<T>() * 1.01 + 2f64.powi(-53));
    let of = format!("{} sequences of {WINDOWS} rows", grouped(sequences));
    let rows = 2 * rows * args.dim * size_of::<T>();
    let squared = sequences.pow(2);
    // Nearest sequences have an index of 8 bytes too.
    let found = 16 * k * sequences;
    for (name, times, pairs, bytes, error) in [
        ("slide", all, squared, 8 * squared, all_error),
        ("paired", each, sequences, 8 * sequences, each_error),
        ("nearest", nearest, squared, found, all_error),
    ] {
        let operations = OPERATIONS * pairs * WINDOWS * args.dim;
        let row = Measured::new(format!("{name}, {of}, {}", T::NAME), Clock::Device, times)
            .bytes(rows + bytes)
            .operations(operations as u64, unit(T::NAME))
            .error(error);
        show(&row)?;
        assert!(error <= bound, "the distances are wrong");
    }
    Ok(())
}

fn measure<T: Component>(args: &Args, device: &Device, a: &Array2<T>, b: &Array2<T>) -> Result<()> {
    let (a_there, b_there) = (device.upload(a)?, device.upload(b)?);
    let pairs = a.nrows() * a.nrows();
    let operations = (OPERATIONS * pairs * args.dim) as u64;
    let bytes = a.len() * size_of::<T>();
    for metric in [Metric::L2, Metric::SquaredL2] {
        let with = Distances::new().metric(metric);
        let between = time(device, args.runs, &|| {
            with.distances_device(&a_there, &b_there)
        })?;
        let within = time(device, args.runs, &|| with.pairwise_device(&a_there))?;
        let rows = grouped(a.nrows());
        let all = format!("{rows} × {rows} rows");
        let once = format!("pairs of {rows} rows");
        for (what, others, (times, found), operations, read) in [
            (all, b, between, operations, 2 * bytes),
            // Half of the arithmetic, but all of the writing.
            (once, a, within, operations / 2, bytes),
        ] {
            let error = largest_error(a, others, metric, &found.download()?);
            // γ of D + 4, as the documentation says; on the CPU with the roundoff of f64.
            let roundoff = match device.kind() {
                DeviceKind::Cpu => 2f64.powi(-53),
                _ => roundoff::<T>(),
            };
            let roundings = (args.dim + 4) as f64 * roundoff;
            // The reference has the error that f64 has.
            let bound = roundings / (1.0 - roundings) + (args.dim + 4) as f64 * 2f64.powi(-53);
            let squared = match metric {
                Metric::L2 => "",
                Metric::SquaredL2 => ", squared",
            };
            let case = format!("{what}, {}{squared}", T::NAME);
            let row = Measured::new(case, Clock::Device, times)
                .bytes(read + 8 * pairs)
                .operations(operations, unit(T::NAME))
                .error(error);
            show(&row)?;
            assert!(error <= bound, "the distances are wrong");
        }
    }
    Ok(())
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
