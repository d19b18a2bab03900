//! Times box overlap on the CPU, on sets of several kinds, and checks that all algorithms find the same.
//!
//!     cargo bench -p gridstride_benches --bench box_overlap_cpu
//!
//! Times are medians of whole calls by the clock, in milliseconds: all pairs as compressed rows, of `f32`
//! in space. Brute force is left out where it would take too long. `RAYON_NUM_THREADS` limits the number
//! of cores.

mod common;

use clap::Parser;
use common::boxes::{self, Sets};
use common::time_whole;
use gridstride::Device;
use gridstride::box_overlap::{Algorithm, BoxOverlap, Overlaps};

#[derive(Parser)]
struct Args {
    /// Timed runs, after a first one that is not.
    #[arg(long, default_value_t = 5, value_parser = common::at_least_one)]
    runs: usize,
    /// Only kinds whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
    /// Rows of each set, in place of several sizes; kinds that have too many pairs then are left out.
    #[arg(long)]
    rows: Option<usize>,
    /// Pairs of rows up to which brute force is timed.
    #[arg(long, default_value_t = 1e10)]
    brute_force: f64,
    /// Passed by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

struct Kind {
    name: &'static str,
    sets: fn(usize) -> Sets,
    sizes: &'static [usize],
}

const SIZES: &[usize] = &[10, 100, 1000, 10_000, 200_000, 2_000_000];

const KINDS: [Kind; 8] = [
    Kind {
        name: "pipes",
        sets: boxes::pipes,
        sizes: SIZES,
    },
    Kind {
        name: "uniform",
        sets: boxes::uniform,
        sizes: SIZES,
    },
    Kind {
        name: "giants",
        sets: boxes::giants,
        sizes: SIZES,
    },
    Kind {
        name: "equal",
        sets: boxes::equal,
        sizes: &[10, 100, 1000, 10_000],
    },
    Kind {
        name: "dense",
        sets: boxes::dense,
        sizes: &[10, 100, 1000, 10_000],
    },
    Kind {
        name: "clustered",
        sets: boxes::clustered,
        sizes: SIZES,
    },
    Kind {
        name: "sticks",
        sets: boxes::sticks,
        // Two million take some four seconds a call: each stick crosses the bounding boxes of many others.
        sizes: &[10, 100, 1000, 10_000, 200_000],
    },
    Kind {
        name: "long_sticks",
        sets: boxes::long_sticks,
        sizes: &[10, 100, 1000, 10_000],
    },
];

fn main() -> gridstride::Result<()> {
    let args = Args::parse();
    println!("{}", Device::cpu().info());
    println!(
        "{:<11} {:>8} {:>10} {:>22} {:>22} {:>22}",
        "kind", "rows", "pairs", "brute force", "indexed", "auto"
    );
    for kind in KINDS.iter().filter(|kind| kind.name.contains(&args.only)) {
        let given = args.rows.as_ref().map(|rows| match kind.sizes.last() {
            Some(most) if rows <= most => std::slice::from_ref(rows),
            _ => &[],
        });
        for &rows in given.unwrap_or(kind.sizes) {
            let sets = (kind.sets)(rows);
            let (indexed, found) = time(Algorithm::Indexed, &sets, args.runs)?;
            let (auto, found_by_auto) = time(Algorithm::Auto, &sets, args.runs)?;
            assert!(
                found == found_by_auto,
                "{}, {rows} rows: auto differs",
                kind.name
            );
            let mut brute_force = String::new();
            if (rows as f64).powi(2) <= args.brute_force {
                let (times, found_by_brute_force) = time(Algorithm::BruteForce, &sets, args.runs)?;
                assert!(
                    found == found_by_brute_force,
                    "{}, {rows} rows: indexed differs",
                    kind.name
                );
                brute_force = times;
            }
            let pairs = found.pair_count();
            println!(
                "{:<11} {rows:>8} {pairs:>10} {brute_force:>22} {indexed:>22} {auto:>22}",
                kind.name
            );
        }
    }
    Ok(())
}

fn time(
    algorithm: Algorithm,
    [set1, set2]: &Sets,
    runs: usize,
) -> gridstride::Result<(String, Overlaps)> {
    let search = BoxOverlap::new().algorithm(algorithm);
    let call = || search.overlaps(&Device::cpu(), set1.view(), set2.view());
    let (times, found) = time_whole(runs, call)?;
    Ok((times.to_string(), found))
}
