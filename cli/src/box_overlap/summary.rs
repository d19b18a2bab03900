//! The printed summary.

use std::fmt::{Result, Write};
use std::path::Path;
use std::time::Duration;

use files::boxes::Number;
use gridstride::Device;
use ndarray::Array2;
use program::report::{self, PeakMemory, milliseconds};
use serde::Serialize;

use super::args::Args;
use super::results::Results;
use crate::common::device_summary::{DeviceSummary, listed};

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
    /// Number of coordinates that were rounded.
    pub rounded: u64,
    pub devices: &'a [Device],
    pub results: &'a Results,
    /// Time to open the device, while the files were read.
    pub opening: Duration,
    pub times: Times,
    /// From the first text to the pairs on the disk.
    pub elapsed: Duration,
}

/// The summary of a run.
#[derive(Serialize)]
pub struct Summary {
    first_pairs: Vec<Pair>,
    sets: Vec<Set>,
    axes: usize,
    #[serde(rename = "type")]
    number: &'static str,
    /// Coordinates that are other numbers than in the files.
    rounded_coordinates: u64,
    /// The type that has rounded them.
    #[serde(skip)]
    rounded_by: &'static str,
    pairs: u64,
    most_pairs_of_a_box: u32,
    /// The set of this box.
    set_of_that_box: &'static str,
    join: Option<Join>,
    out: Option<String>,
    plot: Option<String>,
    matrix: Option<Matrix>,
    devices: Vec<DeviceSummary>,
    elapsed_ms: f64,
    reading_ms: f64,
    searching_ms: f64,
    writing_ms: f64,
    opening_ms: f64,
    peak_memory_bytes: PeakMemory,
}

#[derive(Serialize)]
struct Pair {
    set1: usize,
    set2: usize,
}

#[derive(Serialize)]
struct Set {
    path: String,
    boxes: usize,
}

#[derive(Serialize)]
struct Join {
    columns: Vec<String>,
    rows: u64,
}

#[derive(Serialize)]
struct Matrix {
    path: String,
    limit: usize,
    boxes_above_limit: usize,
}

impl Summary {
    pub fn new<T: Number>(run: &Run<T>) -> Summary {
        let (results, times) = (run.results, &run.times);
        let shown = |path: &Path| path.display().to_string();
        let sets = run.args.paths().zip(run.sets).map(|(path, set)| Set {
            path: shown(path),
            boxes: set.nrows(),
        });
        let pair = |&[set1, set2]: &[usize; 2]| Pair { set1, set2 };
        Summary {
            first_pairs: results.shown.iter().map(pair).collect(),
            sets: sets.collect(),
            axes: run.sets[0].ncols() / 2,
            number: T::NAME,
            rounded_coordinates: run.rounded,
            // Without a type, they are read as f64, also if f32 then holds all of them.
            rounded_by: match run.args.number {
                Some(_) => T::NAME,
                None => <f64 as gridstride::Number>::NAME,
            },
            pairs: results.pairs,
            most_pairs_of_a_box: results.largest,
            set_of_that_box: match run.args.is_swapped() {
                false => "set1",
                true => "set2",
            },
            join: results.joined.map(|rows| Join {
                columns: run.args.join.clone(),
                rows,
            }),
            out: run.args.out.as_deref().map(shown),
            plot: run.args.plot.as_deref().map(shown),
            matrix: run.args.matrix.as_deref().map(|path| Matrix {
                path: shown(path),
                limit: run.args.limit,
                boxes_above_limit: results.above_limit,
            }),
            devices: DeviceSummary::all(run.devices),
            elapsed_ms: milliseconds(run.elapsed),
            reading_ms: milliseconds(times.reading),
            searching_ms: milliseconds(times.searching),
            writing_ms: milliseconds(times.writing),
            opening_ms: milliseconds(run.opening),
            peak_memory_bytes: PeakMemory::now(),
        }
    }
}

impl report::Summary for Summary {
    fn write_table(&self, text: &mut String) -> Result {
        writeln!(text, "{:>10} {:>10}", "set1", "set2")?;
        for Pair { set1, set2 } in &self.first_pairs {
            writeln!(text, "{set1:>10} {set2:>10}")?;
        }
        let more = self.pairs - self.first_pairs.len() as u64;
        if more > 0 {
            writeln!(text, "... and {more} more")?;
        }
        let set = |Set { path, boxes }: &Set| format!("{boxes} in {path}");
        let sets: Vec<_> = self.sets.iter().map(set).collect();
        let (axes, number) = (self.axes, self.number);
        write!(text, "boxes: {}, {axes}-D, {number}", sets.join(", "))?;
        match self.rounded_coordinates {
            0 => writeln!(text)?,
            rounded if self.rounded_by == number => {
                writeln!(text, ", which rounds {rounded} coordinates")?
            }
            rounded => writeln!(
                text,
                "; numbers beyond 2^53 that no type here has: {rounded}"
            )?,
        }
        let (pairs, most, set) = (self.pairs, self.most_pairs_of_a_box, self.set_of_that_box);
        let with = match self.sets.len() {
            1 => " with later boxes",
            _ => "",
        };
        writeln!(
            text,
            "pairs: {pairs}, at most {most} of one box of {set}{with}"
        )?;
        match (&self.out, &self.join) {
            (Some(out), Some(Join { columns, rows })) => {
                let columns = columns.join(", ");
                writeln!(text, "{out}: {rows} rows, with {columns} of set1")?;
            }
            (out, _) => report::add_files(text, &[("pairs", out)]),
        }
        if let Some(Matrix {
            path,
            limit,
            boxes_above_limit,
        }) = &self.matrix
        {
            writeln!(
                text,
                "{path}: {boxes_above_limit} boxes have more pairs{with} than the limit of {limit}"
            )?;
        }
        report::add_files(text, &[("plot", &self.plot)]);
        writeln!(
            text,
            "{:.3} ms, on {}: reading {:.3} ms, searching {:.3} ms, writing {:.3} ms, and while reading opening \
             the device {:.3} ms{}",
            self.elapsed_ms,
            listed(&self.devices),
            self.reading_ms,
            self.searching_ms,
            self.writing_ms,
            self.opening_ms,
            self.peak_memory_bytes,
        )
    }
}
