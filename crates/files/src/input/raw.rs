//! The bytes of a file as they are in it.

use std::io::{self, Read};

use crate::Monitor;
use crate::decoding::Codec;

/// Reads a file, and counts its bytes.
pub struct Raw {
    inner: Box<dyn Read + Send>,
    monitor: Monitor,
    /// Bytes that were read ahead, without those that have been handed over.
    head: Vec<u8>,
}

impl Raw {
    pub fn new(inner: Box<dyn Read + Send>, monitor: Monitor) -> Raw {
        Raw {
            inner,
            monitor,
            head: Vec::new(),
        }
    }

    /// Returns the compression of the content by its first bytes, before others are read.
    pub fn codec(&mut self) -> io::Result<Codec> {
        let mut head = self.inner.by_ref().take(Codec::HEAD_BYTES as u64);
        head.read_to_end(&mut self.head)?;
        Ok(Codec::from_head(&self.head))
    }
}

impl Read for Raw {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = match self.head.is_empty() {
            true => self.inner.read(buffer)?,
            false => {
                let count = self.head.as_slice().read(buffer)?;
                self.head.drain(..count);
                count
            }
        };
        self.monitor.add(count as u64);
        Ok(count)
    }
}
