//! The command line.

use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use clap::ValueEnum;
use files::records::TableOptions;
use files::time::{self, Every, TimeUnit};
use gridstride::time_series::{Duplicates, Fills, Method, Nan, Order, Singletons, TimeBuckets};
use jiff::tz::TimeZone;
use program::report::UsageError;

use crate::common::choice::{choice, parsed};
use crate::common::device_names::DeviceOptions;
use crate::common::table_args::TableArgs;

/// Aggregates the time series of a CSV file in buckets of time.
///
/// The header names the columns timestamp, value and, for several series, series, in any case and
/// order, unless --columns says others; other columns are ignored. Timestamps are RFC 3339, such as
/// 2026-01-31T12:00:00.5+01:00, or numbers since 1970, in the unit that --unit says or that their
/// sizes tell. A row with an empty value is no point. Rows of several series may be interleaved. Several
/// columns of values, which --columns names, are several series.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  gridstride time-series rooms.csv --every 1h
  gridstride time-series rooms.csv --every 6h --methods mean,std,p95,rate:max --out buckets.csv
  gridstride time-series log.csv --columns timestamp=t,value=temp,value=hum --delimiter tab --zone UTC --every 1h
  gridstride time-series rooms.csv.gz --every 1d --fill previous --plot rooms.svg
  gridstride time-series --generate 1000000 --out rooms.csv")]
pub struct Args {
    /// The length of a bucket in ns, us, ms, s, m, h, d or w, for example 200ms, 35s, 1.5h or 1h30m.
    #[arg(
        long,
        value_name = "DURATION",
        allow_hyphen_values = true,
        required_unless_present = "generate",
        help_heading = "Buckets"
    )]
    pub every: Option<Every>,

    #[arg(
        long,
        visible_alias = "aggregate",
        help = format!(
            "What to compute: {}, a percentile such as p95 or p74.5, or rate: followed by one of these, for the \
             differences between successive values",
            Method::names()
        ),
        long_help = methods_help(),
        value_name = "METHODS",
        value_delimiter = ',',
        default_value = "mean,min,max",
        help_heading = "Buckets"
    )]
    pub methods: Vec<Method>,

    /// A time at which a bucket begins, as 2026-01-31 or 2026-01-31T12:00:00Z, in UTC or the
    /// zone of --zone unless it has an offset, or a number in the unit that --unit says.
    #[arg(
        long,
        value_name = "TIME",
        default_value = "0",
        allow_hyphen_values = true,
        help_heading = "Buckets"
    )]
    pub origin: String,

    /// The unit of timestamps that are numbers, which may have a decimal point. By default their sizes
    /// tell the unit: all but a few have to be from 1990 to 2100.
    #[arg(long, value_parser = choice::<TimeUnit>(), help_heading = "Points")]
    pub unit: Option<TimeUnit>,

    /// The zone of timestamps without an offset from UTC, such as 2026-01-31 12:00:00: UTC, or a name
    /// as Europe/Berlin. Where clocks are set back, such a time is the earlier one of the two.
    #[arg(long, value_name = "ZONE", value_parser = zone, help_heading = "Points")]
    pub zone: Option<TimeZone>,

    /// Texts of cells without a value, such as NA,null,-, beside empty cells.
    #[arg(
        long,
        value_name = "TEXTS",
        value_delimiter = ',',
        allow_hyphen_values = true,
        help_heading = "Input"
    )]
    pub null: Vec<String>,

    #[command(flatten)]
    pub table: TableArgs,

    /// How to treat NaN values.
    #[arg(long, value_parser = choice::<Nan>(), default_value_t, help_heading = "Points")]
    pub nan: Nan,

    /// How to treat buckets with too few values for a standard deviation or variance.
    #[arg(long, value_parser = choice::<Singletons>(), default_value_t, help_heading = "Buckets")]
    pub singletons: Singletons,

    /// Delta degrees of freedom: the divisor of variances is the number of values minus N.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Buckets")]
    pub ddof: u32,

    /// Sort the points of each series by time. Without this option they have to be sorted.
    #[arg(long, help_heading = "Points")]
    pub sort: bool,

    /// Which points with the same timestamp to keep, within a series.
    #[arg(long, value_parser = choice::<Duplicates>(), default_value_t, help_heading = "Points")]
    pub duplicates: Duplicates,

    /// Results of buckets without points: none (such buckets are left out, as by default), null (no
    /// result), previous (the last result before the bucket), or a number, for all methods or for some
    /// of --methods, as in count=0,mean=null.
    #[arg(
        long,
        value_name = "none|null|previous|NUMBER",
        value_parser = parsed::<Fills>,
        allow_hyphen_values = true,
        help_heading = "Buckets"
    )]
    pub fill: Option<Fills>,

    /// Write all buckets to this file, with their first timestamps as --time-format says; compressed
    /// if its name ends in .gz or .zst. - is stdout, and the summary then goes to stderr.
    #[arg(long, value_name = "CSV", help_heading = "Output")]
    pub out: Option<PathBuf>,

    /// How --out writes timestamps.
    #[arg(
        long,
        value_enum,
        default_value_t = TimeFormat::Ns,
        requires = "out",
        help_heading = "Output"
    )]
    pub time_format: TimeFormat,

    /// Draw points and buckets of each series; of more than four, of the first four.
    #[arg(long, value_name = "SVG|PNG", help_heading = "Output")]
    pub plot: Option<PathBuf>,

    #[command(flatten)]
    pub devices: DeviceOptions,

    /// Instead of aggregating, write N temperatures of three rooms during a week to the file --out.
    #[arg(
        long,
        value_name = "N",
        requires = "out",
        conflicts_with_all = [
            "series", "every", "methods", "origin", "unit", "nan", "singletons", "ddof", "sort", "duplicates", "fill",
            "plot", "device", "memory",
            "zone", "null", "columns", "no_header", "delimiter", "decimal", "time_format",
        ], help_heading = "Test data")]
    pub generate: Option<u64>,

    /// Replace files that exist. Without this option --generate leaves them as they are, and fails.
    #[arg(long, requires = "generate", help_heading = "Test data")]
    pub force: bool,

    /// Seed of the random numbers of --generate.
    #[arg(
        long,
        default_value_t = 42,
        requires = "generate",
        help_heading = "Test data"
    )]
    pub seed: u64,

    /// The points, plain, gzip, bzip2, xz, zstd or a zip archive of a single file; - is stdin.
    #[arg(value_name = "SERIES.csv", required_unless_present = "generate")]
    pub series: Option<PathBuf>,
}

/// The help on methods: what each is.
fn methods_help() -> String {
    let mut help = String::from("What to compute, with commas between the names:\n");
    for method in Method::ALL {
        help += &format!("- {method}: {}\n", method.documentation());
    }
    help + "- a percentile such as p95 or p74.5, interpolated linearly\n\
            - rate: followed by one of these, for the differences between successive values"
}

impl Args {
    /// Returns how the file is written.
    pub fn table_options(&self) -> Result<TableOptions> {
        self.table.options(&self.null)
    }

    /// The time at which a bucket begins.
    ///
    /// # Errors
    /// If it is not in the format of timestamps.
    pub fn origin(&self) -> Result<i64> {
        let text = self.origin.as_bytes();
        let is_zero = text.iter().all(|&byte| byte == b'0');
        if self.unit.is_none() && !is_zero && time::is_number(text) {
            bail!(UsageError(format!(
                "--origin {} is a number: --unit has to say its unit",
                self.origin
            )));
        }
        let origin = time::parse_in(text, self.unit, self.zone.as_ref()).or_else(|what| {
            // Also a time without an offset, or a date.
            let time = time::point(&self.origin).ok();
            time.and_then(|time| i64::try_from(time).ok()).ok_or(what)
        });
        origin.map_err(|what| anyhow!(UsageError(format!("--origin: '{}' {what}", self.origin))))
    }

    /// Returns the requested aggregation.
    pub fn aggregation(&self, every: &Every, origin: i64) -> TimeBuckets {
        TimeBuckets::every(every.nanoseconds)
            .origin(origin)
            .methods(&self.methods)
            .nan(self.nan)
            .ddof(self.ddof)
            .singletons(self.singletons)
            .duplicates(self.duplicates)
            .fill(self.fill.clone().unwrap_or_default())
            .order(match self.sort {
                true => Order::Sort,
                false => Order::Required,
            })
    }
}

/// The form of written times.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub enum TimeFormat {
    /// Nanoseconds since 1970.
    Ns,
    /// As 2026-01-31T12:00:00Z.
    Iso,
}

/// Finds a zone by its name.
fn zone(name: &str) -> Result<TimeZone, String> {
    TimeZone::get(name).map_err(|_| {
        format!("there is no zone {name:?}: give UTC, or a name such as Europe/Berlin")
    })
}
