//! What is printed.

use std::fmt::Write;
use std::time::Duration;

use anyhow::Result;
use gridstride::Device;
use gridstride::time_series::Aggregates;

use super::args::Args;
use super::number::rounded;
use super::points_file::{Points, readable};
use super::results::series_of;
use super::time::{Every, timestamp};
use crate::common::device_names::listed;
use crate::common::report::{self, milliseconds, peak_memory};

/// Buckets that are shown.
const SHOWN: usize = 10;

/// The parts of a run.
#[derive(Default)]
pub struct Times {
    pub reading: Duration,
    /// Opening the device, during that.
    pub opening: Duration,
    pub grouping: Duration,
    pub aggregating: Duration,
    pub writing: Duration,
    pub plotting: Duration,
}

/// A finished run.
pub struct Run<'a> {
    pub args: &'a Args,
    pub every: &'a Every,
    pub source: &'a str,
    pub points: &'a Points,
    pub devices: &'a [Device],
    pub found: &'a Aggregates,
    pub times: Times,
    /// From the first text to the buckets on the disk.
    pub elapsed: Duration,
}

/// Prints the summary of a run on stdout.
pub fn print(run: &Run) -> Result<()> {
    let mut text = String::new();
    if run.args.out.is_none() {
        write_table(&mut text, run)?;
    }
    write_summary(&mut text, run)?;
    report::print(&text)
}

/// The first buckets, in columns.
fn write_table(text: &mut String, run: &Run) -> Result<()> {
    let found = run.found;
    let shown = found.len().min(SHOWN);
    let column = |name: String, cell: &dyn Fn(usize) -> String| {
        let cells = [name].into_iter().chain((0..shown).map(cell));
        cells.collect::<Vec<_>>()
    };
    let mut columns = Vec::new();
    if let Some(names) = &run.points.names {
        let cell = |bucket| readable(&names[series_of(found, bucket)]);
        columns.push(column("series".into(), &cell));
    }
    let starts = found.starts();
    let cell = |bucket: usize| timestamp(starts[bucket]).to_string();
    columns.push(column("timestamp".into(), &cell));
    // Text is on the left of its column, numbers on the right.
    let of_text = columns.len();
    for (method, numbers) in found.methods().iter().zip(found.columns()) {
        columns.push(column(method.to_string(), &|bucket| {
            rounded(numbers[bucket])
        }));
    }
    let width = |column: &Vec<String>| column.iter().map(|cell| cell.chars().count()).max();
    let widths: Vec<_> = columns
        .iter()
        .map(|column| width(column).unwrap_or(0))
        .collect();
    for row in 0..=shown {
        let cells = columns.iter().zip(&widths).enumerate();
        let cells = cells.map(|(i, (column, &width))| match i < of_text {
            true => format!("{:<width$}", column[row]),
            false => format!("{:>width$}", column[row]),
        });
        writeln!(text, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    match found.len() - shown {
        0 => {}
        more => writeln!(text, "... and {more} more")?,
    }
    Ok(())
}

fn write_summary(text: &mut String, run: &Run) -> Result<()> {
    let (points, found) = (run.points, run.found);
    write!(text, "points: {} in {}", points.len(), run.source)?;
    if points.names.is_some() {
        write!(text, ", {} series", points.series_count())?;
    }
    // They are in order, unless they were to be sorted.
    let (first, last) = (
        points.timestamps.iter().min(),
        points.timestamps.iter().max(),
    );
    if let (Some(&first), Some(&last)) = (first, last) {
        write!(text, ", {} to {}", timestamp(first), timestamp(last))?;
    }
    let methods: Vec<_> = found.methods().iter().map(ToString::to_string).collect();
    let (buckets, every, methods) = (found.len(), &run.every.text, methods.join(", "));
    writeln!(text, "\nbuckets: {buckets} of {every}: {methods}")?;
    for (path, what) in [(&run.args.out, "buckets"), (&run.args.plot, "plot")] {
        if let Some(path) = path {
            writeln!(text, "{what} in {}", path.display())?;
        }
    }

    let Times {
        reading,
        opening,
        grouping,
        aggregating,
        writing,
        plotting,
    } = run.times;
    let rate = |time: Duration| match points.len() as f64 / time.as_secs_f64() {
        // No points, or a clock that is too coarse.
        rate if !rate.is_finite() || rate == 0.0 => String::new(),
        rate => format!(" ({:.2} million points/s)", rate * 1e-6),
    };
    write!(
        text,
        "{:.3} ms, on {}: reading {:.3} ms{}, grouping {:.3} ms, aggregating {:.3} ms{}",
        milliseconds(run.elapsed),
        listed(run.devices),
        milliseconds(reading),
        rate(reading),
        milliseconds(grouping),
        milliseconds(aggregating),
        rate(aggregating),
    )?;
    if run.args.out.is_some() {
        write!(text, ", writing {:.3} ms", milliseconds(writing))?;
    }
    if run.args.plot.is_some() {
        write!(text, ", plotting {:.3} ms", milliseconds(plotting))?;
    }
    writeln!(
        text,
        ", and while reading opening the device {:.3} ms{}",
        milliseconds(opening),
        peak_memory()
    )?;
    Ok(())
}
