//! Outputs that a disk cannot hold.

use std::fs::File;

use anyhow::{Context, Result, bail};

use super::{OutputFile, cannot_write};

impl OutputFile {
    /// Refuses an output of `bytes` or more for which the disk has no space, before any of it is
    /// computed. `remedy` says how the output becomes smaller. Pipes, and compressed files, whose
    /// size is not known before, are not refused.
    pub fn require_space(&mut self, bytes: f64, remedy: &str) -> Result<()> {
        let Some(free) = self.plain_file().and_then(|file| free_space(file)) else {
            return Ok(());
        };
        check(bytes, free as f64, remedy).map_err(|error| cannot_write(&self.path, error))
    }
}

/// As [`OutputFile::require_space`], for a temporary file that takes the bytes as they are.
pub fn require_temporary_space(file: &File, bytes: f64, remedy: &str) -> Result<()> {
    match free_space(file) {
        Some(free) => check(bytes, free as f64, remedy).context("cannot write a temporary file"),
        None => Ok(()),
    }
}

fn check(bytes: f64, free: f64, remedy: &str) -> Result<()> {
    let gib = |bytes: f64| bytes / f64::from(1 << 30);
    if bytes > free {
        bail!(
            "the result takes at least {:.1} GiB, and the disk has {:.1} GiB free: {remedy}, free some \
             space there, or name a file on another disk",
            gib(bytes),
            gib(free)
        );
    }
    Ok(())
}

/// Returns the bytes that the disk of a file has for this user, if the system tells: within quotas
/// of the folder where the file system counts them.
#[cfg(unix)]
fn free_space(file: &File) -> Option<u64> {
    let disk = rustix::fs::fstatvfs(file).ok()?;
    // Some file systems of networks have no size.
    let is_known = disk.f_blocks > 0;
    is_known.then(|| disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(not(unix))]
fn free_space(_: &File) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn results_larger_than_the_disk_are_refused() {
        let gib = f64::from(1 << 30);
        check(2.0 * gib, 2.0 * gib, "lower --limit").unwrap();
        let said = check(2.5 * gib, 2.0 * gib, "lower --limit").unwrap_err();
        let expected = "the result takes at least 2.5 GiB, and the disk has 2.0 GiB free: lower \
                        --limit, free some space there, or name a file on another disk";
        assert_eq!(said.to_string(), expected);
    }
}
