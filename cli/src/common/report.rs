//! Progress and times, and what is printed.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use indicatif::ProgressBar;

/// Adds the time that `work` takes.
pub fn timed<V>(sum: &mut Duration, work: impl FnOnce() -> V) -> V {
    let start = Instant::now();
    let value = work();
    *sum += start.elapsed();
    value
}

pub fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// A bar on stderr, which indicatif draws only on a terminal, unless `total` is below `long`.
pub fn bar(total: u64, long: u64) -> ProgressBar {
    match total < long {
        true => ProgressBar::hidden(),
        false => ProgressBar::new(total),
    }
}

/// The bytes of all those files that have a size.
pub fn total_size(paths: impl IntoIterator<Item: AsRef<Path>>) -> u64 {
    let size = |path: &Path| path.metadata().map_or(0, |metadata| metadata.len());
    paths.into_iter().map(|path| size(path.as_ref())).sum()
}

/// How a program ends that did this; an error is printed on stderr.
pub fn exit_code(done: Result<()>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Prints `text` on stdout.
pub fn print(text: &str) -> Result<()> {
    match io::stdout().write_all(text.as_bytes()) {
        // Whoever reads has read enough: `| head`.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot write to stdout"),
    }
}

/// The most memory that this process has had, as the end of a line, where the system tells (Linux).
pub fn peak_memory() -> String {
    let peak = || {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kibibytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(format!("; peak memory {:.1} MiB", kibibytes / 1024.0))
    };
    peak().unwrap_or_default()
}
