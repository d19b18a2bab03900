//! Divides a text into chunks that are parsed independently.

use std::io::{self, ErrorKind, Read};

use memchr::memrchr;

use super::fastq::{self, Plain};
use super::format::{RecordFormat, without_mark};
use super::problem::{LONGEST_HEADER, Problem, Refused};
use crate::text::is_utf16;

/// Bytes at the start of a text that tell its encoding.
const FORMAT: usize = 4;

/// Text that is parsed without the text before it.
pub(super) struct Chunk {
    pub text: Vec<u8>,
    /// The bytes of `text` that belong to the chunk.
    pub length: usize,
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

/// What follows a chunk.
pub(super) enum End {
    More,
    /// The text is over, or wrong: the last record is whole, or cut short.
    Text,
    /// Reading failed.
    Failed(io::Error),
}

/// Cuts FASTA at ends of lines, or anywhere in lines of letters that are longer than a chunk, and FASTQ
/// at the ends of records.
pub(super) struct Chunks<R> {
    text: R,
    size: usize,
    /// Text that was read and belongs to the next chunk.
    rest: Vec<u8>,
    /// Records that were found in the text of the next chunk.
    records: Vec<Plain>,
    format: Option<RecordFormat>,
    starts_line: bool,
    is_first: bool,
    is_over: bool,
}

impl<R: Read> Chunks<R> {
    /// Cuts chunks of about `size` bytes, at least one.
    pub(super) fn new(text: R, size: usize) -> Chunks<R> {
        Chunks {
            text,
            size,
            rest: Vec::new(),
            records: Vec::new(),
            format: None,
            starts_line: true,
            is_first: true,
            is_over: false,
        }
    }

    /// Returns the next chunk, in `buffer`, or `None` after the last one.
    pub(super) fn next(&mut self, mut buffer: Vec<u8>) -> Option<Result<Chunk, Refused>> {
        if self.is_over {
            return None;
        }
        let mut length = self.rest.len();
        let least = match self.is_first {
            true => FORMAT,
            false => length,
        };
        // A buffer that held a long record is not kept as long as that.
        buffer.resize(self.size.max(least), 0);
        buffer.shrink_to(4 * self.size);
        buffer[..length].copy_from_slice(&self.rest);
        self.rest.clear();
        loop {
            let end = match self.fill(&mut buffer, &mut length) {
                Ok(false) => End::More,
                Ok(true) => End::Text,
                Err(error) => End::Failed(error),
            };
            let is_last = !matches!(end, End::More);
            if self.is_first {
                self.is_first = false;
                if is_utf16(&buffer[..length]) {
                    self.is_over = true;
                    return Some(Err(Problem::Utf16.into()));
                }
                let unmarked = without_mark(&buffer[..length]).len();
                let start = length - unmarked;
                buffer.copy_within(start..length, 0);
                length = unmarked;
            }
            if self.format.is_none() {
                match RecordFormat::of(&buffer[..length]) {
                    Ok(format) => self.format = format,
                    Err(refused) => {
                        self.is_over = true;
                        return Some(Err(refused));
                    }
                }
            }
            let cut = match self.format {
                _ if is_last => Some(length),
                Some(RecordFormat::Fastq) => self.after_records(&buffer[..length]),
                _ => self.after_lines(&buffer[..length]),
            };
            let Some(cut) = cut else {
                let larger = buffer.len().saturating_mul(2);
                if buffer.try_reserve_exact(larger - buffer.len()).is_err() {
                    self.is_over = true;
                    return Some(Err(Problem::Memory(length).into()));
                }
                buffer.resize(larger, 0);
                continue;
            };
            self.rest.extend_from_slice(&buffer[cut..length]);
            self.is_over |= is_last;
            // The next chunk has about as many.
            let next = Vec::with_capacity(self.records.len() * 9 / 8);
            let records = std::mem::replace(&mut self.records, next);
            let starts_line = self.starts_line;
            self.starts_line = buffer[..cut].last() == Some(&b'\n');
            return Some(Ok(Chunk {
                text: buffer,
                length: cut,
                format: self.format,
                starts_line,
                records,
                is_refused: self.is_over && !is_last,
                end: match self.is_over {
                    true if !is_last => End::Text,
                    _ => end,
                },
            }));
        }
    }

    /// Fills the buffer, and returns whether the text ends.
    fn fill(&mut self, buffer: &mut [u8], length: &mut usize) -> io::Result<bool> {
        while *length < buffer.len() {
            match self.text.read(&mut buffer[*length..]) {
                Ok(0) => return Ok(true),
                Ok(count) => *length += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Returns where a chunk of FASTA ends, or `None` if more of a header has to be read.
    fn after_lines(&mut self, text: &[u8]) -> Option<usize> {
        if let Some(last) = memrchr(b'\n', text) {
            return Some(last + 1);
        }
        let is_header = self.starts_line && text.first() == Some(&b'>');
        match is_header {
            // The parser refuses so long a header.
            true if text.len() > LONGEST_HEADER + 2 => {
                self.is_over = true;
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
                    self.is_over = true;
                    return Some(text.len());
                }
            }
        }
    }
}
