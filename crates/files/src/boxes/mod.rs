//! From CSV files to boxes.

mod number;

use std::collections::TryReserveError;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, ensure};
use ndarray::Array2;

use crate::records::{self, Cells, Fault, Header, Table, TableOptions, shown};
use crate::{Monitor, open};
pub use number::Number;

/// The boxes of a file.
pub struct Boxes<T> {
    /// The coordinates, N×6 or N×4: of each box all minima, then all maxima.
    pub coordinates: Array2<T>,
    /// How many coordinates are other numbers than the file has, as [`Number::parse`] says.
    pub rounded: u64,
    /// What each box is called, if that is asked for.
    pub ids: Option<Ids>,
}

/// The names of boxes.
#[derive(Default)]
pub struct Ids {
    /// All names one after the other, and where each ends.
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl Ids {
    /// Returns the name of a box, without the blank space around it.
    pub fn get(&self, index: usize) -> &[u8] {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[index]]
    }

    fn add(&mut self, name: &[u8]) {
        self.text.extend_from_slice(name);
        self.ends.push(self.text.len());
    }

    fn append(&mut self, other: &Ids) -> Result<(), TryReserveError> {
        self.text.try_reserve(other.text.len())?;
        self.ends.try_reserve(other.ends.len())?;
        let behind = self.text.len();
        self.text.extend_from_slice(&other.text);
        self.ends.extend(other.ends.iter().map(|end| behind + end));
        Ok(())
    }
}

/// Returns the boxes of some files in f32, if that holds all coordinates as they are.
pub fn in_f32(sets: &[Boxes<f64>]) -> Option<Vec<Array2<f32>>> {
    let is_exact = |&number: &f64| f64::from(number as f32) == number;
    let mut coordinates = sets.iter().map(|set| &set.coordinates);
    if !coordinates.all(|set| set.iter().all(is_exact)) {
        return None;
    }
    let narrowed = sets
        .iter()
        .map(|set| set.coordinates.mapv(|number| number as f32));
    Some(narrowed.collect())
}

/// Files that are being read, all at the same time.
pub struct Reading<T> {
    files: Vec<(PathBuf, JoinHandle<Result<Boxes<T>>>)>,
}

impl<T: Number> Reading<T> {
    /// Begins to read files, with the names of boxes in the column `id` if `has_ids`. Each path comes
    /// with what messages call the file.
    pub fn start<'a>(
        paths: impl Iterator<Item = (&'a Path, &'a Path)>,
        options: &TableOptions,
        has_ids: bool,
        monitor: &Monitor,
    ) -> Result<Reading<T>> {
        let start = |(path, name): (&Path, &Path)| {
            let (owned, options) = (path.to_owned(), options.clone());
            let monitor = monitor.clone();
            let thread = thread::Builder::new().name("boxes".into());
            let thread = thread.spawn(move || read_file(&owned, &options, has_ids, &monitor));
            Ok((name.to_owned(), thread.context("reading needs a thread")?))
        };
        let files = paths.map(start).collect::<Result<_>>()?;
        Ok(Reading { files })
    }

    /// Waits for the boxes of each file.
    pub fn finish(self) -> Result<Vec<Boxes<T>>> {
        let mut sets: Vec<Boxes<T>> = Vec::new();
        for (path, file) in self.files {
            let cannot_read = || format!("cannot read {}", path.display());
            let set = file.join().expect("reading does not panic");
            let set = set.with_context(cannot_read)?;
            if let Some(first) = sets.first() {
                let axes = |set: &Boxes<T>| set.coordinates.ncols() / 2;
                let axes = (axes(first), axes(&set));
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

fn read_file<T: Number>(
    path: &Path,
    options: &TableOptions,
    has_ids: bool,
    monitor: &Monitor,
) -> Result<Boxes<T>> {
    let begin = |header: Header| {
        Ok(BoxTable {
            columns: Columns::find(header, options, has_ids)?,
            rows: Rows::default(),
        })
    };
    let BoxTable { columns, rows } = records::read(open(path, monitor)?, options, begin)?;
    let width = columns.places.len();
    let shape = (rows.numbers.len() / width, width);
    Ok(Boxes {
        coordinates: Array2::from_shape_vec(shape, rows.numbers)?,
        rounded: rows.rounded,
        ids: has_ids.then_some(rows.ids),
    })
}

/// The boxes that have been read.
struct BoxTable<T> {
    columns: Columns,
    rows: Rows<T>,
}

/// Boxes: of each all minima, then all maxima.
struct Rows<T> {
    numbers: Vec<T>,
    rounded: u64,
    ids: Ids,
}

impl<T> Default for Rows<T> {
    fn default() -> Rows<T> {
        Rows {
            numbers: Vec::new(),
            rounded: 0,
            ids: Ids::default(),
        }
    }
}

impl<T: Number> Table for BoxTable<T> {
    type Part = Rows<T>;

    fn part(&self) -> Rows<T> {
        Rows::default()
    }

    fn parse(&self, part: &mut Rows<T>, line: u64, cells: &impl Cells) -> Result<(), Fault> {
        self.columns.parse(part, line, cells)
    }

    fn add(&mut self, part: Rows<T>) -> Result<(), Fault> {
        let rows = &mut self.rows;
        rows.numbers.try_reserve(part.numbers.len())?;
        rows.numbers.extend_from_slice(&part.numbers);
        rows.ids.append(&part.ids)?;
        rows.rounded += part.rounded;
        Ok(())
    }
}

/// The columns of the coordinates.
struct Columns {
    /// Their names, and where they are in a record: all minima, then all maxima.
    places: Vec<(&'static str, usize)>,
    /// The column of names, if they are read.
    id: Option<usize>,
    options: TableOptions,
}

/// The coordinates of a box, with other usual names.
const NAMES: [(&str, &[&str]); 6] = [
    ("minX", &["min_x", "xmin", "x_min", "left"]),
    ("minY", &["min_y", "ymin", "y_min", "bottom"]),
    ("minZ", &["min_z", "zmin", "z_min"]),
    ("maxX", &["max_x", "xmax", "x_max", "right"]),
    ("maxY", &["max_y", "ymax", "y_max", "top"]),
    ("maxZ", &["max_z", "zmax", "z_max"]),
];

impl Columns {
    fn find(header: Header, options: &TableOptions, has_ids: bool) -> Result<Columns> {
        let roles = NAMES.iter().map(|(name, _)| *name);
        header.require_roles(&roles.chain(["id"]).collect::<Vec<_>>())?;
        let id = match has_ids {
            true => header.single("id")?,
            false => None,
        };
        ensure!(
            !has_ids || id.is_some(),
            "there is no column id, or another one that is read as id: {}",
            header.described()
        );
        if !options.has_header && options.columns.is_empty() {
            return Columns::in_order(header, options);
        }
        let (mut places, mut missing) = (Vec::new(), Vec::new());
        for (name, others) in NAMES {
            let mut place = header.single(name)?;
            if place.is_none() && options.has_header {
                let found = others
                    .iter()
                    .filter_map(|other| header.single(other).transpose());
                let found = found.collect::<Result<Vec<_>>>()?;
                ensure!(
                    found.len() < 2,
                    "there are two columns for {name}: {}",
                    header.described()
                );
                place = found.first().copied();
            }
            match place {
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
            header.described()
        );
        Ok(Columns {
            places,
            id,
            options: options.clone(),
        })
    }

    /// Without a header: all minima, then all maxima.
    fn in_order(header: Header, options: &TableOptions) -> Result<Columns> {
        let count = header.count();
        ensure!(
            count == 4 || count == 6,
            "there are {count} columns without a header, not the 4 or 6 of minima and then maxima: say which is \
             read as what, for instance by --columns minX=1,minY=2,maxX=3,maxY=4"
        );
        let names = NAMES.iter().map(|(name, _)| *name);
        let names = names.filter(|name| count == 6 || !name.ends_with('Z'));
        Ok(Columns {
            places: names.zip(0..).collect(),
            id: None,
            options: options.clone(),
        })
    }

    /// Adds the box of a record.
    fn parse<T: Number>(
        &self,
        rows: &mut Rows<T>,
        line: u64,
        cells: &impl Cells,
    ) -> Result<(), Fault> {
        let fault = |column: Option<&str>, what| Fault {
            line,
            column: column.map(str::to_owned),
            what,
        };
        let start = rows.numbers.len();
        for &(name, place) in &self.places {
            let number = parse_cell(cells.cell(place), &self.options);
            let (number, is_rounded) = number.map_err(|what| fault(Some(name), what))?;
            rows.numbers.push(number);
            rows.rounded += u64::from(is_rounded);
        }
        if let Some(place) = self.id {
            rows.ids.add(cells.cell(place).trim_ascii());
        }
        let row = &rows.numbers[start..];
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

fn parse_cell<T: Number>(cell: &[u8], options: &TableOptions) -> Result<(T, bool), String> {
    let cell = cell.trim_ascii();
    if cell.is_empty() {
        return Err("the cell is empty".into());
    }
    if options.is_null(cell) {
        return Err(format!("'{}' stands for no coordinate", shown(cell)));
    }
    options
        .with_point(cell, T::parse)
        .map_err(|what| format!("'{}' {what}", shown(cell)))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn boxes(text: &str, options: &TableOptions) -> Result<Vec<f64>> {
        let begin = |header: Header| {
            Ok(BoxTable {
                columns: Columns::find(header, options, false)?,
                rows: Rows::default(),
            })
        };
        let table = records::read(Cursor::new(text.to_owned()), options, begin)?;
        Ok(table.rows.numbers)
    }

    #[test]
    fn coordinates_by_their_usual_names() {
        let usual = TableOptions::default();
        let read = |text: &str| boxes(text, &usual).unwrap();
        assert_eq!(
            read("left,top,id,bottom,right\n1,4,9,2,3\n"),
            [1.0, 2.0, 3.0, 4.0]
        );
        assert_eq!(
            read("xmin,x_max,Y_MIN,yMax\n1,3,2,4\n"),
            [1.0, 2.0, 3.0, 4.0]
        );
        // The first name counts.
        assert_eq!(
            read("minX,minY,maxX,maxY,top\n1,2,3,4,0\n"),
            [1.0, 2.0, 3.0, 4.0]
        );
        let two = boxes("xmin,left,minY,maxX,maxY\n", &usual).unwrap_err();
        let said =
            "line 1: there are two columns for minX: the columns are xmin, left, minY, maxX, maxY";
        assert_eq!(format!("{two:#}"), said);
    }

    #[test]
    fn tables_without_a_header() {
        let bare = TableOptions {
            has_header: false,
            delimiter: b'\t',
            decimal: b',',
            ..TableOptions::default()
        };
        assert_eq!(
            boxes("0,5\t1\t2\t3\n", &bare).unwrap(),
            [0.5, 1.0, 2.0, 3.0]
        );
        assert_eq!(
            boxes("1\t2\t3\t4\t5\t6\n", &bare).unwrap(),
            [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
        );
        let five = boxes("1\t2\t3\t4\t5\n", &bare).unwrap_err();
        assert!(
            format!("{five:#}").contains("there are 5 columns without a header"),
            "{five:#}"
        );
        let columns = ["minX=1", "maxX=2", "minY=3", "maxY=4"].map(|text| text.parse().unwrap());
        let given = TableOptions {
            columns: columns.into(),
            ..bare
        };
        assert_eq!(boxes("1\t3\t2\t4\n", &given).unwrap(), [1.0, 2.0, 3.0, 4.0]);
    }
}
