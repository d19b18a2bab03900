//! Tensor sketches of DNA: letter by letter, from plain loops to V15.

mod exact;
mod kernels;
mod letters;
mod sweeps;
mod wide;

use std::cell::OnceCell;
use std::path::PathBuf;

use anyhow::Result;
use gridstride::tensor_sketch::{Form, Tables, TensorSketch};
use ladder_kernels::tensor_sketch::{DIM, LETTERS, TUPLE};

use crate::climb::Climb;
use crate::rows::Ladder;
use crate::setup::{Defaults, Setup};
use exact::{Entries, Expected};
use kernels::Data;
use letters::Letters;

/// Letters that a core processes in a second or two.
const LETTERS_OF_A_CORE: usize = 1_000_000;

/// The sequences.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Options {
    /// Sequences; 1410 on a GPU.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub sequences: Option<u32>,

    /// Letters of all sequences together; 100 million on a GPU.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=2_000_000_000))]
    pub letters: Option<u32>,

    /// Sketch the records of a FASTA file of DNA instead of random sequences, of any length. It may
    /// be compressed. Characters other than A, C, G, T and U are left out.
    #[arg(long, value_name = "FASTA", conflicts_with_all = ["sequences", "letters"])]
    pub fasta: Option<PathBuf>,

    /// The letters of the FASTA file, which may be stdin: it is read once for all devices.
    #[arg(skip)]
    pub letters_of_file: OnceCell<Letters>,

    /// Give all sequences the same length, and print no second table. By default lengths vary from
    /// half to one and a half of the mean, or are those of the file, and a second table has the
    /// same letters in sequences of equal lengths.
    #[arg(long)]
    pub equal: bool,

    /// Letters for the versions on one core, unless they compute all. The default is
    /// [`LETTERS_OF_A_CORE`].
    #[arg(skip)]
    pub letters_of_a_core: Option<usize>,

    /// Sweep the places of a thread, consecutive and strided, the sequences of a launch, and the
    /// streams.
    #[arg(long)]
    pub sweep: bool,
}

/// Runs all versions, and those that run at once again for sequences of equal lengths (V14).
///
/// # Errors
/// If one fails or is wrong, or if the file cannot be read.
pub fn climb(options: &Options, setup: &Setup) -> Result<Vec<Ladder>> {
    let random;
    let letters = match &options.fasta {
        Some(path) => match options.letters_of_file.get() {
            Some(letters) => letters,
            None => {
                let letters = Letters::read(path)?;
                options.letters_of_file.get_or_init(|| letters)
            }
        },
        None => {
            let count = setup.size(options.sequences, Defaults::new(1410, 100, 6));
            let total = setup.size(options.letters, Defaults::new(100_000_000, 2_000_000, 600));
            random = Letters::random(count, total, options.equal, setup.seed)?;
            &random
        }
    };
    // The tables of the article, whatever the seed of the letters is.
    let [hashes, signs] =
        article_data::sketch::tables(LETTERS, TUPLE, DIM, article_data::sketch::SEED);
    let tables = Tables::new(hashes.view(), signs.view(), DIM)?;
    let equal = || letters.of_equal_lengths();
    if options.equal {
        return Ok(vec![all(&equal(), &tables, options, setup)?]);
    }
    let ladder = all(letters, &tables, options, setup)?;
    match setup.has_kernels() {
        true => Ok(vec![ladder, of_equal_lengths(&equal(), &tables, setup)?]),
        false => Ok(vec![ladder]),
    }
}

fn title(letters: &Letters) -> String {
    format!(
        "Tensor sketches of {} sequences, {} letters, the longest {}, A = {LETTERS}, t = {TUPLE}, D = {DIM}",
        letters.count(),
        letters.codes.len(),
        letters.longest()
    )
}

/// Runs all versions.
fn all(letters: &Letters, tables: &Tables, options: &Options, setup: &Setup) -> Result<Ladder> {
    let mut climb = Climb::new(setup, title(letters));
    climb.say("the reference");
    let entries = Entries::new(tables);
    let expected = Expected::new(letters, &entries)?;
    if setup.has_cpu_rows {
        let of_a_core = options.letters_of_a_core.unwrap_or(LETTERS_OF_A_CORE);
        on_cpu(&mut climb, letters, &entries, setup, of_a_core)?;
    }
    if setup.has_kernels() {
        let device = &setup.device;
        wide::one_by_one(&mut climb, device, letters, tables, &expected)?;
        wide::at_once(&mut climb, device, letters, tables, &expected)?;
        let data = Data::new(device, letters, tables, &expected)?;
        kernels::climb(&mut climb, &data, letters, tables)?;
        if options.sweep {
            sweeps::climb(&mut climb, &data)?;
        }
    }
    library(&mut climb, setup, letters, tables, &expected)?;
    Ok(climb.finish())
}

/// Runs the versions that compute all sequences in one launch, of sequences of equal lengths.
fn of_equal_lengths(letters: &Letters, tables: &Tables, setup: &Setup) -> Result<Ladder> {
    let title = format!("V14, equal lengths: {}", title(letters));
    let mut climb = Climb::new(setup, title).variant("equal lengths".to_owned());
    climb.say("the reference of equal lengths");
    let expected = Expected::new(letters, &Entries::new(tables))?;
    let device = &setup.device;
    wide::at_once(&mut climb, device, letters, tables, &expected)?;
    let data = Data::new(device, letters, tables, &expected)?;
    kernels::climb(&mut climb, &data, letters, tables)?;
    library(&mut climb, setup, letters, tables, &expected)?;
    Ok(climb.finish())
}

/// V0 to V2, on the first letters.
fn on_cpu(
    climb: &mut Climb,
    letters: &Letters,
    entries: &Entries,
    setup: &Setup,
    of_a_core: usize,
) -> Result<()> {
    let all = letters.codes.len();
    let cores = rayon::current_num_threads();
    let one = letters.first(setup.part(all, of_a_core));
    let several = letters.first(setup.part(all, of_a_core * cores));
    let share = |part: &Letters| match all {
        0 => 1.0,
        _ => part.codes.len() as f64 / all as f64,
    };
    let expected = Expected::new(&one, entries)?;
    climb.cpu_part(
        share(&one),
        "V0",
        "one core, in i64; places are rolled modulo D",
        || Ok(exact::modulo(&one, entries)),
        |found| expected.check_exact(&found),
    )?;
    climb.cpu_part(
        share(&one),
        "V1",
        "rolled by an index with one conditional subtraction",
        || Ok(exact::subtracting(&one, entries)),
        |found| expected.check_exact(&found),
    )?;
    let expected = Expected::new(&several, entries)?;
    climb.cpu_part(
        share(&several),
        "V2",
        "sequences shared out to all cores",
        || Ok(exact::on_all_cores(&several, entries)),
        |found| expected.check_exact(&found),
    )
}

fn library(
    climb: &mut Climb,
    setup: &Setup,
    letters: &Letters,
    tables: &Tables,
    expected: &Expected,
) -> Result<()> {
    let sequences = letters.sequences()?;
    let on_device = sequences.upload(&setup.device)?;
    let of_form = |form| TensorSketch::new(tables.clone()).form(form);
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
        let sketch = of_form(form);
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
    let sketch = of_form(Form::Fourier);
    climb.with_copies(
        "gridstride, copies",
        "the same from and to the host's memory",
        || Ok(sketch.sketch(&setup.device, &sequences)?),
        |found| expected.check_transformed(found.as_slice().expect("a new array")),
    )
}
