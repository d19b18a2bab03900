//! Files that appear whole or not at all, and standard output.

mod distance_table;
mod distinct;
mod format;
mod npy;
mod picture;
mod place;
mod sink;
mod space;
mod temporary;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use rayon::prelude::*;

pub use distance_table::{DistanceTable, add_name};
pub use distinct::check_outputs;
pub use format::{Compression, Format, endings};
pub use npy::NpyFile;
use place::Place;
use sink::Sink;
pub use temporary::TemporaryFile;

use crate::report;

/// The most characters without a font that a warning names.
const CHARACTERS_SHOWN: usize = 10;

/// Texts for each thread that are in memory together.
const TEXTS_PER_THREAD: usize = 4;

/// A temporary file that is renamed to its path once it is complete, compressed if its name ends in
/// .gz or .zst. If it is dropped before, or if the program is interrupted, the temporary file is
/// removed. Or else a pipe, a device or standard output, which takes the bytes as they come.
pub struct OutputFile {
    /// The name that was given, for errors and for what it says.
    path: PathBuf,
    place: Place,
    sink: Sink,
}

impl OutputFile {
    /// Begins a file.
    pub fn create(path: &Path) -> Result<OutputFile> {
        let create = || {
            let place = Place::of(path)?;
            let (_, compression) = endings(path);
            if place == Place::Stdout {
                report::leave_stdout();
            }
            Ok(OutputFile {
                path: path.into(),
                sink: Sink::create(&place, compression)?,
                place,
            })
        };
        create().map_err(|error| cannot_write(path, error))
    }

    /// Adds to the file what `write` writes.
    pub fn write(&mut self, write: impl FnOnce(&mut Sink) -> Result<()>) -> Result<()> {
        write(&mut self.sink).map_err(|error| cannot_write(&self.path, error))
    }

    /// Adds bytes to the file.
    pub fn write_all(&mut self, bytes: &[u8]) -> Result<()> {
        self.write(|file| Ok(file.write_all(bytes)?))
    }

    /// Adds a picture, as PNG if the name of the file says so. A warning names the characters that no
    /// font has.
    pub fn write_picture(&mut self, svg: &str) -> Result<()> {
        match endings(&self.path).0.as_deref() {
            Some("png") => {
                let png = picture::png(svg).map_err(|error| cannot_write(&self.path, error))?;
                if !png.missing.is_empty() {
                    self.warn_of_missing(&png.missing);
                }
                self.write_all(&png.bytes)
            }
            _ => self.write_all(svg.as_bytes()),
        }
    }

    #[cold]
    fn warn_of_missing(&self, missing: &BTreeSet<char>) {
        let (path, count) = (self.path.display(), missing.len());
        let name = |c: &char| format!("{c} (U+{:04X})", u32::from(*c));
        let mut names: Vec<_> = missing.iter().take(CHARACTERS_SHOWN).map(name).collect();
        if count > CHARACTERS_SHOWN {
            names.push(format!("{} more", count - CHARACTERS_SHOWN));
        }
        report::warn(&format!(
            "{path} has boxes in place of characters that no font here has: {}: install a font that has \
             them, or write an SVG picture, which is drawn with the fonts of the reader",
            names.join(", ")
        ));
    }

    /// Adds the texts 0 to `count`, which all threads make, a few at a time. `progress` is called
    /// with the number of those that are in the file.
    pub fn write_texts(
        &mut self,
        count: usize,
        text: &(dyn Fn(usize) -> Vec<u8> + Sync),
        progress: &(dyn Fn(usize) + Sync),
    ) -> Result<()> {
        let together = TEXTS_PER_THREAD * rayon::current_num_threads();
        let make = |start: usize| -> Vec<Vec<u8>> {
            let wave = start..count.min(start + together);
            wave.into_par_iter().map(text).collect()
        };
        self.write(|file| {
            let (mut start, mut texts) = (0, make(0));
            while start < count {
                let next = start + together;
                // The next texts are made while these are written.
                let write = || texts.iter().try_for_each(|text| file.write_all(text));
                let (written, next_texts) = rayon::join(write, || make(next.min(count)));
                written?;
                progress(next.min(count));
                (start, texts) = (next, next_texts);
            }
            Ok(())
        })
    }

    /// Puts the file in its place, once its content is on the disk.
    pub fn publish(self) -> Result<()> {
        let OutputFile { path, place, sink } = self;
        let published = sink.publish(&place);
        published.map_err(|error| cannot_write(&path, error.into()))
    }

    /// Returns the file itself, if it has the bytes as they were written.
    fn plain_file(&mut self) -> Option<&mut File> {
        self.sink.plain_file()
    }
}

#[cold]
fn cannot_write(path: &Path, error: anyhow::Error) -> anyhow::Error {
    let kind = error.downcast_ref().map(io::Error::kind);
    let remedy = match kind {
        Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded) => {
            Some("free some space there, or name a file on another disk")
        }
        Some(ErrorKind::FileTooLarge) => {
            Some("raise the limit of files (ulimit -f), or name a file on another disk")
        }
        _ => None,
    };
    let error = match remedy {
        Some(remedy) => anyhow!("{error}: {remedy}"),
        None => error,
    };
    let name = match path == Path::new("-") {
        true => "standard output".into(),
        false => path.display().to_string(),
    };
    error.context(format!("cannot write {name}"))
}
