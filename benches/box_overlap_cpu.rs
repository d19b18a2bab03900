//! Times box overlap on the CPU, on sets of several kinds, and checks that all algorithms find the same: whole calls that
//! find all pairs as compressed rows, of `f32` in space.
//!
//!     cargo bench -p gridstride_benches --bench box_overlap_cpu
//!
//! Brute force is left out where it would take too long. `RAYON_NUM_THREADS` limits the number of cores.

mod common;

use clap::Parser;
use common::boxes::{self, Sets};
use common::{Clock, Measured, grouped, show, time_whole};
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
        name: "long sticks",
        sets: boxes::long_sticks,
        sizes: &[10, 100, 1000, 10_000],
    },
];

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    println!("{}", Device::cpu().info());
    for kind in KINDS.iter().filter(|kind| kind.name.contains(&args.only)) {
        let given = args.rows.as_ref().map(|rows| match kind.sizes.last() {
            Some(most) if rows <= most => std::slice::from_ref(rows),
            _ => &[],
        });
        for &rows in given.unwrap_or(kind.sizes) {
            let sets = (kind.sets)(rows);
            let case = format!("{}, {1} × {1}", kind.name, grouped(rows));
            let found = time(&case, Algorithm::Auto, &sets, args.runs)?;
            let indexed = time(&case, Algorithm::Indexed, &sets, args.runs)?;
            assert!(found == indexed, "{case}: indexed differs");
            if (rows as f64).powi(2) <= args.brute_force {
                let brute_force = time(&case, Algorithm::BruteForce, &sets, args.runs)?;
                assert!(found == brute_force, "{case}: brute force differs");
            }
        }
    }
    Ok(())
}

fn time(
    case: &str,
    algorithm: Algorithm,
    [set1, set2]: &Sets,
    runs: usize,
) -> anyhow::Result<Overlaps> {
    let search = BoxOverlap::new().algorithm(algorithm);
    let call = || search.overlaps(&Device::cpu(), set1.view(), set2.view());
    let (times, found) = time_whole(runs, call)?;
    let row = Measured::new(case, Clock::Call, times);
    show(&match algorithm {
        Algorithm::Auto => row,
        Algorithm::BruteForce => row.program("gridstride (brute)"),
        Algorithm::Indexed => row.program("gridstride (indexed)"),
    })?;
    Ok(found)
}
