//! Sketches the sequences of FASTA and FASTQ files, and measures how far they are from each other.
//!
//! ```text
//! gridstride tensor-sketch examples/data/lambda_phage.fa
//! ```

pub mod args;
mod clustering;
mod comparison;
mod heat_map;
mod means;
mod name;
mod results;
mod sessions;
mod sketching;
mod summary;
mod tree;
mod window_lists;
mod windows;

use std::collections::HashSet;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use files::Monitor;
use files::sequences::{Needed, SHOWN_NAME};
use files::text::shortened;
use gridstride::distances;
use gridstride::tensor_sketch::{Alphabet, Entry, Form, Tables, TensorSketch};
use program::output::{Format, NpyFile, check_outputs};
use program::report::{self, UsageError, timed, warn};

use args::{Args, Windows};
use comparison::Outputs;
use results::Results;
use sketching::{Inputs, sketch_files};
use summary::{Run, Summary};
use window_lists::WindowLists;

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    check_paths(args)?;
    let sketcher = TensorSketch::new(tables(args)?)
        .normalize(args.normalize)
        .form(args.form);
    match args.f64 {
        false => run_in(args, &sketcher),
        true => run_in(args, &sketcher.double()),
    }
}

fn run_in<T: Entry + distances::Component>(args: &Args, sketcher: &TensorSketch<T>) -> Result<()> {
    if args.windows.is_some() && args.form == Form::Direct {
        bail!(UsageError(
            "--windows sketches in the Fourier form alone, not with --form direct".into()
        ));
    }
    let tuple = sketcher.tables().tuple_length();
    if let Some(windows) = args.windows.filter(|windows| windows.width.get() < tuple) {
        bail!(UsageError(format!(
            "--windows of {} letters have no tuples of {tuple} letters: choose a greater WIDTH or a \
             smaller --tuple",
            windows.width
        )));
    }
    // Before the work, so that a path that cannot be written does not show only afterwards.
    let mut outputs = Outputs::create(args)?;
    let dim = sketcher.tables().dim();
    let sketches_file = args
        .out
        .as_deref()
        .map(|path| NpyFile::create(path, 'f', dim));
    let mut results = Results::new(
        sketches_file.transpose()?,
        WindowLists::create(args)?,
        outputs.any(),
        args.mean,
        outputs.most(),
    );

    // The device takes its time, during which reading begins.
    let inputs = Inputs::start(args);
    let mut opening = Duration::ZERO;
    let devices = timed(&mut opening, || {
        args.devices.device.open(args.devices.memory)
    })?;

    let start = Instant::now();
    let mut times = sketch_files(args, inputs, sketcher, &devices, &mut results)?;
    timed(&mut times.writing, || results.finish())?;
    let longest = results.longest;
    if let Some(Windows { width, .. }) = args.windows
        && results.count == 0
    {
        bail!(
            "no sequence has {width} letters; the longest has {longest}: --windows needs a smaller \
             WIDTH"
        );
    }
    let elapsed = start.elapsed();
    let needed = match args.windows {
        Some(windows) => Needed::Window(windows.width.get()),
        None => Needed::Tuple(tuple),
    };
    if let Some(sentence) = results.short.sentence(needed, results.sequences) {
        warn(&sentence);
    }
    if !args.normalize && args.windows.is_none() {
        warn_of_lengths(results.lengths(), tuple);
    }
    let comparison = match results.take_all(dim)? {
        Some((names, sketches)) => {
            if args.has_tree() {
                warn_of_leaves(&names);
            }
            outputs.write(&devices, &names, sketches.view())?
        }
        None => None,
    };
    // All files appear together, once nothing but the disk can fail.
    let mut publishing = Duration::ZERO;
    timed(&mut publishing, || results.publish())?;
    outputs.publish()?;
    times.writing += publishing;
    let elapsed = elapsed + publishing;
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
    let (names, counts) = (window_lists::names_of(args), window_lists::counts_of(args));
    let outputs = [
        ("--out", args.out.as_deref(), Format::Npy),
        ("--out (the names)", names.as_deref(), Format::Tsv),
        (
            "--out (the numbers of windows)",
            counts.as_deref(),
            Format::Tsv,
        ),
        ("--distances", args.distances.as_deref(), Format::Tsv),
        ("--tree", args.tree.as_deref(), Format::Newick),
        ("--plot", args.plot.as_deref(), Format::Picture),
        ("--plot-tree", args.plot_tree.as_deref(), Format::Picture),
    ];
    let inputs = args.files.iter().chain(&args.tables);
    check_outputs(&outputs, &inputs.map(|path| &**path).collect::<Vec<_>>())
}

/// Warns of distances that are those of lengths: if one sequence has more than twice as many tuples
/// as another, where sequences without tuples do not count.
fn warn_of_lengths(lengths: &[u64], tuple: usize) {
    let lengths = lengths.iter().filter(|&&length| length >= tuple as u64);
    let Some((least, most)) = lengths.clone().min().zip(lengths.max()) else {
        return;
    };
    // C(most, t) / C(least, t).
    let factor = |i: u64| (most - i) as f64 / (least - i) as f64;
    let ratio: f64 = (0..tuple as u64).map(factor).product();
    if ratio > 2.0 {
        warn(&format!(
            "sequences of {least} and of {most} letters have sketches of very different sizes, so that \
             the distances are mostly those of the lengths: --normalize divides by the number of tuples"
        ));
    }
}

/// Warns of sequences that a tree does not tell apart.
fn warn_of_leaves(names: &[String]) {
    let mut seen = HashSet::new();
    if let Some(name) = names.iter().find(|name| !seen.insert(*name)) {
        warn(&format!(
            "several sequences have the name {}, which a tree does not tell apart",
            shortened(name, SHOWN_NAME)
        ));
    }
}

fn tables(args: &Args) -> Result<Tables> {
    let alphabet_size = Alphabet::from(args.alphabet).size();
    match &args.tables {
        Some(path) => {
            let monitor = Monitor::new(|_| (), warn);
            files::tables::read(path, alphabet_size, args.tuple, args.dim, &monitor)
        }
        None => Ok(Tables::from_seed(
            alphabet_size,
            args.tuple.unwrap_or(args::DEFAULT_TUPLE),
            args.dim,
            args.seed,
        )?),
    }
}
