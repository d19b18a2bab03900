//! Divides a text into chunks that are parsed independently.
//!
//! Reading a block and cutting it into whole records are separate steps, so that different threads can
//! do them at the same time.

use std::io::{self, ErrorKind, Read};
use std::mem;
use std::ops::Range;

use memchr::memrchr;

use super::fastq::{self, Plain};
use super::format::{RecordFormat, without_mark};
use super::problem::{LONGEST_HEADER, Problem, Refused};
use crate::text::is_utf16;

/// Bytes at the start of a text that tell its encoding.
const FORMAT: usize = 4;

/// The free space before a block is the block's size divided by this.
const ROOM: usize = 8;

/// Text as it is read.
pub(super) struct Block {
    text: Vec<u8>,
    /// The place of the block in `text`: behind room for the rest of the block before, if that is short.
    range: Range<usize>,
    end: End,
}

/// The state after a block or a chunk.
pub(super) enum End {
    More,
    /// The text is over, or wrong: the last record is whole, or cut short.
    Text,
    /// Reading failed.
    Failed(io::Error),
}

impl Block {
    /// Reads `size` bytes, or up to the end, into the memory of `buffer`.
    pub(super) fn read(text: &mut impl Read, size: usize, mut buffer: Vec<u8>) -> Block {
        let start = size / ROOM;
        // A buffer that held a long record is not kept as long as that.
        if !(start + size..4 * size).contains(&buffer.len()) {
            buffer = vec![0; start + size];
        }
        let (end, length) = fill(text, &mut buffer[start..start + size]);
        Block {
            text: buffer,
            range: start..start + length,
            end,
        }
    }

    pub(super) fn is_last(&self) -> bool {
        !matches!(self.end, End::More)
    }
}

/// Fills a buffer, and returns what follows and how many bytes there are.
fn fill(text: &mut impl Read, buffer: &mut [u8]) -> (End, usize) {
    let mut length = 0;
    while length < buffer.len() {
        match text.read(&mut buffer[length..]) {
            Ok(0) => return (End::Text, length),
            Ok(count) => length += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return (End::Failed(error), length),
        }
    }
    (End::More, length)
}

/// Text that is parsed without the text before it.
pub(super) struct Chunk {
    pub text: Vec<u8>,
    /// The bytes of `text` that belong to the chunk.
    pub range: Range<usize>,
    /// `None` while only white space has come.
    pub format: Option<RecordFormat>,
    /// Whether the text begins a line. FASTA is cut within lines that are longer than a chunk.
    pub starts_line: bool,
    /// Records of FASTQ that have been found on the way to the end.
    pub records: Vec<Plain>,
    /// Whether the text is not read further, since something in it is wrong.
    pub is_refused: bool,
    pub end: End,
}

/// Makes chunks of blocks: cuts FASTA at ends of lines, or anywhere in lines of letters that are longer
/// than a block, and FASTQ at the ends of records.
#[derive(Default)]
pub(super) struct Chunks {
    /// Text that belongs to the next chunk.
    rest: Vec<u8>,
    /// Records of FASTQ in the chunk.
    records: Vec<Plain>,
    format: Option<RecordFormat>,
    is_begun: bool,
    /// Whether the last chunk ended within a line.
    is_within_line: bool,
    is_refused: bool,
    /// The bytes from which on a long record is looked at again.
    least: usize,
}

impl Chunks {
    /// Returns the chunk that ends in the next block. It is empty if none does.
    pub(super) fn cut(&mut self, block: Block) -> Result<Chunk, Refused> {
        let mut block = self.join(block)?;
        let least = match self.is_begun {
            true => self.least,
            false => FORMAT,
        };
        let is_last = block.is_last();
        let mut cut = None;
        if is_last || block.range.len() >= least {
            self.begin(&mut block)?;
            let text = &block.text[block.range.clone()];
            cut = match self.format {
                _ if is_last => Some(text.len()),
                Some(RecordFormat::Fastq) => self.after_records(text),
                _ => self.after_lines(text),
            };
            self.least = match cut {
                Some(_) => 0,
                // When there is much more of it.
                None => 2 * text.len(),
            };
        }
        let range = match cut {
            Some(cut) => block.range.start..block.range.start + cut,
            None => 0..0,
        };
        match cut {
            Some(_) => {
                let rest = &block.text[range.end..block.range.end];
                self.rest.extend_from_slice(rest);
            }
            // All of it is moved: copying it again and again would take long.
            None => {
                block.text.truncate(block.range.end);
                block.text.drain(..block.range.start);
                mem::swap(&mut self.rest, &mut block.text);
            }
        }
        let starts_line = !self.is_within_line;
        if let Some(last) = block.text[range.clone()].last() {
            self.is_within_line = *last != b'\n';
        }
        // The next chunk has about as many.
        let next = Vec::with_capacity(self.records.len() * 9 / 8);
        Ok(Chunk {
            text: block.text,
            range,
            format: self.format,
            starts_line,
            records: mem::replace(&mut self.records, next),
            is_refused: self.is_refused,
            end: match self.is_refused {
                true => End::Text,
                false => block.end,
            },
        })
    }

    /// Puts the rest of the last block before a block.
    fn join(&mut self, mut block: Block) -> Result<Block, Refused> {
        let rest = &mut self.rest;
        let start = block.range.start;
        match start.checked_sub(rest.len()) {
            Some(before) => {
                block.text[before..start].copy_from_slice(rest);
                block.range.start = before;
            }
            None => {
                if rest.try_reserve(block.range.len()).is_err() {
                    return Err(Problem::Memory(rest.len()).into());
                }
                rest.extend_from_slice(&block.text[block.range]);
                mem::swap(rest, &mut block.text);
                block.range = 0..block.text.len();
            }
        }
        rest.clear();
        Ok(block)
    }

    /// Looks at the start of the text, up to its first record.
    fn begin(&mut self, block: &mut Block) -> Result<(), Refused> {
        let text = &block.text[block.range.clone()];
        if !mem::replace(&mut self.is_begun, true) {
            if is_utf16(text) {
                return Err(Problem::Utf16.into());
            }
            block.range.start = block.range.end - without_mark(text).len();
        }
        if self.format.is_none() {
            self.format = RecordFormat::of(&block.text[block.range.clone()])?;
        }
        Ok(())
    }

    /// Returns where a chunk of FASTA ends, or `None` if more of a header has to be read.
    fn after_lines(&mut self, text: &[u8]) -> Option<usize> {
        if let Some(last) = memrchr(b'\n', text) {
            return Some(last + 1);
        }
        let is_header = !self.is_within_line && text.first() == Some(&b'>');
        match is_header {
            // The parser refuses so long a header.
            true if text.len() > LONGEST_HEADER + 2 => {
                self.is_refused = true;
                Some(text.len())
            }
            true => None,
            false => Some(text.len()),
        }
    }

    /// Returns where the last whole record of FASTQ ends, or `None` if there is none.
    fn after_records(&mut self, text: &[u8]) -> Option<usize> {
        let mut end = 0;
        self.records.clear();
        loop {
            if let Some(record) = Plain::at(text, end) {
                end = record.end;
                self.records.push(record);
                continue;
            }
            match fastq::first_record(&text[end..], false) {
                Ok(Some(record)) => end += record.end,
                Ok(None) => return (end > 0).then_some(end),
                // The parser says what is wrong.
                Err(_) => {
                    self.is_refused = true;
                    return Some(text.len());
                }
            }
        }
    }
}
