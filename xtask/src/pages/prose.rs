//! No page has a figure of speed that is not from a row.

use super::blocks::outside;
use super::pages;
use crate::workspace;

/// Units of times and rates.
const UNITS: [&str; 11] = [
    "ms",
    "µs",
    "ns",
    "GB/s",
    "TB/s",
    "GFLOP/s",
    "TFLOP/s",
    "TOP/s",
    "GCUPS",
    "operations/s",
    "letters/s",
];

/// Figures that are no measurements of ours: the page, and a part of the sentence.
const EXCEPTIONS: [(&str, &str); 3] = [
    ("docs/guide/engines.md", "disks of 3 GB/s"),
    (
        "learn/coming-from-the-articles.md",
        "The article reports 5.5 ms for 16×16",
    ),
    // How long the package waits before it looks for the key.
    ("python/README.md", "within 50 ms in calls"),
];

/// The figures of a line: a number, a space or none, and a unit.
fn figures(line: &str) -> Vec<String> {
    let words: Vec<&str> = line
        .split([' ', '|', '(', ')', ',', ';'])
        .filter(|word| !word.is_empty())
        .collect();
    let is_number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
    let unit_of = |word: &str| {
        let word = word.trim_end_matches(['.', ':', '*']);
        UNITS.iter().find(|unit| word == **unit).copied()
    };
    let pairs = words.windows(2).filter_map(|pair| {
        let unit = unit_of(pair[1])?;
        is_number(pair[0].trim_start_matches('*')).then(|| format!("{} {unit}", pair[0]))
    });
    pairs.collect()
}

/// A page's lines outside of blocks and of code.
fn lines(page: &str) -> Vec<String> {
    let mut is_code = false;
    let text = outside(page);
    let lines = text.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    });
    lines.map(str::to_owned).collect()
}

#[test]
fn figures_of_pages_are_from_rows() {
    let mut wrong = Vec::new();
    let mut used = [false; EXCEPTIONS.len()];
    for path in pages().unwrap() {
        let name = path
            .strip_prefix(workspace())
            .unwrap()
            .display()
            .to_string();
        for line in lines(&std::fs::read_to_string(&path).unwrap()) {
            let found = figures(&line);
            let exception = EXCEPTIONS
                .iter()
                .position(|(page, part)| *page == name && line.contains(part));
            match exception {
                _ if found.is_empty() => {}
                Some(place) => used[place] = true,
                None => wrong.push(format!("{name}: {} in: {line}", found.join(", "))),
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} lines have figures without a row:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    let unused: Vec<_> = EXCEPTIONS
        .iter()
        .zip(used)
        .filter(|(_, is_used)| !is_used)
        .collect();
    assert!(unused.is_empty(), "{unused:?} are not needed");
}

#[test]
fn figures_are_numbers_with_units() {
    assert_eq!(
        figures("takes 0.5 ms (of 3), at 4 TB/s."),
        ["0.5 ms", "4 TB/s"]
    );
    assert_eq!(figures("| **0.193** ms | 10 s |"), ["**0.193** ms"]);
    assert!(figures("in ms, of buckets of 35 s").is_empty());
    let page = "1 ms <!-- time a / b -->2 ms<!-- end -->\n```\n3 ms\n```\n";
    assert_eq!(lines(page), ["1 ms <!-- time a / b --><!-- end -->"]);
}
