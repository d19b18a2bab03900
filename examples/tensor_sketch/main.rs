//! Sketches the sequences of FASTA files, and measures how far they are from each other.
//!
//! ```text
//! cargo run --release --example tensor_sketch -- examples/data/lambda_phage.fa
//! ```

mod args;
mod fasta;
mod output;
mod summary;
mod tables_file;

use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Result, bail};
use clap::Parser;
use gridstride::tensor_sketch::{Metric, Tables, TensorSketch, pairwise};

use args::Args;
use output::OutputFile;
use summary::Run;

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<()> {
    let sketcher = TensorSketch::new(tables(args)?).normalize(args.normalize);
    let device = args.device.open()?;
    if args.out.is_some() && args.out == args.distances {
        bail!("--out and --distances name the same file");
    }
    // Before the work, so that a path that cannot be written does not show only afterwards.
    let sketches_file = args.out.as_deref().map(OutputFile::create).transpose()?;
    let distances_file = args
        .distances
        .as_deref()
        .map(OutputFile::create)
        .transpose()?;

    let input = fasta::read(args)?;
    let start = Instant::now();
    let sketches = sketcher.sketch(&device, &input.sequences)?;
    let elapsed = start.elapsed();

    if let Some(file) = sketches_file {
        file.write_npy(&sketches)?;
    }
    if let Some(file) = distances_file {
        let names = input.records.iter().map(|record| record.name.as_str());
        let distances = pairwise(&device, sketches.view(), Metric::L2)?;
        file.write_table(names, &distances)?;
    }
    summary::print(&Run {
        args,
        sketcher: &sketcher,
        device: &device,
        input: &input,
        sketches: &sketches,
        elapsed,
    })
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
