//! Parses every command line of a program in the documentation and in the benchmarks.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Command, Parser};

/// Words that stand for others.
const PLACEHOLDERS: [&str; 2] = ["SUBCOMMAND", "…"];

/// Returns the arguments if the text is a command line of the program, without what the shell takes.
fn arguments<'a>(text: &'a str, package: &str, name: &str) -> Option<Vec<&'a str>> {
    let text = text.trim().trim_start_matches("$ ");
    let text = match text.split_once(" × ") {
        Some((_, repeated)) => repeated,
        None => text,
    };
    let starts = [
        format!("cargo run --release -p {package} -- "),
        format!("target/release/{name} "),
        format!("bin/{name} "),
        format!("{name} "),
    ];
    let rest = starts.iter().find_map(|start| text.strip_prefix(start))?;
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

/// Parses the command lines of the program among the texts, and returns how many there were.
/// `package` is the name of the program's package.
#[track_caller]
pub fn parse<P: Parser>(
    package: &str,
    origin: &str,
    texts: impl IntoIterator<Item = impl AsRef<str>>,
) -> usize {
    let command = program::command::<P>();
    let name = command.get_name();
    let mut count = 0;
    for text in texts {
        let Some(arguments) = arguments(text.as_ref(), package, name) else {
            continue;
        };
        let line = [name].into_iter().chain(arguments);
        let matches = command.clone().try_get_matches_from(line);
        if let Err(error) = matches.and_then(|matches| P::from_arg_matches(&matches)) {
            panic!("{origin}: `{}`: {error}", text.as_ref());
        }
        count += 1;
    }
    count
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Parses the command lines of the program in the documentation.
#[track_caller]
pub fn parse_documentation<P: Parser>(package: &str) -> usize {
    let mut pages: Vec<_> = ["README.md", "CONTRIBUTING.md", "examples/data/README.md"]
        .map(|page| workspace().join(page))
        .into();
    for folder in ["docs/guide", "learn"] {
        for entry in fs::read_dir(workspace().join(folder)).unwrap() {
            pages.push(entry.unwrap().path());
        }
    }
    let is_page = |page: &&PathBuf| page.extension().is_some_and(|ending| ending == "md");
    pages
        .iter()
        .filter(is_page)
        .map(|page| parse::<P>(package, &page.display().to_string(), code(&read(page))))
        .sum()
}

/// Parses the command lines of the program in the table of the benchmarks.
#[track_caller]
pub fn parse_benchmarks<P: Parser>(package: &str) -> usize {
    let steps = read(&workspace().join("xtask/src/bench/steps.rs"));
    // The table alone, without the code that looks for its lines.
    let table = steps.split("/// The parsed").next().unwrap();
    parse::<P>(package, "steps.rs", table.lines())
}

/// Parses the command lines in the help of all subcommands.
#[track_caller]
pub fn parse_help<P: Parser>(package: &str) -> usize {
    fn parse_one<P: Parser>(package: &str, command: &Command) -> usize {
        let help = command.get_after_help().map(ToString::to_string);
        let count = parse::<P>(
            package,
            command.get_name(),
            help.unwrap_or_default().lines(),
        );
        let subcommands = command.get_subcommands();
        count
            + subcommands
                .map(|command| parse_one::<P>(package, command))
                .sum::<usize>()
    }
    parse_one::<P>(package, &program::command::<P>())
}
