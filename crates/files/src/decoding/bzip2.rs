//! Bzip2 of any number of streams.

use std::io::{self, BufRead, Read};
use std::mem;

use ::bzip2::bufread::BzDecoder;

use super::{Counted, Decoding};

/// The first byte of each stream.
const MAGIC: u8 = b'B';

/// Reads and decompresses bzip2.
///
/// Zeros behind the last stream pad files on some media, and are ignored. Other bytes behind it that are
/// not bzip2 are ignored too, as by bunzip2, and `warn` gets a sentence about them.
///
/// # Errors
/// Reading gives the errors of [`Decoding`].
pub fn bzip2<R: BufRead>(raw: R, warn: impl FnMut(&str) + Send + 'static) -> Decoding<Bzip2<R>, R> {
    let streams = Bzip2 {
        stream: BzDecoder::new(Counted::new(raw)),
        is_over: false,
        warn: Box::new(warn),
    };
    Decoding::new("bzip2", streams, |streams| streams.stream.get_ref())
}

/// Decompresses the streams of bzip2, one after the other.
pub struct Bzip2<R> {
    stream: BzDecoder<Counted<R>>,
    /// Whether the last stream has been read.
    is_over: bool,
    warn: Box<dyn FnMut(&str) + Send>,
}

impl<R: BufRead> Bzip2<R> {
    /// Goes on to the next stream if there is one.
    fn end_stream(&mut self) -> io::Result<()> {
        let raw = self.stream.get_mut();
        if raw.is_at_end()? {
            self.is_over = true;
        } else if raw.fill_buf()?.first() != Some(&MAGIC) {
            self.is_over = true;
            let position = raw.position();
            (self.warn)(&format!(
                "the bytes behind the bzip2 data, from byte {position} on, are not bzip2 and are ignored"
            ));
        } else {
            let ended = mem::replace(&mut self.stream, BzDecoder::new(Counted::none()));
            self.stream = BzDecoder::new(ended.into_inner());
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Bzip2<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !self.is_over {
            let count = self.stream.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            self.end_stream()?;
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::mpsc;

    use ::bzip2::Compression;
    use ::bzip2::write::BzEncoder;

    use super::*;

    fn compressed(text: &[u8]) -> Vec<u8> {
        let mut encoder = BzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    /// Returns the content, and the warnings.
    fn read(raw: &[u8]) -> (io::Result<String>, Vec<String>) {
        let (sender, warnings) = mpsc::channel();
        let mut decoder = bzip2(raw, move |sentence| {
            sender.send(sentence.to_owned()).unwrap()
        });
        let mut text = String::new();
        let content = decoder.read_to_string(&mut text).map(|_| text);
        drop(decoder);
        (content, warnings.into_iter().collect())
    }

    #[test]
    fn streams_are_read_one_after_the_other() {
        let streams = [compressed(b"first "), compressed(b""), compressed(b"last")].concat();
        for padding in [0, 1, 100_000] {
            let (content, warnings) = read(&[&streams[..], &vec![0; padding]].concat());
            assert_eq!(
                (content.unwrap().as_str(), warnings.len()),
                ("first last", 0)
            );
        }
        let (content, warnings) = read(&[&streams[..], b"\0other"].concat());
        assert_eq!(content.unwrap(), "first last");
        assert!(
            warnings[0].contains("are not bzip2 and are ignored"),
            "{warnings:?}"
        );
        let (content, _) = read(&streams[..streams.len() - 3]);
        assert!(content.unwrap_err().to_string().contains("cut short"));
    }
}
