//! Records.

use std::borrow::Cow;

/// A record of a file, as far as it has been read.
#[derive(Clone, Debug, Default)]
pub struct Record {
    index: u64,
    pub(super) header: Vec<u8>,
    pub(super) length: u64,
    pub(super) skipped: u64,
}

impl Record {
    pub(super) fn begin(&mut self, index: u64, header: &[u8]) {
        self.index = index;
        self.header.clear();
        self.header.extend_from_slice(header);
        self.length = 0;
        self.skipped = 0;
    }

    /// Returns the number of records before it in the file.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// Returns the header up to its first white space, without the `>` or `@`.
    pub fn name(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.parts().0)
    }

    /// Returns the header behind the name, without white space around it.
    pub fn description(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.parts().1)
    }

    fn parts(&self) -> (&[u8], &[u8]) {
        let header = self.header.trim_ascii();
        let end = header.iter().position(u8::is_ascii_whitespace);
        let (name, rest) = header.split_at(end.unwrap_or(header.len()));
        (name, rest.trim_ascii())
    }

    /// Returns the letters so far.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Returns the characters that were left out so far.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }
}

/// Letters of a record.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    /// The record, with these letters in its length.
    pub record: &'a Record,
    /// Letters that follow those of the record's last piece: codes, or text.
    pub letters: &'a [u8],
    /// Whether the record ends with these letters.
    pub is_last: bool,
}
