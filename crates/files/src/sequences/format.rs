//! FASTA or FASTQ, by the first bytes of a text.

use super::letters::is_blank;
use super::problem::{Problem, Refused};

/// How the records of a text are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Fasta,
    Fastq,
}

/// The byte order mark of UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

impl Format {
    /// Returns the format of a text that begins with `start`, without a byte order mark, or `None`
    /// if more of the text has to be read.
    pub(super) fn of(start: &[u8]) -> Result<Option<Format>, Refused> {
        let is_text = |byte: &&u8| **byte != b'\n' && !is_blank(**byte);
        let Some(first) = start.iter().position(|byte| is_text(&byte)) else {
            return Ok(None);
        };
        let problem = match start[first] {
            b'>' => return Ok(Some(Format::Fasta)),
            b'@' => return Ok(Some(Format::Fastq)),
            b';' => Problem::Comment,
            other => Problem::NoFormat(other),
        };
        let blank = &start[..first];
        let lines = blank.iter().filter(|byte| **byte == b'\n').count() as u64;
        Err(Refused { problem, lines })
    }
}

/// Whether a text begins with either byte order mark of UTF-16, or with a sign of 16 bits in either
/// order.
pub(super) fn is_utf16(text: &[u8]) -> bool {
    matches!(
        text,
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [_, 0, ..] | [0, ..]
    )
}

/// Returns the text without a byte order mark.
pub(super) fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(MARK).unwrap_or(text)
}
