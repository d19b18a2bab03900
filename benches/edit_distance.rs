//! Times edit distances of random pairs and checks them.
//!
//!     cargo bench -p gridstride_benches --features cuda --bench edit_distance -- --device cuda
//!
//! `device ms` is from sequences in the device's memory to distances there, by the device's events;
//! `call ms` is the whole call, from and to the host's memory, by the clock. Both are medians, with
//! the range of all runs behind them. GCUPS are 10⁹ entries of the whole table of distances (the
//! letters of one sequence times those of the other) in a second, whether or not they were computed:
//! the CPU leaves out entries far from the diagonal of similar pairs. `cpu` is the call on the CPU,
//! for a part of the pairs that takes seconds: the median of three runs after a first one, with the
//! range. The distances of both devices have to be equal, and the distances of some pairs have to be
//! the definition's.
//!
//! `--write FOLDER` writes pairs of each case with their distances, one pair a line, for the peers:
//! some for each core of this machine.

mod common;

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Parser;
use common::{DeviceName, Random, Times, time};
use gridstride::edit_distance::{EditDistance, reference};
use gridstride::sequences::Sequences;
use gridstride::{Device, Result};
use ndarray::Array1;

#[derive(Parser)]
struct Args {
    /// Where to compute.
    #[arg(long, default_value = "cpu")]
    device: DeviceName,
    /// Only cases whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
    /// Computes one of `one_in` pairs; by default all on a GPU, one in 50 on the CPU, one in 20000 in
    /// the simulator.
    #[arg(long)]
    one_in: Option<usize>,
    /// Timed runs, after a first one that is not.
    #[arg(long, default_value_t = 5, value_parser = common::at_least_one)]
    runs: usize,
    /// Where to write pairs with their distances.
    #[arg(long)]
    write: Option<PathBuf>,
    /// Passed by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

/// Random pairs.
struct Case {
    name: &'static str,
    pairs: usize,
    /// Letters of a sequence, about.
    letters: usize,
    /// Letters of the alphabet.
    size: usize,
    /// One of `one_in` letters is edited; `None` for pairs that have nothing in common.
    one_in: Option<usize>,
}

const CASES: [Case; 7] = [
    case("reads, 10% edited", 1_000_000, 150, 4, Some(10)),
    case("genes, 10% edited", 100_000, 1000, 4, Some(10)),
    case("genes, random", 100_000, 1000, 4, None),
    case("proteins, random", 100_000, 1000, 20, None),
    case("long, 1% edited", 1000, 100_000, 4, Some(100)),
    case("long, 10% edited", 1000, 100_000, 4, Some(10)),
    case("long, random", 1000, 100_000, 4, None),
];

const fn case(
    name: &'static str,
    pairs: usize,
    letters: usize,
    size: usize,
    one_in: Option<usize>,
) -> Case {
    Case {
        name,
        pairs,
        letters,
        size,
        one_in,
    }
}

/// Entries that the CPU computes for comparison.
const COMPARED: usize = 1_000_000_000_000;

/// Entries that the definition computes.
const DEFINED: usize = 20_000_000;

/// Entries of the pairs that are written, if those are enough for the cores.
const WRITTEN: usize = 160_000_000_000;

/// Pairs that are written at least, for each core.
const WRITTEN_FOR_A_CORE: usize = 4;

/// Timed runs on the CPU for comparison, after a first one that is not.
const CPU_RUNS: usize = 3;

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let args = Args::parse();
    let device = args.device.open()?;
    let one_in = args.one_in.unwrap_or(match args.device {
        DeviceName::Auto | DeviceName::Cpu => 50,
        DeviceName::Cuda(_) => 1,
        DeviceName::Simulator => 20_000,
    });
    println!("{}", device.info());
    println!(
        "{:<18} {:>8} {:>8}  {:>24} {:>9}  {:>24} {:>9}  {:>18}",
        "", "pairs", "letters", "device ms", "GCUPS", "call ms", "GCUPS", "cpu GCUPS"
    );
    for case in CASES.iter().filter(|case| case.name.contains(&args.only)) {
        let pairs = case.pairs.div_ceil(one_in);
        let (a, b) = random_pairs(case, pairs)?;
        let distances = measure(&args, &device, case.name, &a, &b)?;
        if let Some(folder) = &args.write {
            write(folder, case, &a, &b, &distances)?;
        }
    }
    Ok(())
}

fn measure(
    args: &Args,
    device: &Device,
    name: &str,
    a: &Sequences,
    b: &Sequences,
) -> Result<Array1<u32>> {
    let of = EditDistance::new();
    let entries = entries(a, b, a.len()) as f64;
    let gcups = |ms: f64| entries / ms / 1e6;
    let (a_there, b_there) = (a.upload(device)?, b.upload(device)?);
    let call = || of.edit_distances_device(&a_there, &b_there);
    let (there, found) = time(device, args.runs, &call)?;
    let found = found.download()?;
    let mut calls = Vec::new();
    for _ in 0..=args.runs {
        let start = Instant::now();
        let distances = of.edit_distances(device, a, b)?;
        calls.push(start.elapsed().as_secs_f64() * 1e3);
        assert_eq!(distances, found, "the forms differ");
    }
    let calls = Times::of(calls.split_off(1));

    let (some, their_entries) = some_pairs(a, b, COMPARED);
    let [some_a, some_b] = [a, b].map(|side| first(side, some));
    let (some_a, some_b) = (some_a?, some_b?);
    let (on_cpu, distances) = time(&Device::cpu(), CPU_RUNS, &|| {
        of.edit_distances(&Device::cpu(), &some_a, &some_b)
    })?;
    assert!(
        distances.iter().eq(found.iter().take(some)),
        "the CPU's distances differ"
    );
    let cpu_gcups = |ms: f64| their_entries as f64 / ms / 1e6;
    let range = [on_cpu.most, on_cpu.least].map(cpu_gcups);
    let on_cpu = format!(
        "{:.1} ({:.1}-{:.1})",
        cpu_gcups(on_cpu.median),
        range[0],
        range[1]
    );
    // The table of a long pair would take 40 GB.
    let defined = some_pairs(a, b, DEFINED);
    let defined = if defined.1 > 2 * DEFINED {
        0
    } else {
        defined.0
    };
    for i in 0..defined {
        let (a, b) = (a.get(i).expect("pairs"), b.get(i).expect("pairs"));
        let defined = reference::edit_distance(a, b);
        assert_eq!(found[i], defined, "the distance of pair {i} is wrong");
    }
    println!(
        "{name:<18} {:>8} {:>8}  {:>24} {:>9.1}  {:>24} {:>9.1}  {on_cpu:>18}",
        a.len(),
        a.longest(),
        there.to_string(),
        gcups(there.median),
        calls.to_string(),
        gcups(calls.median),
    );
    Ok(found)
}

/// Returns the entries of the first `count` pairs.
fn entries(a: &Sequences, b: &Sequences, count: usize) -> usize {
    let lengths = |side: &Sequences, i: usize| side.offsets()[i + 1] - side.offsets()[i];
    (0..count).map(|i| lengths(a, i) * lengths(b, i)).sum()
}

/// Returns how many of the first pairs have at most about `most` entries, at least one if there are
/// any, and their entries.
fn some_pairs(a: &Sequences, b: &Sequences, most: usize) -> (usize, usize) {
    let each = entries(a, b, a.len().min(100)) / a.len().clamp(1, 100);
    let count = (most / each.max(1)).clamp(1, a.len().max(1)).min(a.len());
    (count, entries(a, b, count))
}

/// Returns the first `count` sequences.
fn first(side: &Sequences, count: usize) -> Result<Sequences> {
    let offsets = side.offsets()[..=count].to_vec();
    Sequences::from_concatenated(side.codes()[..offsets[count]].to_vec(), offsets)
}

fn random_pairs(case: &Case, pairs: usize) -> Result<(Sequences, Sequences)> {
    let mut random = Random(1);
    let (mut a, mut b) = (Sequences::new(), Sequences::new());
    for _ in 0..pairs {
        let text = |random: &mut Random| -> Vec<u8> {
            let letters = (0..case.letters).map(|_| random.below(case.size) as u8);
            letters.collect()
        };
        let one = text(&mut random);
        let other = match case.one_in {
            None => text(&mut random),
            Some(one_in) => edited(&mut random, &one, one_in, case.size),
        };
        a.push(&one)?;
        b.push(&other)?;
    }
    Ok((a, b))
}

/// Replaces, deletes or inserts a letter at one of `one_in` places.
fn edited(random: &mut Random, text: &[u8], one_in: usize, size: usize) -> Vec<u8> {
    let mut result = Vec::with_capacity(text.len());
    for &letter in text {
        if random.below(one_in) > 0 {
            result.push(letter);
            continue;
        }
        let new = random.below(size) as u8;
        match random.below(3) {
            0 => result.push(new),
            1 => result.extend([new, letter]),
            _ => {}
        }
    }
    result
}

/// Writes some of the pairs: sequences as upper-case letters, and the distance, between tabs.
fn write(
    folder: &Path,
    case: &Case,
    a: &Sequences,
    b: &Sequences,
    distances: &Array1<u32>,
) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    let file = folder.join(case.name.replace([' ', ','], "_") + ".tsv");
    let mut file = BufWriter::new(File::create(file)?);
    let text = |side: &Sequences, i| {
        let codes = side.get(i).expect("pairs").to_owned();
        codes.mapv(|code| b'A' + code).to_vec()
    };
    let cores = std::thread::available_parallelism()?.get();
    let count = some_pairs(a, b, WRITTEN).0.max(WRITTEN_FOR_A_CORE * cores);
    for i in 0..count.min(a.len()) {
        file.write_all(&text(a, i))?;
        file.write_all(b"\t")?;
        file.write_all(&text(b, i))?;
        writeln!(file, "\t{}", distances[i])?;
    }
    file.flush()
}
