//! The printed summary.

use std::fmt::{Result, Write};
use std::path::Path;
use std::time::Duration;

use files::points::Column;
use files::text::shortened;
use files::time::{Every, TimeUnit, timestamp};
use gridstride::time_series::Aggregates;
use gridstride::{Choice, Device};
use program::report::{self, PeakMemory, milliseconds, per_second};
use serde::Serialize;

use super::args::Args;
use super::number::rounded;
use super::results::series_of;
use super::series::Series;
use crate::common::device_summary::{DeviceSummary, listed};

/// Buckets that are shown.
const SHOWN: usize = 10;

/// Characters of a series' name in the table.
const SERIES_NAME: usize = 100;

/// The parts of a run.
#[derive(Default)]
pub struct Times {
    pub reading: Duration,
    /// Opening the device, during that.
    pub opening: Duration,
    pub grouping: Duration,
    pub aggregating: Duration,
    pub writing: Duration,
    pub plotting: Duration,
}

/// A finished run.
pub struct Run<'a> {
    pub args: &'a Args,
    pub every: &'a Every,
    pub source: &'a str,
    pub series: &'a Series,
    /// The points that have a value.
    pub column: &'a Column<'a>,
    /// The unit of the timestamps that are numbers, if there are any.
    pub unit: Option<TimeUnit>,
    /// Number of values that were rounded.
    pub rounded: u64,
    pub devices: &'a [Device],
    pub aggregates: &'a Aggregates,
    pub times: Times,
    /// From the first text to the buckets on the disk.
    pub elapsed: Duration,
}

/// The summary of a run.
#[derive(Serialize)]
pub struct Summary {
    /// None if all buckets are in a file.
    first_buckets: Option<Vec<Bucket>>,
    source: String,
    points: usize,
    /// Values that the file has not, which are no points.
    missing_values: usize,
    /// Values beyond 2^53 that f64 does not have.
    rounded_values: u64,
    /// None if the file has no column of series.
    series: Option<usize>,
    /// The unit of timestamps that are numbers; None without numbers.
    unit: Option<&'static str>,
    /// Whether the sizes of the numbers have told the unit.
    unit_is_told: bool,
    first_timestamp: Option<String>,
    last_timestamp: Option<String>,
    buckets: usize,
    every: String,
    every_ns: i64,
    methods: Vec<String>,
    out: Option<String>,
    plot: Option<String>,
    devices: Vec<DeviceSummary>,
    elapsed_ms: f64,
    reading_ms: f64,
    read_points_per_second: Option<f64>,
    grouping_ms: f64,
    aggregating_ms: f64,
    aggregated_points_per_second: Option<f64>,
    writing_ms: f64,
    plotting_ms: f64,
    opening_ms: f64,
    peak_memory_bytes: PeakMemory,
}

#[derive(Serialize)]
struct Bucket {
    series: Option<String>,
    /// The column of values; None unless the file has series and several columns of values.
    column: Option<String>,
    timestamp: String,
    timestamp_ns: i64,
    /// By method; NaN without a result, for which JSON has null.
    values: Vec<f64>,
}

impl Bucket {
    fn new(bucket: usize, series: &Series, aggregates: &Aggregates) -> Bucket {
        let start = aggregates.starts()[bucket];
        let name = |names: &Vec<String>| names[series_of(aggregates, bucket)].clone();
        Bucket {
            series: series.points.names.as_ref().map(name),
            column: series.columns.as_ref().map(name),
            timestamp: timestamp(start).to_string(),
            timestamp_ns: start,
            values: aggregates
                .columns()
                .iter()
                .map(|column| column[bucket])
                .collect(),
        }
    }
}

impl Summary {
    pub fn new(run: &Run) -> Summary {
        let (points, column) = (&run.series.points, run.column);
        let (aggregates, times, count) = (run.aggregates, &run.times, column.values.len());
        let first = || {
            let shown = 0..aggregates.len().min(SHOWN);
            let bucket = |bucket| Bucket::new(bucket, run.series, aggregates);
            shown.map(bucket).collect()
        };
        let shown = |path: &Path| path.display().to_string();
        let text = |time: Option<&i64>| time.map(|&time| timestamp(time).to_string());
        let (reading, aggregating) = (milliseconds(times.reading), milliseconds(times.aggregating));
        Summary {
            first_buckets: run.args.out.is_none().then(first),
            source: run.source.to_owned(),
            points: count,
            missing_values: points.left_out + points.len() - count,
            rounded_values: run.rounded,
            series: points.names.is_some().then(|| points.series_count()),
            unit: run.unit.map(TimeUnit::name),
            unit_is_told: run.unit.is_some() && run.args.unit.is_none(),
            // They are in order, unless they were to be sorted.
            first_timestamp: text(column.timestamps.iter().min()),
            last_timestamp: text(column.timestamps.iter().max()),
            buckets: aggregates.len(),
            every: run.every.text.clone(),
            every_ns: run.every.nanoseconds,
            methods: aggregates
                .methods()
                .iter()
                .map(ToString::to_string)
                .collect(),
            out: run.args.out.as_deref().map(shown),
            plot: run.args.plot.as_deref().map(shown),
            devices: DeviceSummary::all(run.devices),
            elapsed_ms: milliseconds(run.elapsed),
            reading_ms: reading,
            read_points_per_second: per_second(points.len() as f64, reading),
            grouping_ms: milliseconds(times.grouping),
            aggregating_ms: aggregating,
            aggregated_points_per_second: per_second(count as f64, aggregating),
            writing_ms: milliseconds(times.writing),
            plotting_ms: milliseconds(times.plotting),
            opening_ms: milliseconds(times.opening),
            peak_memory_bytes: PeakMemory::now(),
        }
    }

    /// Writes the first buckets, in columns.
    fn write_buckets(&self, text: &mut String, buckets: &[Bucket]) -> Result {
        let column = |name: &str, cell: &dyn Fn(&Bucket) -> String| {
            let cells = [name.to_owned()].into_iter();
            cells.chain(buckets.iter().map(cell)).collect::<Vec<_>>()
        };
        let mut columns = Vec::new();
        type Label = fn(&Bucket) -> &Option<String>;
        let labels: [(_, Label); 2] = [
            ("series", |bucket| &bucket.series),
            ("column", |bucket| &bucket.column),
        ];
        for (name, label) in labels {
            if buckets.iter().any(|bucket| label(bucket).is_some()) {
                let text = |name: &String| shortened(name, SERIES_NAME);
                let cell = |bucket: &Bucket| label(bucket).as_ref().map_or(String::new(), text);
                columns.push(column(name, &cell));
            }
        }
        columns.push(column("timestamp", &|bucket| bucket.timestamp.clone()));
        // Text is on the left of its column, numbers on the right.
        let of_text = columns.len();
        for (i, method) in self.methods.iter().enumerate() {
            columns.push(column(method, &|bucket| match bucket.values[i] {
                // Without a result.
                value if value.is_nan() => "-".to_owned(),
                value => rounded(value),
            }));
        }
        let width = |column: &Vec<String>| column.iter().map(|cell| cell.chars().count()).max();
        let widths: Vec<_> = columns
            .iter()
            .map(|column| width(column).unwrap_or(0))
            .collect();
        for row in 0..=buckets.len() {
            let cells = columns.iter().zip(&widths).enumerate();
            let cells = cells.map(|(i, (column, &width))| match i < of_text {
                true => format!("{:<width$}", column[row]),
                false => format!("{:>width$}", column[row]),
            });
            writeln!(text, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        match self.buckets - buckets.len() {
            0 => Ok(()),
            more => writeln!(text, "... and {more} more"),
        }
    }
}

impl report::Summary for Summary {
    fn write_table(&self, text: &mut String) -> Result {
        if let Some(buckets) = &self.first_buckets {
            self.write_buckets(text, buckets)?;
        }
        write!(text, "points: {} in {}", self.points, self.source)?;
        if let Some(series) = self.series {
            write!(text, ", {series} series")?;
        }
        if let (Some(first), Some(last)) = (&self.first_timestamp, &self.last_timestamp) {
            write!(text, ", {first} to {last}")?;
        }
        if let missing @ 1.. = self.missing_values {
            write!(text, "\nmissing values: {missing}, which are no points")?;
        }
        if let (Some(unit), true) = (self.unit, self.unit_is_told) {
            write!(text, "\ntimestamps: in {unit}, as their sizes tell")?;
        }
        let (buckets, every, methods) = (self.buckets, &self.every, self.methods.join(", "));
        writeln!(text, "\nbuckets: {buckets} of {every}: {methods}")?;
        report::add_files(text, &[("buckets", &self.out), ("plot", &self.plot)]);
        let rate = |rate: Option<f64>| match rate {
            Some(rate) => format!(" ({:.2} million points/s)", rate * 1e-6),
            None => String::new(),
        };
        write!(
            text,
            "{:.3} ms, on {}: reading {:.3} ms{}, grouping {:.3} ms, aggregating {:.3} ms{}",
            self.elapsed_ms,
            listed(&self.devices),
            self.reading_ms,
            rate(self.read_points_per_second),
            self.grouping_ms,
            self.aggregating_ms,
            rate(self.aggregated_points_per_second),
        )?;
        if self.out.is_some() {
            write!(text, ", writing {:.3} ms", self.writing_ms)?;
        }
        if self.plot.is_some() {
            write!(text, ", plotting {:.3} ms", self.plotting_ms)?;
        }
        writeln!(
            text,
            ", and while reading opening the device {:.3} ms{}",
            self.opening_ms, self.peak_memory_bytes
        )
    }
}
