//! From CSV files to boxes.

mod names;
mod number;

use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, ensure};
use ndarray::Array2;

use crate::records::{self, Cells, Fault, Header, Table, TableOptions, shown};
use crate::{Monitor, Texts, cannot_read, open};
pub use names::{COORDINATES, Mismatch, ROLES, are_of_image, find};
pub use number::Number;

/// The boxes of a file.
pub struct Boxes<T> {
    /// The coordinates, N×6 or N×4: of each box all minima, then all maxima.
    pub coordinates: Array2<T>,
    /// The number of coordinates that were rounded, see [`Number::parse`].
    pub rounded: u64,
    /// The name of each box, trimmed, if names are requested.
    pub ids: Option<Texts>,
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
    /// with what messages call the file, and with how the table is written.
    pub fn start<'a>(
        paths: impl Iterator<Item = (&'a Path, &'a Path, TableOptions)>,
        has_ids: bool,
        monitor: &Monitor,
    ) -> Result<Reading<T>> {
        let start = |(path, name, options): (&Path, &Path, TableOptions)| {
            let owned = path.to_owned();
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
            let set = file.join().expect("reading does not panic");
            let set = set.with_context(|| cannot_read(&path))?;
            if let Some(first) = sets.first() {
                let axes = |set: &Boxes<T>| set.coordinates.ncols() / 2;
                let axes = (axes(first), axes(&set));
                let said = || {
                    format!(
                        "its boxes have {} axes, those of the first file {}",
                        axes.1, axes.0
                    )
                };
                ensure!(axes.0 == axes.1, "{}: {}", cannot_read(&path), said());
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
    ids: Texts,
}

impl<T> Default for Rows<T> {
    fn default() -> Rows<T> {
        Rows {
            numbers: Vec::new(),
            rounded: 0,
            ids: Texts::default(),
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
    /// Whether y has the names of an image's limits.
    is_of_image: bool,
    options: TableOptions,
}

impl Columns {
    fn find(header: Header, options: &TableOptions, has_ids: bool) -> Result<Columns> {
        header.require_roles(&ROLES)?;
        let id = match has_ids {
            true => Some(
                header
                    .single("id")?
                    .with_context(|| header.missing(&["id"]))?,
            ),
            false => None,
        };
        let places = match !options.has_header && options.columns.is_empty() {
            true => in_order(header)?,
            false => {
                let mut given = [None; 6];
                for (place, role) in given.iter_mut().zip(COORDINATES) {
                    *place = header.given(role)?;
                }
                let found = names::find(&header.names(), given);
                found.map_err(|mismatch| header.refused(&mismatch.what, mismatch.coordinate))?
            }
        };
        let name = |coordinate: &str| {
            let found = places.iter().find(|(name, _)| *name == coordinate);
            found.map_or(String::new(), |&(_, place)| header.name(place))
        };
        Ok(Columns {
            is_of_image: names::are_of_image(&name("minY"), &name("maxY")),
            places,
            id,
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
            rows.ids.add(cells.name(place))?;
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
        let remedy = match self.is_of_image && axis == 1 {
            true => "; if y grows downwards, as in images, give --columns minY=top,maxY=bottom",
            false => "",
        };
        Err(fault(None, format!("{min} is above {max}{remedy}")))
    }
}

/// Returns the columns without a header: all minima, then all maxima.
fn in_order(header: Header) -> Result<Vec<(&'static str, usize)>> {
    let count = header.count();
    ensure!(
        count == 4 || count == 6,
        "there are {count} columns without a header, not the 4 or 6 of minima and then maxima: say which is \
         read as what, for instance by --columns minX=1,minY=2,maxX=3,maxY=4"
    );
    let names = COORDINATES.into_iter();
    let names = names.filter(|name| count == 6 || !name.ends_with('Z'));
    Ok(names.zip(0..).collect())
}

fn parse_cell<T: Number>(cell: &[u8], options: &TableOptions) -> Result<(T, bool), String> {
    let cell = cell.trim_ascii();
    let number = match options.is_null(cell) {
        true => Err("stands for no coordinate"),
        false => options.with_point(cell, T::parse),
    };
    number.map_err(|what| options.refused(cell, what))
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
        let said = |text: &str| format!("{:#}", boxes(text, &usual).unwrap_err());
        assert_eq!(
            said("xmin,left,minY,maxX,maxY\n"),
            "line 1: there are two columns minX, 'xmin' and 'left': the columns are xmin, left, minY, maxX, maxY; \
             --columns minX=NAME reads the column NAME as minX"
        );
        assert_eq!(
            said("0,0,1,1\n"),
            "line 1: there is no column minX, minY, maxX, maxY: the columns are 0, 0, 1, 1; if the first line is a \
             record, give --no-header"
        );
        // Names that look like numbers make no record.
        assert_eq!(
            said("nan,inf,2024,20240131\n"),
            "line 1: there is no column minX, minY, maxX, maxY: the columns are nan, inf, 2024, 20240131; --columns \
             minX=NAME reads the column NAME as minX"
        );
        assert_eq!(
            said("left,top,right,bottom\n0,1,2,3\n"),
            "line 2: minY 3 is above maxY 1; if y grows downwards, as in images, give --columns minY=top,maxY=bottom"
        );
        assert_eq!(
            said("minX,minY,maxX,maxY\n0,1,2,\"3,5\"\n"),
            "line 2, column maxY: '3,5' is not a number: if the comma is before a fraction, give --decimal ','"
        );
    }

    #[test]
    fn coordinates_beyond_2_53_are_counted_in_all_spellings() {
        for (text, is_rounded) in [
            ("9007199254740993", true),
            ("9007199254740993.0", true),
            ("9.007199254740993e15", true),
            ("9007199254740992.5", true),
            ("9007199254740992.0", false),
            ("9.007199254740992e15", false),
        ] {
            let double = <f64 as Number>::parse(text.as_bytes()).unwrap();
            assert_eq!(double, (9007199254740992.0, is_rounded), "{text}");
            let single = <f32 as Number>::parse(text.as_bytes()).unwrap();
            assert_eq!(single, (9007199254740992.0, is_rounded), "{text}");
        }
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
