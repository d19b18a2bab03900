//! Files that appear whole or not at all.

mod npy;
mod temporary;

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use rayon::prelude::*;

pub use npy::NpyFile;
use temporary::TemporaryFile;

/// Texts for each thread that are in memory together.
const TEXTS_PER_THREAD: usize = 4;

/// A temporary file that is renamed to its path once it is complete. If it is dropped before, or if
/// the program is interrupted, the temporary file is removed.
pub struct OutputFile {
    path: PathBuf,
    temporary: TemporaryFile,
}

impl OutputFile {
    /// Begins a file.
    pub fn create(path: &Path) -> Result<OutputFile> {
        let create = || {
            // A pipe or a device would be replaced by the new file.
            if path.exists() && !path.is_file() {
                bail!("it is not a file");
            }
            let folder = path.parent().filter(|folder| *folder != Path::new(""));
            Ok(OutputFile {
                path: path.into(),
                temporary: TemporaryFile::create(folder.unwrap_or(Path::new(".")))?,
            })
        };
        create().map_err(|error| cannot_write(path, error))
    }

    /// Adds to the file what `write` writes.
    pub fn write(&mut self, write: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
        write(self.temporary.as_file_mut()).map_err(|error| cannot_write(&self.path, error))
    }

    /// Adds the texts 0 to `count`, which all threads make, a few at a time. `progress` is called
    /// with the number of those that are in the file.
    pub fn write_texts(
        &mut self,
        count: usize,
        text: impl Fn(usize) -> Vec<u8> + Sync,
        progress: impl Fn(usize) + Sync,
    ) -> Result<()> {
        let together = TEXTS_PER_THREAD * rayon::current_num_threads();
        let make = |start: usize| -> Vec<Vec<u8>> {
            let wave = start..count.min(start + together);
            wave.into_par_iter().map(&text).collect()
        };
        self.write(|file| {
            let (mut start, mut texts) = (0, make(0));
            while start < count {
                let next = start + together;
                // The next texts are made while these are written.
                let write = || texts.iter().try_for_each(|text| file.write_all(text));
                let (written, made) = rayon::join(write, || make(next.min(count)));
                written?;
                progress(next.min(count));
                (start, texts) = (next, made);
            }
            Ok(())
        })
    }

    /// Puts the file in its place, on the disk for good.
    pub fn publish(self) -> Result<()> {
        let OutputFile { path, temporary } = self;
        let published = temporary.publish(&path);
        published.map_err(|error| cannot_write(&path, error.into()))
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
    error.context(format!("cannot write {}", path.display()))
}
