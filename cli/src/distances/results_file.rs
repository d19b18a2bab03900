//! The file of the distances.

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use gridstride::distances::Nearest;
use ndarray::ArrayView2;
use program::output::{DistanceTable, Format, NpyFile, OutputFile, add_name};

use super::names::Names;

/// Neighbours of a text, unless a row has more.
const TOGETHER: usize = 1 << 16;

/// A file to which rows are added as they come.
pub enum ResultsFile {
    Matrix(NpyFile<f64>),
    Table(DistanceTable),
}

impl ResultsFile {
    /// Begins a file.
    pub fn create(path: &Path, format: Format, names: &Names) -> Result<ResultsFile> {
        const REMEDY: &str = "compare fewer rows, or write the nearest alone with --nearest";
        let (rows, columns) = (names.rows.len(), names.columns.len());
        if format == Format::Npy {
            let mut file = NpyFile::create(path, 'f', columns)?;
            file.require_space(rows, REMEDY)?;
            return Ok(ResultsFile::Matrix(file));
        }
        let mut table = DistanceTable::create(path)?;
        table.require_space(rows as f64 * columns as f64, REMEDY)?;
        let columns = 0..names.columns.len();
        table.add_header(columns.map(|column| names.columns.name(column)))?;
        Ok(ResultsFile::Table(table))
    }

    /// Adds the distances of the rows from `first` on.
    pub fn add(&mut self, names: &Names, first: usize, distances: ArrayView2<f64>) -> Result<()> {
        match self {
            ResultsFile::Matrix(matrix) => matrix.add(distances),
            ResultsFile::Table(table) => table.add(|row| names.rows.name(row), first, distances),
        }
    }

    /// Completes the file.
    pub fn finish(self) -> Result<()> {
        match self {
            ResultsFile::Matrix(matrix) => matrix.finish(),
            ResultsFile::Table(table) => table.publish(),
        }
    }
}

/// Writes and publishes a table of the nearest rows: a line for each row and each of its nearest
/// rows.
pub fn write_nearest(mut table: OutputFile, names: &Names, neighbours: &Nearest) -> Result<()> {
    table.write_all(b"row\trank\tother\tdistance\n")?;
    let (rows, k) = neighbours.distances.dim();
    let together = (TOGETHER / k.max(1)).max(1);
    let text = |i: usize| {
        let mut text = Vec::new();
        for row in i * together..rows.min((i + 1) * together) {
            let mut name = Vec::new();
            add_name(&mut name, &names.rows.name(row));
            let indices = neighbours.indices.row(row);
            let pairs = indices.into_iter().zip(neighbours.distances.row(row));
            for (rank, (&other, distance)) in (1..).zip(pairs) {
                text.extend_from_slice(&name);
                write!(text, "\t{rank}\t").expect("memory takes all");
                add_name(&mut text, &names.columns.name(other as usize));
                writeln!(text, "\t{distance}").expect("memory takes all");
            }
        }
        text
    };
    table.write_texts(rows.div_ceil(together), &text, &|_| ())?;
    table.publish()
}
