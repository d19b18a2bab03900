//! The destination of an output.

use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

/// The destination of an output.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// To a regular file, which there may already be: a path in a folder without links, and not
    /// itself a symbolic link, since the link would be replaced instead of its target.
    File(PathBuf),
    /// To a pipe or a device of characters.
    Stream(PathBuf),
    /// To standard output, as - and /dev/stdout say.
    Stdout,
}

/// Symbolic links that a path may go through, as many as Linux follows.
const LINKS: usize = 40;

impl Place {
    /// Finds the place of a path.
    ///
    /// # Errors
    /// If the folder does not exist, or if the path names a folder or a disk.
    pub fn of(path: &Path) -> Result<Place> {
        if path == Path::new("-") {
            return Ok(Place::Stdout);
        }
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
            let is_of_descriptors = is_of_descriptors(&folder);
            if is_of_descriptors && name == "1" {
                return Ok(Place::Stdout);
            }
            path = folder.join(name);
            // A file that is open as a descriptor seems to be a link to a regular file.
            if is_of_descriptors {
                return Ok(Place::Stream(path));
            }
            if let Ok(target) = fs::read_link(&path) {
                path = folder.join(target);
                continue;
            }
            // The folder /dev/shm holds regular files.
            let is_special = ["/dev", "/proc"]
                .iter()
                .any(|root| folder.starts_with(root))
                && !folder.starts_with("/dev/shm");
            return match fs::metadata(&path) {
                // A pipe or a device would be replaced by the new file.
                Ok(file) if is_stream(&file) => Ok(Place::Stream(path)),
                Ok(file) if !file.is_file() => bail!("it is not a file"),
                // Such as a name that is too long.
                Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
                _ if is_special => bail!("it is not a file"),
                _ => Ok(Place::File(path)),
            };
        }
        bail!("it is a symbolic link to itself")
    }
}

/// Whether a folder, which has no links in it, has the descriptors of the process.
fn is_of_descriptors(folder: &Path) -> bool {
    folder == "/dev/fd" || folder.starts_with("/proc") && folder.ends_with("fd")
}

#[cfg(unix)]
fn is_stream(file: &Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;

    let kind = file.file_type();
    kind.is_fifo() || kind.is_char_device()
}

#[cfg(not(unix))]
fn is_stream(_: &Metadata) -> bool {
    false
}

/// Returns the folder of a path, which is the current one if the path is a mere name.
pub fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    folder.unwrap_or(Path::new("."))
}
