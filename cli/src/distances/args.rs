//! The command line.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::ValueEnum;
use clap::builder::RangedU64ValueParser;
use gridstride::distances::Metric;
use program::output::{Format, endings};
use program::report::UsageError;

use crate::common::choice::{choice, choice_of};
use crate::common::device_names::DeviceOptions;
use crate::common::number_type::NumberType;

/// The types in which to compute.
const TYPES: [NumberType; 2] = [NumberType::F32, NumberType::F64];

/// Computes the distances of all pairs of rows of an NPY file, or of its rows to those of another.
///
/// The numbers are f16, bf16, f32 or f64, the distances f64. All rows are held in memory. The distances are
/// computed and written a block of rows at a time, so there may be more of them than fit in memory:
/// a block has 16 million distances, or as many rows as a row has numbers if that is more. On
/// GPUs two blocks are in memory, since one is written while the next is computed. Without --out,
/// each pair of rows of a single file is computed once.
///
/// With --nearest, only the nearest rows of each row are found, in the memory for these alone.
///
/// With --windows, the rows are the windows of sequences, and the distances are the slide distances
/// of all pairs of sequences: the L2 distance over the windows that both sequences have.
#[derive(Clone, clap::Args)]
#[command(after_help = "\
Examples:
  gridstride distances sketches.npy
  gridstride distances sketches.npy --names names.txt --out distances.tsv
  gridstride distances queries.npy database.npy --out distances.npy --device gpus
  gridstride distances queries.npy database.npy --nearest 10 --out nearest.tsv
  gridstride distances windows.npy --windows counts.txt --nearest 10")]
pub struct Args {
    /// Write the distances to this file: a matrix as NPY, or a tab-separated table with names,
    /// compressed if the name ends in .gz or .zst; - is stdout.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub out: Option<PathBuf>,

    /// The format of --out. By default the ending .npy or .tsv of its name decides; stdout gets a
    /// table.
    #[arg(long, value_enum, requires = "out", help_heading = "Output")]
    pub format: Option<FormatName>,

    /// How to measure distances.
    #[arg(long, value_parser = choice::<Metric>(), default_value_t, help_heading = "Distances")]
    pub metric: Metric,

    /// Find the K rows of OTHER.npy that are nearest to each row. The table has a line for each of
    /// them: the row, the rank from 1 on, the other row, and the distance. Without OTHER.npy, the
    /// nearest of the other rows of ROWS.npy are found; rows that are equal find each other. GPUs
    /// and the simulator find up to 1024 rows, without OTHER.npy 1023; the CPU any number.
    #[arg(
        long,
        value_name = "K",
        value_parser = RangedU64ValueParser::<usize>::new().range(1..),
        help_heading = "Distances"
    )]
    pub nearest: Option<usize>,

    /// The rows are the windows of sequences, such as tensor-sketch --windows writes: compare the
    /// sequences. The file has the number of windows of each sequence, one a line, at least 1. Names
    /// are then those of the sequences.
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub windows: Option<PathBuf>,

    /// The number of windows of each sequence of the other file, which --windows needs with it.
    #[arg(
        long,
        value_name = "FILE",
        requires_all = ["windows", "other"],
        help_heading = "Input"
    )]
    pub other_windows: Option<PathBuf>,

    /// The names of the rows, one a line, for the table and the summary. By default row numbers,
    /// counted from 0.
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub names: Option<PathBuf>,

    /// The names of the rows of the other file.
    #[arg(long, value_name = "FILE", requires = "other", help_heading = "Input")]
    pub other_names: Option<PathBuf>,

    /// The type in which to compute; numbers of a file are rounded to it. By default f64 if a file
    /// has f64, and f32 otherwise.
    #[arg(long = "type", value_parser = choice_of(&TYPES), help_heading = "Computation")]
    pub number: Option<NumberType>,

    #[command(flatten)]
    pub devices: DeviceOptions,

    /// The rows, plain, gzip, bzip2, xz, zstd or a zip archive of a single file; - is stdin.
    #[arg(value_name = "ROWS.npy")]
    pub rows: PathBuf,

    /// Other rows. Without this file, the distances of the rows to each other are computed.
    #[arg(value_name = "OTHER.npy")]
    pub other: Option<PathBuf>,
}

/// The formats of distances.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub enum FormatName {
    /// A matrix of f64.
    Npy,
    /// A table: the names of columns in the first line, and of rows in the first column.
    Tsv,
}

impl Args {
    /// Returns the output file and its format.
    pub fn out(&self) -> Result<Option<(&Path, Format)>> {
        let Some(path) = self.out.as_deref() else {
            return Ok(None);
        };
        let format = match (self.format, endings(path).0.as_deref()) {
            (Some(FormatName::Npy), _) | (None, Some("npy")) => Format::Npy,
            (Some(FormatName::Tsv), _) | (None, Some("tsv")) => Format::Tsv,
            _ if path == Path::new("-") => Format::Tsv,
            _ => bail!(UsageError(format!(
                "the name {} ends in neither .npy nor .tsv: give the format by --format npy or --format tsv",
                path.display()
            ))),
        };
        if self.nearest.is_some() && format == Format::Npy {
            bail!(UsageError(
                "--nearest writes a table: give --out a name that ends in .tsv, or --format tsv"
                    .to_owned()
            ));
        }
        Ok(Some((path, format)))
    }
}
