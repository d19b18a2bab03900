//! Compressed data, and how much of it has been taken.

use std::io::{self, BufRead, Read};

/// A reader that knows its position in the compressed data.
pub struct Counted<R> {
    /// `None` only while a decoder is reset between two members.
    inner: Option<R>,
    position: u64,
    has_failed: bool,
}

impl<R> Counted<R> {
    /// Counts from 0 at the next byte of `raw`.
    pub fn new(raw: R) -> Counted<R> {
        Counted::starting_at(0, raw)
    }

    /// Reads data whose first byte has the position `start` in its file.
    ///
    /// # Examples
    /// ```
    /// use std::io::Read;
    ///
    /// let mut raw = files::decoding::Counted::starting_at(100, &b"abcdef"[..]);
    /// raw.read_exact(&mut [0; 3])?;
    /// assert_eq!(raw.position(), 103);
    /// # std::io::Result::Ok(())
    /// ```
    pub fn starting_at(start: u64, raw: R) -> Counted<R> {
        Counted {
            inner: Some(raw),
            position: start,
            has_failed: false,
        }
    }

    pub(crate) fn none() -> Counted<R> {
        Counted {
            inner: None,
            position: 0,
            has_failed: false,
        }
    }

    /// The position behind the bytes that were taken.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Whether the last error is of the reader below, not of what it read.
    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed
    }
}

impl<R: BufRead> Counted<R> {
    /// Whether nothing follows but zeros, which are taken.
    pub(crate) fn is_at_end(&mut self) -> io::Result<bool> {
        loop {
            let rest = self.fill_buf()?;
            let zeros = rest.iter().take_while(|byte| **byte == 0).count();
            if zeros == 0 {
                return Ok(rest.is_empty());
            }
            self.consume(zeros);
        }
    }
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let Some(inner) = &mut self.inner else {
            return Ok(&[]);
        };
        let filled = inner.fill_buf();
        self.has_failed = filled.is_err();
        filled
    }

    fn consume(&mut self, count: usize) {
        if let Some(inner) = &mut self.inner {
            inner.consume(count);
            self.position += count as u64;
        }
    }
}
