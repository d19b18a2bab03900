//! The file of the distances.

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use gridstride::distances::Nearest;
use ndarray::ArrayView2;
use rayon::prelude::*;

use super::args::Format;
use super::names::Names;
use crate::common::output::{NpyFile, OutputFile};

/// Distances whose text is in memory together, unless a row has more.
const TOGETHER: usize = 1 << 20;

/// A file to which rows are added as they come.
pub enum ResultsFile {
    Matrix(NpyFile<f64>),
    Table(OutputFile),
}

impl ResultsFile {
    /// Begins a file.
    pub fn create(path: &Path, format: Format, names: &Names) -> Result<ResultsFile> {
        if format == Format::Npy {
            let file = NpyFile::create(path, 'f', names.columns.len())?;
            return Ok(ResultsFile::Matrix(file));
        }
        let mut table = OutputFile::create(path)?;
        let mut text = Vec::new();
        for column in 0..names.columns.len() {
            text.push(b'\t');
            add_name(&mut text, &names.columns.name(column));
        }
        text.push(b'\n');
        table.write_all(&text)?;
        Ok(ResultsFile::Table(table))
    }

    /// Adds the distances of the rows from `first` on.
    pub fn add(&mut self, names: &Names, first: usize, distances: ArrayView2<f64>) -> Result<()> {
        let table = match self {
            ResultsFile::Matrix(matrix) => return matrix.add(distances),
            ResultsFile::Table(table) => table,
        };
        let together = (TOGETHER / distances.ncols().max(1)).max(1);
        for start in (0..distances.nrows()).step_by(together) {
            let end = distances.nrows().min(start + together);
            let lines = (start..end).into_par_iter().map(|i| {
                let mut text = Vec::new();
                add_name(&mut text, &names.rows.name(first + i));
                for distance in distances.row(i) {
                    write!(text, "\t{distance}").expect("memory takes all");
                }
                text.push(b'\n');
                text
            });
            let lines: Vec<_> = lines.collect();
            table.write(|file| Ok(lines.iter().try_for_each(|line| file.write_all(line))?))?;
        }
        Ok(())
    }

    /// Completes the file.
    pub fn finish(self) -> Result<()> {
        match self {
            ResultsFile::Matrix(matrix) => matrix.finish(),
            ResultsFile::Table(table) => table.publish(),
        }
    }
}

/// Writes a table of the nearest rows: a line for each row and each of its nearest rows.
pub fn write_nearest(path: &Path, names: &Names, found: &Nearest) -> Result<()> {
    let mut table = OutputFile::create(path)?;
    table.write_all(b"row\trank\tother\tdistance\n")?;
    let (rows, k) = found.distances.dim();
    let together = (TOGETHER / k.max(1)).max(1);
    for start in (0..rows).step_by(together) {
        let end = rows.min(start + together);
        let lines = (start..end).into_par_iter().map(|row| {
            let (mut text, mut name) = (Vec::new(), Vec::new());
            add_name(&mut name, &names.rows.name(row));
            let pairs = found
                .indices
                .row(row)
                .into_iter()
                .zip(found.distances.row(row));
            for (rank, (&other, distance)) in (1..).zip(pairs) {
                text.extend_from_slice(&name);
                write!(text, "\t{rank}\t").expect("memory takes all");
                add_name(&mut text, &names.columns.name(other as usize));
                writeln!(text, "\t{distance}").expect("memory takes all");
            }
            text
        });
        let lines: Vec<_> = lines.collect();
        table.write(|file| Ok(lines.iter().try_for_each(|line| file.write_all(line))?))?;
    }
    table.publish()
}

/// Adds a cell, in quotes if it needs them.
fn add_name(text: &mut Vec<u8>, name: &str) {
    let mut cell = csv::WriterBuilder::new()
        .delimiter(b'\t')
        .from_writer(&mut *text);
    cell.write_record([name]).expect("memory takes all");
    drop(cell);
    // The end of the record.
    text.pop();
}
