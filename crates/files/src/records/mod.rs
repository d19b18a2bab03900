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

use blocks::LONGEST_RECORD;
pub use cells::{Cells, add_cell};
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
        reader: reader(Limited { text, left: 0 }.chain(LAST_RECORD), delimiter),
        next: ByteRecord::new(),
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
        if self.read_next()? {
            return Ok(true);
        }
        // csv reads nothing at all of a text that is a byte order mark alone.
        let is_closed = record.is_empty() || record.len() == 1 && record[0] == *LAST_CELL;
        ensure!(is_closed, "line {}: {OPEN_QUOTE}", line(record));
        Ok(false)
    }

    /// Reads a record ahead.
    fn read_next(&mut self) -> Result<bool> {
        let line = self.reader.position().line();
        self.reader.get_mut().get_mut().0.left = self.longest + 1;
        let read = next_record(&mut self.reader, &mut self.next);
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
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Err(io::Error::other("the record is too long"));
        }
        let end = buffer.len().min(self.left);
        let count = self.text.read(&mut buffer[..end])?;
        self.left -= count;
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
