//! Times edit distances of random pairs and checks them: by events from sequences in the device's memory to distances there
//! (by the clock on the CPU), and whole calls from and to the host's memory.
//!
//!     cargo bench -p gridstride_benches --features cuda --bench edit_distance -- --device cuda
//!
//! The CPU computes a share of the pairs too, if it is not the device. The distances of both have to be equal, and those of
//! some pairs have to be the definition's.
//!
//! `--write FOLDER` writes pairs of each case with their distances, one pair a line, for the peers: those
//! that the CPU computes.

mod common;

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Parser;
use common::{Clock, DeviceName, Measured, Random, Unit, show, time, time_whole};
use gridstride::device::DeviceKind;
use gridstride::edit_distance::{EditDistance, reference};
use gridstride::sequences::Sequences;
use gridstride::{Device, Result};
use ndarray::Array1;
use rayon::prelude::*;

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
    case("10⁶ reads of 150, 10% edited", 1_000_000, 150, 4, Some(10)),
    case("10⁵ genes of 1000, 10% edited", 100_000, 1000, 4, Some(10)),
    case("10⁵ genes of 1000, random", 100_000, 1000, 4, None),
    case("10⁵ proteins of 1000, random", 100_000, 1000, 20, None),
    case(
        "1000 pairs of 10⁵ letters, 1% edited",
        1000,
        100_000,
        4,
        Some(100),
    ),
    case(
        "1000 pairs of 10⁵ letters, 10% edited",
        1000,
        100_000,
        4,
        Some(10),
    ),
    case("1000 pairs of 10⁵ letters, random", 1000, 100_000, 4, None),
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

/// Entries of the whole tables of the pairs that the CPU computes for comparison, and that are written, if those are enough
/// for the cores.
const PART: usize = 160_000_000_000;

/// Pairs of a part at least, for each core.
const PAIRS_OF_A_CORE: usize = 2;

/// Entries that the definition computes.
const DEFINED: usize = 20_000_000;

/// Entries of a table that a thread's step computes, and its integer instructions for DNA: see the guide's page.
const ENTRIES: u64 = 128;
const INSTRUCTIONS: u64 = 56;

/// Timed runs on the CPU for comparison, after a first one that is not.
const CPU_RUNS: usize = 3;

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let device = args.device.open()?;
    let one_in = args.one_in.unwrap_or(match args.device {
        DeviceName::Auto | DeviceName::Cpu => 50,
        DeviceName::Cuda(_) => 1,
        DeviceName::Simulator => 20_000,
    });
    println!("{}", device.info());
    for case in CASES.iter().filter(|case| case.name.contains(&args.only)) {
        let pairs = case.pairs.div_ceil(one_in);
        let (a, b) = random_pairs(case, pairs)?;
        let distances = measure(&args, &device, case, &a, &b)?;
        if let Some(folder) = &args.write {
            write(folder, case, &a, &b, &distances)?;
        }
    }
    Ok(())
}

fn measure(
    args: &Args,
    device: &Device,
    case: &Case,
    a: &Sequences,
    b: &Sequences,
) -> anyhow::Result<Array1<u32>> {
    let of = EditDistance::new();
    let all = entries(a, b, a.len()) as u64;
    let row = |clock, times, pairs: usize| {
        let row = Measured::new(case.name, clock, times);
        match (pairs < case.pairs, case.one_in) {
            (true, _) => row.share(pairs as f64 / case.pairs as f64),
            // Only pairs that have nothing in common need all entries of their tables.
            (false, None) => row.operations(all / ENTRIES * INSTRUCTIONS, Unit::I32),
            (false, Some(_)) => row,
        }
    };
    let (calls, found) = time_whole(args.runs, || of.edit_distances(device, a, b))?;
    if device.kind() != DeviceKind::Cpu {
        let (a_there, b_there) = (a.upload(device)?, b.upload(device)?);
        let call = || of.edit_distances_device(&a_there, &b_there);
        let (there, distances) = time(device, args.runs, &call)?;
        assert_eq!(distances.download()?, found, "the forms differ");
        show(&row(Clock::Device, there, a.len()))?;
    }
    show(&row(Clock::Call, calls, a.len()))?;

    if device.kind() != DeviceKind::Cpu {
        let count = part(a, b);
        let (some_a, some_b) = (first(a, count)?, first(b, count)?);
        let on_cpu = || of.edit_distances(&Device::cpu(), &some_a, &some_b);
        let (times, distances) = time_whole(CPU_RUNS, on_cpu)?;
        assert!(
            distances.iter().eq(found.iter().take(count)),
            "the CPU's distances differ"
        );
        show(&row(Clock::Call, times, count).program("gridstride (CPU)"))?;
    }
    // The table of a long pair would take 40 GB.
    let count = some_pairs(a, b, DEFINED);
    let is_small = entries(a, b, count) <= 2 * DEFINED;
    (0..count)
        .into_par_iter()
        .filter(|_| is_small)
        .for_each(|i| {
            let (a, b) = (a.get(i).expect("pairs"), b.get(i).expect("pairs"));
            let defined = reference::edit_distance(a, b);
            assert_eq!(found[i], defined, "the distance of pair {i} is wrong");
        });
    Ok(found)
}

/// Returns the entries of the first `count` pairs.
fn entries(a: &Sequences, b: &Sequences, count: usize) -> usize {
    let lengths = |side: &Sequences, i: usize| side.offsets()[i + 1] - side.offsets()[i];
    (0..count).map(|i| lengths(a, i) * lengths(b, i)).sum()
}

/// Returns how many of the first pairs have at most about `most` entries, at least one if there are
/// any.
fn some_pairs(a: &Sequences, b: &Sequences, most: usize) -> usize {
    let each = entries(a, b, a.len().min(100)) / a.len().clamp(1, 100);
    (most / each.max(1)).clamp(1, a.len().max(1)).min(a.len())
}

/// Returns how many of the first pairs are enough work for a CPU.
fn part(a: &Sequences, b: &Sequences) -> usize {
    let least = PAIRS_OF_A_CORE * rayon::current_num_threads();
    some_pairs(a, b, PART).max(least).min(a.len())
}

/// Returns the first `count` sequences.
fn first(side: &Sequences, count: usize) -> Result<Sequences> {
    let offsets = side.offsets()[..=count].to_vec();
    Sequences::from_concatenated(side.codes()[..offsets[count]].to_vec(), offsets)
}

fn random_pairs(case: &Case, pairs: usize) -> Result<(Sequences, Sequences)> {
    let pair = |seed| {
        let mut random = Random(seed as u64);
        let text = |random: &mut Random| -> Vec<u8> {
            let letters = (0..case.letters).map(|_| random.below(case.size) as u8);
            letters.collect()
        };
        let one = text(&mut random);
        let other = match case.one_in {
            None => text(&mut random),
            Some(one_in) => edited(&mut random, &one, one_in, case.size),
        };
        (one, other)
    };
    let texts: Vec<_> = (0..pairs).into_par_iter().map(pair).collect();
    let (mut a, mut b) = (Sequences::new(), Sequences::new());
    for (one, other) in texts {
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

/// Writes some of the pairs: the name of the case and how many pairs it has, then sequences as upper-case letters, and the
/// distance, between tabs.
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
    writeln!(file, "{}\t{}", case.name, case.pairs)?;
    for i in 0..part(a, b) {
        file.write_all(&text(a, i))?;
        file.write_all(b"\t")?;
        file.write_all(&text(b, i))?;
        writeln!(file, "\t{}", distances[i])?;
    }
    file.flush()
}
