//! The single file of a zip archive.

use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom};

use anyhow::{Context, Result, anyhow, bail};
use crc32fast::Hasher;
use flate2::bufread::DeflateDecoder;
use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

use super::BUFFER;
use super::raw::Raw;
use crate::Monitor;
use crate::decoding::{Counted, Decoding};
use crate::text::shortened;

/// Names that an error lists.
const LISTED: usize = 10;

/// Characters of a name that an error shows.
const SHOWN: usize = 100;

/// Returns the content of the file in the archive. Its compressed bytes are added to `monitor`.
///
/// The crate zip finds the file. It is decompressed here, since the crate's reader borrows the
/// archive.
pub fn open(mut file: File, monitor: &Monitor) -> Result<Box<dyn Read + Send>> {
    let entry = Entry::find(&file).map_err(said)?;
    if entry.is_encrypted {
        bail!(
            "{} in the zip archive is encrypted: unpack it first",
            entry.name
        );
    }
    file.seek(SeekFrom::Start(entry.start))?;
    let raw = Raw::new(Box::new(file.take(entry.compressed_size)), monitor.clone());
    let raw = BufReader::with_capacity(BUFFER, raw);
    let raw = Counted::starting_at(entry.start, raw);
    let inner = match entry.method {
        CompressionMethod::Stored => Inner::Stored(raw),
        CompressionMethod::Deflated => Inner::Deflated(DeflateDecoder::new(raw)),
        method => bail!(
            "{} in the zip archive is compressed by {method}, not by Deflate: unpack it first",
            entry.name
        ),
    };
    let checked = Checked {
        inner,
        crc: Hasher::new(),
        size: entry.size,
        expected_crc: entry.crc,
    };
    Ok(Box::new(Decoding::new("zip", checked, Checked::raw)))
}

/// The place of a file in the archive.
struct Entry {
    name: String,
    start: u64,
    compressed_size: u64,
    size: u64,
    crc: u32,
    method: CompressionMethod,
    is_encrypted: bool,
}

impl Entry {
    fn find(file: &File) -> Result<Entry> {
        let mut archive = ZipArchive::new(BufReader::new(file))?;
        let (mut member, mut names) = (None, Vec::new());
        for index in 0..archive.len() {
            let entry = archive.by_index_raw(index)?;
            let name = String::from_utf8_lossy(entry.name_raw()).into_owned();
            // macOS puts attributes of files there.
            if entry.is_dir() || name.starts_with("__MACOSX/") {
                continue;
            }
            let name = shortened(&name.escape_debug().to_string(), SHOWN);
            names.push(name.clone());
            member = Some(Entry {
                name,
                start: entry.data_start().context("it has no place")?,
                compressed_size: entry.compressed_size(),
                size: entry.size(),
                crc: entry.crc32(),
                method: entry.compression(),
                is_encrypted: entry.encrypted(),
            });
        }
        match (member, names.len()) {
            (None, _) => bail!("the zip archive has no file: name the file itself"),
            _ if archive.has_duplicate_names() => bail!(
                "the zip archive has several entries of the same name, of which a reader finds only \
                 one: unpack it and name the file to read"
            ),
            (Some(entry), 1) => Ok(entry),
            (_, count) => {
                let more = match count.saturating_sub(LISTED) {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                names.truncate(LISTED);
                bail!(
                    "the zip archive has {count} files, not one: {}{more}; unpack it and name the file \
                     to read",
                    names.join(", ")
                )
            }
        }
    }
}

/// An error of the crate zip as a sentence.
fn said(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<ZipError>() {
        Some(ZipError::Io(cause)) if cause.raw_os_error().is_some() => error,
        Some(_) => {
            anyhow!("the zip archive is cut short or damaged ({error}): copy or download it again")
        }
        None => error,
    }
}

type Compressed = Counted<BufReader<Raw>>;

enum Inner {
    Stored(Compressed),
    Deflated(DeflateDecoder<Compressed>),
}

/// Checks the size and the checksum at the end.
struct Checked {
    inner: Inner,
    crc: Hasher,
    /// The size that the archive states, less the bytes that were read.
    size: u64,
    expected_crc: u32,
}

impl Checked {
    fn raw(&self) -> &Compressed {
        match &self.inner {
            Inner::Stored(raw) => raw,
            Inner::Deflated(decoder) => decoder.get_ref(),
        }
    }
}

impl Read for Checked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = match &mut self.inner {
            Inner::Stored(raw) => raw.read(buffer)?,
            Inner::Deflated(decoder) => decoder.read(buffer)?,
        };
        self.crc.update(&buffer[..count]);
        let damaged = |what| Err(io::Error::new(ErrorKind::InvalidData, what));
        match self.size.checked_sub(count as u64) {
            Some(rest) => self.size = rest,
            None => return damaged("it has more bytes than the archive says"),
        }
        if count == 0 && !buffer.is_empty() {
            if self.size > 0 {
                return damaged("it has fewer bytes than the archive says");
            }
            if self.crc.clone().finalize() != self.expected_crc {
                return damaged("the checksum differs");
            }
        }
        Ok(count)
    }
}
