//! The summary of `--generate`.

use std::fmt::{Result, Write};

use serde::Serialize;

use super::report::Summary;

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

impl Summary for Generated {
    fn write_table(&self, text: &mut String) -> Result {
        writeln!(text, "{}", self.text)
    }
}
