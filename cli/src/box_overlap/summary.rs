//! What is printed.

use std::fmt::Write;
use std::time::Duration;

use anyhow::Result;
use gridstride::Device;
use ndarray::Array2;

use super::args::Args;
use super::number::Number;
use super::results::Results;
use crate::common::device_names::listed;
use crate::common::report::{self, milliseconds, peak_memory};

/// The parts of a run.
#[derive(Default)]
pub struct Times {
    pub reading: Duration,
    pub searching: Duration,
    pub writing: Duration,
}

/// A finished run.
pub struct Run<'a, T> {
    pub args: &'a Args,
    pub sets: &'a [Array2<T>],
    pub devices: &'a [Device],
    pub results: &'a Results,
    /// How long it took to open the device, while the files were read.
    pub opening: Duration,
    pub times: Times,
    /// From the first text to the pairs on the disk.
    pub elapsed: Duration,
}

/// Prints the summary of a run on stdout.
pub fn print<T: Number>(run: &Run<T>) -> Result<()> {
    let mut text = String::new();
    write_summary(&mut text, run)?;
    report::print(&text)
}

fn write_summary<T: Number>(text: &mut String, run: &Run<T>) -> Result<()> {
    let Results {
        pairs,
        largest,
        shown,
        ..
    } = run.results;
    writeln!(text, "{:>10} {:>10}", "set1", "set2")?;
    for [i, j] in shown {
        writeln!(text, "{i:>10} {j:>10}")?;
    }
    let more = pairs - shown.len() as u64;
    if more > 0 {
        writeln!(text, "... and {more} more")?;
    }
    let sets = run.args.paths().zip(run.sets);
    let sets = sets.map(|(path, set)| format!("{} in {}", set.nrows(), path.display()));
    let sets: Vec<_> = sets.collect();
    let axes = run.sets[0].ncols() / 2;
    writeln!(text, "boxes: {}, {axes}-D, {}", sets.join(", "), T::NAME)?;
    let set = if run.args.is_swapped() {
        "set2"
    } else {
        "set1"
    };
    writeln!(
        text,
        "pairs: {pairs}, at most {largest} of one box of {set}"
    )?;
    if let (Some(path), Some(rows)) = (&run.args.out, run.results.joined) {
        let columns = run.args.join.join(", ");
        writeln!(
            text,
            "{}: {rows} rows, with {columns} of set1",
            path.display()
        )?;
    }
    if let Some(path) = &run.args.matrix {
        let (path, above, limit) = (path.display(), run.results.above_limit, run.args.limit);
        writeln!(
            text,
            "{path}: {above} boxes have more pairs than the limit of {limit}"
        )?;
    }
    let Times {
        reading,
        searching,
        writing,
    } = run.times;
    writeln!(
        text,
        "{:.3} ms, on {}: reading {:.3} ms, searching {:.3} ms, writing {:.3} ms, and while reading opening \
         the device {:.3} ms{}",
        milliseconds(run.elapsed),
        listed(run.devices),
        milliseconds(reading),
        milliseconds(searching),
        milliseconds(writing),
        milliseconds(run.opening),
        peak_memory(),
    )?;
    Ok(())
}
