//! The command line.

use std::path::PathBuf;

use anyhow::{Result, anyhow};
use files::time::{self, Every, Unit};
use gridstride::time_series::{Duplicates, Fills, Method, Nan, Order, Singletons, TimeBuckets};

use crate::common::choice::{choice, parsed};
use crate::common::device_names::DeviceOptions;
use crate::common::report::UsageError;

/// Aggregates the time series of a CSV file in buckets of time.
///
/// The header names the columns timestamp, value and, for several series, series, in any case and
/// order; other columns are ignored. Timestamps are RFC 3339, such as 2026-01-31T12:00:00.5+01:00, or
/// numbers since 1970: nanoseconds, or what --unit says. A row with an empty value is no point. Rows of several series may be interleaved.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  gridstride time-series rooms.csv --every 1h
  gridstride time-series rooms.csv --every 6h --methods mean,std,p95,rate:max --out buckets.csv
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

    /// A time at which a bucket begins, as 2026-01-31 or 2026-01-31T12:00:00Z, in UTC unless it has an
    /// offset, or a number in the unit of the timestamps.
    #[arg(
        long,
        value_name = "TIME",
        default_value = "0",
        allow_hyphen_values = true,
        help_heading = "Buckets"
    )]
    pub origin: String,

    /// The unit of timestamps that are numbers, which may have a decimal point; ns by default.
    #[arg(long, value_parser = choice::<Unit>(), help_heading = "Points")]
    pub unit: Option<Unit>,

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

    /// Results of buckets without points: null (no result), previous (the last result before the
    /// bucket), or a number, for all methods or for some, as in count=0,mean=null. Without this option
    /// empty buckets are left out.
    #[arg(
        long,
        value_name = "null|previous|NUMBER",
        value_parser = parsed::<Fills>,
        allow_hyphen_values = true,
        help_heading = "Buckets"
    )]
    pub fill: Option<Fills>,

    /// Write all buckets to this file, with their first timestamps in nanoseconds since 1970;
    /// compressed if its name ends in .gz or .zst. - is stdout, and the summary then goes to stderr.
    #[arg(long, value_name = "CSV", help_heading = "Output")]
    pub out: Option<PathBuf>,

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

    /// The points, plain, gzip, zstd or a zip archive of a single file; - is stdin.
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
    /// The unit of timestamps that are numbers.
    pub fn unit(&self) -> Unit {
        self.unit.unwrap_or(Unit::Ns)
    }

    /// The time at which a bucket begins.
    ///
    /// # Errors
    /// If it is not in the format of timestamps.
    pub fn origin(&self) -> Result<i64> {
        let origin = time::parse(self.origin.as_bytes(), self.unit()).or_else(|what| {
            // Also a time without an offset, or a date.
            let time = time::point(&self.origin).ok();
            time.and_then(|time| i64::try_from(time).ok()).ok_or(what)
        });
        origin.map_err(|what| anyhow!(UsageError(format!("--origin: '{}' {what}", self.origin))))
    }

    /// What is asked for.
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
