//! The command line.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Parser, ValueEnum};
use gridstride::time_series::{Duplicates, Fill, Method, Nan, Order, Singletons, TimeBuckets};

use crate::common::device_names::DeviceNames;
use crate::time::{Every, Origin};

/// Aggregates time series of a CSV file in buckets of time.
///
/// The columns timestamp, value and, if there is one, series are found by the header, in any case and order, and
/// others are ignored. Timestamps are nanoseconds since 1970 or RFC 3339, as 2026-01-31T12:00:00.5+01:00. Empty
/// values are NaN. Rows of several series may be mixed.
#[derive(Parser)]
#[command(name = "time_series")]
pub struct Args {
    /// How long a bucket is, in ns, us, ms, s, m, h, d or w, as 200ms, 35s or 1.5h.
    #[arg(long, value_name = "DURATION", required_unless_present = "generate")]
    pub every: Option<Every>,

    /// What to compute: count, sum, mean, min, max, first, last, std, var, median, percentiles as p95 or p74.5, and
    /// rate: with one of these for the differences between successive values.
    #[arg(
        long,
        value_name = "METHODS",
        value_delimiter = ',',
        default_value = "mean,min,max"
    )]
    pub aggregate: Vec<Method>,

    /// A time at which a bucket begins, as the timestamps are written.
    #[arg(
        long,
        value_name = "TIME",
        default_value = "0",
        allow_hyphen_values = true
    )]
    pub origin: Origin,

    /// What NaN among the values means.
    #[arg(long, value_enum, default_value_t = NanName::Skip)]
    pub nan: NanName,

    /// What comes of buckets with too few values for a standard deviation or variance.
    #[arg(long, value_enum, default_value_t = SingletonsName::Nan)]
    pub singletons: SingletonsName,

    /// What the divisor of variances is below the number of values.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub ddof: u32,

    /// Sort the points of each series by time; without it they have to be in order.
    #[arg(long)]
    pub sort: bool,

    /// Which of a series' points with the same timestamp count.
    #[arg(long, value_enum, default_value_t = DuplicatesName::Keep)]
    pub duplicates: DuplicatesName,

    /// What comes out for buckets without points, in all columns: null, which is NaN, previous, which is what the
    /// bucket before has, or a number. Without it they do not come out.
    #[arg(long, value_name = "null|previous|NUMBER", allow_hyphen_values = true)]
    pub fill: Option<FillName>,

    /// Write all buckets to this file, with their first timestamps in nanoseconds since 1970.
    #[arg(long, value_name = "CSV")]
    pub out: Option<PathBuf>,

    /// Draw points and buckets of the first series.
    #[arg(long, value_name = "SVG")]
    pub plot: Option<PathBuf>,

    /// Where to compute: auto, cpu, cuda, cuda:N or simulator, or several of them, as in cuda:0,cuda:1.
    #[arg(long, default_value = "auto")]
    pub device: DeviceNames,

    /// Memory of each device to be used at most, in MiB; larger inputs are cut. By default all it has.
    #[arg(long, value_name = "MIB")]
    pub memory: Option<u32>,

    /// Instead of aggregating, write N temperatures of three rooms in a week to the file of --out.
    #[arg(
        long,
        value_name = "N",
        requires = "out",
        conflicts_with_all = [
            "series", "every", "aggregate", "origin", "nan", "singletons", "ddof", "sort", "duplicates", "fill",
            "plot", "device", "memory",
        ]
    )]
    pub generate: Option<u64>,

    /// Where the random numbers of --generate start.
    #[arg(long, default_value_t = 42, requires = "generate")]
    pub seed: u64,

    /// The points, plain or gzip; - is stdin.
    #[arg(value_name = "SERIES.csv", required_unless_present = "generate")]
    pub series: Option<PathBuf>,
}

impl Args {
    /// What is asked for.
    pub fn aggregation(&self, every: &Every) -> TimeBuckets {
        TimeBuckets::every(every.nanoseconds)
            .origin(self.origin.0)
            .methods(&self.aggregate)
            .nan(self.nan.nan())
            .ddof(self.ddof)
            .singletons(self.singletons.singletons())
            .duplicates(self.duplicates.duplicates())
            .fill(self.fill.map_or(Fill::None, |FillName(fill)| fill))
            .order(match self.sort {
                true => Order::Sort,
                false => Order::Required,
            })
    }
}

/// `Nan` as an option.
#[derive(Clone, Copy, ValueEnum)]
pub enum NanName {
    /// It is no value.
    Skip,
    /// It is a value, and what is computed from it is NaN.
    Propagate,
}

impl NanName {
    fn nan(self) -> Nan {
        match self {
            NanName::Skip => Nan::Skip,
            NanName::Propagate => Nan::Propagate,
        }
    }
}

/// `Singletons` as an option.
#[derive(Clone, Copy, ValueEnum)]
pub enum SingletonsName {
    /// It is NaN.
    Nan,
    /// They are left out.
    Drop,
}

impl SingletonsName {
    fn singletons(self) -> Singletons {
        match self {
            SingletonsName::Nan => Singletons::Nan,
            SingletonsName::Drop => Singletons::Drop,
        }
    }
}

/// `Duplicates` as an option.
#[derive(Clone, Copy, ValueEnum)]
pub enum DuplicatesName {
    /// All.
    Keep,
    /// The first one in the file.
    First,
    /// The last one in the file.
    Last,
}

impl DuplicatesName {
    fn duplicates(self) -> Duplicates {
        match self {
            DuplicatesName::Keep => Duplicates::Keep,
            DuplicatesName::First => Duplicates::First,
            DuplicatesName::Last => Duplicates::Last,
        }
    }
}

/// `Fill` as an option.
#[derive(Clone, Copy)]
pub struct FillName(Fill);

impl FromStr for FillName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<FillName, &'static str> {
        Ok(FillName(match text {
            "null" => Fill::Nan,
            "previous" => Fill::Previous,
            number => Fill::Value(
                number
                    .parse()
                    .map_err(|_| "not null, previous or a number")?,
            ),
        }))
    }
}
