//! The file of the distances.

use std::path::Path;

use anyhow::Result;
use ndarray::ArrayView2;

use super::args::Format;
use super::names::Names;
use crate::common::output::{DistanceTable, NpyFile};

/// A file to which rows are added as they come.
pub enum ResultsFile {
    Matrix(NpyFile<f64>),
    Table(DistanceTable),
}

impl ResultsFile {
    /// Begins a file.
    pub fn create(path: &Path, format: Format, names: &Names) -> Result<ResultsFile> {
        if format == Format::Npy {
            let file = NpyFile::create(path, 'f', names.columns.len())?;
            return Ok(ResultsFile::Matrix(file));
        }
        let mut table = DistanceTable::create(path)?;
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
