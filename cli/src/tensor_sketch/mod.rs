//! Sketches the sequences of FASTA files, and measures how far they are from each other.
//!
//! ```text
//! gridstride tensor-sketch examples/data/lambda_phage.fa
//! ```

pub mod args;
mod clustering;
mod comparison;
mod distances_file;
mod fasta;
mod heat_map;
mod means;
mod read_ahead;
mod results;
mod sessions;
mod sketching;
mod summary;
mod tables_file;
mod tree;
mod windows;

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use gridstride::distances;
use gridstride::tensor_sketch::{Entry, Tables, TensorSketch};

use crate::common::output::{NpyFile, check_distinct};
use crate::common::report::{self, UsageError, timed};
use args::{Args, FormName};
use comparison::Outputs;
use read_ahead::ReadAhead;
use results::Results;
use sketching::sketch_files;
use summary::{Run, Summary};

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    check_paths(args)?;
    let sketcher = TensorSketch::new(tables(args)?)
        .normalize(args.normalize)
        .form(args.form.form());
    match args.f64 {
        false => run_in(args, &sketcher),
        true => run_in(args, &sketcher.double()),
    }
}

fn run_in<T: Entry + distances::Component>(args: &Args, sketcher: &TensorSketch<T>) -> Result<()> {
    if args.windows.is_some() && args.form == FormName::Direct {
        bail!(UsageError(
            "--windows sketches in the Fourier form alone, not with --form direct".into()
        ));
    }
    // Before the work, so that a path that cannot be written does not show only afterwards.
    let outputs = Outputs::create(args)?;
    let dim = sketcher.tables().dim();
    let sketches_file = args
        .out
        .as_deref()
        .map(|path| NpyFile::create(path, 'f', dim));
    let mut results = Results::new(sketches_file.transpose()?, outputs.any(), args.mean);

    // The device takes its time, during which reading begins.
    let text = ReadAhead::start(&args.files)?;
    let mut opening = Duration::ZERO;
    let devices = timed(&mut opening, || args.device.open(args.memory))?;

    let start = Instant::now();
    let mut times = sketch_files(args, &text, sketcher, &devices, &mut results)?;
    timed(&mut times.writing, || results.finish())?;
    let elapsed = start.elapsed();
    let comparison = match results.take_all(dim)? {
        Some((names, sketches)) => outputs.write(&devices, &names, sketches.view())?,
        None => None,
    };
    report::show(&Summary::new(&Run {
        args,
        sketcher,
        devices: &devices,
        results: &results,
        comparison,
        opening,
        times,
        elapsed,
    }))
}

fn check_paths(args: &Args) -> Result<()> {
    let outputs = [
        ("--out", args.out.as_deref()),
        ("--distances", args.distances.as_deref()),
        ("--tree", args.tree.as_deref()),
        ("--plot", args.plot.as_deref()),
    ];
    let inputs = args.files.iter().chain(&args.tables);
    check_distinct(&outputs, &inputs.map(|path| &**path).collect::<Vec<_>>())
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
