//! Computes the distances of all pairs of rows.
//!
//! ```text
//! gridstride distances sketches.npy --out distances.tsv
//! ```

pub mod args;
mod blocks;
mod lines;
mod names;
mod nearest;
mod results_file;
mod rows;
mod search;
mod summary;
mod windows;

use std::path::Path;
use std::time::Instant;

use anyhow::{Result, bail};
use files::Monitor;
use files::npy::NpyReader;
use gridstride::Device;
use gridstride::distances::Component;
use program::output::{Format, OutputFile, check_outputs};
use program::progress::{self, phase};
use program::report::{self, UsageError, timed};

use crate::common::number_type::NumberType;
use crate::common::opening::open_while_reading;
use args::Args;
use blocks::{Block, Blocks};
use names::Names;
use nearest::Nearest;
use results_file::{ResultsFile, write_nearest};
use rows::Rows;
use summary::{Run, Summary, Times};

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    if args.windows.is_some() && args.other.is_some() != args.other_windows.is_some() {
        bail!(UsageError(
            "--windows needs the windows of OTHER.npy too: give them by --other-windows".to_owned()
        ));
    }
    let given = [
        &args.other,
        &args.names,
        &args.other_names,
        &args.windows,
        &args.other_windows,
    ];
    let inputs: Vec<&Path> = [&*args.rows]
        .into_iter()
        .chain(given.into_iter().flatten().map(|path| &**path))
        .collect();
    check_outputs(&[("--out", args.out.as_deref(), Format::Chosen)], &inputs)?;
    args.out()?;
    let (start, owned) = (Instant::now(), args.clone());
    let opened = open_while_reading(&args.devices.device, args.devices.memory, move || {
        let paths = [Some(&owned.rows), owned.other.as_ref()];
        progress::reading(paths.into_iter().flatten(), |monitor| read(&owned, monitor))
    })?;
    let times = Times {
        reading: opened.reading,
        opening: opened.opening,
        ..Times::default()
    };
    let devices = &opened.devices;
    match opened.value {
        Either::Single(rows) => run_in(args, rows, devices, start, times),
        Either::Double(rows) => run_in(args, rows, devices, start, times),
    }
}

/// Rows of the type in which to compute.
enum Either {
    Single(Rows<f32>),
    Double(Rows<f64>),
}

fn read(args: &Args, monitor: &Monitor) -> Result<Either> {
    let rows = NpyReader::open(&args.rows, monitor)?;
    let other = args.other.as_deref();
    let other = other.map(|path| NpyReader::open(path, monitor));
    let other = other.transpose()?;
    let is_single = [Some(&rows), other.as_ref()]
        .into_iter()
        .flatten()
        .all(|file| file.type_name() != "f64");
    Ok(match args.number {
        Some(NumberType::F32) => Either::Single(Rows::read(args, rows, other)?),
        None if is_single => Either::Single(Rows::read(args, rows, other)?),
        _ => Either::Double(Rows::read(args, rows, other)?),
    })
}

fn run_in<T: Component>(
    args: &Args,
    rows: Rows<T>,
    devices: &[Device],
    start: Instant,
    mut times: Times,
) -> Result<()> {
    let names = Names::read(args, &rows)?;
    let mut nearest = Nearest::new(rows.other.is_none() && args.nearest.is_none());
    // The outputs are created before the work, so that a path that cannot be written does not show
    // only afterwards.
    if let Some(k) = args.nearest {
        search::check(args, &rows, devices, k)?;
        let out = args.out.as_deref().map(OutputFile::create).transpose()?;
        let neighbours = timed(&mut times.computing, || {
            phase("searching", || search::nearest(args, &rows, devices, k))
        })?;
        nearest.add_neighbours(&neighbours);
        timed(&mut times.writing, || {
            out.map_or(Ok(()), |out| write_nearest(out, &names, &neighbours))
        })?;
        return show(args, &rows, &names, devices, &nearest, start, times);
    }
    let create = |(path, format)| ResultsFile::create(path, format, &names);
    let mut out = args.out()?.map(create).transpose()?;

    let blocks = Blocks::new(&rows, devices, args.metric, out.is_some());
    let bar = progress::count("comparing", blocks.row_count(), "rows");
    times.computing = blocks.for_each(|block| {
        timed(&mut times.writing, || {
            nearest.add(&block);
            let Block {
                first_row,
                distances,
                ..
            } = &block;
            let mut out = out.iter_mut();
            out.try_for_each(|out| out.add(&names, *first_row, distances.view()))
        })?;
        bar.inc(block.distances.nrows() as u64);
        Ok(())
    })?;
    bar.finish_and_clear();
    timed(&mut times.writing, || {
        out.map_or(Ok(()), ResultsFile::finish)
    })?;
    show(args, &rows, &names, devices, &nearest, start, times)
}

fn show<T: Component>(
    args: &Args,
    rows: &Rows<T>,
    names: &Names,
    devices: &[Device],
    nearest: &Nearest,
    start: Instant,
    times: Times,
) -> Result<()> {
    report::show(&Summary::new(&Run {
        args,
        rows,
        names,
        devices,
        nearest,
        times,
        elapsed: start.elapsed(),
    }))
}
