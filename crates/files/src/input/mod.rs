//! Files to read: plain, or compressed by gzip, bgzip, zstd, bzip2, xz or zip, which their first bytes tell.

mod archive;
mod begun;
mod raw;

use std::fs::File;
use std::io::{self, BufReader, Read, copy};
use std::path::Path;

use anyhow::{Context, Result, bail};
use liblzma::bufread::XzDecoder;

use crate::Monitor;
use crate::decoding::{self, Codec, Counted, Decoding, ZSTD_WINDOW_LOG};
pub(crate) use begun::Begun;
use begun::Unmarked;
use raw::Raw;

/// Compressed bytes that are read in one go.
const BUFFER: usize = 1 << 16;

/// Returns the sentence of an error about a file that cannot be read.
pub fn cannot_read(path: &Path) -> String {
    format!("cannot read {}", path.display())
}

/// Opens a file and returns its decompressed content, without a byte order mark; `-` stands for
/// stdin. `monitor` counts the bytes read, as they are in the file.
///
/// A file that is cut short or damaged gives an error where the content ends, never the end of the
/// content. A zip archive has to have a single file. Warnings name the file.
///
/// # Errors
/// If the file cannot be opened, or if its start is damaged. Neither these errors nor those of reading
/// name the file.
pub fn open(path: &Path, monitor: &Monitor) -> Result<Box<dyn Read + Send>> {
    if path == Path::new("-") {
        return decompressed(Box::new(io::stdin()), "stdin", monitor);
    }
    let raw = Box::new(File::open(path)?);
    let archive = || path.is_file().then(|| File::open(path)).transpose();
    content(raw, &path.display().to_string(), monitor, archive)
}

/// Returns the decompressed content of what `raw` reads, without a byte order mark, as [`open`] does.
/// `name` stands before warnings.
///
/// # Errors
/// As of [`open`].
///
/// # Examples
/// ```
/// use std::io::Read;
///
/// use files::Monitor;
///
/// let raw: &[u8] = b"\xef\xbb\xbftimestamp,value\n";
/// let mut text = String::new();
/// let mut content = files::decompressed(Box::new(raw), "points.csv", &Monitor::default())?;
/// content.read_to_string(&mut text)?;
/// assert_eq!(text, "timestamp,value\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn decompressed(
    raw: Box<dyn Read + Send>,
    name: &str,
    monitor: &Monitor,
) -> Result<Box<dyn Read + Send>> {
    content(raw, name, monitor, || Ok(None))
}

/// As [`decompressed`]. `archive` opens the file again, if that is possible, for zip.
fn content(
    raw: Box<dyn Read + Send>,
    name: &str,
    monitor: &Monitor,
    archive: impl FnOnce() -> io::Result<Option<File>>,
) -> Result<Box<dyn Read + Send>> {
    let mut raw = Raw::new(raw, monitor.clone());
    let (name, warnings) = (name.to_owned(), monitor.clone());
    let warn = move |sentence: &str| warnings.warn(&format!("{name}: {sentence}"));
    let content = match raw.codec()? {
        Codec::Zip => {
            let content = archive::open(seekable(archive()?, raw)?, monitor)?;
            let mut content = Raw::new(content, Monitor::default());
            let codec = content.codec()?;
            content_of(content, codec, warn)
        }
        codec => content_of(raw, codec, warn),
    };
    Ok(Box::new(Unmarked::new(content?)))
}

/// Returns `file`, or else a temporary one with the content of `raw`.
fn seekable(file: Option<File>, mut raw: Raw) -> Result<File> {
    if let Some(file) = file {
        return Ok(file);
    }
    let mut spool = || {
        let mut file = tempfile::tempfile()?;
        copy(&mut raw, &mut file)?;
        io::Result::Ok(file)
    };
    spool().context("a zip archive that comes through a pipe is kept in a temporary file")
}

fn buffered(raw: Raw) -> BufReader<Raw> {
    BufReader::with_capacity(BUFFER, raw)
}

fn content_of(
    raw: Raw,
    codec: Codec,
    warn: impl FnMut(&str) + Send + 'static,
) -> Result<Box<dyn Read + Send>> {
    match codec {
        Codec::Plain => Ok(Box::new(raw)),
        Codec::Gzip => Ok(Box::new(decoding::gzip(buffered(raw), warn))),
        Codec::Bzip2 => Ok(Box::new(decoding::bzip2(buffered(raw), warn))),
        Codec::Xz => Ok(Box::new(Decoding::new(
            "xz",
            XzDecoder::new_multi_decoder(Counted::new(buffered(raw))),
            XzDecoder::get_ref,
        ))),
        Codec::Zstd => {
            let mut decoder = zstd::Decoder::with_buffer(Counted::new(buffered(raw)))?;
            decoder.window_log_max(ZSTD_WINDOW_LOG)?;
            Ok(Box::new(Decoding::new(
                "zstd",
                decoder,
                zstd::Decoder::get_ref,
            )))
        }
        Codec::Zip => bail!("it is a zip archive in a zip archive: unpack it first"),
        Codec::Unsupported(name) => bail!(
            "it is compressed by {name}: decompress it first, or compress it by gzip, zstd, xz, bzip2 or zip"
        ),
    }
}
