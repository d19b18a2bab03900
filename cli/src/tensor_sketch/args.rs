//! The command line.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::RangedU64ValueParser;
use gridstride::tensor_sketch::{Form, MAX_DIM, MAX_TUPLE, NamedAlphabet, Unknown};

use crate::common::choice::choice;
use crate::common::device_names::DeviceOptions;

/// The tuple length if neither `--tuple` nor `--tables` gives one.
pub const DEFAULT_TUPLE: usize = 4;

/// Sketches the sequences of FASTA and FASTQ files, and computes the distances between the sketches.
///
/// Reading, parsing and computing run at the same time. Memory use does not grow with the input,
/// even if the input is one record of FASTA of many gigabytes. A record of FASTQ has to fit into the
/// memory, and has up to 1 GiB.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  gridstride tensor-sketch genomes.fa
  gridstride tensor-sketch --per-file a.fa b.fa.gz --normalize --distances distances.tsv
  gridstride tensor-sketch genomes.fa --windows 6:1 --mean --tuple 6 --dim 256 --tree tree.nwk --plot-tree tree.svg
  gridstride tensor-sketch reads.fa --windows 1000:100 --out windows.npy
  zcat genomes.fa.gz | gridstride tensor-sketch - --device gpus --json")]
pub struct Args {
    #[arg(
        long,
        help = format!("Numbers in a sketch, 1 to {MAX_DIM}"),
        default_value_t = 96,
        value_parser = RangedU64ValueParser::<usize>::new().range(1..=MAX_DIM as u64),
        help_heading = "Sketches"
    )]
    pub dim: usize,

    #[arg(
        long,
        help = format!(
            "Letters in a tuple, 1 to {MAX_TUPLE} [default: 4, or the tuple length of --tables]"
        ),
        value_parser = RangedU64ValueParser::<usize>::new().range(1..=MAX_TUPLE as u64),
        help_heading = "Sketches"
    )]
    pub tuple: Option<usize>,

    /// The alphabet of the sequences.
    #[arg(long, value_parser = choice::<NamedAlphabet>(), default_value_t, help_heading = "Input")]
    pub alphabet: NamedAlphabet,

    /// Seed of the random tables.
    #[arg(long, default_value_t = 0, help_heading = "Sketches")]
    pub seed: u64,

    /// Tables to use instead of random ones: {"hashes": [[...]], "signs": [[...]]}, both with a row
    /// for each letter and a column for each position in the tuple.
    #[arg(
        long,
        value_name = "JSON",
        conflicts_with = "seed",
        help_heading = "Sketches"
    )]
    pub tables: Option<PathBuf>,

    /// Divide by the number of tuples, so that sequences of different lengths can be compared.
    #[arg(long, help_heading = "Sketches")]
    pub normalize: bool,

    /// What to do with characters that are not in the alphabet.
    #[arg(long, value_parser = choice::<Unknown>(), default_value_t = Unknown::Skip, help_heading = "Input")]
    pub unknown: Unknown,

    /// Make one sketch for each file: the records of a file count as one sequence.
    #[arg(long, help_heading = "Input")]
    pub per_file: bool,

    /// Sketch windows of WIDTH letters, one every STRIDE letters, instead of whole sequences.
    #[arg(long, value_name = "WIDTH:STRIDE", help_heading = "Sketches")]
    pub windows: Option<Windows>,

    /// Make one sketch of each sequence from its windows, their mean: it counts the tuples within
    /// windows instead of all tuples of the sequence. Sequences shorter than a window have none.
    #[arg(long, requires = "windows", help_heading = "Sketches")]
    pub mean: bool,

    /// How sketches are computed. With direct, each sequence has to fit in memory.
    #[arg(long, value_parser = choice::<Form>(), default_value_t, help_heading = "Computation")]
    pub form: Form,

    /// Compute and write f64 instead of f32: more accurate, slower.
    #[arg(long, help_heading = "Computation")]
    pub f64: bool,

    #[command(flatten)]
    pub devices: DeviceOptions,

    /// Write the sketches to this NPY file, f32 or f64, sequences × dimensions. Outputs are compressed
    /// if their names end in .gz or .zst; - is stdout, and the summary then goes to stderr. With
    /// --windows, a row is a window, and two lists are written beside X.npy: X.names.txt has a line for
    /// each sequence with windows, its name, and X.windows.txt the number of its windows, as
    /// `gridstride distances --names --windows` takes them. With --mean there is only X.names.txt.
    #[arg(long, value_name = "NPY", help_heading = "Output")]
    pub out: Option<PathBuf>,

    /// Write the L2 distances between all pairs of sketches to this file, tab-separated.
    #[arg(long, value_name = "TSV", help_heading = "Output")]
    pub distances: Option<PathBuf>,

    /// Write the tree of up to 10000 sequences to this file, in the Newick format: neighbour joining
    /// of the L2 distances. Negative branch lengths become 0, and the sibling gets the difference. The
    /// tree is unrooted: its outermost node joins three branches.
    #[arg(long, value_name = "NWK", help_heading = "Output")]
    pub tree: Option<PathBuf>,

    /// Draw the L2 distances of up to 10000 sequences as a heat map: near sequences stand
    /// together. With --tree or --plot-tree the rows are in the order of the tree, which is drawn
    /// beside them.
    #[arg(long, value_name = "SVG|PNG", help_heading = "Output")]
    pub plot: Option<PathBuf>,

    /// Draw the tree of up to 10000 sequences alone: the tree that --tree writes, rooted at its
    /// midpoint.
    #[arg(long, value_name = "SVG|PNG", help_heading = "Output")]
    pub plot_tree: Option<PathBuf>,

    /// FASTA or FASTQ files, plain, gzip, bzip2, xz, zstd or a zip archive of a single file; - is
    /// stdin.
    #[arg(required = true, value_name = "FASTA")]
    pub files: Vec<PathBuf>,
}

impl Args {
    /// Whether a tree is asked for.
    pub fn has_tree(&self) -> bool {
        self.tree.is_some() || self.plot_tree.is_some()
    }
}

/// Which windows are sketched, in letters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Windows {
    pub width: NonZeroUsize,
    /// Letters between the starts of two neighbouring windows.
    pub stride: NonZeroUsize,
}

impl fmt::Display for Windows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.width, self.stride)
    }
}

impl FromStr for Windows {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let windows = text.split_once(':').and_then(|(width, stride)| {
            Some(Windows {
                width: width.parse().ok()?,
                stride: stride.parse().ok()?,
            })
        });
        windows.ok_or_else(|| format!("not WIDTH:STRIDE, two positive numbers: {text}"))
    }
}
