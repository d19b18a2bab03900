//! Parsing by all threads.
//!
//! A separate thread reads the text, decompresses it and cuts it into blocks of whole records.
//! Several blocks at a time are parsed in parallel, independently, and added in order.

use std::collections::TryReserveError;
use std::io::Read;

use anyhow::{Context, Result, anyhow};
use csv::{ByteRecord, Reader};
use gridstride_runtime::parallel;
use memchr::memchr2_iter;

use super::ahead::Ahead;
use super::blocks::{Block, Stop, lines};
use super::cells::Quoted;
use super::{Cells, Header, OPEN_QUOTE, TableOptions, endless, line, next_record, reader};

/// Bytes of text that a thread parses in one go.
const BLOCK: usize = 1 << 17;

/// Rows of a file, which come in parts.
pub trait Table: Sync {
    /// The rows of a block.
    type Part: Send;

    /// Begins a part.
    fn part(&self) -> Self::Part;

    /// Adds a record, with the cells of the header and at a line of the block, to a part. After a
    /// fault no more are added.
    fn parse(&self, part: &mut Self::Part, line: u64, cells: &impl Cells) -> Result<(), Fault>;

    /// Completes a part, still in parallel.
    fn complete(_part: &mut Self::Part) {}

    /// Adds the next part. Of several faults it returns the one in the first line.
    fn add(&mut self, part: Self::Part) -> Result<(), Fault>;
}

/// A fault in a record.
#[derive(Debug)]
pub struct Fault {
    /// The line where the record begins, from 0 in each block.
    pub line: u64,
    /// The column, if one cell is wrong.
    pub column: Option<String>,
    /// The fault, as a sentence.
    pub what: String,
}

impl Fault {
    /// Returns the error of a block that begins after `lines` lines of the file.
    #[cold]
    fn behind(self, lines: u64) -> anyhow::Error {
        let (line, what) = (lines + self.line + 1, self.what);
        match self.column {
            None => anyhow!("line {line}: {what}"),
            Some(column) => anyhow!("line {line}, column {column}: {what}"),
        }
    }
}

impl From<TryReserveError> for Fault {
    /// There is no memory for the rows of a block.
    #[cold]
    fn from(error: TryReserveError) -> Fault {
        Fault {
            line: 0,
            column: None,
            what: format!(
                "there is no memory for more rows: give a file of fewer rows, or free some memory: \
                 {error}"
            ),
        }
    }
}

/// Reads a file. `begin` finds the columns in the header. Of several errors it returns the one of
/// the first line.
pub fn read<T: Table>(
    source: impl Read + Send + 'static,
    options: &TableOptions,
    begin: impl FnOnce(Header) -> Result<T>,
) -> Result<T> {
    read_blocks(source, BLOCK, options, begin)
}

/// As [`read`], in blocks of about `size` bytes.
pub(super) fn read_blocks<T: Table>(
    source: impl Read + Send + 'static,
    size: usize,
    options: &TableOptions,
    begin: impl FnOnce(Header) -> Result<T>,
) -> Result<T> {
    let mut ahead = Ahead::start(source, size, options.delimiter)?;
    let mut lines_before = 0;
    let header = loop {
        let next = ahead.next().map_err(|stop| said(stop, lines_before))?;
        let mut block = next.context("the file is empty")?;
        let header = take_first(&mut block, options)?;
        match header {
            None => lines_before += lines(&block.text),
            Some(header) => {
                ahead.put_back(block);
                break header;
            }
        }
    };
    let place = || format!("line {}", lines_before + header.line + 1);
    let mut table = begin(Header::new(&header.record, options)).with_context(place)?;
    lines_before += header.lines;

    loop {
        let wave = ahead.wave();
        let parse = |block| Parsed::new(&table, block, &header.record, options);
        for parsed in parallel::map(&wave.blocks, parse) {
            let added = table.add(parsed.part);
            let faults = [added.err(), parsed.fault].into_iter().flatten();
            if let Some(fault) = faults.min_by_key(|fault| fault.line) {
                return Err(fault.behind(lines_before));
            }
            lines_before += parsed.lines;
        }
        wave.blocks
            .into_iter()
            .for_each(|block| ahead.give_back(block));
        match wave.end {
            None => {}
            Some(Ok(())) => return Ok(table),
            Some(Err(stop)) => return Err(said(stop, lines_before)),
        }
    }
}

/// The first record of a file.
struct First {
    record: ByteRecord,
    /// The line where it begins, from 0 in its block, and the lines that were taken off the block.
    line: u64,
    lines: u64,
}

/// Reads the first record of a block. A header is taken off the block, with what is before it.
fn take_first(block: &mut Block, options: &TableOptions) -> Result<Option<First>> {
    let delimiter = options.delimiter;
    let (mut reader, mut record) = (block_reader(&block.text, delimiter), ByteRecord::new());
    if next_record(&mut reader, &mut record)?.is_none() {
        return Ok(None);
    }
    let line = line_in_block(&record);
    let behind = match options.has_header {
        true => reader.position().byte() as usize - 1,
        false => 0,
    };
    drop(reader);
    let lines = lines(&block.text[..behind]);
    block.text.drain(..behind);
    Ok(Some(First {
        record,
        line,
        lines,
    }))
}

/// Records of a block. They begin after a line end, where csv does not take a character for a byte
/// order mark.
fn block_reader(text: &[u8], delimiter: u8) -> Reader<impl Read> {
    reader(b"\n".chain(text), delimiter)
}

/// The line of a record of [`block_reader`], from 0.
fn line_in_block(record: &ByteRecord) -> u64 {
    line(record) - 2
}

#[cold]
fn said(stop: Stop, lines: u64) -> anyhow::Error {
    match stop {
        Stop::Failed { lines: more, error } => {
            anyhow!(error).context(format!("reading stopped in line {}", lines + more + 1))
        }
        Stop::Endless { longest } => endless(lines + 1, longest),
        Stop::Open => anyhow!("line {}: {OPEN_QUOTE}", lines + 1),
        Stop::Gone => anyhow!("reading has stopped in line {}", lines + 1),
    }
}

/// A block after parsing, up to its first bad line.
struct Parsed<P> {
    part: P,
    fault: Option<Fault>,
    lines: u64,
}

impl<P> Parsed<P> {
    /// Parses a block of a file whose records have as many cells as the first one.
    fn new<T: Table<Part = P>>(
        table: &T,
        block: &Block,
        first: &ByteRecord,
        options: &TableOptions,
    ) -> Parsed<P> {
        let part = table.part();
        let mut parser = Parser {
            table,
            part,
            cells: first.len(),
            options,
        };
        let parsed = match block.has_quotes {
            false => parser.lines(&block.text),
            true => parser.quoted(&block.text),
        };
        let mut part = parser.part;
        T::complete(&mut part);
        Parsed {
            part,
            fault: parsed.err(),
            lines: lines(&block.text),
        }
    }
}

struct Parser<'a, T: Table> {
    table: &'a T,
    part: T::Part,
    /// Cells of the first record.
    cells: usize,
    options: &'a TableOptions,
}

impl<T: Table> Parser<'_, T> {
    /// Parses a text without quotes, where each line is a record.
    fn lines(&mut self, text: &[u8]) -> Result<(), Fault> {
        let (mut cells, mut start, mut line) = (Vec::new(), 0, 0);
        for end in memchr2_iter(self.options.delimiter, b'\n', text) {
            cells.push(&text[start..end]);
            start = end + 1;
            if text[end] == b'\n' {
                // As csv does, also if there is a single column.
                if cells.len() > 1 || !cells[0].trim_ascii().is_empty() {
                    self.record(line, &cells)?;
                }
                cells.clear();
                line += 1;
            }
        }
        Ok(())
    }

    /// Parses a text with quotes.
    fn quoted(&mut self, text: &[u8]) -> Result<(), Fault> {
        let delimiter = self.options.delimiter;
        let mut reader = block_reader(text, delimiter);
        let mut record = ByteRecord::new();
        while let Some(start) = next_record(&mut reader, &mut record).expect("memory can be read") {
            // One byte is before the block.
            let place = start.saturating_sub(1)..reader.position().byte() as usize - 1;
            let quoted = Quoted {
                record: &record,
                text: &text[place],
                delimiter,
            };
            self.record(line_in_block(&record), &quoted)?;
        }
        Ok(())
    }

    fn record(&mut self, line: u64, record: &impl Cells) -> Result<(), Fault> {
        if record.count() != self.cells {
            let (count, cells) = (record.count(), self.cells);
            let first = match self.options.has_header {
                true => "header",
                false => "first record",
            };
            return Err(Fault {
                line,
                column: None,
                what: format!("it has {count} cells, the {first} has {cells}"),
            });
        }
        self.table.parse(&mut self.part, line, record)
    }
}
