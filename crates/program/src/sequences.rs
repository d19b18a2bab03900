//! Files of sequences.

use std::path::Path;

use anyhow::{Context, Error, Result};
use files::sequences::{self, Letters, Piece, Reader};
use files::{Monitor, cannot_read};
use gridstride::sequences::{Alphabet, Unknown};

/// Returns the codes of an alphabet as letters to read.
pub fn letters(alphabet: &Alphabet, unknown: Unknown) -> Letters {
    Letters::codes(alphabet, unknown, "--unknown skip leaves such bytes out")
}

/// Reads all records of a file, and calls `visit` with their letters, piece by piece.
///
/// # Errors
/// If the file cannot be read, or if `visit` fails. All errors name the file, and errors in the text
/// also name the record and the line.
pub fn read_records(
    path: &Path,
    letters: Letters,
    monitor: &Monitor,
    mut visit: impl FnMut(Piece) -> Result<()>,
) -> Result<()> {
    let mut reader = Reader::open(letters, path, monitor);
    let mut next = || reader.next(&mut visit);
    while next().with_context(|| cannot_read(path))? {}
    Ok(())
}

/// Returns an error of reading or of a visit. That of reading names the file.
pub fn with_file(error: Error, path: &Path) -> Error {
    match error.is::<sequences::Error>() {
        true => error.context(cannot_read(path)),
        false => error,
    }
}
