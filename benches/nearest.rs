//! Times the search for the nearest rows, from rows in the device's memory to indices and distances
//! there, and checks those of sampled queries.
//!
//!     cargo bench -p gridstride_benches --features cuda --bench nearest -- --device cuda
//!
//! `ms` is the median of whole calls by the device's events, with the least and the most. `limit` is
//! the time of a difference and a fused multiplication and addition for each pair of numbers, at the
//! clock that the options name, that of an H100 SXM by default. `error` is the largest relative
//! error of the distances of the sampled queries, and `bound` the one that is promised: their k
//! distances are compared in order with those of all rows, which the program sorts.

mod common;

use clap::Parser;
use common::{DeviceName, Random, largest, time};
use gridstride::device::DeviceKind;
use gridstride::distances::{Component, Distances, Nearest};
use gridstride::{Device, Result};
use ndarray::Array2;

#[derive(Parser)]
struct Args {
    /// Where to compute.
    #[arg(long, default_value = "cpu")]
    device: DeviceName,
    /// Queries; by default 10000 on a GPU, 100 on the CPU, 10 in the simulator.
    #[arg(long)]
    queries: Option<usize>,
    /// Rows of the database; by default ten million on a GPU, 100000 on the CPU, 2000 in the
    /// simulator.
    #[arg(long)]
    rows: Option<usize>,
    /// Numbers in a row, D.
    #[arg(long, default_value_t = 96)]
    dim: usize,
    /// Nearest rows of each query.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 10, 100, 1000])]
    k: Vec<usize>,
    /// Timed runs, after a first one that is not.
    #[arg(long, default_value_t = 5, value_parser = common::at_least_one)]
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
    /// Passed by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let device = args.device.open()?;
    let (queries, rows) = match args.device {
        DeviceName::Auto | DeviceName::Cpu => (100, 100_000),
        DeviceName::Cuda(_) => (10_000, 10_000_000),
        DeviceName::Simulator => (10, 2000),
    };
    let (queries, rows) = (args.queries.unwrap_or(queries), args.rows.unwrap_or(rows));
    println!("{}", device.info());
    println!(
        "{queries} queries, {rows} rows of {} numbers; limits for {} GHz",
        args.dim, args.clock
    );
    println!(
        "{:>4} {:>5} {:>26} {:>9} {:>6} {:>10} {:>9} {:>9}",
        "type", "k", "ms", "limit", "share", "pairs/s", "error", "bound"
    );
    measure::<f32>(&args, &device, queries, rows, args.singles, -24)?;
    measure::<f64>(&args, &device, queries, rows, args.doubles, -53)
}

/// `per_cycle` is what a multiprocessor begins in a cycle, and 2 to the power of `roundoff` the unit
/// roundoff.
fn measure<T: Component>(
    args: &Args,
    device: &Device,
    queries: usize,
    rows: usize,
    per_cycle: f64,
    roundoff: i32,
) -> Result<()> {
    let (queries, database) = (
        random::<T>(queries, args.dim, 1),
        random::<T>(rows, args.dim, 2),
    );
    let there = (device.upload(&queries)?, device.upload(&database)?);
    let pairs = (queries.nrows() * rows) as f64;
    let limit = match device.kind() {
        DeviceKind::Cuda { .. } => {
            let per_second = per_cycle * device.info().processors as f64 * args.clock * 1e9;
            Some(1e3 * 2.0 * pairs * args.dim as f64 / per_second)
        }
        _ => None,
    };
    for &k in args.k.iter().filter(|&&k| k <= rows) {
        let call = || Distances::new().nearest_device(&there.0, &there.1, k);
        let (times, found) = time(device, args.runs, &call)?;
        // γ of D + 4, as the documentation says, and the error of the program's own distances.
        let roundings = (args.dim + 4) as f64;
        let bound = roundings * (f64::from(roundoff).exp2() * 1.01 + 2f64.powi(-53));
        let error = largest_error(&queries, &database, &found.download()?, k);
        let ms = times.median;
        println!(
            "{:>4} {k:>5} {:>26} {:>9} {:>6} {:>10.2e} {error:>9.1e} {bound:>9.1e}",
            T::NAME,
            times.to_string(),
            limit.map_or("-".into(), |limit| format!("{limit:.1}")),
            limit.map_or("-".into(), |limit| format!("{:.0}%", 100.0 * limit / ms)),
            pairs / ms * 1e3,
        );
        assert!(error <= bound, "the nearest rows are wrong");
    }
    Ok(())
}

/// Compares the distances of a few queries with those of all rows in order, and with those of the
/// rows that were found.
fn largest_error<T: Component>(
    queries: &Array2<T>,
    database: &Array2<T>,
    found: &Nearest,
    k: usize,
) -> f64 {
    let mut random = Random(3);
    let mut errors = Vec::new();
    for _ in 0..3 {
        let query = random.below(queries.nrows());
        let exact: Vec<f64> = (database.outer_iter())
            .map(|row| {
                let pairs = row.into_iter().zip(queries.row(query));
                let sum: f64 = pairs.map(|(a, b)| (a.to_f64() - b.to_f64()).powi(2)).sum();
                sum.sqrt()
            })
            .collect();
        let mut order = exact.clone();
        order.sort_by(f64::total_cmp);
        for place in 0..k {
            let distance = found.distances[[query, place]];
            let own = exact[found.indices[[query, place]] as usize];
            for expected in [order[place], own] {
                errors.push((distance - expected).abs() / expected.max(f64::MIN_POSITIVE));
            }
        }
    }
    largest(errors)
}

fn random<T: Component>(rows: usize, dim: usize, seed: u64) -> Array2<T> {
    let mut random = Random(seed);
    Array2::from_shape_simple_fn((rows, dim), || T::from_f64(random.uniform() - 0.5))
}
