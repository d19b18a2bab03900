//! The summary of `--generate`.

use std::fmt::{Result, Write};
use std::path::Path;

use anyhow::bail;
use program::report::Summary;
use serde::Serialize;

/// Files that were made, of so many rows each.
#[derive(Serialize)]
pub struct Generated {
    pub rows: u64,
    pub files: Vec<String>,
    pub seed: u64,
    /// The summary as text, without the line's end.
    #[serde(skip)]
    pub text: String,
}

/// Refuses files that exist, which test data does not replace without `--force`.
pub fn refuse_existing(paths: &[&Path], force: bool) -> anyhow::Result<()> {
    match paths.iter().find(|path| path.is_file()) {
        Some(path) if !force => bail!(
            "{} exists already: --force replaces it, or choose another name",
            path.display()
        ),
        _ => Ok(()),
    }
}

impl Summary for Generated {
    fn write_table(&self, text: &mut String) -> Result {
        writeln!(text, "{}", self.text)
    }
}
