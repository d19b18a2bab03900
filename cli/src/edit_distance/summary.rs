//! The printed summary.

use std::fmt::{Result, Write};
use std::path::Path;
use std::time::Duration;

use gridstride::Device;
use program::report::{self, PeakMemory, Range, milliseconds, per_second};
use serde::Serialize;

use super::args::Args;
use super::comparison::Comparison;
use super::grid::Point;
use super::records::Pairs;
use super::tables::{Pair, write_grid, write_pairs};
use crate::common::device_summary::{DeviceSummary, listed};

/// Pairs that are shown.
const SHOWN: usize = 10;

/// Times of the parts of a run.
#[derive(Default)]
pub struct Times {
    pub reading: Duration,
    pub opening: Duration,
    /// The exact distances.
    pub exact: Duration,
    /// Sketches and their distances.
    pub estimating: Duration,
    pub writing: Duration,
}

/// The result: one comparison, or a grid of them.
pub enum Outcome<'a> {
    One(&'a Comparison),
    Grid(&'a [Point]),
}

/// A finished run.
pub struct Run<'a> {
    pub args: &'a Args,
    pub pairs: &'a Pairs,
    pub devices: &'a [Device],
    pub edit: &'a [f64],
    pub outcome: Outcome<'a>,
    pub times: Times,
    pub elapsed: Duration,
}

/// The summary of a run.
#[derive(Serialize)]
pub struct Summary<'a> {
    #[serde(flatten)]
    shown: Shown<'a>,
    pairs: usize,
    letters: u64,
    /// None without pairs.
    edit_distances: Option<Range>,
    edit_distance_ms: f64,
    cell_updates_per_second: Option<f64>,
    out: Option<String>,
    plot: Option<String>,
    devices: Vec<DeviceSummary>,
    elapsed_ms: f64,
    reading_ms: f64,
    sketching_ms: f64,
    writing_ms: f64,
    opening_ms: f64,
    peak_memory_bytes: PeakMemory,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Shown<'a> {
    One {
        first_pairs: Vec<Pair>,
        spearman: Option<f64>,
        spearman_slide: Option<f64>,
        pairs_without_windows: usize,
        tuple: usize,
        dim: usize,
        windows: Option<WindowSizes>,
        seed: u64,
    },
    Grid {
        grid: &'a [Point],
    },
}

#[derive(Serialize)]
struct WindowSizes {
    width: usize,
    stride: usize,
}

fn range(numbers: &[f64]) -> Option<Range> {
    let (first, count) = (*numbers.first()?, numbers.len() as f64);
    Some(Range {
        least: numbers.iter().copied().fold(first, f64::min),
        mean: numbers.iter().sum::<f64>() / count,
        greatest: numbers.iter().copied().fold(first, f64::max),
    })
}

impl<'a> Summary<'a> {
    pub fn new(run: &Run<'a>) -> Summary<'a> {
        let (args, pairs, times) = (run.args, run.pairs, &run.times);
        let shown = |path: &Path| path.display().to_string();
        let exact = milliseconds(times.exact);
        Summary {
            shown: match run.outcome {
                Outcome::One(comparison) => one(args, pairs, comparison),
                Outcome::Grid(grid) => Shown::Grid { grid },
            },
            pairs: pairs.count(),
            letters: pairs.letters(),
            edit_distances: range(run.edit),
            edit_distance_ms: exact,
            cell_updates_per_second: per_second(pairs.cells(), exact),
            out: args.out.as_deref().map(shown),
            plot: args.plot.as_deref().map(shown),
            devices: DeviceSummary::all(run.devices),
            elapsed_ms: milliseconds(run.elapsed),
            reading_ms: milliseconds(times.reading),
            sketching_ms: milliseconds(times.estimating),
            writing_ms: milliseconds(times.writing),
            opening_ms: milliseconds(times.opening),
            peak_memory_bytes: PeakMemory::now(),
        }
    }
}

fn one<'a>(args: &Args, pairs: &Pairs, comparison: &Comparison) -> Shown<'a> {
    let pair = |i: usize| Pair {
        a: pairs.names(i)[0].to_owned(),
        b: pairs.names(i)[1].to_owned(),
        lengths: pairs.lengths(i),
        edit_distance: comparison.edit[i],
        sketch_distance: comparison.sketch[i],
        slide_distance: comparison
            .slide
            .as_ref()
            .map(|slide| slide[i])
            .filter(|distance| !distance.is_nan()),
    };
    Shown::One {
        first_pairs: (0..pairs.count().min(SHOWN)).map(pair).collect(),
        spearman: comparison.spearman(),
        spearman_slide: comparison.spearman_slide(),
        pairs_without_windows: comparison.without_windows(),
        tuple: args.tuple[0],
        dim: args.dim[0],
        windows: args.windows.first().map(|windows| WindowSizes {
            width: windows.width.get(),
            stride: windows.stride.get(),
        }),
        seed: args.seed,
    }
}

impl report::Summary for Summary<'_> {
    fn write_table(&self, text: &mut String) -> Result {
        let correlation = |value: &Option<f64>| match value {
            Some(value) => format!("{value:.4}"),
            None => "undefined".into(),
        };
        match &self.shown {
            Shown::Grid { grid } => write_grid(text, grid)?,
            Shown::One { first_pairs, .. } => write_pairs(text, first_pairs, self.pairs)?,
        }
        write!(text, "pairs: {}, {} letters", self.pairs, self.letters)?;
        if let Some(Range {
            least,
            mean,
            greatest,
        }) = &self.edit_distances
        {
            write!(
                text,
                ", edit distances {least} to {greatest}, mean {mean:.1}"
            )?;
        }
        writeln!(text)?;
        if let Shown::One {
            spearman,
            spearman_slide,
            tuple,
            dim,
            windows,
            seed,
            ..
        } = &self.shown
        {
            writeln!(
                text,
                "sketches: tuple {tuple}, dim {dim}, seed {seed}, normalised"
            )?;
            write!(
                text,
                "rank correlation with the edit distance: sketches {}",
                correlation(spearman)
            )?;
            if let Some(WindowSizes { width, stride }) = windows {
                write!(
                    text,
                    ", windows {width}:{stride} {}",
                    correlation(spearman_slide)
                )?;
            }
            writeln!(text)?;
        }
        report::add_files(text, &[("distances", &self.out), ("plot", &self.plot)]);
        writeln!(
            text,
            "{:.3} ms, on {}: reading {:.3} ms, edit distances {:.3} ms ({:.1} billion cells a second), sketches {:.3} \
             ms, writing {:.3} ms, and while reading opening the device {:.3} ms{}",
            self.elapsed_ms,
            listed(&self.devices),
            self.reading_ms,
            self.edit_distance_ms,
            self.cell_updates_per_second.unwrap_or(0.0) / 1e9,
            self.sketching_ms,
            self.writing_ms,
            self.opening_ms,
            self.peak_memory_bytes,
        )
    }
}
