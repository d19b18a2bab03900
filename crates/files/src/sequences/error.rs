//! Errors of reading sequences.

use std::error::Error as StdError;
use std::fmt;
use std::io;

use super::problem::Problem;
use super::record::Record;
use crate::text::shortened;

/// Characters of a name that a message has.
const SHOWN_NAME: usize = 60;

/// Why a file of sequences cannot be read, and where.
///
/// The text names the record and the line, both from 1. What the operating system or a decoder says is
/// the [`source`](StdError::source).
#[derive(Debug)]
pub struct Error {
    /// The record that is wrong, or in which reading stopped, if one had begun.
    record: Option<u64>,
    name: String,
    line: u64,
    cause: Cause,
}

#[derive(Debug)]
enum Cause {
    Text(Problem),
    Reading(io::Error),
    Opening(anyhow::Error),
}

impl Error {
    pub(super) fn text(problem: Problem, record: Option<&Record>, line: u64) -> Error {
        Error::new(Cause::Text(problem), record, line)
    }

    pub(super) fn reading(error: io::Error, record: Option<&Record>) -> Error {
        Error::new(Cause::Reading(error), record, 0)
    }

    /// The file could not be opened: the text is that of the cause.
    pub(super) fn opening(error: anyhow::Error) -> Error {
        Error::new(Cause::Opening(error), None, 0)
    }

    fn new(cause: Cause, record: Option<&Record>, line: u64) -> Error {
        Error {
            record: record.map(Record::index),
            name: record.map_or(String::new(), |record| {
                shortened(&record.name(), SHOWN_NAME)
            }),
            line,
            cause,
        }
    }

    /// Returns the index of the record, from 0, in which something is wrong or reading stopped.
    pub fn record(&self) -> Option<u64> {
        self.record
    }

    /// Returns the kind of the error if reading or decompressing failed.
    pub fn kind(&self) -> Option<io::ErrorKind> {
        match &self.cause {
            Cause::Text(_) => None,
            Cause::Reading(error) => Some(error.kind()),
            Cause::Opening(error) => {
                let found = error.chain().find_map(|cause| cause.downcast_ref());
                Some(found.map_or(io::ErrorKind::Other, io::Error::kind))
            }
        }
    }

    fn write_record(&self, f: &mut fmt::Formatter<'_>, record: u64) -> fmt::Result {
        write!(f, "record {}", record + 1)?;
        match self.name.as_str() {
            "" => Ok(()),
            name => write!(f, " ({name})"),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.cause, self.record) {
            (Cause::Opening(error), _) => error.fmt(f),
            (Cause::Reading(_), Some(record)) => {
                f.write_str("reading stopped in ")?;
                self.write_record(f, record)
            }
            (Cause::Reading(_), None) => f.write_str("nothing before the first record"),
            (Cause::Text(problem @ (Problem::Empty | Problem::Utf16)), _) => problem.fmt(f),
            (Cause::Text(problem), record) => {
                if let Some(record) = record {
                    self.write_record(f, record)?;
                    f.write_str(", ")?;
                }
                write!(f, "line {}: {problem}", self.line)
            }
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &self.cause {
            Cause::Text(_) => None,
            Cause::Reading(error) => Some(error),
            Cause::Opening(error) => error.source(),
        }
    }
}
