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
    /// Whether the member has no content so far.
    is_empty: bool,
    /// Whether the last member has been read.
    is_over: bool,
}

impl Gzip {
    pub fn new(raw: BufReader<Raw>) -> Gzip {
        Gzip {
            start: position(&raw),
            member: GzDecoder::new(raw),
            is_empty: true,
            is_over: false,
        }
    }

    /// Returns the size that the header of the member has if it is a block of bgzip (SAM
    /// specification, 4.1).
    fn size_of_block(&self) -> Option<u64> {
        let extra = self.member.header().and_then(|header| header.extra());
        match extra {
            Some(&[b'B', b'C', 2, 0, low, high, ..]) => {
                Some(u64::from(u16::from_le_bytes([low, high])) + 1)
            }
            _ => None,
        }
    }

    /// Whether nothing follows but zeros, which pad files on some media. gzip ignores them, too.
    fn is_at_end(&mut self) -> io::Result<bool> {
        let raw = self.member.get_mut();
        loop {
            let rest = raw.fill_buf()?;
            let zeros = rest.iter().take_while(|byte| **byte == 0).count();
            if zeros == 0 {
                return Ok(rest.is_empty());
            }
            raw.consume(zeros);
        }
    }
}

impl Decoder for Gzip {
    fn position(&self) -> u64 {
        position(self.member.get_ref())
    }
}

impl Read for Gzip {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !self.is_over {
            let count = self.member.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                self.is_empty &= count == 0;
                return Ok(count);
            }
            let (size, block) = (self.position() - self.start, self.size_of_block());
            // Headers have no checksum: a damaged length would hide whole members.
            if block.is_some_and(|expected| expected != size) {
                let error = "a block does not have the size that its header says";
                return Err(io::Error::new(ErrorKind::InvalidData, error));
            }
            let is_over = self.is_at_end()?;
            // Files of bgzip end with an empty block (SAM specification, 4.1.2): without it a file
            // that is cut between two blocks would seem whole.
            if is_over && block.is_some() && !self.is_empty {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            (self.start, self.is_empty, self.is_over) = (self.position(), true, is_over);
            // The decoder takes a reader and returns the one before: the same one goes on.
            let raw = self.member.reset(BufReader::with_capacity(0, Raw::empty()));
            self.member.reset(raw);
        }
        Ok(0)
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
