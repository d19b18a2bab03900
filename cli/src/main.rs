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
mod ladder;
mod man;
mod matmul;
mod new;
mod tensor_sketch;
mod time_series;
mod vector_add;

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::builder::UnknownArgumentValueParser;
use clap::{Arg, CommandFactory, FromArgMatches, Parser, Subcommand};

use common::report::{self, Mode, UsageError};

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

/// Options of every subcommand.
#[derive(clap::Args)]
#[command(next_help_heading = "Global options")]
struct Global {
    /// Print one JSON object on one line instead of a table.
    #[arg(long, global = true)]
    json: bool,

    /// Print neither a summary nor progress. Errors are printed.
    #[arg(long, short, global = true)]
    quiet: bool,
}

impl Global {
    /// Returns the mode. clap does not see a conflict of options before and behind a subcommand.
    fn mode(&self) -> Result<Mode> {
        match (self.json, self.quiet) {
            (true, true) => bail!(UsageError("--json cannot be used with --quiet".into())),
            (true, false) => Ok(Mode::Json),
            (false, true) => Ok(Mode::Quiet),
            (false, false) => Ok(Mode::Table),
        }
    }
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
    Ladder(ladder::Args),
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
            Command::Ladder(args) => ladder::run(args),
            Command::Devices(args) => devices::run(args),
            Command::New(args) => new::run(args),
            Command::Completions(args) => completions::run(args, command()),
            Command::Man(args) => man::run(args, command()),
        }
    }
}

/// At the end of every help.
const EXIT_CODES: &str = "\
Exit codes:
  0  The work is done, and all output files are complete.
  1  An input or the work failed. stderr has the reason; no output file is incomplete.
  2  The command line is wrong.";

/// Returns the command line, with the exit codes at the end of every help.
fn command() -> clap::Command {
    with_exit_codes(Cli::command())
}

fn with_exit_codes(command: clap::Command) -> clap::Command {
    // So that `--seed -1` is a wrong value, not an unknown option `-1`.
    let command = command.mut_args(|arg| match arg.get_action().takes_values() {
        true if arg.get_long().is_some() => arg.allow_negative_numbers(true),
        _ => arg,
    });
    let help = match command.get_after_help() {
        Some(help) => format!("{help}\n\n{EXIT_CODES}"),
        None => EXIT_CODES.to_owned(),
    };
    command.after_help(help).mut_subcommands(with_exit_codes)
}

/// Says what to write instead of options that are called as columns, for which clap would suggest others.
fn with_hints(command: clap::Command) -> clap::Command {
    let hint = |role: &'static str, id: &'static str| {
        let hint = format!("'--columns {role}=NAME' reads the column NAME as {role}");
        Arg::new(id)
            .long(role)
            .hide(true)
            .num_args(0..=1)
            .default_missing_value("")
            .value_parser(UnknownArgumentValueParser::suggest(hint))
    };
    command.mut_subcommand("time-series", |command| {
        command.args([
            hint("series", "series_column"),
            hint("timestamp", "timestamp_column"),
            hint("value", "value_column"),
        ])
    })
}

fn main() -> ExitCode {
    let matches = with_hints(command()).get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    report::exit_code(cli.global.mode().and_then(|mode| {
        report::set_mode(mode);
        cli.command.run()
    }))
}
