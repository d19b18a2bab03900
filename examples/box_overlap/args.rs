//! The command line.

use std::path::{Path, PathBuf};

use clap::{Parser, ValueEnum};
use gridstride::box_overlap::Algorithm;

use crate::common::device_names::DeviceNames;

/// Finds all pairs of axis-aligned boxes of two CSV files, or of one, that overlap.
///
/// The columns minX, minY, minZ, maxX, maxY, maxZ are found by the header, in any case and order, and
/// others are ignored. Files with neither minZ nor maxZ have boxes in two dimensions. Touching counts as
/// overlapping.
#[derive(Parser)]
#[command(name = "box_overlap")]
pub struct Args {
    /// Write all pairs to this file: the numbers of the rows, from 0, sorted.
    #[arg(long, value_name = "CSV")]
    pub out: Option<PathBuf>,

    /// Write for each box of the first set the boxes that overlap it to this NPY file, i32, boxes × LIMIT,
    /// filled up with -1.
    #[arg(long, value_name = "NPY")]
    pub matrix: Option<PathBuf>,

    /// Columns of the matrix.
    #[arg(long, default_value_t = 6, requires = "matrix")]
    pub limit: usize,

    /// How to search.
    #[arg(long, value_enum, default_value_t = AlgorithmName::Auto)]
    pub algorithm: AlgorithmName,

    /// What the coordinates are; text that lies between two numbers of the type is rounded.
    #[arg(long = "type", value_enum, default_value_t = TypeName::F32)]
    pub number: TypeName,

    /// Where to compute: auto, cpu, cuda, cuda:N or simulator, or several of them, as in cuda:0,cuda:1.
    #[arg(long, default_value = "auto")]
    pub device: DeviceNames,

    /// Memory of each device to be used at most, in MiB; larger inputs are cut. By default all it has.
    #[arg(long, value_name = "MIB")]
    pub memory: Option<u32>,

    /// Instead of searching, write N welds and the N segments of the pipes that they are on to set1.csv and
    /// set2.csv in a folder.
    #[arg(long, value_name = "N", conflicts_with_all = ["out", "matrix"])]
    pub generate: Option<usize>,

    /// Where the random numbers of --generate start.
    #[arg(long, default_value_t = 42, requires = "generate")]
    pub seed: u64,

    /// The first set, plain or gzip; - is stdin. With --generate, the folder.
    #[arg(value_name = "SET1.csv")]
    pub set1: PathBuf,

    /// The second set; without it, the pairs i < j of the first.
    #[arg(value_name = "SET2.csv", conflicts_with = "generate")]
    pub set2: Option<PathBuf>,
}

impl Args {
    /// The files to read, one or two.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        [&self.set1]
            .into_iter()
            .chain(&self.set2)
            .map(|path| &**path)
    }
}

/// `Algorithm` as an option.
#[derive(Clone, Copy, ValueEnum)]
pub enum AlgorithmName {
    /// What is expected to be faster.
    Auto,
    /// Test every pair.
    Brute,
    /// Build a tree, and walk it.
    Indexed,
}

impl AlgorithmName {
    pub fn algorithm(self) -> Algorithm {
        match self {
            AlgorithmName::Auto => Algorithm::Auto,
            AlgorithmName::Brute => Algorithm::BruteForce,
            AlgorithmName::Indexed => Algorithm::Indexed,
        }
    }
}

/// The types of coordinates.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub enum TypeName {
    F32,
    F64,
    /// Whole numbers.
    I32,
}
