//! From CSV files to boxes.

mod number;

use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, ensure};
use csv::ByteRecord;
use ndarray::Array2;

use crate::records::{self, Cells, Fault, Table, column, columns, shown};
use crate::{Monitor, open};
pub use number::Number;

/// Files that are being read, all at the same time.
pub struct Reading<T> {
    files: Vec<(PathBuf, JoinHandle<Result<Array2<T>>>)>,
}

impl<T: Number> Reading<T> {
    /// Begins to read.
    pub fn start<'a>(
        paths: impl Iterator<Item = &'a Path>,
        monitor: &Monitor,
    ) -> Result<Reading<T>> {
        let start = |path: &Path| {
            let (owned, monitor) = (path.to_owned(), monitor.clone());
            let thread = thread::Builder::new().name("boxes".into());
            let thread = thread.spawn(move || read_file(&owned, &monitor));
            Ok((path.to_owned(), thread.context("reading needs a thread")?))
        };
        let files = paths.map(start).collect::<Result<_>>()?;
        Ok(Reading { files })
    }

    /// The boxes of each file, N×6 or N×4.
    pub fn finish(self) -> Result<Vec<Array2<T>>> {
        let mut sets: Vec<Array2<T>> = Vec::new();
        for (path, file) in self.files {
            let cannot_read = || format!("cannot read {}", path.display());
            let set = file.join().expect("reading does not panic");
            let set = set.with_context(cannot_read)?;
            if let Some(first) = sets.first() {
                let axes = (first.ncols() / 2, set.ncols() / 2);
                let said = || {
                    format!(
                        "its boxes have {} axes, those of the first file {}",
                        axes.1, axes.0
                    )
                };
                ensure!(axes.0 == axes.1, "{}: {}", cannot_read(), said());
            }
            sets.push(set);
        }
        Ok(sets)
    }
}

fn read_file<T: Number>(path: &Path, monitor: &Monitor) -> Result<Array2<T>> {
    let begin = |header: &ByteRecord| {
        Ok(BoxTable {
            columns: Columns::find(header)?,
            numbers: Vec::new(),
        })
    };
    let BoxTable { columns, numbers } = records::read(open(path, monitor)?, begin)?;
    let width = columns.places.len();
    let shape = (numbers.len() / width, width);
    Ok(Array2::from_shape_vec(shape, numbers)?)
}

/// The boxes that have been read: of each all minima, then all maxima.
struct BoxTable<T> {
    columns: Columns,
    numbers: Vec<T>,
}

impl<T: Number> Table for BoxTable<T> {
    type Part = Vec<T>;

    fn part(&self) -> Vec<T> {
        Vec::new()
    }

    fn parse(&self, part: &mut Vec<T>, line: u64, cells: &impl Cells) -> Result<(), Fault> {
        self.columns.parse(part, line, cells)
    }

    fn add(&mut self, part: Vec<T>) -> Result<(), Fault> {
        self.numbers.try_reserve(part.len())?;
        self.numbers.extend_from_slice(&part);
        Ok(())
    }
}

/// The columns of the coordinates.
struct Columns {
    /// Their names, and where they are in a record: all minima, then all maxima.
    places: Vec<(&'static str, usize)>,
}

impl Columns {
    fn find(header: &ByteRecord) -> Result<Columns> {
        let (mut places, mut missing) = (Vec::new(), Vec::new());
        for name in ["minX", "minY", "minZ", "maxX", "maxY", "maxZ"] {
            match column(header, name)? {
                Some(place) => places.push((name, place)),
                None => missing.push(name),
            }
        }
        if ["minZ", "maxZ"].iter().all(|name| missing.contains(name)) {
            missing.retain(|name| !name.ends_with('Z'));
        }
        ensure!(
            missing.is_empty(),
            "there is no column {}: {}",
            missing.join(", "),
            columns(header)
        );
        Ok(Columns { places })
    }

    /// Adds the box of a record to `numbers`.
    fn parse<T: Number>(
        &self,
        numbers: &mut Vec<T>,
        line: u64,
        cells: &impl Cells,
    ) -> Result<(), Fault> {
        let fault = |column, what| Fault { line, column, what };
        let start = numbers.len();
        for &(name, place) in &self.places {
            let number = parse_cell(cells.cell(place));
            numbers.push(number.map_err(|what| fault(Some(name), what))?);
        }
        let row = &numbers[start..];
        let axes = row.len() / 2;
        let Some(axis) = (0..axes).find(|axis| row[*axis] > row[axis + axes]) else {
            return Ok(());
        };
        let [min, max] = [axis, axis + axes].map(|column| {
            let (name, place) = self.places[column];
            format!("{name} {}", shown(cells.cell(place)))
        });
        Err(fault(None, format!("{min} is above {max}")))
    }
}

fn parse_cell<T: Number>(cell: &[u8]) -> Result<T, String> {
    let cell = cell.trim_ascii();
    if cell.is_empty() {
        return Err("the cell is empty".into());
    }
    T::parse(cell).map_err(|what| format!("'{}' {what}", shown(cell)))
}
