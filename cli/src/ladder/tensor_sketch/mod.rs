//! Tensor sketches of DNA: letter by letter, from plain loops to V15.

mod exact;
mod kernels;
mod letters;

use anyhow::{Result, ensure};
use gridstride::tensor_sketch::{Form, Tables, TensorSketch};
use ladder_kernels::tensor_sketch::{DIM, LETTERS, TUPLE};

use crate::ladder::climb::{Climb, Defaults, Ladder, Setup};
use exact::{Entries, Expected};
use letters::Letters;

/// The longest sequence of which all numbers are below 2⁶³: C(121977, 4).
const LONGEST: usize = 121_977;

/// The size.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Options {
    /// Sequences; 1410 on a GPU.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub sequences: Option<u32>,

    /// Letters of all sequences together; 100 million on a GPU.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=2_000_000_000))]
    pub letters: Option<u32>,

    /// Give all sequences the same length. By default lengths vary from half to one and a half of
    /// the mean.
    #[arg(long)]
    pub equal: bool,
}

/// Runs all versions.
///
/// # Errors
/// If one fails or is wrong, or if a sequence has more than 121977 letters.
pub fn climb(options: &Options, setup: &Setup) -> Result<Ladder> {
    let count = setup.size(options.sequences, Defaults::new(1410, 100, 6));
    let total = setup.size(options.letters, Defaults::new(100_000_000, 2_000_000, 600));
    let letters = Letters::random(count, total, options.equal, setup.seed);
    ensure!(
        letters.longest() <= LONGEST,
        "the longest sequence has {} letters: beyond {LONGEST} its sketch is not within 64 bits; use more sequences",
        letters.longest()
    );
    let title = format!(
        "Tensor sketches of {count} sequences, {} letters, the longest {}, A = {LETTERS}, t = {TUPLE}, D = {DIM}",
        letters.codes.len(),
        letters.longest()
    );
    let mut climb = Climb::new(setup, title);
    climb.say("the reference");
    let tables = Tables::from_seed(LETTERS, TUPLE, DIM, setup.seed)?;
    let entries = Entries::new(&tables);
    let expected = Expected::new(&letters, &entries);

    climb.cpu(
        "V0",
        "one core; places are rolled modulo D",
        || Ok(exact::modulo(&letters, &entries)),
        |found| expected.check_exact(&found),
    )?;
    climb.cpu(
        "V1",
        "rolled by an index with one conditional subtraction",
        || Ok(exact::subtracting(&letters, &entries)),
        |found| expected.check_exact(&found),
    )?;
    climb.cpu(
        "V2",
        "sequences shared out to all cores",
        || Ok(exact::on_all_cores(&letters, &entries)),
        |found| expected.check_exact(&found),
    )?;
    if setup.has_kernels() {
        kernels::climb(&mut climb, &setup.device, &letters, &tables, &expected)?;
    }
    library(&mut climb, setup, &letters, tables, &expected)?;
    Ok(climb.finish(None))
}

fn library(
    climb: &mut Climb,
    setup: &Setup,
    letters: &Letters,
    tables: Tables,
    expected: &Expected,
) -> Result<()> {
    let sequences = letters.sequences()?;
    let on_device = sequences.upload(&setup.device)?;
    let sketch = TensorSketch::new(tables);
    for (version, form, changed) in [
        (
            "gridstride, direct",
            Form::Direct,
            "the library's, letter by letter as above",
        ),
        (
            "gridstride",
            Form::Fourier,
            "in the Fourier domain: several letters a step, long sequences in pieces",
        ),
    ] {
        let sketch = sketch.clone().form(form);
        let check = |found: &[f32]| match form {
            Form::Direct => expected.check_rounded(found),
            _ => expected.check_transformed(found),
        };
        if setup.has_kernels() {
            let work = || Ok(sketch.sketch_device(&on_device)?);
            climb.library(version, changed, work, |found| {
                check(&found.buffer().to_vec()?)
            })?;
        } else {
            let work = || Ok(sketch.sketch(&setup.device, &sequences)?);
            climb.library(version, changed, work, |found| {
                check(found.as_slice().expect("a new array"))
            })?;
        }
    }
    Ok(())
}
