//! Compressed data, and how much of it has been taken.

use std::io::{self, BufRead, Read};

/// A reader that knows its position in the compressed data.
pub struct Counted<R> {
    /// `None` only while a decoder is reset between two members.
    inner: Option<R>,
    position: u64,
    has_failed: bool,
    /// Bytes put back, and how many of them were taken again.
    returned: (Vec<u8>, usize),
    /// The error behind them.
    failed: Option<io::Error>,
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
            ..Counted::none()
        }
    }

    pub(crate) fn none() -> Counted<R> {
        Counted {
            inner: None,
            position: 0,
            has_failed: false,
            returned: (Vec::new(), 0),
            failed: None,
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
    /// Makes the last bytes that were taken come again, and then the error that followed.
    pub(crate) fn put_back(&mut self, bytes: &[u8], failed: Option<io::Error>) {
        let (returned, taken) = &mut self.returned;
        returned.splice(..*taken, bytes.iter().copied());
        *taken = 0;
        self.position -= bytes.len() as u64;
        self.failed = failed.or(self.failed.take());
    }

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
        self.has_failed = false;
        if let rest @ [_, ..] = &self.returned.0[self.returned.1..] {
            return Ok(rest);
        }
        if let Some(error) = self.failed.take() {
            self.has_failed = true;
            return Err(error);
        }
        let Some(inner) = &mut self.inner else {
            return Ok(&[]);
        };
        let filled = inner.fill_buf();
        self.has_failed = filled.is_err();
        filled
    }

    fn consume(&mut self, count: usize) {
        if self.returned.1 < self.returned.0.len() {
            self.returned.1 += count;
        } else if let Some(inner) = &mut self.inner {
            inner.consume(count);
        }
        self.position += count as u64;
    }
}
