//! FASTA or FASTQ, by the first bytes of a text.

use super::letters::is_blank;
use super::problem::{Problem, Refused};
use crate::text::BYTE_ORDER_MARK;

/// The format of a text's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordFormat {
    Fasta,
    Fastq,
}

impl RecordFormat {
    /// Returns the format of a text that begins with `start`, without a byte order mark, or `None`
    /// if more of the text has to be read.
    pub(super) fn of(start: &[u8]) -> Result<Option<RecordFormat>, Refused> {
        let is_text = |byte: &&u8| **byte != b'\n' && !is_blank(**byte);
        let Some(first) = start.iter().position(|byte| is_text(&byte)) else {
            return Ok(None);
        };
        let problem = match start[first] {
            b'>' => return Ok(Some(RecordFormat::Fasta)),
            b'@' => return Ok(Some(RecordFormat::Fastq)),
            b';' => Problem::Comment,
            other => Problem::NoFormat(other),
        };
        let blank = &start[..first];
        let lines = blank.iter().filter(|byte| **byte == b'\n').count() as u64;
        Err(Refused { problem, lines })
    }
}

/// Returns the text without a byte order mark.
pub(super) fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}
