//! Sketches the sequences of FASTA files, and measures how far they are from each other.
//!
//! ```text
//! gridstride tensor-sketch examples/data/lambda_phage.fa
//! ```

pub mod args;
mod distances_file;
mod fasta;
mod read_ahead;
mod results;
mod sessions;
mod sketching;
mod summary;
mod tables_file;
mod windows;

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use gridstride::distances::{self, pairwise};
use gridstride::tensor_sketch::{Entry, Tables, TensorSketch};

use crate::common::output::{NpyFile, OutputFile};
use crate::common::progress::phase;
use crate::common::report::{self, UsageError, timed};
use args::{Args, FormName};
use read_ahead::ReadAhead;
use results::Results;
use sketching::sketch_files;
use summary::{Run, Summary};

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    let sketcher = TensorSketch::new(tables(args)?)
        .normalize(args.normalize)
        .form(args.form.form());
    match args.f64 {
        false => run_in(args, &sketcher),
        true => run_in(args, &sketcher.double()),
    }
}

fn run_in<T: Entry + distances::Component>(args: &Args, sketcher: &TensorSketch<T>) -> Result<()> {
    if args.out.is_some() && args.out == args.distances {
        bail!(UsageError("--out and --distances name the same file"));
    }
    if args.windows.is_some() && args.form == FormName::Direct {
        bail!(UsageError(
            "--windows sketches in the Fourier form alone, not with --form direct"
        ));
    }
    // Before the work, so that a path that cannot be written does not show only afterwards.
    let dim = sketcher.tables().dim();
    let sketches_file = args
        .out
        .as_deref()
        .map(|path| NpyFile::create(path, 'f', dim));
    let distances_file = args.distances.as_deref().map(OutputFile::create);
    let mut results = Results::new(sketches_file.transpose()?, args.distances.is_some());
    let distances_file = distances_file.transpose()?;

    // The device takes its time, during which reading begins.
    let text = ReadAhead::start(&args.files)?;
    let mut opening = Duration::ZERO;
    let devices = timed(&mut opening, || args.device.open(args.memory))?;

    let start = Instant::now();
    let mut times = sketch_files(args, &text, sketcher, &devices, &mut results)?;
    timed(&mut times.writing, || results.finish_file())?;
    let elapsed = start.elapsed();
    if let (Some(file), Some((names, sketches))) = (distances_file, results.take_all(dim)?) {
        let distances = phase("comparing", || pairwise(&devices, sketches.view()))?;
        phase("writing", || {
            distances_file::write(file, &names, &distances)
        })?;
    }
    report::show(&Summary::new(&Run {
        args,
        sketcher,
        devices: &devices,
        results: &results,
        opening,
        times,
        elapsed,
    }))
}

fn tables(args: &Args) -> Result<Tables> {
    let alphabet_size = args.alphabet.alphabet().size();
    match &args.tables {
        Some(path) => tables_file::read(path, alphabet_size, args.tuple, args.dim),
        None => Ok(Tables::from_seed(
            alphabet_size,
            args.tuple.unwrap_or(args::DEFAULT_TUPLE),
            args.dim,
            args.seed,
        )?),
    }
}
