//! Command lines of the program in the documentation, in the benchmarks and in its help.

use program_tests::command_lines::{parse_benchmarks, parse_documentation, parse_help};

use crate::Cli;

const PACKAGE: &str = env!("CARGO_PKG_NAME");

#[test]
fn command_lines_of_the_documentation_parse() {
    let count = parse_documentation::<Cli>(PACKAGE);
    assert!(count >= 15, "{count}");
}

#[test]
fn command_lines_of_the_benchmarks_parse() {
    let count = parse_benchmarks::<Cli>(PACKAGE);
    assert!(count >= 11, "{count}");
}

#[test]
fn command_lines_of_the_help_parse() {
    let count = parse_help::<Cli>(PACKAGE);
    assert!(count >= 20, "{count}");
}
