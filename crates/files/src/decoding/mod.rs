//! Decodes compressed files: tells their [`Codec`], decompresses [`gzip`], bgzip and [`bzip2`](bzip2()), and turns errors
//! of any decoder into sentences that name the place and a remedy ([`Decoding`]).

mod bgzip;
mod bzip2;
mod codec;
mod counted;
mod gzip;

use std::io::{self, ErrorKind, Read};

pub use bzip2::{Bzip2, bzip2};
pub use codec::Codec;
pub use counted::Counted;
pub use gzip::{Gzip, gzip};

/// The largest windows of zstd, those of `zstd --long=31`, as a power of 2.
pub const ZSTD_WINDOW_LOG: u32 = if cfg!(target_pointer_width = "64") {
    31
} else {
    30
};

/// The remedy for a file whose bytes were damaged.
const REMEDY: &str = "copy or download it again";

/// Reads from a decoder `D` of the compressed data `R`.
///
/// # Errors
/// [`Read::read`] gives [`ErrorKind::UnexpectedEof`] if the data is cut short, and the decoder's kind
/// of error if it is damaged, both with the place and a remedy. Some of the bytes that were read
/// before the error may be wrong. An error of the reader below is returned as it is.
pub struct Decoding<D, R> {
    format: &'static str,
    decoder: D,
    raw: fn(&D) -> &Counted<R>,
}

impl<D: Read, R> Decoding<D, R> {
    /// Reads from a decoder of `format`, whose compressed data `raw` returns.
    pub fn new(format: &'static str, decoder: D, raw: fn(&D) -> &Counted<R>) -> Decoding<D, R> {
        Decoding {
            format,
            decoder,
            raw,
        }
    }

    fn explained(&self, error: io::Error) -> io::Error {
        let (format, raw) = (self.format, (self.raw)(&self.decoder));
        let position = raw.position();
        match error.kind() {
            _ if raw.has_failed() => error,
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

impl<D: Read, R> Read for Decoding<D, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.decoder.read(buffer);
        read.map_err(|error| self.explained(error))
    }
}
