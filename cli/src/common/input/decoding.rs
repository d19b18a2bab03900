//! Errors of decompression as sentences.

use std::io::{self, BufReader, ErrorKind, Read};

use gzip::Gzip;

use super::raw::Raw;

/// What to do about a file that does not have the bytes that were written.
const REMEDY: &str = "copy or download it again";

/// A decoder that knows where in its file it is.
pub trait Decoder: Read {
    /// The number of compressed bytes that were taken.
    fn position(&self) -> u64;
}

impl Decoder for zstd::stream::read::Decoder<'static, BufReader<Raw>> {
    fn position(&self) -> u64 {
        let raw = self.get_ref();
        raw.get_ref().count() - raw.buffer().len() as u64
    }
}

impl Decoder for Gzip<BufReader<Raw>> {
    fn position(&self) -> u64 {
        self.position()
    }
}

/// Reads from a decoder. Its errors name the place in the file and a remedy.
pub struct Decoding<D> {
    format: &'static str,
    decoder: D,
}

impl<D> Decoding<D> {
    pub fn new(format: &'static str, decoder: D) -> Decoding<D> {
        Decoding { format, decoder }
    }
}

impl<D: Decoder> Decoding<D> {
    fn explained(&self, error: io::Error) -> io::Error {
        let (format, position) = (self.format, self.decoder.position());
        match error.kind() {
            // Errors of the system are not about the content.
            _ if error.raw_os_error().is_some() => error,
            ErrorKind::Interrupted => error,
            ErrorKind::UnexpectedEof => io::Error::new(
                error.kind(),
                format!("the {format} data is cut short after {position} bytes: {REMEDY}"),
            ),
            kind => io::Error::new(
                kind,
                format!("the {format} data is damaged near byte {position} ({error}): {REMEDY}"),
            ),
        }
    }
}

impl<D: Decoder> Read for Decoding<D> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.decoder.read(buffer);
        read.map_err(|error| self.explained(error))
    }
}
