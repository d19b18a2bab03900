//! Tables of distances.

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use files::records::add_cell;
use ndarray::ArrayView2;

use super::OutputFile;

/// Distances of a text, unless a row has more.
const TOGETHER: usize = 1 << 16;

/// A tab-separated table of distances with names of columns in its first line and of rows in its
/// first column.
pub struct DistanceTable(OutputFile);

impl DistanceTable {
    /// Begins a file.
    pub fn create(path: &Path) -> Result<DistanceTable> {
        Ok(DistanceTable(OutputFile::create(path)?))
    }

    /// Returns an error if the disk has no space for a table of `distances` numbers. `remedy` says how
    /// the table becomes smaller.
    pub fn require_space(&mut self, distances: f64, remedy: &str) -> Result<()> {
        // The shortest are a tab and a digit.
        self.0.require_space(2.0 * distances, remedy)
    }

    /// Adds the names of the columns, before the first row.
    pub fn add_header(&mut self, names: impl IntoIterator<Item = impl AsRef<str>>) -> Result<()> {
        let mut text = Vec::new();
        for name in names {
            text.push(b'\t');
            add_name(&mut text, name.as_ref());
        }
        text.push(b'\n');
        self.0.write_all(&text)
    }

    /// Adds the distances of the rows from `first` on, which have these names.
    pub fn add(
        &mut self,
        name: impl Fn(usize) -> String + Sync,
        first: usize,
        distances: ArrayView2<f64>,
    ) -> Result<()> {
        let (rows, columns) = distances.dim();
        let together = (TOGETHER / columns.max(1)).max(1);
        let text = |i: usize| {
            let mut text = Vec::new();
            for row in i * together..rows.min((i + 1) * together) {
                add_name(&mut text, &name(first + row));
                for distance in distances.row(row) {
                    write!(text, "\t{distance}").expect("memory takes all");
                }
                text.push(b'\n');
            }
            text
        };
        self.0.write_texts(rows.div_ceil(together), &text, &|_| ())
    }

    /// Puts the file in its place.
    pub fn publish(self) -> Result<()> {
        self.0.publish()
    }
}

/// Adds a cell of a tab-separated table, in quotes if it needs them.
pub fn add_name(text: &mut Vec<u8>, name: &str) {
    add_cell(text, name.as_bytes(), b'\t');
}
