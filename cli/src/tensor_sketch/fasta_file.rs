//! Whole FASTA files.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result};
use files::{Monitor, open};
use gridstride::tensor_sketch::{Alphabet, Unknown};

use super::fasta::{Parser, Sequence};

/// Bytes of text that are parsed in one go.
const BLOCK: usize = 1 << 20;

/// Reads all records of a file, and calls `visit` with their letters, in parts, sequence after
/// sequence. `monitor` follows the reading.
///
/// # Errors
/// If the file cannot be read, if it is not FASTA, or if `visit` fails. All errors name the file, and
/// errors in the text also name the record.
pub fn read_records(
    path: &Path,
    alphabet: Alphabet,
    unknown: Unknown,
    monitor: &Monitor,
    visit: impl FnMut(&[u8], Sequence) -> Result<()>,
) -> Result<()> {
    let read = || read_blocks(path, alphabet, unknown, monitor, visit);
    read().with_context(|| format!("cannot read {}", path.display()))
}

fn read_blocks(
    path: &Path,
    alphabet: Alphabet,
    unknown: Unknown,
    monitor: &Monitor,
    mut visit: impl FnMut(&[u8], Sequence) -> Result<()>,
) -> Result<()> {
    let mut parser = Parser::new(alphabet, unknown, false);
    let mut text = open(path, monitor)?;
    let mut block = Vec::new();
    loop {
        block.clear();
        let outcome = text.by_ref().take(BLOCK as u64).read_to_end(&mut block);
        // What came before an error is parsed first, so that the error names its record.
        if !block.is_empty() {
            parser.text(path, &block)?;
        }
        let is_end = !matches!(outcome, Ok(1..));
        if is_end {
            parser.end_file(outcome.map(|_| ()).map_err(Into::into))?;
        }
        parser.take(&mut visit)?;
        if is_end {
            return Ok(());
        }
    }
}
