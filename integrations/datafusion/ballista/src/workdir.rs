//! The folder of an executor's files: removed at its exit, and by the next executor if it was killed.

use std::fs::{self, File, TryLockError};
use std::io::Result;
use std::path::{Path, PathBuf};

const PREFIX: &str = "gridstride-executor-";
const LOCK: &str = "lock";

/// A folder that belongs to one executor process and is removed when this value is dropped.
#[derive(Debug)]
pub(crate) struct WorkDir {
    path: PathBuf,
    /// Locked while the process lives. The system releases the lock of a killed process.
    _lock: File,
}

impl WorkDir {
    /// Makes a folder in `base`, after removing those of processes that no longer live.
    pub(crate) fn create(base: &Path, name: &str) -> Result<Self> {
        fs::create_dir_all(base)?;
        remove_stale(base)?;
        let path = base.join(format!("{PREFIX}{name}"));
        fs::create_dir(&path)?;
        let lock = File::create(path.join(LOCK))?;
        lock.lock()?;
        Ok(Self { path, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for WorkDir {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.path) {
            log::warn!("{} could not be removed: {error}", self.path.display());
        }
    }
}

fn remove_stale(base: &Path) -> Result<()> {
    for entry in fs::read_dir(base)? {
        let entry = entry?;
        let ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if !ours || !entry.file_type()?.is_dir() {
            continue;
        }
        // Without a lock file, another process is just making the folder.
        let Ok(lock) = File::open(entry.path().join(LOCK)) else {
            continue;
        };
        match lock.try_lock() {
            Ok(()) => fs::remove_dir_all(entry.path())?,
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_its_folder_and_those_of_the_dead_only() {
        let base = tempfile::tempdir().unwrap();
        let dead = base.path().join(format!("{PREFIX}dead"));
        fs::create_dir(&dead).unwrap();
        File::create(dead.join(LOCK)).unwrap();
        let others = base.path().join("notes");
        fs::create_dir(&others).unwrap();

        let first = WorkDir::create(base.path(), "1").unwrap();
        let second = WorkDir::create(base.path(), "2").unwrap();
        assert!(!dead.exists());
        assert!(others.exists() && first.path().exists() && second.path().exists());
        let path = first.path().to_owned();
        drop(first);
        assert!(!path.exists() && second.path().exists());
    }
}
