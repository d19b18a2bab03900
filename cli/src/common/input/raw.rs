//! The bytes of a file as they are in it.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that tell the format of a file.
const HEAD: u64 = 16;

/// Reads a file, and counts its bytes.
pub struct Raw {
    inner: Box<dyn Read + Send>,
    /// Bytes that were read, of several files.
    read: Arc<AtomicU64>,
    /// Bytes that were read ahead, without those that have been handed over.
    head: Vec<u8>,
    /// Bytes that were handed over.
    count: u64,
}

impl Raw {
    pub fn new(inner: Box<dyn Read + Send>, read: Arc<AtomicU64>) -> Raw {
        Raw {
            inner,
            read,
            head: Vec::new(),
            count: 0,
        }
    }

    /// The first bytes, before any others are read. There are fewer in short files only.
    pub fn head(&mut self) -> io::Result<&[u8]> {
        self.inner.by_ref().take(HEAD).read_to_end(&mut self.head)?;
        Ok(&self.head)
    }

    /// The number of bytes so far.
    pub fn count(&self) -> u64 {
        self.count
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
        self.count += count as u64;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
