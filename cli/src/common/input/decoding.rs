//! Errors of decompression as sentences.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};

use flate2::bufread::GzDecoder;

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
    member: GzDecoder<BufReader<Raw>>,
    /// Where the member begins in the file.
    start: u64,
    is_blocked: bool,
}

impl Gzip {
    /// `is_blocked` files, those of bgzip, end with an empty member.
    pub fn new(raw: BufReader<Raw>, is_blocked: bool) -> Gzip {
        Gzip {
            start: position(&raw),
            member: GzDecoder::new(raw),
            is_blocked,
        }
    }

    /// Whether the member that was read is as long as its header says (SAM specification, 4.1).
    ///
    /// Headers have no checksum: one whose length is damaged would hide whole members.
    fn has_size_of_block(&self) -> bool {
        let extra = self.member.header().and_then(|header| header.extra());
        let Some(&[b'B', b'C', 2, 0, low, high, ..]) = extra else {
            return true;
        };
        self.position() - self.start == u64::from(u16::from_le_bytes([low, high])) + 1
    }
}

impl Decoder for Gzip {
    fn position(&self) -> u64 {
        position(self.member.get_ref())
    }
}

/// The empty member at the end of each file of bgzip (SAM specification, 4.1.2): without it a file
/// that is cut between two members would seem whole.
const LAST_BLOCK: [u8; 28] =
    *b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0\x1b\0\x03\0\0\0\0\0\0\0\0\0";

impl Read for Gzip {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.member.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            if !self.has_size_of_block() {
                let error = "a block does not have the size that its header says";
                return Err(io::Error::new(ErrorKind::InvalidData, error));
            }
            if self.member.get_mut().fill_buf()?.is_empty() {
                return match self.is_blocked && self.member.get_ref().get_ref().tail() != LAST_BLOCK
                {
                    true => Err(ErrorKind::UnexpectedEof.into()),
                    false => Ok(0),
                };
            }
            self.start = self.position();
            // The decoder takes a reader and returns the one before: the same one goes on.
            let raw = self.member.reset(BufReader::with_capacity(0, Raw::empty()));
            self.member.reset(raw);
        }
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
