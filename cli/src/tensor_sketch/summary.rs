//! The printed summary.

use std::fmt::{Result, Write};
use std::time::Duration;

use files::sequences::Short;
use files::text::visible;
use gridstride::Device;
use gridstride::tensor_sketch::{Entry, TensorSketch};
use program::report::{self, PeakMemory, milliseconds, per_second};
use serde::Serialize;

use super::args::Args;
use super::comparison::Comparison;
use super::name::Name;
use super::results::Results;
use super::sketching::Times;
use super::window_lists;
use crate::common::device_summary::{DeviceSummary, listed};
use crate::common::name_width::name_width;

/// Values of a sketch that are shown.
const SHOWN_VALUES: usize = 4;

/// A finished run.
pub struct Run<'a, T: Entry> {
    pub args: &'a Args,
    pub sketcher: &'a TensorSketch<T>,
    pub devices: &'a [Device],
    pub results: &'a Results<T>,
    /// The distances and the tree, if there are few sketches.
    pub comparison: Option<Comparison>,
    /// Time to open the device.
    pub opening: Duration,
    /// The parts of `elapsed`.
    pub times: Times,
    /// From the first text to the sketches on the disk.
    pub elapsed: Duration,
}

/// The summary of a run.
#[derive(Serialize)]
pub struct Summary<'a> {
    first_sketches: Vec<Sketch>,
    comparison: Option<&'a Comparison>,
    sketches: usize,
    #[serde(flatten)]
    short: &'a Short,
    tuple: usize,
    dim: usize,
    #[serde(rename = "type")]
    number: &'static str,
    /// None if the tables are from a file.
    seed: Option<u64>,
    tables: Option<String>,
    normalized: bool,
    out: Option<String>,
    /// The lists of the sequences that have windows.
    out_names: Option<String>,
    out_windows: Option<String>,
    distances: Option<String>,
    tree: Option<String>,
    plot: Option<String>,
    plot_tree: Option<String>,
    letters: u64,
    skipped: u64,
    elapsed_ms: f64,
    letters_per_second: Option<f64>,
    devices: Vec<DeviceSummary>,
    waiting_for_input_ms: f64,
    parsing_ms: f64,
    waiting_for_sketches_ms: f64,
    writing_ms: f64,
    opening_ms: f64,
    peak_memory_bytes: PeakMemory,
}

#[derive(Serialize)]
struct Sketch {
    name: String,
    length: u64,
    /// None for single windows.
    skipped: Option<u64>,
    norm: f64,
    first_values: Vec<f64>,
}

impl Sketch {
    fn new<T: Entry>((name, sketch): &(Name, Vec<T>)) -> Sketch {
        let squares = sketch.iter().map(|value| value.to_f64().powi(2));
        let first = sketch.iter().take(SHOWN_VALUES);
        Sketch {
            name: name.name.clone(),
            length: name.length,
            skipped: name.skipped,
            norm: squares.sum::<f64>().sqrt(),
            first_values: first.map(|value| value.to_f64()).collect(),
        }
    }
}

impl<'a> Summary<'a> {
    pub fn new<T: Entry>(run: &'a Run<T>) -> Summary<'a> {
        let (args, results, times) = (run.args, run.results, &run.times);
        let tables = run.sketcher.tables();
        let shown = |path: &std::path::PathBuf| path.display().to_string();
        let elapsed = milliseconds(run.elapsed);
        Summary {
            first_sketches: results.shown.iter().map(Sketch::new).collect(),
            comparison: run.comparison.as_ref(),
            sketches: results.count,
            short: &results.short,
            tuple: tables.tuple_length(),
            dim: tables.dim(),
            number: T::NAME,
            seed: args.tables.is_none().then_some(args.seed),
            tables: args.tables.as_ref().map(shown),
            normalized: args.normalize,
            out: args.out.as_ref().map(shown),
            out_names: window_lists::names_of(args).as_ref().map(shown),
            out_windows: window_lists::counts_of(args).as_ref().map(shown),
            distances: args.distances.as_ref().map(shown),
            tree: args.tree.as_ref().map(shown),
            plot: args.plot.as_ref().map(shown),
            plot_tree: args.plot_tree.as_ref().map(shown),
            letters: results.letters,
            skipped: results.skipped,
            elapsed_ms: elapsed,
            letters_per_second: per_second(results.letters as f64, elapsed),
            devices: DeviceSummary::all(run.devices),
            waiting_for_input_ms: milliseconds(times.input),
            parsing_ms: milliseconds(times.parsing),
            waiting_for_sketches_ms: milliseconds(times.computing),
            writing_ms: milliseconds(times.writing),
            opening_ms: milliseconds(run.opening),
            peak_memory_bytes: PeakMemory::now(),
        }
    }

    /// Writes the first sketches, in columns.
    fn write_sketches(&self, text: &mut String) -> Result {
        let names = self.first_sketches.iter().map(|sketch| &sketch.name);
        let width = name_width(names, 8);
        writeln!(
            text,
            "{:width$} {:>12} {:>9} {:>11}  first values",
            "name", "length", "skipped", "norm"
        )?;
        for sketch in &self.first_sketches {
            let skipped = sketch.skipped.map_or("-".into(), |count| count.to_string());
            let Sketch { length, norm, .. } = sketch;
            let name = visible(&sketch.name);
            write!(
                text,
                "{name:width$} {length:>12} {skipped:>9} {norm:>11.4e} "
            )?;
            for value in &sketch.first_values {
                write!(text, " {value:.4e}")?;
            }
            writeln!(text)?;
        }
        match self.sketches - self.first_sketches.len() {
            0 => Ok(()),
            more => writeln!(text, "... and {more} more"),
        }
    }
}

impl report::Summary for Summary<'_> {
    fn write_table(&self, text: &mut String) -> Result {
        self.write_sketches(text)?;
        if let Some(comparison) = self.comparison {
            text.push_str(&comparison.text);
        }
        let origin = match (&self.tables, self.seed) {
            (Some(path), _) => format!("tables from {path}"),
            (None, seed) => format!("seed {}", seed.unwrap_or_default()),
        };
        let normalised = match self.normalized {
            true => ", normalised",
            false => "",
        };
        let (sketches, tuple, dim) = (self.sketches, self.tuple, self.dim);
        let number = self.number;
        writeln!(
            text,
            "sketches: {sketches}, tuple {tuple}, dim {dim}, {number}, {origin}{normalised}"
        )?;
        let files = [
            ("sketches", &self.out),
            ("names", &self.out_names),
            ("numbers of windows", &self.out_windows),
            ("distances", &self.distances),
            ("tree", &self.tree),
            ("plot", &self.plot),
            ("plot of the tree", &self.plot_tree),
        ];
        report::add_files(text, &files);
        let skipped = match self.skipped {
            0 => String::new(),
            count => format!(", {count} characters skipped,"),
        };
        writeln!(
            text,
            "{} letters{skipped} in {:.3} ms, {:.1} million a second, on {}",
            self.letters,
            self.elapsed_ms,
            self.letters_per_second.unwrap_or(0.0) / 1e6,
            listed(&self.devices),
        )?;
        let parts = [
            ("waiting for input", self.waiting_for_input_ms),
            ("parsing", self.parsing_ms),
            ("waiting for sketches", self.waiting_for_sketches_ms),
            ("writing", self.writing_ms),
            ("and before that opening the device", self.opening_ms),
        ];
        let parts = parts.map(|(name, time)| format!("{name} {time:.3} ms"));
        writeln!(text, "{}{}", parts.join(", "), self.peak_memory_bytes)
    }
}
