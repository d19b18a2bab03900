//! Gzip of any number of members, among them the blocks of bgzip.

#[cfg(test)]
mod tests;

use std::io::{self, BufRead, ErrorKind, Read};

use flate2::bufread::GzDecoder;

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
/// files::decoding::gzip(&end[..], |_| ()).read_to_string(&mut text)?;
/// assert_eq!(text, "");
/// let cut = files::decoding::gzip(&end[..20], |_| ()).read_to_string(&mut text);
/// let message = "the gzip data is cut short after 20 bytes: copy or download it again";
/// assert_eq!(cut.unwrap_err().to_string(), message);
/// # std::io::Result::Ok(())
/// ```
pub fn gzip<R: BufRead>(raw: R, warn: impl FnMut(&str) + Send + 'static) -> Decoding<Gzip<R>, R> {
    let gzip = Gzip {
        member: GzDecoder::new(Counted::new(raw)),
        start: 0,
        is_empty: true,
        is_over: false,
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
    member: GzDecoder<Counted<R>>,
    /// Where the member begins in the file.
    start: u64,
    /// Whether the member has no content so far.
    is_empty: bool,
    /// Whether the last member has been read.
    is_over: bool,
    warn: Box<dyn FnMut(&str) + Send>,
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
        let is_cut = block.is_some() && !self.is_empty;
        let raw = self.member.get_mut();
        if raw.is_at_end()? {
            self.is_over = true;
            if is_cut {
                (self.warn)(MISSING_BLOCK);
            }
        } else if !is_cut && raw.fill_buf()?.first() != Some(&MAGIC) {
            // Behind a block of bgzip there is another one: with a damaged header, it is no member.
            self.is_over = true;
            let position = raw.position();
            (self.warn)(&format!(
                "the bytes behind the gzip data, from byte {position} on, are not gzip and are ignored"
            ));
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
