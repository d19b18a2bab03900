//! Files to read: plain, or compressed by gzip, zstd or zip, which their first bytes tell.

mod archive;
mod decoding;
mod raw;
mod unmarked;

use std::fs::File;
use std::io::{self, BufReader, Read, copy};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use anyhow::{Context, Result, bail};

use decoding::Decoding;
use gzip::Gzip;
use raw::Raw;
use unmarked::Unmarked;

/// Compressed bytes that are read in one go.
const BUFFER: usize = 1 << 16;

/// The largest windows of zstd, those of `zstd --long=31`, as a power of 2.
const WINDOW_LOG: u32 = if cfg!(target_pointer_width = "64") {
    31
} else {
    30
};

/// Opens a file and returns its decompressed content, without a byte order mark; `-` stands for
/// stdin. The bytes read, as they are in the file, are added to `read`.
///
/// A file that is cut short or damaged gives an error where the content ends, never the end of the
/// content. A zip archive has to have a single file.
pub fn open(path: &Path, read: Arc<AtomicU64>) -> Result<Box<dyn Read + Send>> {
    let inner: Box<dyn Read + Send> = match path == Path::new("-") {
        true => Box::new(io::stdin()),
        false => Box::new(File::open(path)?),
    };
    let mut raw = Raw::new(inner, read.clone());
    let content = match Format::of(raw.head()?) {
        Format::Zip => {
            let content = archive::open(seekable(path, raw)?, read)?;
            let mut content = Raw::new(content, Arc::default());
            let format = Format::of(content.head()?);
            content_of(content, format)
        }
        format => content_of(raw, format),
    };
    Ok(Box::new(Unmarked::new(content?)))
}

/// Returns a file with the content of `raw`, whose first bytes have been read from `path`.
fn seekable(path: &Path, mut raw: Raw) -> Result<File> {
    if path != Path::new("-") && path.is_file() {
        return Ok(File::open(path)?);
    }
    let mut spool = || {
        let mut file = tempfile::tempfile()?;
        copy(&mut raw, &mut file)?;
        io::Result::Ok(file)
    };
    spool().context("a zip archive that comes through a pipe is kept in a temporary file")
}

fn content_of(raw: Raw, format: Format) -> Result<Box<dyn Read + Send>> {
    match format {
        Format::Plain => Ok(Box::new(raw)),
        Format::Gzip => {
            let gzip = Gzip::new(BufReader::with_capacity(BUFFER, raw));
            Ok(Box::new(Decoding::new("gzip", gzip)))
        }
        Format::Zstd => {
            let raw = BufReader::with_capacity(BUFFER, raw);
            let mut decoder = zstd::stream::read::Decoder::with_buffer(raw)?;
            decoder.window_log_max(WINDOW_LOG)?;
            Ok(Box::new(Decoding::new("zstd", decoder)))
        }
        Format::Zip => bail!("it is a zip archive in a zip archive: unpack it first"),
        Format::Unknown(name) => bail!(
            "it is compressed by {name}: decompress it first, or compress it by gzip, zstd or zip"
        ),
    }
}

/// How the content of a file is compressed.
#[derive(Clone, Copy)]
enum Format {
    Plain,
    Gzip,
    Zstd,
    Zip,
    /// A known format that cannot be read.
    Unknown(&'static str),
}

impl Format {
    /// Tells the format by the first bytes of a file.
    fn of(head: &[u8]) -> Format {
        match head {
            [0x1f, 0x8b, ..] => Format::Gzip,
            // A frame, or a frame to skip.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Format::Zstd,
            // A file, or the end of an archive without files.
            [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Format::Zip,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Format::Unknown("xz"),
            [b'7', b'z', 0xbc, 0xaf, 0x27, 0x1c, ..] => Format::Unknown("7-Zip"),
            [b'B', b'Z', b'h', b'1'..=b'9', block @ ..]
                if block.starts_with(b"1AY&SY")
                    || block.starts_with(b"\x17\x72\x45\x38\x50\x90") =>
            {
                Format::Unknown("bzip2")
            }
            _ => Format::Plain,
        }
    }
}
