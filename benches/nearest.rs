//! Times the search for the nearest rows, from rows in the device's memory to indices and distances
//! there, and checks those of sampled queries.
//!
//!     cargo bench -p gridstride_benches --features cuda --bench nearest -- --device cuda
//!
//! By the device's events, or by the clock on the CPU. The error is the largest relative error of the distances of the
//! sampled queries, which has to be within the bound that is promised: their k distances are compared in order with those
//! of all rows, which the program sorts.

mod common;

use anyhow::Result;
use clap::Parser;
use common::{Clock, DeviceName, Measured, Random, Unit, grouped, largest, random, show, time};
use gridstride::Device;
use gridstride::device::DeviceKind;
use gridstride::distances::{Component, Distances, Nearest};
use ndarray::{Array2, Axis};
use rayon::prelude::*;

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
    /// Types to take.
    #[arg(long, value_delimiter = ',', default_value = "f32,f64")]
    types: Vec<String>,
    /// Timed runs, after a first one that is not.
    #[arg(long, default_value_t = 7, value_parser = common::at_least_one)]
    runs: usize,
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
    for name in &args.types {
        match name.as_str() {
            "f32" => measure::<f32>(&args, &device, queries, rows, Unit::F32, -24)?,
            "f64" => measure::<f64>(&args, &device, queries, rows, Unit::F64, -53)?,
            _ => anyhow::bail!("there is no type {name}"),
        }
    }
    Ok(())
}

/// 2 to the power of `roundoff` is the unit roundoff.
fn measure<T: Component>(
    args: &Args,
    device: &Device,
    queries: usize,
    rows: usize,
    unit: Unit,
    roundoff: i32,
) -> Result<()> {
    let of = format!("{} queries in {} rows", grouped(queries), grouped(rows));
    let matrix = |rows, seed| {
        let number = |random: &mut Random| T::from_f64(random.uniform() - 0.5);
        let numbers = random(seed, rows * args.dim, number);
        Array2::from_shape_vec((rows, args.dim), numbers).expect("whole rows")
    };
    let (queries, database) = (matrix(queries, 1), matrix(rows, 2));
    let there = (device.upload(&queries)?, device.upload(&database)?);
    // A difference takes the place of a multiply-add: 4 operations for each pair of numbers.
    let operations = 4 * queries.len() * rows;
    for &k in args.k.iter().filter(|&&k| k <= rows) {
        let call = || Distances::new().nearest_device(&there.0, &there.1, k);
        let (times, found) = time(device, args.runs, &call)?;
        // γ of D + 4, as the documentation says, and the error of the program's own distances.
        let roundings = (args.dim + 4) as f64;
        let bound = roundings * (f64::from(roundoff).exp2() * 1.01 + 2f64.powi(-53));
        let error = largest_error(&queries, &database, &found.download()?, k);
        let case = format!("{of}, k = {k}, {}", T::NAME);
        let row = match device.kind() {
            DeviceKind::Cpu => Measured::new(case, Clock::Call, times),
            // An index and a distance for each of the nearest.
            _ => Measured::new(case, Clock::Device, times).bytes(
                (queries.len() + database.len()) * size_of::<T>() + 16 * k * queries.nrows(),
            ),
        };
        show(&row.operations(operations as u64, unit).error(error))?;
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
        let exact: Vec<f64> = (database.axis_iter(Axis(0)).into_par_iter())
            .map(|row| {
                let pairs = row.into_iter().zip(queries.row(query));
                let sum: f64 = pairs.map(|(a, b)| (a.to_f64() - b.to_f64()).powi(2)).sum();
                sum.sqrt()
            })
            .collect();
        let mut order = exact.clone();
        order.par_sort_unstable_by(f64::total_cmp);
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
