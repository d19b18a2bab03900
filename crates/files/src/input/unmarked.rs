//! Texts without byte order marks.

use std::io::{self, Cursor, Read};

const MARK: &[u8] = "\u{feff}".as_bytes();

/// Leaves out the byte order mark that some programs write at the start of a text.
pub struct Unmarked {
    content: Box<dyn Read + Send>,
    /// The first bytes, once they have been read, and the error that followed.
    start: Option<Cursor<Vec<u8>>>,
    failed: Option<io::Error>,
}

impl Unmarked {
    pub fn new(content: Box<dyn Read + Send>) -> Unmarked {
        Unmarked {
            content,
            start: None,
            failed: None,
        }
    }
}

impl Read for Unmarked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.start.is_none() {
            let (mut start, length) = (Vec::new(), MARK.len() as u64);
            let read = self.content.by_ref().take(length).read_to_end(&mut start);
            self.failed = read.err();
            if start == MARK {
                start.clear();
            }
            self.start = Some(Cursor::new(start));
        }
        if let Some(start) = &mut self.start
            && let count @ 1.. = start.read(buffer)?
        {
            return Ok(count);
        }
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.content.read(buffer),
        }
    }
}
