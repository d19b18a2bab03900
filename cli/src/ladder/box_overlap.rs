//! Overlapping boxes of two sets, every pair tested: plain, through shared memory, and in half
//! precision.

use std::collections::HashSet;

use anyhow::{Result, ensure};
use gridstride::Device;
use gridstride::box_overlap::{Algorithm, BoxOverlap, Overlaps, reference};
use gridstride::device::{Buffer, LaunchConfig};
use half::f16;
use ladder_kernels::box_overlap::{
    MATCHES, NUMBERS, OVERFLOW, UNUSED, overlaps_half, overlaps_plain, overlaps_shared,
    overlaps_shared_items,
};
use ndarray::ArrayView2;
use rayon::prelude::*;

use super::KERNELS;
use super::climb::{Climb, Defaults, Plan, Setup};
use super::pipes::welds_and_segments;
use super::rows::{Axis, Clock, Ladder};

/// Threads of a block, and boxes that each brings to shared memory.
const THREADS: u32 = 256;
const ITEMS: u32 = 4;

/// Threads and boxes of the sweeps, each also as the lines of the other one.
const SWEPT_THREADS: std::ops::RangeInclusive<u32> = 16..=1024;
const SWEPT_STEP: usize = 16;
const LINES_OF_THREADS: [u32; 5] = [64, 128, 256, 512, 1024];
const SWEPT_ITEMS: [u32; 6] = [1, 2, 4, 8, 16, 32];
const LINES_OF_ITEMS: [u32; 4] = [1, 2, 4, 8];

/// Pairs that a core tests in a second or so.
const PAIRS_OF_A_CORE: usize = 1_000_000_000;

/// Shared memory that every GPU gives to a block.
const SHARED_BYTES: u32 = 48 << 10;

/// Pairs for which the plain loops of the reference are quick.
const FEW_PAIRS: usize = 100_000_000;

/// The size, and whether there is a sweep.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Options {
    /// Boxes of each set; 200000 on a GPU.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub boxes: Option<u32>,

    /// Sweep the threads of a block in steps of 16, and the boxes that each brings to shared
    /// memory, for all kernels.
    #[arg(long)]
    pub sweep: bool,
}

/// Runs all versions.
///
/// # Errors
/// If one fails or is wrong.
pub fn climb(options: &Options, setup: &Setup) -> Result<Ladder> {
    let defaults = Defaults {
        gpu: 200_000,
        cpu: 20_000,
        simulator: 300,
    };
    let n = setup.size(options.boxes, defaults);
    let title = format!("Overlaps of {n} welds and {n} segments of pipes in f32");
    let mut climb = Climb::new(setup, title);
    climb.say("the boxes and the reference");
    let sets = welds_and_segments(n, setup.seed);
    let [set1, set2] = [&sets[0], &sets[1]].map(|set| ArrayView2::from_shape((n, NUMBERS), set));
    let (set1, set2) = (set1?, set2?);
    let overlaps = match n * n <= FEW_PAIRS {
        true => reference::overlaps(set1, set2)?,
        false => BoxOverlap::new().overlaps(&Device::cpu(), set1, set2)?,
    };
    let expected = Expected::new(&overlaps);

    // So many boxes of the first set.
    let one = setup.part(n, PAIRS_OF_A_CORE / n);
    let several = setup.part(n, PAIRS_OF_A_CORE * rayon::current_num_threads() / n);
    climb.cpu_part(
        one as f64 / n as f64,
        "plain",
        "one core, all pairs",
        || Ok(plain(&sets[0][..one * NUMBERS], &sets[1])),
        |found| expected.check_first(one, &found),
    )?;
    climb.cpu_part(
        several as f64 / n as f64,
        "threads",
        "all cores, each with boxes of the first set",
        || Ok(plain_on_all_cores(&sets[0][..several * NUMBERS], &sets[1])),
        |found| expected.check_first(several, &found),
    )?;
    if setup.has_kernels() {
        kernels(&mut climb, setup, &sets, &expected, options.sweep)?;
    }
    for (version, algorithm, changed) in [
        (
            "gridstride, all pairs",
            Algorithm::BruteForce,
            "the library's: places for any number of matches",
        ),
        (
            "gridstride",
            Algorithm::Auto,
            "an index instead of all pairs",
        ),
    ] {
        let search = BoxOverlap::new().algorithm(algorithm);
        let check = |found: Overlaps| {
            ensure!(found == overlaps, "there are other pairs");
            Ok(String::new())
        };
        if !setup.has_kernels() {
            let find = || Ok(search.overlaps(&setup.device, set1, set2)?);
            climb.library(version, changed, find, check)?;
            continue;
        }
        let (set1, set2) = (setup.device.upload(&set1)?, setup.device.upload(&set2)?);
        let find = || Ok(search.overlaps_device(&set1, &set2)?);
        climb.library(version, changed, find, |found| check(found.download()?))?;
    }
    Ok(climb.finish())
}

/// All pairs, on one core.
fn plain(set1: &[f32], set2: &[f32]) -> Vec<i32> {
    let mut matches = vec![UNUSED; set1.len() / NUMBERS * MATCHES];
    let places = matches.chunks_exact_mut(MATCHES);
    for (own, places) in set1.chunks_exact(NUMBERS).zip(places) {
        find(own, set2, places);
    }
    matches
}

fn plain_on_all_cores(set1: &[f32], set2: &[f32]) -> Vec<i32> {
    let mut matches = vec![UNUSED; set1.len() / NUMBERS * MATCHES];
    let places = matches.par_chunks_exact_mut(MATCHES);
    places
        .zip(set1.par_chunks_exact(NUMBERS))
        .for_each(|(places, own)| find(own, set2, places));
    matches
}

/// What the kernels write for a box.
fn find(own: &[f32], set2: &[f32], places: &mut [i32]) {
    let mut count = 0;
    for (i, other) in set2.chunks_exact(NUMBERS).enumerate() {
        if (0..3).all(|axis| own[axis] <= other[axis + 3] && own[axis + 3] >= other[axis]) {
            match places.get_mut(count) {
                Some(place) => *place = i as i32,
                None => places[MATCHES - 1] = OVERFLOW,
            }
            count += 1;
        }
    }
}

/// The kernels, and their sweeps if they are asked for.
fn kernels(
    climb: &mut Climb,
    setup: &Setup,
    sets: &[Vec<f32>; 2],
    expected: &Expected,
    has_sweep: bool,
) -> Result<()> {
    let device = &setup.device;
    let halves = |set: &[f32]| -> Vec<u16> {
        let bits = set.iter().map(|number| f16::from_f32(*number).to_bits());
        bits.collect()
    };
    let data = Data {
        device,
        sets: [device.buffer_from(&sets[0])?, device.buffer_from(&sets[1])?],
        halves: [
            device.buffer_from(&halves(&sets[0]))?,
            device.buffer_from(&halves(&sets[1]))?,
        ],
        expected,
    };
    let by_occupancy = device.suggested_block(&KERNELS, &overlaps_shared, |threads| {
        Version::Shared.config(1, threads).shared_bytes
    })?;
    for (name, version, threads, changed) in [
        (
            "kernel",
            Version::Plain,
            THREADS,
            "a thread per box of the first set, a loop over the second",
        ),
        (
            "v1",
            Version::Shared,
            THREADS,
            "tiles of the second set in shared memory, a box for each thread",
        ),
        (
            "v1, occupancy",
            Version::Shared,
            by_occupancy,
            "v1 in the blocks of which a multiprocessor runs the most threads",
        ),
        (
            "v2",
            Version::SharedItems(ITEMS),
            THREADS,
            "four boxes for each thread",
        ),
        (
            "v3",
            Version::Half(ITEMS),
            THREADS,
            "half precision: coordinates are rounded, and pairs are wrong",
        ),
    ] {
        let mut matches = data.room()?;
        let config = version.config(data.len(), threads);
        climb.kernel(
            name,
            changed,
            || data.launch(version, threads, &mut matches),
            |()| Ok(String::new()),
        )?;
        let mut checked = data.check(version, &matches)?;
        if name.ends_with("occupancy") {
            checked = format!("{threads} threads; {checked}");
        }
        climb.checked(Ok(checked))?;
        match version {
            Version::Plain => climb.occupancy(&overlaps_plain, config),
            Version::Shared => climb.occupancy(&overlaps_shared, config),
            Version::SharedItems(_) => climb.occupancy(&overlaps_shared_items, config),
            Version::Half(_) => climb.occupancy(&overlaps_half, config),
        }?;
    }
    match has_sweep {
        true => sweeps(climb, &data),
        false => Ok(()),
    }
}

/// A kernel, with the boxes that each thread brings to shared memory.
#[derive(Clone, Copy)]
enum Version {
    Plain,
    Shared,
    SharedItems(u32),
    Half(u32),
}

impl Version {
    fn name(self) -> String {
        match self {
            Version::Plain => "kernel".to_owned(),
            Version::Shared => "v1".to_owned(),
            Version::SharedItems(1) => "v2, 1 box".to_owned(),
            Version::SharedItems(items) => format!("v2, {items} boxes"),
            Version::Half(1) => "v3, 1 box".to_owned(),
            Version::Half(items) => format!("v3, {items} boxes"),
        }
    }

    /// A thread for each of so many boxes, and shared memory for a tile.
    fn config(self, boxes: usize, threads: u32) -> LaunchConfig {
        let bytes = match self {
            Version::Plain => 0,
            Version::Shared => size_of::<f32>() as u32,
            Version::SharedItems(items) => items * size_of::<f32>() as u32,
            Version::Half(items) => items * size_of::<u16>() as u32,
        };
        LaunchConfig::for_len(boxes, threads).with_shared_bytes(threads * bytes * NUMBERS as u32)
    }
}

/// The sets on the device.
struct Data<'a> {
    device: &'a Device,
    sets: [Buffer<f32>; 2],
    /// The same in half precision, as bits.
    halves: [Buffer<u16>; 2],
    expected: &'a Expected,
}

impl Data<'_> {
    /// Boxes of the first set.
    fn len(&self) -> usize {
        self.sets[0].len() / NUMBERS
    }

    /// Room for the matches.
    fn room(&self) -> Result<Buffer<i32>> {
        Ok(self.device.alloc(self.len() * MATCHES)?)
    }

    fn launch(&self, version: Version, threads: u32, matches: &mut Buffer<i32>) -> Result<()> {
        let config = version.config(self.len(), threads);
        let device = self.device;
        let [set1, set2] = &self.sets;
        let (set1, set2, out) = (set1.slice(), set2.slice(), matches.slice_mut());
        match version {
            Version::Plain => {
                let arguments = (set1, set2, out);
                // SAFETY: the sets have whole boxes, each one of the first a thread and places; the
                // main stream runs what follows only when this is done, freeing too.
                unsafe { device.launch(&KERNELS, &overlaps_plain, config, arguments) }
            }
            Version::Shared => {
                let arguments = (set1, set2, out);
                // SAFETY: as above, and shared memory has room for a tile.
                unsafe { device.launch(&KERNELS, &overlaps_shared, config, arguments) }
            }
            Version::SharedItems(items) => {
                let arguments = (items, set1, set2, out);
                // SAFETY: as above.
                unsafe { device.launch(&KERNELS, &overlaps_shared_items, config, arguments) }
            }
            Version::Half(items) => {
                let [half1, half2] = &self.halves;
                let arguments = (items, half1.slice(), half2.slice(), out);
                // SAFETY: as above; the sets in half precision have the same boxes.
                unsafe { device.launch(&KERNELS, &overlaps_half, config, arguments) }
            }
        }?;
        Ok(())
    }

    /// Fails unless the matches are right; in half precision counts those that are not.
    fn check(&self, version: Version, matches: &Buffer<i32>) -> Result<String> {
        let found = matches.to_vec()?;
        match version {
            Version::Half(_) => self.expected.count_wrong(&found),
            _ => self.expected.check(&found),
        }
    }
}

/// The times of all kernels by threads of a block, and by boxes of a thread.
fn sweeps(climb: &mut Climb, data: &Data) -> Result<()> {
    let threads: Vec<u32> = SWEPT_THREADS.step_by(SWEPT_STEP).collect();
    let items = LINES_OF_ITEMS.map(Version::SharedItems);
    let in_f32 = [Version::Plain, Version::Shared].into_iter().chain(items);
    let in_halves = LINES_OF_ITEMS.map(Version::Half);
    for (title, versions) in [
        ("Threads of a block", in_f32.collect()),
        ("Threads of a block, half precision", in_halves.to_vec()),
    ] {
        let versions: Vec<Version> = versions;
        let plan = Plan {
            title,
            clock: Clock::Kernel,
            parameter: "threads of a block",
            axis: Axis::Linear,
            values: &threads,
            lines: &versions
                .into_iter()
                .map(|version| (version.name(), version))
                .collect::<Vec<_>>(),
        };
        climb.sweep(plan, |climb, &version, threads| {
            time(climb, data, version, threads)
        })?;
    }
    type OfItems = fn(u32) -> Version;
    let of_items: [(&str, OfItems); 2] = [
        ("v2: boxes of a thread", Version::SharedItems),
        ("v3: boxes of a thread, half precision", Version::Half),
    ];
    for (title, version) in of_items {
        let plan = Plan {
            title,
            clock: Clock::Kernel,
            parameter: "boxes of a thread",
            axis: Axis::Doubling,
            values: &SWEPT_ITEMS,
            lines: &LINES_OF_THREADS.map(|threads| (format!("{threads} threads"), threads)),
        };
        climb.sweep(plan, |climb, &threads, items| {
            time(climb, data, version(items), threads)
        })?;
    }
    Ok(())
}

/// The time of a kernel; nothing if a tile does not fit.
fn time(
    climb: &Climb,
    data: &Data,
    version: Version,
    threads: u32,
) -> Result<Option<std::time::Duration>> {
    if version.config(1, threads).shared_bytes > SHARED_BYTES {
        return Ok(None);
    }
    let mut matches = data.room()?;
    let launch = || data.launch(version, threads, &mut matches);
    let time = climb.time(Clock::Kernel, launch)?;
    data.check(version, &matches)?;
    Ok(Some(time))
}

/// What the places have to hold.
struct Expected {
    matches: Vec<i32>,
}

impl Expected {
    fn new(overlaps: &Overlaps) -> Expected {
        let mut matches = vec![UNUSED; overlaps.len() * MATCHES];
        for (i, places) in matches.chunks_exact_mut(MATCHES).enumerate() {
            let row = overlaps.row(i);
            for (place, other) in places.iter_mut().zip(row) {
                *place = *other as i32;
            }
            if row.len() > MATCHES {
                places[MATCHES - 1] = OVERFLOW;
            }
        }
        Expected { matches }
    }

    fn check(&self, found: &[i32]) -> Result<String> {
        self.check_first(self.matches.len() / MATCHES, found)
    }

    /// The same for the first boxes alone.
    fn check_first(&self, boxes: usize, found: &[i32]) -> Result<String> {
        let expected = &self.matches[..boxes * MATCHES];
        let rows = expected.chunks_exact(MATCHES);
        for (i, (expected, found)) in rows.zip(found.chunks_exact(MATCHES)).enumerate() {
            ensure!(
                expected == found,
                "box {i} has the matches {found:?}, not {expected:?}"
            );
        }
        ensure!(
            found.len() == expected.len(),
            "there are {} places",
            found.len()
        );
        let pairs = found.iter().filter(|other| **other >= 0).count();
        Ok(format!("{pairs} pairs"))
    }

    /// How many pairs there are in one result alone.
    fn count_wrong(&self, found: &[i32]) -> Result<String> {
        let pairs = |matches: &[i32]| -> HashSet<(usize, i32)> {
            let places = matches.iter().enumerate();
            let pairs = places.map(|(place, other)| (place / MATCHES, *other));
            pairs.filter(|(_, other)| *other >= 0).collect()
        };
        let (expected, found) = (pairs(&self.matches), pairs(found));
        Ok(format!(
            "{} pairs are wrong, {} are missing",
            found.difference(&expected).count(),
            expected.difference(&found).count()
        ))
    }
}
