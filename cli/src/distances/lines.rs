//! Files with a line for each row or sequence.

use std::path::Path;

use anyhow::{Context, Result};
use files::Monitor;
use program::report::warn;

/// Reads the lines of a file. Each is `what`, and there should be about `expected` of them.
pub fn read_lines(path: &Path, what: &str, expected: usize) -> Result<Vec<String>> {
    // Many more are another file, which may be too large for the memory.
    let most = expected.saturating_mul(2).saturating_add(1000);
    let monitor = Monitor::new(|_| (), warn);
    let lines = files::lines::read(path, what, most, &monitor);
    lines.with_context(|| format!("cannot read {}", path.display()))
}
