//! Faults of texts with sequences.

use std::fmt;

use crate::text::{RETURN_IN_HEADER, UTF16};

/// The longest header that is read, in bytes. A longer one belongs to a file without line feeds.
pub(super) const LONGEST_HEADER: usize = 1 << 20;

/// The longest record of FASTQ that is read, in bytes: a chromosome fits, and a file without line ends is
/// refused before it fills the memory.
pub(super) const LONGEST_RECORD: usize = if cfg!(test) { 8 << 20 } else { 1 << 30 };

/// A fault of a text. Its message has the remedy.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Problem {
    /// A byte that is not a letter of the alphabet, and its place among the characters of the record,
    /// from 1.
    NotALetter {
        byte: u8,
        place: u64,
        remedy: &'static str,
    },
    /// A `>` within a line of sequence.
    HeaderWithinLine,
    /// A line that begins with `;`, or a `;` within a line of sequence.
    Comment,
    /// A line of a FASTA sequence that begins with `@`.
    FastqInFasta,
    ReturnInHeader,
    LongHeader,
    Empty,
    Utf16,
    /// The first byte, if no format begins with it.
    NoFormat(u8),
    /// The first byte of a FASTQ record that does not begin with `@`.
    NotARecord(u8),
    /// A FASTQ record whose sequence is not followed by a line that begins with `+`.
    NoPlus,
    /// The letters of a FASTQ record, and its qualities.
    Quality {
        letters: usize,
        qualities: usize,
    },
    /// The letters of a FASTQ record whose line of qualities is longer than they are by more than the
    /// longest header.
    EndlessQuality(usize),
    /// A FASTQ record of more than [`LONGEST_RECORD`] bytes.
    LongRecord,
    /// A line that begins with `+` and is longer than a header may be.
    LongPlus,
    /// The name behind the `+` of a FASTQ record that is called otherwise.
    OtherName(String),
    /// A sign of FASTA within the letters of a FASTQ record.
    SignInFastq(u8),
    /// The missing part of a FASTQ record at the end of the text.
    CutShort(&'static str),
    /// The bytes of a record for which there is no memory.
    Memory(usize),
}

impl Problem {
    /// Returns the problem as FASTQ has it, if it is written for FASTA.
    pub(super) fn in_fastq(self) -> Problem {
        match self {
            Problem::Comment => Problem::SignInFastq(b';'),
            Problem::HeaderWithinLine => Problem::SignInFastq(b'>'),
            other => other,
        }
    }
}

/// A problem that ends a text before its records are parsed.
pub(super) struct Refused {
    pub problem: Problem,
    /// Ends of lines before it, in the chunk.
    pub lines: u64,
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Refused {
        Refused { problem, lines: 0 }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::NotALetter {
                byte,
                place,
                remedy,
            } => {
                let shown = byte.escape_ascii();
                write!(f, "letter {place} is '{shown}' (byte {byte}), which is not ")?;
                match *remedy {
                    // Of text.
                    "" => f.write_str("a letter"),
                    remedy => write!(f, "in the alphabet: {remedy}"),
                }
            }
            Problem::HeaderWithinLine => f.write_str(
                "there is a '>' within a line of sequence, where a line end is missing before it or a \
                 blank stands before it: each header has to begin a line, and lines have to end with a \
                 line feed",
            ),
            Problem::Comment => f.write_str(
                "there is a ';', which begins a comment in old files: remove the comments, as by `grep \
                 -v '^;'`, and begin headers with '>'",
            ),
            Problem::FastqInFasta => f.write_str(
                "the line begins with '@', as records of FASTQ do: keep FASTA and FASTQ in different \
                 files",
            ),
            Problem::ReturnInHeader => f.write_str(RETURN_IN_HEADER),
            Problem::LongHeader => write!(
                f,
                "the header has more than {LONGEST_HEADER} bytes: shorten it, or end it with a line feed \
                 if that is missing"
            ),
            Problem::Empty => f.write_str("the file is empty"),
            Problem::Utf16 => f.write_str(UTF16),
            Problem::NoFormat(byte) => {
                let first = byte.escape_ascii();
                write!(
                    f,
                    "it is not FASTA or FASTQ: it begins with '{first}', not with '>' or '@'"
                )
            }
            Problem::NotARecord(byte) => {
                let first = byte.escape_ascii();
                write!(
                    f,
                    "a record of FASTQ begins with '@', but there is '{first}': the lines before it may \
                     be damaged or doubled"
                )
            }
            Problem::NoPlus => f.write_str(
                "the sequence is not followed by a line that begins with '+': the file may be no FASTQ, \
                 or damaged",
            ),
            Problem::Quality { letters, qualities } => write!(
                f,
                "there are {qualities} qualities for {letters} letters: copy or download the file again, \
                 or remove the record"
            ),
            Problem::EndlessQuality(letters) => write!(
                f,
                "there are more qualities than the {letters} letters, by more than {LONGEST_HEADER}: copy or \
                 download the file again, or remove the record"
            ),
            Problem::LongRecord => write!(
                f,
                "the record has more than {LONGEST_RECORD} bytes, the most of a record of FASTQ: lines have \
                 to end with a line feed, and longer sequences may be given as FASTA"
            ),
            Problem::LongPlus => write!(
                f,
                "the line that begins with '+' has more than {LONGEST_HEADER} bytes: end it with a line feed \
                 if that is missing"
            ),
            Problem::OtherName(name) => write!(
                f,
                "the line that begins with '+' names another record, {name}: the lines of two records may \
                 be mixed"
            ),
            Problem::SignInFastq(sign) => write!(
                f,
                "there is a '{}' within a line of sequence, and FASTQ has neither comments nor headers of \
                 FASTA: copy or download the file again, or remove the record",
                sign.escape_ascii()
            ),
            Problem::CutShort(what) => write!(
                f,
                "the file ends before the {what} of the record: copy or download it again"
            ),
            Problem::Memory(bytes) => {
                write!(f, "there is no memory for a record of more than {bytes} bytes")
            }
        }
    }
}
