//! What is printed.

use std::fmt::Write;
use std::time::Duration;

use anyhow::Result;
use gridstride::Device;
use gridstride::Number;

use super::args::{Args, MetricName};
use super::names::{NameList, Names};
use super::nearest::Nearest;
use super::rows::Rows;
use crate::common::device_names::listed;
use crate::common::report::{self, milliseconds, peak_memory};

/// Characters that names may have before the columns beside them give way.
const NAME_WIDTH: usize = 64;

/// The parts of a run.
#[derive(Default)]
pub struct Times {
    pub reading: Duration,
    /// Opening the devices, during that.
    pub opening: Duration,
    pub computing: Duration,
    pub writing: Duration,
}

/// A finished run.
pub struct Run<'a, T> {
    pub args: &'a Args,
    pub rows: &'a Rows<T>,
    pub names: &'a Names,
    pub devices: &'a [Device],
    pub nearest: &'a Nearest,
    pub times: Times,
    pub elapsed: Duration,
}

/// Prints the summary of a run on stdout.
pub fn print<T: Number>(run: &Run<T>) -> Result<()> {
    let mut text = String::new();
    write_summary(&mut text, run)?;
    report::print(&text)
}

fn write_summary<T: Number>(text: &mut String, run: &Run<T>) -> Result<()> {
    let nearest = run.nearest;
    let names = |list: &NameList, index: fn(&super::nearest::Near) -> usize| {
        let names = nearest.pairs.iter().map(|near| list.name(index(near)));
        names.collect::<Vec<_>>()
    };
    let left = names(&run.names.rows, |near| near.row);
    let right = names(&run.names.columns, |near| near.column);
    let width = |names: &[String]| {
        let widths = names.iter().map(|name| name.chars().count());
        widths.fold(8, usize::max).min(NAME_WIDTH)
    };
    let (left_width, right_width) = (width(&left), width(&right));
    writeln!(
        text,
        "{:>12}  {:left_width$}  {:right_width$}",
        "distance", "row", "other"
    )?;
    for ((near, left), right) in nearest.pairs.iter().zip(&left).zip(&right) {
        let line = format!(
            "{:>12.6e}  {left:left_width$}  {right:right_width$}",
            near.distance
        );
        writeln!(text, "{}", line.trim_end())?;
    }
    let more = nearest.count - nearest.pairs.len() as u64;
    if more > 0 {
        writeln!(text, "... and {more} more, which are farther")?;
    }
    let (rows, dim) = run.rows.first().dim();
    write!(text, "rows: {rows} in {}", run.args.rows.display())?;
    if let Some(other) = &run.args.other {
        write!(
            text,
            ", {} in {}",
            run.rows.second().nrows(),
            other.display()
        )?;
    }
    writeln!(text, ", of {dim} numbers, {}", T::NAME)?;
    let metric = match run.args.metric {
        MetricName::L2 => "distances",
        MetricName::SquaredL2 => "squared distances",
    };
    match nearest.count {
        0 => writeln!(text, "{metric}: none")?,
        count => writeln!(
            text,
            "{metric}: {count} pairs, least {:.6e}, mean {:.6e}, greatest {:.6e}",
            nearest.least,
            nearest.mean(),
            nearest.greatest
        )?,
    }
    let Times {
        reading,
        opening,
        computing,
        writing,
    } = run.times;
    writeln!(
        text,
        "{:.3} ms, on {}: reading {:.3} ms, computing {:.3} ms, writing {:.3} ms, and while reading opening the \
         device {:.3} ms{}",
        milliseconds(run.elapsed),
        listed(run.devices),
        milliseconds(reading),
        milliseconds(computing),
        milliseconds(writing),
        milliseconds(opening),
        peak_memory(),
    )?;
    Ok(())
}
