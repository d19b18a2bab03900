//! From a text to blocks of whole records.

use std::io::{self, Read};
use std::mem;

use memchr::{memchr, memchr_iter, memrchr};

use crate::text::BYTE_ORDER_MARK;

/// The most bytes of a record. More are the rest of a file behind a quote that was left open.
pub const LONGEST_RECORD: usize = 256 << 20;

/// Whole records, each with its line end.
#[derive(Default)]
pub struct Block {
    pub text: Vec<u8>,
    /// Whether there is a quote in the text.
    pub has_quotes: bool,
}

/// Why there are no more blocks before the end of a text.
pub enum Stop {
    /// Reading failed in the line that is so many lines behind the last block.
    Failed { lines: u64, error: io::Error },
    /// A record is too long.
    Endless { longest: usize },
    /// The text ends within the quotes of a record.
    Open,
    /// The thread that reads is no more.
    Gone,
}

/// Divides a text into blocks. Records end at line ends that are not within quotes.
pub struct Blocks<R> {
    source: R,
    delimiter: u8,
    /// Bytes that a block has about, unless a record is longer.
    size: usize,
    longest: usize,
    /// The part of the next block that has been read.
    rest: Vec<u8>,
    is_first: bool,
    failed: Option<io::Error>,
}

impl<R: Read> Blocks<R> {
    pub fn new(source: R, size: usize, delimiter: u8) -> Blocks<R> {
        Blocks {
            source,
            delimiter,
            size: size.max(BYTE_ORDER_MARK.len()),
            longest: LONGEST_RECORD,
            rest: Vec::new(),
            is_first: true,
            failed: None,
        }
    }

    /// Returns the next block, if there is one more. `spare` is memory for it. After an error come
    /// the records before the error first.
    pub fn next(&mut self, spare: Vec<u8>) -> Result<Option<Block>, Stop> {
        let mut scan = Scan::new(spare, &self.rest, self.delimiter);
        self.rest.clear();
        loop {
            let more = self.read(&mut scan.text);
            // As csv does.
            if mem::take(&mut self.is_first) && scan.text.starts_with(BYTE_ORDER_MARK) {
                scan.text.drain(..BYTE_ORDER_MARK.len());
            }
            scan.advance();
            match more {
                Ok(false) if !scan.is_open() => return Ok(scan.last_block()),
                _ if scan.end > 0 => {
                    self.failed = more.err();
                    self.rest.extend_from_slice(&scan.text[scan.end..]);
                    return Ok(Some(scan.block()));
                }
                Ok(false) => return Err(Stop::Open),
                Err(error) => {
                    let lines = lines(&scan.text);
                    return Err(Stop::Failed { lines, error });
                }
                Ok(true) if scan.text.len() > self.longest => {
                    let longest = self.longest;
                    return Err(Stop::Endless { longest });
                }
                Ok(true) => {}
            }
        }
    }

    /// Adds to a text what a block has more, and tells whether the source goes on.
    fn read(&mut self, text: &mut Vec<u8>) -> io::Result<bool> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        text.try_reserve(self.size)?;
        let limit = self.size as u64;
        let count = self.source.by_ref().take(limit).read_to_end(text)?;
        Ok(count as u64 == limit)
    }
}

/// The number of lines of a text.
pub fn lines(text: &[u8]) -> u64 {
    memchr_iter(b'\n', text).count() as u64
}

/// The search for the last end of a record in a text that grows. It follows csv, for which a quote
/// in a cell that does not begin with one is a character as any other.
struct Scan {
    text: Vec<u8>,
    delimiter: u8,
    /// The next byte to examine, and whether it is within quotes.
    at: usize,
    is_quoted: bool,
    has_quotes: bool,
    /// End of the last whole record.
    end: usize,
}

impl Scan {
    /// Begins a text, at a record.
    fn new(mut spare: Vec<u8>, start: &[u8], delimiter: u8) -> Scan {
        spare.clear();
        spare.extend_from_slice(start);
        Scan {
            text: spare,
            delimiter,
            at: 0,
            is_quoted: false,
            has_quotes: false,
            end: 0,
        }
    }

    /// Goes on to the end of the text.
    fn advance(&mut self) {
        while self.at < self.text.len() {
            let rest = &self.text[self.at..];
            let quote = memchr(b'"', rest);
            match (self.is_quoted, quote) {
                (false, _) => {
                    let before = &rest[..quote.unwrap_or(rest.len())];
                    if let Some(end) = memrchr(b'\n', before) {
                        self.end = self.at + end + 1;
                    }
                    self.at += before.len();
                    if quote.is_some() {
                        let before = self.text[..self.at].last();
                        self.is_quoted = before
                            .is_none_or(|&before| before == self.delimiter || before == b'\n');
                        self.has_quotes = true;
                        self.at += 1;
                    }
                }
                (true, None) => self.at = self.text.len(),
                (true, Some(quote)) => {
                    self.at += quote;
                    match self.text.get(self.at + 1) {
                        // The next byte decides whether the quote ends the field.
                        None => return,
                        Some(b'"') => self.at += 2,
                        Some(_) => {
                            self.is_quoted = false;
                            self.at += 1;
                        }
                    }
                }
            }
        }
    }

    /// The whole records.
    fn block(mut self) -> Block {
        self.text.truncate(self.end);
        Block {
            text: self.text,
            has_quotes: self.has_quotes,
        }
    }

    /// Whether the text ends within quotes. A quote at its end closes them.
    fn is_open(&self) -> bool {
        self.is_quoted && self.at == self.text.len()
    }

    /// Returns all that is left of the text as a block, unless nothing is left.
    fn last_block(mut self) -> Option<Block> {
        if self.text.is_empty() {
            return None;
        }
        self.text.push(b'\n');
        self.end = self.text.len();
        Some(self.block())
    }
}
