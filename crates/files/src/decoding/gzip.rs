//! Gzip of any number of members, among them the blocks of bgzip.

#[cfg(test)]
mod tests;

use std::io::{self, BufRead, ErrorKind, Read};
use std::mem;

use crc32fast::Hasher;
use flate2::bufread::{DeflateDecoder, GzDecoder};

use super::bgzip::{self, Batch};
use super::{Counted, Decoding};

/// Reads and decompresses gzip.
///
/// A block of bgzip has its size in its header, and a file of bgzip ends with an empty block (SAM
/// specification, 4.1). The size is checked, because headers have no checksum, and a damaged length
/// of one would hide whole members. Other members of gzip may follow those of bgzip. Zeros behind the
/// last member pad files on some media, and are ignored, as by gunzip.
///
/// `warn` gets a sentence in two cases. Without the empty block, the file may have been cut between
/// two blocks, although some writers leave the block out. Bytes behind the last member that are not
/// gzip are ignored, as by gunzip.
///
/// Blocks of bgzip are decompressed on several threads, in batches, up to 8 MiB ahead of the caller.
///
/// # Errors
/// Reading gives the errors of [`Decoding`].
///
/// # Examples
/// ```
/// use std::io::Read;
///
/// // An empty block of bgzip, as at the end of a file.
/// let end = *b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0\x1b\0\x03\0\0\0\0\0\0\0\0\0";
/// let mut text = String::new();
/// files::decoding::gzip(&end[..], |_| ()).read_to_string(&mut text)?;
/// assert_eq!(text, "");
/// let cut = files::decoding::gzip(&end[..20], |_| ()).read_to_string(&mut text);
/// let message = "the gzip data is cut short after 20 bytes: copy or download it again";
/// assert_eq!(cut.unwrap_err().to_string(), message);
/// # std::io::Result::Ok(())
/// ```
pub fn gzip<R: BufRead>(raw: R, warn: impl FnMut(&str) + Send + 'static) -> Decoding<Gzip<R>, R> {
    let gzip = Gzip {
        batch: Batch::default(),
        member: DeflateDecoder::new(Counted::new(raw)),
        block: None,
        sum: Hasher::new(),
        start: 0,
        size: 0,
        state: State::Between,
        warn: Box::new(warn),
    };
    Decoding::new("gzip", gzip, |gzip| gzip.member.get_ref())
}

/// The first byte of each member.
const MAGIC: u8 = 0x1f;

/// The warning about a file of bgzip without its last block.
const MISSING_BLOCK: &str = "the empty block that ends each file of BGZF (bgzip) is missing: if the file was cut between \
                             two blocks, copy or download it again";

/// Decompresses the members of gzip, one after the other.
pub struct Gzip<R> {
    /// Blocks of bgzip that have been taken together.
    batch: Batch,
    member: DeflateDecoder<Counted<R>>,
    /// The size of the member that its header says, if it is a block of bgzip.
    block: Option<u64>,
    /// The checksum of the member's content.
    sum: Hasher,
    /// Start of the member in the file.
    start: u64,
    /// The bytes of the member's content.
    size: u64,
    state: State,
    warn: Box<dyn FnMut(&str) + Send>,
}

enum State {
    /// Before a header.
    Between,
    Batch,
    Member,
    /// The last member has been read.
    Over,
}

impl<R: BufRead> Gzip<R> {
    /// Takes the blocks of bgzip that follow, or else begins a member.
    fn begin(&mut self) -> io::Result<()> {
        if self.batch.take(self.member.get_mut()) {
            self.state = State::Batch;
            return Ok(());
        }
        // The decoder takes a reader and returns the one before: the same one goes on.
        let raw = self.member.reset(Counted::none());
        self.start = raw.position();
        let mut member = GzDecoder::new(raw);
        let header = member.header().map(|header| header.extra());
        let header = header.map(|extra| extra.and_then(bgzip::size_of_block));
        let failed = match header {
            Some(_) => None,
            None => member.read(&mut [0]).err(),
        };
        self.member.reset(member.into_inner());
        if let Some(error) = failed {
            return Err(error);
        }
        self.block = header.flatten();
        (self.sum, self.size) = (Hasher::new(), 0);
        self.state = State::Member;
        Ok(())
    }

    /// Checks the member that has been read.
    fn end(&mut self) -> io::Result<()> {
        let raw = self.member.get_mut();
        let mut trailer = [0; 8];
        raw.read_exact(&mut trailer)?;
        let sum = mem::take(&mut self.sum).finalize();
        if u64::from_le_bytes(trailer) != u64::from(sum) | self.size << 32 {
            let error = "corrupt gzip stream does not have a matching checksum";
            return Err(io::Error::new(ErrorKind::InvalidInput, error));
        }
        if self
            .block
            .is_some_and(|size| size != raw.position() - self.start)
        {
            let error = "a block does not have the size that its header says";
            return Err(io::Error::new(ErrorKind::InvalidData, error));
        }
        self.go_on(self.block.is_some() && self.size > 0)
    }

    /// Goes on to the next member, if there is one. `is_cut` says that a file does not end here.
    fn go_on(&mut self, is_cut: bool) -> io::Result<()> {
        self.state = State::Between;
        let raw = self.member.get_mut();
        if raw.is_at_end()? {
            self.state = State::Over;
            if is_cut {
                (self.warn)(MISSING_BLOCK);
            }
        } else if !is_cut && raw.fill_buf()?.first() != Some(&MAGIC) {
            // Behind a block of bgzip there is another one: with a damaged header, it is no member.
            self.state = State::Over;
            let position = raw.position();
            (self.warn)(&format!(
                "the bytes behind the gzip data, from byte {position} on, are not gzip and are ignored"
            ));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Gzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            match self.state {
                State::Between => self.begin()?,
                State::Batch => match self.batch.read(buffer) {
                    0 => self.go_on(self.batch.is_cut())?,
                    count => return Ok(count),
                },
                State::Member => match self.member.read(buffer)? {
                    0 => self.end()?,
                    count => {
                        self.sum.update(&buffer[..count]);
                        self.size += count as u64;
                        return Ok(count);
                    }
                },
                State::Over => return Ok(0),
            }
        }
    }
}
