//! Computes the distances of all pairs of rows.
//!
//! ```text
//! gridstride distances sketches.npy --out distances.tsv
//! ```

pub mod args;
mod blocks;
mod names;
mod nearest;
mod results_file;
mod rows;
mod summary;

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use gridstride::Device;
use gridstride::distances::Component;

use crate::common::npy::NpyReader;
use crate::common::progress;
use crate::common::report::{self, UsageError, timed};
use args::{Args, TypeName};
use blocks::Blocks;
use names::Names;
use nearest::Nearest;
use results_file::ResultsFile;
use rows::Rows;
use summary::{Run, Summary, Times};

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    let stdin = Path::new("-");
    if args.rows == stdin && args.other.as_deref() == Some(stdin) {
        bail!(UsageError("only one of the two files can be stdin".into()));
    }
    let rows = NpyReader::open(&args.rows)?;
    let other = args.other.as_deref().map(NpyReader::open).transpose()?;
    let is_single = [Some(&rows), other.as_ref()]
        .into_iter()
        .flatten()
        .all(|file| file.type_name() == "f32");
    match args.number {
        Some(TypeName::F32) => run_in::<f32>(args, rows, other),
        None if is_single => run_in::<f32>(args, rows, other),
        _ => run_in::<f64>(args, rows, other),
    }
}

fn run_in<T: Component>(args: &Args, rows: NpyReader, other: Option<NpyReader>) -> Result<()> {
    let (start, mut times) = (Instant::now(), Times::default());
    let out = args.out()?;
    let (rows, devices) = rows_and_devices::<T>(args, rows, other, &mut times)?;
    let names = Names::read(args, &rows)?;
    // Before the work, so that a path that cannot be written does not show only afterwards.
    let create = |(path, format)| ResultsFile::create(path, format, &names);
    let mut out = out.map(create).transpose()?;

    let mut nearest = Nearest::new(rows.other.is_none());
    let mut blocks = Blocks::new(&rows, &devices, args.metric.metric());
    let bar = progress::count("comparing", blocks.count(), "distances");
    while let Some(block) = timed(&mut times.computing, || blocks.next()) {
        let (first, distances) = block?;
        timed(&mut times.writing, || {
            nearest.add(first, distances.view());
            out.iter_mut()
                .try_for_each(|out| out.add(&names, first, distances.view()))
        })?;
        bar.inc(distances.len() as u64);
    }
    bar.finish_and_clear();
    timed(&mut times.writing, || {
        out.map_or(Ok(()), ResultsFile::finish)
    })?;
    report::show(&Summary::new(&Run {
        args,
        rows: &rows,
        names: &names,
        devices: &devices,
        nearest: &nearest,
        times,
        elapsed: start.elapsed(),
    }))
}

/// Opens the devices, which takes its time, while the rows are read.
fn rows_and_devices<T: Component>(
    args: &Args,
    rows: NpyReader,
    other: Option<NpyReader>,
    times: &mut Times,
) -> Result<(Rows<T>, Vec<Device>)> {
    let Times {
        reading, opening, ..
    } = times;
    thread::scope(|scope| {
        let thread = thread::Builder::new()
            .name("rows".into())
            .spawn_scoped(scope, || {
                let mut took = Duration::ZERO;
                let rows = timed(&mut took, || Rows::read(args, rows, other));
                (took, rows)
            })
            .context("reading needs a thread")?;
        let devices = timed(opening, || args.device.open(args.memory));
        let (took, rows) = thread.join().expect("reading does not panic");
        *reading = took;
        Ok((rows?, devices?))
    })
}
