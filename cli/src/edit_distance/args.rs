//! The command line.

use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::RangedU64ValueParser;
use gridstride::sequences::{NamedAlphabet, Unknown};
use gridstride::tensor_sketch::{MAX_DIM, MAX_TUPLE};

use crate::common::choice::choice;
use crate::common::device_names::DeviceOptions;
use crate::tensor_sketch::args::Windows;

/// Computes the edit distances of pairs of sequences, and how well sketches estimate them.
///
/// Record i of A.fa is compared with record i of B.fa, or, without B.fa, each record with all others
/// of its --group. For each pair the program computes the exact edit distance, in which inserting,
/// deleting or replacing a letter costs 1; the distance of the two tensor sketches; and, with
/// --windows, the slide distance, which is the distance of the sketches of all windows that both
/// sequences have. Sketches are normalised. Spearman's rank correlation says how well an estimate
/// ranks the pairs: 1 is the order of the exact distances. Each record is sketched once. All
/// sequences are held in memory, and without B.fa the sketches of all windows of a group too.
#[derive(Clone, clap::Args)]
#[command(after_help = "\
Examples:
  gridstride edit-distance --generate 500 --length 10000 a.fa b.fa
  gridstride edit-distance a.fa b.fa --windows 1000:100 --out distances.tsv --plot distances.svg
  gridstride edit-distance --generate 1 --group 64 --shape tree --rates 0.1:0.1 family.fa
  gridstride edit-distance family.fa --windows 1000:100 --out distances.tsv
  gridstride edit-distance a.fa b.fa --grid --tuple 2,3,4,5 --dim 8,64 --windows 1000:100,500:100 --seeds 3")]
pub struct Args {
    #[arg(
        long,
        help = format!("Letters in a tuple, 1 to {MAX_TUPLE}; with --grid a list"),
        value_delimiter = ',',
        default_value = "3",
        value_parser = RangedU64ValueParser::<usize>::new().range(1..=MAX_TUPLE as u64),
        help_heading = "Sketches"
    )]
    pub tuple: Vec<usize>,

    #[arg(
        long,
        help = format!("Numbers in a sketch, 1 to {MAX_DIM}; with --grid a list"),
        value_delimiter = ',',
        default_value = "64",
        value_parser = RangedU64ValueParser::<usize>::new().range(1..=MAX_DIM as u64),
        help_heading = "Sketches"
    )]
    pub dim: Vec<usize>,

    /// Sketch windows of WIDTH letters too, one every STRIDE letters; with --grid a list.
    #[arg(
        long,
        value_name = "WIDTH:STRIDE",
        value_delimiter = ',',
        help_heading = "Sketches"
    )]
    pub windows: Vec<Windows>,

    /// Seed of the random tables, and of --generate.
    #[arg(long, default_value_t = 0, help_heading = "Sketches")]
    pub seed: u64,

    /// Compare all combinations of the values of --tuple, --dim and --windows, instead of one.
    #[arg(long, help_heading = "Sketches")]
    pub grid: bool,

    /// Tables to try in each combination of --grid: seeds from --seed on.
    #[arg(
        long,
        default_value_t = 1,
        value_parser = RangedU64ValueParser::<u64>::new().range(1..=1000),
        requires = "grid",
        help_heading = "Sketches"
    )]
    pub seeds: u64,

    /// The alphabet of the sequences.
    #[arg(long, value_parser = choice::<NamedAlphabet>(), default_value_t, help_heading = "Input")]
    pub alphabet: NamedAlphabet,

    /// What to do with characters that are not in the alphabet.
    #[arg(long, value_parser = choice::<Unknown>(), default_value_t = Unknown::Error, help_heading = "Input")]
    pub unknown: Unknown,

    #[command(flatten)]
    pub devices: DeviceOptions,

    /// Write the distances of all pairs to this file, tab-separated; with --grid the correlations of
    /// all combinations. Compressed if its name ends in .gz or .zst; - is stdout, and the summary
    /// then goes to stderr.
    #[arg(long, value_name = "TSV", help_heading = "Output")]
    pub out: Option<PathBuf>,

    /// Draw the estimates over the exact distances; with --grid the correlations over the
    /// length of tuples.
    #[arg(long, value_name = "SVG|PNG", help_heading = "Output")]
    pub plot: Option<PathBuf>,

    /// Without B.fa, compare all pairs within groups of RECORDS consecutive records of A.fa; by
    /// default all records are one group. With --generate, the sequences of a group, by default 2.
    #[arg(
        long,
        value_name = "RECORDS",
        value_parser = RangedU64ValueParser::<usize>::new().range(2..=100_000),
        help_heading = "Input"
    )]
    pub group: Option<usize>,

    /// Instead of comparing, write N groups of sequences of DNA: the first is random, each other one
    /// is an earlier one after random edits. Substitutions, insertions and deletions are equally
    /// likely. A.fa gets all sequences; with B.fa, both files get a record for each pair within the
    /// groups.
    #[arg(
        long,
        value_name = "N",
        value_parser = RangedU64ValueParser::<usize>::new().range(1..),
        conflicts_with_all = [
            "tuple", "dim", "windows", "grid", "seeds", "alphabet", "unknown", "device", "memory", "out", "plot",
        ],
        help_heading = "Test data"
    )]
    pub generate: Option<usize>,

    /// Replace files that exist. Without this option --generate leaves them as they are, and fails.
    #[arg(long, requires = "generate", help_heading = "Test data")]
    pub force: bool,

    /// Letters of the random sequences, at most 2³².
    #[arg(
        long,
        default_value_t = 10_000,
        value_parser = clap::value_parser!(u64).range(1..=1 << 32),
        requires = "generate",
        help_heading = "Test data"
    )]
    pub length: u64,

    /// Rates of edits: each edited sequence has a random rate between them, the probability of an
    /// edit at a letter.
    #[arg(
        long,
        value_name = "LEAST:MOST",
        default_value = "0:1",
        requires = "generate",
        help_heading = "Test data"
    )]
    pub rates: Rates,

    /// The sequence of a group that each other one is edited from.
    #[arg(
        long,
        value_enum,
        default_value_t = Shape::Path,
        requires = "generate",
        help_heading = "Test data"
    )]
    pub shape: Shape,

    /// The first sequences of the pairs, FASTA or FASTQ, plain, gzip, bzip2, xz, zstd or a zip archive
    /// of a single file; - is stdin.
    #[arg(value_name = "A.fa")]
    pub a: PathBuf,

    /// The second sequences. Without this file, the pairs are those within groups of A.fa.
    #[arg(value_name = "B.fa")]
    pub b: Option<PathBuf>,
}

impl Args {
    /// Returns the paths of the sequences: one or two.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> + Clone {
        std::iter::once(&self.a).chain(&self.b)
    }
}

/// How the sequences of a group descend from each other.
#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum)]
pub enum Shape {
    /// Each is edited from the one before it.
    Path,
    /// Each is edited from the first.
    Star,
    /// In each generation, a copy of every sequence is edited and added.
    Tree,
}

impl Shape {
    /// Returns the sequence that a sequence, not the first, is edited from. In a tree, a sequence
    /// stands before its descendants, its latest ones first.
    pub fn parent(self, sequence: usize) -> usize {
        match self {
            Shape::Path => sequence - 1,
            Shape::Star => 0,
            // Without its lowest bit.
            Shape::Tree => sequence & (sequence - 1),
        }
    }
}

/// A range of rates, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    pub least: f64,
    pub most: f64,
}

impl FromStr for Rates {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rates = text.split_once(':').and_then(|(least, most)| {
            Some(Rates {
                least: least.parse().ok()?,
                most: most.parse().ok()?,
            })
        });
        let is_valid = |rates: &Rates| 0.0 <= rates.least && rates.least <= rates.most;
        rates
            .filter(|rates| is_valid(rates) && rates.most <= 1.0)
            .ok_or_else(|| format!("not LEAST:MOST, two numbers from 0 to 1 in order: {text}"))
    }
}
