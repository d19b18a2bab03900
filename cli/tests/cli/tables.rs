//! The tables of input files that the tests of Python and SQL go through, too.

use std::process::Output;

use input_tables::Row;
use ndarray::{Array2, ArrayView1};
use ndarray_npy::{ReadNpyExt, write_npy};

use crate::program::{Folder, Program};

/// Returns the options that the row gives the program.
fn options(row: &Row) -> impl Iterator<Item = &str> {
    let options = row.own()["options"].as_array().into_iter().flatten();
    options.map(|option| option.as_str().unwrap())
}

/// Compares what a run prints with what the row says. Returns what differs.
fn difference(
    row: &Row,
    output: &Output,
    read: impl Fn(&Row, &[u8]) -> Vec<String>,
) -> Option<String> {
    let said = str::from_utf8(&output.stderr).unwrap();
    // Behind the warnings is the summary.
    let warnings = said.lines().filter(|line| line.starts_with("warning: "));
    let warnings: Vec<_> = warnings.collect();
    let agrees = match (&warnings[..], row.warning()) {
        ([], None) => true,
        ([warning], Some(part)) => warning.contains(part),
        _ => false,
    };
    let found = match (output.status.code(), said.strip_prefix("error: ")) {
        (Some(0), _) if agrees => Ok(read(row, &output.stdout)),
        (Some(1), Some(error)) => Err(error.to_owned()),
        _ => return Some(format!("{}: {said}\n", row.file())),
    };
    row.difference(found)
}

/// Runs the program on the file of each row, and compares the rows that `read` makes of what it prints.
fn go_through(
    kind: &str,
    run: impl Fn(&Row, &Folder, &str) -> Output,
    read: impl Fn(&Row, &[u8]) -> Vec<String>,
) {
    let mut differences = String::new();
    for row in Row::all(kind, "program") {
        let folder = Folder::new();
        let file = folder.file(row.file(), row.content());
        let output = run(&row, &folder, &file);
        differences.extend(difference(&row, &output, &read));
    }
    assert!(differences.is_empty(), "{differences}");
}

/// Returns the records of a table behind its header, with blanks between the cells.
fn cells(_: &Row, table: &[u8]) -> Vec<String> {
    let mut records = csv::Reader::from_reader(table);
    let records = records.records().map(Result::unwrap);
    records
        .map(|record| record.iter().collect::<Vec<_>>().join(" "))
        .collect()
}

/// The distances to the sequences that are expected are 0.
#[test]
fn sequences() {
    let run = |row: &Row, folder: &Folder, file: &str| {
        let is = row.expected().unwrap_or(vec!["a="]);
        let records = is[0].split(' ').map(|record| {
            let (name, letters) = record.split_once('=').unwrap();
            format!(">{name}\n{letters}\n")
        });
        let expected = folder.file("expected", records.collect::<String>());
        Program("edit-distance").run(&[file, &expected, "--tuple", "1", "--out", "-"])
    };
    // A record as it is expected, if the names and the lengths are equal and the distances 0.
    let read = |row: &Row, printed: &[u8]| {
        let printed = str::from_utf8(printed).unwrap();
        let is_equal = |line: &str| {
            let cells: Vec<_> = line.split('\t').collect();
            cells[0] == cells[1] && cells[2] == cells[3] && cells[4..] == ["0", "0"]
        };
        let Ok(is) = row.expected() else {
            return vec![printed.into()];
        };
        let records = is[0].split(' ').zip(printed.lines().skip(1));
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
        let every = row.of_all("every").unwrap_or("1h");
        let options = [
            "--every",
            every,
            "--methods",
            "count,sum",
            "--time-format",
            "iso",
        ];
        let options = options.into_iter().chain(self::options(row));
        let options: Vec<_> = options.chain([file, "--out", "-"]).collect();
        Program("time-series").run(&options)
    };
    go_through("points", run, cells);
}

#[test]
fn boxes() {
    let run = |row: &Row, _: &Folder, file: &str| {
        let options = ["--ids", "--out", "-", file];
        let options: Vec<_> = options.into_iter().chain(self::options(row)).collect();
        Program("box-overlap").run(&options)
    };
    go_through("boxes", run, cells);
}

/// The product with the identity is the matrix.
#[test]
fn matrices() {
    let run = |_: &Row, folder: &Folder, file: &str| {
        let identity = folder.argument("identity.npy");
        write_npy(&identity, &Array2::<f64>::eye(3)).unwrap();
        Program("matmul").run(&["--a", file, "--b", &identity, "--out", "-"])
    };
    let read = |_: &Row, product: &[u8]| {
        let product = Array2::<f64>::read_npy(product).unwrap();
        let rows = product.outer_iter();
        let row = |row: ArrayView1<f64>| {
            let numbers = row.iter().map(ToString::to_string);
            numbers.collect::<Vec<_>>().join(" ")
        };
        rows.map(row).collect()
    };
    go_through("matrices", run, read);
}
