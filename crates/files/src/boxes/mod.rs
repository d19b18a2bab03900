//! From CSV files to boxes.

mod number;

use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, ensure};
use ndarray::Array2;

use crate::records::{self, Cells, Fault, Header, Table, TableOptions, shown};
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
        options: &TableOptions,
        monitor: &Monitor,
    ) -> Result<Reading<T>> {
        let start = |path: &Path| {
            let (owned, options) = (path.to_owned(), options.clone());
            let monitor = monitor.clone();
            let thread = thread::Builder::new().name("boxes".into());
            let thread = thread.spawn(move || read_file(&owned, &options, &monitor));
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

fn read_file<T: Number>(
    path: &Path,
    options: &TableOptions,
    monitor: &Monitor,
) -> Result<Array2<T>> {
    let begin = |header: Header| {
        Ok(BoxTable {
            columns: Columns::find(header, options)?,
            numbers: Vec::new(),
        })
    };
    let BoxTable { columns, numbers } = records::read(open(path, monitor)?, options, begin)?;
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
    fn find(header: Header, options: &TableOptions) -> Result<Columns> {
        let roles = NAMES.map(|(name, _)| name);
        header.require_roles(&roles)?;
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
            options: options.clone(),
        })
    }

    /// Adds the box of a record to `numbers`.
    fn parse<T: Number>(
        &self,
        numbers: &mut Vec<T>,
        line: u64,
        cells: &impl Cells,
    ) -> Result<(), Fault> {
        let fault = |column: Option<&str>, what| Fault {
            line,
            column: column.map(str::to_owned),
            what,
        };
        let start = numbers.len();
        for &(name, place) in &self.places {
            let number = parse_cell(cells.cell(place), &self.options);
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

fn parse_cell<T: Number>(cell: &[u8], options: &TableOptions) -> Result<T, String> {
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
                columns: Columns::find(header, options)?,
                numbers: Vec::new(),
            })
        };
        let table = records::read(Cursor::new(text.to_owned()), options, begin)?;
        Ok(table.numbers)
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
