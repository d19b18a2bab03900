//! The program `gridstride`: the library's kernels on files, from a command line.
//!
//! Each subcommand is a module of the same name: its `Args` are the command line, and `run` does the
//! work.

mod box_overlap;
#[cfg(test)]
mod command_lines;
mod common;
mod completions;
mod devices;
mod distances;
mod edit_distance;
mod man;
mod matmul;
mod new;
mod tensor_sketch;
mod time_series;
mod vector_add;

use std::process::ExitCode;

use anyhow::Result;
use clap::builder::UnknownArgumentValueParser;
use clap::{Arg, Parser, Subcommand};
use files::{boxes, points};
use program::Global;

/// Tensor sketches, distances, overlapping boxes, matrix products and time series, on GPUs.
///
/// Without a GPU the CPU does the work. `gridstride SUBCOMMAND --help` describes a subcommand, and
/// `gridstride devices` says which GPUs there are, or why there are none.
#[derive(Parser)]
#[command(
    name = "gridstride",
    version,
    after_help = "\
Examples:
  gridstride devices
  gridstride tensor-sketch genomes.fa --normalize --distances distances.tsv
  gridstride box-overlap set1.csv set2.csv --out pairs.csv
  gridstride time-series rooms.csv --every 1h --json"
)]
struct Cli {
    #[command(flatten)]
    global: Global,

    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    TensorSketch(tensor_sketch::args::Args),
    Distances(distances::args::Args),
    EditDistance(edit_distance::args::Args),
    BoxOverlap(box_overlap::args::Args),
    Matmul(matmul::args::Args),
    TimeSeries(time_series::args::Args),
    VectorAdd(vector_add::Args),
    Devices(devices::Args),
    New(new::Args),
    Completions(completions::Args),
    Man(man::Args),
}

impl Command {
    fn run(&self) -> Result<()> {
        match self {
            Command::TensorSketch(args) => tensor_sketch::run(args),
            Command::Distances(args) => distances::run(args),
            Command::EditDistance(args) => edit_distance::run(args),
            Command::BoxOverlap(args) => box_overlap::run(args),
            Command::Matmul(args) => matmul::run(args),
            Command::TimeSeries(args) => time_series::run(args),
            Command::VectorAdd(args) => vector_add::run(args),
            Command::Devices(args) => devices::run(args),
            Command::New(args) => new::run(args),
            Command::Completions(args) => completions::run(args, program::command::<Cli>()),
            Command::Man(args) => man::run(args, program::command::<Cli>()),
        }
    }
}

/// Says what to write instead of options with the names of roles of columns, for which clap would
/// suggest other options, and instead of the former subcommand `ladder`.
fn with_hints(command: clap::Command) -> clap::Command {
    let hint = |role: &'static str| {
        let hint = format!("'--columns {role}=NAME' reads the column NAME as {role}");
        // An argument may have the name of a role.
        Arg::new(&*format!("{role}_column").leak())
            .long(role)
            .hide(true)
            .num_args(0..=1)
            .default_missing_value("")
            .value_parser(UnknownArgumentValueParser::suggest(hint))
    };
    let ladder = clap::Command::new("ladder")
        .hide(true)
        .arg_required_else_help(true)
        .override_usage("cargo run --release -p gridstride_learn -- matmul");
    command
        .subcommand(ladder)
        .mut_subcommand("time-series", |command| {
            command.args(points::ROLES.map(hint))
        })
        .mut_subcommand("box-overlap", |command| {
            command.args(boxes::ROLES.map(hint))
        })
}

fn main() -> ExitCode {
    let command = with_hints(program::command::<Cli>());
    program::main::<Cli>(command, |cli| &cli.global, |cli| cli.command.run())
}
