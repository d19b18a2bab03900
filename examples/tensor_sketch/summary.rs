//! What is printed.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::time::Duration;

use anyhow::Result;
use gridstride::Device;
use gridstride::tensor_sketch::TensorSketch;
use ndarray::{Array2, ArrayView1};

use crate::args::Args;
use crate::fasta::Input;

/// Lines of the table, and values of a sketch, that are shown.
const SHOWN_RECORDS: usize = 20;
const SHOWN_VALUES: usize = 4;

/// A finished run.
pub struct Run<'a> {
    pub args: &'a Args,
    pub sketcher: &'a TensorSketch,
    pub device: &'a Device,
    pub input: &'a Input,
    pub sketches: &'a Array2<f32>,
    pub elapsed: Duration,
}

/// Prints the summary of a run on stdout.
pub fn print(run: &Run) -> Result<()> {
    let mut text = String::new();
    write_summary(&mut text, run)?;
    match io::stdout().write_all(text.as_bytes()) {
        // Whoever reads has read enough: `| head`.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result?),
    }
}

fn write_summary(text: &mut String, run: &Run) -> Result<()> {
    let records = &run.input.records;
    let shown = &records[..records.len().min(SHOWN_RECORDS)];
    let width = shown
        .iter()
        .map(|record| record.name.chars().count())
        .fold(8, usize::max);
    writeln!(
        text,
        "{:width$} {:>12} {:>9} {:>11}  first values",
        "name", "length", "skipped", "norm"
    )?;
    for (record, sketch) in shown.iter().zip(run.sketches.outer_iter()) {
        write!(
            text,
            "{:width$} {:>12} {:>9} {:>11.4e} ",
            record.name,
            record.length,
            record.skipped,
            norm(sketch)
        )?;
        for value in sketch.iter().take(SHOWN_VALUES) {
            write!(text, " {value:.4e}")?;
        }
        writeln!(text)?;
    }
    if records.len() > shown.len() {
        writeln!(text, "... and {} more", records.len() - shown.len())?;
    }
    let tables = run.sketcher.tables();
    let origin = match &run.args.tables {
        Some(path) => format!("tables from {}", path.display()),
        None => format!("seed {}", run.args.seed),
    };
    let letters = run.input.sequences.total_length();
    let seconds = run.elapsed.as_secs_f64();
    let normalised = if run.args.normalize {
        ", normalised"
    } else {
        ""
    };
    writeln!(
        text,
        "sketches: {}, tuple {}, dim {}, {origin}{normalised}",
        records.len(),
        tables.tuple_length(),
        tables.dim(),
    )?;
    writeln!(
        text,
        "{letters} letters in {:.3} ms, {:.1} million a second, on {}",
        seconds * 1e3,
        letters as f64 / seconds / 1e6,
        run.device,
    )?;
    Ok(())
}

fn norm(sketch: ArrayView1<f32>) -> f64 {
    sketch
        .iter()
        .map(|&value| f64::from(value).powi(2))
        .sum::<f64>()
        .sqrt()
}
