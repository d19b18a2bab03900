//! The command line.

use std::path::PathBuf;

use clap::builder::RangedU64ValueParser;
use gridstride::matmul::Precision;

use crate::common::choice::choice_of;
use crate::common::device_names::DeviceOptions;
use crate::common::number_type::NumberType;

/// Sizes m, k and n of random matrices, on other devices and in the simulator.
const SIZES: [usize; 3] = [1024; 3];
const SIMULATED: [usize; 3] = [64, 48, 40];

/// The types of A and B.
const TYPES: [NumberType; 6] = [
    NumberType::F32,
    NumberType::F64,
    NumberType::Tf32,
    NumberType::F32ByBf16x6,
    NumberType::Bf16,
    NumberType::F16,
];

/// Timed calls, on other devices and in the simulator.
const REPEAT: usize = 5;
const REPEAT_SIMULATED: usize = 1;

/// Multiplies two matrices, C = A·B, M×K · K×N → M×N, measures how long that takes on the device
/// and with copies, and compares some rows of the product with f64, within the error bound.
///
/// The matrices are random, uniform in [-1, 1), or read from NPY files of f16, bf16, f32 or f64. With --memory, and on several
/// devices, products in a device's memory are not measured.
#[derive(Clone, clap::Args)]
#[command(after_help = "\
Examples:
  gridstride matmul --m 4000 --k 3000 --n 2000 --type tf32
  gridstride matmul --a a.npy --b b.npy --trans-b --out c.npy
  gridstride matmul --m 20000 --k 20000 --n 20000 --device gpus --json")]
pub struct Args {
    /// Rows of A and C; 1024 by default, 64 in the simulator.
    #[arg(long, conflicts_with = "a", help_heading = "Input")]
    pub m: Option<usize>,

    /// Columns of A and rows of B; 1024 by default, 48 in the simulator.
    #[arg(long, conflicts_with = "a", help_heading = "Input")]
    pub k: Option<usize>,

    /// Columns of B and C; 1024 by default, 40 in the simulator.
    #[arg(long, conflicts_with = "a", help_heading = "Input")]
    pub n: Option<usize>,

    /// Read A from this file, f16, bf16, f32 or f64 in C or Fortran order, plain, gzip, bzip2, xz,
    /// zstd or a zip archive of a single file; - is stdin.
    #[arg(long, value_name = "NPY", requires = "b", help_heading = "Input")]
    pub a: Option<PathBuf>,

    /// Read B from this file.
    #[arg(long, value_name = "NPY", requires = "a", help_heading = "Input")]
    pub b: Option<PathBuf>,

    /// The type of A and B; numbers of a file are rounded to it. By default that of the files, f64 if
    /// they differ, and f32 for random matrices. C is f64 if A and B are f64, and f32 otherwise.
    #[arg(long = "type", value_parser = choice_of(&TYPES), help_heading = "Input")]
    pub number: Option<NumberType>,

    /// A is stored as K×M; the product uses its transpose, without a copy.
    #[arg(long, help_heading = "Input")]
    pub trans_a: bool,

    /// B is stored as N×K; the product uses its transpose, without a copy.
    #[arg(long, help_heading = "Input")]
    pub trans_b: bool,

    /// Write C to this NPY file, compressed if its name ends in .gz or .zst; - is stdout, and the
    /// summary then goes to stderr.
    #[arg(long, value_name = "NPY", help_heading = "Output")]
    pub out: Option<PathBuf>,

    #[command(flatten)]
    pub devices: DeviceOptions,

    /// Timed calls, after one call that is not timed; 5 by default, 1 in the simulator.
    #[arg(
        long,
        value_name = "R",
        value_parser = RangedU64ValueParser::<usize>::new().range(1..=1_000_000),
        help_heading = "Computation"
    )]
    pub repeat: Option<usize>,

    /// Seed of the random numbers.
    #[arg(
        long,
        default_value_t = 42,
        conflicts_with = "a",
        help_heading = "Input"
    )]
    pub seed: u64,
}

impl Args {
    /// How products are computed.
    pub fn precision(&self) -> Precision {
        match self.number {
            Some(NumberType::Tf32) => Precision::Tf32,
            Some(NumberType::F32ByBf16x6) => Precision::F32ByBf16x6,
            _ => Precision::Full,
        }
    }

    /// m, k and n of random matrices.
    pub fn sizes(&self) -> [usize; 3] {
        let defaults = match self.devices.device.has_simulator() {
            true => SIMULATED,
            false => SIZES,
        };
        let asked = [self.m, self.k, self.n];
        [0, 1, 2].map(|size| asked[size].unwrap_or(defaults[size]))
    }

    /// Timed calls.
    pub fn repeat(&self) -> usize {
        let default = match self.devices.device.has_simulator() {
            true => REPEAT_SIMULATED,
            false => REPEAT,
        };
        self.repeat.unwrap_or(default)
    }
}
