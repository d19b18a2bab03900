//! The program `gridstride`: the library's kernels on files, from a command line.
//!
//! Each subcommand is a module of the same name: its `Args` are the command line, and `run` does the work.

mod box_overlap;
mod common;
mod distances;
mod ladder;
mod matmul;
mod tensor_sketch;
mod time_series;
mod vector_add;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Tensor sketches, distances, overlapping boxes, matrix products and time series, on GPUs.
///
/// Without a GPU the CPU does the work. `gridstride SUBCOMMAND --help` describes a subcommand.
#[derive(Parser)]
#[command(name = "gridstride", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    TensorSketch(tensor_sketch::args::Args),
    Distances(distances::args::Args),
    BoxOverlap(box_overlap::args::Args),
    Matmul(matmul::args::Args),
    TimeSeries(time_series::args::Args),
    VectorAdd(vector_add::Args),
    Ladder(ladder::Args),
}

impl Command {
    fn run(&self) -> Result<()> {
        match self {
            Command::TensorSketch(args) => tensor_sketch::run(args),
            Command::Distances(args) => distances::run(args),
            Command::BoxOverlap(args) => box_overlap::run(args),
            Command::Matmul(args) => matmul::run(args),
            Command::TimeSeries(args) => time_series::run(args),
            Command::VectorAdd(args) => vector_add::run(args),
            Command::Ladder(args) => ladder::run(args),
        }
    }
}

fn main() -> ExitCode {
    common::report::exit_code(Cli::parse().command.run())
}
