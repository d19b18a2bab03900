//! Times the search for overlapping boxes: by events from boxes in the device's memory to compressed rows there (by the clock
//! on the CPU), and whole calls from views of the host to compressed rows there, with all copies.
//!
//!     cargo bench -p gridstride_benches --features cuda --bench box_overlap -- --device cuda
//!
//! Each algorithm is a program; `gridstride` chooses one by itself. The tree is built within each call. Results of the
//! algorithms are compared, and some rows with nested loops. `--sweep` measures sizes from 10³ on instead. `--write DIR`
//! writes the boxes as NPY files for the programs in benches/peers, those of a sweep to a folder for each size.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser;
use common::boxes::{self, Sets};
use common::{Clock, DeviceName, Measured, grouped, show, time, time_whole};
use gridstride::box_overlap::{Algorithm, BoxOverlap, Coordinate, Overlaps, overlaps, reference};
use gridstride::device::DeviceKind;
use gridstride::{Device, Result};
use ndarray::{Array2, s};

#[derive(Parser)]
struct Args {
    /// Where to search.
    #[arg(long, default_value = "cpu")]
    device: DeviceName,
    /// Boxes of each set; by default 200000 on a GPU and on the CPU, 2000 in the simulator.
    #[arg(long)]
    rows: Option<usize>,
    /// Boxes of the second set, if less.
    #[arg(long)]
    rows2: Option<usize>,
    /// Kinds of boxes to take; all by default.
    #[arg(long, value_delimiter = ',')]
    kinds: Vec<String>,
    /// Algorithms to take, brute, indexed, auto; all by default.
    #[arg(long, value_delimiter = ',', default_value = "brute,indexed,auto")]
    algorithms: Vec<String>,
    /// Timed runs, after a first one that is not.
    #[arg(long, default_value_t = 15, value_parser = common::at_least_one)]
    runs: usize,
    /// Measures sizes up to this one, pipes and welds only.
    #[arg(long)]
    sweep: Option<usize>,
    /// Writes the pipes and welds to set1.npy and set2.npy in this folder, with `--sweep` in one for each size, and
    /// ends.
    #[arg(long)]
    write: Option<PathBuf>,
    /// Passed by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

type Kind = (&'static str, fn(usize) -> Sets, usize);

/// Kinds of boxes, and by what their numbers are divided.
const KINDS: [Kind; 8] = [
    ("pipes", boxes::pipes, 1),
    ("uniform", boxes::uniform, 1),
    ("giants", boxes::giants, 1),
    ("equal", boxes::equal, 20),
    ("dense", boxes::dense, 5),
    ("clustered", boxes::clustered, 1),
    ("sticks", boxes::sticks, 1),
    ("long_sticks", boxes::long_sticks, 20),
];

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let rows = args.rows.unwrap_or(match args.device {
        DeviceName::Simulator => 2000,
        _ => 200_000,
    });
    if let Some(folder) = &args.write {
        match args.sweep {
            None => write(folder, rows)?,
            Some(most) => {
                for rows in sizes(most) {
                    write(&folder.join(rows.to_string()), rows)?;
                }
            }
        }
        return Ok(());
    }
    let device = args.device.open()?;
    println!("{}", device.info());
    if let Some(most) = args.sweep {
        return sweep(&args, &device, most);
    }
    for (name, make, divisor) in KINDS {
        if !args.kinds.is_empty() && !args.kinds.iter().any(|kind| kind == name) {
            continue;
        }
        let mut sets = make(rows / divisor);
        if let Some(rows2) = args.rows2 {
            sets[1] = sets[1]
                .slice(s![..rows2.min(rows / divisor), ..])
                .to_owned();
        }
        measure::<f32>(&args, &device, name, &sets)?;
        if name == "pipes" {
            // Whole numbers of millimetres.
            let whole = sets
                .each_ref()
                .map(|set| set.mapv(|x| (x * 1000.0).round() as i32));
            measure::<i32>(&args, &device, name, &whole)?;
            let double = sets.each_ref().map(|set| set.mapv(f64::from));
            measure::<f64>(&args, &device, name, &double)?;
        }
    }
    Ok(())
}

fn measure<T: Coordinate>(
    args: &Args,
    device: &Device,
    kind: &str,
    sets: &[Array2<T>; 2],
) -> anyhow::Result<()> {
    let there = [device.upload(&sets[0])?, device.upload(&sets[1])?];
    let [rows, rows2] = sets.each_ref().map(|set| grouped(set.nrows()));
    let kind_name = kind.replace('_', " ");
    let case = match T::NAME {
        "f32" => format!("{kind_name}, {rows} × {rows2}"),
        number => format!("{kind_name} of {number}, {rows} × {rows2}"),
    };
    if kind == "pipes" {
        let call = || overlaps(device, sets[0].view(), sets[1].view());
        let (times, found) = time_whole(args.runs, call)?;
        check(&found, sets)?;
        show(&Measured::new(&case, Clock::Call, times).bytes(bytes(sets, &found)))?;
    }
    let mut first: Option<Overlaps> = None;
    for (name, algorithm) in algorithms(args) {
        let search = BoxOverlap::new().algorithm(algorithm);
        let call = || search.overlaps_device(&there[0], &there[1]);
        let (times, found) = time(device, args.runs, &call)?;
        let what = format!("{case}, {name}");
        let found = agree(&mut first, found.download()?, sets, &what)?;
        let row = Measured::new(&case, Clock::Device, times).bytes(bytes(sets, found));
        show(&match algorithm {
            Algorithm::Auto => row,
            Algorithm::BruteForce | Algorithm::Indexed => {
                row.program(format!("gridstride ({name})"))
            }
        })?;
    }
    Ok(())
}

/// Bytes of boxes and compressed rows.
fn bytes<T: Coordinate>(sets: &[Array2<T>; 2], found: &Overlaps) -> usize {
    let numbers = sets[0].len() + sets[1].len();
    let result = size_of_val(found.offsets()) + found.pair_count() * size_of::<u32>();
    numbers * size_of::<T>() + result
}

/// Compares pairs with those that the first algorithm found. Its own are compared with the reference and kept in
/// `first`. Panics if they differ.
fn agree<'a, T: Coordinate>(
    first: &'a mut Option<Overlaps>,
    found: Overlaps,
    sets: &[Array2<T>; 2],
    what: &str,
) -> Result<&'a Overlaps> {
    match first {
        None => check(&found, sets)?,
        Some(first) => assert_eq!(first, &found, "{what}: other pairs"),
    }
    Ok(first.get_or_insert(found))
}

/// Compares the pairs of some boxes of the first set with those of the reference. Panics if they differ.
fn check<T: Coordinate>(found: &Overlaps, [set1, set2]: &[Array2<T>; 2]) -> Result<()> {
    const SAMPLE: usize = 20;
    assert_eq!(found.len(), set1.nrows());
    let step = set1.nrows().div_ceil(SAMPLE).max(1);
    let expected = reference::overlaps(set1.slice(s![..;step, ..]), set2.view())?;
    for i in 0..expected.len() {
        let row = i * step;
        assert_eq!(found.row(row), expected.row(i), "row {row}: other pairs");
    }
    Ok(())
}

fn algorithms(args: &Args) -> impl Iterator<Item = (&'static str, Algorithm)> {
    let all = [
        ("auto", Algorithm::Auto),
        ("brute", Algorithm::BruteForce),
        ("indexed", Algorithm::Indexed),
    ];
    let wanted = |name: &str| args.algorithms.iter().any(|wanted| wanted == name);
    all.into_iter().filter(move |(name, _)| wanted(name))
}

/// The pipes and welds as files.
fn write(folder: &Path, rows: usize) -> anyhow::Result<()> {
    fs::create_dir_all(folder)?;
    for (set, name) in boxes::pipes(rows).iter().zip(["set1.npy", "set2.npy"]) {
        ndarray_npy::write_npy(folder.join(name), set)?;
    }
    Ok(())
}

/// The sizes of a sweep.
fn sizes(most: usize) -> impl Iterator<Item = usize> {
    let sizes = (3..).flat_map(|power| [1, 2, 5].map(|step| step * 10usize.pow(power)));
    sizes.take_while(move |&rows| rows <= most)
}

fn sweep(args: &Args, device: &Device, most: usize) -> anyhow::Result<()> {
    // Beyond these sizes the brute force takes too long to be measured.
    let brute_limit = match device.kind() {
        DeviceKind::Cpu => 200_000,
        _ => 1_000_000,
    };
    for rows in sizes(most) {
        let sets = boxes::pipes(rows);
        let there = [device.upload(&sets[0])?, device.upload(&sets[1])?];
        let mut first: Option<Overlaps> = None;
        for (name, algorithm) in algorithms(args) {
            if algorithm == Algorithm::BruteForce && rows > brute_limit {
                continue;
            }
            let search = BoxOverlap::new().algorithm(algorithm);
            let call = || search.overlaps_device(&there[0], &there[1]);
            let (times, found) = time(device, args.runs, &call)?;
            let what = format!("{name}, {rows} boxes");
            let found = agree(&mut first, found.download()?, &sets, &what)?;
            let line = match algorithm {
                Algorithm::Auto => "gridstride",
                _ => "gridstride (brute)",
            };
            let row = Measured::at(line, rows as u64, Clock::Device, times);
            show(&row.bytes(bytes(&sets, found)))?;
        }
    }
    Ok(())
}
