//! The tables of input files that the tests of Python and SQL go through, too.

use std::fs;
use std::process::Output;

use serde_json::Value;

use crate::program::{Folder, Program};

/// A row of a table: a file, and what is to be found in it.
struct Row(Value);

impl Row {
    fn all(kind: &str) -> Vec<Row> {
        let path = format!("../tests/data/inputs/{kind}.json");
        let rows: Vec<Value> = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        rows.into_iter().map(Row).collect()
    }

    fn name(&self) -> &str {
        self.0["file"].as_str().unwrap()
    }

    fn content(&self) -> Vec<u8> {
        let hex = |hex: &str| {
            let bytes = (0..hex.len()).step_by(2);
            let bytes = bytes.map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap());
            bytes.collect()
        };
        match &self.0["hex"] {
            Value::String(digits) => hex(digits),
            _ => self.0["text"].as_str().unwrap().into(),
        }
    }

    /// Returns what the row says about the program, or else about all front ends.
    fn expected(&self) -> &Value {
        let own = &self.0["program"];
        match own["is"].is_string() || own["error"].is_string() {
            true => own,
            false => &self.0,
        }
    }

    fn options(&self) -> impl Iterator<Item = &str> {
        let options = self.0["program"]["options"]
            .as_array()
            .into_iter()
            .flatten();
        options.map(|option| option.as_str().unwrap())
    }

    /// Compares what a run prints with what the row says. Returns what differs.
    fn difference(
        &self,
        output: &Output,
        read: impl Fn(&Row, &str) -> Vec<String>,
    ) -> Option<String> {
        let [printed, said] =
            [&output.stdout, &output.stderr].map(|bytes| str::from_utf8(bytes).unwrap());
        let expected = self.expected();
        let warning = expected["warning"]
            .as_str()
            .or(self.0["program"]["warning"].as_str());
        let agrees = match expected["is"].as_str() {
            Some(is) => {
                let mut is: Vec<_> = is.split("; ").filter(|row| !row.is_empty()).collect();
                is.sort_unstable();
                let mut found = read(self, printed);
                found.sort();
                // Behind the warnings is the summary.
                let warnings = said.lines().filter(|line| line.starts_with("warning: "));
                let mut warnings =
                    warnings.map(|line| warning.is_some_and(|part| line.contains(part)));
                let is_said =
                    warnings.next().unwrap_or(warning.is_none()) && warnings.next().is_none();
                output.status.success() && is_said && found == is
            }
            None => {
                let part = expected["error"].as_str().unwrap();
                output.status.code() == Some(1)
                    && said.starts_with("error: ")
                    && said.contains(part)
            }
        };
        (!agrees).then(|| format!("{}: {printed}{said}, expected {expected}\n", self.name()))
    }
}

/// Runs the program on the file of each row, and compares the rows that `read` makes of what it prints.
fn go_through(
    kind: &str,
    run: impl Fn(&Row, &Folder, &str) -> Output,
    read: impl Fn(&Row, &str) -> Vec<String>,
) {
    let mut differences = String::new();
    for row in Row::all(kind) {
        let folder = Folder::new();
        let file = folder.file(row.name(), row.content());
        let output = run(&row, &folder, &file);
        differences.extend(row.difference(&output, &read));
    }
    assert!(differences.is_empty(), "{differences}");
}

/// Returns the records of a table behind its header, with blanks between the cells.
fn cells(_: &Row, table: &str) -> Vec<String> {
    let mut records = csv::Reader::from_reader(table.as_bytes());
    let records = records.records().map(Result::unwrap);
    records
        .map(|record| record.iter().collect::<Vec<_>>().join(" "))
        .collect()
}

/// The distances to the sequences that are expected are 0.
#[test]
fn sequences() {
    let run = |row: &Row, folder: &Folder, file: &str| {
        let is = row.expected()["is"].as_str().unwrap_or("a=");
        let records = is.split(' ').map(|record| {
            let (name, letters) = record.split_once('=').unwrap();
            format!(">{name}\n{letters}\n")
        });
        let expected = folder.file("expected", records.collect::<String>());
        Program("edit-distance").run(&[file, &expected, "--tuple", "1", "--out", "-"])
    };
    // A record as it is expected, if the names and the lengths are equal and the distances 0.
    let read = |row: &Row, printed: &str| {
        let is_equal = |line: &str| {
            let cells: Vec<_> = line.split('\t').collect();
            cells[0] == cells[1] && cells[2] == cells[3] && cells[4..] == ["0", "0"]
        };
        let is = row.expected()["is"].as_str().unwrap_or_default();
        let records = is.split(' ').zip(printed.lines().skip(1));
        let found = records.filter(|(_, line)| is_equal(line));
        vec![
            found
                .map(|(record, _)| record)
                .collect::<Vec<_>>()
                .join(" "),
        ]
    };
    go_through("sequences", run, read);
}

#[test]
fn points() {
    let run = |row: &Row, _: &Folder, file: &str| {
        let every = row.0["every"].as_str().unwrap_or("1h");
        let options = [
            "--every",
            every,
            "--methods",
            "count,sum",
            "--time-format",
            "iso",
        ];
        let options = options.into_iter().chain(row.options());
        let options: Vec<_> = options.chain([file, "--out", "-"]).collect();
        Program("time-series").run(&options)
    };
    go_through("points", run, cells);
}

#[test]
fn boxes() {
    let run = |row: &Row, _: &Folder, file: &str| {
        let options = ["--ids", "--out", "-", file];
        let options: Vec<_> = options.into_iter().chain(row.options()).collect();
        Program("box-overlap").run(&options)
    };
    go_through("boxes", run, cells);
}
