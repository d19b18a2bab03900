//! Computes edit distances of pairs of sequences, and how well sketches estimate them.
//!
//! ```text
//! gridstride edit-distance a.fa b.fa --windows 1000:100
//! gridstride edit-distance groups.fa --group 4
//! ```

pub mod args;
mod comparison;
mod estimates;
mod exact;
mod generate;
mod grid;
mod grid_plot;
mod records;
mod rows;
mod scatter;
mod summary;
mod tables;

use std::iter;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Result, bail};
use files::sequences::{Needed, Short};
use gridstride::tensor_sketch::{Alphabet, Tables};
use program::output::{Format, OutputFile, check_outputs};
use program::progress::phase;
use program::report::{self, UsageError, timed, warn};

use crate::common::opening::open_while_reading;
use crate::common::repeated::refuse_repeated;
use crate::tensor_sketch::args::Windows;
use args::Args;
use comparison::Comparison;
use estimates::Estimates;
use records::Pairs;
use summary::{Outcome, Run, Summary, Times};

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    if let Some(count) = args.generate {
        return generate::run(args, count);
    }
    check_options(args)?;
    let outputs = [
        ("--out", args.out.as_deref(), Format::Tsv),
        ("--plot", args.plot.as_deref(), Format::Picture),
    ];
    let inputs: Vec<_> = args.files().map(PathBuf::as_path).collect();
    check_outputs(&outputs, &inputs)?;
    // Before the work, so that a path that cannot be written does not show only afterwards.
    let mut out = args.out.as_deref().map(OutputFile::create).transpose()?;
    let mut picture = args.plot.as_deref().map(OutputFile::create).transpose()?;

    let (start, owned) = (Instant::now(), args.clone());
    let opened = open_while_reading(&args.devices.device, args.devices.memory, move || {
        Pairs::read(&owned)
    })?;
    let (pairs, devices) = (&opened.value, &*opened.devices);
    let mut times = Times {
        reading: opened.reading,
        opening: opened.opening,
        ..Times::default()
    };
    check_lengths(args, pairs)?;
    let edit = timed(&mut times.exact, || {
        phase("comparing", || exact::edit_distances(devices, pairs))
    })?;

    let (comparison, points);
    let outcome = if args.grid {
        points = timed(&mut times.estimating, || {
            grid::search(args, devices, pairs, &edit)
        })?;
        timed(&mut times.writing, || {
            if let Some(file) = &mut out {
                grid::write(file, &points)?;
            }
            let svg = || grid_plot::svg(&points, pairs.count());
            draw(&mut picture, svg)
        })?;
        Outcome::Grid(&points)
    } else {
        comparison = timed(&mut times.estimating, || {
            phase("sketching", || compare(args, devices, pairs, edit.clone()))
        })?;
        timed(&mut times.writing, || {
            if let Some(file) = &mut out {
                comparison.write(file, pairs)?;
            }
            let sketches = format!(
                "tensor sketches of tuples of {}, dim {}",
                args.tuple[0], args.dim[0]
            );
            let windows = args.windows.first().map(Windows::to_string);
            let svg = || scatter::svg(&comparison, &sketches, windows.as_deref());
            draw(&mut picture, svg)
        })?;
        Outcome::One(&comparison)
    };
    // Both files appear together, once nothing but the disk can fail.
    timed(&mut times.writing, || {
        [out, picture]
            .into_iter()
            .flatten()
            .try_for_each(OutputFile::publish)
    })?;
    report::show(&Summary::new(&Run {
        args,
        pairs,
        devices,
        edit: &edit,
        outcome,
        times,
        elapsed: start.elapsed(),
    }))
}

/// Refuses lists without `--grid` or with a value twice, windows without tuples, and groups of two
/// files.
fn check_options(args: &Args) -> Result<()> {
    if args.group.is_some() && args.b.is_some() {
        bail!(UsageError(
            "--group compares the records of one file: with two files, record i of one is compared with record i of \
             the other, so leave out B.fa or --group"
                .into()
        ));
    }
    let is_list = args.tuple.len() > 1 || args.dim.len() > 1 || args.windows.len() > 1;
    if is_list && !args.grid {
        bail!(UsageError(
            "--tuple, --dim and --windows take lists only with --grid, which tries all combinations".into()
        ));
    }
    // Equal combinations would count as one with several seeds.
    refuse_repeated("--tuple", &args.tuple)?;
    refuse_repeated("--dim", &args.dim)?;
    refuse_repeated("--windows", &args.windows)?;
    let tuple = args.tuple.iter().copied().max().unwrap_or(0);
    let is_short = |windows: &&Windows| windows.width.get() < tuple;
    if let Some(windows) = args.windows.iter().find(is_short) {
        bail!(UsageError(format!(
            "--windows of {} letters have no tuples of {tuple} letters: choose a greater WIDTH or a smaller --tuple",
            windows.width
        )));
    }
    Ok(())
}

/// Refuses windows that no pair has, and warns of pairs without, and of records without tuples.
fn check_lengths(args: &Args, pairs: &Pairs) -> Result<()> {
    let shorter = |pair: usize| pairs.lengths(pair).into_iter().min().unwrap_or(0);
    for windows in &args.windows {
        let width = windows.width.get();
        let without = (0..pairs.count())
            .filter(|&pair| shorter(pair) < width)
            .count();
        if without == pairs.count() {
            let longest = (0..pairs.count()).map(shorter).max().unwrap_or(0);
            bail!(
                "no pair has two sequences of {width} letters; the longest has two of {longest}: --windows needs a \
                 smaller WIDTH"
            );
        }
        if without > 0 {
            warn(&format!(
                "{without} of {} pairs have a sequence of less than {width} letters: they have no slide distance, \
                 and do not count in its correlation",
                pairs.count()
            ));
        }
    }
    let records = || iter::once(&pairs.a).chain(&pairs.b);
    let names: Vec<_> = records().flat_map(|records| &records.names).collect();
    let lengths = records().flat_map(|records| records.sequences.lengths());
    let tuple = args.tuple.iter().copied().max().unwrap_or(0);
    let short = Short::of(lengths, tuple, |index| names[index].clone());
    if let Some(sentence) = short.sentence(Needed::Tuple(tuple), names.len() as u64) {
        warn(&sentence);
    }
    Ok(())
}

/// Compares the sketches that are asked for, without `--grid`.
fn compare(
    args: &Args,
    devices: &[gridstride::Device],
    pairs: &Pairs,
    edit: Vec<f64>,
) -> Result<Comparison> {
    let alphabet = Alphabet::from(args.alphabet).size();
    let tables = Tables::from_seed(alphabet, args.tuple[0], args.dim[0], args.seed)?;
    let estimates = Estimates::new(devices, pairs, tables);
    let windows = args.windows.first();
    Ok(Comparison {
        edit,
        sketch: estimates.plain()?,
        slide: windows
            .map(|&windows| estimates.slide(windows))
            .transpose()?,
    })
}

fn draw(picture: &mut Option<OutputFile>, svg: impl FnOnce() -> Result<String>) -> Result<()> {
    match picture {
        Some(picture) => picture.write_picture(&svg()?),
        None => Ok(()),
    }
}
