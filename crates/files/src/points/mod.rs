//! From a CSV file to points, those of each series together.
//!
//! The text is not kept: a point takes 16 bytes.

mod columns;
mod missing;
mod names;
#[cfg(test)]
mod tests;
mod unit;
pub mod value;

use std::io::Read;
use std::mem;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use jiff::tz::TimeZone;

use crate::records::{self, Cells, Fault, Header, Table, TableOptions, shown};
use crate::time::{self, TimeUnit, timestamp};
use crate::{Monitor, cannot_read, open};
use columns::Columns;
pub use missing::Column;
use names::{NameError, Names};

/// The roles that columns can have.
pub const ROLES: [&str; 3] = ["timestamp", "value", "series"];

/// The column that names series together with the column `series`, as in outputs of series with several
/// columns of values.
const COLUMN: &str = "column";

/// Usual texts of cells without a value.
const NULLS: [&str; 11] = [
    "NA", "N/A", "#N/A", "<NA>", "null", "nil", "none", "missing", "-", "--", "?",
];

/// Requirements on timestamps, checked while reading so that an error names the line.
#[derive(Clone, Debug)]
pub struct Demands {
    /// The unit of timestamps that are numbers. `None` finds the unit by their sizes.
    pub unit: Option<TimeUnit>,
    /// The zone of those without an offset from UTC, which are refused if there is none.
    pub zone: Option<TimeZone>,
    /// Reject timestamps that decrease within a series.
    pub order: bool,
    /// The first one whose bucket begins with an `i64`.
    pub lowest: i64,
}

impl Demands {
    /// For buckets of `width`, one of which begins at `origin`.
    pub fn new(unit: impl Into<Option<TimeUnit>>, order: bool, width: i64, origin: i64) -> Demands {
        let first = i128::from(i64::MIN);
        let behind = (i128::from(origin) - first).rem_euclid(i128::from(width.max(1)));
        Demands {
            unit: unit.into(),
            zone: None,
            order,
            lowest: i64::try_from(first + behind).expect("less than i64::MAX behind the first"),
        }
    }
}

/// The points of a file, series after series.
#[derive(Default)]
pub struct Points {
    /// The timestamps, in nanoseconds since 1970.
    pub timestamps: Vec<i64>,
    /// The values of each column, one for each point: NaN, [`value::MISSING`], where the file has none.
    pub values: Vec<Vec<f64>>,
    /// The name of each column of values.
    pub value_names: Vec<String>,
    /// Index of the first point of each series, and at the end the number of points.
    pub offsets: Vec<usize>,
    /// The name of each series, if the file has names. Otherwise there is one series.
    pub names: Option<Vec<String>>,
    /// The text in the column `column` of each series, if it is a part of the name.
    pub columns: Option<Vec<String>>,
    /// The rows without a value that are left out, if there is a single column of values.
    pub left_out: usize,
}

impl Points {
    /// Returns the number of points.
    #[allow(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> usize {
        self.timestamps.len()
    }

    /// Returns the number of series.
    pub fn series_count(&self) -> usize {
        self.offsets.len() - 1
    }
}

/// The points of a file as they were read.
pub struct Rows {
    /// The unit of the timestamps that are numbers, if there are any: the first of a block is looked
    /// at.
    pub unit: Option<TimeUnit>,
    /// Values beyond 2⁵³ that were rounded, if there are any.
    pub rounded: Option<Rounded>,
    /// The number of timestamps outside of 1990 to 2100 in the requested unit, and the first of them.
    pub implausible: Option<(u64, String)>,
    columns: Columns,
    left_out: usize,
    value_names: Vec<String>,
    /// The series, if the file has any.
    names: Option<Names>,
    /// Whether each name is a pair of cells.
    has_pairs: bool,
}

/// Values beyond 2⁵³ that `f64` does not have, with all their digits.
#[derive(Clone, Debug, PartialEq)]
pub struct Rounded {
    /// Their number.
    pub count: u64,
    /// The text of the first one, and what it is read as.
    pub first: (String, f64),
}

impl Rows {
    /// Reads a file.
    pub fn read(
        path: &Path,
        demands: Demands,
        options: &TableOptions,
        monitor: &Monitor,
    ) -> Result<Rows> {
        let read = || parse(open(path, monitor)?, demands, options);
        let rows = read().with_context(|| cannot_read(path))?;
        if let Some(Rounded { count, first }) = &rows.rounded {
            let (path, (text, number)) = (path.display(), first);
            monitor.warn(&match count {
                1 => format!(
                    "{path}: 1 value is a number beyond 2^53 that f64 does not have, and is rounded: {text} is \
                     read as {number}"
                ),
                _ => format!(
                    "{path}: {count} values are numbers beyond 2^53 that f64 does not have, and are rounded: the \
                     first one, {text}, is read as {number}"
                ),
            });
        }
        if let (Some((count, first)), Some(unit)) = (&rows.implausible, rows.unit) {
            let path = path.display();
            let (are, last) = match count {
                1 => ("timestamp is", "it is"),
                _ => ("timestamps are", "the first one is"),
            };
            monitor.warn(&format!(
                "{path}: {count} {are} not from 1990 to 2100 in {unit}, which is the unit of the others by their \
                 sizes: {last} {first}"
            ));
        }
        Ok(rows)
    }

    /// Brings the points of each series together, in the file's order.
    ///
    /// # Errors
    /// If the memory does not suffice.
    pub fn group(self) -> Result<Points> {
        let series = self.names.as_ref().map_or(1, Names::len);
        let grouped = self.columns.group(series).context(
            "there is no memory to bring the points of each series together: give a file of fewer \
             points, or free some memory",
        );
        let (timestamps, values, offsets) = grouped?;
        let names = self.names.map(Names::into_strings);
        let (names, columns) = match (names, self.has_pairs) {
            (Some(pairs), true) => {
                let (names, columns) = pairs.iter().map(|pair| cells_of(pair)).unzip();
                (Some(names), Some(columns))
            }
            (names, _) => (names, None),
        };
        Ok(Points {
            timestamps,
            values,
            offsets,
            value_names: self.value_names,
            names,
            columns,
            left_out: self.left_out,
        })
    }
}

/// As [`Rows::read`], from the decompressed content of a file.
pub fn parse(
    source: impl Read + Send + 'static,
    demands: Demands,
    options: &TableOptions,
) -> Result<Rows> {
    if let unit @ Some(_) = demands.unit {
        return parse_in(source, demands, unit, options);
    }
    let place = |header: Header| Ok(Places::find(header, options)?.timestamp);
    let (unit, source) = unit::told(source, options, place)?;
    parse_in(source, demands, unit, options)
}

/// As [`parse`], in the unit that is given or that the start of the file has told, if it has numbers.
fn parse_in(
    source: impl Read + Send + 'static,
    demands: Demands,
    unit: Option<TimeUnit>,
    options: &TableOptions,
) -> Result<Rows> {
    let begin = |header: Header| {
        let places = Places::find(header, options)?;
        Ok(PointTable {
            unit,
            demands,
            has_numbers: false,
            implausible: 0,
            first_implausible: None,
            rounded: None,
            columns: Columns::new(places.values.len()),
            left_out: 0,
            names: places.series.map(|_| Names::default()),
            latest: Vec::new(),
            places,
        })
    };
    let table = records::read(source, options, begin)?;
    if let Some(number) = &table.first_implausible
        && (unit::means_another(number) || !unit::is_few(table.implausible, table.columns.len()))
    {
        bail!("{}", unit::untold(number));
    }
    let count = table.implausible;
    Ok(Rows {
        implausible: table.first_implausible.map(|first| (count, first)),
        unit: table.has_numbers.then_some(unit.unwrap_or(TimeUnit::Ns)),
        rounded: table.rounded,
        columns: table.columns,
        left_out: table.left_out,
        value_names: table.places.value_names,
        names: table.names,
        has_pairs: table.places.column.is_some(),
    })
}

/// The points that have been read.
struct PointTable {
    unit: Option<TimeUnit>,
    demands: Demands,
    places: Places,
    has_numbers: bool,
    /// The number of timestamps that are not plausible in the requested unit, and the first of them.
    implausible: u64,
    first_implausible: Option<String>,
    rounded: Option<Rounded>,
    columns: Columns,
    left_out: usize,
    names: Option<Names>,
    /// The last timestamp of each series.
    latest: Vec<i64>,
}

/// The points of a block.
#[derive(Default)]
struct Part {
    /// Whether the first timestamp is a number.
    has_numbers: bool,
    implausible: u64,
    first_implausible: Option<String>,
    rounded: Option<Rounded>,
    left_out: usize,
    timestamps: Vec<i64>,
    /// The values of each column.
    values: Vec<Vec<f64>>,
    /// The series of each point, if the file has any, as a number in this block.
    numbers: Vec<u32>,
    names: Names,
    series: Vec<Series>,
    /// Memory for a pair of cells.
    pair: Vec<u8>,
}

/// The points of a series in a block.
struct Series {
    count: u32,
    /// The first timestamp, and its line.
    first: i64,
    line: u64,
    /// The last timestamp.
    latest: i64,
}

impl PointTable {
    /// Counts a timestamp that is far from now, if it is a number.
    #[cold]
    fn note_implausible(&self, part: &mut Part, cells: &impl Cells) {
        let cell = cells.cell(self.places.timestamp).trim_ascii();
        if time::is_number(cell) {
            part.implausible += 1;
            keep(&mut part.first_implausible, shown(cell));
        }
    }
}

/// Keeps the first number, or the first one that means something else.
fn keep(first: &mut Option<String>, number: String) {
    let is_worse = |kept: &String| !unit::means_another(kept) && unit::means_another(&number);
    if first.as_ref().is_none_or(is_worse) {
        *first = Some(number);
    }
}

impl Table for PointTable {
    type Part = Part;

    fn part(&self) -> Part {
        Part {
            values: vec![Vec::new(); self.places.values.len()],
            ..Part::default()
        }
    }

    fn parse(&self, part: &mut Part, line: u64, cells: &impl Cells) -> Result<(), Fault> {
        let timestamp = self
            .places
            .timestamp(self.unit, &self.demands, line, cells)?;
        if self.demands.unit.is_none() && !unit::is_plausible(timestamp) {
            self.note_implausible(part, cells);
        }
        self.places.add_values(line, cells, part)?;
        // Points of a single column are kept only with a value, so that they need no copy later.
        let is_point = match &mut part.values[..] {
            [values] => values.pop_if(|value| value::is_missing(*value)).is_none(),
            _ => true,
        };
        part.left_out += usize::from(!is_point);
        let number = match self.places.series {
            None => 0,
            Some(place) => {
                let mut name = cells.name(place);
                if self.places.options.is_null(name) {
                    return Err(self.places.no_series(line, name));
                }
                if let Some(column) = self.places.column {
                    // As cells of a record, so that no other two cells have the same text.
                    part.pair.clear();
                    records::add_cell(&mut part.pair, name, b',');
                    part.pair.push(b',');
                    records::add_cell(&mut part.pair, cells.name(column), b',');
                    name = &part.pair;
                }
                let number = part.names.number(name);
                let number = number.map_err(|error| unnamed(error, name, line))?;
                part.numbers.extend(is_point.then_some(number));
                number as usize
            }
        };
        if part.timestamps.is_empty() {
            part.has_numbers = time::is_number(cells.cell(self.places.timestamp).trim_ascii());
        }
        part.timestamps.extend(is_point.then_some(timestamp));
        match part.series.get_mut(number) {
            None => part.series.push(Series {
                count: u32::from(is_point),
                first: timestamp,
                line,
                latest: timestamp,
            }),
            Some(series) => {
                series.count += u32::from(is_point);
                let before = mem::replace(&mut series.latest, timestamp);
                if self.demands.order && timestamp < before {
                    let name = self.places.series.map(|_| part.names.get(number));
                    return Err(out_of_order(timestamp, before, name, line));
                }
            }
        }
        if timestamp < self.demands.lowest {
            return Err(without_label(timestamp, self.demands.lowest, line));
        }
        Ok(())
    }

    fn complete(part: &mut Part) {
        if !part.numbers.is_sorted() {
            part.timestamps = grouped(&part.timestamps, &part.numbers, &part.series);
            for values in &mut part.values {
                *values = grouped(values, &part.numbers, &part.series);
            }
        }
    }

    fn add(&mut self, part: Part) -> Result<(), Fault> {
        self.has_numbers |= part.has_numbers;
        self.implausible += part.implausible;
        self.left_out += part.left_out;
        if let Some(number) = part.first_implausible {
            keep(&mut self.first_implausible, number);
        }
        add_rounded(&mut self.rounded, part.rounded);
        let mut fault: Option<Fault> = None;
        let mut runs = Vec::new();
        for (i, series) in part.series.iter().enumerate() {
            let number = match &mut self.names {
                None => 0,
                Some(names) => {
                    let name = part.names.get(i);
                    let number = names.number(name);
                    number.map_err(|error| unnamed(error, name, series.line))?
                }
            };
            runs.push((number, series.count));
            match self.latest.get_mut(number as usize) {
                None => {
                    self.latest.try_reserve(1)?;
                    self.latest.push(series.latest);
                }
                Some(latest) => {
                    let before = mem::replace(latest, series.latest);
                    let is_first = fault.as_ref().is_none_or(|fault| series.line < fault.line);
                    if self.demands.order && series.first < before && is_first {
                        let name = self.places.series.map(|_| part.names.get(i));
                        fault = Some(out_of_order(series.first, before, name, series.line));
                    }
                }
            }
        }
        self.columns
            .add(&part.timestamps, &part.values, runs.into_iter())?;
        fault.map_or(Ok(()), Err)
    }
}

/// Elements by the number of their series, those of one in the order in which they are.
fn grouped<T: Copy + Default>(from: &[T], numbers: &[u32], series: &[Series]) -> Vec<T> {
    let mut next = 0;
    let place = |series: &Series| {
        let place = next;
        next += series.count as usize;
        place
    };
    let mut places: Vec<_> = series.iter().map(place).collect();
    let mut grouped = vec![T::default(); from.len()];
    for (&element, &number) in from.iter().zip(numbers) {
        let place = &mut places[number as usize];
        grouped[*place] = element;
        *place += 1;
    }
    grouped
}

/// Returns the two cells of a pair.
fn cells_of(pair: &str) -> (String, String) {
    let mut record = csv::StringRecord::new();
    let mut reader = csv::ReaderBuilder::new();
    let mut reader = reader.has_headers(false).from_reader(pair.as_bytes());
    let read = reader.read_record(&mut record);
    assert!(read.is_ok() && record.len() == 2, "a pair has two cells");
    (record[0].to_owned(), record[1].to_owned())
}

#[cold]
fn unnamed(error: NameError, name: &[u8], line: u64) -> Fault {
    let what = match error {
        NameError::NotUtf8 => format!("'{}' is not UTF-8", shown(name)),
        NameError::TooMany => "there are too many series".into(),
        NameError::NoMemory => {
            "there is no memory for more names of series: give a file of fewer series, or free some \
             memory"
                .into()
        }
    };
    at(line, "series", what)
}

#[cold]
fn out_of_order(time: i64, before: i64, series: Option<&[u8]>, line: u64) -> Fault {
    let of_series = series.map_or(String::new(), |name| {
        format!(" of series \"{}\"", shown(name))
    });
    let (time, before) = (timestamp(time), timestamp(before));
    let what = format!(
        "{time} is before {before}, the time of the point before it{of_series}; points \
         in any order need --sort"
    );
    at(line, "timestamp", what)
}

#[cold]
fn without_label(time: i64, lowest: i64, line: u64) -> Fault {
    let (time, lowest) = (timestamp(time), timestamp(lowest));
    let what = format!(
        "the bucket of {time} begins before the first time in 64 bits of nanoseconds; the first \
         bucket begins at {lowest}"
    );
    at(line, "timestamp", what)
}

#[cold]
fn at(line: u64, column: &str, what: String) -> Fault {
    Fault {
        line,
        column: Some(column.into()),
        what,
    }
}

/// The columns that matter.
struct Places {
    timestamp: usize,
    values: Vec<usize>,
    /// The names of the columns of values: for messages, and for outputs.
    value_names: Vec<String>,
    series: Option<usize>,
    /// The other column of names, if a series has two names.
    column: Option<usize>,
    options: TableOptions,
}

impl Places {
    fn find(header: Header, options: &TableOptions) -> Result<Places> {
        header.require_roles(&ROLES)?;
        let (mut timestamp, mut values) = (header.single("timestamp")?, header.places("value")?);
        if !options.has_header && options.columns.is_empty() {
            ensure!(
                header.count() == 2,
                "there are {} columns without a header: say which is read as what, for instance by --columns \
                 timestamp=1,value=2,series=3",
                header.count()
            );
            (timestamp, values) = (Some(0), vec![1]);
        }
        let Some(timestamp) = timestamp.filter(|_| !values.is_empty()) else {
            let missing = [
                timestamp.is_none().then_some("timestamp"),
                values.is_empty().then_some("value"),
            ];
            return Err(header.missing(&missing.into_iter().flatten().collect::<Vec<_>>()));
        };
        let value_names = match &values[..] {
            [_] if header.has_usual_names() => vec!["value".into()],
            _ => distinct_names(&header, &values),
        };
        let series = header.single("series")?;
        let column = match series.is_some() && header.given("series")?.is_none() {
            true => header.single(COLUMN)?,
            false => None,
        };
        let column = column.filter(|place| *place != timestamp && !values.contains(place));
        ensure!(
            column.is_none() || values.len() == 1,
            "the columns 'series' and '{COLUMN}' name series of a single column of values: \
             --columns series=series reads the names in 'series' alone"
        );
        Ok(Places {
            timestamp,
            values,
            value_names,
            series,
            column,
            options: options.clone(),
        })
    }

    /// Returns the timestamp of a record.
    fn timestamp(
        &self,
        unit: Option<TimeUnit>,
        demands: &Demands,
        line: u64,
        cells: &impl Cells,
    ) -> Result<i64, Fault> {
        let options = &self.options;
        let zone = demands.zone.as_ref();
        let cell = cells.cell(self.timestamp).trim_ascii();
        // Also a text that is a time, such as 0.
        let fault = |what: &str| at(line, "timestamp", options.refused(cell, what));
        if options.is_null(cell) {
            return Err(fault("has no time"));
        }
        let has_comma =
            options.decimal != b'.' && (time::is_number(cell) || cell.contains(&options.decimal));
        let timestamp = match has_comma {
            false => time::parse_in(cell, unit, zone),
            true => options.with_point(cell, |cell| time::parse_in(cell, unit, zone)),
        };
        timestamp.map_err(|what| match (demands.unit, unit) {
            (None, Some(unit)) if time::is_number(cell) => fault(&format!(
                "{what} in {unit}, the unit that the sizes of the first timestamps tell: --unit says another"
            )),
            _ => fault(&what),
        })
    }

    /// Adds the values of a record to a part.
    fn add_values(&self, line: u64, cells: &impl Cells, part: &mut Part) -> Result<(), Fault> {
        let options = &self.options;
        for (i, &place) in self.values.iter().enumerate() {
            let cell = cells.cell(place).trim_ascii();
            let parse = |cell: &[u8]| {
                let value = value::parse(cell)?;
                Ok((value, value::is_rounded(cell, value)))
            };
            let (value, is_rounded) = match options.is_null(cell) {
                true => (value::MISSING, false),
                false => {
                    let value = options.with_point(cell, parse);
                    value.map_err(|what| self.no_value(line, i, cell, what))?
                }
            };
            if is_rounded {
                let first = (shown(cell), value);
                add_rounded(&mut part.rounded, Some(Rounded { count: 1, first }));
            }
            part.values[i].push(value);
        }
        Ok(())
    }

    /// Returns the fault of a point that belongs to no series.
    #[cold]
    fn no_series(&self, line: u64, cell: &[u8]) -> Fault {
        let what = self.options.refused(cell, "stands for no series");
        let remedy = ": name the series of each point, or remove the row";
        at(line, "series", format!("{what}{remedy}"))
    }

    /// Returns the fault of a cell in a column of values.
    #[cold]
    fn no_value(&self, line: u64, column: usize, cell: &[u8], what: &str) -> Fault {
        let text = String::from_utf8_lossy(cell);
        let remedy = match NULLS.iter().any(|null| null.eq_ignore_ascii_case(&text)) {
            true => format!(": if it stands for no value, give --null '{text}'"),
            false => String::new(),
        };
        let what = self.options.refused(cell, &format!("{what}{remedy}"));
        at(line, &self.value_names[column], what)
    }
}

/// Returns the names of columns. Of columns with one name, each has the number of the column behind it.
fn distinct_names(header: &Header, places: &[usize]) -> Vec<String> {
    let names: Vec<_> = places.iter().map(|&place| header.name(place)).collect();
    let is_single = |name: &String| names.iter().filter(|other| *other == name).count() == 1;
    let numbered = |(name, place): (&String, &usize)| {
        if is_single(name) {
            return name.clone();
        }
        let mut own = format!("{name}_{}", place + 1);
        while names.contains(&own) {
            own.push('_');
        }
        own
    };
    names.iter().zip(places).map(numbered).collect()
}

/// Adds values that were rounded to those before them.
fn add_rounded(sum: &mut Option<Rounded>, more: Option<Rounded>) {
    match (sum, more) {
        (Some(sum), Some(more)) => sum.count += more.count,
        (sum, more) => *sum = sum.take().or(more),
    }
}
