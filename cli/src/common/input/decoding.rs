//! Errors of decompression as sentences.

use std::io::{self, BufReader, ErrorKind, Read};

use flate2::bufread::MultiGzDecoder;

use super::raw::Raw;

/// What to do about a file that does not have the bytes that were written.
const REMEDY: &str = "copy or download it again";

/// A decoder that knows where in its file it is.
pub trait Decoder: Read {
    /// The number of compressed bytes that were taken.
    fn position(&self) -> u64;
}

fn position(raw: &BufReader<Raw>) -> u64 {
    raw.get_ref().count() - raw.buffer().len() as u64
}

impl Decoder for zstd::stream::read::Decoder<'static, BufReader<Raw>> {
    fn position(&self) -> u64 {
        position(self.get_ref())
    }
}

/// Gzip, of any number of members.
pub struct Gzip {
    decoder: MultiGzDecoder<BufReader<Raw>>,
    is_blocked: bool,
}

impl Gzip {
    /// `is_blocked` files, those of bgzip, end with an empty member.
    pub fn new(decoder: MultiGzDecoder<BufReader<Raw>>, is_blocked: bool) -> Gzip {
        Gzip {
            decoder,
            is_blocked,
        }
    }
}

impl Decoder for Gzip {
    fn position(&self) -> u64 {
        position(self.decoder.get_ref())
    }
}

/// The empty member at the end of each file of bgzip (SAM specification, 4.1.2): without it a file
/// that is cut between two members would seem whole.
const LAST_BLOCK: [u8; 28] =
    *b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0\x1b\0\x03\0\0\0\0\0\0\0\0\0";

impl Read for Gzip {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.decoder.read(buffer)?;
        let is_end = count == 0 && !buffer.is_empty();
        if is_end && self.is_blocked && self.decoder.get_ref().get_ref().tail() != LAST_BLOCK {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        Ok(count)
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
