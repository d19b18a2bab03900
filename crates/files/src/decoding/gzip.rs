//! Gzip of any number of members, among them the blocks of bgzip.

#[cfg(test)]
mod tests;

use std::io::{self, BufRead, ErrorKind, Read};

use flate2::bufread::GzDecoder;

use super::{Counted, Decoding};

/// Reads and decompresses gzip.
///
/// A block of bgzip has its size in its header, and a file of bgzip ends with an empty block (SAM
/// specification, 4.1). Both are required: the size, because headers have no checksum, and a damaged
/// length of one would hide whole members; the empty block, because a file that is cut between two
/// blocks would seem whole. Other members of gzip may follow those of bgzip. Zeros behind the last
/// member pad files on some media, and are ignored, as by gzip.
///
/// The first header is read at once, and what is wrong with it is an error of the first read.
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
/// files::decoding::gzip(&end[..]).read_to_string(&mut text)?;
/// assert_eq!(text, "");
/// let cut = files::decoding::gzip(&end[..20]).read_to_string(&mut text);
/// let message = "the gzip data is cut short after 20 bytes: copy or download it again";
/// assert_eq!(cut.unwrap_err().to_string(), message);
/// # std::io::Result::Ok(())
/// ```
pub fn gzip<R: BufRead>(raw: R) -> Decoding<Gzip<R>, R> {
    let gzip = Gzip {
        member: GzDecoder::new(Counted::new(raw)),
        start: 0,
        is_empty: true,
        is_over: false,
    };
    Decoding::new("gzip", gzip, |gzip| gzip.member.get_ref())
}

/// Decompresses the members of gzip, one after the other.
pub struct Gzip<R> {
    member: GzDecoder<Counted<R>>,
    /// Where the member begins in the file.
    start: u64,
    /// Whether the member has no content so far.
    is_empty: bool,
    /// Whether the last member has been read.
    is_over: bool,
}

impl<R: BufRead> Gzip<R> {
    /// Checks the member that has been read, and goes on to the next one if there is one.
    fn end_member(&mut self) -> io::Result<()> {
        let extra = self.member.header().and_then(|header| header.extra());
        let block = extra.and_then(size_of_block);
        if block.is_some_and(|size| size != self.member.get_ref().position() - self.start) {
            let error = "a block does not have the size that its header says";
            return Err(io::Error::new(ErrorKind::InvalidData, error));
        }
        self.is_over = self.member.get_mut().is_at_end()?;
        if self.is_over && block.is_some() && !self.is_empty {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        (self.start, self.is_empty) = (self.member.get_ref().position(), true);
        // The decoder takes a reader and returns the one before: the same one goes on.
        let raw = self.member.reset(Counted::none());
        self.member.reset(raw);
        Ok(())
    }
}

impl<R: BufRead> Read for Gzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !self.is_over {
            let count = self.member.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                self.is_empty &= count == 0;
                return Ok(count);
            }
            self.end_member()?;
        }
        Ok(0)
    }
}

/// Returns the size of a block of bgzip, from the extra field of its header.
fn size_of_block(mut extra: &[u8]) -> Option<u64> {
    while let [first, second, low, high, rest @ ..] = extra {
        let length = u16::from_le_bytes([*low, *high]);
        let (value, others) = rest.split_at_checked(length.into())?;
        if let (b'B', b'C', [low, high]) = (first, second, value) {
            return Some(u64::from(u16::from_le_bytes([*low, *high])) + 1);
        }
        extra = others;
    }
    None
}
