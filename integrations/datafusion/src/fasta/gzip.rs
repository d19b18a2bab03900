//! Reads gzip of any number of members, among them the blocks of bgzip.

use std::io::{self, BufRead, ErrorKind, Read};

use flate2::bufread::GzDecoder;

/// Decompressed gzip.
///
/// A block of bgzip has its size in its header, and a file of bgzip ends with an empty block (SAM
/// specification, 4.1). Both are required: the size, because headers have no checksum, and a damaged
/// length of one would hide whole members; the empty block, because a file that is cut between two
/// blocks would seem whole. Other members of gzip may follow those of bgzip.
pub struct Gzip {
    member: GzDecoder<Counted>,
    /// Where the member begins in the file.
    start: u64,
    /// Whether the member has given no bytes.
    is_empty: bool,
}

impl Gzip {
    pub fn new(raw: impl BufRead + Send + 'static) -> Gzip {
        Gzip {
            member: GzDecoder::new(Counted::new(raw)),
            start: 0,
            is_empty: true,
        }
    }

    /// Checks the member that was read, and returns whether the file may end after it.
    fn end_member(&self) -> io::Result<bool> {
        let extra = self.member.header().and_then(|header| header.extra());
        let Some(size) = extra.and_then(size_of_block) else {
            return Ok(true);
        };
        match self.member.get_ref().count - self.start == size {
            true => Ok(self.is_empty),
            false => {
                let error = "a block does not have the size that its header says";
                Err(io::Error::new(ErrorKind::InvalidData, error))
            }
        }
    }
}

impl Read for Gzip {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.member.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                self.is_empty &= count == 0;
                return Ok(count);
            }
            let may_end = self.end_member()?;
            if self.member.get_mut().fill_buf()?.is_empty() {
                return match may_end {
                    true => Ok(0),
                    false => Err(ErrorKind::UnexpectedEof.into()),
                };
            }
            self.start = self.member.get_ref().count;
            self.is_empty = true;
            // The decoder takes a reader and returns the one before: the same one goes on.
            let raw = self.member.reset(Counted::new(io::empty()));
            self.member.reset(raw);
        }
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

/// Counts the bytes that are consumed.
struct Counted {
    inner: Box<dyn BufRead + Send>,
    count: u64,
}

impl Counted {
    fn new(inner: impl BufRead + Send + 'static) -> Counted {
        Counted {
            inner: Box::new(inner),
            count: 0,
        }
    }
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.count += count as u64;
        Ok(count)
    }
}

impl BufRead for Counted {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.inner.consume(count);
        self.count += count as u64;
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Cursor, Write};

    use flate2::write::GzEncoder;
    use flate2::{Compression, GzBuilder};

    use super::*;

    /// Bytes of the header of a block, of which the last are its size.
    const HEADER: usize = 18;

    fn block(text: &[u8]) -> Vec<u8> {
        let header = GzBuilder::new().extra(*b"BC\x02\0\0\0");
        let mut encoder = header.write(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        let mut block = encoder.finish().unwrap();
        let size = block.len() as u16 - 1;
        block[HEADER - 2..HEADER].copy_from_slice(&size.to_le_bytes());
        block
    }

    fn plain(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn read(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        let raw = BufReader::with_capacity(7, Cursor::new(bytes.to_vec()));
        Gzip::new(raw).read_to_end(&mut text)?;
        Ok(text)
    }

    fn kind(bytes: &[u8]) -> ErrorKind {
        read(bytes).unwrap_err().kind()
    }

    #[test]
    fn a_file_that_is_cut_between_blocks_is_cut_short() {
        let blocks = [
            block(b">a\nAC"),
            block(b"GT\n>b\n"),
            block(b"TT\n"),
            block(b""),
        ];
        assert_eq!(read(&blocks.concat()).unwrap(), b">a\nACGT\n>b\nTT\n");
        for end in 1..blocks.len() {
            assert_eq!(
                kind(&blocks[..end].concat()),
                ErrorKind::UnexpectedEof,
                "{end}"
            );
        }
    }

    #[test]
    fn members_of_both_kinds_are_read() {
        let [one, two, end] = [&b"one"[..], b"two", b""].map(block);
        let plain = plain(b"plain");
        for (members, text) in [
            (vec![&plain], &b"plain"[..]),
            (vec![&plain, &plain], b"plainplain"),
            (vec![&one, &plain], b"oneplain"),
            (vec![&one, &end, &plain, &two, &end], b"oneplaintwo"),
            (vec![&one, &end, &two, &end], b"onetwo"),
            (vec![&end], b""),
        ] {
            let bytes: Vec<u8> = members.into_iter().flatten().copied().collect();
            assert_eq!(read(&bytes).unwrap(), text);
        }
        assert_eq!(kind(&[plain, one].concat()), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn damaged_lengths_are_found() {
        let (one, two) = (block(b"one"), block(b"two"));
        let whole = [&one[..], &two, &block(b"")].concat();
        for (place, bits) in [
            (HEADER - 2, 1),
            (HEADER - 1, 1),
            (one.len() + HEADER - 2, 8),
        ] {
            let mut damaged = whole.clone();
            damaged[place] ^= bits;
            assert_eq!(kind(&damaged), ErrorKind::InvalidData, "{place}");
        }
        // The extra field of the first block seems to end where the text of the second begins.
        let mut damaged = whole;
        let length = one.len() as u16 + 6;
        damaged[10..12].copy_from_slice(&length.to_le_bytes());
        assert_eq!(kind(&damaged), ErrorKind::InvalidData);
    }

    #[test]
    fn the_size_may_follow_other_fields() {
        assert_eq!(size_of_block(b"BC\x02\0\x1b\0"), Some(28));
        assert_eq!(size_of_block(b"XY\x01\0zBC\x02\0\x1b\0"), Some(28));
        for extra in [&b""[..], b"BC", b"BC\x02\0\x1b", b"XY\x01\0z", b"BC\x01\0z"] {
            assert_eq!(size_of_block(extra), None);
        }
    }
}
