//! Finds all pairs of axis-aligned boxes of CSV files that overlap.
//!
//! ```text
//! gridstride box-overlap examples/data/pipes/set1.csv examples/data/pipes/set2.csv
//! ```

pub mod args;
mod generate;
mod inputs;
mod join;
mod rectangle;
mod results;
mod summary;
mod top_view;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use files::boxes::{self, Boxes, Number, Reading};
use gridstride::Device;
use gridstride::box_overlap::{BoxOverlap, OverlapSlices};
use ndarray::Array2;
use program::output::{Format, OutputFile, check_outputs};
use program::progress::{self, phase, total_size};
use program::report::{self, timed};

use crate::common::number_type::NumberType;
use args::Args;
use inputs::Inputs;
use join::Join;
use results::Results;
use summary::{Run, Summary, Times};
use top_view::Sample;

/// Pairs that are in memory together, unless a single box has more.
const PAIRS: usize = 1 << 22;

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    if let Some(count) = args.generate {
        return generate::run(args, count);
    }
    match args.number {
        None => {
            let (prepared, sets) = read::<f64>(args)?;
            match boxes::in_f32(&sets) {
                Some(narrow) => search(args, prepared, &narrow),
                None => search(args, prepared, &coordinates(sets)),
            }
        }
        Some(NumberType::F32) => run_in::<f32>(args),
        Some(NumberType::I32) => run_in::<i32>(args),
        Some(_) => run_in::<f64>(args),
    }
}

fn run_in<T: Number>(args: &Args) -> Result<()> {
    let (prepared, sets) = read::<T>(args)?;
    search(args, prepared, &coordinates(sets))
}

fn coordinates<T>(sets: Vec<Boxes<T>>) -> Vec<Array2<T>> {
    sets.into_iter().map(|set| set.coordinates).collect()
}

/// The inputs of the search other than the boxes.
struct Prepared {
    /// Until the end, since a join reads its files as it writes.
    _inputs: Inputs,
    results: Results,
    join: Option<Join>,
    picture: Option<OutputFile>,
    devices: Vec<Device>,
    /// Number of coordinates that were rounded.
    rounded: u64,
    start: Instant,
    opening: Duration,
    times: Times,
}

/// Begins the outputs, opens the devices and reads the boxes.
fn read<T: Number>(args: &Args) -> Result<(Prepared, Vec<Boxes<T>>)> {
    let outputs = [
        ("--out", args.out.as_deref(), Format::Csv),
        ("--matrix", args.matrix.as_deref(), Format::Npy),
        ("--plot", args.plot.as_deref(), Format::Picture),
    ];
    check_outputs(&outputs, &args.paths().collect::<Vec<_>>())?;
    let options = args.table_options()?;
    // Before the work, so that a path that cannot be written does not show only afterwards.
    let mut results = Results::create(args)?;
    let inputs = Inputs::new(args)?;
    let join = Join::create(args, &inputs, &options)?;
    let picture = args.plot.as_deref().map(OutputFile::create).transpose()?;

    // The device takes its time, during which the files are read.
    let (start, mut times) = (Instant::now(), Times::default());
    let bar = progress::bytes("reading", total_size(args.paths()));
    let monitor = progress::monitor(&bar);
    let paths = inputs.iter().zip(options);
    let paths = paths.map(|(input, options)| (input.path(), &*input.name, options));
    let reading = Reading::<T>::start(paths, args.ids, &monitor)?;
    let mut opening = Duration::ZERO;
    let devices = timed(&mut opening, || {
        args.devices.device.open(args.devices.memory)
    })?;
    let mut sets = reading.finish()?;
    bar.finish_and_clear();
    times.reading = start.elapsed();
    results.require_space(sets[0].coordinates.nrows())?;
    results.ids = sets.iter_mut().filter_map(|set| set.ids.take()).collect();
    if args.number != Some(NumberType::F32) {
        args.paths().zip(&sets).for_each(warn_of_rounded);
    }
    let prepared = Prepared {
        _inputs: inputs,
        results,
        join,
        picture,
        devices,
        rounded: sets.iter().map(|set| set.rounded).sum(),
        start,
        opening,
        times,
    };
    Ok((prepared, sets))
}

/// Warns of whole numbers that f64 does not hold.
fn warn_of_rounded<T>((path, set): (&Path, &Boxes<T>)) {
    if set.rounded > 0 {
        let (path, count) = (path.display(), set.rounded);
        report::warn(&match count {
            1 => format!(
                "{path}: 1 coordinate is a number beyond 2^53 that f64 does not have, and is rounded"
            ),
            _ => format!(
                "{path}: {count} coordinates are numbers beyond 2^53 that f64 does not have, and are rounded"
            ),
        });
    }
}

fn search<T: Number>(args: &Args, prepared: Prepared, sets: &[Array2<T>]) -> Result<()> {
    let Prepared {
        _inputs,
        mut results,
        mut join,
        picture,
        devices,
        rounded,
        start,
        opening,
        mut times,
    } = prepared;
    if let Some(join) = &mut join {
        timed(&mut times.writing, || {
            phase("joining", || join.start(sets[0].nrows()))
        })?;
    }
    let mut slices = timed(&mut times.searching, || {
        phase("searching", || slices(args, &devices, sets))
    })?;
    results.count(slices.counts())?;
    let rows = || sets.iter().map(Array2::nrows).collect();
    let sample = |_: &OutputFile| Sample::new(rows(), args.is_swapped(), slices.counts());
    let mut sample = picture.as_ref().map(sample);
    let bar = progress::count("writing", slices.pair_count(), "pairs");
    while let Some(slice) = timed(&mut times.searching, || slices.next()) {
        let slice = slice?;
        timed(&mut times.writing, || {
            results.add(&slice)?;
            join.as_mut().map_or(Ok(()), |join| join.add(&slice))
        })?;
        if let Some(sample) = &mut sample {
            sample.add(&slice);
        }
        bar.inc(slice.overlaps.pair_count() as u64);
        if results.are_complete() && join.is_none() && sample.is_none() {
            break;
        }
    }
    bar.finish_and_clear();
    timed(&mut times.writing, || {
        if let (Some(mut picture), Some(sample)) = (picture, sample) {
            let names: Vec<_> = args
                .paths()
                .map(|path| path.display().to_string())
                .collect();
            picture.write_picture(&sample.svg(&names, sets)?)?;
            picture.publish()?;
        }
        results.joined = join.as_ref().map(|join| join.rows);
        phase("writing", || {
            join.map_or(Ok(()), Join::finish)?;
            results.finish_files()
        })
    })?;
    report::show(&Summary::new(&Run {
        args,
        sets,
        rounded,
        devices: &devices,
        results: &results,
        opening,
        times,
        elapsed: start.elapsed(),
    }))
}

fn slices<'a, T: Number>(
    args: &Args,
    devices: &[Device],
    sets: &'a [Array2<T>],
) -> gridstride::Result<OverlapSlices<'a>> {
    let search = BoxOverlap::new().algorithm(args.algorithm);
    match sets {
        [set] => search.self_slices(devices, set.view(), PAIRS),
        [set1, set2] if args.is_swapped() => {
            search.slices(devices, set2.view(), set1.view(), PAIRS)
        }
        sets => search.slices(devices, sets[0].view(), sets[1].view(), PAIRS),
    }
}
