//! From a CSV file to points, those of each series together.
//!
//! The text is not kept: a point takes 16 bytes, and while the file is read 4 more if it has a
//! column of series.

use std::collections::HashMap;
use std::mem;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, anyhow, bail, ensure};
use csv::ByteRecord;

use super::time::{self, timestamp};
use crate::common::input::open;
use crate::common::progress::{self, total_size};
use crate::common::records::{line, next_record, reader, shown};

/// Rows between two moves of the progress bar.
const ROWS: usize = 1 << 14;

/// What there has to be of timestamps, so that an error names the line.
#[derive(Clone, Copy)]
pub struct Demands {
    /// Whether those of a series have to be in order.
    pub order: bool,
    /// The first one whose bucket begins with an `i64`.
    pub lowest: i64,
}

impl Demands {
    /// For buckets of `width`, one of which begins at `origin`.
    pub fn new(order: bool, width: i64, origin: i64) -> Demands {
        let first = i128::from(i64::MIN);
        let behind = (i128::from(origin) - first).rem_euclid(i128::from(width.max(1)));
        Demands {
            order,
            lowest: i64::try_from(first + behind).expect("less than i64::MAX behind the first"),
        }
    }
}

/// The points of a file, series after series.
#[derive(Default)]
pub struct Points {
    pub timestamps: Vec<i64>,
    pub values: Vec<f64>,
    /// Where each series begins, and at the end the number of points.
    pub offsets: Vec<usize>,
    /// What each series is called, if the file says it; else there is one.
    pub names: Option<Vec<String>>,
}

impl Points {
    pub fn len(&self) -> usize {
        self.timestamps.len()
    }

    pub fn series_count(&self) -> usize {
        self.offsets.len() - 1
    }
}

/// A name or path for reading: without control characters, and not endless.
pub fn readable(text: &str) -> String {
    const LENGTH: usize = 100;
    let is_cut = text.chars().nth(LENGTH).is_some();
    let readable = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let start = text.chars().take(LENGTH).map(readable);
    start.chain(is_cut.then_some('…')).collect()
}

/// The points of a file in its order.
pub struct Rows {
    timestamps: Vec<i64>,
    values: Vec<f64>,
    /// The series of each point, if the file says it.
    series: Option<(Vec<u32>, Names)>,
}

impl Rows {
    /// Reads a file.
    pub fn read(path: &Path, demands: Demands) -> Result<Rows> {
        read(path, demands).with_context(|| format!("cannot read {}", path.display()))
    }

    /// Brings the points of each series together, in the file's order.
    pub fn group(self) -> Points {
        let Rows {
            mut timestamps,
            mut values,
            series,
        } = self;
        let count = timestamps.len();
        let Some((numbers, names)) = series else {
            return Points {
                timestamps,
                values,
                offsets: vec![0, count],
                names: None,
            };
        };
        let mut offsets = vec![0; names.texts.len() + 1];
        for &number in &numbers {
            offsets[number as usize + 1] += 1;
        }
        for i in 1..offsets.len() {
            offsets[i] += offsets[i - 1];
        }
        if !numbers.is_sorted() {
            timestamps = moved(timestamps, &numbers, &offsets);
            values = moved(values, &numbers, &offsets);
        }
        Points {
            timestamps,
            values,
            offsets,
            names: Some(names.texts),
        }
    }
}

/// Elements by the number of their series, those of one in the order in which they are.
fn moved<T: Copy + Default>(from: Vec<T>, numbers: &[u32], offsets: &[usize]) -> Vec<T> {
    let mut places = offsets.to_vec();
    let mut to = vec![T::default(); from.len()];
    for (&element, &number) in from.iter().zip(numbers) {
        let place = &mut places[number as usize];
        to[*place] = element;
        *place += 1;
    }
    to
}

fn read(path: &Path, demands: Demands) -> Result<Rows> {
    let read = Arc::new(AtomicU64::new(0));
    let bar = progress::bytes("reading", total_size([path]));
    let mut reader = reader(open(path, read.clone())?);
    let mut record = ByteRecord::new();
    ensure!(next_record(&mut reader, &mut record)?, "the file is empty");
    let columns = Columns::find(&record).with_context(|| format!("line {}", line(&record)))?;

    let (mut timestamps, mut values) = (Vec::new(), Vec::new());
    let mut series = columns.series.map(|_| (Vec::new(), Names::default()));
    // The last timestamp of each series.
    let mut latest = vec![i64::MIN; usize::from(series.is_none())];
    loop {
        let is_row = next_record(&mut reader, &mut record);
        let is_row = is_row
            .with_context(|| format!("the file ends badly in line {}", reader.position().line()))?;
        if !is_row {
            break;
        }
        let (timestamp, value) = columns.parse(&record)?;
        let number = match (&mut series, columns.series) {
            (Some((numbers, names)), Some(column)) => {
                let number = names.number(&record[column]);
                let number = number.map_err(|what| at(&record, "series", what))?;
                numbers.push(number);
                number as usize
            }
            _ => 0,
        };
        match latest.get_mut(number) {
            None => latest.push(timestamp),
            Some(latest) => {
                let before = mem::replace(latest, timestamp);
                if demands.order && timestamp < before {
                    let names = series.as_ref().map(|(_, names)| &names.texts[number]);
                    return Err(at(
                        &record,
                        "timestamp",
                        out_of_order(timestamp, before, names),
                    ));
                }
            }
        }
        if timestamp < demands.lowest {
            let what = without_label(timestamp, demands.lowest);
            return Err(at(&record, "timestamp", what));
        }
        timestamps.push(timestamp);
        values.push(value);
        if timestamps.len() % ROWS == 0 {
            bar.set_position(read.load(Ordering::Relaxed));
        }
    }
    bar.finish_and_clear();
    Ok(Rows {
        timestamps,
        values,
        series,
    })
}

#[cold]
fn out_of_order(time: i64, before: i64, series: Option<&String>) -> String {
    let of_series = series.map_or(String::new(), |name| format!(" of series {name:?}"));
    let (time, before) = (timestamp(time), timestamp(before));
    format!(
        "{time} is before {before}, the time of the point before it{of_series}; points in any order need --sort"
    )
}

#[cold]
fn without_label(time: i64, lowest: i64) -> String {
    let (time, lowest) = (timestamp(time), timestamp(lowest));
    format!(
        "the bucket of {time} begins before the first time in 64 bits of nanoseconds; the first bucket begins at {lowest}"
    )
}

#[cold]
fn at(record: &ByteRecord, column: &str, what: String) -> anyhow::Error {
    anyhow!("line {}, column {column}: {what}", line(record))
}

/// The columns that matter.
struct Columns {
    timestamp: usize,
    value: usize,
    series: Option<usize>,
    /// Cells in a record.
    cells: usize,
}

impl Columns {
    fn find(header: &ByteRecord) -> Result<Columns> {
        let mut missing = Vec::new();
        let mut find = |name: &'static str| {
            let is_named = |cell: &[u8]| cell.trim_ascii().eq_ignore_ascii_case(name.as_bytes());
            let mut found = (0..header.len()).filter(|&place| is_named(&header[place]));
            let place = found.next();
            ensure!(found.next().is_none(), "there are two columns {name}");
            if place.is_none() {
                missing.push(name);
            }
            Ok(place)
        };
        let [timestamp, value, series] = [find("timestamp")?, find("value")?, find("series")?];
        match (timestamp, value) {
            (Some(timestamp), Some(value)) => Ok(Columns {
                timestamp,
                value,
                series,
                cells: header.len(),
            }),
            _ => {
                missing.retain(|&name| name != "series");
                bail!("there is no column {}", missing.join(", "))
            }
        }
    }

    fn parse(&self, record: &ByteRecord) -> Result<(i64, f64)> {
        if record.len() != self.cells {
            let (line, cells) = (line(record), record.len());
            bail!(
                "line {line}: it has {cells} cells, the header has {}",
                self.cells
            );
        }
        let quoted = |cell: &[u8], what: &str| match cell.is_empty() {
            true => "the cell is empty".into(),
            false => format!("'{}' {what}", shown(cell)),
        };
        let cell = record[self.timestamp].trim_ascii();
        let timestamp =
            time::parse(cell).map_err(|what| at(record, "timestamp", quoted(cell, what)))?;
        let cell = record[self.value].trim_ascii();
        let value = parse_value(cell).map_err(|what| at(record, "value", quoted(cell, what)))?;
        Ok((timestamp, value))
    }
}

/// A value, or what is wrong with the text.
fn parse_value(text: &[u8]) -> Result<f64, &'static str> {
    if text.is_empty() {
        return Ok(f64::NAN);
    }
    let has_digits = || text.iter().any(u8::is_ascii_digit);
    // What is not UTF-8 is no number either.
    match str::from_utf8(text).unwrap_or_default().parse::<f64>() {
        // Infinity may be meant.
        Ok(number) if number.is_infinite() && has_digits() => Err("is out of the range of f64"),
        Ok(number) => Ok(number),
        Err(_) => Err("is no number"),
    }
}

/// The names of series, numbered in the order in which they come.
#[derive(Default)]
struct Names {
    texts: Vec<String>,
    numbers: HashMap<Box<[u8]>, u32>,
    /// The number of the name before, and of the name that came last behind each name.
    latest: u32,
    behind: Vec<u32>,
}

impl Names {
    fn number(&mut self, name: &[u8]) -> Result<u32, String> {
        let name = name.trim_ascii();
        // Most come in the order in which they came before.
        let guess = self.behind.get(self.latest as usize).copied();
        let number = match guess {
            Some(guess) if self.texts[guess as usize].as_bytes() == name => guess,
            _ => self.look_up(name)?,
        };
        if let Some(behind) = self.behind.get_mut(self.latest as usize) {
            *behind = number;
        }
        self.latest = number;
        Ok(number)
    }

    fn look_up(&mut self, name: &[u8]) -> Result<u32, String> {
        if let Some(&number) = self.numbers.get(name) {
            return Ok(number);
        }
        let text = str::from_utf8(name).map_err(|_| format!("'{}' is not UTF-8", shown(name)))?;
        let number = u32::try_from(self.texts.len()).map_err(|_| "there are too many series")?;
        self.texts.push(text.into());
        self.numbers.insert(name.into(), number);
        self.behind.push(number);
        Ok(number)
    }
}
