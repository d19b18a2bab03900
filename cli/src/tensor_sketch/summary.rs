//! What is printed.

use std::fmt::Write as _;
use std::time::Duration;

use anyhow::Result;
use gridstride::Device;
use gridstride::tensor_sketch::{Entry, TensorSketch};

use super::args::Args;
use super::results::Results;
use super::sketching::Times;
use crate::common::report::{self, milliseconds, peak_memory};

/// Values of a sketch that are shown.
const SHOWN_VALUES: usize = 4;

/// Characters that names may have before the columns beside them give way.
const NAME_WIDTH: usize = 64;

/// A finished run.
pub struct Run<'a, T: Entry> {
    pub args: &'a Args,
    pub sketcher: &'a TensorSketch<T>,
    pub device: &'a Device,
    pub results: &'a Results<T>,
    /// The distances and the tree, or nothing.
    pub comparison: String,
    /// How long it took to open the device.
    pub opening: Duration,
    /// The parts of `elapsed`.
    pub times: Times,
    /// From the first text to the sketches on the disk.
    pub elapsed: Duration,
}

/// Prints the summary of a run on stdout.
pub fn print<T: Entry>(run: &Run<T>) -> Result<()> {
    let mut text = String::new();
    write_summary(&mut text, run)?;
    report::print(&text)
}

fn write_summary<T: Entry>(text: &mut String, run: &Run<T>) -> Result<()> {
    let Results {
        count,
        letters,
        shown,
        ..
    } = run.results;
    let width = shown
        .iter()
        .map(|(name, _)| name.name.chars().count())
        .fold(8, usize::max)
        .min(NAME_WIDTH);
    writeln!(
        text,
        "{:width$} {:>12} {:>9} {:>11}  first values",
        "name", "length", "skipped", "norm"
    )?;
    for (name, sketch) in shown {
        let skipped = name.skipped.map_or("-".into(), |count| count.to_string());
        write!(
            text,
            "{:width$} {:>12} {:>9} {:>11.4e} ",
            name.name,
            name.length,
            skipped,
            norm(sketch)
        )?;
        for value in sketch.iter().take(SHOWN_VALUES) {
            write!(text, " {:.4e}", value.to_f64())?;
        }
        writeln!(text)?;
    }
    if *count > shown.len() {
        writeln!(text, "... and {} more", count - shown.len())?;
    }
    text.push_str(&run.comparison);
    let tables = run.sketcher.tables();
    let origin = match &run.args.tables {
        Some(path) => format!("tables from {}", path.display()),
        None => format!("seed {}", run.args.seed),
    };
    let normalised = if run.args.normalize {
        ", normalised"
    } else {
        ""
    };
    writeln!(
        text,
        "sketches: {count}, tuple {}, dim {}, {}, {origin}{normalised}",
        tables.tuple_length(),
        tables.dim(),
        T::NAME,
    )?;
    writeln!(
        text,
        "{letters} letters in {:.3} ms, {:.1} million a second, on {}",
        milliseconds(run.elapsed),
        *letters as f64 / run.elapsed.as_secs_f64() / 1e6,
        run.device,
    )?;
    let Times {
        input,
        parsing,
        computing,
        writing,
    } = run.times;
    let parts = [
        ("waiting for input", input),
        ("parsing", parsing),
        ("waiting for sketches", computing),
        ("writing", writing),
        ("and before that opening the device", run.opening),
    ];
    let parts = parts.map(|(name, time)| format!("{name} {:.3} ms", milliseconds(time)));
    writeln!(text, "{}{}", parts.join(", "), peak_memory())?;
    Ok(())
}

fn norm<T: Entry>(sketch: &[T]) -> f64 {
    let squares = sketch.iter().map(|value| value.to_f64().powi(2));
    squares.sum::<f64>().sqrt()
}
