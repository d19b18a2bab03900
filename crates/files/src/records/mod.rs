//! Records of CSV files, which all threads parse. Blank space around cells and blank lines do not
//! matter.

mod ahead;
mod blocks;
mod cells;
#[cfg(any(test, fuzzing))]
pub mod comparison;
mod header;
mod options;
mod table;
#[cfg(test)]
mod tests;

use std::io::{self, Chain, Read};
use std::mem;

use anyhow::{Result, anyhow, ensure};
use csv::{ByteRecord, Reader, ReaderBuilder, Terminator};

use crate::text::BYTE_ORDER_MARK;
use blocks::LONGEST_RECORD;
pub use cells::{Cells, Quoted, add_cell, add_cells};
pub use header::{Header, column};
pub use options::{ColumnName, TableOptions};
pub use table::{Fault, Table, read};

/// The error of a record whose quotes are open at the end of the text.
const OPEN_QUOTE: &str = "the record has a quote that is not closed";

/// After a text, another record: of this cell alone, unless a quote of the text is open.
const LAST_CELL: &[u8] = b"\0\n";
const LAST_RECORD: &[u8] = b"\n\"\0\n";

/// Records of a whole text, one after the other, the header too.
pub struct Sequential<R> {
    reader: Reader<Chain<Limited<R>, &'static [u8]>>,
    next: ByteRecord,
    /// The text of the record that was returned last, and of the next one.
    text: Vec<u8>,
    next_text: Vec<u8>,
    longest: usize,
}

/// Reads records of a whole text, with `delimiter` between cells.
///
/// # Errors
/// If the first record cannot be read, or is too long.
pub fn sequential<R: Read>(text: R, delimiter: u8) -> Result<Sequential<R>> {
    sequential_within(text, delimiter, LONGEST_RECORD)
}

/// As [`sequential`], of records of up to about `longest` bytes.
fn sequential_within<R: Read>(text: R, delimiter: u8, longest: usize) -> Result<Sequential<R>> {
    let mut records = Sequential {
        reader: reader(Limited::new(text).chain(LAST_RECORD), delimiter),
        next: ByteRecord::new(),
        text: Vec::new(),
        next_text: Vec::new(),
        longest,
    };
    records.read_next()?;
    Ok(records)
}

impl<R: Read> Sequential<R> {
    /// Reads the next record and skips blank lines. Returns false at the end of the text.
    ///
    /// # Errors
    /// If the text cannot be read, if it ends within the quotes of the record, or if this record or
    /// the one behind it is too long.
    pub fn next(&mut self, record: &mut ByteRecord) -> Result<bool> {
        mem::swap(record, &mut self.next);
        mem::swap(&mut self.text, &mut self.next_text);
        if self.read_next()? {
            return Ok(true);
        }
        // csv reads nothing at all of a text that is a byte order mark alone.
        let is_closed = record.is_empty() || record.len() == 1 && record[0] == *LAST_CELL;
        ensure!(is_closed, "line {}: {OPEN_QUOTE}", line(record));
        Ok(false)
    }

    /// Returns what the last record was read from, with the line end.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Reads a record ahead.
    fn read_next(&mut self) -> Result<bool> {
        let line = self.reader.position().line();
        let start = self.reader.position().byte();
        self.reader.get_mut().get_mut().0.begin(start, self.longest);
        let read = next_record(&mut self.reader, &mut self.next);
        let end = self.reader.position().byte();
        self.next_text.clear();
        if let Ok(Some(start)) = read {
            let text = &self.reader.get_ref().get_ref().0;
            self.next_text
                .extend_from_slice(text.between(start as u64, end));
        }
        read.map(|start| start.is_some()).map_err(|error| {
            match self.reader.get_ref().get_ref().0.left {
                0 => endless(line, self.longest),
                _ => error.into(),
            }
        })
    }
}

/// A text that fails where a record is too long.
struct Limited<R> {
    text: R,
    /// Bytes that may be read before the next record.
    left: usize,
    /// The bytes that were read, from byte `kept_from` on.
    kept: Vec<u8>,
    kept_from: u64,
    needed_from: u64,
}

impl<R> Limited<R> {
    fn new(text: R) -> Limited<R> {
        Limited {
            text,
            left: 0,
            kept: Vec::new(),
            kept_from: 0,
            needed_from: 0,
        }
    }

    /// Begins a record of up to `longest` bytes.
    fn begin(&mut self, start: u64, longest: usize) {
        self.left = longest + 1;
        self.needed_from = start;
    }

    /// Returns the bytes of a record, without those that are not of the text.
    fn between(&self, start: u64, end: u64) -> &[u8] {
        let place = |byte: u64| ((byte - self.kept_from) as usize).min(self.kept.len());
        let text = &self.kept[place(start)..place(end)];
        match start {
            0 => text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text),
            _ => text,
        }
    }
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Err(io::Error::other("the record is too long"));
        }
        let end = buffer.len().min(self.left);
        let count = self.text.read(&mut buffer[..end])?;
        self.left -= count;
        let spent = (self.needed_from - self.kept_from) as usize;
        self.kept.drain(..spent.min(self.kept.len()));
        self.kept_from = self.needed_from;
        self.kept.extend_from_slice(&buffer[..count]);
        Ok(count)
    }
}

/// The error of a record that begins in `line`, and has more than `longest` bytes.
#[cold]
fn endless(line: u64, longest: usize) -> anyhow::Error {
    anyhow!(
        "line {line}: the record has more than {longest} bytes: is there a quote that is not closed?"
    )
}

/// Records of a text, the header too, of any numbers of cells.
fn reader<R: Read>(text: R, delimiter: u8) -> Reader<R> {
    ReaderBuilder::new()
        .delimiter(delimiter)
        .has_headers(false)
        .flexible(true)
        // A carriage return before it is blank space around a cell.
        .terminator(Terminator::Any(b'\n'))
        .buffer_capacity(1 << 16)
        .from_reader(text)
}

/// Reads the next record and skips blank lines. Returns the byte from which on it was read, or `None` at
/// the end of the text.
fn next_record(
    reader: &mut Reader<impl Read>,
    record: &mut ByteRecord,
) -> csv::Result<Option<usize>> {
    loop {
        let start = reader.position().byte() as usize;
        if !reader.read_byte_record(record)? {
            return Ok(None);
        }
        if record.len() > 1 || !record[0].trim_ascii().is_empty() {
            // csv's own is before the blank lines.
            record.set_position(Some(reader.position().clone()));
            return Ok(Some(start));
        }
    }
}

/// The line where a record begins.
pub fn line(record: &ByteRecord) -> u64 {
    let behind = record.position().expect("each record has one").line();
    let inside = memchr::memchr_iter(b'\n', record.as_slice()).count() as u64;
    behind - 1 - inside
}

/// The text of a cell for a message, not the whole of it if a quote was left open.
pub fn shown(cell: &[u8]) -> String {
    const LENGTH: usize = 60;
    let cell = cell.trim_ascii();
    match cell.get(..LENGTH) {
        Some(start) if cell.len() > LENGTH => format!("{}...", start.escape_ascii()),
        _ => cell.escape_ascii().to_string(),
    }
}
