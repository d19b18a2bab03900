//! Writers of an output's bytes.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, IsTerminal, Write};

use anyhow::Result;
use flate2::write::GzEncoder;

use super::format::Compression;
use super::place::{Place, folder_of};
use super::temporary::TemporaryFile;

/// Writes the bytes of an output, compressed or as they are.
pub enum Sink {
    Plain(Raw),
    Gzip(GzEncoder<Raw>),
    Zstd(zstd::Encoder<'static, Raw>),
}

/// A file that is not in its place yet, or a stream.
pub enum Raw {
    File(TemporaryFile),
    Stream { file: File, is_closed: bool },
}

impl Sink {
    /// Begins an output.
    pub fn create(place: &Place, compression: Compression) -> Result<Sink> {
        let stream = |file| Raw::Stream {
            file,
            is_closed: false,
        };
        let raw = match place {
            Place::File(path) => Raw::File(TemporaryFile::create(folder_of(path), path)?),
            Place::Stream(path) => stream(OpenOptions::new().write(true).open(path)?),
            Place::Stdout => stream(stdout()?),
        };
        Ok(match compression {
            Compression::Plain => Sink::Plain(raw),
            Compression::Gzip => Sink::Gzip(GzEncoder::new(raw, flate2::Compression::default())),
            Compression::Zstd => {
                Sink::Zstd(zstd::Encoder::new(raw, zstd::DEFAULT_COMPRESSION_LEVEL)?)
            }
        })
    }

    /// Returns the file itself, if it has the bytes as they were written.
    pub fn plain_file(&mut self) -> Option<&mut File> {
        match self {
            Sink::Plain(Raw::File(file)) => Some(file.as_file_mut()),
            _ => None,
        }
    }

    /// Whether the bytes would appear on a screen.
    pub fn is_terminal(&self) -> bool {
        let raw = match self {
            Sink::Plain(raw) => raw,
            Sink::Gzip(encoder) => encoder.get_ref(),
            Sink::Zstd(encoder) => encoder.get_ref(),
        };
        matches!(raw, Raw::Stream { file, .. } if file.is_terminal())
    }

    /// Puts a file in its place, once its content is on the disk.
    pub fn publish(self, place: &Place) -> io::Result<()> {
        let raw = match self {
            Sink::Plain(raw) => raw,
            Sink::Gzip(encoder) => encoder.finish()?,
            Sink::Zstd(encoder) => encoder.finish()?,
        };
        match (raw, place) {
            (Raw::File(file), Place::File(path)) => file.publish(path),
            _ => Ok(()),
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Sink::Plain(raw) => raw.write(bytes),
            Sink::Gzip(encoder) => encoder.write(bytes),
            Sink::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Write for Raw {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Raw::File(file) => file.as_file_mut().write(bytes),
            Raw::Stream {
                is_closed: true, ..
            } => Ok(bytes.len()),
            Raw::Stream { file, is_closed } => match file.write(bytes) {
                // Whoever reads has read enough: `| head`. Other outputs are completed.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                    *is_closed = true;
                    Ok(bytes.len())
                }
                result => result,
            },
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns standard output without the buffer of [`io::stdout`], which writes at each line's end.
fn stdout() -> io::Result<File> {
    #[cfg(unix)]
    let stdout = std::os::fd::AsFd::as_fd(&io::stdout()).try_clone_to_owned();
    #[cfg(windows)]
    let stdout = std::os::windows::io::AsHandle::as_handle(&io::stdout()).try_clone_to_owned();
    stdout.map(File::from)
}
