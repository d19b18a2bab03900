//! Messages on standard error.

use log::{Level, LevelFilter, Log, Metadata, Record};

struct Stderr;

impl Log for Stderr {
    fn enabled(&self, metadata: &Metadata) -> bool {
        // Ballista informs of much that only its developers need, and so do the libraries below.
        let target = metadata.target();
        let quiet = log::max_level() < LevelFilter::Debug;
        target.starts_with("gridstride")
            || target.starts_with("ballista") && (!quiet || metadata.level() <= Level::Warn)
    }

    fn log(&self, record: &Record) {
        if self.enabled(record.metadata()) {
            eprintln!("{}: {}", record.level(), record.args());
        }
    }

    fn flush(&self) {}
}

/// The names of levels, the fewest messages first.
pub const LEVELS: [&str; 4] = ["error", "warn", "info", "debug"];

/// Writes messages of a [level](LEVELS) and more important ones to standard error. Another text is no
/// level and means none.
pub fn log_to_stderr(level: &str) {
    // An error means that a logger is set already.
    let _ = log::set_logger(&Stderr);
    log::set_max_level(level.parse().unwrap_or(LevelFilter::Off));
}
