//! Files to read: plain, or compressed by gzip, zstd or zip, which their first bytes tell.

mod archive;
mod raw;
mod unmarked;

use std::fs::File;
use std::io::{self, BufReader, Read, copy};
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::Monitor;
use crate::decoding::{self, Counted, Decoding, Format, ZSTD_WINDOW_LOG};
use raw::Raw;
use unmarked::Unmarked;

/// Compressed bytes that are read in one go.
const BUFFER: usize = 1 << 16;

/// Opens a file and returns its decompressed content, without a byte order mark; `-` stands for
/// stdin. `monitor` counts the bytes read, as they are in the file.
///
/// A file that is cut short or damaged gives an error where the content ends, never the end of the
/// content. A zip archive has to have a single file.
pub fn open(path: &Path, monitor: &Monitor) -> Result<Box<dyn Read + Send>> {
    let inner: Box<dyn Read + Send> = match path == Path::new("-") {
        true => Box::new(io::stdin()),
        false => Box::new(File::open(path)?),
    };
    let mut raw = Raw::new(inner, monitor.clone());
    let content = match raw.format()? {
        Format::Zip => {
            let content = archive::open(seekable(path, raw)?, monitor)?;
            let mut content = Raw::new(content, Monitor::default());
            let format = content.format()?;
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
            let raw = BufReader::with_capacity(BUFFER, raw);
            Ok(Box::new(decoding::gzip(raw)))
        }
        Format::Zstd => {
            let raw = Counted::new(BufReader::with_capacity(BUFFER, raw));
            let mut decoder = zstd::Decoder::with_buffer(raw)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG)?;
            Ok(Box::new(Decoding::new(
                "zstd",
                decoder,
                zstd::Decoder::get_ref,
            )))
        }
        Format::Zip => bail!("it is a zip archive in a zip archive: unpack it first"),
        Format::Unsupported(name) => bail!(
            "it is compressed by {name}: decompress it first, or compress it by gzip, zstd or zip"
        ),
    }
}
