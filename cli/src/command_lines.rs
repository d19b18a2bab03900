//! Parses every command line of the program in the documentation and in the benchmarks.

use std::fs;
use std::path::{Path, PathBuf};

use clap::FromArgMatches;

use super::{Cli, command};

/// Words that stand for others.
const PLACEHOLDERS: [&str; 2] = ["SUBCOMMAND", "…"];

/// How a command line names the program.
const PROGRAMS: [&str; 4] = [
    "cargo run --release -p gridstride_cli -- ",
    "target/release/gridstride ",
    "bin/gridstride ",
    "gridstride ",
];

/// Returns the arguments if the text is a command line of the program, without what the shell takes.
fn arguments(text: &str) -> Option<Vec<&str>> {
    let text = text.trim().trim_start_matches("$ ");
    let text = match text.split_once(" × ") {
        Some((_, repeated)) => repeated,
        None => text,
    };
    let rest = PROGRAMS.iter().find_map(|name| text.strip_prefix(name))?;
    let is_shells = |word: &&str| ["|", ">", "#", "&&"].contains(word);
    let words = rest.split_whitespace();
    let words: Vec<_> = words.take_while(|word| !is_shells(word)).collect();
    // `gridstride = { … }` is a dependency.
    let is_command = !words.is_empty() && words[0] != "=";
    let has_placeholder = words.iter().any(|word| PLACEHOLDERS.contains(word));
    (is_command && !has_placeholder).then_some(words)
}

/// Returns the lines of blocks of code, and the code between backticks in the text around them.
fn code(markdown: &str) -> Vec<String> {
    let (mut code, mut prose) = (Vec::new(), String::new());
    let mut is_block = false;
    for line in markdown.lines() {
        if line.trim_start().starts_with("```") {
            is_block = !is_block;
        } else if is_block || line.starts_with("    ") {
            code.push(line.to_owned());
        } else {
            prose += line;
            prose.push(' ');
        }
    }
    code.extend(prose.split('`').skip(1).step_by(2).map(str::to_owned));
    code
}

/// Parses the command lines among the texts, and returns how many there were.
fn parse(origin: &str, texts: impl IntoIterator<Item = impl AsRef<str>>) -> usize {
    let mut count = 0;
    for text in texts {
        let Some(arguments) = arguments(text.as_ref()) else {
            continue;
        };
        let line = ["gridstride"].into_iter().chain(arguments);
        let matches = command().try_get_matches_from(line);
        if let Err(error) = matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
            panic!("{origin}: `{}`: {error}", text.as_ref());
        }
        count += 1;
    }
    count
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn command_lines_of_the_documentation_parse() {
    let mut pages: Vec<_> = ["README.md", "CONTRIBUTING.md", "examples/data/README.md"]
        .map(|page| workspace().join(page))
        .into();
    for entry in fs::read_dir(workspace().join("docs/guide")).unwrap() {
        pages.push(entry.unwrap().path());
    }
    let pages = pages.iter().filter(|page| page.extension().is_some());
    let count: usize = pages
        .map(|page| parse(&page.display().to_string(), code(&read(page))))
        .sum();
    assert!(count >= 15, "{count}");
}

#[test]
fn command_lines_of_the_benchmarks_parse() {
    let steps = read(&workspace().join("xtask/src/bench/steps.rs"));
    // The table alone, without the code that looks for its lines.
    let count = parse(
        "steps.rs",
        steps.split("/// The parsed").next().unwrap().lines(),
    );
    assert!(count >= 12, "{count}");
}

#[test]
fn command_lines_of_the_help_parse() {
    fn parse_help(command: &clap::Command) -> usize {
        let help = command.get_after_help().map(ToString::to_string);
        let count = parse(command.get_name(), help.unwrap_or_default().lines());
        count + command.get_subcommands().map(parse_help).sum::<usize>()
    }
    let count = parse_help(&command());
    assert!(count >= 20, "{count}");
}

#[test]
fn options_of_ladders_may_stand_before_or_after_the_name() {
    for line in [
        "gridstride ladder --device simulator --runs 2 --seed 1 --no-cpu --markdown matmul",
        "gridstride ladder matmul --device simulator --runs 2 --seed 1 --no-cpu --markdown --json",
        "gridstride ladder tensor_sketch --plot steps.svg --quiet",
        "gridstride ladder box_overlap",
        "gridstride ladder block_shape",
        "gridstride ladder vector_add",
    ] {
        assert_eq!(parse("ladder", [line]), 1, "{line}");
    }
}
