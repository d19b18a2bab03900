//! Overlapping boxes of two sets, every pair tested: plain, through shared memory, and in half
//! precision.

mod expected;
mod kernels;
mod sweeps;

use anyhow::{Result, ensure};
use article_data::pipes;
use gridstride::Device;
use gridstride::box_overlap::{Algorithm, BoxOverlap, Overlaps, reference};
use ladder_kernels::box_overlap::{MATCHES, NUMBERS, OVERFLOW, UNUSED};
use ndarray::Array2;
use rayon::prelude::*;

use super::climb::Climb;
use super::rows::Ladder;
use super::setup::{Defaults, Setup};
use expected::Expected;
use kernels::Data;

/// Pairs that a core tests in a second or so.
const PAIRS_OF_A_CORE: usize = 1_000_000_000;

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
    let boxes = pipes::boxes(n, setup.seed);
    let (set1, set2) = (boxes[0].view(), boxes[1].view());
    let sets = boxes.each_ref().map(numbers);
    let overlaps = match n * n <= FEW_PAIRS {
        true => reference::overlaps(set1, set2)?,
        false => BoxOverlap::new().overlaps(&Device::cpu(), set1, set2)?,
    };
    let expected = Expected::new(&overlaps);

    // Numbers of boxes of the first set.
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
        let data = Data::new(&setup.device, &sets, &expected)?;
        kernels::climb(&mut climb, &data)?;
        if options.sweep {
            sweeps::climb(&mut climb, &data)?;
        }
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

/// Writes the places of a box, as the kernels do.
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
