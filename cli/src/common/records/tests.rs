//! Blocks parsed in parallel against csv's reader of the whole text.

use std::io::{self, Cursor, Read};

use anyhow::Result;
use csv::ByteRecord;
use proptest::prelude::*;

use super::table::read_blocks;
use super::{Cells, Fault, Table, line, next_record};

/// Cells of records, each with its line in the file.
type Rows = Vec<(u64, Vec<Vec<u8>>)>;

/// All rows, up to one that begins with `bad`.
struct AllRows {
    rows: Rows,
}

/// Rows, each with its line in the block.
type Part = Vec<(u64, Vec<Vec<u8>>)>;

impl Table for AllRows {
    type Part = Part;

    fn part(&self) -> Part {
        Vec::new()
    }

    fn parse(&self, part: &mut Part, line: u64, cells: &impl Cells) -> Result<(), Fault> {
        if cells.cell(0).starts_with(b"bad") {
            let what = String::from_utf8_lossy(cells.cell(0)).into_owned();
            return Err(Fault {
                line,
                column: Some("first"),
                what,
            });
        }
        let cells = (0..cells.count()).map(|place| cells.cell(place).trim_ascii().to_vec());
        part.push((line, cells.collect()));
        Ok(())
    }

    fn add(&mut self, part: Part) -> Result<(), Fault> {
        self.rows.extend(part);
        Ok(())
    }
}

/// Parses a text in blocks of about `size` bytes, which come from `source`.
fn parallel(source: impl Read + Send + 'static, size: usize) -> Result<Vec<Vec<Vec<u8>>>> {
    let begin = |_: &ByteRecord| Ok(AllRows { rows: Vec::new() });
    let table = read_blocks(source, size, begin, || ())?;
    Ok(table.rows.into_iter().map(|(_, cells)| cells).collect())
}

/// The same by csv's reader alone: rows of as many cells as the first, or the first error.
fn sequential(text: &[u8]) -> Result<Vec<Vec<Vec<u8>>>, String> {
    let mut reader = super::sequential(text);
    let (mut record, mut rows, mut width) = (ByteRecord::new(), Vec::new(), None);
    while next_record(&mut reader, &mut record).unwrap() {
        let Some(width) = width else {
            width = Some(record.len());
            continue;
        };
        let (line, count) = (line(&record), record.len());
        if count != width {
            return Err(format!(
                "line {line}: it has {count} cells, the header has {width}"
            ));
        }
        if record[0].starts_with(b"bad") {
            let what = String::from_utf8_lossy(&record[0]).into_owned();
            return Err(format!("line {line}, column first: {what}"));
        }
        rows.push(
            record
                .iter()
                .map(|cell| cell.trim_ascii().to_vec())
                .collect(),
        );
    }
    match width {
        None => Err("the file is empty".into()),
        Some(_) => Ok(rows),
    }
}

/// A source that gives a few bytes at a time.
struct Slow(Cursor<Vec<u8>>, usize);

impl Read for Slow {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let end = buffer.len().min(self.1);
        self.0.read(&mut buffer[..end])
    }
}

/// Cells with and without quotes, which may stand anywhere.
fn cell() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => "[a-c0-9 .-]{0,6}",
        1 => "\"[a,\r\n ]{0,8}\"",
        1 => "\"(a|\"\"|,|\n){0,4}\"[ a]?",
        1 => "[a\"]{1,4}",
        1 => " \"[a ]{0,3}\"",
        1 => "bad[0-9]?",
        1 => "\u{feff}?é",
    ]
}

fn text(width: usize) -> impl Strategy<Value = String> {
    let row = prop::collection::vec(cell(), width).prop_map(|cells| cells.join(","));
    let odd = prop_oneof![
        Just(String::new()),
        Just(" ".into()),
        Just("\r".into()),
        cell()
    ];
    let line = prop_oneof![12 => row, 1 => odd];
    let end = prop_oneof![4 => Just("\n"), 1 => Just("\r\n"), 1 => Just("\n\n")];
    let lines = prop::collection::vec((line, end), 0..40);
    let start = prop_oneof![Just("\u{feff}"), Just("")];
    let stop = prop_oneof![Just(""), Just("a,\"b"), Just("1,\"2\""), Just("\"")];
    (start, lines, stop).prop_map(|(start, lines, stop)| {
        let lines = lines
            .into_iter()
            .flat_map(|(line, end)| [line, end.to_owned()]);
        start.to_owned() + &lines.collect::<String>() + stop
    })
}

fn check(text: &str, size: usize, step: usize) {
    let source = Slow(Cursor::new(text.into()), step);
    let found = parallel(source, size).map_err(|error| format!("{error:#}"));
    assert_eq!(
        found,
        sequential(text.as_bytes()),
        "{text:?} in blocks of {size}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn blocks_are_parsed_as_the_whole(
        text in (1..4usize).prop_flat_map(text),
        size in 1..200usize,
        step in 1..64usize,
    ) {
        check(&text, size, step);
    }

    /// Any text of the characters that matter.
    #[test]
    fn any_text(text in "[a,\"\n\r ]{0,60}", size in 1..40usize) {
        check(&text, size, 7);
    }
}

/// Each place where a block may end.
#[test]
fn all_block_sizes() {
    let text =
        "\u{feff}\"h1\",h2\r\n\r\n1,\"2\n\"\"3\"\n\n4,5\n\"6\",\"\"\n7,8\n9,\"bad\n\"\nbad9,\"1";
    for size in 1..text.len() + 2 {
        check(text, size, usize::MAX);
        check(&text.replace("bad9,\"1", "10,11"), size, usize::MAX);
    }
}

/// A source that fails behind a text.
struct Failing(Cursor<Vec<u8>>);

impl Read for Failing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 => Err(io::Error::other("cut short")),
            count => Ok(count),
        }
    }
}

#[test]
fn errors_of_reading_come_after_the_rows_before_them() {
    let of = |text: &str, size| {
        let source = Failing(Cursor::new(text.into()));
        format!("{:#}", parallel(source, size).unwrap_err())
    };
    for size in 1..30 {
        let text = "a,b\n1,2\n\n3,\"4\n\"\n5,6";
        assert_eq!(of(text, size), "reading stopped in line 6: cut short");
        assert_eq!(
            of(&format!("{text}\n"), size),
            "reading stopped in line 7: cut short"
        );
        assert_eq!(
            of(&text.replace("1,2", "1"), size),
            "line 2: it has 1 cells, the header has 2"
        );
        assert_eq!(of("", size), "reading stopped in line 1: cut short");
        assert_eq!(of("\n\na", size), "reading stopped in line 3: cut short");
    }
}
