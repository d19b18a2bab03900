//! Overlapping boxes of two sets, every pair tested: plain, through shared memory, and in half
//! precision.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::{Result, ensure};
use article_data::pipes;
use gridstride::Device;
use gridstride::box_overlap::{Algorithm, BoxOverlap, Overlaps, reference};
use gridstride::device::{Buffer, LaunchConfig};
use half::f16;
use ladder_kernels::box_overlap::{
    MATCHES, NUMBERS, OVERFLOW, UNUSED, overlaps_half, overlaps_plain, overlaps_shared,
    overlaps_shared_items,
};
use ndarray::Array2;
use rayon::prelude::*;

use super::KERNELS;
use super::climb::{Climb, Defaults, Ladder, Setup, Sweep, SweepLine};

/// Threads of a block, and boxes that each brings to shared memory.
const THREADS: u32 = 256;
const ITEMS: u32 = 4;

/// Those of the sweep.
const SWEPT_THREADS: std::ops::RangeInclusive<u32> = 16..=1024;
const SWEPT_STEP: usize = 16;
const SWEPT_ITEMS: [u32; 4] = [1, 2, 4, 8];

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
    /// memory.
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
    let boxes = pipes::boxes(n, setup.seed);
    let (set1, set2) = (boxes[0].view(), boxes[1].view());
    let sets = boxes.each_ref().map(numbers);
    let overlaps = match n * n <= FEW_PAIRS {
        true => reference::overlaps(set1, set2)?,
        false => BoxOverlap::new().overlaps(&Device::cpu(), set1, set2)?,
    };
    let expected = Expected::new(&overlaps);

    climb.cpu(
        "plain",
        "one core, all pairs",
        || Ok(plain(&sets[0], &sets[1])),
        |found| expected.check(&found),
    )?;
    climb.cpu(
        "threads",
        "all cores, each with boxes of the first set",
        || Ok(plain_on_all_cores(&sets[0], &sets[1])),
        |found| expected.check(&found),
    )?;
    let sweep = match setup.has_kernels() {
        true => kernels(&mut climb, setup, &sets, &expected, options.sweep)?,
        false => None,
    };
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
    Ok(climb.finish(sweep))
}

/// The numbers of all boxes, as the kernels take them.
fn numbers(boxes: &Array2<f32>) -> Vec<f32> {
    boxes.iter().copied().collect()
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

/// The kernels, and their sweep if it is asked for.
fn kernels(
    climb: &mut Climb,
    setup: &Setup,
    sets: &[Vec<f32>; 2],
    expected: &Expected,
    has_sweep: bool,
) -> Result<Option<Sweep>> {
    let device = &setup.device;
    let (set1, set2) = (device.buffer_from(&sets[0])?, device.buffer_from(&sets[1])?);
    let n = set1.len() / NUMBERS;
    let config = LaunchConfig::for_len(n, THREADS);
    let mut matches = device.alloc::<i32>(n * MATCHES)?;
    let out = matches.slice_mut();
    climb.kernel(
        "kernel",
        "a thread per box of the first set, a loop over the second",
        || {
            let arguments = (set1.slice(), set2.slice(), out);
            // SAFETY: the sets have whole boxes, each one of the first a thread and places; all
            // live until the matches have been read.
            Ok(unsafe { device.launch(&KERNELS, &overlaps_plain, config, arguments) }?)
        },
        |()| expected.check(&matches.to_vec()?),
    )?;
    let tiled = Tiled {
        device,
        set1: &set1,
        set2: &set2,
    };
    for (version, items, changed) in [
        (
            "v1",
            None,
            "tiles of the second set in shared memory, a box for each thread",
        ),
        ("v2", Some(ITEMS), "four boxes for each thread"),
    ] {
        let mut matches = device.alloc::<i32>(n * MATCHES)?;
        climb.kernel(
            version,
            changed,
            || tiled.launch(THREADS, items, &mut matches),
            |()| Ok(String::new()),
        )?;
        climb.checked(expected.check(&matches.to_vec()?))?;
    }
    let halves = |set: &[f32]| -> Vec<u16> {
        set.iter()
            .map(|number| f16::from_f32(*number).to_bits())
            .collect()
    };
    let (half1, half2) = (
        device.buffer_from(&halves(&sets[0]))?,
        device.buffer_from(&halves(&sets[1]))?,
    );
    let mut matches = device.alloc::<i32>(n * MATCHES)?;
    let arguments = (ITEMS, half1.slice(), half2.slice(), matches.slice_mut());
    let config = config.with_shared_bytes(THREADS * ITEMS * NUMBERS as u32 * 2);
    climb.kernel(
        "v3",
        "half precision: coordinates are rounded, and pairs are wrong",
        // SAFETY: as of the plain kernel; shared memory has six halves for each box of a tile.
        || Ok(unsafe { device.launch(&KERNELS, &overlaps_half, config, arguments) }?),
        |()| expected.count_wrong(&matches.to_vec()?),
    )?;
    match has_sweep {
        true => Ok(Some(sweep(climb, &tiled, expected)?)),
        false => Ok(None),
    }
}

/// The sets for the kernels that go through shared memory.
struct Tiled<'a> {
    device: &'a Device,
    set1: &'a Buffer<f32>,
    set2: &'a Buffer<f32>,
}

impl Tiled<'_> {
    /// Launches v2 with so many boxes for each thread, or v1.
    fn launch(&self, threads: u32, items: Option<u32>, matches: &mut Buffer<i32>) -> Result<()> {
        let config = LaunchConfig::for_len(self.set1.len() / NUMBERS, threads);
        let config = config.with_shared_bytes(shared_bytes(threads, items));
        let (set1, set2, out) = (self.set1.slice(), self.set2.slice(), matches.slice_mut());
        match items {
            None => {
                let arguments = (set1, set2, out);
                // SAFETY: the sets have whole boxes, each one of the first a thread and places, and
                // shared memory has room for a tile; the main stream runs what follows only when
                // this is done, freeing too.
                unsafe { (self.device).launch(&KERNELS, &overlaps_shared, config, arguments) }
            }
            Some(items) => {
                let (kernel, arguments) = (&overlaps_shared_items, (items, set1, set2, out));
                // SAFETY: as above.
                unsafe { self.device.launch(&KERNELS, kernel, config, arguments) }
            }
        }?;
        Ok(())
    }
}

/// The size of a tile.
fn shared_bytes(threads: u32, items: Option<u32>) -> u32 {
    threads * items.unwrap_or(1) * (NUMBERS * size_of::<f32>()) as u32
}

/// The times of v1 and v2 by threads of a block and boxes of a thread.
fn sweep(climb: &mut Climb, tiled: &Tiled, expected: &Expected) -> Result<Sweep> {
    let threads: Vec<u32> = SWEPT_THREADS.step_by(SWEPT_STEP).collect();
    let v1 = ("v1".to_owned(), None);
    let v2 = SWEPT_ITEMS.map(|items| (format!("v2, {items} boxes"), Some(items)));
    let mut lines = Vec::new();
    for (name, items) in [v1].into_iter().chain(v2) {
        let mut times = Vec::new();
        for &threads in &threads {
            climb.say(&format!("{name}, {threads} threads"));
            times.push(match shared_bytes(threads, items) <= SHARED_BYTES {
                true => Some(time(climb, tiled, threads, items, expected)?),
                false => None,
            });
        }
        lines.push(SweepLine { name, times });
    }
    Ok(Sweep { threads, lines })
}

fn time(
    climb: &Climb,
    tiled: &Tiled,
    threads: u32,
    items: Option<u32>,
    expected: &Expected,
) -> Result<Duration> {
    let mut matches = tiled.device.alloc(expected.matches.len())?;
    let time = climb.time(|| tiled.launch(threads, items, &mut matches))?;
    expected.check(&matches.to_vec()?)?;
    Ok(time)
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
        let rows = self.matches.chunks_exact(MATCHES);
        for (i, (expected, found)) in rows.zip(found.chunks_exact(MATCHES)).enumerate() {
            ensure!(
                expected == found,
                "box {i} has the matches {found:?}, not {expected:?}"
            );
        }
        ensure!(
            found.len() == self.matches.len(),
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
