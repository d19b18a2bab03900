//! Readers that look at the first bytes of their input.

use std::io::{self, Cursor, Read};
use std::mem;

use crate::text::BYTE_ORDER_MARK;

/// A reader that has read its first bytes ahead, and returns them first.
pub struct Begun<R> {
    /// The first bytes, without those that have come again.
    pub start: Cursor<Vec<u8>>,
    /// The error that followed.
    pub failed: Option<io::Error>,
    rest: R,
}

impl<R: Read> Begun<R> {
    /// Reads up to `count` bytes. An error comes behind those that could be read.
    pub fn new(mut rest: R, count: usize) -> Begun<R> {
        let mut start = Vec::new();
        let read = rest.by_ref().take(count as u64).read_to_end(&mut start);
        Begun {
            start: Cursor::new(start),
            failed: read.err(),
            rest,
        }
    }
}

impl<R: Read> Read for Begun<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let count @ 1.. = self.start.read(buffer)? {
            return Ok(count);
        }
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.rest.read(buffer),
        }
    }
}

/// Leaves out the byte order mark that some programs write at the start of a text.
pub struct Unmarked {
    content: Box<dyn Read + Send>,
    is_begun: bool,
}

impl Unmarked {
    pub fn new(content: Box<dyn Read + Send>) -> Unmarked {
        Unmarked {
            content,
            is_begun: false,
        }
    }
}

impl Read for Unmarked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !mem::replace(&mut self.is_begun, true) {
            let content = mem::replace(&mut self.content, Box::new(io::empty()));
            let mut begun = Begun::new(content, BYTE_ORDER_MARK.len());
            if begun.start.get_ref() == BYTE_ORDER_MARK {
                begun.start = Cursor::default();
            }
            self.content = Box::new(begun);
        }
        self.content.read(buffer)
    }
}
