//! Code that the programs `gridstride` and `gridstride_learn` share.
//!
//! [`main`] is the main function of both: it parses the command line, and prints errors.

pub mod axis;
pub mod device_name;
pub mod output;
pub mod progress;
pub mod report;
pub mod sequences;

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::{Command, Parser};

use report::{Mode, UsageError};

/// Options of every subcommand.
#[derive(clap::Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
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

/// At the end of every help.
const EXIT_CODES: &str = "\
Exit codes:
  0  The work is done, and all output files are complete.
  1  An input or the work failed. stderr has the reason; no output file is incomplete.
  2  The command line is wrong.";

/// Returns the command line of a program, with the exit codes at the end of every help.
pub fn command<P: Parser>() -> Command {
    with_exit_codes(P::command())
}

fn with_exit_codes(command: Command) -> Command {
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

/// Parses the command line, which is [`command`] of the program or more, runs the program, and
/// returns its exit code.
pub fn main<P: Parser>(
    command: Command,
    global: impl FnOnce(&P) -> &Global,
    run: impl FnOnce(&P) -> Result<()>,
) -> ExitCode {
    let matches = command.get_matches();
    let program = P::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    report::exit_code(global(&program).mode().and_then(|mode| {
        report::set_mode(mode);
        run(&program)
    }))
}
