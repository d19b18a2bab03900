//! Command lines of the program in the documentation, in the benchmarks and in its help.

use program_tests::command_lines::{parse, parse_benchmarks, parse_documentation, parse_help};

use crate::Cli;

const PACKAGE: &str = env!("CARGO_PKG_NAME");

#[test]
fn command_lines_of_the_documentation_parse() {
    let count = parse_documentation::<Cli>(PACKAGE);
    assert!(count >= 8, "{count}");
}

#[test]
fn command_lines_of_the_benchmarks_parse() {
    let count = parse_benchmarks::<Cli>(PACKAGE);
    assert!(count >= 8, "{count}");
}

#[test]
fn command_lines_of_the_help_parse() {
    let count = parse_help::<Cli>(PACKAGE);
    assert!(count >= 3, "{count}");
}

#[test]
fn options_may_stand_before_or_after_the_name() {
    for line in [
        "gridstride_learn --device simulator --runs 2 --seed 1 --no-cpu --markdown matmul",
        "gridstride_learn matmul --device simulator --runs 2 --seed 1 --no-cpu --markdown --json",
        "gridstride_learn tensor_sketch --plot steps.svg --quiet",
        "gridstride_learn box_overlap",
        "gridstride_learn block_shape",
        "gridstride_learn vector_add",
    ] {
        assert_eq!(parse::<Cli>(PACKAGE, "options", [line]), 1, "{line}");
    }
}
