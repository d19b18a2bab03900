//! Aggregates time series of a CSV file in buckets of time: means, deviations, percentiles, rates.
//!
//! ```text
//! gridstride time-series examples/data/rooms.csv --every 6h --methods mean,std,p95,rate:max
//! ```
//!
//! `--out` writes all buckets as CSV, `--plot` draws them over the points.

pub mod args;
mod generate;
mod number;
mod plot;
mod results;
mod series;
mod summary;
mod thinned;
mod time_axis;

use std::path::Path;
use std::time::Instant;

use anyhow::{Error, Result, bail};
use files::points::{Column, Demands, Rows};
use files::time::Every;
use gridstride::Choice;
use ndarray::aview1;
use program::output::{Format, OutputFile, check_outputs};
use program::progress::{phase, reading};
use program::report::{self, UsageError, timed};

use crate::common::choice::message;
use crate::common::generated::refuse_existing;
use crate::common::opening::open_while_reading;
use crate::common::repeated::refuse_repeated;
use args::Args;
use series::Series;
use summary::{Run, Summary, Times};

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    match (&args.series, &args.every, args.generate, &args.out) {
        (_, _, Some(count), Some(out)) => {
            check_outputs(&[("--out", Some(out), Format::Csv)], &[])?;
            refuse_existing(&[out], args.force)?;
            generate::run(out, count, args.seed)
        }
        (Some(path), Some(every), ..) => aggregate(args, path, every),
        _ => bail!(UsageError("a file and --every are needed".into())),
    }
}

fn aggregate(args: &Args, path: &Path, every: &Every) -> Result<()> {
    let outputs = [
        ("--out", args.out.as_deref(), Format::Csv),
        ("--plot", args.plot.as_deref(), Format::Picture),
    ];
    check_outputs(&outputs, &[path])?;
    refuse_repeated("--methods", &args.methods)?;
    if let Some(fill) = &args.fill {
        let checked = fill.check("--fill", &args.methods);
        checked.map_err(|error| UsageError(format!("--{}", message(error))))?;
    }
    let (origin, options) = (args.origin()?, args.table_options()?);
    // Before the work, so that a path that cannot be written does not show only afterwards.
    let create = |path: &_| OutputFile::create(path);
    let mut out = args.out.as_deref().map(create).transpose()?;
    let plot = args.plot.as_deref().map(create).transpose()?;

    let source = match path == Path::new("-") {
        true => "stdin".into(),
        false => path.display().to_string(),
    };
    let start = Instant::now();
    let demands = Demands {
        zone: args.zone.clone(),
        ..Demands::new(args.unit, !args.sort, every.nanoseconds, origin)
    };
    let owned = path.to_owned();
    let read = move || {
        reading([&owned], |monitor| {
            Rows::read(&owned, demands, &options, monitor)
        })
    };
    let opened = open_while_reading(&args.devices.device, args.devices.memory, read)?;
    let (rows, devices) = (opened.value, opened.devices);
    let mut times = Times {
        reading: opened.reading,
        opening: opened.opening,
        ..Times::default()
    };
    let unit = rows.unit;
    let rounded = rows.rounded.as_ref().map_or(0, |rounded| rounded.count);
    if let (None, Some(unit)) = (args.unit, unit) {
        report::note_if_quiet(&format!(
            "the timestamps of {source} are numbers in {}, as their sizes tell; --unit says another",
            unit.name()
        ));
    }
    let series = timed(&mut times.grouping, || {
        phase("grouping", || rows.group().and_then(Series::of_columns))
    })?;
    // A missing value is no point.
    let column = timed(&mut times.grouping, || series.points.column(0));
    let aggregates = timed(&mut times.aggregating, || {
        phase("aggregating", || {
            args.aggregation(every, origin).aggregate_series(
                &devices,
                &column.offsets,
                aview1(&column.timestamps),
                aview1(&column.values),
            )
        })
    });
    let aggregates = aggregates.map_err(|error| match error {
        gridstride::Error::Allocation { .. } if args.fill.is_some() => {
            let count = filled_buckets(&column, every.nanoseconds, origin);
            Error::new(error).context(format!(
                "with --fill there are {count} buckets: choose a greater --every, or leave out --fill"
            ))
        }
        error => error.into(),
    })?;
    if let Some(file) = &mut out {
        timed(&mut times.writing, || {
            results::write(file, &series, &aggregates, args.time_format)
        })?;
    }
    if let Some(mut file) = plot {
        timed(&mut times.plotting, || {
            let draw = || plot::draw(&source, every, &series, &aggregates);
            let text = phase("plotting", draw)?;
            file.write_picture(&text)?;
            file.publish()
        })?;
    }
    // Last, so that nothing is there if the plot fails.
    timed(&mut times.writing, || {
        phase("writing", || out.map_or(Ok(()), OutputFile::publish))
    })?;
    report::show(&Summary::new(&Run {
        args,
        every,
        source: &source,
        series: &series,
        column: &column,
        unit,
        rounded,
        devices: &devices,
        aggregates: &aggregates,
        times,
        elapsed: start.elapsed(),
    }))
}

/// Returns the number of buckets from the first to the last point of each series.
fn filled_buckets(points: &Column, width: i64, origin: i64) -> i128 {
    let bucket = |&time: &i64| (i128::from(time) - i128::from(origin)).div_euclid(width.into());
    let series = points.offsets.windows(2);
    let counts = series.map(|range| {
        let times = &points.timestamps[range[0]..range[1]];
        let (first, last) = (
            times.iter().min().map(bucket),
            times.iter().max().map(bucket),
        );
        first.zip(last).map_or(0, |(first, last)| last - first + 1)
    });
    counts.sum()
}
