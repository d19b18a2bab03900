//! The command line.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::ValueEnum;
use clap::builder::RangedU64ValueParser;
use files::records::{ColumnName, TableOptions};
use gridstride::box_overlap::Algorithm;
use program::report::UsageError;

use crate::common::choice::{choice, choice_of};
use crate::common::device_names::DeviceOptions;
use crate::common::number_type::NumberType;
use crate::common::table_args::TableArgs;

/// The largest --limit: a row of the matrix takes 64 MiB of memory.
const MAX_LIMIT: u64 = 1 << 24;

/// The types of coordinates.
const TYPES: [NumberType; 3] = [NumberType::F32, NumberType::F64, NumberType::I32];

/// Finds all pairs of axis-aligned boxes of two CSV files, or of one, that overlap.
///
/// The header names the columns minX, minY, minZ, maxX, maxY, maxZ, in any case and order, or as usual
/// otherwise: xmin, x_min, left, west or x1 for minX, and so on. Other columns are ignored, and
/// --columns names others. Without minZ and maxZ the boxes are two-dimensional. Boxes that touch
/// overlap. Pairs are found and written slice by slice, so there may be more of them than fit in
/// memory.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  gridstride box-overlap set1.csv set2.csv --out pairs.csv
  gridstride box-overlap boxes.csv --type f64
  gridstride box-overlap set1.csv.gz set2.csv.gz --matrix neighbours.npy --limit 8
  gridstride box-overlap set1.csv set2.csv --join id --out joined.csv --plot joined.svg
  gridstride box-overlap --generate 100000 pipes/")]
pub struct Args {
    /// Write all pairs to this file: row numbers, counted from 0, sorted. Outputs are compressed if
    /// their names end in .gz or .zst; - is stdout, and the summary then goes to stderr.
    #[arg(long, value_name = "CSV", help_heading = "Output")]
    pub out: Option<PathBuf>,

    /// Write the names of boxes to --out instead of row numbers: those in the column id, or in the one
    /// that --columns id=NAME names, and --other-columns in the second file.
    #[arg(
        long,
        requires = "out",
        conflicts_with = "join",
        help_heading = "Output"
    )]
    pub ids: bool,

    /// Write the overlapping boxes of each box of the first set to this NPY file: i32,
    /// boxes × LIMIT, padded with -1. Without SET2.csv, a row has the later boxes alone: those with
    /// greater row numbers.
    #[arg(long, value_name = "NPY", help_heading = "Output")]
    pub matrix: Option<PathBuf>,

    /// Columns of the matrix, up to 16777216.
    #[arg(
        long,
        default_value_t = 6,
        value_parser = RangedU64ValueParser::<usize>::new().range(..=MAX_LIMIT),
        requires = "matrix",
        help_heading = "Output"
    )]
    pub limit: usize,

    /// Write a join to --out instead of row numbers: each row of the second file with these columns
    /// of the overlapping rows of the first, one line per overlap, with the delimiter of the second.
    /// Both files are read twice; the joined cells of the first are held in memory, pairs and rows of
    /// the second are not.
    #[arg(
        long,
        value_name = "COLUMNS",
        value_delimiter = ',',
        requires_all = ["out", "set2"],
        conflicts_with = "matrix",
        help_heading = "Output"
    )]
    pub join: Vec<String>,

    /// Which rows a join has. They are in the order of the second file, the overlaps of a box in
    /// that of the first.
    #[arg(
        long,
        value_enum,
        default_value_t = JoinKind::Left,
        requires = "join",
        help_heading = "Output"
    )]
    pub join_kind: JoinKind,

    /// Draw a top view of the boxes, x to the right and y up, with the overlaps. Of many boxes a
    /// random sample is drawn.
    #[arg(long, value_name = "SVG|PNG", help_heading = "Output")]
    pub plot: Option<PathBuf>,

    /// The algorithm.
    #[arg(long, value_parser = choice::<Algorithm>(), default_value_t, help_heading = "Computation")]
    pub algorithm: Algorithm,

    /// The type of the coordinates. By default f64, or f32 where that holds all of them as they are.
    /// f32 rounds the others, and says how many; i32 takes whole numbers alone.
    #[arg(long = "type", value_parser = choice_of(&TYPES), help_heading = "Computation")]
    pub number: Option<NumberType>,

    #[command(flatten)]
    pub table: TableArgs,

    /// The columns of the second file, instead of --columns.
    #[arg(
        long,
        value_name = "AS=NAME",
        value_delimiter = ',',
        requires = "set2",
        help_heading = "Input"
    )]
    pub other_columns: Vec<ColumnName>,

    /// The character between two cells of the second file, instead of --delimiter.
    #[arg(
        long,
        value_name = "CHARACTER",
        value_parser = TableOptions::delimiter_named,
        requires = "set2",
        help_heading = "Input"
    )]
    pub other_delimiter: Option<u8>,

    #[command(flatten)]
    pub devices: DeviceOptions,

    /// Instead of searching, write N welds to set1.csv and the N pipe segments that they join to
    /// set2.csv, in a folder. 200000 with seed 42 are the boxes of the article that the box-overlap
    /// ladder follows, which has 396137 pairs.
    #[arg(
        long,
        value_name = "N",
        conflicts_with_all = ["out", "matrix", "plot", "algorithm", "device", "memory", "columns", "no_header", "delimiter", "decimal"],
        help_heading = "Test data"
    )]
    pub generate: Option<usize>,

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

    /// The first set, plain, gzip, bzip2, xz, zstd or a zip archive of a single file; - is stdin.
    /// With --generate, the output folder.
    #[arg(value_name = "SET1.csv")]
    pub set1: PathBuf,

    /// The second set. Without it, the pairs i < j of the first set are found.
    #[arg(value_name = "SET2.csv", conflicts_with = "generate")]
    pub set2: Option<PathBuf>,
}

impl Args {
    /// Returns whether the overlaps of each box of the second set are searched instead of those of
    /// each box of the first: a join writes the rows of the second file.
    pub fn is_swapped(&self) -> bool {
        !self.join.is_empty()
    }

    /// Returns how both files are written.
    pub fn table_options(&self) -> Result<[TableOptions; 2]> {
        if self.table.no_header && !self.join.is_empty() {
            bail!(UsageError(
                "--join needs the names of columns: leave out --no-header".into()
            ));
        }
        let mut other = self.table.clone();
        if !self.other_columns.is_empty() {
            other.columns.clone_from(&self.other_columns);
        }
        other.delimiter = self.other_delimiter.unwrap_or(other.delimiter);
        Ok([self.table.options(&[])?, other.options(&[])?])
    }

    /// The files to read, one or two.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        [&self.set1]
            .into_iter()
            .chain(&self.set2)
            .map(|path| &**path)
    }
}

/// Which rows a join has.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub enum JoinKind {
    /// All rows of the second file: those without overlap once, with empty cells.
    Left,
    /// Those with an overlap.
    Inner,
    /// Those with an overlap, after the row numbers of both boxes in columns set1 and set2, or set1_row and set2_row
    /// if the second file has columns of these names.
    Pairs,
}
