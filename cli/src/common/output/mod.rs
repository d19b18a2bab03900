//! Files that appear whole or not at all.

mod distance_table;
mod distinct;
mod npy;
mod temporary;

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use rayon::prelude::*;

pub use distance_table::{DistanceTable, add_name};
pub use distinct::check_distinct;
pub use npy::NpyFile;
use temporary::TemporaryFile;

/// Texts for each thread that are in memory together.
const TEXTS_PER_THREAD: usize = 4;

/// A temporary file that is renamed to its path once it is complete. If it is dropped before, or if
/// the program is interrupted, the temporary file is removed.
pub struct OutputFile {
    /// The name that was given, for errors.
    path: PathBuf,
    /// The file itself, if the name is that of a symbolic link.
    target: PathBuf,
    temporary: TemporaryFile,
}

impl OutputFile {
    /// Begins a file.
    pub fn create(path: &Path) -> Result<OutputFile> {
        let create = || {
            let target = resolve(path)?;
            Ok(OutputFile {
                path: path.into(),
                temporary: TemporaryFile::create(folder_of(&target), &target)?,
                target,
            })
        };
        create().map_err(|error| cannot_write(path, error))
    }

    /// Adds to the file what `write` writes.
    pub fn write(&mut self, write: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
        write(self.temporary.as_file_mut()).map_err(|error| cannot_write(&self.path, error))
    }

    /// Adds bytes to the file.
    pub fn write_all(&mut self, bytes: &[u8]) -> Result<()> {
        self.write(|file| Ok(file.write_all(bytes)?))
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

    /// Puts the file in its place, once its content is on the disk.
    pub fn publish(self) -> Result<()> {
        let OutputFile {
            path,
            target,
            temporary,
        } = self;
        let published = temporary.publish(&target);
        published.map_err(|error| cannot_write(&path, error.into()))
    }
}

/// Symbolic links that a path may go through, as many as Linux follows.
const LINKS: usize = 40;

/// Returns the path of the file that an output replaces: in a folder without links, and not itself
/// a symbolic link, since the link would be replaced instead of its target.
///
/// # Errors
/// If the folder does not exist, or if the path cannot name a regular file.
fn resolve(path: &Path) -> Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        let Some(name) = path.file_name() else {
            bail!("it is not a file");
        };
        // `out/` and `out/.` name a folder.
        if !(path.as_os_str().as_encoded_bytes()).ends_with(name.as_encoded_bytes()) {
            bail!("it is not a file");
        }
        let folder = fs::canonicalize(folder_of(&path))?;
        // What is open as a descriptor seems to be a link to a regular file. The folder /dev/shm
        // holds regular files.
        let is_special = ["/dev", "/proc"]
            .iter()
            .any(|root| folder.starts_with(root));
        if is_special && !folder.starts_with("/dev/shm") {
            bail!("it is not a file");
        }
        path = folder.join(name);
        match fs::read_link(&path) {
            Ok(target) => path = folder.join(target),
            Err(_) => match fs::metadata(&path) {
                // A pipe or a device would be replaced by the new file.
                Ok(file) if !file.is_file() => bail!("it is not a file"),
                // Such as a name that is too long.
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
                _ => return Ok(path),
            },
        }
    }
    bail!("it is a symbolic link to itself")
}

/// Returns the folder of a path, which is the current one if the path is a mere name.
fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    folder.unwrap_or(Path::new("."))
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
