//! Blocks parsed in parallel against csv's reader of the whole text, for tests and fuzzing.

use std::io::{self, Cursor, Read};
use std::mem;

use anyhow::Result;
use csv::ByteRecord;

use super::table::read_blocks;
use super::{Cells, Fault, Header, Table, TableOptions, line};

/// Cells of records, then the same cells as names, each record with its line in the file, or in the
/// block where it was parsed.
type Rows = Vec<(u64, Vec<Vec<u8>>)>;

/// All rows, up to one that begins with `bad`.
struct AllRows {
    rows: Rows,
}

impl Table for AllRows {
    type Part = Rows;

    fn part(&self) -> Rows {
        Vec::new()
    }

    fn parse(&self, part: &mut Rows, line: u64, cells: &impl Cells) -> Result<(), Fault> {
        if cells.cell(0).starts_with(b"bad") {
            let what = String::from_utf8_lossy(cells.cell(0)).into_owned();
            return Err(Fault {
                line,
                column: Some("first".into()),
                what,
            });
        }
        let places = 0..cells.count();
        let names = places.clone().map(|place| cells.name(place).to_vec());
        let cells = places.map(|place| cells.cell(place).trim_ascii().to_vec());
        part.push((line, cells.chain(names).collect()));
        Ok(())
    }

    fn add(&mut self, part: Rows) -> Result<(), Fault> {
        self.rows.extend(part);
        Ok(())
    }
}

/// Parses a text in blocks of about `size` bytes, which come from `source`. `delimiter` is between
/// cells.
pub fn parallel(
    source: impl Read + Send + 'static,
    size: usize,
    delimiter: u8,
) -> Result<Vec<Vec<Vec<u8>>>> {
    let begin = |_: Header| Ok(AllRows { rows: Vec::new() });
    let options = TableOptions {
        delimiter,
        ..TableOptions::default()
    };
    let table = read_blocks(source, size, &options, begin)?;
    Ok(table.rows.into_iter().map(|(_, cells)| cells).collect())
}

/// The same by csv's reader alone: rows of as many cells as the first, or the first error.
pub fn sequential(text: &[u8], delimiter: u8) -> Result<Vec<Vec<Vec<u8>>>, String> {
    let mut reader = super::sequential(text, delimiter).unwrap();
    let (mut record, mut rows, mut width) = (ByteRecord::new(), Vec::new(), None);
    let mut start = 0;
    while reader
        .next(&mut record)
        .map_err(|error| error.to_string())?
    {
        let end = record.position().expect("each record has one").byte() as usize;
        let read = &text[mem::replace(&mut start, end)..end.min(text.len())];
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
        let cells = record.iter().map(|cell| cell.trim_ascii().to_vec());
        rows.push(cells.chain(names(read, delimiter)).collect());
    }
    match width {
        None => Err("the file is empty".into()),
        Some(_) => Ok(rows),
    }
}

/// Returns each cell of the last record of a text trimmed outside its quotes.
pub fn names(text: &[u8], delimiter: u8) -> Vec<Vec<u8>> {
    // Of each byte, whether it is in quotes.
    let (mut cells, mut last) = (vec![Vec::new()], Vec::new());
    let (mut is_start, mut is_quoted) = (true, false);
    let mut bytes = text.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        let was_start = mem::replace(&mut is_start, false);
        let cell = cells.last_mut().expect("there is one");
        match byte {
            b'"' if was_start => is_quoted = true,
            b'"' if is_quoted && bytes.next_if_eq(&b'"').is_none() => is_quoted = false,
            _ if is_quoted => cell.push((byte, true)),
            b'\n' => last = mem::replace(&mut cells, vec![Vec::new()]),
            _ if byte == delimiter => cells.push(Vec::new()),
            _ => cell.push((byte, false)),
        }
        is_start = !is_quoted && (byte == b'\n' || byte == delimiter);
    }
    // Without a line end behind the record.
    let cells = if text.ends_with(b"\n") { last } else { cells };
    let name = |cell: Vec<(u8, bool)>| {
        let is_kept = |&(byte, is_quoted): &(u8, bool)| is_quoted || !byte.is_ascii_whitespace();
        let start = cell.iter().position(is_kept).unwrap_or(cell.len());
        let end = cell
            .iter()
            .rposition(is_kept)
            .map_or(start, |last| last + 1);
        cell[start..end].iter().map(|(byte, _)| *byte).collect()
    };
    cells.into_iter().map(name).collect()
}

/// A source that gives a few bytes at a time.
struct Slow(Cursor<Vec<u8>>, usize);

impl Read for Slow {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let end = buffer.len().min(self.1);
        self.0.read(&mut buffer[..end])
    }
}

/// Parses a text in blocks of about `size` bytes, which come in steps of up to `step` bytes, and
/// compares with [`sequential`].
pub fn check(text: &[u8], size: usize, step: usize, delimiter: u8) {
    let source = Slow(Cursor::new(text.into()), step);
    let found = parallel(source, size, delimiter).map_err(|error| format!("{error:#}"));
    assert_eq!(
        found,
        sequential(text, delimiter),
        "{} in blocks of {size}",
        text.escape_ascii()
    );
}
