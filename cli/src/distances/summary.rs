//! The printed summary.

use std::fmt::{Result, Write};
use std::path::Path;
use std::time::Duration;

use files::text::visible;
use gridstride::{Choice, Device, Number};
use program::report::{self, PeakMemory, Range, milliseconds};
use serde::Serialize;

use super::args::Args;
use super::names::Names;
use super::nearest::{Near, Nearest};
use super::rows::{self, Rows};
use crate::common::device_summary::{DeviceSummary, listed};
use crate::common::name_width::name_width;

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

/// The summary of a run.
#[derive(Serialize)]
pub struct Summary {
    nearest_pairs: Vec<Pair>,
    rows: RowSet,
    /// None if the rows are compared with each other.
    other: Option<RowSet>,
    columns: usize,
    #[serde(rename = "type")]
    number: &'static str,
    metric: &'static str,
    /// Number of nearest rows for each row. `None` if all pairs are compared.
    nearest: Option<usize>,
    pairs: u64,
    /// None if there are no pairs.
    distances: Option<Range>,
    out: Option<String>,
    devices: Vec<DeviceSummary>,
    elapsed_ms: f64,
    reading_ms: f64,
    computing_ms: f64,
    writing_ms: f64,
    opening_ms: f64,
    peak_memory_bytes: PeakMemory,
}

#[derive(Serialize)]
struct Pair {
    distance: f64,
    row: String,
    other: String,
    /// From 1 on, with `--nearest`.
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<usize>,
}

#[derive(Serialize)]
struct RowSet {
    path: String,
    rows: usize,
    /// None without `--windows`.
    sequences: Option<usize>,
}

impl Summary {
    pub fn new<T: Number>(run: &Run<T>) -> Summary {
        let (args, names, nearest, times) = (run.args, run.names, run.nearest, &run.times);
        let shown = |path: &Path| path.display().to_string();
        let pair = |near: &Near| Pair {
            distance: near.distance,
            row: names.rows.name(near.row),
            other: names.columns.name(near.column),
            rank: near.rank,
        };
        fn set<T: Number>(path: &Path, rows: &rows::RowSet<T>) -> RowSet {
            RowSet {
                path: path.display().to_string(),
                rows: rows.view().nrows(),
                sequences: rows.offsets.is_some().then(|| rows.len()),
            }
        }
        let range = Range {
            least: nearest.least,
            mean: nearest.mean(),
            greatest: nearest.greatest,
        };
        Summary {
            nearest_pairs: nearest.pairs.iter().map(pair).collect(),
            rows: set(&args.rows, &run.rows.first),
            other: args
                .other
                .as_deref()
                .map(|path| set(path, run.rows.second())),
            columns: run.rows.first.view().ncols(),
            number: T::NAME,
            metric: args.metric.name(),
            nearest: args.nearest,
            pairs: nearest.count,
            distances: (nearest.count > 0).then_some(range),
            out: args.out.as_deref().map(shown),
            devices: DeviceSummary::all(run.devices),
            elapsed_ms: milliseconds(run.elapsed),
            reading_ms: milliseconds(times.reading),
            computing_ms: milliseconds(times.computing),
            writing_ms: milliseconds(times.writing),
            opening_ms: milliseconds(times.opening),
            peak_memory_bytes: PeakMemory::now(),
        }
    }

    /// Writes the nearest pairs, in columns.
    fn write_pairs(&self, text: &mut String) -> Result {
        let width = |name: fn(&Pair) -> &String| name_width(self.nearest_pairs.iter().map(name), 8);
        let (left_width, right_width) = (width(|pair| &pair.row), width(|pair| &pair.other));
        let rank = |rank: &dyn std::fmt::Display| match self.nearest {
            Some(_) => format!("  {rank:>4}"),
            None => String::new(),
        };
        writeln!(
            text,
            "{:>12}{}  {:left_width$}  {:right_width$}",
            "distance",
            rank(&"rank"),
            "row",
            "other"
        )?;
        for pair in &self.nearest_pairs {
            let line = format!(
                "{:>12.6e}{}  {:left_width$}  {:right_width$}",
                pair.distance,
                rank(&pair.rank.unwrap_or(1)),
                visible(&pair.row),
                visible(&pair.other)
            );
            writeln!(text, "{}", line.trim_end())?;
        }
        match self.pairs - self.nearest_pairs.len() as u64 {
            0 => Ok(()),
            more => writeln!(text, "... and {more} more, none of them nearer"),
        }
    }
}

impl report::Summary for Summary {
    fn write_table(&self, text: &mut String) -> Result {
        self.write_pairs(text)?;
        write!(text, "rows: {} in {}", self.rows.rows, self.rows.path)?;
        if let Some(other) = &self.other {
            write!(text, ", {} in {}", other.rows, other.path)?;
        }
        writeln!(text, ", of {} numbers, {}", self.columns, self.number)?;
        let thing = match self.rows.sequences {
            Some(_) => "sequence",
            None => "row",
        };
        if let Some(sequences) = self.rows.sequences {
            write!(text, "sequences of windows: {sequences}")?;
            if let Some(others) = self.other.as_ref().and_then(|other| other.sequences) {
                write!(text, ", {others} in the other file")?;
            }
            writeln!(text)?;
        }
        if let Some(k) = self.nearest {
            let own = match self.other {
                Some(_) => String::new(),
                None => format!(", without the {thing} itself"),
            };
            writeln!(text, "nearest {thing}s: {k} of each {thing}{own}")?;
        }
        let metric = match self.metric {
            "euclidean" => "distances",
            _ => "squared distances",
        };
        match &self.distances {
            None => writeln!(text, "{metric}: none")?,
            Some(Range {
                least,
                mean,
                greatest,
            }) => writeln!(
                text,
                "{metric}: {} pairs, least {least:.6e}, mean {mean:.6e}, greatest {greatest:.6e}",
                self.pairs
            )?,
        }
        report::add_files(text, &[("distances", &self.out)]);
        writeln!(
            text,
            "{:.3} ms, on {}: reading {:.3} ms, computing {:.3} ms, writing {:.3} ms, and while reading opening the \
             device {:.3} ms{}",
            self.elapsed_ms,
            listed(&self.devices),
            self.reading_ms,
            self.computing_ms,
            self.writing_ms,
            self.opening_ms,
            self.peak_memory_bytes,
        )
    }
}
