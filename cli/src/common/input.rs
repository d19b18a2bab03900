//! Files to read, plain or gzip.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Result;
use flate2::bufread::MultiGzDecoder;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The decompressed text of a file; `-` stands for stdin. The bytes read, as they are in the file,
/// are added to `read`.
pub fn open(path: &Path, read: Arc<AtomicU64>) -> Result<Box<dyn Read + Send>> {
    let inner: Box<dyn Read + Send> = match path == Path::new("-") {
        true => Box::new(io::stdin()),
        false => Box::new(File::open(path)?),
    };
    let mut raw = BufReader::new(Counting { inner, read });
    Ok(match raw.fill_buf()?.starts_with(&GZIP_MAGIC) {
        true => Box::new(MultiGzDecoder::new(raw)),
        false => Box::new(raw),
    })
}

/// Counts the bytes that go through it.
struct Counting<R> {
    inner: R,
    read: Arc<AtomicU64>,
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
