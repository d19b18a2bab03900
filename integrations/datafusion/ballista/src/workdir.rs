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
        // Executors start one by one: none sees a folder that another has made and not locked yet.
        let start = File::open(base)?;
        start.lock()?;
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
        remove(&self.path);
    }
}

/// Removes a folder. One that stays, such as another user's, is no reason to fail.
fn remove(folder: &Path) {
    if let Err(error) = fs::remove_dir_all(folder) {
        log::warn!("{} could not be removed: {error}", folder.display());
    }
}

fn remove_stale(base: &Path) -> Result<()> {
    for entry in fs::read_dir(base)? {
        let entry = entry?;
        let ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if !ours || !entry.file_type()?.is_dir() {
            continue;
        }
        // A folder without a lock file that can be read is not known to be dead.
        let Ok(lock) = File::open(entry.path().join(LOCK)) else {
            continue;
        };
        match lock.try_lock() {
            Ok(()) => remove(&entry.path()),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => {
                log::warn!("{} could not be locked: {error}", entry.path().display());
            }
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

    /// Many executors that start and end at once keep their folders, and none of them fails.
    #[test]
    fn executors_that_start_together_do_not_disturb_each_other() {
        let base = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let base = base.path();
                scope.spawn(move || {
                    for turn in 0..100 {
                        let folder = WorkDir::create(base, &format!("{thread}-{turn}")).unwrap();
                        assert!(folder.path().join(LOCK).exists());
                    }
                });
            }
        });
    }
}
